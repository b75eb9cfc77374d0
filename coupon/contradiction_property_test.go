package coupon_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// tight draws a coupon whose terms often contradict each other: few items, kinds and categories, small
// amounts and budgets. No amount is above a maximum or a budget, which would be refused anyhow.
func tight() *rapid.Generator[coupon.Coupon] {
	return rapid.Custom(func(t *rapid.T) coupon.Coupon {
		c, err := coupon.New(coupon.Draft{
			Code: "A", Name: "A", DiscountType: pricing.Percentage, Percent: "10",
		}, creation)
		require.NoError(t, err)
		if rapid.IntRange(0, 3).Draw(t, "required units are bought") == 0 {
			tightBuyGet(t, &c)
			require.NoError(t, c.Validate())
			return c
		}
		c.Scope = tightScope(t)
		if rapid.IntRange(0, 3).Draw(t, "amounts") > 0 {
			c.Discount = tightDiscount(t)
			own := rapid.SampledFrom([]int64{0, 1, 5, 20, 1_000, coupon.MaxMinPurchase}).Draw(t, "minimum purchase")
			c.Conditions.MinQuantity = rapid.SampledFrom([]int64{0, 0, 1, 2, 5, 40, coupon.MaxQuantity}).Draw(t, "minimum quantity")
			switch {
			case own > 0 && some(t, "other minimum"):
				c.Conditions.MinPurchase = coupon.NewMoneySet(eur(own), jpy(rapid.Int64Range(1, 100).Draw(t, "other minimum")))
			case own > 0:
				c.Conditions.MinPurchase = coupon.NewMoneySet(eur(own))
			}
			c.Limits.Budget = tightBudget(t, c.Discount)
			if some(t, "maximums") {
				tightMaximums(t, &c)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "contents") == 0 {
			c.Conditions.Contains = coupon.Contents{Scope: tightScope(t), Quantity: rapid.SampledFrom([]int64{1, 1, 2, 5, 40}).Draw(t, "required units")}
			switch own := rapid.SampledFrom([]int64{0, 1, 4, 5, 20, 46, 1_000}).Draw(t, "required amount"); {
			case own > 0 && some(t, "other required amount"):
				c.Conditions.Contains.MinPurchase = coupon.NewMoneySet(eur(own), jpy(rapid.Int64Range(1, 100).Draw(t, "other required amount")))
			case own > 0:
				c.Conditions.Contains.MinPurchase = coupon.NewMoneySet(eur(own))
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "excluded contents") == 0 {
			c.Conditions.ContainsNot = tightScope(t)
		}
		if c.Discount.Type() == pricing.BuyXGetY && some(t, "buys") {
			c.Buys = tightScope(t)
		}
		require.NoError(t, c.Validate())
		return c
	})
}

// tightBuyGet draws units that are eligible, bought and required, often several of these, and small numbers
// of them.
func tightBuyGet(t *rapid.T, c *coupon.Coupon) {
	kinds := func(what string) coupon.Scope {
		few := rapid.SliceOfN(rapid.SampledFrom([]string{"plan", "device", "accessory"}), 1, 2).Draw(t, what)
		return coupon.Scope{AppliesTo: coupon.All, Kinds: coupon.NewItems(few...)}
	}
	upTo := func(n int64, what string) int64 { return rapid.Int64Range(0, n).Draw(t, what) }
	percent, err := pricing.ParsePercent(rapid.SampledFrom([]string{"100", "100", "40", "7"}).Draw(t, "percent"))
	require.NoError(t, err)
	discount, err := pricing.NewDiscount(pricing.DiscountTerms{
		Type: pricing.BuyXGetY, Currency: pricing.EUR(), Percent: percent,
		BuyQuantity: 1 + upTo(3, "buy"), GetQuantity: 1 + upTo(2, "get"), MaxApplications: max(upTo(8, "applications")-4, 0),
	})
	require.NoError(t, err)
	c.Discount, c.Scope, c.Buys = discount, kinds("eligible"), kinds("bought")
	c.Conditions.Contains = coupon.Contents{Scope: kinds("required"), Quantity: 1 + upTo(11, "required units")}
	c.Conditions.MinQuantity, c.Conditions.MaxQuantity = upTo(9, "minimum quantity"), upTo(12, "maximum quantity")
	if budget := upTo(6, "budget"); budget > 0 {
		c.Limits.Budget = coupon.NewMoneySet(eur(budget))
	}
	if most := upTo(24, "maximum purchase"); most > 0 && some(t, "maximum") {
		c.Conditions.MaxPurchase = coupon.NewMoneySet(eur(most))
	}
	if least := upTo(12, "minimum purchase"); least > 0 && some(t, "minimum") {
		c.Conditions.MinPurchase = coupon.NewMoneySet(eur(least))
	}
	if least := upTo(24, "required amount"); least > 0 && some(t, "amount") {
		c.Conditions.Contains.MinPurchase = coupon.NewMoneySet(eur(least))
	}
}

// tightMaximums draws maximums that are often too low for the minimums and the discount.
func tightMaximums(t *rapid.T, c *coupon.Coupon) {
	c.Conditions.MaxQuantity = rapid.SampledFrom([]int64{0, 1, 2, 3, 5, 40}).Draw(t, "maximum quantity")
	most := rapid.SampledFrom([]int64{0, 1, 4, 5, 6, 20, 45, 1_000}).Draw(t, "maximum purchase")
	switch {
	case most > 0 && some(t, "other maximum"):
		c.Conditions.MaxPurchase = coupon.NewMoneySet(eur(most), jpy(rapid.Int64Range(1, 100).Draw(t, "other maximum")))
	case most > 0:
		c.Conditions.MaxPurchase = coupon.NewMoneySet(eur(most))
	}
}

// contradictory draws tight coupons until one is refused, or until one is not.
func contradictory(refused bool) *rapid.Generator[coupon.Coupon] {
	return rapid.Custom(func(t *rapid.T) coupon.Coupon {
		for range 1_000 {
			if c := tight().Draw(t, "coupon"); (c.Contradictions() != nil) == refused {
				return c
			}
		}
		t.Fatalf("no coupon that is refused: %t", refused)
		return coupon.Coupon{}
	})
}

func some(t *rapid.T, what string) bool { return rapid.Bool().Draw(t, what) }

func tightScope(t *rapid.T) coupon.Scope {
	few := func(what string, from ...string) coupon.Items {
		return coupon.NewItems(rapid.SliceOfN(rapid.SampledFrom(from), 0, 2).Draw(t, what)...)
	}
	s := coupon.Scope{AppliesTo: rapid.SampledFrom([]coupon.AppliesTo{coupon.All, coupon.Subscription, coupon.Product, coupon.Specific}).Draw(t, "applies to")}
	kinds := []string{"plan", "device", "accessory", "book"}
	switch s.AppliesTo {
	case coupon.Subscription:
		s.Plans, kinds = few("plans", "a", "b"), []string{"plan", "book"}
	case coupon.Product:
		s.Devices, s.Accessories, kinds = few("devices", "a", "b"), few("accessories", "a", "b"), kinds[1:]
	case coupon.Specific:
		s.Plans, s.Devices, s.Accessories = few("plans", "a"), few("devices", "a", "b"), coupon.NewItems("a")
	case coupon.All:
	}
	s.Kinds, s.ExcludedItems = few("kinds", kinds...), few("excluded items", "a", "b")
	s.Categories = few("categories", "x", "y")
	s.ExcludedCategories = coupon.NewItems(slices.DeleteFunc(few("excluded categories", "x", "y", "z").Slice(), s.Categories.Has)...)
	return s
}

// tightDiscount draws a discount with small amounts in EUR, at times in JPY too.
func tightDiscount(t *rapid.T) pricing.Discount {
	terms := pricingtest.Discount(pricing.EUR()).Draw(t, "discount").Terms()
	terms.Others = nil
	small := func(n int64, what string) int64 {
		if n == 0 {
			return 0
		}
		return rapid.SampledFrom([]int64{1, 2, 3, 50, math.MaxInt64}).Draw(t, what)
	}
	units := func(n int64, what string) int64 { return min(small(n, what), 60) }
	terms.Currency, terms.Amount, terms.MaxDiscount = pricing.EUR(), small(terms.Amount, "amount"), small(terms.MaxDiscount, "maximum")
	if terms.Type != pricing.FixedUnitPrice {
		terms.Amount = min(terms.Amount, unlimited(terms.MaxDiscount))
	}
	terms.MaxUnits, terms.Units, terms.MaxApplications = units(terms.MaxUnits, "maximum units"), units(terms.Units, "units"), units(terms.MaxApplications, "applications")
	terms.BuyQuantity, terms.GetQuantity = units(terms.BuyQuantity, "buy"), units(terms.GetQuantity, "get")
	for i := range terms.Tiers {
		terms.Tiers[i].Amount = min(terms.Tiers[i].Amount, unlimited(terms.MaxDiscount))
	}
	if terms.Amount > 0 && some(t, "in yen") {
		terms.Others = []pricing.CurrencyTerms{{Currency: pricing.JPY(), Amount: min(terms.Amount, 50), MaxDiscount: terms.MaxDiscount}}
	}
	d, err := pricing.NewDiscount(terms)
	require.NoError(t, err)
	return d
}

// unlimited reads a limit of 0 as none.
func unlimited(limit int64) int64 {
	if limit == 0 {
		return math.MaxInt64
	}
	return limit
}

// tightBudget draws a small budget that is not below an amount of the discount.
func tightBudget(t *rapid.T, d pricing.Discount) coupon.MoneySet {
	terms, small := d.Terms(), rapid.SampledFrom([]int64{1, 2, 5, 60, 500})
	least := terms.MaxDiscount
	if terms.Type != pricing.FixedUnitPrice {
		least = max(least, terms.Amount)
	}
	for _, tier := range terms.Tiers {
		least = max(least, tier.Amount)
	}
	if least > coupon.MaxBudget || rapid.IntRange(0, 3).Draw(t, "no budget") == 0 {
		return coupon.MoneySet{}
	}
	budget := []pricing.Money{eur(max(small.Draw(t, "budget"), least))}
	if some(t, "budget in yen") {
		budget = append(budget, jpy(max(small.Draw(t, "budget in yen"), least)))
	}
	return coupon.NewMoneySet(budget...)
}

// To every coupon that is not refused, some purchase gets a discount.
func TestEveryCouponHasAPurchase(t *testing.T) {
	t.Parallel()
	check := func(t *rapid.T, c coupon.Coupon) {
		if missed(c) {
			return
		}
		if _, _, found := purchaseOf(c); !found {
			terms, err := json.Marshal(c.Terms)
			require.NoError(t, err)
			t.Fatalf("no purchase for %s", terms)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c, err := coupon.New(coupontest.Draft().Draw(t, "draft"), creation)
		require.NoError(t, err)
		check(t, c)
	})
	rapid.Check(t, func(t *rapid.T) { check(t, contradictory(false).Draw(t, "coupon")) })
}

// missed reports whether a coupon has an amount that Contradictions may miss: required units cost it, the coupon covers
// them, and they never count as bought.
func missed(c coupon.Coupon) bool {
	required, excluded := c.Conditions.Contains, c.Conditions.ContainsNot
	if required.MinPurchase.IsZero() || c.Buys.IsZero() {
		return false
	}
	_, uncovered := required.Scope.Example(c.Scope, excluded)
	_, bought := coupon.Example([]coupon.Scope{required.Scope, c.Buys}, excluded)
	return !uncovered && !bought
}

// No purchase gets a discount from a coupon that is refused. The search finds one for most coupons that
// are not refused.
func TestNoPurchaseForARefusedCoupon(t *testing.T) {
	t.Parallel()
	tries := testsize.Of(300, 10_000)
	rapid.Check(t, func(t *rapid.T) {
		c := contradictory(true).Draw(t, "coupon")
		if cart, discount := searched(c, tries, rapid.Uint64().Draw(t, "seed")); discount > 0 {
			t.Fatalf("%v, but this cart gets %d: %+v\n%+v", c.Contradictions(), discount, cart, c)
		}
	})
	const coupons = 100
	found := 0
	for seed := range coupons { // the same in every run
		if _, discount := searched(contradictory(false).Example(seed), tries, uint64(seed)); discount > 0 {
			found++
		}
	}
	require.Greater(t, found, coupons/2, "the search finds too little")
}

// searched returns a cart that gets a discount from the coupon, if one of so many random carts does.
func searched(c coupon.Coupon, tries int, seed uint64) (cart pricing.Cart, discount int64) {
	random, words := rand.New(rand.NewPCG(seed, 0)), wordsOf(c)
	for range tries {
		cart, q := words.purchase(random)
		result, err := eligibility.Evaluate(&c, cart, q)
		if err == nil && result.Decision.Allowed() {
			return cart, result.Quote.Discount
		}
	}
	return pricing.Cart{}, 0
}

// words are what a coupon talks about.
type words struct {
	kinds, items, categories []string
	numbers                  []int64
	currencies               []pricing.Currency
}

func wordsOf(c coupon.Coupon) words {
	w := words{
		kinds: []string{"plan", "device", "accessory", "book"}, items: []string{"a", "b", "c"}, categories: []string{"x", "y", "z"},
		numbers: []int64{1, 1, 2, 5, 100, 5_000, math.MaxInt64}, currencies: []pricing.Currency{pricing.EUR(), pricing.EUR(), pricing.JPY()},
	}
	t := c.Discount.Terms()
	least, _ := c.Minimum(c.Currency)
	most, _ := c.Conditions.MaxPurchase.In(c.Currency)
	contained, _ := c.Conditions.Contains.MinPurchase.In(c.Currency)
	numbers := []int64{most, c.Conditions.MaxQuantity, c.Conditions.Contains.Quantity, contained, t.Amount, t.MaxDiscount, t.MaxUnits, t.Units, t.BuyQuantity, t.GetQuantity, least, c.Conditions.MinQuantity}
	for _, tier := range t.Tiers {
		numbers = append(numbers, tier.From)
	}
	for _, n := range numbers {
		if n > 0 && n < math.MaxInt64 {
			w.numbers = append(w.numbers, n, n, n+1, max(n-1, 1))
		}
	}
	return w
}

// purchase returns a cart of one to four lines, and a customer who may use every coupon.
func (w words) purchase(random *rand.Rand) (pricing.Cart, eligibility.Question) {
	cart := pricing.Cart{Currency: pick(random, w.currencies)}
	if random.IntN(2) == 0 {
		return smallCart(random), eligibility.Question{At: noon, Customer: eligibility.Customer{ID: "ann"}}
	}
	for range 1 + random.IntN(4) {
		l := pricing.Line{
			Kind: pricing.LineKind(pick(random, w.kinds)), ItemID: pick(random, w.items),
			Quantity: min(pick(random, w.numbers), 1<<40), UnitPrice: pick(random, w.numbers),
		}
		if l.Kind == "book" && random.IntN(2) == 0 {
			l.Class = pricing.SubscriptionClass
		}
		if random.IntN(2) == 0 {
			l.Categories, _ = pricing.NewCategories(pick(random, w.categories), pick(random, w.categories))
		}
		if len(cart.Lines) > 0 && random.IntN(2) == 0 { // the same at another price
			same := cart.Lines[0]
			l.Kind, l.ItemID, l.Class, l.Categories = same.Kind, same.ItemID, same.Class, same.Categories
		}
		cart.Lines = append(cart.Lines, l)
	}
	return cart, eligibility.Question{At: noon, Customer: eligibility.Customer{ID: "ann"}}
}

// smallCart returns a cart with small numbers of units, most of which cost little.
func smallCart(random *rand.Rand) pricing.Cart {
	cart := pricing.Cart{Currency: pricing.EUR()}
	for range 1 + random.IntN(4) {
		cart.Lines = append(cart.Lines, pricing.Line{
			Kind: pick(random, []pricing.LineKind{pricing.Plan, pricing.Device, pricing.Accessory}), ItemID: "a",
			Quantity: 1 + random.Int64N(9), UnitPrice: pick(random, []int64{1, 1, 1, 2, 3, 5, 10}),
		})
	}
	return cart
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// Where a scope has no example outside two other scopes, no line is covered by the one alone.
func TestExamplesOutsideAnotherScope(t *testing.T) {
	t.Parallel()
	tries := testsize.Of(300, 10_000)
	rapid.Check(t, func(t *rapid.T) {
		s, other, third := tightScope(t), tightScope(t), tightScope(t)
		same := some(t, "the same scope")
		if same {
			other = s
		}
		covered := func(l *pricing.Line) bool { return other.Covers(l) || third.Covers(l) }
		if line, found := s.Example(other, third); found {
			require.True(t, !same && s.Covers(&line) && !covered(&line), "%+v", line)
			return
		}
		random, words := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), wordsOf(coupon.Coupon{})
		for range tries {
			cart, _ := words.purchase(random)
			for _, l := range cart.Lines {
				require.False(t, cart.Validate() == nil && s.Covers(&l) && !covered(&l), "%+v covers %+v, and %+v and %+v do not", s, l, other, third)
			}
		}
	})
}
