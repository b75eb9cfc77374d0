package appendjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/internal/appendjson"
)

type inner struct {
	Text string `json:"text,omitempty"`
	N    int64  `json:"n,omitempty"`
}

type outer struct {
	Text string   `json:"text"`
	N    int64    `json:"n"`
	More string   `json:"more,omitempty"`
	Some int64    `json:"some,omitempty"`
	List []string `json:"list"`
	Last inner    `json:"last"`
}

// What is appended is what encoding/json writes, whatever characters the text has.
func TestTheSameAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		few := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64())
		o := outer{
			Text: text.Draw(t, "text"), N: few.Draw(t, "n"), More: text.Draw(t, "more"), Some: few.Draw(t, "some"),
			List: rapid.SliceOf(text).Draw(t, "list"), Last: inner{text.Draw(t, "last text"), few.Draw(t, "last n")},
		}
		if o.List == nil {
			o.List = []string{}
		}
		want, err := json.Marshal(o)
		require.NoError(t, err)

		got := appendjson.TextMember([]byte("before{"), "text", o.Text)
		got = appendjson.IntMember(got, "n", o.N)
		got = appendjson.OptionalText(got, "more", o.More)
		got = appendjson.OptionalInt(got, "some", o.Some)
		got = append(appendjson.Name(got, "list"), '[')
		for _, entry := range o.List {
			got = appendjson.Text(appendjson.Next(got), entry)
		}
		got, err = appendjson.Members(append(got, ']'), struct {
			N int64 `json:"n,omitempty"`
		}{0})
		require.NoError(t, err)
		got, err = appendjson.Value(appendjson.Name(got, "last"), o.Last)
		require.NoError(t, err)
		require.Equal(t, "before"+string(want), string(got)+"}")
	})
}

func TestMembersOfAnObject(t *testing.T) {
	t.Parallel()
	for want, dst := range map[string]string{
		`{"text":"a","n":1`:           `{`,
		`{"first":2,"text":"a","n":1`: `{"first":2`,
	} {
		got, err := appendjson.Members([]byte(dst), inner{Text: "a", N: 1})
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := appendjson.Members([]byte("{"), map[string]any{"f": func() {}})
	require.Error(t, err)
	_, err = appendjson.Value(nil, func() {})
	require.Error(t, err)
}
