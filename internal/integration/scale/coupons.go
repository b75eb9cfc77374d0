package scale

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

var (
	campaigns = [...]string{"SUMMER", "WINTER", "SPRING", "AUTUMN", "BIRTHDAY", "WELCOME", "FRIENDS", "LOYALTY"}
	words     = [...]string{
		"bright", "quiet", "golden", "early", "late", "family", "student", "partner", "annual", "weekend",
		"device", "plan", "accessory", "upgrade", "roaming", "delivery", "launch", "anniversary", "regional", "members",
	}
)

// couponKind is how a coupon is limited and given out.
type couponKind struct {
	maxUses, oncePerCustomer bool
	points                   bool
	addresses                int
}

// turns reports whether the uses of its customers are numbered; see migration 1.
func (k couponKind) turns() bool { return !k.maxUses && k.oncePerCustomer }

// tally is how often a coupon was used.
type tally struct{ completed, reserved, released, flagged int32 }

func (t tally) all() int { return int(t.completed + t.reserved + t.released) }

// mix turns numbers into one that looks random.
func mix(seed, n uint64) uint64 {
	x := seed ^ n*0x9e3779b97f4a7c15
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// kinds returns the kind of every coupon.
func (s Size) kinds() []couponKind {
	kinds := make([]couponKind, s.Coupons)
	for n := range kinds {
		x := mix(s.Seed, uint64(n))
		switch p := x % 100; {
		case p < 40:
			kinds[n] = couponKind{maxUses: true, oncePerCustomer: true}
		case p < 50:
			kinds[n] = couponKind{maxUses: true}
		case p < 70:
			kinds[n] = couponKind{}
		case p < 97:
			kinds[n] = couponKind{oncePerCustomer: true}
		case p < 99:
			kinds[n] = couponKind{oncePerCustomer: true, addresses: 1 + int(x>>32%5)}
		default:
			kinds[n] = couponKind{oncePerCustomer: true, points: true}
		}
	}
	kinds[s.ranked(HotLimited)] = couponKind{maxUses: true, oncePerCustomer: true}
	kinds[s.ranked(HotUnlimited)] = couponKind{}
	kinds[s.ranked(HotOnce)] = couponKind{oncePerCustomer: true}
	kinds[s.ranked(HotPoints)] = couponKind{oncePerCustomer: true, points: true}
	kinds[s.ranked(HotListed)] = couponKind{oncePerCustomer: true, addresses: s.Addresses()}
	return kinds
}

const pointsRequired = 500

func couponName(n int) string {
	name := strings.ToLower(campaigns[n%len(campaigns)])
	name = fmt.Sprintf("%s %s %s", name, words[mix(1, uint64(n))%uint64(len(words))], words[mix(2, uint64(n))%uint64(len(words))])
	return name
}

// names returns the name of coupon n; the rare ones are spread evenly.
func (s Size) name(n int) string {
	if every := s.Coupons / RareMatches; n%every == every/2 && n/every < RareMatches {
		return couponName(n) + " " + RareWord
	}
	return couponName(n)
}

func description(n int) string {
	var text strings.Builder
	for i := range 12 {
		text.WriteString(words[mix(uint64(i+3), uint64(n))%uint64(len(words))])
		text.WriteByte(' ')
	}
	return text.String() + "offer"
}

// percentage tells the discount of coupon n: 10 percent, or else 10.00.
func percentage(n int) bool { return n%3 != 0 }

// couponRow writes coupon n in the order of couponColumns.
func (s Size) couponRow(w *copier, n int, kind couponKind, t tally, hot bool) {
	code, name, about := Code(n), s.name(n), description(n)
	w.texts(CouponID(n), code, name, about)
	if percentage(n) {
		w.texts("PERCENTAGE")
		w.integer(10)
		w.null()
	} else {
		w.texts("FIXED_AMOUNT")
		w.null()
		w.integer(1000)
	}
	w.texts("EUR", "ALL")
	points := 0
	switch {
	case kind.points:
		points = pointsRequired
		w.texts("POINTS_REDEEMABLE")
	case kind.addresses > 0:
		w.texts("USER_SPECIFIC")
	default:
		w.texts("GENERAL")
	}
	w.integer(kind.addresses)
	w.integer(points)
	w.maybe(kind.maxUses, s.maxUses(n, t, hot))
	w.maybe(kind.oncePerCustomer, 1)
	w.texts(s.state(n, hot))
	w.texts(strings.ToLower(code + "\x01" + name + "\x01" + about))
	created := Now().Add(-history - 365*24*time.Hour + time.Duration(n)*(365*24*time.Hour/time.Duration(s.Coupons)))
	w.instant(created)
	w.instant(created)
	w.integer(1)
	w.end()
}

const couponColumns = `id, code, name, description, discount_type, percent_off, amount_off, currency, applies_to,
	distribution, allowed_emails, points_required, max_uses, max_uses_per_user, state, search_text,
	created_at, updated_at, revision`

// maxUses is the limit of coupon n: one in twenty is used up.
func (s Size) maxUses(n int, t tally, hot bool) int {
	taken, x := int(t.completed-t.flagged+t.reserved), mix(s.Seed+1, uint64(n))
	switch {
	case hot:
		return 1_000_000_000
	case x%20 == 0:
		return max(taken, 1)
	}
	return taken + 1 + int(x%1_000)
}

func (s Size) state(n int, hot bool) string {
	switch x := mix(s.Seed+2, uint64(n)) % 100; {
	case hot || x < 90:
		return "active"
	case x < 97:
		return "inactive"
	case x < 99:
		return "pending"
	}
	return "deleting"
}

// counterRows writes what coupon_counters has of coupon n, on up to four rows.
func counterRows(w *copier, n int, t tally) {
	completed, reserved := int(t.completed), int(t.reserved)
	if completed == 0 && reserved == 0 {
		return
	}
	stripes := 1
	if completed > 1_000 {
		stripes = 4
	}
	for stripe := range stripes {
		share := func(of int) int {
			if stripe == 0 {
				return of - of/stripes*(stripes-1)
			}
			return of / stripes
		}
		w.texts(CouponID(n))
		w.integer(share(completed))
		w.integer(share(reserved))
		w.end()
	}
}

// emailRows writes the allow-list of coupon n.
func emailRows(w *copier, n int, kind couponKind) {
	for i := range kind.addresses {
		w.texts(CouponID(n), Email(i))
		w.integer(i + 1)
		w.end()
	}
}

// priced is what the orders of a kind of coupon cost, as the store keeps it.
type priced struct {
	discount int64
	quote    string
}

// cart is what everybody buys.
func cart() pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 499_00},
		{ID: "2", Kind: pricing.Accessory, ItemID: "case", Quantity: 3, UnitPrice: 9_99},
		{ID: "3", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
	}}
}

func price(discount pricing.Discount) (priced, error) {
	q, err := pricing.Price(cart(), discount, nil)
	if err != nil {
		return priced{}, err
	}
	document, err := q.MarshalJSON()
	return priced{discount: q.Discount, quote: string(document)}, err
}

// draft is a coupon as coupon.New makes it, for the snapshots of orders.
func draft(percentage bool) (coupon.Coupon, error) {
	d := coupon.Draft{Code: "CODE", Name: "NAME", DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(10)}
	if percentage {
		d.DiscountType = pricing.Percentage
	}
	return coupon.New(d, coupon.Creation{ID: coupon.IDPrefix + "ID", At: Now()})
}
