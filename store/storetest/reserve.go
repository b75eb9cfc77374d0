package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

func reserveClauses() []clause {
	return []clause{
		{"an order comes back", "Reserve stores an order with its uses, and what it returns is what every read returns", orderComesBack},
		{"an order without coupons", "an order has any number of uses, also none, and claims its customer's order counter", func(p *probe) {
			r := p.reserve(p.checkout("ann"))
			p.count(eligibility.CustomerOrders("ann"), 1, 0)
			p.happen(r.Order, redemption.Cancelled)
			p.count(eligibility.CustomerOrders("ann"), 0, 0)
		}},
		{"all or nothing", "Reserve takes all of its claims or none: what does not fit leaves no trace in any counter, record or journal", allOrNothing},
		{"coupons as priced", "the coupon's state and revision in the store count: a coupon is gone (coupon.ErrNotFound), is off (coupon.ErrInactive), or has another revision (ErrStaleRevision)", couponsAsPriced},
		{"taken IDs", "ErrConflict: an ID is taken", takenIDs},
		{"a payment came first", "an order that is known from its payment alone gets the quote, the uses and the key of a reservation with its ID, within the limits, and stays paid", adoptsAPayment},
		{"a payer came first", "the order and the uses of such a reservation claim the identities that the payment has told of", adoptsThePayer},
	}
}

func orderComesBack(p *probe) {
	a, b := p.coupon(limits(5, 2)), p.coupon(forPoints)
	held := p.exchanged("ann", b)
	r := taking(p.checkout("ann", b, a), held) // in another order than their IDs
	r.Uses[1].Claims = append(r.Uses[1].Claims, claim(eligibility.SharedCounter("budget", "é/1"), 1_000_000_000_000, 2_000_000_000_000))
	want := store.Reserved{Order: r.Order.Clone(), Uses: []redemption.Use{r.Uses[1].Clone(), r.Uses[0].Clone()}}
	want.Order.Version, want.Order.UpdatedAt = 1, want.Order.CreatedAt
	for i := range want.Uses {
		want.Uses[i].Version, want.Uses[i].UpdatedAt = 1, want.Uses[i].CreatedAt
	}
	same(p, p.reserve(r), want, "what Reserve returns")
	stored := store.Settled{Order: want.Order, Uses: want.Uses}
	for _, key := range []store.OrderKey{{ID: r.Order.ID}, {CustomerID: "ann", Key: r.Order.Key}} {
		same(p, answer(p, store.Store.Order, key), stored, "the order of %+v", key)
	}
	attached := p.happen(r.Order, redemption.SessionAttached)
	same(p, answer(p, store.Store.Order, store.OrderKey{SessionID: attached.Order.SessionID}), attached, "the order by session")
	for _, key := range []store.OrderKey{{}, {ID: "ord_none"}, {SessionID: "cs_none"}, {CustomerID: "bob", Key: r.Order.Key}, {CustomerID: "ann", Key: "none"}, {CustomerID: "ann"}} {
		fails(p, store.Store.Order, key, store.ErrNotFound, "of an unknown order")
	}
}

// allOrNothing makes one large order for each of its claims. In each order, another claim does not fit.
func allOrNothing(p *probe) {
	coupons := []coupon.Coupon{p.coupon(limits(9, 9)), p.coupon(), p.coupon(limits(0, 3))}
	full := eligibility.SharedCounter("full")
	filler := p.checkout("bob")
	filler.Order.Claims = append(filler.Order.Claims, claim(full, 5, 5))
	p.reserve(filler)
	request := func() store.Reservation {
		r := p.checkout("ann", coupons...)
		for i := range r.Uses {
			r.Uses[i].Claims = append(r.Uses[i].Claims, claim(eligibility.SharedCounter("campaign"), 1, 9), claim(eligibility.SharedCounter("counted"), 1, 0))
		}
		return r
	}
	exceeds := func(r store.Reservation, want ...eligibility.Claim) {
		p.Helper()
		err := failure(p, store.Store.Reserve, r, store.ErrLimit, "of claims that do not fit")
		var limit *store.LimitError
		if !errors.As(err, &limit) {
			p.stop("the error is no *LimitError: %v", err)
		}
		same(p, limit.Exceeded, want, "the claims that did not fit: the order's, then those of uses")
	}
	extra := claim(full, 1, 5)
	ofOrder := request()
	ofOrder.Order.Claims = append(ofOrder.Order.Claims, extra)
	exceeds(ofOrder, extra)
	for i := range coupons {
		r := request()
		r.Uses[i].Claims = append(r.Uses[i].Claims, extra)
		exceeds(r, extra)
	}
	ofOrder = claiming(ofOrder, claim(full, 2, 6))
	ofOrder.Uses[2].Claims = append(ofOrder.Uses[2].Claims, claim(full, 1, 0))
	exceeds(ofOrder, extra, claim(full, 2, 6))
	p.reserve(request())
	p.count(eligibility.SharedCounter("campaign"), 3, 0)
	p.count(eligibility.SharedCounter("counted"), 3, 0)
}

