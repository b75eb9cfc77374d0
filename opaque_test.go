package couponkit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/memstore"
)

// refusalCase is a coupon that is refused for one reason.
type refusalCase struct {
	change  func(d *coupon.Draft)
	arrange func(t *testing.T, w *world, c coupon.Coupon) // after the coupon has codes
	// hidden tells that customers do not hear the reason of a code that has no owner.
	hidden bool
	// nobody tells that the coupon is not even for the owner of one of its codes.
	nobody bool
}

// byCustomer uses the coupon once, by the code of a customer.
func byCustomer(c eligibility.Customer) func(*testing.T, *world, coupon.Coupon) {
	return func(t *testing.T, w *world, _ coupon.Coupon) {
		t.Helper()
		r := w.request("TEN")
		r.Customer = c
		w.pay(t, w.checkout(t, r))
	}
}

// refusalCases has an entry for each reason for which a code is refused.
func refusalCases() map[coupon.RejectionCode]refusalCase {
	return map[coupon.RejectionCode]refusalCase{ //nolint:exhaustive // the others are in notOfACode
		coupon.CouponInactive: {hidden: true, arrange: func(t *testing.T, w *world, c coupon.Coupon) {
			t.Helper()
			_, err := w.SetActive(t.Context(), c.ID, false)
			require.NoError(t, err)
		}},
		coupon.CouponNotStarted: {change: func(d *coupon.Draft) { d.StartsAt = calendar.On(2027, time.January, 1) }},
		coupon.CouponExpired: {
			change:  func(d *coupon.Draft) { d.ExpiresAt = calendar.On(2026, time.November, 21) },
			arrange: func(_ *testing.T, w *world, _ coupon.Coupon) { w.pass(72 * time.Hour) },
		},
		coupon.OutsideSchedule: {change: func(d *coupon.Draft) {
			d.Schedule = coupon.Schedule{TimeZone: "UTC", Hours: []coupon.Hours{{Day: time.Monday, From: "00:00", Until: "24:00"}}}
		}},
		coupon.ChannelNotAllowed: {change: func(d *coupon.Draft) { d.Channels = []string{"store"} }},
		coupon.CountryNotAllowed: {change: func(d *coupon.Draft) { d.Countries = []string{"FR"} }},
		coupon.ProcessorOutOfSync: {arrange: func(t *testing.T, w *world, c coupon.Coupon) {
			t.Helper()
			require.NoError(t, w.fake.RemoveMirror(t.Context(), w.get(t, c.ID)))
		}},
		coupon.UsageLimitReached:     {change: func(d *coupon.Draft) { d.MaxUses = coupon.Set(1) }, arrange: byCustomer(bob)},
		coupon.UserUsageLimitReached: {arrange: byCustomer(ann)},
		coupon.PeriodLimitReached: {change: func(d *coupon.Draft) {
			d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCoupon, Period: calendar.Day, Zone: zone("UTC"), MaxUses: 1}}
		}, arrange: byCustomer(bob)},
		coupon.BudgetExhausted:         {change: func(d *coupon.Draft) { d.Budget = coupon.Amounts{"": "15"} }, arrange: byCustomer(bob)},
		coupon.MinimumPurchaseNotMet:   {change: func(d *coupon.Draft) { d.MinPurchase = coupon.Amounts{"": "31"} }},
		coupon.MaximumPurchaseExceeded: {change: func(d *coupon.Draft) { d.MaxPurchase = coupon.Amounts{"": "29"} }},
		coupon.MinimumQuantityNotMet:   {change: func(d *coupon.Draft) { d.MinQuantity = coupon.Set(4) }},
		coupon.MaximumQuantityExceeded: {change: func(d *coupon.Draft) { d.MaxQuantity = coupon.Set(2) }},
		coupon.RequiredItemsMissing: {change: func(d *coupon.Draft) {
			d.Contains = &coupon.ContentsDraft{ScopeDraft: coupon.ScopeDraft{Kinds: []string{"accessory"}}}
		}},
		coupon.ExcludedItemsContained: {change: func(d *coupon.Draft) { d.ContainsNot = &coupon.ScopeDraft{Kinds: []string{"device"}} }},
		coupon.UserNotAllowed: {hidden: true, nobody: true, change: func(d *coupon.Draft) {
			d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{bob.Email}
		}},
		coupon.CustomerTagsNotMet: {hidden: true, nobody: true, change: func(d *coupon.Draft) { d.CustomerTags.Any = []string{"vip"} }},
		coupon.NotFirstOrder: {change: func(d *coupon.Draft) { d.FirstOrder = true }, arrange: func(t *testing.T, w *world, _ coupon.Coupon) {
			t.Helper()
			w.pay(t, w.checkout(t, w.request("")))
		}},
		coupon.PointsNotRedeemed: {change: func(d *coupon.Draft) { d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 100 }},
		coupon.NoEligibleItems:   {change: func(d *coupon.Draft) { d.Kinds = []string{"accessory"} }},
		coupon.CurrencyMismatch:  {change: func(d *coupon.Draft) { d.Currency = "USD" }},
	}
}

