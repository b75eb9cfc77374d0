package eligibility_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Contract section 6: the parameters of each reason.
func TestTheParametersOfEachReason(t *testing.T) {
	t.Parallel()
	untold := slices.DeleteFunc(coupon.RejectionCodes(), func(code coupon.RejectionCode) bool {
		return slices.Contains([]coupon.RejectionCode{ // which a code, a set or a checkout has
			coupon.CodeRequired, coupon.CouponNotFound, coupon.NotCombinable, coupon.CodeTaken, coupon.CartTotalsInvalid, coupon.BelowMinimumCharge,
		}, code)
	})
	for want, change := range map[string]func(*situation){
		`coupon_inactive {}`: func(s *situation) { s.coupon.State = coupon.Inactive },
		`coupon_not_started {"startsAt":"2026-11-20T12:00:00Z"}`: func(s *situation) { s.question.At = noon.Add(-1) },
		`coupon_expired {"expiresAt":"2026-11-20T13:00:00Z"}`:    func(s *situation) { s.question.At = noon.Add(time.Hour) },
		`outside_schedule {"timeZone":"Europe/Berlin","opensAt":"2026-11-23T08:00:00Z"}`: func(s *situation) {
			s.coupon.Conditions.Schedule, s.coupon.ExpiresAt = mondays(), time.Time{}
		},
		`minimum_quantity_not_met {"minQuantity":5,"eligibleQuantity":2,"missingQuantity":3}`: func(s *situation) { s.coupon.Conditions.MinQuantity = 5 },
		`customer_tags_not_met {"anyOfTags":["gold","silver"],"missingTags":["member"],"hasExcludedTag":true}`: func(s *situation) {
			s.question.Customer.Tags = []string{"b2b", "blocked"}
			s.coupon.Conditions.CustomerTags = coupon.CustomerTags{Any: []string{"gold", "silver"}, All: []string{"b2b", "member"}, None: []string{"blocked"}}
		},
		`not_first_order {"orders":3}`: func(s *situation) {
			s.coupon.Conditions.FirstOrder, s.question.Usage.Orders, s.question.Customer.EarlierOrders = true, 1, 2
		},
		`budget_exhausted {"missing":"1.00","budget":"10.00","remaining":"4.00"}`: func(s *situation) {
			s.coupon.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(1000, pricing.EUR()))
			s.question.Usage.Spent = coupon.NewMoneySet(pricing.NewMoney(600, pricing.EUR()))
		},
		`period_limit_reached {"maxUses":2,"timeZone":"Europe/Berlin","per":"CUSTOMER","period":"WEEK","endsAt":"2026-11-22T23:00:00Z"}`: func(s *situation) {
			s.coupon.Limits.Periods = []coupon.PeriodLimit{
				{Per: coupon.PerCoupon, Period: calendar.Day, Zone: mondays().Zone, MaxUses: 3},
				{Per: coupon.PerCustomer, Period: calendar.Week, Zone: mondays().Zone, MaxUses: 2},
			}
			s.question.Usage.Periods = []int64{2, 2}
		},
		`channel_not_allowed {"channel":"web","channels":["app","store"]}`: func(s *situation) {
			s.coupon.Conditions.Channels, s.question.Facts.Channel = coupon.NewItems("app", "store"), "web"
		},
		`country_not_allowed {"country":"DE","countries":["AT","CH"]}`: func(s *situation) {
			s.coupon.Conditions.Countries, s.question.Facts.Country = coupon.NewItems("AT", "CH"), "DE"
		},
		`processor_out_of_sync {}`:                      func(s *situation) { s.question.MirrorInvalid = true },
		`usage_limit_reached {"maxUses":10}`:            func(s *situation) { s.question.Usage.Completed = 10 },
		`user_usage_limit_reached {"maxUsesPerUser":2}`: func(s *situation) { s.question.Usage.CompletedByCustomer = 2 },
		`minimum_purchase_not_met {"minPurchase":"50.01","eligibleSubtotal":"50.00","missing":"0.01"}`: func(s *situation) { s.coupon.Conditions.MinPurchase = least(5001) },
		`maximum_purchase_exceeded {"eligibleSubtotal":"50.00","maxPurchase":"49.99","excess":"0.01"}`: func(s *situation) {
			s.coupon.Conditions.MinPurchase, s.coupon.Conditions.MaxPurchase = least(0), least(4999)
		},
		`maximum_quantity_exceeded {"eligibleQuantity":2,"maxQuantity":1,"excessQuantity":1}`: func(s *situation) { s.coupon.Conditions.MaxQuantity = 1 },
		`required_items_missing {"missingQuantity":1,"contains":{"appliesTo":"ALL","kinds":["device"],"quantity":4},"containedQuantity":3}`: func(s *situation) {
			s.coupon.Conditions.Contains = coupon.Contents{Scope: coupon.Scope{AppliesTo: coupon.All, Kinds: coupon.NewItems("device")}, Quantity: 4}
		},
		`required_items_missing {"minPurchase":"1000.00","missing":"50.00","contains":{"appliesTo":"ALL","quantity":1,"minPurchase":{"EUR":"1000.00"}},"containedQuantity":3,"containedSubtotal":"950.00"}`: func(s *situation) {
			s.coupon.Conditions.Contains = coupon.Contents{Scope: coupon.Scope{AppliesTo: coupon.All}, Quantity: 1, MinPurchase: least(100_000)}
		},
		`excluded_items_contained {"containsNot":{"appliesTo":"PRODUCT"},"excludedQuantity":3}`: func(s *situation) {
			s.coupon.Conditions.ContainsNot = coupon.Scope{AppliesTo: coupon.Product}
		},
		`user_required {}`:    func(s *situation) { s.question.Customer.ID = "" },
		`user_not_allowed {}`: func(s *situation) { s.question.Customer.Email = "x" },
		`points_not_redeemed {"pointsRequired":300}`: func(s *situation) {
			s.coupon.Distribution, s.coupon.PointsRequired = coupon.PointsRedeemable, 300
		},
		`no_eligible_items {}`: func(s *situation) {
			s.coupon.Scope.Devices, s.coupon.Conditions.MinPurchase = coupon.NewItems("watch"), least(0)
		},
		`no_discount {}`: func(s *situation) { s.cart.Lines[0].UnitPrice, s.coupon.Conditions.MinPurchase = 0, least(0) },
		`currency_mismatch {"couponCurrency":"USD","cartCurrency":"EUR"}`: func(s *situation) { s.inDollars() },
	} {
		s := sound()
		change(&s)
		result, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		require.NoError(t, err)
		reasons := result.Decision.Reasons()
		require.Len(t, reasons, 1, want)
		untold = slices.DeleteFunc(untold, func(code coupon.RejectionCode) bool { return code == reasons[0].Code })
		params, err := json.Marshal(reasons[0].Params)
		require.NoError(t, err)
		if diff := cmp.Diff(want, fmt.Sprintf("%s %s", reasons[0].Code, params)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		var rejection *coupon.Rejection
		require.ErrorAs(t, result.Decision.Err(), &rejection)
		if rejection.CouponID != "cpn_1" {
			t.Errorf("the rejection is of %q", rejection.CouponID)
		}
	}
	require.Empty(t, untold, "reasons without a row")
}

