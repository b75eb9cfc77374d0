package eligibility_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

var (
	noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	usd  = currency("USD")
	yen  = currency("JPY")
)

func currency(code string) pricing.Currency {
	for _, c := range pricing.Currencies() {
		if c.Code() == code {
			return c
		}
	}
	return pricing.Currency{}
}

func splitWords(text string) []string { return strings.Fields(text) }

// sound is a situation in which nothing stands against the coupon: 10 % for Ann
// and Bob on phones from 50 EUR, in its window, with one place left on each limit.
func sound() situation {
	percent, err := pricing.ParsePercent("10")
	if err != nil {
		panic(err)
	}
	code, err := coupon.ParseCode("TEN")
	if err != nil {
		panic(err)
	}
	emails, err := coupon.NewEmailSet("ann@example.org", "bob@example.org")
	if err != nil {
		panic(err)
	}
	return situation{
		coupon: coupon.Coupon{
			ID: "cpn_1", Code: code, Name: "Ten", Terms: coupon.Terms{
				Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
				Scope:        coupon.Scope{AppliesTo: coupon.Product, Devices: coupon.NewItems("phone")},
				Distribution: coupon.UserSpecific, AllowedUserEmails: emails, RefundPolicy: pricing.Keep,
				Limits: coupon.Limits{MaxUses: 10, MaxUsesPerUser: 2}, Conditions: coupon.Conditions{MinPurchase: least(5000)},
				StartsAt: noon, ExpiresAt: noon.Add(time.Hour),
			},
			State: coupon.Active, Revision: 1,
		},
		cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "L1", Kind: pricing.Device, ItemID: "phone", Quantity: 2, UnitPrice: 2500},
			{ID: "L2", Kind: pricing.Device, ItemID: "tablet", Quantity: 1, UnitPrice: 90000},
			{ID: "L3", Kind: pricing.Shipping, ItemID: "phone", Quantity: 1, UnitPrice: 490},
		}},
		question: eligibility.Question{
			At: noon, Customer: eligibility.Customer{ID: "ann", Email: "Ann@Example.org "},
			Usage: eligibility.Usage{Completed: 5, Reserved: 4, CompletedByCustomer: 1},
		},
	}
}

func withScope(s situation, scope coupon.Scope) situation {
	s.coupon.Scope = scope
	return s
}

func withDiscount(s situation, percent string) situation {
	p, err := pricing.PercentFromDecimal(decimal.RequireFromString(percent))
	if err != nil {
		panic(err)
	}
	s.coupon.Discount = pricing.PercentOff(p)
	return s
}

// A clause changes the sound situation and says what then is refused.
type clause struct {
	about  string
	change func(*situation)
	want   string // the codes, in order
}

func runClauses(t *testing.T, clauses []clause) {
	t.Helper()
	for _, c := range clauses {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			s := sound()
			c.change(&s)
			got, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
			require.NoError(t, err)
			if diff := cmp.Diff(c.want, strings.Join(names(got.Decision.Reasons()), " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var r recorder
			if checkResult(&r, s, got); r.reports > 0 {
				t.Error("the oracle disagrees")
			}
		})
	}
}