// notOfACode are the reasons that do not tell whether one code exists: they concern none, the whole cart,
// several codes, or a creation. UserRequired has tests of its own.
var notOfACode = []coupon.RejectionCode{
	coupon.CodeRequired, coupon.CouponNotFound, coupon.UserRequired, coupon.NoDiscount, coupon.NotCombinable, coupon.CodeTaken,
	coupon.CartTotalsInvalid, coupon.BelowMinimumCharge,
}

// TestEveryReasonIsHiddenFromStrangers is the table over all reasons: what hears who enters the plain code of a
// coupon, somebody else's code, and their own.
func TestEveryReasonIsHiddenFromStrangers(t *testing.T) {
	t.Parallel()
	cases := refusalCases()
	for _, reason := range coupon.RejectionCodes() {
		c, is := cases[reason]
		require.NotEqual(t, is, slices.Contains(notOfACode, reason), "decide whether strangers hear %s", reason)
		if !is {
			continue
		}
		t.Run(reason.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, couponkit.WithOpaqueRefusals())
			d := tenOff()
			if c.change != nil {
				c.change(&d)
			}
			made := w.create(t, d)
			w.issue(t, made, "spring",
				coupon.CodeDraft{Code: "FOR-ANN", Owner: coupon.OwnerID(ann.ID)}, coupon.CodeDraft{Code: "FOR-BOB", Owner: coupon.OwnerEmail(bob.Email)})
			if c.arrange != nil {
				c.arrange(t, w, made)
			}
			ask := func(code string) (heard, observed []coupon.RejectionCode, err error) {
				_, err = w.Quote(t.Context(), couponkit.QuoteRequest{
					Cart: phones(), Codes: only(code), Customer: ann, Facts: eligibility.Facts{Channel: "web", Country: "DE"},
				})
				for _, r := range reasonsOf(t, err) {
					heard = append(heard, r.Code)
				}
				return heard, w.attempts[len(w.attempts)-1].Reasons, err
			}
			for code, hidden := range map[string]bool{"TEN": c.hidden, "FOR-BOB": true, "FOR-ANN": c.nobody} {
				heard, observed, err := ask(code)
				require.NotContains(t, observed, coupon.CouponNotFound, "%s: the observer hears the truth", code)
				require.Equal(t, made.ID, w.attempts[len(w.attempts)-1].CouponID, code)
				if c.hidden || !hidden {
					require.Contains(t, observed, reason, "%s: the observer hears the truth", code)
				}
				if code == "FOR-BOB" {
					require.Contains(t, observed, coupon.UserNotAllowed)
				}
				if !hidden {
					require.Contains(t, heard, reason, code)
					continue
				}
				_, _, unknown := ask("NO-CODE")
				for _, r := range append(coupon.RejectionsOf(err), coupon.RejectionsOf(unknown)...) {
					r.Code = "" // as it was typed
				}
				require.Empty(t, cmp.Diff(unknown, err, cmpopts.EquateComparable(time.Time{})), code)
				require.NotErrorIs(t, err, reason.Sentinel())
			}
			staff, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
			require.NoError(t, err)
			for asked, id := range map[*couponkit.Service]string{w.Service: "", staff: made.ID} {
				e, err := asked.Explain(t.Context(), couponkit.QuoteRequest{
					Cart: phones(), Codes: []string{"FOR-BOB"}, Customer: ann, Facts: eligibility.Facts{Channel: "web", Country: "DE"},
				})
				require.NoError(t, err)
				require.Equal(t, id, e.Codes[0].CouponID, "only staff hears everything")
			}
		})
	}
}

// TestPlainRefusals: without the option, customers hear all reasons.
func TestPlainRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.issue(t, w.create(t, tenOff()), "spring", coupon.CodeDraft{Code: "FOR-BOB", Owner: coupon.OwnerID(bob.ID)})
	require.ErrorIs(t, w.quote("FOR-BOB"), coupon.ErrUserNotAllowed)
}

