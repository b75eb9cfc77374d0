package scale

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

const redemptionColumns = `id, key, coupon_id, customer_id, state, origin, order_id, session_id, points, points_state,
	over_limit, deadline, created_at, updated_at, completed_at, released_at, customer_turn`

const orderColumns = `id, key, fingerprint, customer_id, state, coupon_id, reservation_id, discount_amount, session_id,
	session_url, deadline, created_at, updated_at, quote, coupon`

// use is one redemption.
type use struct {
	n               int
	coupon          int
	state, origin   string
	customer, order string
	session, points string
	flagged, turned bool
	created, ended  time.Time
	deadline        time.Time
	id, key         string
}

// generator draws the redemptions of a shop one after the other.
type generator struct {
	size      Size
	random    *rand.Rand
	kinds     []couponKind
	tallies   []tally
	customers int
	percent   priced
	amount    priced
	plain     priced
	snapshots [2]string // of a percentage, and of an amount
	lapsed    int
	refunds   int
}

func newGenerator(size Size) (*generator, error) {
	g := &generator{
		size: size, random: rand.New(rand.NewPCG(size.Seed, uint64(size.Coupons))),
		kinds: size.kinds(), tallies: make([]tally, size.Coupons), customers: size.Customers(),
	}
	for i, percentage := range []bool{true, false} {
		c, err := draft(percentage)
		if err != nil {
			return nil, err
		}
		cost, err := price(c.Discount)
		if err != nil {
			return nil, err
		}
		if percentage {
			g.percent = cost
		} else {
			g.amount = cost
		}
		snapshot, err := json.Marshal(c.Snapshot())
		if err != nil {
			return nil, err
		}
		g.snapshots[i] = string(snapshot)
	}
	var err error
	g.plain, err = price(pricing.Discount{})
	return g, err
}

// next draws redemption n.
func (g *generator) next(n int) use {
	coupon := g.size.draw(g.random)
	kind, t := g.kinds[coupon], &g.tallies[coupon]
	x := mix(g.size.Seed+3, uint64(n))
	u := use{
		n: n, coupon: coupon, turned: kind.turns(),
		id: fmt.Sprintf("rsv_%016x%08x", x, n), key: fmt.Sprintf("key-%016x", x),
		created: Now().Add(-history + time.Duration(n)*(history/time.Duration(g.size.Redemptions))),
	}
	u.customer = CustomerID(int(x>>8) & (1<<40 - 1) % g.customers)
	if kind.oncePerCustomer {
		u.customer = CustomerID(int((uint64(t.all())*stride + uint64(coupon)) % uint64(g.customers)))
	}
	u.ended = u.created.Add(10 * time.Minute)
	recent := n >= g.size.Redemptions-g.size.Redemptions/200
	switch p := g.random.IntN(1_000); {
	case recent && p < 500:
		g.reserve(&u, t)
	case p >= 920:
		u.state = "released"
		t.released++
	default:
		u.state = "completed"
		u.session = fmt.Sprintf("cs_%016x%08x", x, n)
		u.flagged = kind.maxUses && p == 7
		t.completed++
		if u.flagged {
			t.flagged++
		}
	}
	g.source(&u, kind)
	return u
}

// reserve keeps a place; the first ones have lapsed.
func (g *generator) reserve(u *use, t *tally) {
	u.state, u.ended = "reserved", time.Time{}
	u.deadline = Now().Add(24 * time.Hour)
	if g.lapsed < Lapsed {
		g.lapsed++
		u.deadline = Now().Add(-time.Hour)
	}
	t.reserved++
}

// source decides where the redemption comes from. Most payments were recorded
// without an order.
func (g *generator) source(u *use, kind couponKind) {
	switch {
	case kind.points:
		u.origin = "points"
		switch u.state {
		case "released":
			u.points = "refunded"
			if g.refunds < RefundsDue {
				g.refunds++
				u.points = "refund_due"
			}
		default:
			u.points = "debited"
		}
	case u.state == "completed" && g.random.IntN(100) < 90:
		u.origin, u.points, u.key = "payment", "none", u.id
	default:
		u.origin, u.points = "checkout", "none"
		u.order = "ord_" + u.id[4:]
		if u.state != "completed" && u.n%2 == 0 {
			u.session = "cs_" + u.id[4:]
		}
	}
}

// redemptionRow writes a redemption in the order of redemptionColumns.
func redemptionRow(w *copier, u use) {
	points := 0
	if u.origin == "points" {
		points = pointsRequired
	}
	completed, released, updated := time.Time{}, time.Time{}, u.created
	switch u.state {
	case "completed":
		completed, updated = u.ended, u.ended
	case "released":
		released, updated = u.ended, u.ended
	}
	w.texts(u.id, u.key, CouponID(u.coupon), u.customer, u.state, u.origin, u.order, u.session)
	w.integer(points)
	w.texts(u.points)
	w.flag(u.flagged)
	w.instant(u.deadline)
	w.instant(u.created)
	w.instant(updated)
	w.instant(completed)
	w.instant(released)
	w.maybe(u.turned, 1)
	w.end()
}

// orderRow writes the order of a redemption in the order of orderColumns.
func (g *generator) orderRow(w *copier, u use) {
	state, cost, snapshot := "open", g.amount, g.snapshots[1]
	switch u.state {
	case "completed":
		state = "paid"
	case "released":
		state = "cancelled"
	}
	if percentage(u.coupon) {
		cost, snapshot = g.percent, g.snapshots[0]
	}
	updated := u.created
	if !u.ended.IsZero() {
		updated = u.ended
	}
	url := ""
	if u.session != "" {
		url = "https://pay.example/" + u.session
	}
	w.texts(u.order, u.key, "fingerprint", u.customer, state, CouponID(u.coupon), u.id)
	w.integer(int(cost.discount))
	w.texts(u.session, url)
	w.instant(u.deadline)
	w.instant(u.created)
	w.instant(updated)
	w.texts(cost.quote, strings.NewReplacer(`"cpn_ID"`, `"`+CouponID(u.coupon)+`"`, `"CODE"`, `"`+Code(u.coupon)+`"`,
		`"NAME"`, `"`+g.size.name(u.coupon)+`"`).Replace(snapshot))
	w.end()
}

// plainRow writes open order n that has no coupon.
func (g *generator) plainRow(w *copier, n int) {
	w.texts(fmt.Sprintf("ord_plain%04d", n), fmt.Sprintf("key-plain%04d", n), "fingerprint", CustomerID(n), "open", "", "")
	w.integer(0)
	w.texts("", "")
	w.instant(Now().Add(-time.Hour))
	w.instant(Now().Add(-2 * time.Hour))
	w.instant(Now().Add(-2 * time.Hour))
	w.texts(g.plain.quote)
	w.null()
	w.end()
}
