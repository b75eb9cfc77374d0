package pricing

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/couponkit/couponkit/internal/jsonobject"
	"github.com/couponkit/couponkit/validation"
)

// object holds the members of a JSON object from outside, and collects what is wrong
// with them. It reads as internal/strictjson does for the packages above.
type object struct {
	members map[string]json.RawMessage // nil for one that is given twice
	stored  bool                       // this library has written the object
	faults  validation.Error
}

// readStored is readObject for what this library has written. Unknown members are ignored:
// another version may have written them.
func readStored(data []byte, names ...string) (object, error) { return takeApart(data, false, names) }

// readObject takes an object apart. Members that are not named and members that are
// given twice are faults; text that is not one object in UTF-8 is an error.
func readObject(data []byte, names ...string) (object, error) { return takeApart(data, true, names) }

func takeApart(data []byte, strict bool, names []string) (object, error) {
	if !utf8.Valid(data) {
		return object{}, validation.New("", validation.Malformed, "the JSON text is not valid UTF-8")
	}
	o := object{members: make(map[string]json.RawMessage, len(names)), stored: !strict}
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	err := jsonobject.Members(data, func(name string, raw json.RawMessage) {
		if !known[name] && !strict {
			return
		}
		if !known[name] {
			o.faults.Add(jsonobject.Shown(name), validation.Unknown, "there is no such field")
			return
		}
		if _, twice := o.members[name]; twice {
			o.faults.Add(name, validation.Malformed, "the field is given twice")
			raw = nil
		}
		o.members[name] = raw
	})
	if err != nil {
		return object{}, validation.New("", validation.Malformed, err.Error())
	}
	return o, nil
}

// value returns a member that can be read; ok is false for one that is absent, null or
// given twice.
func (o *object) value(name string) (raw json.RawMessage, ok bool) {
	raw = o.members[name]
	return raw, raw != nil && jsonKind(raw) != "null"
}

// required is value that reports a member that is absent or null.
func (o *object) required(name string) (raw json.RawMessage, ok bool) {
	raw, ok = o.value(name)
	if _, given := o.members[name]; !ok && (!given || raw != nil) {
		o.faults.Add(name, validation.Required, "is required")
	}
	return raw, ok
}

// text reads a member that is text; ok is false when there is none.
func (o *object) text(name string) (text string, ok bool) {
	raw, ok := o.value(name)
	switch {
	case !ok:
		return "", false
	case jsonKind(raw) != "string":
		o.faults.Add(name, validation.Malformed, "must be text")
		return "", false
	case jsonobject.HalfPair(raw):
		o.faults.Add(name, validation.Malformed, "the text has half of a surrogate pair")
		return "", false
	}
	return jsonobject.Text(raw), true
}

// word reads a member that is one of some words; no word is absent. ok is false when there is
// none, for whatever reason.
func word[T any](o *object, name string, parse func(string) (T, error)) (value T, ok bool) {
	text, ok := o.text(name)
	if !ok || text == "" {
		return value, false
	}
	value, err := parse(text)
	o.faults.At(name, err)
	return value, err == nil
}

// requiredWord is word that reports a member that is absent, null or empty.
func requiredWord[T any](o *object, name string, parse func(string) (T, error)) (value T, ok bool) {
	raw, given := o.required(name)
	if given && string(raw) == `""` {
		o.faults.Add(name, validation.Required, "is required")
	}
	return word(o, name, parse)
}

// number reads a member that is a number, bare or as text, without judging it; ok is
// false when there is none.
func (o *object) number(name string) (n Number, ok bool) {
	raw, ok := o.value(name)
	if !ok {
		return "", false
	}
	if kind := jsonKind(raw); kind != "number" && kind != "string" {
		o.faults.Add(name, validation.Malformed, "must be a decimal number, bare or as text")
		return "", false
	}
	_ = n.UnmarshalJSON(raw) // well formed, and of a kind that it reads
	return n, true
}

// amount reads money in minor units of the currency; ok is false when there is none.
// Without a currency, which is a fault of its own, only the form is judged.
func (o *object) amount(name string, c Currency) (minor int64, ok bool) {
	n, ok := o.number(name)
	if !ok {
		return 0, false
	}
	var err error
	if c.IsZero() {
		_, err = scanNumber(string(n))
	} else {
		minor, err = scaledText(string(n), c.Exponent())
	}
	o.faults.At(name, err)
	return minor, err == nil
}

// whole reads a bare whole number of any exact form; ok is false when there is none.
func (o *object) whole(name string) (n int64, ok bool) {
	raw, ok := o.value(name)
	if !ok {
		return 0, false
	}
	if jsonKind(raw) != "number" {
		o.faults.Add(name, validation.Malformed, "must be a whole number")
		return 0, false
	}
	text, _ := o.number(name)
	n, err := text.Int64()
	var refused *validation.Error
	if !errors.As(err, &refused) {
		return n, true
	}
	if refused.Fields[0].Code == validation.TooManyDecimals {
		o.faults.Add(name, validation.Malformed, "must be a whole number")
	} else {
		o.faults.At(name, err)
	}
	return 0, false
}

// digits reads a bare number without judging it; it is empty when there is none.
func (o *object) digits(name string) json.Number {
	raw, ok := o.value(name)
	if !ok {
		return ""
	}
	if jsonKind(raw) != "number" {
		o.faults.Add(name, validation.Malformed, "must be a whole number")
		return ""
	}
	n, _ := o.number(name)
	return json.Number(n)
}

// list calls read for each entry of a member that is a list of at most that many. Faults of read
// are those of the entry. After maxFaultyEntries faulty entries, the others are not read.
func (o *object) list(name string, most int, read func(raw json.RawMessage) error) {
	raw, ok := o.value(name)
	if null := !ok && raw != nil; !ok && !(o.stored && null) {
		return
	}
	if jsonKind(raw) != "array" {
		o.faults.Add(name, validation.Malformed, "must be a list")
		return
	}
	count, faulty := 0, 0
	_ = jsonobject.Elements(raw, func(raw json.RawMessage) bool { // which is well-formed
		if count == most {
			o.faults.Add(name, validation.TooLong, fmt.Sprintf("at most %d entries are allowed", most))
			return false
		}
		if err := read(raw); err != nil {
			faulty++
			o.faults.Merge(fmt.Sprintf("%s[%d]", name, count), err)
		}
		count++
		return faulty < maxFaultyEntries
	})
}

// texts reads a list of texts.
func (o *object) texts(name string, most int) (texts []string) {
	o.list(name, most, func(raw json.RawMessage) error {
		entry := object{members: map[string]json.RawMessage{"": raw}}
		text, ok := entry.text("")
		if !ok && len(entry.faults.Fields) == 0 {
			entry.faults.Add("", validation.Malformed, "must not be null")
		}
		texts = append(texts, text)
		return entry.faults.Err()
	})
	return texts
}