func couponsAsPriced(p *probe) {
	good := p.coupon()
	bad := p.unusable()
	changed := bad["stale"].c
	for what, refusal := range bad {
		err := failure(p, store.Store.Reserve, p.checkout("ann", good, refusal.c), refusal.want, "of a coupon that is %s", what)
		var rejection *coupon.Rejection
		if errors.As(err, &rejection) && rejection.CouponID != refusal.c.ID {
			p.stop("the rejection names %q instead of %q", rejection.CouponID, refusal.c.ID)
		}
	}
	p.refused(p.exchange("ann", changed), store.ErrStaleRevision, "of points for a stale coupon")
	limited := p.checkout("ann", good)
	limited.Uses[0].Claims[1].Limit = 10
	limited.Coupons[0].Revision = 0
	p.refused(limited, store.ErrStaleRevision, "with a limit that the stored terms do not have")
	anyRevision := p.checkout("ann", changed)
	anyRevision.Coupons[0].Revision = 0
	p.reserve(anyRevision)
	p.reserve(p.checkout("bob", good, p.lookedUp(changed.ID)))
}

// refusal is a coupon that cannot be used, with the expected error.
type refusal struct {
	c    coupon.Coupon
	want error
}

// unusable returns coupons that cannot be used, by the reason.
func (p *probe) unusable() map[string]refusal {
	p.Helper()
	full, stale, deleted := p.coupon(limits(1, 0)), p.coupon(), p.coupon()
	p.reserve(p.checkout("somebody", full))
	p.edit(stale, described("new terms"))
	p.save(store.DeleteCoupon, deleted)
	all := map[string]refusal{
		"full": {full, store.ErrLimit}, "stale": {stale, store.ErrStaleRevision}, "unknown": {p.draft(), coupon.ErrNotFound}, "deleted": {deleted, coupon.ErrNotFound},
	}
	for _, state := range []coupon.State{coupon.Pending, coupon.Inactive, coupon.Deleting} {
		all[state.String()] = refusal{p.coupon(inState(state)), coupon.ErrInactive}
	}
	return all
}

func adoptsAPayment(p *probe) {
	c := p.coupon(limits(1, 0))
	paid := func(customer, session string, uses ...coupon.Coupon) redemption.Order {
		return p.settle(p.unknown(customer, session, uses...)).Order
	}
	known := paid("", "cs_first")
	r := called(p.checkout("ann", c), known.ID)
	want := store.Reserved{}
	use := r.Uses[0].Clone()
	use.Version = 1
	want.Order, want.Uses, _ = r.Order.Clone().Adopt(known, false, use)
	same(p, p.reserve(r), want, "what Reserve returns of an order that was paid before")
	stored := store.Settled{Order: want.Order, Uses: want.Uses}
	for _, key := range []store.OrderKey{{ID: known.ID}, {CustomerID: "ann", Key: r.Order.Key}, {SessionID: "cs_first"}} {
		same(p, answer(p, store.Store.Order, key), stored, "the order of %+v", key)
	}
	p.uses(c, 0, 1)
	p.count(eligibility.CustomerOrders("ann"), 0, 1)
	same(p, p.summaries(known.ID), []string{"order_paid unknown_payment paid 1", "order_paid adopted paid 2"}, "what the journal tells")
	page := answer(p, store.Store.ListOrders, store.OrderList{CustomerID: "ann", PageSize: 9})
	same(p, page.Items, []store.Settled{stored}, "the customer's orders")
	p.unchanged("the same reservation again", func() {
		want.Replayed = true
		same(p, answer(p, store.Store.Reserve, r), want, "what the second reservation returns")
	})
	full := called(p.checkout("ann", c), paid("", "cs_full").ID)
	p.unchanged("a reservation that exceeds a limit", func() { fails(p, store.Store.Reserve, full, store.ErrLimit, "of a paid order") })
	mine := called(p.checkout("ann"), paid("ann", "cs_mine").ID)
	same(p, p.reserve(mine).Order.State, redemption.OrderPaid, "a paid order of the same customer")
	first := called(p.checkout("cleo"), paid("cleo", "cs_only").ID)
	first.Order.Claims[0].Limit = 1
	same(p, p.reserve(first).Order.State, redemption.OrderPaid, "a paid order whose payment has made its claim up to the limit")
	p.refused(called(p.checkout("ann"), paid("bob", "cs_bob").ID), store.ErrConflict, "of another customer's paid order")
	p.refused(called(p.checkout("ann"), paid("ann", "cs_uses", p.coupon()).ID), store.ErrConflict, "of a paid order that has uses")
}

