package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// target has a field of every form that the module reads.
type target struct {
	text     string
	whole    int64
	small    int8
	yes      bool
	list     []string
	numbers  []int64
	nested   [][]string
	number   pricing.Number
	kind     pricing.DiscountType
	currency pricing.Currency
	object   struct{ A int }
	strange  func()
}

func (t *target) fields() map[string]any {
	return map[string]any{
		"text": &t.text, "whole": &t.whole, "small": &t.small, "yes": &t.yes, "list": &t.list,
		"numbers": &t.numbers, "nested": &t.nested, "number": &t.number,
		"kind": &t.kind, "currency": &t.currency, "object": &t.object, "strange": &t.strange,
	}
}

func faults(t *testing.T, err error) map[string]validation.Code {
	t.Helper()
	if err == nil {
		return nil
	}
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	require.ErrorIs(t, err, validation.ErrInvalid)
	found := map[string]validation.Code{}
	for _, f := range invalid.Fields {
		if _, twice := found[f.Path]; twice {
			t.Errorf("%q is reported twice: %v", f.Path, err)
		}
		found[f.Path] = f.Code
	}
	return found
}

func TestObjectReadsEveryForm(t *testing.T) {
	t.Parallel()
	var got target
	require.NoError(t, strictjson.Object([]byte(` {"text":"a","whole":-3,"small":127,"yes":true,"list":["x","y"],
		"numbers":[1,2],"nested":[["a"],[]],"number":12.50,"kind":"PERCENTAGE","currency":"eur","object":{"A":1}} `), got.fields()))
	want := target{
		text: "a", whole: -3, small: 127, yes: true, list: []string{"x", "y"}, numbers: []int64{1, 2},
		nested: [][]string{{"a"}, nil}, number: "12.50", kind: pricing.Percentage, currency: pricing.EUR(),
	}
	want.object.A = 1
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{}), cmp.FilterPath(isStrange, cmp.Ignore())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func isStrange(p cmp.Path) bool { return p.Last().String() == ".strange" }

func TestFieldsThatAreAbsentOrNullStay(t *testing.T) {
	t.Parallel()
	got := target{text: "kept", whole: 3, list: []string{"gone"}}
	require.NoError(t, strictjson.Object([]byte(`{"text":null,"list":null}`), got.fields()))
	if got.text != "kept" || got.whole != 3 || got.list != nil {
		t.Errorf("got %q, %d, %q", got.text, got.whole, got.list)
	}
}

