package validation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/validation"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	inner := &validation.Error{}
	inner.Add("unitPrice", validation.TooSmall, "a price is not negative")
	inner.Add("", validation.Malformed, "not a line")
	inner.Add("[0]", validation.Unknown, "no such unit")

	var e validation.Error
	require.NoError(t, e.Err())
	require.NoError(t, (*validation.Error)(nil).Err())
	e.Merge("ignored", nil)
	e.At("ignored", nil)
	e.Merge("lines[2]", inner)
	e.Merge("", inner)
	e.Merge("at", errors.New("is no instant"))
	e.At("discountValue", &validation.Error{Fields: []validation.Field{{Path: "amount", Code: validation.TooManyDecimals, Message: "no decimals are allowed"}}})
	e.At("name", errors.New("is too odd"))

	want := []validation.Field{
		{Path: "lines[2].unitPrice", Code: validation.TooSmall, Message: "a price is not negative"},
		{Path: "lines[2]", Code: validation.Malformed, Message: "not a line"},
		{Path: "lines[2][0]", Code: validation.Unknown, Message: "no such unit"},
		{Path: "unitPrice", Code: validation.TooSmall, Message: "a price is not negative"},
		{Path: "", Code: validation.Malformed, Message: "not a line"},
		{Path: "[0]", Code: validation.Unknown, Message: "no such unit"},
		{Path: "at", Code: validation.Malformed, Message: "is no instant"},
		{Path: "discountValue", Code: validation.TooManyDecimals, Message: "no decimals are allowed"},
		{Path: "name", Code: validation.Malformed, Message: "is too odd"},
	}
	if diff := cmp.Diff(want, e.Fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.ErrorIs(t, e.Err(), validation.ErrInvalid)
	const text = "invalid input: unitPrice: a price is not negative; not a line; [0]: no such unit"
	if got := inner.Error(); got != text {
		t.Errorf("got %q, want %q", got, text)
	}
}

func TestTheTextIsBounded(t *testing.T) {
	t.Parallel()
	var e validation.Error
	for range 20 {
		e.Add("a", validation.Unknown, "b")
	}
	all := "invalid input: a: b" + strings.Repeat("; a: b", 19)
	if got := e.Error(); got != all {
		t.Errorf("20 faults: got %q", got)
	}
	e.Add("a", validation.Unknown, "b")
	e.Add("a", validation.Unknown, "b")
	if got, want := e.Error(), all+"; and 2 more"; got != want {
		t.Errorf("22 faults: got %q", got)
	}
}

// However many entries are bad, the answer is short, and it names the other fields.
func TestAListOfFaultsEndsWithACount(t *testing.T) {
	t.Parallel()
	const bad = 1_000_000
	ways := map[string]func(e *validation.Error){
		"added": func(e *validation.Error) {
			for i := range bad {
				e.Add(fmt.Sprintf("emails[%d]", i), validation.Malformed, "no address")
			}
		},
		"merged one by one": func(e *validation.Error) {
			for i := range bad {
				e.Merge(fmt.Sprintf("emails[%d]", i), errors.New("no address"))
			}
		},
		"merged as a whole": func(e *validation.Error) {
			var inner validation.Error
			for i := range bad {
				inner.Add(fmt.Sprintf("[%d]", i), validation.Malformed, "no address")
			}
			e.Merge("emails", inner.Err())
		},
		"merged in halves": func(e *validation.Error) {
			for half := range 2 {
				var inner validation.Error
				for i := range bad / 2 {
					inner.Add(fmt.Sprintf("[%d]", half*bad/2+i), validation.Malformed, "no address")
				}
				e.Merge("emails", inner.Err())
			}
		},
	}
	for name, add := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e validation.Error
			e.Add("first", validation.Required, "")
			add(&e)
			e.Add("last", validation.Required, "")
			want := []validation.Field{{Path: "first", Code: validation.Required}}
			for i := range validation.MaxListFaults {
				want = append(want, validation.Field{Path: fmt.Sprintf("emails[%d]", i), Code: validation.Malformed, Message: "no address"})
			}
			want = append(want,
				validation.Field{Path: "emails", Code: validation.More, Message: "999000 more faults in this list"},
				validation.Field{Path: "last", Code: validation.Required})
			if diff := cmp.Diff(want, e.Fields); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Lists have bounds of their own, and a prefix takes a count along.
func TestTheCountsOfTwoLists(t *testing.T) {
	t.Parallel()
	var inner validation.Error
	for i := range validation.MaxListFaults + 3 {
		inner.Add(fmt.Sprintf("lines[%d].quantity", i), validation.TooSmall, "")
		inner.Add(fmt.Sprintf("steps[%d]", i%2), validation.TooSmall, "")
	}
	var e validation.Error
	e.Merge("cart", inner.Err())
	more := map[string]string{}
	for _, f := range e.Fields {
		if f.Code == validation.More {
			more[f.Path] = f.Message
		}
	}
	want := map[string]string{"cart.lines": "3 more faults in this list", "cart.steps": "3 more faults in this list"}
	if diff := cmp.Diff(want, more); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.Len(t, e.Fields, 2*validation.MaxListFaults+2)
}
