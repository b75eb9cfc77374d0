package jsonobject_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/internal/jsonobject"
)

// What the members may be is strictjson's business, whose tests go through all of it.

func TestMembersInTheOrderOfTheText(t *testing.T) {
	t.Parallel()
	var got []string
	err := jsonobject.Members([]byte(` {"b": [1, {"a":2}] ,"a":null,"b":"x"} `), func(name string, raw json.RawMessage) {
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
		many(jsonobject.MaxMembers):       "",
		many(jsonobject.MaxMembers + 1):   "the object has more than 256 fields",
		strings.Repeat(`{"a":`, 3) + `}}`: "the JSON text has a fault at byte",
	} {
		got := ""
		if err := jsonobject.Members([]byte(text), func(string, json.RawMessage) {}); err != nil {
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
		if got := jsonobject.Shown(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}

func TestHalfPair(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`"a"`: false, `"\u00e9"`: false, `"\ud83d\ude00"`: false, `"\\ud83d"`: false,
		`"\ud83d"`: true, `"\ude00\ud83d"`: true, `"\ud83d\n"`: true, `"\ud83d\ude00\ud83d"`: true,
	} {
		if got := jsonobject.HalfPair([]byte(text)); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}
