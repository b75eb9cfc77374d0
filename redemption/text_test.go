package redemption_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// enumerations are the names of the three sets of words.
func enumerations() map[string][]struct {
	value fmt.Stringer
	want  string
} {
	type word = struct {
		value fmt.Stringer
		want  string
	}
	return map[string][]word{
		"state": {
			{redemption.Reserved, "reserved"},
			{redemption.Completed, "completed"},
			{redemption.Released, "released"},
			{redemption.State(0), ""},
			{redemption.Released + 1, ""},
		},
		"origin": {
			{redemption.FromCheckout, "checkout"},
			{redemption.FromPoints, "points"},
			{redemption.FromPayment, "payment"},
			{redemption.Origin(0), ""},
			{redemption.FromPayment + 1, ""},
		},
		"points": {
			{redemption.NoPoints, "none"},
			{redemption.PointsPending, "pending"},
			{redemption.PointsDebited, "debited"},
			{redemption.PointsRefundDue, "refund_due"},
			{redemption.PointsRefunded, "refunded"},
			{redemption.PointsRefunded + 1, ""},
		},
	}
}

// parse reads a word of one of the sets in both ways, which have to agree.
func parse(t *testing.T, set, text string) (fmt.Stringer, error) {
	t.Helper()
	var value, again fmt.Stringer
	var err, errAgain error
	switch set {
	case "state":
		var s redemption.State
		value, err = redemption.ParseState(text)
		errAgain = s.UnmarshalText([]byte(text))
		again = s
	case "origin":
		var o redemption.Origin
		value, err = redemption.ParseOrigin(text)
		errAgain = o.UnmarshalText([]byte(text))
		again = o
	case "points":
		var p redemption.PointsState
		value, err = redemption.ParsePointsState(text)
		errAgain = p.UnmarshalText([]byte(text))
		again = p
	}
	if value != again || (err == nil) != (errAgain == nil) {
		t.Errorf("%q is read as %v (%v) and as %v (%v)", text, value, err, again, errAgain)
	}
	return value, err
}

func TestWords(t *testing.T) {
	t.Parallel()
	for set, words := range enumerations() {
		for _, word := range words {
			if got := word.value.String(); got != word.want {
				t.Errorf("%T(%d) is called %q, want %q", word.value, word.value, got, word.want)
			}
			marshaler, ok := word.value.(encoding.TextMarshaler)
			require.True(t, ok)
			text, err := marshaler.MarshalText()
			if err != nil || string(text) != word.want {
				t.Errorf("%T(%d) is written %q (%v), want %q", word.value, word.value, text, err, word.want)
			}
			if word.want == "" {
				continue
			}
			if got, err := parse(t, set, word.want); err != nil || got != word.value {
				t.Errorf("%q is read as %v: %v", word.want, got, err)
			}
		}
		for _, text := range []string{"", "RESERVED", " reserved", "Points", "unknown", "reserved\x00", "pendin"} {
			_, err := parse(t, set, text)
			var faults *pricing.ValidationError
			if !errors.Is(err, pricing.ErrInvalid) || !errors.As(err, &faults) {
				t.Errorf("%q as a %s: %v", text, set, err)
				continue
			}
			for _, word := range words {
				if !strings.Contains(err.Error(), word.want) {
					t.Errorf("%q does not tell that %q is allowed", err, word.want)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, words := range enumerations() {
		for _, word := range words {
			f.Add(word.want)
		}
	}
	f.Add("Reserved")
	f.Fuzz(func(t *testing.T, text string) {
		for set := range enumerations() {
			value, err := parse(t, set, text)
			if err == nil && value.String() != text {
				t.Errorf("%q is read as %q", text, value)
			}
			if err != nil && !errors.Is(err, pricing.ErrInvalid) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

func TestJSON(t *testing.T) {
	t.Parallel()
	record := records()["popen"]
	data, err := json.Marshal(record)
	require.NoError(t, err)
	want := `{"id":"rsv_1","key":"key","couponId":"cpn_1","customerId":"ann","state":"reserved","origin":"points",` +
		`"orderId":"o1","sessionId":"s1","points":500,"pointsState":"debited","deadline":"2026-11-20T12:30:00Z",` +
		`"createdAt":"2026-11-20T12:00:00Z","updatedAt":"2026-11-20T12:00:00Z"}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("JSON differs (-want +got):\n%s", diff)
	}
	for name, record := range records() {
		data, err := json.Marshal(record)
		require.NoError(t, err)
		var back redemption.Redemption
		require.NoError(t, json.Unmarshal(data, &back), "%s: %s", name, data)
		if diff := cmp.Diff(record, back); diff != "" {
			t.Errorf("%s comes back as another (-want +got):\n%s", name, diff)
		}
	}
	for _, text := range []string{`{"state":"gone"}`, `{"state":""}`, `{"origin":"x"}`, `{"pointsState":"due"}`} {
		var r redemption.Redemption
		if err := json.Unmarshal([]byte(text), &r); !errors.Is(err, pricing.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestJSONOfAnyHistory sends what the machine makes through JSON.
func TestJSONOfAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fault := walk(t, redemption.Apply, func(_ redemption.Redemption, _ redemption.Event, after redemption.Redemption, _ error) string {
			data, err := json.Marshal(after)
			if err != nil {
				return err.Error()
			}
			var back redemption.Redemption
			if err := json.Unmarshal(data, &back); err != nil {
				return err.Error()
			}
			return cmp.Diff(after, back)
		})
		if fault != "" {
			t.Fatal(fault)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, record := range records() {
		data, err := json.Marshal(record)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r redemption.Redemption
		if json.Unmarshal(data, &r) != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			return // a year that RFC 3339 cannot write
		}
		var back redemption.Redemption
		switch err := json.Unmarshal(again, &back); {
		case err != nil && r.Validate() == nil:
			t.Errorf("%s is written as %s and not read: %v", data, again, err)
		case err == nil && !back.Equal(r):
			t.Errorf("%s is written as %s and read as %+v", data, again, back)
		}
	})
}
