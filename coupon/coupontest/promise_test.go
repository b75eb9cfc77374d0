package coupontest_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// How often is part of what a generator promises: a coupon that never meets its cart,
// or a question that is never asked at a bound, tests nothing.

const draws = 600

func goodsOf(cart pricing.Cart) int {
	n := 0
	for _, l := range cart.Lines {
		if l.Kind != pricing.Shipping && l.ItemID != "" {
			n++
		}
	}
	return n
}

func covers(s coupon.Scope, cart pricing.Cart) bool {
	for _, l := range cart.Lines {
		if s.Covers(&l) {
			return true
		}
	}
	return false
}

// TestForHasAChanceToApply: more often than not a coupon of the cart's currency, and one
// that covers a line of it; and the opposite of both, too.
func TestForHasAChanceToApply(t *testing.T) {
	t.Parallel()
	carts, currency, covering, withGoods := pricingtest.Cart(pricingtest.CartOptions{MaxLines: 4}), 0, 0, 0
	for seed := range draws {
		cart := carts.Example(seed)
		c := coupontest.For(cart).Example(seed)
		require.True(t, c.Active())
		if c.Currency == cart.Currency {
			currency++
		}
		if goodsOf(cart) == 0 {
			continue // any scope will do
		}
		withGoods++
		if covers(c.Scope, cart) {
			covering++
		}
	}
	require.Greater(t, currency, draws/2)
	require.Less(t, currency, draws)
	require.Greater(t, covering, withGoods/2)
	require.Less(t, covering, withGoods*19/20, "next to no coupon covers nothing")
}

// TestForNeedsNoGoods: of an empty cart, and of one that is only shipped, a coupon can
// be drawn.
func TestForNeedsNoGoods(t *testing.T) {
	t.Parallel()
	for _, cart := range []pricing.Cart{
		{Currency: pricing.EUR()},
		{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Shipping, ItemID: "post", Quantity: 1, UnitPrice: 490}}},
	} {
		rapid.Check(t, func(t *rapid.T) {
			if c := coupontest.For(cart).Draw(t, "coupon"); c.Validate() != nil {
				t.Error(c.Validate())
			}
		})
	}
}

func minimumOf(c coupon.Coupon) int64 {
	minor, _ := c.Minimum(c.Currency)
	return minor
}

// TestAMinimumIsCloseToWhatLinesCost: a minimum purchase is within two minor units of
// what some of the lines cost, on either side and on the point; of one line or more.
func TestAMinimumIsCloseToWhatLinesCost(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Plan, ItemID: "plan-1", Quantity: 3, UnitPrice: 1_000},
		{Kind: pricing.Device, ItemID: "device-1", Quantity: 7, UnitPrice: 10_000},
	}}
	off := map[int64]map[int64]bool{0: {}, 3_000: {}, 70_000: {}, 73_000: {}}
	for seed := range draws {
		near := false
		least := minimumOf(coupontest.For(cart).Example(seed))
		for sum := range off {
			if by := least - sum; by >= -2 && by <= 2 {
				off[sum][by], near = true, true
			}
		}
		require.True(t, near, "a minimum of %d", least)
	}
	for sum, seen := range off {
		for by := max(-2, -sum); by <= 2; by++ {
			require.True(t, seen[by], "a minimum of %d%+d was never drawn", sum, by)
		}
	}
	rich := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Plan, ItemID: "plan-1", Quantity: 1, UnitPrice: math.MaxInt64}}}
	greatest := int64(0)
	for seed := range draws {
		greatest = max(greatest, minimumOf(coupontest.For(rich).Example(seed)))
	}
	require.EqualValues(t, coupon.MaxMinPurchase, greatest, "the greatest minimum there is")
}

// TestCouponsAreAsStoresKeepThem: instants to the microsecond, not changed before they
// were created, and mirrors of a revision that there was.
func TestCouponsAreAsStoresKeepThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := coupontest.Coupon().Draw(t, "coupon")
		for _, at := range []time.Time{c.CreatedAt, c.UpdatedAt, c.StartsAt, c.ExpiresAt} {
			if calendar.Instant(at) != at {
				t.Errorf("%v is not in the stored form", at)
			}
		}
		if c.UpdatedAt.Before(c.CreatedAt) || c.Mirror.Revision > c.Revision {
			t.Errorf("created at %v, changed at %v; revision %d, mirrored %d", c.CreatedAt, c.UpdatedAt, c.Revision, c.Mirror.Revision)
		}
	})
}

// TestScopesAreValid: also of carts without goods, and of lines without an item.
func TestScopesAreValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(pricingtest.CartOptions{MaxLines: 3}).Draw(t, "cart")
		if len(cart.Lines) > 0 && rapid.Bool().Draw(t, "no item") {
			cart.Lines[0].ItemID = ""
		}
		c := coupontest.Coupon().Draw(t, "coupon")
		scopes := map[string]coupon.Scope{
			"any": coupontest.Scope().Draw(t, "scope"), "covering nothing": coupontest.NotCovering(cart).Draw(t, "not covering"),
		}
		if goodsOf(cart) > 0 {
			scopes["covering"] = coupontest.Covering(cart).Draw(t, "covering")
		}
		for name, s := range scopes {
			c.Scope = s
			if err := c.Validate(); err != nil {
				t.Errorf("%s, %+v: %v", name, s, err)
			}
		}
	})
}

