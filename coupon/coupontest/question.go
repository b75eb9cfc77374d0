package coupontest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
)

// Customer draws who wants to use the coupon: nobody at times, and for a coupon with an allow-list one of its customers
// as often as not, in any letter case.
func Customer(c coupon.Coupon) *rapid.Generator[eligibility.Customer] {
	return rapid.Custom(func(t *rapid.T) eligibility.Customer {
		email := Email()
		if allowed := c.AllowedUserEmails.Slice(); len(allowed) > 0 && rapid.Bool().Draw(t, "allowed") {
			email = letIn(allowed)
		}
		customer := eligibility.Customer{Email: email.Draw(t, "e-mail")}
		if rapid.Bool().Draw(t, "shouting") {
			customer.Email = " " + strings.ToUpper(customer.Email) + "\t"
		}
		customer.Tags = rapid.SliceOfDistinct(rapid.SampledFrom(allTags()), rapid.ID[string]).Draw(t, "tags")
		customer.EarlierOrders = rapid.SampledFrom([]int64{0, 0, 0, 1, math.MaxInt64}).Draw(t, "earlier orders")
		if rapid.IntRange(0, 4).Draw(t, "nobody") > 0 {
			customer.ID = fmt.Sprintf("user-%d", rapid.IntRange(1, 9).Draw(t, "user"))
		}
		return customer
	})
}

// letIn draws an address that is on the allow-list, or in a domain that is.
func letIn(allowed []string) *rapid.Generator[string] {
	return rapid.Map(rapid.SampledFrom(allowed), func(entry string) string {
		if domain, covered := strings.CutPrefix(entry, "*"); covered {
			return "somebody" + domain
		}
		return entry
	})
}

// Usage draws counts that a store could report. The customer's counts are part of the counts of all customers, and
// include a reservation that the customer holds. Most counts are close to the limits.
func Usage(l coupon.Limits) *rapid.Generator[eligibility.Usage] {
	return rapid.Custom(func(t *rapid.T) eligibility.Usage {
		own := near(t, l.MaxUsesPerUser, "customer's places")
		u := eligibility.Usage{CompletedByCustomer: rapid.Int64Range(0, own).Draw(t, "completed by customer")}
		u.ReservedByCustomer = own - u.CompletedByCustomer
		u.CustomerHoldsReservation = u.ReservedByCustomer > 0 && rapid.Bool().Draw(t, "holds a reservation")
		others := max(near(t, l.MaxUses, "places")-own, 0)
		completed := rapid.Int64Range(0, others).Draw(t, "completed by others")
		u.Completed, u.Reserved = u.CompletedByCustomer+completed, u.ReservedByCustomer+others-completed
		countTerms(t, l, &u)
		return u
	})
}

// near draws a count close to a limit. A limit of 0 means no limit.
func near(t *rapid.T, limit int64, label string) int64 {
	const most = math.MaxInt64 / 4 // sums of such counts do not overflow
	if limit == 0 || limit > most {
		limit = 3
	}
	return rapid.Int64Range(max(limit-2, 0), limit+2).Draw(t, label)
}

// Question draws a question about the coupon. Two thirds are favourable: nothing but the coupon's state, and the cart,
// stand against a yes. The others are at an instant before, at, just before and just after the bounds of the coupon's
// validity or far from them, by a [Customer], with some [Usage].
func Question(c coupon.Coupon) *rapid.Generator[eligibility.Question] {
	return rapid.OneOf(favourable(c), favourable(c), rapid.Custom(func(t *rapid.T) eligibility.Question {
		at := Instant().Draw(t, "at")
		for _, bound := range []time.Time{c.StartsAt, c.ExpiresAt} {
			if !bound.IsZero() && rapid.Bool().Draw(t, "at a bound") {
				at = bound.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "microseconds off")) * time.Microsecond)
			}
		}
		return eligibility.Question{
			At:             at,
			Customer:       Customer(c).Draw(t, "customer"),
			Facts:          facts(t, c.Conditions),
			Usage:          Usage(c.Limits).Draw(t, "usage"),
			MirrorInvalid:  rapid.IntRange(0, 5).Draw(t, "mirror") == 0,
			AllowAnonymous: rapid.Bool().Draw(t, "anonymous allowed"),
		}
	}))
}

func favourable(c coupon.Coupon) *rapid.Generator[eligibility.Question] {
	return rapid.Custom(func(t *rapid.T) eligibility.Question {
		q := eligibility.Question{Customer: eligibility.Customer{ID: "user-1", Email: Email().Draw(t, "e-mail")}}
		if allowed := c.AllowedUserEmails.Slice(); len(allowed) > 0 {
			q.Customer.Email = letIn(allowed).Draw(t, "allowed e-mail")
		}
		switch {
		case !c.StartsAt.IsZero():
			q.At = c.StartsAt
		case !c.ExpiresAt.IsZero():
			q.At = c.ExpiresAt.Add(-time.Microsecond)
		default:
			q.At = Instant().Draw(t, "at")
		}
		if c.Distribution == coupon.PointsRedeemable || rapid.Bool().Draw(t, "holds a reservation") {
			q.Usage = eligibility.Usage{Reserved: 1, ReservedByCustomer: 1, CustomerHoldsReservation: true}
		}
		favour(c, &q)
		return q
	})
}