func adoptsThePayer(p *probe) {
	c, card := p.coupon(limits(0, 2)), eligibility.AliasIdentity("card")
	s := p.unknown("", "cs_payer")
	s.Unknown.Order.Claims = []eligibility.Claim{claim(eligibility.CustomerOrders(card), 1, 0)}
	got := p.reserve(called(p.checkout("ann", c), p.settle(s).Order.ID))
	same(p, p.order(got.Order.ID), store.Settled{Order: got.Order, Uses: got.Uses}, "the order that is stored")
	same(p, []int{len(got.Order.Claims), len(got.Uses[0].Claims)}, []int{2, 3}, "the claims of the order and of its use")
	for _, identity := range []string{"ann", card} {
		p.count(eligibility.CustomerOrders(identity), 0, 1)
		p.count(eligibility.CustomerUses(c.ID, identity), 0, 1)
	}
}

// called returns the reservation with the given order ID.
func called(r store.Reservation, id string) store.Reservation {
	r.Order.ID = id
	for i := range r.Uses {
		r.Uses[i].OrderID = id
	}
	return r
}

func takenIDs(p *probe) {
	c, points := p.coupon(), p.coupon(forPoints)
	first := p.reserve(p.checkout("ann", c))
	held := p.exchanged("ann", points)
	sameOrder := p.checkout("bob", c)
	sameOrder.Order.ID, sameOrder.Uses[0].OrderID = first.Order.ID, first.Order.ID
	p.refused(sameOrder, store.ErrConflict, "with an order ID that is taken")
	for _, id := range []string{first.Uses[0].ID, held.ID} {
		sameUse := p.checkout("bob", c)
		sameUse.Uses[0].ID = id
		p.refused(sameUse, store.ErrConflict, "with a use ID that is taken")
		again := p.exchange("bob", points)
		again.Uses[0].ID, again.Uses[0].ExchangeID = id, id
		p.refused(again, store.ErrConflict, "of points with a use ID that is taken")
	}
	twice := p.checkout("bob", c, points)
	twice.Uses[1].ID = twice.Uses[0].ID
	p.refused(twice, validation.ErrInvalid, "of two uses with one ID")
}

func limitClauses() []clause {
	all := []clause{
		{"one counter, two uses", "claims of one order on one counter are added up, by whichever record they are made", addedUp},
		{"a limit is inclusive", "a limit is the most that the counter may hold, inclusive; 0 is no limit", inclusive},
		{"the largest order", "an order has up to 32 uses with 64 claims each", largestOrder},
		{"counters by bytes", "counter keys are compared byte by byte", func(p *probe) {
			keys := []string{"a", "A", "a ", "á", "a\u0301", "ａ", "ß", "ss", "shared/a", "shared/A", "customer/a", "1", "01", "%", "_"}
			for _, key := range keys {
				r := p.checkout("ann")
				r.Order.Claims = []eligibility.Claim{claim(key, 1, 1)}
				p.reserve(r)
			}
			one := eligibility.Count{Reserved: 1}
			same(p, answer(p, store.Store.Counts, append(keys, "nobody's", keys[0])), append(slices.Repeat([]eligibility.Count{one}, len(keys)), eligibility.Count{}, one), "the counts")
			same(p, answer(p, store.Store.Counts, nil), nil, "the counts of nothing")
		}},
	}
	for _, kind := range []struct {
		name   string
		limit  int64
		amount int64
		key    func(customer string) string
	}{
		{"coupon", 3, 1, func(string) string { return eligibility.CouponUses("cpn_elsewhere") }},
		{"customer", 1, 1, func(customer string) string { return eligibility.CustomerUses("cpn_elsewhere", customer) }},
		{"customer and day", 2, 1, func(customer string) string {
			return eligibility.CustomerCounter("day", "cpn", "America/New_York", "2026-11-20", customer)
		}},
		{"code", 2, 1, func(string) string { return eligibility.SharedCounter("code", "ÄB") }},
		{"campaign", 4, 1, func(string) string { return eligibility.SharedCounter("campaign", "x") }},
		{"budget", 752, 251, func(string) string { return eligibility.SharedCounter("budget", "EUR") }},
	} {
		all = append(all, clause{
			"limit of the kind " + kind.name, "a limit of any kind is a claim on a counter: taken while it fits, counted as completed once paid, given back when the order is cancelled",
			func(p *probe) { p.limitHolds(kind.limit, kind.amount, kind.key) },
		})
	}
	return all
}

