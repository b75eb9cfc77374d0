package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// Agree plays random histories on a new store and on a reference, call by call. It compares
// every answer, and in the end all that is stored and the journal of every record. Then it
// runs [Check]. A history that fails is made shorter by package rapid, whose flags tell how
// many histories there are.
//
// Answers are equal if their values are, or the kinds of their errors and the reasons of
// their rejections.
func Agree(t *testing.T, newStore, newReference func(t *testing.T) store.Store) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(t, rt, newStore(t), newReference(t))
		defer h.close()
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {}, "reserve": h.reserve, "hand over": h.handOver, "exchange": h.exchange, "take points": h.takePoints,
			"repeat": h.repeat, "event": h.event, "event again": h.event, "give up": h.giveUp, "use": h.useEvent, "unknown": h.unknownPayment, "refund": h.refund,
			"edit": h.edit, "coupon": h.createOrDelete, "codes": h.addCodes, "code": h.changeCode, "batch": h.changeBatch, "by a code": h.reserveByCode, "attempt": h.attempt, "read": h.read,
		})
		h.compareEverything()
	})
}

// history is a random sequence of calls. Each call is made on both stores.
type history struct {
	*probe // builds requests; its store is the reference
	rt     *rapid.T
	tested store.Store
	asked  []string

	requests []store.Reservation
	orders   []string
	uses     []string
	sessions []string
	coupons  []coupon.Coupon // in the state that was read last
	codes    []coupon.IssuedCode
}

func newHistory(t *testing.T, rt *rapid.T, tested, reference store.Store) *history {
	t.Helper()
	h := &history{probe: &probe{T: t, s: reference, says: "two stores answer alike"}, rt: rt, tested: tested}
	for _, change := range [][]terms{{limits(3, 2)}, {limits(0, 0)}, {limits(2, 1), forPoints}, {inState(coupon.Pending)}, {h.forAddresses("ann@shop.example", "bob@shop.example")}} {
		h.create(h.draft(change...))
	}
	return h
}

func (h *history) close() {
	_ = h.s.Close()
	_ = h.tested.Close()
}

// compare makes a call on both stores and returns the answer.
func compare[A any](h *history, what string, do func(s store.Store) (A, error)) (A, error) {
	h.asked = append(h.asked, what)
	want, wantErr := do(h.s)
	got, gotErr := do(h.tested)
	if diff := cmp.Diff(kinds(wantErr), kinds(gotErr)); diff != "" {
		h.rt.Fatalf("%s\nthe errors are of other kinds (-reference +store):\n%s\nreference: %v\nstore: %v\nafter\n%s", what, diff, wantErr, gotErr, h.lastCalls())
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); wantErr == nil && diff != "" {
		h.rt.Fatalf("%s\nthe answers differ (-reference +store):\n%s\nafter\n%s", what, diff, h.lastCalls())
	}
	return want, wantErr
}

func (h *history) lastCalls() string {
	const last = 40
	return strings.Join(h.asked[max(0, len(h.asked)-last):], "\n")
}

// kinds returns the contract's names of an error. For an error without a name it returns the text. Two
// stores never have the same text.
func kinds(err error) []string {
	if err == nil {
		return nil
	}
	var all []string
	for _, kind := range []error{
		store.ErrNotFound, store.ErrConflict, store.ErrStaleRevision, store.ErrSuperseded, store.ErrKeyReused, store.ErrLimit, store.ErrClosed,
		coupon.ErrNotFound, coupon.ErrInactive, coupon.ErrCodeTaken, validation.ErrInvalid, redemption.ErrIllegal, redemption.ErrOtherSession, redemption.ErrNotLapsed,
	} {
		if errors.Is(err, kind) {
			all = append(all, kind.Error())
		}
	}
	if rejection, ok := errors.AsType[*coupon.Rejection](err); ok {
		all = append(all, "of "+rejection.CouponID)
		for _, reason := range rejection.Reasons {
			all = append(all, fmt.Sprint(reason.Code))
		}
	}
	if taken, ok := errors.AsType[*coupon.TakenError](err); ok {
		all = append(all, fmt.Sprint(taken.Taken))
	}
	if limit, ok := errors.AsType[*store.LimitError](err); ok {
		for _, c := range limit.Exceeded {
			all = append(all, fmt.Sprint(c))
		}
	}
	if all == nil {
		return []string{"failure: " + err.Error()}
	}
	return all
}