func TestOneErrorNamesEveryField(t *testing.T) {
	t.Parallel()
	var got target
	err := strictjson.Object([]byte(`{"text":1,"whole":"1","Whole":1,"yes":0,"list":["a",2,null,{}],"nested":[[],["a",true]],
		"numbers":[1.5,99999999999999999999],"number":[],"kind":"HALF","currency":"EUX","object":[],"extra":{"a":1},
		"small":128,"text":"again"}`), got.fields())
	want := map[string]validation.Code{
		"whole": "malformed", "Whole": "unknown", "yes": "malformed",
		"list[1]": "malformed", "list[2]": "malformed", "list[3]": "malformed", "nested[1][1]": "malformed",
		"numbers[0]": "malformed", "numbers[1]": "too_large", "number": "malformed",
		"kind": "unknown", "currency": "unknown", "object": "malformed", "extra": "unknown", "small": "too_large",
		"text": "malformed",
	}
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	text := 0
	found := map[string]validation.Code{}
	for _, f := range invalid.Fields {
		found[f.Path] = f.Code
		if f.Path == "text" {
			text++
		}
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text != 2 {
		t.Errorf("text is reported %d times, for its form and for being given twice", text)
	}
}

// The standard library reads half of a surrogate pair as another character.
func TestHalfOfASurrogatePair(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`\ud83d\ude00`: "😀", `\uD83D\uDE00x`: "😀x", `\\ud83d`: `\ud83d`, `\\\\ud800`: `\\ud800`, `a\n\u00e9\"`: "a\né\"", `\ufffd`: "\ufffd",
		`\ud83d\ude00\ud83d\ude00`: "😀😀", `\u00e9\\`: `é\`,
	} {
		var got target
		require.NoError(t, strictjson.Object([]byte(`{"text":"`+text+`","list":["`+text+`"]}`), got.fields()), text)
		require.Equal(t, want, got.text)
		require.Equal(t, []string{want}, got.list)
	}
	for _, text := range []string{
		`\ud800`, `\udc00`, `a\ud83d`, `\ud83dx`, `\ud83d\n`, `\ude00\ud83d`, `\ud83d\ud83d\ude00`, `\ud83d\ude00\ude00`, `\\\ud800`, `\ud83d\u0041`, `\ud83d\\ude00`,
		`\ud83dxude00`, `\nab\ud83d`, `\u0041ab\ud83d`,
	} {
		var got target
		err := strictjson.Object([]byte(`{"text":"`+text+`","list":["a","`+text+`"],"whole":1}`), got.fields())
		var invalid *validation.Error
		require.ErrorAs(t, err, &invalid, text)
		var fields []string
		for _, f := range invalid.Fields {
			fields = append(fields, f.Path)
		}
		require.Equal(t, []string{"text", "list[1]"}, fields, text)
		require.EqualValues(t, 1, got.whole)
	}
}

// What is left in the targets beside an error is what was read, so that it can be judged.
func TestWhatIsLeftBesideFaults(t *testing.T) {
	t.Parallel()
	var got target
	many := strings.Repeat("7,", validation.MaxListFaults) + strings.Repeat(`"x",`, validation.MaxListFaults+1)
	require.Error(t, strictjson.Object([]byte(`{"text":"a","whole":1,"whole":2,"list":["a",1,"c"],"numbers":[`+many+`7]}`), got.fields()))
	require.Equal(t, "a", got.text)
	require.Zero(t, got.whole, "none of the values is the field's")
	require.Equal(t, []string{"a", "", "c"}, got.list)
	require.Len(t, got.numbers, 2*validation.MaxListFaults+2, "what comes after the last fault that is named is read")
}

func TestMessagesAreForPeople(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`{"text":1}`:                "text: must be text",
		`{"whole":"1"}`:             "whole: must be a whole number",
		`{"whole":1.5}`:             "whole: must be a whole number",
		`{"whole":1e400}`:           "whole: the number is out of range",
		`{"whole":1e-400}`:          "whole: must be a whole number",
		`{"small":1.28e2}`:          "small: the number is out of range",
		`{"kind":5.0}`:              "kind: must be text",
		`{"small":-129}`:            "small: the number is out of range",
		`{"yes":"true"}`:            "yes: must be true or false",
		`{"list":{}}`:               "list: must be a list",
		`{"list":[null]}`:           "list[0]: must not be null",
		`{"object":3}`:              "object: must be an object",
		`{"number":true}`:           "number: must be a decimal number, bare or as text",
		`{"number":{}}`:             "number: must be a decimal number, bare or as text",
		`{"kind":[]}`:               "kind: must be text",
		`{"object":{"A":"x"}}`:      "object.A: must be a whole number",
		`{"object":{"B":1}}`:        "object.B: there is no such field",
		`{"kind":5}`:                "kind: must be text",
		`{"kind":""}`:               "kind: must be PERCENTAGE, FIXED_AMOUNT, FIXED_AMOUNT_PER_UNIT, FIXED_UNIT_PRICE, CHEAPEST_UNITS, BUY_X_GET_Y or TIERED",
		`{"strange":5}`:             "strange: must be of another form",
		`{"new":5}`:                 "new: there is no such field",
		`{"text":"","text":""}`:     "text: the field is given twice",
		`[]`:                        "a JSON object is expected",
		`"text"`:                    "a JSON object is expected",
		`null`:                      "a JSON object is expected",
		``:                          "the JSON text ends too early",
		`{"text":`:                  "the JSON text ends too early",
		`{"text":"a"`:               "the JSON text ends too early",
		`{} {}`:                     "there is more after the JSON object",
		`{} x`:                      "there is more after the JSON object",
		`{"text":"` + "\xff" + `"}`: "the JSON text is not valid UTF-8",
	} {
		var got target
		err := strictjson.Object([]byte(document), got.fields())
		if err == nil || err.Error() != "invalid input: "+want {
			t.Errorf("%s: got %v, want %q", document, err, want)
		}
	}
	for _, document := range []string{`{"text" 1}`, `{'text':1}`, `{"text":1,}`, `{"text":tru}`, `{"list":[1 2]}`, "{\"text\":\"\x01\"}", `x`, `{1:2}`} {
		var got target
		err := strictjson.Object([]byte(document), got.fields())
		if err == nil || !strings.Contains(err.Error(), "the JSON text has a fault at byte") && !strings.Contains(err.Error(), "the JSON text is malformed") {
			t.Errorf("%s: got %v", document, err)
		}
	}
}

func TestValueOnItsOwn(t *testing.T) {
	t.Parallel()
	var list []string
	require.NoError(t, strictjson.Value([]byte(" \n[\"a\"]"), &list))
	for document, target := range map[string]any{`[`: &list, `["a"`: &list, `{`: new(string), ``: new(string), " \n": &list} {
		if faults(t, strictjson.Value([]byte(document), target))[""] != validation.Malformed {
			t.Errorf("%s is accepted", document)
		}
	}
	if diff := cmp.Diff([]string{"a"}, list); diff != "" {
		t.Errorf("a malformed list changes its target (-want +got):\n%s", diff)
	}
}

// What could be read of a list is there beside the error, in its place.
func TestTheOtherEntriesOfAFaultyListAreRead(t *testing.T) {
	t.Parallel()
	var got target
	err := strictjson.Object([]byte(`{"list":["a",2,null,"d"],"numbers":[1,"2",3],"nested":[["a",true],["b"]]}`), got.fields())
	want := map[string]validation.Code{"list[1]": "malformed", "list[2]": "malformed", "numbers[1]": "malformed", "nested[0][1]": "malformed"}
	if diff := cmp.Diff(want, faults(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{[]string{"a", "", "", "d"}, []int64{1, 0, 3}, [][]string{{"a", ""}, {"b"}}}, []any{got.list, got.numbers, got.nested}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A fault in a value with fields of its own is named below the value.
func TestFaultsInsideValuesKeepTheirPath(t *testing.T) {
	t.Parallel()
	var got nested
	err := strictjson.Object([]byte(`{"inner":{"text":1,"more":2}}`), map[string]any{"inner": &got})
	want := map[string]validation.Code{"inner.text": "malformed", "inner.more": "unknown"}
	if diff := cmp.Diff(want, faults(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type nested struct{ text string }

func (n *nested) UnmarshalJSON(data []byte) error {
	return strictjson.Object(data, map[string]any{"text": &n.text})
}

func TestErrorsOfAnotherKindSaySomethingAllTheSame(t *testing.T) {
	t.Parallel()
	if got := faults(t, strictjson.Value([]byte(`1`), new(moody)))[""]; got != validation.Malformed {
		t.Errorf("got %q", got)
	}
}

type moody struct{}

func (*moody) UnmarshalJSON([]byte) error { return errors.New("pkg.moody: cannot") }

func TestWhatAHostileTextCosts(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	many.WriteString(`{"f0":0`)
	for i := range 100_000 {
		fmt.Fprintf(&many, `,"f%d":0`, i+1)
	}
	many.WriteString("}")
	tests := map[string]struct {
		document string
		reported int
	}{
		"fields":         {many.String(), 1},
		"a long name":    {`{"` + strings.Repeat("x", 1_000_000) + `":0}`, 1},
		"depth":          {`{"list":` + strings.Repeat("[", 1_000_000), 1},
		"entries":        {`{"numbers":[` + strings.Repeat(`"",`, 100_000) + `""]}`, validation.MaxListFaults + 1},
		"the same field": {`{"text":""` + strings.Repeat(`,"text":""`, 300) + `}`, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got target
			err := strictjson.Object([]byte(test.document), got.fields())
			var invalid *validation.Error
			require.ErrorAs(t, err, &invalid)
			if len(invalid.Fields) != test.reported || len(err.Error()) > 100*test.reported+100 {
				t.Errorf("%d faults in %d bytes", len(invalid.Fields), len(err.Error()))
			}
		})
	}
}

// The bounds are inclusive: what is exactly as much as allowed is read.
func TestWhatIsJustAllowed(t *testing.T) {
	t.Parallel()
	targets, members := map[string]any{}, []string{}
	for i := range strictjson.MaxFields {
		name := fmt.Sprintf("f%d", i)
		targets[name], members = new(int64), append(members, `"`+name+`":7`)
	}
	require.NoError(t, strictjson.Object([]byte("{"+strings.Join(members, ",")+"}"), targets))
	if last := *targets["f255"].(*int64); last != 7 {
		t.Errorf("the last field is %d", last)
	}
	for length, shown := range map[int]string{
		64: strings.Repeat("x", 64),
		65: strings.Repeat("x", 64) + "…",
	} {
		got := faults(t, strictjson.Object([]byte(`{"`+strings.Repeat("x", length)+`":0}`), nil))
		if diff := cmp.Diff(map[string]validation.Code{shown: validation.Unknown}, got); diff != "" {
			t.Errorf("a name of %d characters (-want +got):\n%s", length, diff)
		}
	}
}

func TestEveryKindOfWholeNumberIsCalledOne(t *testing.T) {
	t.Parallel()
	for _, whole := range []any{
		new(int), new(int8), new(int16), new(int32), new(int64),
		new(uint), new(uint8), new(uint16), new(uint32), new(uint64),
	} {
		err := strictjson.Value([]byte(`"1"`), whole)
		if want := "invalid input: must be a whole number"; err == nil || err.Error() != want {
			t.Errorf("%T: got %v, want %q", whole, err, want)
		}
		require.NoError(t, strictjson.Value([]byte(`2.0`), whole))
		require.Equal(t, "2", fmt.Sprint(reflect.ValueOf(whole).Elem()))
	}
}

// Only of a whole number it is told that it is out of range.
func TestNumbersForWhatIsNone(t *testing.T) {
	t.Parallel()
	for _, target := range []any{new(bool), new(string), new(inWords), new([]string), new(struct{ N int })} {
		for _, text := range []string{"2.0", "1e400"} {
			found := faults(t, strictjson.Value([]byte(text), target))
			require.Equal(t, map[string]validation.Code{"": "malformed"}, found, "%T", target)
		}
	}
	var field struct{ N int }
	require.Equal(t, map[string]validation.Code{"N": "too_large"}, faults(t, strictjson.Value([]byte(`{"N":1e400}`), &field)))
}

// inWords is a whole number that is written as a text.
type inWords int

func (n *inWords) UnmarshalText(text []byte) error { *n = inWords(len(text)); return nil }

// Contract section 7: a whole number is one in whatever exact form. 1.0 is what some
// clients write who mean 1, and what JSON Schema calls an integer.
func TestWholeNumbersInEveryExactForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"7": 7, "7.0": 7, " 7.00": 7, "7e0": 7, "0.7E1": 7, "70e-1": 7, "-7.0": -7, "-0.0": 0, "9223372036854775807.0": math.MaxInt64,
	} {
		var (
			got    int64
			held   *int64
			inList []int64
		)
		require.NoError(t, strictjson.Value([]byte(text), &got), text)
		require.NoError(t, strictjson.Value([]byte(text), &held), text)
		require.NoError(t, strictjson.Value([]byte("["+text+"]"), &inList), text)
		if got != want || *held != want || inList[0] != want {
			t.Errorf("%s: got %d, %d and %d", text, got, *held, inList[0])
		}
	}
	for text, want := range map[string]validation.Code{
		"7.5": "malformed", "1e-1": "malformed", "1e-400": "malformed", "1." + strings.Repeat("0", 1_000_000): "malformed",
		"9223372036854775808.0": "too_large", "1e19": "too_large", "1e400": "too_large", "-1e9999999": "too_large",
	} {
		got := int64(5)
		if found := faults(t, strictjson.Value([]byte(text), &got)); found[""] != want || got != 5 {
			t.Errorf("%.30s: got %v and %d, want %s", text, found, got, want)
		}
	}
}

// What is no pointer, or points nowhere, cannot be decoded into: an error, and no
// panic in the server that asks for it.
func TestATargetThatCannotBeSet(t *testing.T) {
	t.Parallel()
	for _, target := range []any{nil, 3, []string{}, struct{}{}, (*[]string)(nil), (*int)(nil)} {
		if got := faults(t, strictjson.Value([]byte(`["a"]`), target)); got[""] != validation.Malformed {
			t.Errorf("%T: got %v", target, got)
		}
	}
}

func FuzzObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"text":"a","whole":1}`, `{"list":["a",1]}`, `{"text":1,"text":2}`, `{"x":{}}`, `[]`, `{"a`, "\xff",
		`{"number":1e400}`, `{"nested":[[],[null]]}`, `{"currency":"EUR","kind":"X"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got target
		err := strictjson.Object(data, got.fields())
		if err == nil {
			if !json.Valid(data) || !utf8.Valid(data) {
				t.Fatalf("%q is accepted", data)
			}
			return
		}
		var invalid *validation.Error
		if !errors.As(err, &invalid) || len(invalid.Fields) == 0 {
			t.Fatalf("%q: %v names no field", data, err)
		}
		for _, f := range invalid.Fields {
			if f.Message == "" || f.Code == "" || strings.Contains(f.Message, "Go ") || strings.Contains(f.Message, "json:") {
				t.Errorf("%q: %+v", data, f)
			}
		}
	})
}