// limitHolds fills a counter, releases its uses, and fills it again.
func (p *probe) limitHolds(limit, amount int64, key func(customer string) string) {
	c := p.coupon()
	of := func(customer string) store.Reservation {
		return claiming(p.checkout(customer, c), claim(key(customer), amount, limit))
	}
	request := func() store.Reservation { return of("ann") }
	fits := limit / amount
	var orders []redemption.Order
	for range fits {
		orders = append(orders, p.reserve(request()).Order)
	}
	p.count(key("ann"), fits*amount, 0)
	p.refused(request(), store.ErrLimit, "beyond the limit")
	p.happen(orders[0], redemption.Paid)
	p.count(key("ann"), (fits-1)*amount, amount)
	p.refused(request(), store.ErrLimit, "beyond the limit, with a paid order")
	if fits > 1 {
		p.happen(orders[1], redemption.Cancelled)
		p.count(key("ann"), (fits-2)*amount, amount)
		p.reserve(request())
		p.refused(request(), store.ErrLimit, "beyond the limit, after one was given back")
	}
	if key("ann") != key("bob") {
		p.reserve(of("bob"))
		return
	}
	p.refused(of("bob"), store.ErrLimit, "beyond the limit, by another customer")
}

func addedUp(p *probe) {
	a, b := p.coupon(), p.coupon()
	budget := eligibility.SharedCounter("budget")
	request := func(first, second, order int64) store.Reservation {
		r := claiming(p.checkout("ann", a, b), claim(budget, first, 100))
		r.Uses[1].Claims = append(r.Uses[1].Claims, claim(budget, second, 100))
		r.Order.Claims = append(r.Order.Claims, claim(budget, order, 100))
		return r
	}
	p.refused(request(50, 50, 1), store.ErrLimit, "of claims whose sum is beyond the limit")
	r := p.reserve(request(40, 30, 30))
	p.count(budget, 100, 0)
	p.happen(r.Order, redemption.Paid)
	p.count(budget, 0, 100)
	x := eligibility.SharedCounter("x")
	twice := claiming(p.checkout("ann", a), claim(x, 2, 3), claim(x, 2, 3))
	p.refused(twice, store.ErrLimit, "of two claims of one use whose sum is beyond the limit")
	twice.Uses[0].Claims[3].Amount = 1
	p.reserve(twice)
	p.count(x, 3, 0)
}

func inclusive(p *probe) {
	for _, bound := range []struct {
		amount, limit int64
		fits          bool
	}{{1, 1, true}, {2, 1, false}, {7, 7, true}, {8, 7, false}, {eligibility.MaxAmount, eligibility.MaxAmount, true}, {eligibility.MaxAmount, eligibility.MaxAmount - 1, false}, {eligibility.MaxAmount, 0, true}, {1, 1<<63 - 1, true}} {
		r := p.checkout("ann")
		key := eligibility.SharedCounter("bound", fmt.Sprint(bound.amount), fmt.Sprint(bound.limit))
		r.Order.Claims = append(r.Order.Claims, claim(key, bound.amount, bound.limit))
		if !bound.fits {
			p.refused(r, store.ErrLimit, "of %d with the limit %d", bound.amount, bound.limit)
			p.count(key, 0, 0)
			continue
		}
		p.reserve(r)
		p.count(key, bound.amount, 0)
	}
}