// A budget that is used up misses the least amount, also for a cart from which nothing is taken off.
func TestAUsedUpBudgetAndACartForNothing(t *testing.T) {
	t.Parallel()
	s := sound()
	s.coupon.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(1000, pricing.EUR()))
	s.question.Usage.Spent, s.coupon.Conditions.MinPurchase, s.cart.Lines[0].UnitPrice = s.coupon.Limits.Budget, least(0), 0
	result, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	reasons := result.Decision.Reasons()
	require.Len(t, reasons, 2)
	params, err := json.Marshal(reasons[0].Params)
	require.NoError(t, err)
	require.JSONEq(t, `{"missing":"0.01","budget":"10.00","remaining":"0.00"}`, string(params))
	require.Equal(t, coupon.NoDiscount, reasons[1].Code)
}

func TestCheckCurrencyTellsBoth(t *testing.T) {
	t.Parallel()
	s := sound()
	d := eligibility.Check(&s.coupon, s.question)
	with := d.CheckCurrency(&s.coupon, usd)
	want := []coupon.Reason{{Code: coupon.CurrencyMismatch, Params: coupon.Params{CouponCurrency: pricing.EUR(), CartCurrency: usd}}}
	if diff := cmp.Diff(want, with.Reasons()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !d.Allowed() || !d.CheckCurrency(&s.coupon, pricing.EUR()).Allowed() {
		t.Error("the decision before is changed, or the coupon's own currency refused")
	}
}

func TestDecisionsAreComparedByTheirReasons(t *testing.T) {
	t.Parallel()
	s := sound()
	s.question.At = s.coupon.ExpiresAt
	d := eligibility.Check(&s.coupon, s.question)
	s.coupon.ExpiresAt = s.coupon.ExpiresAt.In(time.FixedZone("", 3600))
	if same := eligibility.Check(&s.coupon, s.question); !d.Equal(same) || cmp.Diff(d, same) != "" {
		t.Error("the same refusal in two time zones is not equal")
	}
	s.coupon.ExpiresAt = s.coupon.ExpiresAt.Add(-1)
	if d.Equal(eligibility.Check(&s.coupon, s.question)) || d.Equal(eligibility.Decision{}) {
		t.Error("refusals with other parameters are equal")
	}
	if none := (eligibility.Decision{}); !none.Allowed() || none.Headline() != 0 || none.Reasons() != nil || none.Err() != nil || none.Has(0) {
		t.Error("the zero value is not simply allowed")
	}
}

func TestWithoutTakesOneReasonAway(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		before := eligibility.Check(&s.coupon, s.question)
		code := rapid.SampledFrom(coupon.RejectionCodes()).Draw(t, "code")
		after := before.Without(code)
		checkDecision(t, after)
		var want []coupon.Reason
		for _, r := range before.Reasons() {
			if r.Code != code {
				want = append(want, r)
			}
		}
		if diff := cmp.Diff(want, after.Reasons()); diff != "" {
			t.Errorf("without %s (-want +got):\n%s", code, diff)
		}
	})
}

