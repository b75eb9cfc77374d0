package offers_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// shops is how many small shops each search is compared with brute force on. A long run:
//
//	go test ./eligibility/offers -run SmallShops -shops 1000000 -timeout 0
var shops = flag.Int("shops", testsize.Of(3_000, 6_000), "how many small shops are searched")

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// tryAll is what a search must find: every coupon that eligibility.Evaluate allows, in the documented order.
func tryAll(coupons []*coupon.Coupon, q offers.Query) (all []offers.Offer) {
	for _, c := range coupons {
		if c.State != coupon.Active || c.Distribution == coupon.PointsRedeemable && !slices.Contains(q.Held, c.ID) {
			continue
		}
		question := q.Question
		question.Usage, question.MirrorInvalid = eligibility.Usage{}, false
		if q.Usage != nil {
			question.Usage = q.Usage(c)
		}
		r, err := eligibility.Evaluate(c, q.Cart, question)
		if err == nil && r.Decision.Allowed() {
			all = append(all, offers.Offer{Coupon: c, Discount: r.Quote.Discount})
		}
	}
	slices.SortFunc(all, func(a, b offers.Offer) int {
		return cmp.Or(cmp.Compare(b.Discount, a.Discount), cmp.Compare(a.Coupon.ID, b.Coupon.ID))
	})
	return all
}

// words returns offers as text, such as "cpn_a 500".
func words(list []offers.Offer) []string {
	text := make([]string, len(list))
	for i, o := range list {
		text[i] = fmt.Sprint(o.Coupon.ID, " ", o.Discount)
	}
	return text
}

func indexOf(t require.TestingT, coupons []*coupon.Coupon) *offers.Index {
	x, err := offers.New(slices.Values(coupons), offers.Limits{})
	require.NoError(t, err)
	return x
}

// drawShop draws a cart, coupons with a chance to apply to the cart, and a query by a customer of one of
// the coupons.
func drawShop(t *rapid.T) ([]*coupon.Coupon, offers.Query) {
	cart := pricingtest.Cart(pricingtest.CartOptions{}).Draw(t, "cart")
	one := rapid.OneOf(coupontest.For(cart), coupontest.For(cart), coupontest.Coupon())
	var coupons []*coupon.Coupon
	for i := range rapid.IntRange(0, 12).Draw(t, "coupons") {
		c := one.Draw(t, "coupon")
		c.ID = fmt.Sprintf("%s%02d", coupon.IDPrefix, i)
		if rapid.Bool().Draw(t, "open end") {
			c.StartsAt, c.ExpiresAt = time.Time{}, time.Time{}
		}
		coupons = append(coupons, &c)
	}
	q := offers.Query{Cart: cart, Question: eligibility.Question{At: noon, Customer: eligibility.Customer{ID: "u"}}}
	usage := map[string]eligibility.Usage{}
	if len(coupons) > 0 {
		q.Question = coupontest.Question(*rapid.SampledFrom(coupons).Draw(t, "customer of")).Draw(t, "question")
	}
	for _, c := range coupons {
		if rapid.IntRange(0, 2).Draw(t, "used") == 0 {
			usage[c.ID] = coupontest.Usage(c.Limits).Draw(t, "usage")
		}
		if c.Distribution == coupon.PointsRedeemable && rapid.Bool().Draw(t, "held") {
			q.Held = append(q.Held, c.ID)
			usage[c.ID] = eligibility.Usage{Reserved: 1, ReservedByCustomer: 1, CustomerHoldsReservation: true}
		}
	}
	q.Usage = func(c *coupon.Coupon) eligibility.Usage { return usage[c.ID] }
	return coupons, q
}