// strangersCodes are codes that exist and are not ann's, beside one that does not exist. Each stands alone.
func strangersCodes(t *testing.T, w *world) []string {
	t.Helper()
	in := func(change func(*coupon.Draft)) coupon.Coupon {
		d := tenOff()
		change(&d)
		return w.create(t, d)
	}
	listed := in(func(d *coupon.Draft) {
		d.Code, d.Distribution, d.AllowedUserEmails = "LISTED", coupon.UserSpecific, coupon.EmailList{bob.Email}
		d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCoupon, Period: calendar.Day, Zone: zone("UTC"), MaxUses: 1}}
		d.Group = "a"
	})
	off := in(func(d *coupon.Draft) { d.Code = "OFF" })
	_, err := w.SetActive(t.Context(), off.ID, false)
	require.NoError(t, err)
	in(func(d *coupon.Draft) { d.Code, d.CustomerTags.Any = "VIP", []string{"vip"} })
	deleted := in(func(d *coupon.Draft) { d.Code = "DELETED" })
	require.NoError(t, w.Delete(t.Context(), deleted.ID))
	open := in(func(d *coupon.Draft) { d.Code, d.MaxUsesPerUser = "OPEN", coupon.Clear[int]() })
	codes := w.issue(t, open, "personal", coupon.CodeDraft{Owner: coupon.OwnerID(bob.ID)}, coupon.CodeDraft{Code: "BOBS", Owner: coupon.OwnerEmail(bob.Email), MaxUses: coupon.Set(1)}, coupon.CodeDraft{Code: "OFF-TOO"})
	_, err = w.UpdateCode(t.Context(), "OFF-TOO", coupon.CodePatch{Active: coupon.Set(false)})
	require.NoError(t, err)
	w.issue(t, listed, "more", coupon.CodeDraft{Code: "LISTED-2"})
	hollow := in(func(d *coupon.Draft) { d.Code, d.Name = "", "only by batches" })
	w.issue(t, hollow, "spring", coupon.CodeDraft{Code: "SPRING", Owner: coupon.OwnerID(bob.ID)})
	return []string{
		"UNKNOWN", "LISTED", listed.ID, "LISTED-2", "OFF", off.ID, "VIP", "DELETED", deleted.ID, codes[0].Code.String(), "BOBS", "OFF-TOO", hollow.ID, "SPRING",
	}
}