// Specification 4.4: "Validations, all of which must pass".
func TestTheEightValidations(t *testing.T) {
	t.Parallel()
	runClauses(t, []clause{
		{"0. all pass", func(*situation) {}, ""},

		{"1. the coupon is active", func(s *situation) { s.coupon.State = coupon.Inactive }, "coupon_inactive"},
		{"1. pending is not active", func(s *situation) { s.coupon.State = coupon.Pending }, "coupon_inactive"},
		{"1. deleting is not active", func(s *situation) { s.coupon.State = coupon.Deleting }, "coupon_inactive"},

		{"2. not expired: the last instant", func(s *situation) { s.question.At = s.coupon.ExpiresAt.Add(-1) }, ""},
		{"2. expired at the instant itself", func(s *situation) { s.question.At = s.coupon.ExpiresAt }, "coupon_expired"},
		{"2. expired in another zone", func(s *situation) {
			s.question.At = s.coupon.ExpiresAt.In(time.FixedZone("", -11*3600))
		}, "coupon_expired"},
		{"2. expired whatever the flag", func(s *situation) {
			s.question.At, s.coupon.State = s.coupon.ExpiresAt.AddDate(1, 0, 0), coupon.Inactive
		}, "coupon_inactive coupon_expired"},
		{"2. no expiry", func(s *situation) { s.question.At, s.coupon.ExpiresAt = noon.AddDate(500, 0, 0), time.Time{} }, ""},
		{"2. it begins at the instant itself", func(s *situation) { s.question.At = s.coupon.StartsAt }, ""},
		{"2. it has not begun", func(s *situation) { s.question.At = s.coupon.StartsAt.Add(-1) }, "coupon_not_started"},
		{"2. no instant: neither begun nor open", func(s *situation) { s.question.At = time.Time{} }, "coupon_not_started coupon_expired"},
		{"2. no instant, no start", func(s *situation) { s.question.At, s.coupon.StartsAt = time.Time{}, time.Time{} }, "coupon_expired"},
		{"2. no instant, no end", func(s *situation) { s.question.At, s.coupon.ExpiresAt = time.Time{}, time.Time{} }, "coupon_not_started"},
		{"2. no instant, no dates", func(s *situation) {
			s.question.At, s.coupon.StartsAt, s.coupon.ExpiresAt = time.Time{}, time.Time{}, time.Time{}
		}, ""},
		{"2. no start", func(s *situation) { s.question.At, s.coupon.StartsAt = noon.AddDate(-500, 0, 0), time.Time{} }, ""},

		{"3. the last place", func(s *situation) { s.question.Usage.Completed, s.question.Usage.Reserved = 9, 0 }, ""},
		{"3. no place, all completed", func(s *situation) { s.question.Usage.Completed, s.question.Usage.Reserved = 10, 0 }, "usage_limit_reached"},
		{"3. no place, all reserved", func(s *situation) { s.question.Usage.Completed, s.question.Usage.Reserved = 0, 10 }, "usage_limit_reached"},
		{"3. no place, both", func(s *situation) { s.question.Usage.Completed, s.question.Usage.Reserved = 6, 4 }, "usage_limit_reached"},
		{"3. lowered below what is used", func(s *situation) { s.coupon.Limits.MaxUses = 1 }, "usage_limit_reached"},
		{"3. no limit", func(s *situation) {
			s.coupon.Limits.MaxUses, s.question.Usage.Completed = 0, math.MaxInt64
		}, ""},

		{"4. no signed-in user", func(s *situation) { s.question.Customer = eligibility.Customer{} }, "user_required"},
		{"4. an address is no user", func(s *situation) { s.question.Customer.ID = "" }, "user_required"},

		{"5. the address is listed", func(s *situation) { s.question.Customer.Email = "BOB@example.ORG" }, ""},
		{"5. the address is not listed", func(s *situation) { s.question.Customer.Email = "cid@example.org" }, "user_not_allowed"},
		{"5. no address", func(s *situation) { s.question.Customer.Email = "" }, "user_not_allowed"},
		{"5. the list is loaded for this customer", func(s *situation) {
			s.coupon.AllowedUserEmails = s.coupon.AllowedUserEmails.Narrow("ann@example.org")
		}, ""},
		{"5. the list is loaded for another", func(s *situation) {
			s.coupon.AllowedUserEmails = s.coupon.AllowedUserEmails.Narrow("bob@example.org")
		}, "user_not_allowed"},
		{"5. only for USER_SPECIFIC", func(s *situation) {
			s.coupon.Distribution, s.question.Customer.Email = coupon.General, "cid@example.org"
		}, ""},

		{"6. points not exchanged", func(s *situation) { s.coupon.Distribution = coupon.PointsRedeemable }, "points_not_redeemed"},
		{"6. points exchanged", func(s *situation) {
			s.coupon.Distribution, s.question.Usage.CustomerHoldsReservation = coupon.PointsRedeemable, true
		}, ""},
		{"6. a completed use is no reservation", func(s *situation) {
			s.coupon.Distribution, s.question.Usage.CompletedByCustomer = coupon.PointsRedeemable, 1
		}, "points_not_redeemed"},

		{"7. the customer's last place", func(s *situation) { s.question.Usage.CompletedByCustomer = 1 }, ""},
		{"7. no place for the customer", func(s *situation) { s.question.Usage.CompletedByCustomer = 2 }, "user_usage_limit_reached"},
		{"7. a reservation takes a place", func(s *situation) { s.question.Usage.ReservedByCustomer = 1 }, "user_usage_limit_reached"},
		{"7. no limit per user", func(s *situation) {
			s.coupon.Limits.MaxUsesPerUser, s.question.Usage.CompletedByCustomer = 0, math.MaxInt64
		}, ""},
		{"7. both limits", func(s *situation) {
			s.question.Usage.CompletedByCustomer, s.question.Usage.Completed = 2, 10
		}, "usage_limit_reached user_usage_limit_reached"},

		{"8. the mirror is not valid", func(s *situation) { s.question.MirrorInvalid = true }, "processor_out_of_sync"},
	})
}