// smallShop is a small cart and a few coupons of all types and scopes, many of which apply.
func smallShop(r *rand.Rand, most int) ([]*coupon.Coupon, offers.Query) {
	cart := pricing.Cart{Currency: pricing.EUR(), Step: []int64{0, 0, 0, 5}[r.IntN(4)]}
	prices := []int64{0, 5, 10, 25, 100, 335}
	for i := range 1 + r.IntN(5) {
		l := pricing.Line{
			ID: fmt.Sprint(i), Kind: []pricing.LineKind{pricing.Device, pricing.Device, pricing.Plan, pricing.Accessory, "book"}[r.IntN(5)],
			ItemID: fmt.Sprint("i", r.IntN(6)), Quantity: 1 + r.Int64N(3), UnitPrice: prices[r.IntN(len(prices))],
		}
		if r.IntN(2) == 0 {
			l.Categories, _ = pricing.NewCategories([]string{"a", "b", "c"}[:1+r.IntN(3)]...)
		}
		cart.Lines = append(cart.Lines, l)
	}
	var coupons []*coupon.Coupon
	for i := range r.IntN(most + 1) {
		c := randomCoupon(r, fmt.Sprintf("%s%02d", coupon.IDPrefix, i))
		if r.IntN(4) == 0 {
			requireAmount(r, c)
		}
		coupons = append(coupons, c)
	}
	r.Shuffle(len(coupons), func(i, j int) { coupons[i], coupons[j] = coupons[j], coupons[i] })
	q := offers.Query{Cart: cart, Question: eligibility.Question{
		At:       noon,
		Customer: eligibility.Customer{ID: "u", Email: []string{"ann@example.org", "bob@example.com", ""}[r.IntN(3)]},
		Facts:    eligibility.Facts{Country: []string{"DE", "FR", ""}[r.IntN(3)], Channel: []string{"web", "store", ""}[r.IntN(3)]},
	}}
	return coupons, q
}

// requireAmount makes a coupon require an amount of some units, often of the whole cart.
func requireAmount(r *rand.Rand, c *coupon.Coupon) {
	scope := coupon.Scope{AppliesTo: coupon.All}
	if r.IntN(2) == 0 {
		scope = randomScope(r)
	}
	amount := coupon.NewMoneySet(pricing.NewMoney(5*(1+r.Int64N(200)), pricing.EUR()))
	c.Conditions.Contains = coupon.Contents{Scope: scope, Quantity: 1 + r.Int64N(2), MinPurchase: amount}
}

func randomCoupon(r *rand.Rand, id string) *coupon.Coupon {
	c := &coupon.Coupon{ID: id, State: coupon.Active}
	c.Distribution, c.Currency = coupon.General, pricing.EUR()
	c.Discount, c.Scope = randomDiscount(r), randomScope(r)
	if c.Discount.Type() == pricing.BuyXGetY && r.IntN(2) == 0 {
		c.Buys = randomScope(r)
	}
	if r.IntN(3) > 0 {
		c.Group = fmt.Sprint("g", r.IntN(4))
	}
	some := func() bool { return r.IntN(10) == 0 }
	if r.IntN(4) == 0 {
		c.Conditions.MinPurchase = coupon.NewMoneySet(pricing.NewMoney(5*(1+r.Int64N(100)), pricing.EUR()))
	}
	if some() {
		c.Conditions.MaxPurchase = coupon.NewMoneySet(pricing.NewMoney(1000+r.Int64N(500), pricing.EUR()))
	}
	if r.IntN(6) == 0 {
		c.Conditions.MinQuantity = 1 + r.Int64N(6)
	}
	if some() {
		c.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(5*(1+r.Int64N(50)), pricing.EUR()))
	}
	if some() {
		c.Conditions.Countries = coupon.NewItems("DE", "AT")
	}
	if some() {
		c.Conditions.Channels = coupon.NewItems("web")
	}
	if some() {
		c.Conditions.Contains = coupon.Contents{Scope: randomScope(r), Quantity: 1 + r.Int64N(2)}
	}
	if some() {
		c.Conditions.ContainsNot = randomScope(r)
	}
	if some() {
		c.StartsAt = noon.Add(time.Duration(r.IntN(3)-1) * time.Hour)
	}
	if some() {
		c.ExpiresAt = noon.Add(time.Duration(r.IntN(3)-1) * time.Hour)
	}
	if r.IntN(8) == 0 {
		c.Distribution = coupon.UserSpecific
		c.AllowedUserEmails = coupon.StoredEmailSet([]string{"ann@example.org", "*@example.com", "*@example.org"}[r.IntN(3)])
	}
	return c
}

