package codes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/couponkit/couponkit/coupon"
)

// lastSymbols is the number of possible last random symbols. One symbol of base is not possible: its
// check symbol would be the dash.
const lastSymbols = base - 1

// Form writes and reads the codes of one shape. The zero Form has no codes. A Form may be used by several goroutines.
type Form struct {
	shape  coupon.CodeShape // normalized
	prefix string           // with its trailing dash
	sum    int              // check sum of the prefix
}

// NewForm returns the Form of a shape. If the shape is invalid, NewForm returns a [*validation.Error].
func NewForm(shape coupon.CodeShape) (Form, error) {
	shape, err := shape.Normalize()
	if err != nil {
		return Form{}, err
	}
	return formOf(shape), nil
}

func formOf(shape coupon.CodeShape) Form {
	prefix := ""
	if shape.Prefix != "" {
		prefix = shape.Prefix + "-"
	}
	return Form{shape: shape, prefix: prefix, sum: checkSum(prefix)}
}

// Shape returns the normalized shape.
func (f Form) Shape() coupon.CodeShape { return f.shape }

// Random returns a code from a random source. Pass crypto/rand.Reader as the random source. With a predictable random
// source, people can guess codes. Random wraps the errors of the random source.
func (f Form) Random(random io.Reader) (coupon.Code, error) {
	switch {
	case random == nil:
		return coupon.Code{}, errors.New("generate a code: there is no source of randomness")
	case f.shape.Symbols == 0:
		return coupon.Code{}, errors.New("generate a code: the form has no shape")
	}
	choices := make([]byte, f.shape.Symbols)
	var draw [8]byte
	for i := range choices {
		if _, err := io.ReadFull(random, draw[:]); err != nil {
			return coupon.Code{}, fmt.Errorf("generate a code: %w", err)
		}
		of := uint64(base)
		if i == len(choices)-1 {
			of = lastSymbols
		}
		choices[i] = byte(binary.BigEndian.Uint64(draw[:]) % of) //nolint:gosec // it is below base
	}
	return f.code(nil, choices), nil
}

// code returns the code for the given choices, one for each random symbol. A choice is the index of a
// symbol. The last choice skips the symbol that has no check symbol. Different choices give different
// codes. buffer is used as memory.
func (f Form) code(buffer, choices []byte) coupon.Code {
	buffer = append(buffer[:0], f.prefix...)
	sum, next := f.sum, 0
	for i := range len(f.shape.Pattern) {
		if f.shape.Pattern[i] == '-' {
			buffer, sum = append(buffer, '-'), appendCheck(sum, 0)
			continue
		}
		var value int
		switch left := len(choices) - next; {
		case left == 0:
			value = checkOf(sum)
		case left == 1:
			value = lastValue(sum, int(choices[next]))
		default:
			value = int(choices[next]) + 1
		}
		buffer, sum = append(buffer, symbols[value-1]), appendCheck(sum, value)
		next++
	}
	return coupon.StoredCode(string(buffer))
}

// lastValue returns the value of the last random symbol. It skips the value that makes the check sum 0,
// because the check symbol would then be the dash.
func lastValue(sum, choice int) int {
	if none := checkOf(sum); none != 0 && choice+1 >= none {
		return choice + 2
	}
	return choice + 1
}

// Read returns the code of this form that a customer meant. It replaces the letters that people confuse, as
// [coupon.AsCodeSymbols] does, but not in the prefix. It asks no database.
//
// ok is false if the form has no such code. One wrong character is always refused, and so are two swapped neighbors,
// also in the prefix. Letters that people confuse are not wrong.
func (f Form) Read(typed coupon.Code) (generated coupon.Code, ok bool) {
	key, ok := f.corrected(typed)
	if !ok || checkSum(key) != 0 {
		return coupon.Code{}, false
	}
	return coupon.StoredCode(key), true
}

// Refuses reports whether a typed code has this form and a wrong check symbol. It has the prefix, the length and the
// dashes of the form, and all of its other characters are symbols, or letters that people confuse with them. The form
// has no such code. A handmade code with any other character is not refused, nor one whose last character happens to
// be its check symbol. Refuses asks no database.
func (f Form) Refuses(typed coupon.Code) bool {
	key, ok := f.corrected(typed)
	return ok && checkSum(key) != 0
}

// corrected returns the text of a code in this form, with confused letters replaced, whatever its check symbol.
func (f Form) corrected(typed coupon.Code) (key string, ok bool) {
	text, ok := strings.CutPrefix(typed.String(), f.prefix)
	if !ok || text == "" || len(text) != len(f.shape.Pattern) {
		return "", false
	}
	text = coupon.AsCodeSymbols(text)
	for i := range len(text) {
		if dash := f.shape.Pattern[i] == '-'; dash != (text[i] == '-') || !dash && strings.IndexByte(symbols, text[i]) < 0 {
			return "", false
		}
	}
	return f.prefix + text, true
}

// AsGenerated returns the generated code that a customer meant, whatever its shape. It replaces the letters that people
// confuse, as [coupon.AsCodeSymbols] does, but not in the prefix. The symbols are the last group of more than
// [coupon.MaxCodeGroup] symbols, or the last groups of the same size.
//
// ok is false if the corrected code does not have the form of a generated code, or a wrong check symbol. One wrong
// symbol, and two swapped neighboring symbols, are always refused. Without the shape, nobody knows which characters the
// prefix has. One wrong letter in the prefix is therefore not noticed in 1 of 22 cases. So is a character that is no
// symbol, in a group that others follow. [Form.Read] refuses these codes too.
//
// First look up the code as it was typed: two handmade codes may differ only in letters that AsGenerated replaces.
func AsGenerated(typed coupon.Code) (generated coupon.Code, ok bool) {
	key := typed.String()
	start, count := len(key)+1, 0
	for group := 0; start > 0; {
		before := strings.LastIndexByte(key[:start-1], '-') + 1
		part := key[before : start-1]
		if group != 0 && len(part) != group || part == "" || !coupon.IsCodeSymbols(coupon.AsCodeSymbols(part)) {
			break
		}
		group, start, count = len(part), before, count+len(part)
		if group > coupon.MaxCodeGroup {
			break
		}
	}
	if count <= coupon.MinCodeSymbols || count > coupon.MaxCodeSymbols+1 || checkSum(key) != 0 {
		return coupon.Code{}, false
	}
	return coupon.StoredCode(key[:start] + coupon.AsCodeSymbols(key[start:])), true
}