// Contract section 5.2: the caller's own reservation never counts against itself.
func TestTheOwnReservation(t *testing.T) {
	t.Parallel()
	runClauses(t, []clause{
		{"it has the last place", func(s *situation) {
			s.question.Usage = eligibility.Usage{Completed: 9, Reserved: 1, CompletedByCustomer: 1, ReservedByCustomer: 1, CustomerHoldsReservation: true}
		}, ""},
		{"the customer's reservation counts if it is not usable", func(s *situation) {
			s.question.Usage = eligibility.Usage{Completed: 9, Reserved: 1, CompletedByCustomer: 1, ReservedByCustomer: 1}
		}, "usage_limit_reached user_usage_limit_reached"},
		{"a second one counts", func(s *situation) {
			s.question.Usage = eligibility.Usage{Completed: 8, Reserved: 2, ReservedByCustomer: 3, CustomerHoldsReservation: true}
		}, "user_usage_limit_reached"},
		{"it does not undo a completed use", func(s *situation) {
			s.question.Usage = eligibility.Usage{Completed: 10, Reserved: 1, CompletedByCustomer: 2, ReservedByCustomer: 1, CustomerHoldsReservation: true}
		}, "usage_limit_reached user_usage_limit_reached"},
		{"figures without it: nothing to leave out", func(s *situation) {
			s.question.Usage = eligibility.Usage{Completed: 10, CompletedByCustomer: 2, CustomerHoldsReservation: true}
		}, "usage_limit_reached user_usage_limit_reached"},
		{"nobody holds none", func(s *situation) {
			s.coupon.Distribution, s.question.Customer, s.question.AllowAnonymous = coupon.General, eligibility.Customer{}, true
			s.question.Usage = eligibility.Usage{Completed: 9, Reserved: 1, ReservedByCustomer: 1, CustomerHoldsReservation: true}
		}, "usage_limit_reached"},
	})
}

// Contract sections 4.8 and 7: a preview needs no customer, unless the coupon
// depends on one.
func TestPreviewWithoutACustomer(t *testing.T) {
	t.Parallel()
	anonymous := func(d coupon.Distribution) func(*situation) {
		return func(s *situation) {
			s.coupon.Distribution, s.question.Customer, s.question.AllowAnonymous = d, eligibility.Customer{}, true
		}
	}
	runClauses(t, []clause{
		{"GENERAL", anonymous(coupon.General), ""},
		{"USER_SPECIFIC", anonymous(coupon.UserSpecific), "user_required"},
		{"POINTS_REDEEMABLE", anonymous(coupon.PointsRedeemable), "user_required"},
		{"a listed address alone is nobody", func(s *situation) {
			s.question.Customer.ID, s.question.AllowAnonymous = "", true
		}, "user_required"},
		{"the limit per user is no matter", func(s *situation) {
			anonymous(coupon.General)(s)
			s.question.Usage.CompletedByCustomer = 99
		}, ""},
		{"the limit of all is", func(s *situation) {
			anonymous(coupon.General)(s)
			s.question.Usage.Completed = 99
		}, "usage_limit_reached"},
		{"who has signed in is checked all the same", func(s *situation) {
			s.question.AllowAnonymous, s.question.Customer.Email = true, "cid@example.org"
		}, "user_not_allowed"},
	})
}

