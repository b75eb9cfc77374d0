package replay_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

var errUnreadable = errors.New("unreadable")

// pass reads events that are already decoded. An event without an instant and a customer is unreadable.
func pass(e replay.Event) (replay.Event, error) {
	if e.At.IsZero() && e.Customer.ID == "" {
		return e, errUnreadable
	}
	return e, nil
}

func usd() pricing.Currency { return pricing.USD() }

// randomShop returns a few coupons with limits, and carts of a few customers.
func randomShop(r *rand.Rand, coupons, carts int) ([]*coupon.Coupon, []replay.Event) {
	var list []*coupon.Coupon
	for i := range coupons {
		list = append(list, randomCoupon(r, fmt.Sprintf("%s%02d", coupon.IDPrefix, i)))
	}
	var events []replay.Event
	at := noon
	for range carts {
		at = at.Add(time.Duration(r.IntN(3)) * time.Hour)
		events = append(events, randomEvent(r, at))
	}
	return list, events
}

func randomEvent(r *rand.Rand, at time.Time) replay.Event {
	if r.IntN(40) == 0 {
		return []replay.Event{{}, {At: at, Cart: pricing.Cart{}}, {At: at.AddDate(-1, 0, 0), Cart: pricing.Cart{Currency: pricing.EUR()}}}[r.IntN(3)]
	}
	in := pricing.EUR()
	if r.IntN(5) == 0 {
		in = usd()
	}
	e := replay.Event{At: at, Cart: pricing.Cart{Currency: in}}
	prices := []int64{0, 5, 10, 25, 100, 335}
	total := int64(0)
	for i := range 1 + r.IntN(4) {
		l := pricing.Line{
			ID: fmt.Sprint(i), Kind: []pricing.LineKind{pricing.Device, pricing.Accessory, pricing.Shipping}[r.IntN(3)],
			ItemID: fmt.Sprint("i", r.IntN(4)), Quantity: 1 + r.Int64N(3), UnitPrice: prices[r.IntN(len(prices))],
		}
		total += l.UnitPrice * l.Quantity
		e.Cart.Lines = append(e.Cart.Lines, l)
	}
	if r.IntN(3) > 0 {
		e.Paid = pricing.NewMoney(r.Int64N(total+2), in)
	}
	if n := r.IntN(4); n > 0 {
		e.Customer = eligibility.Customer{ID: fmt.Sprint("u", n)}
		if r.IntN(2) == 0 {
			e.Customer.Email = fmt.Sprintf("u%d@example.org", r.IntN(3)) // not always their own
		}
		e.Customer.EarlierOrders = int64(r.IntN(8) / 7)
	}
	if r.IntN(2) == 0 {
		e.Facts.Country = "DE"
	}
	return e
}

func randomCoupon(r *rand.Rand, id string) *coupon.Coupon {
	c := &coupon.Coupon{ID: id, Name: id, State: coupon.Active}
	c.Distribution, c.Currency, c.Scope = coupon.General, pricing.EUR(), coupon.Scope{AppliesTo: coupon.All}
	if r.IntN(3) == 0 {
		c.Scope = coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems("i1", "i2"), Accessories: coupon.NewItems("i2", "i3")}
	}
	c.Discount = randomDiscount(r)
	some := func(n int) bool { return r.IntN(n) == 0 }
	if !some(3) {
		c.Group = fmt.Sprint("g", r.IntN(4))
	}
	if some(3) {
		c.Limits.MaxUses = 1 + r.Int64N(6)
	}
	if some(3) {
		c.Limits.MaxUsesPerUser = 1 + r.Int64N(2)
	}
	if some(3) {
		c.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(5*(1+r.Int64N(60)), pricing.EUR()), pricing.NewMoney(5*(1+r.Int64N(60)), usd()))
	}
	for range r.IntN(6) / 4 {
		c.Limits.Periods = append(c.Limits.Periods, coupon.PeriodLimit{
			Per: []coupon.LimitSubject{coupon.PerCoupon, coupon.PerCustomer, coupon.PerCode}[r.IntN(3)], Period: calendar.Day, MaxUses: 1 + r.Int64N(2),
		})
	}
	c.Conditions.FirstOrder = some(6)
	if some(8) {
		c.Conditions.Countries = coupon.NewItems("DE")
	}
	if some(6) {
		c.StartsAt = noon.Add(time.Duration(r.IntN(20)) * time.Hour)
	}
	if some(6) {
		c.ExpiresAt = noon.Add(time.Duration(10+r.IntN(20)) * time.Hour)
	}
	if some(12) {
		c.State = coupon.Inactive
	}
	return c
}

func randomDiscount(r *rand.Rand) pricing.Discount {
	t := pricing.DiscountTerms{Currency: pricing.EUR()}
	percent := func() (p pricing.Percent) {
		p, err := pricing.ParsePercent([]string{"100", "50", "33.3333", "10"}[r.IntN(4)])
		if err != nil {
			panic(err)
		}
		return p
	}
	switch r.IntN(4) {
	case 0:
		t.Type, t.Percent, t.Lane = pricing.Percentage, percent(), pricing.ItemLane+pricing.Lane(r.IntN(2))
	case 1:
		t.Type, t.Amount = pricing.FixedAmount, 5*(1+r.Int64N(40))
		t.Others = []pricing.CurrencyTerms{{Currency: usd(), Amount: 5 * (1 + r.Int64N(40))}}
	case 2:
		t.Type, t.Percent, t.Units = pricing.CheapestUnits, percent(), 1+r.Int64N(2)
	default:
		t.Type, t.Percent, t.MaxUnits, t.Lane = pricing.Percentage, percent(), 1+r.Int64N(2), pricing.OrderLane
	}
	d, err := pricing.NewDiscount(t)
	if err != nil {
		panic(err)
	}
	return d
}