var customers = []string{"ann", "bob", "Ann"}

func (h *history) customer(t *rapid.T) string {
	return rapid.SampledFrom(customers).Draw(t, "customer")
}

// anyOf draws one of the values, or returns other if there are none.
func anyOf[V any](t *rapid.T, values []V, other V, what string) V {
	if len(values) == 0 {
		return other
	}
	return values[rapid.IntRange(0, len(values)-1).Draw(t, what)]
}

// someCoupons draws up to three coupons, and sometimes an earlier revision of one.
func (h *history) someCoupons(t *rapid.T) []coupon.Coupon {
	var some []coupon.Coupon
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(h.coupons)-1), 0, 3, rapid.ID[int]).Draw(t, "coupons") {
		c := h.coupons[i]
		switch rapid.IntRange(0, 9).Draw(t, "revision") {
		case 0:
			c.Revision++
		case 1:
			c.Revision = 0
		}
		some = append(some, c)
	}
	return some
}

// spiced returns the reservation with more claims, on counters that several coupons share.
func (h *history) spiced(t *rapid.T, r store.Reservation) store.Reservation {
	for i := range r.Uses {
		if rapid.Bool().Draw(t, "campaign") {
			r.Uses[i].Claims = append(r.Uses[i].Claims,
				claim(eligibility.SharedCounter("campaign"), 1, rapid.Int64Range(0, 4).Draw(t, "limit")),
				claim(eligibility.SharedCounter("budget"), rapid.Int64Range(1, 60).Draw(t, "amount"), 100))
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "first order") == 0 {
		r.Order.Claims[0].Limit = 1
	}
	return r
}

func (h *history) ask(r store.Reservation, what string) {
	reserved, err := compare(h, fmt.Sprintf("Reserve (%s) %s", what, brief(r)), func(s store.Store) (store.Reserved, error) {
		return s.Reserve(h.Context(), r.Normalize())
	})
	if err != nil {
		return
	}
	h.requests = append(h.requests, r)
	if !reserved.Replayed && !reserved.Order.IsZero() {
		h.orders = append(h.orders, reserved.Order.ID)
	}
	for _, u := range reserved.Uses {
		if !slices.Contains(h.uses, u.ID) {
			h.uses = append(h.uses, u.ID)
		}
	}
}

func brief(r store.Reservation) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s of %s, key %q, replaces %q, claims %v", r.Order.ID, r.Order.CustomerID, r.Order.Key, r.Order.Replaces, r.Order.Claims)
	for _, u := range r.Uses {
		fmt.Fprintf(&text, "; %s of %s exchange %q %v", u.ID, u.CouponID, u.ExchangeID, u.Claims)
	}
	return text.String()
}

func (h *history) reserve(t *rapid.T) {
	r := h.spiced(t, h.checkout(h.customer(t), h.someCoupons(t)...))
	if rapid.IntRange(0, 4).Draw(t, "the ID of another order") == 0 { // perhaps the ID of an order that is known only from its payment
		r = called(r, anyOf(t, h.orders, "ord_none", "order"))
	}
	h.ask(r, "new")
}

func (h *history) handOver(t *rapid.T) {
	old := redemption.Order{ID: anyOf(t, h.orders, "ord_none", "order"), CustomerID: h.customer(t)}
	if found, err := h.s.Order(h.Context(), store.OrderKey{ID: old.ID}); err == nil && rapid.IntRange(0, 9).Draw(t, "mine") > 0 {
		old = found.Order
	}
	r := h.spiced(t, h.retry(old, h.someCoupons(t)...))
	if u, held := h.debited(t); held && rapid.Bool().Draw(t, "points") {
		r = taking(r, u)
	}
	h.ask(r, "hand-over")
}