// Contract sections 2.7 to 2.9 and 3.4.
func TestTheCart(t *testing.T) {
	t.Parallel()
	fixed := func(minor int64, c pricing.Currency) func(*situation) {
		return func(s *situation) {
			amount, err := pricing.AmountOff(pricing.NewMoney(minor, c))
			if err != nil {
				panic(err)
			}
			s.coupon.Discount, s.coupon.Currency = amount, c
		}
	}
	runClauses(t, []clause{
		{"2.7 exactly the minimum purchase", func(s *situation) { s.coupon.Conditions.MinPurchase = least(5000) }, ""},
		{"2.7 one cent below", func(s *situation) { s.coupon.Conditions.MinPurchase = least(5001) }, "minimum_purchase_not_met"},
		{"2.7 what is not eligible does not count", func(s *situation) { s.coupon.Conditions.MinPurchase = least(95000) }, "minimum_purchase_not_met"},
		{"2.7 no minimum", func(s *situation) { s.coupon.Conditions.MinPurchase, s.cart.Lines[0].UnitPrice = least(0), 5 }, ""},

		{"2.8 an amount in the cart's currency", fixed(100, pricing.EUR()), ""},
		{"2.8 an amount in another", fixed(100, usd), "currency_mismatch"},
		{"2.8 a percentage with a minimum in another", func(s *situation) { s.inDollars() }, "currency_mismatch"},
		{"2.8 a percentage without a minimum in any", func(s *situation) { s.coupon.Currency, s.coupon.Conditions.MinPurchase = usd, least(0) }, ""},
		{"2.8 the cart's is the other one", func(s *situation) { s.cart.Currency = yen }, "currency_mismatch"},
		{"2.8 amounts are then not compared", func(s *situation) {
			s.coupon.Currency, s.coupon.Conditions.MinPurchase, s.cart.Lines[0].UnitPrice = usd, coupon.NewMoneySet(pricing.NewMoney(math.MaxInt64, usd)), 0
		}, "currency_mismatch"},

		{"2.9 all eligible lines are free", func(s *situation) { s.cart.Lines[0].UnitPrice, s.coupon.Conditions.MinPurchase = 0, least(0) }, "no_discount"},
		{"2.9 less than half a cent", func(s *situation) {
			*s = withDiscount(*s, "0.0009")
			s.coupon.Conditions.MinPurchase = least(0)
			s.cart.Lines[0].UnitPrice = 25
		}, "no_discount"},
		{"2.9 half a cent is a cent", func(s *situation) {
			*s = withDiscount(*s, "1")
			s.coupon.Conditions.MinPurchase = least(0)
			s.cart.Lines[0].UnitPrice = 25
		}, ""},
		{"2.10 less than half a step", func(s *situation) {
			*s = withDiscount(*s, "12.4999")
			s.coupon.Conditions.MinPurchase, s.cart.Step = least(0), 10
			s.cart.Lines[0].UnitPrice = 20
		}, "no_discount"},
		{"2.10 half a step is a step", func(s *situation) {
			*s = withDiscount(*s, "12.5")
			s.coupon.Conditions.MinPurchase, s.cart.Step = least(0), 10
			s.cart.Lines[0].UnitPrice = 20
		}, ""},
		{"2.9 an amount on a free line", func(s *situation) {
			fixed(100, pricing.EUR())(s)
			s.coupon.Conditions.MinPurchase, s.cart.Lines[0].UnitPrice = least(0), 0
		}, "no_discount"},

		{"3.4 SPECIFIC", func(s *situation) {
			s.coupon.Scope, s.coupon.Conditions.MinPurchase = coupon.Scope{AppliesTo: coupon.Specific, Plans: coupon.NewItems("phone")}, least(0)
		}, "no_eligible_items"},
		{"3.4 SUBSCRIPTION", func(s *situation) {
			s.coupon.Scope, s.coupon.Conditions.MinPurchase = coupon.Scope{AppliesTo: coupon.Subscription}, least(0)
		}, "no_eligible_items"},
		{"3.4 PRODUCT", func(s *situation) {
			s.coupon.Scope.Devices, s.coupon.Conditions.MinPurchase = coupon.NewItems("watch"), least(0)
		}, "no_eligible_items"},
		{"3.4 ALL, on shipping alone", func(s *situation) {
			s.coupon.Scope, s.cart.Lines, s.coupon.Conditions.MinPurchase = coupon.Scope{AppliesTo: coupon.All}, s.cart.Lines[2:], least(0)
		}, "no_eligible_items"},
		{"3.4 an empty cart", func(s *situation) { s.cart.Lines, s.coupon.Conditions.MinPurchase = nil, least(0) }, "no_eligible_items"},
		{"3.4 with a minimum purchase, which 0 is below", func(s *situation) { s.cart.Lines = nil }, "minimum_purchase_not_met no_eligible_items"},
		{"3.4 elsewhere", func(s *situation) { s.cart.Lines, s.cart.Currency = nil, usd }, "no_eligible_items currency_mismatch"},
	})
}

