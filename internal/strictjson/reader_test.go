package strictjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

type inner struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Plain string
	None  string `json:"-"`
	own   string
}

// UnmarshalJSON is that of the embedded type alone.
func (*inner) UnmarshalJSON([]byte) error { return fmt.Errorf("not of the whole") }

type entry struct {
	ID   string  `json:"id"`
	Next *entry2 `json:"next"`
}

type entry2 struct {
	IDs few `json:"ids"`
}

type few []string

func (few) MaxEntries() int { return 2 }

type document struct {
	inner
	Count   json.Number     `json:"count"` // in place of the embedded one
	Entries []entry         `json:"entries"`
	Raw     json.RawMessage `json:"raw"`
}

var documents = strictjson.For[document]("Plain")

func TestReaderReadsAStruct(t *testing.T) {
	t.Parallel()
	got := document{inner: inner{own: "stays"}}
	const text = `{"raw": [1, {}],"entries":[{"id":"a"},{"next":{"ids":["x","y"]},"id":"b"}],"n\u0061me":"n","count":1e5}`
	require.NoError(t, documents.Object([]byte(text), &got))
	want := document{
		inner: inner{Name: "n", own: "stays"}, Count: "1e5", Raw: json.RawMessage(`[1, {}]`),
		Entries: []entry{{ID: "a"}, {ID: "b", Next: &entry2{IDs: few{"x", "y"}}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document{}, inner{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	kept := got
	require.NoError(t, documents.Object([]byte(`{"raw":null,"count":null,"name":null}`), &got))
	require.Equal(t, kept, got, "null leaves all but lists and pointers")
	require.NoError(t, documents.Object([]byte(`{"entries":null}`), &got))
	require.Nil(t, got.Entries)
}

// Faults have their path at every depth. Of what this library has written, only unknown members are
// ignored, also at every depth.
func TestFaultsOfAStruct(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"Plain":"a"}`:                         "!Plain: there is no such field",
		`{"None":"a","-":"b","own":"c","x":1}`:  "!None: there is no such field; -: there is no such field; own: there is no such field; x: there is no such field",
		`{"entries":[{"id":"a","x":1}]}`:        "!entries[0].x: there is no such field",
		`{"entries":[{"next":{"x":1}}]}`:        "!entries[0].next.x: there is no such field",
		`{"entries":[{"id":1},{"id":2}],"x":1}`: "!entries[0].id: must be text; entries[1].id: must be text; x: there is no such field",
		`{"entries":[7]}`:                       "entries[0]: a JSON object is expected",
		`{"entries":[null]}`:                    "entries[0]: a JSON object is expected",
		`{"entries":{}}`:                        "entries: must be a list",
		`{"entries":[{"next":7}]}`:              "entries[0].next: must be an object",
		`{"count":"1"}`:                         "count: must be a whole number",
		`{"raw":1,"raw":2}`:                     "raw: the field is given twice",
		`{"n\u0061me":"a","name":"b"}`:          "name: the field is given twice",
		`{"entries":[{"id":"a"`:                 "the JSON text ends too early",
		`{"entries":[{"id":"a"},]}`:             "the JSON text has a fault at byte 24",
		`{"entries":[{"next":{"ids":["a" 1`:     "the JSON text has a fault at byte 33",
		`[]`:                                    "a JSON object is expected",
	} {
		strict := documents.Object([]byte(text), new(document))
		require.EqualError(t, strict, "invalid input: "+strings.TrimPrefix(want, "!"), text)
		var faults *validation.Error
		require.ErrorAs(t, strict, &faults)
		var known validation.Error
		for _, f := range faults.Fields {
			if f.Code != validation.Unknown {
				known.Add(f.Path, f.Code, f.Message)
			}
		}
		stored := documents.Stored([]byte(text), new(document))
		if diff := cmp.Diff(fmt.Sprint(known.Err()), fmt.Sprint(stored)); diff != "" {
			t.Errorf("%s, stored (-want +got):\n%s", text, diff)
		}
	}
}

// A list with a maximum is read up to it, and up to its 1,000th fault.
func TestListsWithAMaximum(t *testing.T) {
	t.Parallel()
	var got few
	require.NoError(t, strictjson.Value([]byte(`["a","b"]`), &got))
	for _, text := range []string{`["a","b","c"]`, `["a","b","c","d",{}]`} {
		require.EqualError(t, strictjson.Value([]byte(text), &got), "invalid input: at most 2 entries are allowed", text)
		require.Equal(t, few{"a", "b"}, got)
	}
	require.EqualError(t, strictjson.Value([]byte(`["a","b","c",}`), &got), "invalid input: the JSON text has a fault at byte 14")
	require.NoError(t, strictjson.Value([]byte(`null`), &got))
	require.Nil(t, got)

	const null = `{"entries":[{"next":{"ids":null}}]}`
	require.NoError(t, documents.Object([]byte(null), new(document)))
	require.EqualError(t, documents.Stored([]byte(null), new(document)), "invalid input: entries[0].next.ids: must be a list", "null is never written")

	read := 0
	err := strictjson.List([]byte("["+strings.Repeat("0,", 5_000)+"0]"), 2_000, func(json.RawMessage) error {
		read++
		return validation.New("", validation.Malformed, "faulty")
	})
	require.Equal(t, 1_000, read)
	require.Len(t, faults(t, err), 1_000)
}

// A struct and targets by name read alike.
func FuzzReader(f *testing.F) {
	type fields struct {
		Text    string            `json:"text"`
		Whole   int64             `json:"whole"`
		Small   int8              `json:"small"`
		Yes     bool              `json:"yes"`
		List    []string          `json:"list"`
		Nested  [][]string        `json:"nested"`
		Pointer *int64            `json:"pointer"`
		Object  struct{ A int }   `json:"object"`
		Objects []struct{ A int } `json:"objects"`
	}
	reader := strictjson.For[fields]()
	for _, seed := range []string{
		`{"text":"a","whole":1,"small":127,"yes":true}`, `{"nested":[["a"],[]],"pointer":7,"list":["a",1]}`, `{"text":1,"text":2,"x":3}`,
		`{"object":{"A":1,"B":2},"objects":[{"A":1},{"A":"x"},7]}`, `{"objects":null,"pointer":null,"small":128}`, `{"whole":2.0`, `{"\u0078":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want fields
		err := reader.Object(data, &got)
		named := strictjson.Object(data, map[string]any{
			"text": &want.Text, "whole": &want.Whole, "small": &want.Small, "yes": &want.Yes, "list": &want.List,
			"nested": &want.Nested, "pointer": &want.Pointer, "object": &want.Object, "objects": &want.Objects,
		})
		if fmt.Sprint(err) != fmt.Sprint(named) || err == nil && !cmp.Equal(want, got) {
			t.Errorf("%q: %v and %v (-named +struct):\n%s", data, named, err, cmp.Diff(want, got))
		}
	})
}