func (h *history) exchange(t *rapid.T) {
	h.ask(h.probe.exchange(h.customer(t), anyOf(t, h.coupons, coupon.Coupon{}, "coupon")), "points")
}

// debited draws a use. Its exchange may be free or already taken.
func (h *history) debited(t *rapid.T) (redemption.Use, bool) {
	uses, err := h.s.ListUses(h.Context(), store.UseList{PageSize: store.MaxPageSize})
	if err != nil {
		return redemption.Use{}, false
	}
	points := slices.DeleteFunc(uses.Items, func(u redemption.Use) bool { return u.ExchangeID == "" })
	return anyOf(t, points, redemption.Use{}, "exchange"), len(points) > 0
}

func (h *history) takePoints(t *rapid.T) {
	u, found := h.debited(t)
	if !found {
		t.Skip("no points yet")
	}
	customer := u.CustomerID
	if rapid.IntRange(0, 9).Draw(t, "mine") == 0 {
		customer = h.customer(t)
	}
	coupons := h.someCoupons(t)
	for _, c := range h.coupons {
		if c.ID == u.CouponID && !slices.ContainsFunc(coupons, func(d coupon.Coupon) bool { return d.ID == c.ID }) {
			coupons = append(coupons, c)
		}
	}
	h.ask(h.spiced(t, taking(h.checkout(customer, coupons...), u)), "take points")
}

// repeat makes a request again, as it was or with another fingerprint, key or IDs.
func (h *history) repeat(t *rapid.T) {
	if len(h.requests) == 0 {
		t.Skip("no request yet")
	}
	r := anyOf(t, h.requests, store.Reservation{}, "request").Normalize()
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		r.Order.Fingerprint += "!"
	case 1:
		r.Order.Key += "!"
		for i := range r.Uses {
			r.Uses[i].Key += "!"
		}
	case 2:
		r = h.renamed(r)
	}
	if r.Order.IsZero() {
		r.Uses[0].ExchangeID, r.Order.Key, r.Order.Fingerprint = r.Uses[0].ID, "", ""
	} else {
		for i := range r.Uses {
			r.Uses[i].Key = ""
		}
	}
	h.ask(r, "repeat")
}

func (h *history) event(t *rapid.T) {
	o := redemption.Order{ID: anyOf(t, h.orders, "ord_none", "order")}
	if found, err := h.s.Order(h.Context(), store.OrderKey{ID: o.ID}); err == nil {
		o = found.Order
	}
	e := event(rapid.SampledFrom(ofOrders).Draw(t, "kind"), o)
	e.At = at(rapid.SampledFrom([]int{1, 500, 1000, 2500}).Draw(t, "at"))
	e.BegunBy, e.AskedAt = at(rapid.SampledFrom([]int{1, 1000, 1_000_000}).Draw(t, "begun by")), e.AskedAt*int64(rapid.IntRange(0, 1).Draw(t, "asked"))
	e.PaymentOver = e.PaymentOver && rapid.Bool().Draw(t, "over")
	switch rapid.IntRange(0, 9).Draw(t, "session") {
	case 0:
		e.SessionID = anyOf(t, h.sessions, "cs_none", "other session")
	case 1:
		e.OrderID = anyOf(t, h.orders, "ord_none", "other order")
	case 2, 3, 4:
		e = learning(o, eligibility.AliasIdentity(h.customer(t))).Event
	}
	if e.SessionID != "" {
		h.sessions = append(h.sessions, e.SessionID)
	}
	h.tell(settlement(e))
}

// giveUp cancels an order after its payment was begun. The order may still be paid.
func (h *history) giveUp(t *rapid.T) {
	id := anyOf(t, h.orders, "ord_none", "order")
	for _, kind := range []redemption.EventKind{redemption.PaymentBegun, redemption.Cancelled} {
		h.tell(settlement(redemption.Event{Kind: kind, OrderID: id, At: at(500)}))
	}
}