func TestFiguresThatNoStoreReports(t *testing.T) {
	t.Parallel()
	for _, u := range []eligibility.Usage{
		{Completed: math.MaxInt64, Reserved: math.MaxInt64, CompletedByCustomer: math.MaxInt64, ReservedByCustomer: math.MaxInt64},
		{Completed: math.MaxInt64, Reserved: math.MaxInt64, CompletedByCustomer: math.MaxInt64, ReservedByCustomer: math.MaxInt64, CustomerHoldsReservation: true},
		{Completed: math.MinInt64, Reserved: math.MaxInt64, CompletedByCustomer: math.MinInt64, ReservedByCustomer: math.MaxInt64},
		{Completed: math.MaxInt64, Reserved: math.MinInt64, CompletedByCustomer: math.MaxInt64, ReservedByCustomer: math.MinInt64, CustomerHoldsReservation: true},
	} {
		for _, limits := range []coupon.Limits{{MaxUses: 1, MaxUsesPerUser: 1}, {MaxUses: math.MaxInt64, MaxUsesPerUser: math.MaxInt64}} {
			s := sound()
			s.coupon.Limits, s.question.Usage = limits, u
			d := eligibility.Check(&s.coupon, s.question)
			want := limits.MaxUses == 1 || !(u.CustomerHoldsReservation && u.Completed < 0) && (u.Completed == math.MaxInt64 || u.Reserved == math.MaxInt64)
			if d.Has(coupon.UsageLimitReached) != want || d.Has(coupon.UserUsageLimitReached) != want {
				t.Errorf("limits %+v, %+v: %v", limits, u, d.Err())
			}
		}
	}
	s := sound()
	s.question.Usage = eligibility.Usage{Completed: math.MinInt64, Reserved: math.MinInt64, CompletedByCustomer: math.MinInt64, ReservedByCustomer: math.MinInt64, CustomerHoldsReservation: true}
	if d := eligibility.Check(&s.coupon, s.question); !d.Allowed() {
		t.Errorf("figures below nothing are a reason: %v", d.Err())
	}
}

// least is a minimum purchase in euros, in cents. Of 0 there is none.
func least(minor int64) coupon.MoneySet {
	if minor == 0 {
		return coupon.MoneySet{}
	}
	return coupon.NewMoneySet(pricing.NewMoney(minor, pricing.EUR()))
}

// minimumOf is the minimum purchase in the coupon's own currency, or 0.
func minimumOf(c coupon.Coupon) int64 {
	minor, _ := c.Minimum(c.Currency)
	return minor
}

// inDollars changes the currency of the coupon and of its minimum purchase.
func (s *situation) inDollars() {
	usd := pricing.USD()
	s.coupon.Currency, s.coupon.Conditions.MinPurchase = usd, coupon.NewMoneySet(pricing.NewMoney(5000, usd))
}
