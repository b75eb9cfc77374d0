package coupontest_test

import (
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// What the package documentation promises of each generator.

func TestCouponsAreValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if c := coupontest.Coupon().Draw(t, "coupon"); c.Validate() != nil {
			t.Error(c.Validate())
		}
	})
}

func TestDraftsAreAcceptedInEveryLocation(t *testing.T) {
	t.Parallel()
	for _, offset := range []int{0, 14, -12} {
		at := coupon.Creation{ID: "cpn_1", At: time.Unix(0, 0), Location: time.FixedZone("", offset*3600)}
		rapid.Check(t, func(t *rapid.T) {
			if _, err := coupon.New(coupontest.Draft().Draw(t, "draft"), at); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPatchesAreAcceptedForTheirCoupon(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := coupontest.Coupon().Draw(t, "coupon")
		if rapid.Bool().Draw(t, "narrowed") {
			c.AllowedUserEmails = c.AllowedUserEmails.Narrow("")
		}
		p := coupontest.Patch(c).Draw(t, "patch")
		if _, err := c.Apply(p, coupon.Edit{At: time.Unix(0, 0)}); err != nil {
			t.Error(err)
		}
	})
}

func TestSpellingsAreOfTheirCode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := coupontest.Code().Draw(t, "code")
		typed := coupontest.Spelling(code).Draw(t, "typed")
		if got, err := coupon.ParseCode(typed); err != nil || got != code {
			t.Errorf("%q is %q, %v; want %q", typed, got, err, code)
		}
	})
}

func TestScopesCoverWhatTheySay(t *testing.T) {
	t.Parallel()
	covers := func(s coupon.Scope, cart pricing.Cart) bool {
		for _, l := range cart.Lines {
			if s.Covers(&l) {
				return true
			}
		}
		return false
	}
	options := pricingtest.CartOptions{MaxLines: 5, MaxTotal: 1_000_000}
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(options).Draw(t, "cart")
		if s := coupontest.NotCovering(cart).Draw(t, "not covering"); covers(s, cart) {
			t.Errorf("NotCovering covers: %+v", s)
		}
		cart.Lines = append(cart.Lines, pricing.Line{Kind: pricing.Accessory, ItemID: "case", Quantity: 1})
		if s := coupontest.Covering(cart).Draw(t, "covering"); !covers(s, cart) {
			t.Errorf("Covering does not cover: %+v", s)
		}
		if c := coupontest.For(cart).Draw(t, "coupon"); c.Validate() != nil {
			t.Error(c.Validate())
		}
	})
}

func TestUsageIsWhatAStoreCouldReport(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := coupontest.Coupon().Draw(t, "coupon")
		u := coupontest.Question(c).Draw(t, "question").Usage
		switch {
		case u.CompletedByCustomer < 0 || u.ReservedByCustomer < 0,
			u.Completed < u.CompletedByCustomer || u.Reserved < u.ReservedByCustomer,
			u.CustomerHoldsReservation && u.ReservedByCustomer == 0:
			t.Errorf("impossible figures: %+v", u)
		}
	})
}

func TestTextsAndAddressesAreValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{1, 255, 2_000}).Draw(t, "most")
		text := coupontest.Text(most).Draw(t, "text")
		if n := utf8.RuneCountInString(text); n < 1 || n > most || !utf8.ValidString(text) {
			t.Errorf("%d characters, at most %d: %q", n, most, text)
		}
		address := coupontest.Email().Draw(t, "address")
		if got, err := email.Parse(address); err != nil || got != address {
			t.Errorf("Parse(%q) = %q, %v", address, got, err)
		}
		if at := coupontest.Instant().Draw(t, "at"); calendar.Instant(at) != at {
			t.Errorf("%v is not in the stored form", at)
		}
	})
}

// A generator that never draws a case tests nothing about it.
func TestEveryCaseIsDrawn(t *testing.T) {
	t.Parallel()
	drawn := map[string]int{}
	count := func(name string, yes bool) {
		if yes {
			drawn[name]++
		}
	}
	one := rapid.Custom(func(t *rapid.T) bool {
		cart := pricingtest.Cart(pricingtest.CartOptions{MinLines: 1, MaxLines: 4, MaxTotal: 1_000_000}).Draw(t, "cart")
		c := coupontest.Coupon().Draw(t, "coupon")
		d := coupontest.Draft().Draw(t, "draft")
		p := coupontest.Patch(c).Draw(t, "patch")
		meant := coupontest.For(cart).Draw(t, "coupon for the cart")
		q := coupontest.Question(meant).Draw(t, "question")
		result, err := eligibility.Evaluate(&meant, cart, q)
		require.NoError(t, err)
		count("state "+c.State.String(), true)
		count("applies to "+c.Scope.AppliesTo.String(), true)
		count("distribution "+c.Distribution.String(), true)
		count("type "+c.Discount.Type().String(), true)
		count("mirrored", c.Mirrored())
		count("no limit", c.Limits.MaxUsesPerUser == 0)
		count("draft without a currency", d.Currency == "")
		count("date", len(d.ExpiresAt) == len("2006-01-02"))
		count("patch clears", p.MaxUses.Given() && patchClears(p))
		count("patch repeats the code", p.Code.Given())
		count("allowed", result.Decision.Allowed())
		for _, code := range coupon.RejectionCodes() {
			count(code.String(), result.Decision.Has(code))
		}
		return true
	})
	for seed := range 500 {
		one.Example(seed)
	}
	for _, name := range []string{
		"state pending", "state active", "state inactive", "state deleting",
		"applies to ALL", "applies to SUBSCRIPTION", "applies to PRODUCT", "applies to SPECIFIC",
		"distribution GENERAL", "distribution POINTS_REDEEMABLE", "distribution USER_SPECIFIC",
		"type PERCENTAGE", "type FIXED_AMOUNT", "mirrored", "no limit", "draft without a currency", "date",
		"patch clears", "patch repeats the code",
		"coupon_not_started", "coupon_expired", "processor_out_of_sync", "usage_limit_reached",
		"user_usage_limit_reached", "minimum_purchase_not_met", "maximum_purchase_exceeded", "maximum_quantity_exceeded", "required_items_missing", "excluded_items_contained", "user_required", "user_not_allowed",
		"outside_schedule", "channel_not_allowed", "country_not_allowed", "period_limit_reached", "budget_exhausted", "minimum_quantity_not_met",
		"customer_tags_not_met", "not_first_order",
		"points_not_redeemed", "no_eligible_items", "currency_mismatch", "no_discount",
	} {
		if drawn[name] == 0 {
			t.Errorf("%q was never drawn; drawn were %v", name, drawn)
		}
	}
	if drawn["allowed"] < 50 { // of many draws, two in fifteen
		t.Errorf("only %d of 500 questions are answered with yes", drawn["allowed"])
	}
}

func patchClears(p coupon.Patch) bool {
	_, given := p.MaxUses.Value()
	return !given
}

func TestCoveringNeedsGoods(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a scope is said to cover an empty cart")
		}
	}()
	coupontest.Covering(pricing.Cart{}).Example()
}

func TestGeneratorsAreReproducible(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(coupontest.Coupon().Example(7), coupontest.Coupon().Example(7)); diff != "" {
		t.Errorf("one seed, two coupons (-first +second):\n%s", diff)
	}
}