// TestStrangersHearTheSameOfEveryCode asks about each code by every method, alone, in pairs and beside a code that
// applies. Answers and calls of store and processor are those of a code that does not exist.
func TestStrangersHearTheSameOfEveryCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	codes := strangersCodes(t, w)
	var calls []string
	count := func(call string, effect func() error) error { calls = append(calls, call); return effect() }
	s, err := couponkit.New(gated{w.store, count}, couponkit.WithProcessor(gatedProcessor{w.fake, count}), couponkit.WithClock(clockOf(w)),
		couponkit.WithPoints(w.ledger), couponkit.WithOpaqueRefusals(), couponkit.WithGuests(), couponkit.WithMirrorTTL(0))
	require.NoError(t, err)
	type answer struct {
		Value any
		Err   string
		Codes [][]coupon.RejectionCode
		Calls []string
	}
	who := map[string]eligibility.Customer{
		"a customer": ann, "a guest": {Email: "eve@example.org"}, "nobody": {},
	}
	for name, customer := range who {
		for what, ask := range map[string]func(...string) (any, coupon.Rejections, error){
			"Validate": func(codes ...string) (any, coupon.Rejections, error) {
				v, err := s.Validate(t.Context(), couponkit.ValidateRequest{Code: codes[0], Customer: customer})
				return v, nil, err
			},
			"Validate before sign-in": func(codes ...string) (any, coupon.Rejections, error) {
				v, err := s.Validate(t.Context(), couponkit.ValidateRequest{Code: codes[0], Customer: customer, AllowAnonymous: true})
				return v, nil, err
			},
			"Quote": func(codes ...string) (any, coupon.Rejections, error) {
				q, err := s.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: codes, Customer: customer})
				return q.Total, q.Refused, err
			},
			"Quote that skips": func(codes ...string) (any, coupon.Rejections, error) {
				q, err := s.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: append(codes, "OPEN"), Customer: customer, SkipRefused: true, AllowAnonymous: true})
				return q.Total, q.Refused, err
			},
			"Checkout": func(codes ...string) (any, coupon.Rejections, error) {
				c, err := s.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Codes: codes, Customer: customer})
				return c.Order.ID, c.Refused, err
			},
			"PaymentLink": func(codes ...string) (any, coupon.Rejections, error) {
				c, err := s.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
					CheckoutRequest: couponkit.CheckoutRequest{Codes: codes, Customer: customer}, Mode: couponkit.ProductLink, Amount: pricing.NewMoney(10_00, pricing.EUR()),
				})
				return c.Order.ID, c.Refused, err
			},
			"Reserve": func(codes ...string) (any, coupon.Rejections, error) {
				r, err := s.Reserve(t.Context(), couponkit.ReserveRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Codes: codes, Customer: customer}})
				return r.Order.ID, r.Refused, err
			},
			"ExchangePoints": func(codes ...string) (any, coupon.Rejections, error) {
				u, err := s.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: codes[0], Customer: customer})
				return u.ID, nil, err
			},
		} {
			answerOf := func(asked ...string) answer {
				calls = nil
				value, refused, err := ask(asked...)
				a := answer{Value: value, Calls: calls}
				if err != nil {
					a.Err = err.Error()
				}
				for _, r := range append(refused, coupon.RejectionsOf(err)...) {
					require.Empty(t, r.CouponID)
					var reasons []coupon.RejectionCode
					for _, reason := range r.Reasons {
						require.Empty(t, cmp.Diff(coupon.Params{}, reason.Params))
						reasons = append(reasons, reason.Code)
					}
					a.Codes = append(a.Codes, reasons)
				}
				return a
			}
			for _, code := range codes {
				id := coupon.IsID(code) // an ID is asked for in one more way, whether it exists or not
				want := "UNKNOWN"
				if id {
					want = "cpn_unknown"
				}
				require.Empty(t, cmp.Diff(answerOf(want), answerOf(code)), "%s: %s of %s", name, what, code)
				if code == "LISTED-2" {
					continue
				}
				require.Empty(t, cmp.Diff(answerOf(want, "UNKNOWN-2"), answerOf(code, "LISTED-2")), "%s: %s of %s beside another", name, what, code)
			}
		}
	}
}

// TestAnAnonymousCustomerHearsToSignIn: whatever the code, and no code is looked up.
func TestAnAnonymousCustomerHearsToSignIn(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	lookUps := 0
	service, err := couponkit.New(gated{s, func(call string, effect func() error) error {
		if call == "LookUp" {
			lookUps++
		}
		return effect()
	}}, couponkit.WithOpaqueRefusals())
	require.NoError(t, err)
	_, err = service.Create(t.Context(), tenOff())
	require.NoError(t, err)
	before := lookUps
	for _, code := range []string{"TEN", "UNKNOWN", "two words"} {
		_, err := service.Validate(t.Context(), couponkit.ValidateRequest{Code: code})
		require.Equal(t, []coupon.Reason{{Code: coupon.UserRequired}}, reasonsOf(t, err), code)
		_, err = service.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{code, "X"}})
		for _, r := range coupon.RejectionsOf(err) {
			require.Equal(t, []coupon.Reason{{Code: coupon.UserRequired}}, r.Reasons, code)
		}
	}
	require.Equal(t, before, lookUps)
	_, err = service.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", AllowAnonymous: true})
	require.NoError(t, err)
}

// TestOwnersKeepTheirReasons: a code that was switched off is told to its owner, to the customers on the list, and to
// those who hold a use.
func TestOwnersKeepTheirReasons(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithOpaqueRefusals())
	listed := tenOff()
	listed.Code, listed.Distribution, listed.AllowedUserEmails = "LISTED", coupon.UserSpecific, coupon.EmailList{ann.Email}
	points := tenOff()
	points.Code, points.Distribution, points.PointsRequired = "POINTS", coupon.PointsRedeemable, 100
	plain := tenOff()
	for _, d := range []coupon.Draft{listed, points, plain} {
		c := w.create(t, d)
		if d.Code == "POINTS" {
			_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: d.Code, Customer: ann})
			require.NoError(t, err)
		}
		_, err := w.SetActive(t.Context(), c.ID, false)
		require.NoError(t, err)
		want := coupon.ErrInactive
		if d.Code == plain.Code {
			want = coupon.ErrNotFound
		}
		require.ErrorIs(t, w.quote(d.Code), want, d.Code)
	}
}
