package processor_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func sessionRequest() processor.SessionRequest {
	return processor.SessionRequest{
		Key: "key-1", OrderID: "order-1", Mode: processor.Payment, Currency: pricing.EUR(),
		Lines: []processor.SessionLine{
			{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 2, UnitAmount: 1000},
			{LineID: "S", Kind: pricing.Shipping, ItemID: "dhl", Name: "Shipping", Quantity: 1, UnitAmount: 490},
		},
		Total: 2490, SuccessURL: "https://shop.example/", ExpiresAt: noon().Add(time.Hour),
		Metadata: map[string]string{processor.MetadataOrderID: "order-1"},
	}
}

func bounds(t *testing.T) processor.Abilities {
	t.Helper()
	kwd, err := pricing.ParseCurrency("KWD")
	require.NoError(t, err)
	return processor.Abilities{
		MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): 50},
		AmountStep:    map[pricing.Currency]int64{kwd: 10},
		NoZeroTotal:   true, MaxLines: 3, OneInterval: true, NeedsSuccessURL: true,
		MinSessionLifetime: 30 * time.Minute, MaxSessionLifetime: 24 * time.Hour,
	}
}

// TestSessionRequest: every offending field is named.
func TestSessionRequest(t *testing.T) {
	t.Parallel()
	kwd, err := pricing.ParseCurrency("KWD")
	require.NoError(t, err)
	tests := map[string]struct {
		change func(*processor.SessionRequest)
		want   []string
	}{
		"no key":       {func(r *processor.SessionRequest) { r.Key = "" }, []string{"key required"}},
		"a long key":   {func(r *processor.SessionRequest) { r.Key = strings.Repeat("k", 256) }, []string{"key too_long"}},
		"no currency":  {func(r *processor.SessionRequest) { r.Currency = pricing.Currency{} }, []string{"currency required"}},
		"no page":      {func(r *processor.SessionRequest) { r.SuccessURL = "" }, []string{"successUrl required"}},
		"no lines":     {func(r *processor.SessionRequest) { r.Lines = nil }, []string{"lines required", "total mismatch"}},
		"no mode":      {func(r *processor.SessionRequest) { r.Mode = 0 }, []string{"mode mismatch"}},
		"another mode": {func(r *processor.SessionRequest) { r.Mode = processor.Subscription }, []string{"mode mismatch"}},
		"payment of a plan": {func(r *processor.SessionRequest) {
			r.Lines[0].Kind, r.Lines[0].Recurs = pricing.Plan, pricing.Monthly
		}, []string{"mode mismatch"}},
		"many lines": {func(r *processor.SessionRequest) {
			r.Lines = slices.Concat(r.Lines, r.Lines)
			r.Total *= 2
		}, []string{"lines too_long"}},
		"no kind":           {func(r *processor.SessionRequest) { r.Lines[1].Kind = "" }, []string{"lines[1].kind required"}},
		"a malformed kind":  {func(r *processor.SessionRequest) { r.Lines[1].Kind = "Device" }, []string{"lines[1].kind malformed"}},
		"a negative amount": {func(r *processor.SessionRequest) { r.Lines[1].UnitAmount = -1 }, []string{"lines[1].unitAmount too_small", "total mismatch"}},
		"no quantity":       {func(r *processor.SessionRequest) { r.Lines[1].Quantity = 0 }, []string{"lines[1].quantity too_small", "total mismatch"}},
		"an unknown interval": {func(r *processor.SessionRequest) {
			r.Mode, r.Lines[1].Recurs = processor.Subscription, pricing.Yearly+1
		}, []string{"lines[1].recurs unknown"}},
		"two intervals": {func(r *processor.SessionRequest) {
			r.Mode, r.Lines[0].Recurs, r.Lines[1].Recurs = processor.Subscription, pricing.Monthly, pricing.Yearly
		}, []string{"lines[1].recurs mismatch"}},
		"three intervals": {func(r *processor.SessionRequest) {
			r.Mode, r.Lines = processor.Subscription, append(r.Lines, r.Lines[1])
			r.Lines[0].Recurs, r.Lines[1].Recurs, r.Lines[2].Recurs = pricing.Yearly, pricing.Monthly, pricing.Weekly
			r.Total += 490
		}, []string{"lines[1].recurs mismatch", "lines[2].recurs mismatch"}},
		"an interval beside an unknown one": {func(r *processor.SessionRequest) {
			r.Mode, r.Lines[0].Recurs, r.Lines[1].Recurs = processor.Subscription, pricing.Yearly+1, pricing.Monthly
		}, []string{"lines[0].recurs unknown"}},
		"no quantity, and a sum without it": {func(r *processor.SessionRequest) {
			r.Lines[0].Quantity, r.Total = 0, 490
		}, []string{"lines[0].quantity too_small"}},
		"a product that overflows": {func(r *processor.SessionRequest) {
			r.Lines[0].Quantity, r.Lines[0].UnitAmount = math.MaxInt64, 2
		}, []string{"lines overflow"}},
		"a sum that overflows": {func(r *processor.SessionRequest) {
			r.Lines[0].Quantity, r.Lines[0].UnitAmount = 1, math.MaxInt64
		}, []string{"lines overflow"}},
		"a cent too much":   {func(r *processor.SessionRequest) { r.Total++ }, []string{"total mismatch"}},
		"a cent too little": {func(r *processor.SessionRequest) { r.Total-- }, []string{"total mismatch"}},
		"a first period that is none": {func(r *processor.SessionRequest) {
			r.FirstPeriodDiscount, r.Total = 90, 2400
		}, []string{"firstPeriodDiscount not_allowed"}},
		"a negative discount": {func(r *processor.SessionRequest) {
			r.Mode, r.Lines[0].Kind, r.Lines[0].Recurs = processor.Subscription, pricing.Plan, pricing.Daily
			r.FirstPeriodDiscount, r.Total = -10, 2500
		}, []string{"firstPeriodDiscount too_small"}},
		"a negative total": {func(r *processor.SessionRequest) { r.Total = -1 }, []string{"total too_small", "total mismatch"}},
		"a total of 0": {func(r *processor.SessionRequest) {
			r.Lines, r.Total = r.Lines[1:], 0
			r.Lines[0].UnitAmount = 0
		}, []string{"total too_small"}},
		"a total below the minimum": {func(r *processor.SessionRequest) {
			r.Lines, r.Total = r.Lines[1:], 49
			r.Lines[0].UnitAmount = 49
		}, []string{"total too_small"}},
		"amounts off the step": {func(r *processor.SessionRequest) {
			r.Currency, r.Lines, r.Total = kwd, r.Lines[1:], 495
			r.Lines[0].UnitAmount = 495
		}, []string{"lines[0].unitAmount too_many_decimals"}},
		"a discount off the step": {func(r *processor.SessionRequest) {
			r.Currency, r.Mode, r.Lines[0].Kind, r.Lines[0].Recurs = kwd, processor.Subscription, pricing.Plan, pricing.Monthly
			r.FirstPeriodDiscount, r.Total = 5, 2485
		}, []string{"firstPeriodDiscount too_many_decimals"}},
		"no end":              {func(r *processor.SessionRequest) { r.ExpiresAt = time.Time{} }, []string{"expiresAt too_small"}},
		"an end now":          {func(r *processor.SessionRequest) { r.ExpiresAt = noon() }, []string{"expiresAt too_small"}},
		"an end too soon":     {func(r *processor.SessionRequest) { r.ExpiresAt = noon().Add(30*time.Minute - 1) }, []string{"expiresAt too_small"}},
		"an end too far away": {func(r *processor.SessionRequest) { r.ExpiresAt = noon().Add(24*time.Hour + 1) }, []string{"expiresAt too_large"}},
		"everything": {func(r *processor.SessionRequest) {
			*r = processor.SessionRequest{Total: 5, FirstPeriodDiscount: -1}
		}, []string{
			"key required", "currency required", "successUrl required", "lines required", "mode mismatch",
			"firstPeriodDiscount not_allowed", "firstPeriodDiscount too_small", "total mismatch", "expiresAt too_small",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sessionRequest()
			test.change(&r)
			var faults *validation.Error
			require.ErrorAs(t, r.Validate(bounds(t), noon()), &faults)
			var got []string
			for _, f := range faults.Fields {
				got = append(got, f.Path+" "+string(f.Code))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("offending fields (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTermsOfASessionRequest: an adapter that decides by itself when a session ends has
// everything else checked, and is told of all of it.
func TestTermsOfASessionRequest(t *testing.T) {
	t.Parallel()
	r := sessionRequest()
	r.ExpiresAt = time.Time{}
	require.NoError(t, r.ValidateTerms(bounds(t)))
	r.Key, r.Total = "", r.Total+1
	var faults *validation.Error
	require.ErrorAs(t, r.ValidateTerms(bounds(t)), &faults)
	var got []string
	for _, f := range faults.Fields {
		got = append(got, f.Path)
	}
	if diff := cmp.Diff([]string{"key", "total"}, got); diff != "" {
		t.Errorf("offending fields (-want +got):\n%s", diff)
	}
}

// TestSessionRequestAtItsBounds: the bounds themselves are allowed.
func TestSessionRequestAtItsBounds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*processor.SessionRequest){
		"least charge": func(r *processor.SessionRequest) {
			r.Lines, r.Total = r.Lines[1:], 50
			r.Lines[0].UnitAmount = 50
		},
		"most lines": func(r *processor.SessionRequest) {
			r.Lines = append(r.Lines, r.Lines[1])
			r.Total += 490
		},
		"shortest life": func(r *processor.SessionRequest) { r.ExpiresAt = noon().Add(30 * time.Minute) },
		"longest life":  func(r *processor.SessionRequest) { r.ExpiresAt = noon().Add(24 * time.Hour) },
		"longest interval": func(r *processor.SessionRequest) {
			r.Mode, r.Lines[0].Kind, r.Lines[0].Recurs = processor.Subscription, pricing.Plan, pricing.Yearly
		},
		"largest sum": func(r *processor.SessionRequest) {
			r.Lines[0].Quantity, r.Lines[0].UnitAmount, r.Total = 1, math.MaxInt64-490, math.MaxInt64
		},
		"longest key": func(r *processor.SessionRequest) { r.Key = strings.Repeat("k", 255) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sessionRequest()
			change(&r)
			require.NoError(t, r.Validate(bounds(t), noon()))
		})
	}
}

// TestSessionRequestWithoutBounds: a processor that declares none refuses what does not add
// up, and nothing else.
func TestSessionRequestWithoutBounds(t *testing.T) {
	t.Parallel()
	r := sessionRequest()
	r.SuccessURL, r.ExpiresAt = "", noon().Add(1)
	require.NoError(t, r.Validate(processor.Abilities{}, noon()))
}