func (h *history) tell(s store.Settlement) {
	_, _ = compare(h, fmt.Sprintf("Apply %s order %q session %q use %q at %s unknown %s", s.Event.Kind, s.Event.OrderID, s.Event.SessionID, s.Event.UseID, s.Event.At.Format("15:04:05"), s.Unknown.Order.ID),
		func(to store.Store) (store.Settled, error) { return to.Apply(h.Context(), s) })
}

func (h *history) useEvent(t *rapid.T) {
	kind := rapid.SampledFrom([]redemption.EventKind{
		redemption.PointsExchanged, redemption.PointsExchanged, redemption.PointsRefused, redemption.PointsGivenBack, redemption.Cancelled, redemption.Lapsed,
	}).Draw(t, "kind")
	h.tell(settlement(redemption.Event{Kind: kind, UseID: anyOf(t, h.uses, "use_none", "use"), At: at(rapid.SampledFrom([]int{500, 950}).Draw(t, "at"))}))
}

func (h *history) refund(t *rapid.T) {
	o := redemption.Order{ID: anyOf(t, h.orders, "ord_none", "order")}
	h.tell(settlement(refund(o, fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "key")), int64(rapid.IntRange(0, 3).Draw(t, "units")))))
}

func (h *history) unknownPayment(t *rapid.T) {
	session := anyOf(t, h.sessions, "cs_lost", "session")
	if rapid.Bool().Draw(t, "new session") {
		session = fmt.Sprint("cs_lost_", h.next())
	}
	s := h.unknown(h.customer(t), session, h.someCoupons(t)...)
	s.Event.OrderID = anyOf(t, h.orders, "ord_lost", "order")
	h.sessions = append(h.sessions, session)
	h.orders = append(h.orders, s.Unknown.Order.ID)
	h.tell(s)
}

func (h *history) create(c coupon.Coupon) {
	if saved, err := h.change(store.CreateCoupon, c); err == nil {
		h.coupons = append(h.coupons, saved)
	}
}

func (h *history) change(kind store.ChangeKind, c coupon.Coupon) (coupon.Coupon, error) {
	return compare(h, fmt.Sprintf("SaveCoupon %d %s %s revision %d limits %+v", kind, c.ID, c.Code, c.Revision, c.Limits), func(s store.Store) (coupon.Coupon, error) {
		saved, err := s.SaveCoupon(h.Context(), changeOf(kind, c))
		saved.AllowedUserEmails = saved.AllowedUserEmails.Narrow("") // the answer may be without addresses
		return saved, err
	})
}

func (h *history) edit(t *rapid.T) {
	i := rapid.IntRange(0, len(h.coupons)-1).Draw(t, "coupon")
	c := h.coupons[i]
	kind := store.EditCoupon
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		c.State = rapid.SampledFrom([]coupon.State{coupon.Active, coupon.Active, coupon.Inactive}).Draw(t, "state")
	case 1:
		c.Limits.MaxUses = rapid.Int64Range(0, 5).Draw(t, "maxUses")
	case 2:
		c.Limits.MaxUsesPerUser = rapid.Int64Range(0, 3).Draw(t, "maxUsesPerUser")
	case 3:
		c.Revision--
	case 5:
		if c.Distribution == coupon.UserSpecific {
			h.forAddresses(anyOf(t, []string{"ann@shop.example", "cem@shop.example"}, "", "address"), "dan@shop.example")(&c)
		}
	case 4:
		kind, c.Mirror = store.ConfirmMirror, coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: c.Revision}
	}
	if saved, err := h.change(kind, c); err == nil {
		h.coupons[i] = saved
	}
}

// createOrDelete deletes a coupon, or creates a coupon whose code or ID may be taken.
func (h *history) createOrDelete(t *rapid.T) {
	c := anyOf(t, h.coupons, coupon.Coupon{}, "coupon")
	if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
		_, _ = h.change(store.DeleteCoupon, c)
		return
	}
	draft := h.draft(limits(rapid.Int64Range(0, 3).Draw(t, "maxUses"), 0), createdAt(at(rapid.IntRange(0, 3).Draw(t, "created"))))
	switch rapid.IntRange(0, 5).Draw(t, "like another") {
	case 0:
		draft.Code = c.Code
	case 1:
		draft.ID = c.ID
	case 5:
		draft.Code = coupon.Code{}
	}
	h.create(draft)
}