// A malformed cart is no refusal.
func TestAMalformedCart(t *testing.T) {
	t.Parallel()
	s := sound()
	s.cart.Lines[0].Quantity, s.cart.Lines[1].UnitPrice = 0, -1
	result, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	if len(invalid.Fields) != 2 || invalid.Fields[0].Path != "lines[0].quantity" || invalid.Fields[1].Path != "lines[1].unitPrice" {
		t.Errorf("got %v", err)
	}
	if len(result.Quote.Lines) != 0 {
		t.Errorf("an error comes with a quote: %+v", result.Quote)
	}
	var reused eligibility.SetResult
	require.NoError(t, reused.Reevaluate(sound().set(), sound().cart, sound().question))
	require.ErrorIs(t, reused.Reevaluate(s.set(), s.cart, s.question), validation.ErrInvalid)
	if len(reused.Quote.Lines) != 0 || reused.Quote.Total != 0 {
		t.Errorf("an error leaves the quote before: %+v", reused.Quote)
	}
	require.NoError(t, reused.Reevaluate(sound().set(), sound().cart, sound().question))
	if !reused.Coupons[0].Decision.Allowed() || reused.Quote.Discount != 500 {
		t.Errorf("after an error: %+v", reused)
	}
}

// A refused coupon leaves the list prices, and tells what it would have covered.
func TestARefusedCartHasItsListPrices(t *testing.T) {
	t.Parallel()
	s := sound()
	s.coupon.Conditions.MinPurchase = least(5001)
	result, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	q := result.Quote
	if q.Discount != 0 || q.Total != 95490 || q.EligibleSubtotal != 5000 || !q.Lines[0].Eligible || q.Lines[1].Eligible || q.Lines[2].Eligible {
		t.Errorf("got %+v", q)
	}
}

// The result of Evaluate shares no memory with a later one.
func TestResultsAreTheCallersOwn(t *testing.T) {
	t.Parallel()
	s := sound()
	first, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	kept := first.Quote.Clone()
	s.cart.Lines[0].UnitPrice = 1_000_000
	later, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	require.NotEqual(t, kept.Total, later.Quote.Total)
	if diff := cmp.Diff(kept, first.Quote); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := sound()
	second, err := eligibility.Evaluate(&again.coupon, again.cart, again.question)
	require.NoError(t, err)
	if diff := cmp.Diff(kept, second.Quote); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
