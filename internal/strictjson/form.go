package strictjson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// form has the JSON members of a struct type.
type form struct{ fields []field }

type field struct {
	name  string
	index []int
	form  *form // form of the struct type of the field, behind pointers and lists; nil for other types
}

// formOf returns the form of a struct type. The type must not contain itself.
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

// inside returns the form of the struct type of a field, behind pointers and lists.
func inside(t reflect.Type) *form {
	for !decodes(t) && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || decodes(t) {
		return nil
	}
	return formOf(t)
}

// decodes reports whether the type decodes itself.
func decodes(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// find returns the index of the field with the name, or -1. Members usually come in the order of the
// fields, so find first tries the field at next.
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

// members has the targets for the members of an object: the fields of a struct, or one target for each
// name.
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
