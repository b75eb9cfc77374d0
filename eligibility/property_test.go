package eligibility_test

import (
	"errors"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// drawSituation draws a coupon, a cart that it may or may not cover, and a
// question.
func drawSituation(t *rapid.T) situation {
	cart := pricingtest.Cart(pricingtest.CartOptions{MaxLines: 6, MaxTotal: rapid.SampledFrom([]int64{10, 100_000, 0}).Draw(t, "most")}).Draw(t, "cart")
	c := rapid.OneOf(coupontest.For(cart), coupontest.For(cart), coupontest.Coupon()).Draw(t, "coupon")
	q := coupontest.Question(c).Draw(t, "question")
	if rapid.IntRange(0, 3).Draw(t, "narrowed") == 0 {
		c.AllowedUserEmails = c.AllowedUserEmails.Narrow(q.Customer.Email)
	}
	return situation{c, cart, q}
}

// checkResult compares what the package says of a situation with what the oracle
// says.
func checkResult(tb pricingtest.TB, s situation, got eligibility.Result) {
	tb.Helper()
	want := s.rejections()
	if diff := cmp.Diff(want, names(got.Decision.Reasons())); diff != "" {
		tb.Errorf("reasons (-oracle +got):\n%s", diff)
	}
	if got.Decision.Allowed() != (len(want) == 0) {
		tb.Errorf("allowed is %t", got.Decision.Allowed())
	}
	covered := make([]bool, len(s.cart.Lines))
	for _, i := range s.eligible() {
		covered[i] = true
	}
	discount := pricing.Discount{}
	if len(want) == 0 {
		discount = s.coupon.Discount
		if exact := s.discount(); exact.Cmp(big.NewInt(got.Quote.Discount)) != 0 {
			tb.Errorf("the discount is %d, want %s", got.Quote.Discount, exact)
		}
	}
	if len(want) > 0 || s.coupon.Buys.IsZero() { // CheckQuote knows no scope of what is bought
		pricingtest.CheckQuote(tb, s.cart, discount, covered, got.Quote)
	}
	checkDecision(tb, got.Decision)
}

// checkDecision holds what is true of every decision.
func checkDecision(tb pricingtest.TB, d eligibility.Decision) {
	tb.Helper()
	reasons := d.Reasons()
	codes := make([]coupon.RejectionCode, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	once := slices.CompactFunc(slices.Clone(reasons), coupon.Reason.Equal)
	if !slices.IsSortedFunc(reasons, coupon.CompareReasons) || len(once) != len(reasons) {
		tb.Errorf("reasons are not in the contract's order, each once: %v", codes)
	}
	for _, code := range coupon.RejectionCodes() {
		if d.Has(code) != slices.Contains(codes, code) || errors.Is(d.Err(), code.Sentinel()) != d.Has(code) {
			tb.Errorf("Has, Reasons and Err disagree on %s", code)
		}
	}
	var rejection *coupon.Rejection
	switch {
	case d.Allowed():
		if d.Err() != nil || len(reasons) != 0 || d.Headline() != 0 {
			tb.Errorf("an allowed decision has reasons: %v", d.Err())
		}
	case !errors.As(d.Err(), &rejection):
		tb.Errorf("a refusal is %v", d.Err())
	case rejection.Headline().Code != codes[0] || d.Headline() != codes[0]:
		tb.Errorf("the headline is %s, the first reason %s", d.Headline(), codes[0])
	}
}

func names(reasons []coupon.Reason) []string {
	var codes []string
	for _, r := range reasons {
		codes = append(codes, r.Code.String())
	}
	return codes
}

func TestEvaluateAgreesWithTheContract(t *testing.T) {
	t.Parallel()
	var reused eligibility.SetResult // filled by one cart after another
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		got, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, s, got)
		if err := reused.Reevaluate(s.set(), s.cart, s.question); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got.Quote, reused.Quote); diff != "" || !reused.Coupons[0].Decision.Equal(got.Decision) {
			t.Errorf("a reused result differs (-new +reused):\n%s", diff)
		}
	})
}