// TestNotCoveringKnowsTheKind: the ID of another kind's line is selected at times, and
// what is called like the first absent item is not covered either.
func TestNotCoveringKnowsTheKind(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Device, ItemID: "absent", Quantity: 1},
		{Kind: pricing.Device, ItemID: "absent-1", Quantity: 1},
		{Kind: pricing.Accessory, ItemID: "case", Quantity: 1},
	}}
	confused := 0
	for seed := range draws {
		s := coupontest.NotCovering(cart).Example(seed)
		require.False(t, covers(s, cart), "%+v", s)
		if s.Devices.Has("case") {
			confused++
		}
	}
	require.Positive(t, confused)
}

// TestUsageIsCloseToItsLimits: more often than not within two of them, for the customer
// and for all; below, at and beyond.
func TestUsageIsCloseToItsLimits(t *testing.T) {
	t.Parallel()
	limits := coupon.Limits{MaxUses: 1_000, MaxUsesPerUser: 20}
	near := func(places, limit int64) bool { return places >= limit-2 && places <= limit+2 }
	all, own := make(map[int64]int), make(map[int64]int)
	closeToAll, closeToOwn := 0, 0
	for seed := range draws {
		u := coupontest.Usage(limits).Example(seed)
		if places := u.Completed + u.Reserved; near(places, limits.MaxUses) {
			closeToAll++
			all[places-limits.MaxUses]++
		}
		if places := u.CompletedByCustomer + u.ReservedByCustomer; near(places, limits.MaxUsesPerUser) {
			closeToOwn++
			own[places-limits.MaxUsesPerUser]++
		}
	}
	require.Greater(t, closeToAll, draws/2)
	require.Greater(t, closeToOwn, draws/2)
	for by := int64(-2); by <= 2; by++ {
		require.Positive(t, all[by], "%+d of all", by)
		require.Positive(t, own[by], "%+d of the customer", by)
	}
	for _, none := range []coupon.Limits{{}, {MaxUses: math.MaxInt64, MaxUsesPerUser: math.MaxInt64}} {
		rapid.Check(t, func(t *rapid.T) {
			if u := coupontest.Usage(none).Draw(t, "usage"); u.Completed+u.Reserved < u.CompletedByCustomer+u.ReservedByCustomer {
				t.Errorf("sums that overflow: %+v", u)
			}
		})
	}
}

// TestQuestionsAreAskedAroundTheBounds: before, just before, at, just after and after
// each bound of the validity; and in the years of coupons where there is none.
func TestQuestionsAreAskedAroundTheBounds(t *testing.T) {
	t.Parallel()
	start, end := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
	c := coupontest.Coupon().Example(1)
	c.StartsAt, c.ExpiresAt = start, end
	seen := make(map[string]int)
	for seed := range draws {
		at := coupontest.Question(c).Example(seed).At
		for name, bound := range map[string]time.Time{"start": start, "end": end} {
			switch by := at.Sub(bound); {
			case by < -time.Microsecond:
				seen["before the "+name]++
			case by > time.Microsecond:
				seen["after the "+name]++
			default:
				seen[strings.TrimSpace(by.String()+" off the "+name)]++
			}
		}
		c.StartsAt, c.ExpiresAt = time.Time{}, time.Time{}
		year := coupontest.Question(c).Example(seed).At.Year()
		require.True(t, 1900 <= year && year <= 9000, "asked in the year %d", year)
		c.StartsAt, c.ExpiresAt = start, end
	}
	for _, name := range []string{"start", "end"} {
		for _, where := range []string{"before the ", "-1µs off the ", "0s off the ", "1µs off the ", "after the "} {
			require.Positive(t, seen[where+name], "%s%s: %v", where, name, seen)
		}
	}
}

// TestEveryOtherQuestionIsFavourable: of a coupon that applies, whatever its terms, about
// half of the questions and more are answered with yes.
func TestEveryOtherQuestionIsFavourable(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, ItemID: "device-1", Quantity: 1, UnitPrice: 9_900}}}
	asked, allowed := 0, 0
	for seed := range draws {
		c := coupontest.For(cart).Example(seed)
		c.Conditions.MinPurchase, c.Conditions.MinQuantity = coupon.MoneySet{}, 0
		c.Conditions.MaxPurchase, c.Conditions.MaxQuantity = coupon.MoneySet{}, 0
		c.Conditions.Contains, c.Conditions.ContainsNot = coupon.Contents{}, coupon.Scope{}
		c.Limits = coupon.Limits{MaxUses: 50}
		if c.Currency != cart.Currency || !covers(c.Scope, cart) {
			continue
		}
		result, err := eligibility.Evaluate(&c, cart, coupontest.Question(c).Example(seed))
		require.NoError(t, err)
		asked++
		if result.Decision.Allowed() {
			allowed++
		}
	}
	require.Greater(t, asked, draws/4)
	require.Greater(t, allowed, asked*2/5)
	require.Less(t, allowed, asked*9/10, "next to no question is answered with no")
}

// TestEverySpellingIsDrawn: what a customer may type for a code, letter by letter.
func TestEverySpellingIsDrawn(t *testing.T) {
	t.Parallel()
	code, err := coupon.ParseCode("AZ!~")
	require.NoError(t, err)
	drawn, padded := make(map[string]bool), 0
	for seed := range draws {
		typed := coupontest.Spelling(code).Example(seed)
		drawn[strings.TrimSpace(typed)] = true
		if strings.TrimSpace(typed) != typed {
			padded++
		}
	}
	for _, typed := range []string{"AZ!~", "az!~", "aZ!~", "Az!~", "ＡＺ！～"} {
		require.True(t, drawn[typed], "%q was never typed, only %v", typed, drawn)
	}
	require.Greater(t, padded, draws/4)
	require.Less(t, padded, draws)
}