func randomScope(r *rand.Rand) coupon.Scope {
	items := func() coupon.Items {
		ids := make([]string, r.IntN(4))
		for i := range ids {
			ids[i] = fmt.Sprint("i", r.IntN(6))
		}
		return coupon.NewItems(ids...)
	}
	s := coupon.Scope{AppliesTo: coupon.All + coupon.AppliesTo(r.IntN(4))}
	switch s.AppliesTo {
	case coupon.All:
	case coupon.Subscription:
		s.Plans = items()
	case coupon.Product:
		s.Devices, s.Accessories = items(), items()
	case coupon.Specific:
		s.Plans, s.Devices, s.Accessories = items(), items(), items()
	}
	if r.IntN(4) == 0 {
		s.Kinds = coupon.NewItems([]string{"device", "book", "plan"}[:1+r.IntN(3)]...)
	}
	if r.IntN(4) == 0 {
		s.Categories = coupon.NewItems([]string{"a", "b", "d"}[:1+r.IntN(3)]...)
	}
	if r.IntN(6) == 0 {
		s.ExcludedItems = items()
	}
	if r.IntN(6) == 0 {
		s.ExcludedCategories = coupon.NewItems("c")
	}
	return s
}

func randomDiscount(r *rand.Rand) pricing.Discount {
	percent := func() pricing.Percent {
		p, err := pricing.ParsePercent([]string{"100", "50", "50", "33.3333", "10", "1"}[r.IntN(6)])
		if err != nil {
			panic(err)
		}
		return p
	}
	d := pricing.DiscountTerms{Type: pricing.Percentage + pricing.DiscountType(r.IntN(7)), Currency: pricing.EUR()}
	amount := 5 * []int64{1, 2, 5, 20, 60}[r.IntN(5)]
	switch d.Type {
	case pricing.Percentage:
		d.Percent = percent()
		d.Lane = pricing.ItemLane + pricing.Lane(r.IntN(2))
	case pricing.FixedAmount, pricing.FixedAmountPerUnit, pricing.FixedUnitPrice:
		d.Amount = amount
	case pricing.CheapestUnits:
		d.Percent, d.Units = percent(), 1+r.Int64N(3)
	case pricing.BuyXGetY:
		d.Percent, d.BuyQuantity, d.GetQuantity, d.MaxApplications = percent(), 1+r.Int64N(2), 1+r.Int64N(2), r.Int64N(3)
	case pricing.Tiered:
		d.TierBasis = pricing.ByAmount + pricing.TierBasis(r.IntN(2))
		from := map[pricing.TierBasis]int64{pricing.ByAmount: 100, pricing.ByQuantity: 2}[d.TierBasis]
		d.Tiers = []pricing.Tier{{From: from, Percent: percent()}, {From: 3 * from, Amount: amount}}
		if r.IntN(2) == 0 {
			d.Tiers[0], d.Tiers[1] = pricing.Tier{From: from, Amount: amount}, pricing.Tier{From: 2 * from, Amount: 2 * amount}
		}
	}
	if d.Type <= pricing.FixedUnitPrice && r.IntN(3) == 0 {
		d.MaxUnits = 1 + r.Int64N(3)
	}
	if d.Type != pricing.FixedAmount && r.IntN(4) == 0 {
		d.MaxDiscount = 1 + r.Int64N(300)
	}
	discount, err := pricing.NewDiscount(d)
	if err != nil {
		panic(err)
	}
	return discount
}