// Check is Evaluate without what concerns the cart.
func TestCheckAgreesWithTheContract(t *testing.T) {
	t.Parallel()
	ofTheCart := []string{"minimum_purchase_not_met", "maximum_purchase_exceeded", "minimum_quantity_not_met", "maximum_quantity_exceeded", "required_items_missing", "excluded_items_contained", "no_eligible_items", "no_discount", "currency_mismatch"}
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		s.cart.Lines = nil // so that no discount can exceed a budget
		want := slices.DeleteFunc(s.rejections(), func(code string) bool { return slices.Contains(ofTheCart, code) })
		if s.question.Facts.Channel == "" { // it may be known later
			want = slices.DeleteFunc(want, func(code string) bool { return code == "channel_not_allowed" })
		}
		if s.question.Facts.Country == "" {
			want = slices.DeleteFunc(want, func(code string) bool { return code == "country_not_allowed" })
		}
		got := eligibility.Check(&s.coupon, s.question)
		checkDecision(t, got)
		if diff := cmp.Diff(want, names(got.Reasons())); diff != "" && len(want)+len(got.Reasons()) > 0 {
			t.Errorf("(-oracle +got):\n%s", diff)
		}
		if s.otherCurrency() {
			want = append(want, "currency_mismatch")
		}
		if got := names(got.CheckCurrency(&s.coupon, s.cart.Currency).Reasons()); !slices.Equal(want, got) {
			t.Errorf("with the currency: got %q, want %q", got, want)
		}
	})
}

// The checker must see an answer that is wrong in any one respect.
func TestTheResultCheckerNotices(t *testing.T) {
	t.Parallel()
	s := sound()
	right, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	var r recorder
	checkResult(&r, s, right)
	require.Zero(t, r.reports, "the right answer is reported")

	late := s
	late.question.At = s.coupon.ExpiresAt
	refused, err := eligibility.Evaluate(&late.coupon, late.cart, late.question)
	require.NoError(t, err)
	for name, test := range map[string]struct {
		s   situation
		got eligibility.Result
	}{
		"a refusal for an allowed coupon":   {s, refused},
		"an allowance for an expired one":   {late, right},
		"a refusal with a discount":         {late, eligibility.Result{Decision: refused.Decision, Quote: right.Quote}},
		"an allowance without the discount": {s, eligibility.Result{Quote: refused.Quote}},
		"another line":                      {withScope(s, coupon.Scope{AppliesTo: coupon.Subscription}), right},
		"another discount":                  {withDiscount(s, "11"), right},
	} {
		var r recorder
		if checkResult(&r, test.s, test.got); r.reports == 0 {
			t.Errorf("%s passes", name)
		}
	}
}

// recorder counts what a checker reports.
type recorder struct{ reports int }

func (*recorder) Helper() {}

func (r *recorder) Errorf(string, ...any) { r.reports++ }