func (h *history) read(t *rapid.T) {
	c, customer := anyOf(t, h.coupons, coupon.Coupon{}, "coupon"), h.customer(t)
	read(h, store.Store.LookUp, store.LookUp{Names: store.ByID(c.ID), CustomerID: customer, Identities: customers})
	read(h, store.Store.LookUp, store.LookUp{Names: store.ByCode(c.Code), Whole: true})
	atOnce := store.LookUp{CustomerID: customer, Identities: customers, Orders: 3}
	for _, known := range h.coupons {
		atOnce.Names = append(atOnce.Names, store.Name{CouponID: known.ID}, store.Name{Code: known.Code})
		atOnce.Counters = append(atOnce.Counters, eligibility.CustomerUses(known.ID, customer))
	}
	for _, code := range h.codes {
		atOnce.Names = append(atOnce.Names, store.Name{Code: code.Code})
	}
	read(h, store.Store.ListBatches, store.BatchList{CouponID: c.ID, PageSize: 2})
	codes := store.CodeList{CouponID: c.ID, PageSize: 2, Unused: rapid.Bool().Draw(t, "unused")}
	codes.Used = !codes.Unused && rapid.Bool().Draw(t, "used")
	read(h, store.Store.ListCodes, codes)
	atOnce.Names = atOnce.Names[:min(len(atOnce.Names), store.MaxNames)]
	read(h, store.Store.LookUp, atOnce)
	coupons := store.CouponList{PageSize: rapid.IntRange(1, 3).Draw(t, "size"), Page: rapid.IntRange(0, 3).Draw(t, "page"), Search: rapid.SampledFrom([]string{"", "1", "code"}).Draw(t, "search")}
	due := at(rapid.SampledFrom([]int{0, 999, 1000, 2500}).Draw(t, "due"))
	orders := store.OrderList{PageSize: 2, State: redemption.OrderState(rapid.IntRange(0, int(redemption.OrderEnding)).Draw(t, "state"))}
	uses := store.UseList{PageSize: 2, CouponID: c.ID, State: redemption.State(rapid.IntRange(0, 3).Draw(t, "use state"))}
	if rapid.Bool().Draw(t, "sweep") {
		orders.DueAt, uses.DueAt = due, due
	}
	for range 3 {
		couponPage, orderPage, usePage := read(h, store.Store.ListCoupons, coupons), read(h, store.Store.ListOrders, orders), read(h, store.Store.ListUses, uses)
		coupons.After, orders.After, uses.After = couponPage.Next, orderPage.Next, usePage.Next
	}
	read(h, store.Store.Order, store.OrderKey{SessionID: anyOf(t, h.sessions, "cs_none", "session")})
}

// read makes a read-only call on both stores.
func read[R, A any](h *history, call request[R, A], with R) A {
	answer, _ := compare(h, fmt.Sprintf("%T %+v", with, with), func(s store.Store) (A, error) { return call(s, h.Context(), with) })
	return answer
}

// compareEverything compares all stored records, and the journal of each record. The positions of
// entries of different records may differ.
func (h *history) compareEverything() {
	ctx := h.Context()
	_, _ = compare(h, "everything", func(s store.Store) (Everything, error) {
		all, err := Read(ctx, s)
		all.Journal = nil
		return all, err
	})
	read(h, store.Store.ListOrders, store.OrderList{DueAt: at(2500), PageSize: store.MaxPageSize})
	_, _ = compare(h, "the journal by record", func(s store.Store) (map[string][]string, error) {
		all, err := ReadJournal(ctx, s)
		return bySubject(all), err
	})
	for name, s := range map[string]store.Store{"reference": h.s, "store": h.tested} {
		if err := Check(ctx, s); err != nil {
			h.rt.Fatalf("the %s: %v\nafter\n%s", name, err, h.lastCalls())
		}
	}
}