func largestOrder(p *probe) {
	coupons := make([]coupon.Coupon, redemption.MaxUses)
	for i := range coupons {
		coupons[i] = p.coupon()
	}
	r := p.checkout("ann", coupons...)
	for i := range r.Uses {
		for len(r.Uses[i].Claims) < redemption.MaxClaims {
			n := len(r.Uses[i].Claims)
			r.Uses[i].Claims = append(r.Uses[i].Claims, claim(eligibility.SharedCounter("n", fmt.Sprint(i*n%997)), eligibility.MaxAmount, 0))
		}
	}
	stored := p.reserve(r)
	same(p, p.order(r.Order.ID).Uses, stored.Uses, "the uses of the largest order")
	p.happen(r.Order, redemption.Paid)
	same(p, len(p.order(r.Order.ID).Uses), redemption.MaxUses, "the number of uses of the largest order")
}

func replayClauses() []clause {
	return []clause{
		{"a repeated key", "a key that the customer used before returns the first result, Replayed, whatever has become of it", repeatedKey},
		{"a key of another request", "a key with another fingerprint, or of another coupon, is ErrKeyReused", keyOfAnotherRequest},
		{"keys of customers", "a key is unique within the customer, and is compared byte by byte", func(p *probe) {
			c := p.coupon()
			for _, names := range [][2]string{{"ann", "k"}, {"bob", "k"}, {"ann", "K"}, {"ann", "k "}, {"Ann", "k"}, {"ann ", "k"}, {"an", "nk"}} {
				r := p.checkout(names[0], c)
				r.Order.Key = names[1]
				p.reserve(r)
				points := p.exchange(names[0], p.coupon(forPoints))
				points.Uses[0].Key = names[1] // exchanges and orders have separate keys
				p.reserve(points)
			}
		}},
		{"replay comes first", "a reused key is answered before the state of coupons, limits and IDs is looked at", func(p *probe) {
			c := p.coupon(limits(1, 1))
			r := p.checkout("ann", c)
			p.reserve(r)
			p.replays(r, "of a sold-out coupon")
			p.edit(c, inState(coupon.Inactive))
			p.replays(r, "of a coupon that is off")
			now := p.look(store.LookUp{Names: store.ByID(c.ID)})
			p.save(store.DeleteCoupon, now.Coupon)
			p.replays(r, "of a deleted coupon")
		}},
	}
}

func repeatedKey(p *probe) {
	c := p.coupon()
	for _, kinds := range histories {
		r := p.checkout("ann", c)
		p.placed(r, kinds...)
		p.replays(r, fmt.Sprintf("after %v", kinds))
	}
	r := p.checkout("ann", c)
	p.reserve(r)
	successor := p.retry(r.Order, c)
	p.reserve(successor)
	p.replays(r, "after it was handed over")
	p.replays(successor, "of the order that took over")
}

// replays repeats a request with new IDs, as a caller does after a lost answer.
func (p *probe) replays(r store.Reservation, when string) {
	p.Helper()
	p.unchanged("a replay "+when, func() {
		want := p.order(r.Order.ID)
		for _, request := range []store.Reservation{p.renamed(r), r} {
			same(p, answer(p, store.Store.Reserve, request), store.Reserved{Order: want.Order, Uses: want.Uses, Replayed: true}, "the replay %s", when)
		}
	})
}

// renamed returns the request with new IDs.
func (p *probe) renamed(r store.Reservation) store.Reservation {
	r = r.Normalize()
	if !r.Order.IsZero() {
		r.Order.ID = fmt.Sprintf("ord_%06d", p.next())
	}
	for i := range r.Uses {
		r.Uses[i].ID, r.Uses[i].OrderID = fmt.Sprintf("use_%06d", p.next()), r.Order.ID
	}
	return r
}

func keyOfAnotherRequest(p *probe) {
	c, points, other := p.coupon(), p.coupon(forPoints), p.coupon(forPoints)
	for _, kinds := range [][]redemption.EventKind{{}, {redemption.Cancelled}, {redemption.Paid}} {
		r := p.checkout("ann", c)
		p.placed(r, kinds...)
		changed := p.checkout("ann", c)
		changed.Order.Key, changed.Order.Fingerprint = r.Order.Key, "another cart"
		p.refused(changed, store.ErrKeyReused, "with a key of another fingerprint, after %v", kinds)
		p.refused(changed, store.ErrConflict, "with a key of another fingerprint, after %v", kinds)
	}
	first := p.exchange("ann", points)
	p.reserve(first)
	second := p.exchange("ann", other)
	second.Uses[0].Key = first.Uses[0].Key
	p.refused(second, store.ErrKeyReused, "of points with a key of another coupon")
}