// Every subset of conditions that can be broken independently yields exactly its
// reasons, in the contract's order.
func TestEverySubsetOfBrokenConditions(t *testing.T) {
	t.Parallel()
	conditions := []struct {
		code    string
		breakIt func(*situation)
	}{
		{"coupon_inactive", func(s *situation) { s.coupon.State = coupon.Inactive }},
		{"coupon_expired", func(s *situation) { s.coupon.ExpiresAt = s.question.At }},
		{"outside_schedule", func(s *situation) { s.coupon.Conditions.Schedule = mondays() }},
		{"processor_out_of_sync", func(s *situation) { s.question.MirrorInvalid = true }},
		{"usage_limit_reached", func(s *situation) { s.question.Usage.Completed = s.coupon.Limits.MaxUses }},
		{"user_usage_limit_reached", func(s *situation) { s.question.Usage.CompletedByCustomer = s.coupon.Limits.MaxUsesPerUser }},
		{"minimum_purchase_not_met", func(s *situation) { s.coupon.Conditions.MinPurchase = least(1_000_000) }},
		{"budget_exhausted", func(s *situation) {
			s.coupon.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(1, pricing.EUR()), pricing.NewMoney(1, usd))
			s.question.Usage.Spent = s.coupon.Limits.Budget
		}},
		{"minimum_quantity_not_met", func(s *situation) { s.coupon.Conditions.MinQuantity = 3 }},
		{"not_first_order", func(s *situation) { s.coupon.Conditions.FirstOrder, s.question.Usage.Orders = true, 1 }},
		{"user_not_allowed", func(s *situation) { s.question.Customer.Email = "stranger@example.org" }},
		{"no_discount", func(s *situation) {
			s.cart.Lines[0].UnitPrice, s.coupon.Conditions.MinPurchase = 0, least(minimumOf(s.coupon)/1_000_000*1_000_000)
		}},
	}
	for subset := range 1 << len(conditions) {
		s := sound()
		s.coupon.Conditions.MinPurchase = least(0)
		s.cart.Lines = slices.Clone(s.cart.Lines)
		var want []string
		for i, c := range conditions {
			if subset&(1<<i) != 0 {
				c.breakIt(&s)
				want = append(want, c.code)
			}
		}
		for name, replace := range map[string]struct {
			with, instead string
			breakIt       func(*situation)
		}{
			"as it is":                {"", "", func(*situation) {}},
			"nobody":                  {"user_required", "user_usage_limit_reached user_not_allowed not_first_order", func(s *situation) { s.question.Customer = eligibility.Customer{} }},
			"points, not exchanged":   {"points_not_redeemed", "user_not_allowed", func(s *situation) { s.coupon.Distribution = coupon.PointsRedeemable }},
			"nothing covered":         {"no_eligible_items", "no_discount", func(s *situation) { s.coupon.Scope = coupon.Scope{AppliesTo: coupon.Subscription} }},
			"not begun, not ended":    {"coupon_not_started", "coupon_expired", func(s *situation) { s.coupon.StartsAt, s.coupon.ExpiresAt = s.question.At.Add(1), time.Time{} }},
			"an amount elsewhere":     {"currency_mismatch", "minimum_purchase_not_met no_discount", fixedElsewhere},
			"expired before it began": {"coupon_not_started", "", func(s *situation) { s.coupon.StartsAt = s.question.At.Add(1) }},
		} {
			variant := s
			replace.breakIt(&variant)
			expected := expect(want, replace.with, replace.instead)
			got, err := eligibility.Evaluate(&variant.coupon, variant.cart, variant.question)
			require.NoError(t, err)
			if diff := cmp.Diff(expected, names(got.Decision.Reasons())); diff != "" {
				t.Errorf("%q, and %s (-want +got):\n%s", want, name, diff)
			}
		}
	}
}

// mondays is a schedule of Mondays in Berlin from 9 to 17.
func mondays() calendar.Schedule {
	berlin, err := calendar.ParseZone("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return calendar.Schedule{Zone: berlin, Hours: []calendar.Hours{{Day: time.Monday, From: 9 * 60, Until: 17 * 60}}}
}

func fixedElsewhere(s *situation) {
	amount, err := pricing.AmountOff(pricing.NewMoney(100, usd))
	if err == nil {
		s.coupon.Discount, s.coupon.Currency = amount, usd
	}
}

// expect returns the codes with one added and some taken away, in the contract's
// order.
func expect(codes []string, with, without string) []string {
	var expected []string
	for _, code := range coupon.RejectionCodes() {
		name := code.String()
		switch {
		case name == with:
			expected = append(expected, name)
		case slices.Contains(codes, name) && !slices.Contains(splitWords(without), name):
			expected = append(expected, name)
		}
	}
	return expected
}
