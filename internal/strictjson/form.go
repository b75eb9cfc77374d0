package strictjson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// form is what is known of a struct type: the members that its JSON object may have.
type form struct{ fields []field }

type field struct {
	name  string
	index []int
	form  *form // of the struct that the field is, points to or lists; nil for other fields
}

// formOf returns the form of a struct type. No type contains itself.
func formOf(t reflect.Type) *form {
	var f form
	var embedded []field
	for i := range t.NumField() {
		of := t.Field(i)
		name, _, _ := strings.Cut(of.Tag.Get("json"), ",")
		switch {
		case of.Anonymous && name == "" && of.Type.Kind() == reflect.Struct:
			for _, inner := range formOf(of.Type).fields {
				inner.index = append([]int{i}, inner.index...)
				embedded = append(embedded, inner)
			}
		case of.IsExported() && name != "-":
			f.fields = append(f.fields, field{name: cmp.Or(name, of.Name), index: []int{i}, form: inside(of.Type)})
		}
	}
	for _, inner := range embedded {
		if !slices.ContainsFunc(f.fields, func(own field) bool { return own.name == inner.name }) {
			f.fields = append(f.fields, inner)
		}
	}
	return &f
}

// inside returns the form of the struct that a field of the type is, points to or lists.
func inside(t reflect.Type) *form {
	for !decodes(t) && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || decodes(t) {
		return nil
	}
	return formOf(t)
}

// decodes reports whether values of the type read themselves.
func decodes(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// find returns the index of the field with the name, or -1. Members mostly come in the order of the
// fields, so that find looks first at the field after the last one.
func (f *form) find(quoted []byte, next int) int {
	name := quoted[1 : len(quoted)-1]
	if slices.Contains(name, '\\') {
		name = []byte(text(quoted))
	}
	for i := next; i < len(f.fields); i++ {
		if f.fields[i].name == string(name) {
			return i
		}
	}
	for i := range f.fields[:min(next, len(f.fields))] {
		if f.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

// members are where the members of an object belong: to the fields of a struct, or to a target for
// each name.
type members struct {
	form    *form
	value   reflect.Value
	targets []any
}

func (m *members) target(i int) any {
	if m.targets != nil {
		return m.targets[i]
	}
	return m.value.FieldByIndex(m.form.fields[i].index).Addr().Interface()
}
