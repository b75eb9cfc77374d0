package replay_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

const line = `{"id":"A","kind":"device","itemId":"phone","quantity":3,"unitPrice":"10.00"}`

func TestQuoteDocumentsAreEvents(t *testing.T) {
	t.Parallel()
	var got replay.Event
	require.NoError(t, json.Unmarshal([]byte(`{"id":"1","at":"2026-11-20T12:00:00Z","currency":"EUR","step":null,"paid":"27.00",
		"customer":{"id":"u1","email":"ann@example.org","tags":["vip"],"earlierOrders":2},"facts":{"country":"DE"},
		"coupons":[{"code":"TEN"}],"usage":{"completed":1},"conflicts":"keep_best","lines":[`+line+`]}`), &got))
	want := replay.Event{
		At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Paid: pricing.NewMoney(27_00, pricing.EUR()),
		Customer: eligibility.Customer{ID: "u1", Email: "ann@example.org", Tags: []string{"vip"}, EarlierOrders: 2},
		Facts:    eligibility.Facts{Country: "DE"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
		}},
	}
	require.Empty(t, cmp.Diff(want, got))

	for text, paths := range map[string]string{
		`{}`: "at currency lines",
		`{"at":"soon","currency":"EUR","lines":[]}`:                                                                        "at",
		`{"at":"2026-11-20T12:00:00Z","currency":"EUR","lines":[],"paid":"1.234"}`:                                         "paid",
		`{"at":"2026-11-20T12:00:00Z","currency":"EUR","lines":[],"paid":"-1"}`:                                            "paid",
		`{"at":"2026-11-20T12:00:00Z","currency":"EUR","lines":[],"coupon":{}}`:                                            "paid",
		`{"at":"2026-11-20T12:00:00Z","currency":"EUR","lines":[{"kind":"device","quantity":0,"unitPrice":1}]}`:            "lines[0].quantity",
		`{"at":"2026-11-20T12:00:00Z","currency":"EUR","lines":[],"customer":{"name":"Ann"},"facts":{"country":""},"x":1}`: "x",
		`{"at":"2026-11-20T12:00:00Z","currency":"EUR","lines":[],"customer":{"earlierOrders":-1}}`:                        "customer.earlierOrders",
		`[]`: "",
		strings.Repeat(" ", replay.MaxEventDocument+1): "",
	} {
		var e replay.Event
		var invalid *validation.Error
		require.ErrorAs(t, e.UnmarshalJSON([]byte(text)), &invalid, text)
		var found []string
		for _, f := range invalid.Fields {
			found = append(found, f.Path)
		}
		require.Equal(t, paths, strings.Join(found, " "), "%.80s", text)
		require.Empty(t, cmp.Diff(replay.Event{}, e))
	}
}

// Whatever the text is, an event that is read is valid, and an error names fields.
func FuzzEvent(f *testing.F) {
	f.Add(`{"at":"2026-11-20T12:00:00Z","currency":"EUR","lines":[` + line + `],"paid":1}`)
	f.Add(`{"at":"2026-11-20t12:00:00z","currency":"KWD","step":"0.010","lines":null,"customer":{"tags":[""]},"facts":{}}`)
	f.Add(`{"lines":[[]],"customer":7,"coupon":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		var e replay.Event
		if err := e.UnmarshalJSON([]byte(text)); err != nil {
			if _, is := errors.AsType[*validation.Error](err); !is {
				t.Fatalf("%v is no error of fields", err)
			}
			return
		}
		if e.At.IsZero() || e.Cart.Validate() != nil || e.Customer.Validate() != nil || e.Facts.Validate() != nil {
			t.Fatalf("%q is read as %+v", text, e)
		}
	})
}
