package strictjson

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"time"

	"github.com/couponkit/couponkit/validation"
)

// object reads an object and returns the faults of its members. If the text is not JSON, it sets s.err.
func (s *scanner) object(m members) error {
	var faults validation.Error
	var few [64]bool
	seen, next := few[:], 0
	if len(m.form.fields) > len(few) {
		seen = make([]bool, len(m.form.fields))
	}
	s.members(func(name []byte) {
		i := m.form.find(name, next)
		if i < 0 || seen[i] {
			s.raw()
		}
		switch {
		case i < 0 && s.stored:
		case i < 0:
			faults.Add(Shown(text(name)), validation.Unknown, noSuchField)
		case seen[i]:
			faults.Add(m.form.fields[i].name, validation.Malformed, twice)
			reflect.ValueOf(m.target(i)).Elem().SetZero() // a repeated member leaves the field empty
		default:
			seen[i], next = true, i+1
			faults.Merge(m.form.fields[i].name, s.read(m.target(i), m.form.fields[i].form))
		}
	})
	return faults.Err()
}

// read reads the next value into target. f is the form of target's struct, or nil. read returns the
// faults of the value. If the text is not JSON, it sets s.err.
func (s *scanner) read(target any, f *form) error {
	s.space()
	_, own := target.(json.Unmarshaler)
	if _, text := target.(encoding.TextUnmarshaler); !own && !text {
		value, first := reflect.ValueOf(target).Elem(), s.peek()
		switch kind := value.Kind(); {
		case kind == reflect.Slice && first == '[':
			return s.entries(value, f)
		case kind == reflect.Slice && first == 'n' && s.stored && maxEntries(target) > 0: // this library never writes null for such a list
			s.raw()
			return fault(errList.Error())
		case kind == reflect.Struct && first == '{':
			if f == nil {
				f = formOf(value.Type())
			}
			return s.object(members{form: f, value: value})
		case kind == reflect.Pointer && first != 'n' && !value.IsNil():
			return s.read(value.Interface(), f)
		case kind == reflect.Pointer && first != 'n':
			to := reflect.New(value.Type().Elem())
			err := s.read(to.Interface(), f)
			if err == nil && s.err == nil {
				value.Set(to)
			}
			return err
		}
	}
	raw := s.raw()
	if s.err != nil {
		return nil
	}
	return readRaw(raw, target)
}

// entries reads a list entry by entry, so that each fault has its index. Unlike the standard library,
// it refuses null entries, which would look like empty texts. An empty list becomes nil, like null.
func (s *scanner) entries(list reflect.Value, f *form) error {
	if s.emptyList() {
		list.SetZero()
		return nil
	}
	if f == nil && list.Type().Elem().Kind() == reflect.Struct {
		f = inside(list.Type())
	}
	read := reflect.New(list.Type()).Elem()
	faults := s.list(maxEntries(list.Addr().Interface()), func(i int) error {
		read.Grow(1)
		read.SetLen(i + 1)
		first := s.peek()
		if f != nil && first != '{' {
			s.raw()
			return fault(errObject.Error())
		}
		err := s.read(read.Index(i).Addr().Interface(), f)
		if err == nil && first == 'n' {
			err = fault("must not be null")
		}
		return err
	})
	if s.err == nil {
		list.Set(read)
	}
	return faults
}

// maxEntries returns the maximum number of entries of a list. 0 means no limit.
func maxEntries(list any) int {
	if bounded, is := list.(interface{ MaxEntries() int }); is {
		return bounded.MaxEntries()
	}
	return 0
}

// readRaw reads a value that decodes itself, or that is neither a list nor an object.
func readRaw(raw json.RawMessage, target any) error {
	null := string(raw) == "null"
	switch target := target.(type) {
	case *json.RawMessage:
		if !null {
			*target = raw
		}
		return nil
	case json.Unmarshaler:
		return relative(target.UnmarshalJSON(raw), target)
	case encoding.TextUnmarshaler:
		if null {
			return nil
		}
		if inner, is := plain(raw); is {
			return relative(target.UnmarshalText(inner), target)
		}
		text, err := textOf(raw)
		if err != nil {
			return err
		}
		return relative(target.UnmarshalText([]byte(text)), target)
	case *json.Number:
		switch {
		case null:
		case !isNumber(raw):
			return fault("must be a whole number")
		default:
			*target = json.Number(raw)
		}
		return nil
	}
	value := reflect.ValueOf(target).Elem()
	if null {
		if kind := value.Kind(); kind == reflect.Slice || kind == reflect.Pointer || kind == reflect.Map {
			value.SetZero()
		}
		return nil
	}
	return readKind(raw, value)
}

func readKind(raw json.RawMessage, value reflect.Value) error {
	switch kind := value.Kind(); {
	case kind == reflect.Slice:
		return fault(errList.Error())
	case kind == reflect.String:
		text, err := textOf(raw)
		if err == nil {
			value.SetString(text)
		}
		return err
	case kind == reflect.Bool:
		if string(raw) != "true" && string(raw) != "false" {
			return fault("must be true or false")
		}
		value.SetBool(string(raw) == "true")
		return nil
	case value.CanInt() || value.CanUint():
		return whole(raw, value)
	case kind != reflect.Struct:
		return fault("must be of another form")
	}
	return fault("must be an object")
}

func textOf(raw json.RawMessage) (string, error) {
	switch {
	case raw[0] != '"':
		return "", fault("must be text")
	case halfPair(raw):
		return "", fault("the text has half of a surrogate pair")
	}
	return text(raw), nil
}

func isNumber(raw json.RawMessage) bool { return raw[0] == '-' || isDigit(raw[0]) }

// whole decodes a whole number. It accepts 2.0 and 2e0, which equal 2 in JSON.
func whole(raw json.RawMessage, value reflect.Value) error {
	if !isNumber(raw) {
		return fault("must be a whole number")
	}
	n, few := fewDigits(raw)
	var err error
	if !few {
		n, err = strconv.ParseInt(string(raw), 10, 64)
	}
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		n, err = ParseNumber(string(raw), 0)
	}
	switch invalid, is := errors.AsType[*validation.Error](err); {
	case is && invalid.Fields[0].Code != validation.TooLarge:
		return fault("must be a whole number")
	case err != nil || value.CanInt() && value.OverflowInt(n) || value.CanUint() && (n < 0 || value.OverflowUint(uint64(n))):
		return validation.New("", validation.TooLarge, "the number is out of range")
	}
	if value.CanUint() {
		value.SetUint(uint64(n)) //nolint:gosec // not negative
	} else {
		value.SetInt(n)
	}
	return nil
}

// fewDigits reads an unsigned whole number that surely fits an int64.
func fewDigits(raw json.RawMessage) (n int64, few bool) {
	for _, b := range raw {
		if !isDigit(b) {
			return 0, false
		}
		n = n*10 + int64(b-'0')
	}
	return n, len(raw) < len("9223372036854775807")
}

// relative returns the error of a target that decodes itself. If the target is read from text, its
// parser names the value in the faults. relative removes this name, because the caller of Value adds
// the name of the field.
func relative(err error, target any) error {
	if err == nil {
		return nil
	}
	var invalid *validation.Error
	switch _, leaf := target.(encoding.TextUnmarshaler); {
	case !errors.As(err, &invalid):
		if _, instant := target.(*time.Time); instant {
			return fault("must be an RFC 3339 instant")
		}
		return fault("must be of another form")
	case !leaf:
		return invalid
	}
	var faults validation.Error
	faults.At("", invalid)
	return faults.Err()
}
