package strictjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/internal/strictjson"
)

func TestMembersInTheOrderOfTheText(t *testing.T) {
	t.Parallel()
	var got []string
	err := strictjson.Members([]byte(` {"b": [1, {"a":2}] ,"a":null,"b":"x"} `), func(name string, raw json.RawMessage) {
		got = append(got, name+"="+string(raw))
	})
	if diff := cmp.Diff([]string{`b=[1, {"a":2}]`, `a=null`, `b="x"`}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestTextThatIsNotOneObject(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"f%d":0`, i)
		}
		return "{" + strings.TrimPrefix(b.String(), ",") + "}"
	}
	for text, want := range map[string]string{
		``:                                "the JSON text ends too early",
		`{"a":1`:                          "the JSON text ends too early",
		`{"a":1,`:                         "the JSON text ends too early",
		`null`:                            "a JSON object is expected",
		`[]`:                              "a JSON object is expected",
		`{}{}`:                            "there is more after the JSON object",
		many(strictjson.MaxFields):        "",
		many(strictjson.MaxFields + 1):    "the object has more than 256 fields",
		strings.Repeat(`{"a":`, 3) + `}}`: "the JSON text has a fault at byte",
	} {
		got := ""
		if err := strictjson.Members([]byte(text), func(string, json.RawMessage) {}); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%.40s: got %q, want %q", text, got, want)
		}
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("é", 64)
	for name, want := range map[string]string{"": "", "a": "a", longest: longest, longest + "é": longest + "…"} {
		if got := strictjson.Shown(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}

func TestWhichTextsHaveHalfOfASurrogatePair(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`"a"`: false, `"\u00e9"`: false, `"\ud83d\ude00"`: false, `"\\ud83d"`: false,
		`"\ud83d"`: true, `"\ude00\ud83d"`: true, `"\ud83d\n"`: true, `"\ud83d\ude00\ud83d"`: true,
	} {
		if got := strictjson.Value([]byte(text), new(string)) != nil; got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}

// The grammar is that of the Go library. Only nesting has another bound.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"a":[1,-0.5e+7,"\u00e9\n",null,true,false]}`, ` 1 `, `01`, `1.`, `-`, `.5`, `1e`, `1e5`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[,1]`,
		`"\x"`, `"\u12g4"`, "\"\x01\"", `"a`, `nul`, `nulll`, `tru`, `{a:1}`, `[1 2]`, `{"a":1}{`, "\ufeff{}", `"\ud800"`, ``, " \n", `{"a":1 "b":2}`, "\"\xff\"", `+1`, `-01`, "1\x00", "[\x00]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, err := strictjson.Raw(data)
		if valid := json.Valid(data); valid != (err == nil) && !strings.Contains(fmt.Sprint(err), "deep") {
			t.Fatalf("%q: %v, and the Go library says %t", data, err, valid)
		}
		if err == nil && string(raw) != strings.Trim(string(data), " \t\r\n") {
			t.Errorf("%q is the value of %q", raw, data)
		}
		var members map[string]json.RawMessage
		if err == nil && raw[0] == '{' && json.Unmarshal(data, &members) == nil && len(members) <= strictjson.MaxFields {
			got := map[string]json.RawMessage{}
			if err := strictjson.Members(data, func(name string, raw json.RawMessage) { got[name] = raw }); err != nil {
				return // the same name many times
			}
			if diff := cmp.Diff(members, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", data, diff)
			}
		}
	})
}

// Text that ends too early has one message, wherever it ends.
func TestTextThatEndsTooEarly(t *testing.T) {
	t.Parallel()
	const whole = `{"a":[1,-2.5e+7,"\u00e9\n",null,{"b":true}],"c":false}`
	for end := range len(whole) {
		for name, err := range map[string]error{
			"members": strictjson.Members([]byte(whole[:end]), func(string, json.RawMessage) {}),
			"value":   func() error { _, err := strictjson.Raw([]byte(whole[:end])); return err }(),
		} {
			if err == nil || err.Error() != "the JSON text ends too early" {
				t.Errorf("%s of %s: %v", name, whole[:end], err)
			}
		}
	}
}

func TestListsInTheOrderOfTheText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`: "", ` [ 1 , [2,3] ,{"a":4} ] `: "1|[2,3]|{\"a\":4}|", `[1,2`: "1|2|the JSON text ends too early", `[1,]`: "1|the JSON text has a fault at byte 4",
		`{}`: "must be a list", `7`: "must be a list", `[1]2`: "1|there is more after the JSON array", `[1 2]`: "1|the JSON text has a fault at byte 4",
		`[1,2,3]`: "1|2|3|", `[1,2,3,4]`: "1|2|3|at most 3 entries are allowed", `[1,2,3,4,5]`: "1|2|3|at most 3 entries are allowed",
		`[1,2,3,4`: "1|2|3|the JSON text ends too early",
	} {
		got := ""
		if err := strictjson.List([]byte(text), 3, func(raw json.RawMessage) error { got += string(raw) + "|"; return nil }); err != nil {
			got += strings.TrimPrefix(err.Error(), "invalid input: ")
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
