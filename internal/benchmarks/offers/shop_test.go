package offers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

const catalogSize = 10_000

// shop makes coupons and carts whose items follow Zipf's law.
type shop struct {
	*rand.Rand
	items  *rand.Zipf
	prices [catalogSize]int64
	// widest is the greatest percentage of a wide coupon. That of a narrow one is 70.
	widest int64
	wide   int // in percent of the coupons
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newShop(seed uint64) *shop {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &shop{Rand: r, items: rand.NewZipf(r, 1.01, 1, catalogSize-1), widest: 40, wide: 10}
	for i := range s.prices {
		s.prices[i] = 199 + s.Int64N(10_000)
	}
	return s
}

func (s *shop) item() int { return int(s.items.Uint64()) }

// coupons returns active coupons of mixed scopes: 1 to 20 items, or wide.
func (s *shop) coupons(n int) []*coupon.Coupon {
	all, list := make([]coupon.Coupon, n), make([]*coupon.Coupon, n)
	names := make([]string, catalogSize)
	for i := range names {
		names[i] = itemID(i)
	}
	for i := range all {
		c := &all[i]
		list[i] = c
		c.ID, c.State = coupon.IDPrefix+strconv.FormatUint(s.Uint64(), 36), coupon.Active
		c.Name, c.Revision, c.RefundPolicy = "Offer", 1, pricing.Keep
		c.Currency, c.Distribution = pricing.EUR(), coupon.General
		c.CreatedAt, c.UpdatedAt = noon, noon
		wide := s.IntN(100) < s.wide
		if wide {
			c.Scope = s.wideScope()
		} else {
			ids := make([]string, 1+s.IntN(20))
			for j := range ids {
				ids[j] = names[s.item()]
			}
			c.Scope = coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems(ids...)}
		}
		c.Discount = s.discount(wide)
		c.Group = "group-" + strconv.Itoa(s.IntN(20))
		if s.IntN(4) == 0 {
			c.Group = ""
		}
		s.conditions(c)
	}
	return list
}

func (s *shop) wideScope() coupon.Scope {
	switch s.IntN(4) {
	case 0:
		return coupon.Scope{AppliesTo: coupon.Product}
	case 1:
		return coupon.Scope{AppliesTo: coupon.All, Categories: coupon.NewItems(category(s.IntN(50)), category(s.IntN(50)))}
	}
	return coupon.Scope{AppliesTo: coupon.All}
}

// conditions gives some coupons conditions that are usual.
func (s *shop) conditions(c *coupon.Coupon) {
	if s.IntN(3) == 0 {
		c.Conditions.MinPurchase = coupon.NewMoneySet(pricing.NewMoney(1000*(1+s.Int64N(300)), pricing.EUR()))
	}
	if s.IntN(10) == 0 {
		c.Conditions.MinQuantity = 1 + s.Int64N(5)
	}
	if s.IntN(5) == 0 {
		c.Conditions.Countries = coupon.NewItems([]string{"DE", "AT", "FR", "IT", "ES", "NL"}[s.IntN(6)])
	}
	c.StartsAt = noon.AddDate(0, 0, s.IntN(40)-36)
	c.ExpiresAt = c.StartsAt.AddDate(0, 0, 5+s.IntN(60))
}

func (s *shop) discount(wide bool) pricing.Discount {
	most := int64(70)
	if wide {
		most = s.widest
	}
	percent, err := pricing.ParsePercent(strconv.FormatInt(1+s.Int64N(most), 10))
	if err != nil {
		panic(err)
	}
	t := pricing.DiscountTerms{Currency: pricing.EUR(), Percent: percent}
	kind := s.IntN(20)
	if wide && kind >= 14 && kind < 17 { // not a price for everything in the shop
		kind = 0
	}
	switch {
	case kind < 8:
		t.Type = pricing.Percentage
		if kind < 3 {
			t.MaxDiscount = 500 * (1 + s.Int64N(40))
		}
		if kind < 5 {
			t.Lane = pricing.ItemLane
		}
	case kind < 14:
		t = pricing.DiscountTerms{Type: pricing.FixedAmount, Currency: pricing.EUR(), Amount: 50 * (1 + s.Int64N(200))}
	case kind < 16:
		t = pricing.DiscountTerms{Type: pricing.FixedAmountPerUnit, Currency: pricing.EUR(), Amount: 10 * (1 + s.Int64N(100))}
	case kind < 17:
		t = pricing.DiscountTerms{Type: pricing.FixedUnitPrice, Currency: pricing.EUR(), Amount: 99 + s.Int64N(9_000), MaxUnits: s.Int64N(3)}
	case kind < 18:
		t.Type, t.Units = pricing.CheapestUnits, 1+s.Int64N(3)
	case kind < 19:
		t.Type, t.BuyQuantity, t.GetQuantity = pricing.BuyXGetY, 1+s.Int64N(3), 1
	default:
		t.Type, t.TierBasis = pricing.Tiered, pricing.ByAmount
		t.Tiers = []pricing.Tier{{From: 5_000, Percent: percent}, {From: 100_000, Amount: 20_000}}
		t.Percent = pricing.Percent{}
	}
	d, err := pricing.NewDiscount(t)
	if err != nil {
		panic(err)
	}
	return d
}

// cart returns a cart of lines with different items.
func (s *shop) cart(lines int) pricing.Cart {
	c := pricing.Cart{Currency: pricing.EUR()}
	used := map[int]bool{}
	for len(c.Lines) < lines {
		item := s.item()
		if used[item] {
			continue
		}
		used[item] = true
		l := pricing.Line{
			ID: strconv.Itoa(len(c.Lines)), Kind: pricing.Device, ItemID: itemID(item), Quantity: 1 + s.Int64N(3), UnitPrice: s.prices[item],
		}
		l.Categories, _ = pricing.NewCategories(category(item % 50))
		c.Lines = append(c.Lines, l)
	}
	return c
}

// mixedCart returns a cart of 1 to 50 lines of 1 to 5 units. The logarithms of the prices, from 1.99 to 101.99, are uniform.
func (s *shop) mixedCart() pricing.Cart {
	c := s.cart(1 + s.IntN(50))
	for i := range c.Lines {
		c.Lines[i].Quantity, c.Lines[i].UnitPrice = 1+s.Int64N(5), int64(199*math.Pow(10_199.0/199, s.Float64()))
	}
	return c
}

func (s *shop) question() eligibility.Question {
	return eligibility.Question{
		At: noon, Customer: eligibility.Customer{ID: "u1", Email: "ann@example.org"}, Facts: eligibility.Facts{Country: "DE", Channel: "web"},
	}
}

func itemID(i int) string { return fmt.Sprintf("item-%05d", i) }

func category(i int) string { return fmt.Sprintf("category-%02d", i) }
