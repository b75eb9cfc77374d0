package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// call is one call of the contract with a request that succeeds.
type call struct {
	name   string
	writes bool
	// request is the value passed by the caller. The caller may overwrite it after the call.
	request any
	do      func(ctx context.Context, s store.Store) (any, error)
}

func on[R, A any](name string, writes bool, with R, do request[R, A]) call {
	return call{name, writes, &with, func(ctx context.Context, s store.Store) (any, error) { return do(s, ctx, with) }}
}

// calls returns one call for each method of the contract. All succeed in the given order. The clauses
// in this file hold for each of them.
func (p *probe) calls() []call {
	p.Helper()
	c := p.coupon(limits(9, 9), p.forAddresses("ann@shop.example"))
	points := p.coupon(forPoints)
	known := p.reserve(p.checkout("ann", c)).Order
	p.exchanged("ann", points)
	order := p.checkout("ann", c)
	return []call{
		on("SaveCoupon (create)", true, changeOf(store.CreateCoupon, p.draft(p.forAddresses("bob@shop.example"))), store.Store.SaveCoupon),
		on("SaveCoupon (edit)", true, changeOf(store.EditCoupon, with(p.coupon(), named("edited"))), store.Store.SaveCoupon),
		on("SaveCoupon (delete)", true, changeOf(store.DeleteCoupon, p.coupon()), store.Store.SaveCoupon),
		on("Reserve", true, order, store.Store.Reserve),
		on("Reserve (replay)", false, order.Normalize(), store.Store.Reserve),
		on("Reserve (points)", true, p.exchange("bob", points), store.Store.Reserve),
		on("Apply", true, settlement(event(redemption.SessionAttached, known)), store.Store.Apply),
		on("Apply (unknown payment)", true, p.unknown("ann", "cs_lost", c), store.Store.Apply),
		on("LookUp", false, store.LookUp{Names: store.ByID(c.ID), CustomerID: "ann", Identities: []string{"ann", "bob"}, Whole: true}, store.Store.LookUp),
		on("LookUp of points", false, store.LookUp{Names: store.ByCode(points.Code), CustomerID: "ann"}, store.Store.LookUp),
		on("ListCoupons", false, store.CouponList{}, store.Store.ListCoupons),
		on("Order", false, store.OrderKey{ID: known.ID}, store.Store.Order),
		on("ListOrders", false, store.OrderList{}, store.Store.ListOrders),
		on("ListUses", false, store.UseList{}, store.Store.ListUses),
		on("Counts", false, []string{eligibility.CouponUses(c.ID)}, store.Store.Counts),
		on("Journal", false, int64(0), func(s store.Store, ctx context.Context, after int64) ([]store.Entry, error) {
			return s.Journal(ctx, after, 100)
		}),
		on("JournalEnd", false, int64(0), func(s store.Store, ctx context.Context, _ int64) (int64, error) { return s.JournalEnd(ctx) }),
		on("History", false, c.ID, func(s store.Store, ctx context.Context, id string) ([]store.Entry, error) {
			return s.History(ctx, id, 0, 100)
		}),
		on("SaveAttempts", true, attempts(store.TakeAttempts, 1, 0, "bob"), store.Store.SaveAttempts),
		on("ForgetAttempts", true, at(0), store.Store.ForgetAttempts),
		on("Sums", false, store.SumList{CouponID: c.ID, From: at(0), Days: 3}, store.Store.Sums),
	}
}

func callClauses() []clause {
	return []clause{
		{"contexts", "a call whose context has ended returns its error and changes nothing", contexts},
		{"after Close", "after Close every call is ErrClosed; Close may be called again", func(p *probe) {
			calls := p.calls()
			p.closed = true
			p.ok(p.s.Close(), "Close")
			for _, c := range calls {
				_, err := c.do(p.Context(), p.s)
				p.fails(err, store.ErrClosed, "%s", c.name)
			}
			p.ok(p.s.Close(), "Close of a closed store")
		}},
		{"instants", "instants come back in UTC, cut off at the microsecond, from the year 1 to 9999; others are validation.ErrInvalid", instants},
		{"bounds", "validation.ErrInvalid: a request that does not validate names its fields and changes nothing", bounds},
		{"copies", "values that go in and out are copies: no caller shares memory with the store", copies},
	}
}

func contexts(p *probe) {
	calls := p.calls()
	cancelled, cancel := context.WithCancel(p.Context())
	cancel()
	expired, cancel := context.WithDeadline(p.Context(), time.Unix(0, 0))
	defer cancel()
	p.unchanged("calls whose context has ended", func() {
		for _, c := range calls {
			_, err := c.do(cancelled, p.s)
			p.fails(err, context.Canceled, "%s with a context that was cancelled", c.name)
			_, err = c.do(expired, p.s)
			p.fails(err, context.DeadlineExceeded, "%s with a context whose deadline has passed", c.name)
		}
	})
	for _, c := range calls {
		_, err := c.do(p.Context(), p.s)
		p.ok(err, "%s after the calls whose context had ended", c.name)
	}
}

// copies overwrites the request and the answer of each call, and checks that the store is unchanged. It
// compares texts, because an earlier reading may share memory with the store.
func copies(p *probe) {
	for _, c := range p.calls() {
		answer, err := c.do(p.Context(), p.s)
		p.ok(err, "%s", c.name)
		answered, before := textOf(answer), textOf(p.everything())
		scribble(reflect.ValueOf(&answer))
		if c.writes {
			scribble(reflect.ValueOf(c.request))
		} else {
			again, err := c.do(p.Context(), p.s)
			p.ok(err, "%s", c.name)
			same(p, textOf(again), answered, "the answer of %s after its caller has overwritten the first", c.name)
		}
		same(p, textOf(p.everything()), before, "what is stored after the caller of %s has overwritten request and answer", c.name)
	}
}

// addresses matches the memory addresses that Go prints for some pointers.
var addresses = regexp.MustCompile(`0x[0-9a-f]+`)

// textOf returns the whole content of a value as text: its printed form, and the JSON of the parts that
// print as pointers.
func textOf(v any) (text string) {
	if found, is := v.(store.LookedUp); is { // prints pointers to coupons
		for _, c := range found.Coupons {
			text += textOf(*c)
		}
		found.Coupons = nil
		v = found
	}
	data, err := json.Marshal(v)
	return text + addresses.ReplaceAllString(fmt.Sprintf("%+v %s %v", v, data, err), "0x")
}

// scribble overwrites every list and map that can be reached through exported fields.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scribble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			if v.Index(i).CanSet() {
				v.Index(i).SetZero()
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	default:
	}
}

func textClauses() []clause {
	return []clause{
		{"any text comes back", "any UTF-8 text without NUL comes back as it was, and is compared byte by byte: case, accents and spaces at the end count", anyTextComesBack},
		{"text that cannot be kept is refused", "text with a NUL, or that is not UTF-8, or is too long, is validation.ErrInvalid where it would be written", impossibleTextIsRefused},
		{"text that cannot be kept is not found", "text that cannot be kept finds nothing where it is looked for", impossibleTextIsNotFound},
	}
}

// texts returns texts that often break databases. All of them are different.
func texts() []string {
	return []string{
		"a", "A", "a ", " a", "a\t", "a\n", "a\x01", "á", "a\u0301", "ä", "å", "ａ", "а", "ª", "a\u200b", "a\u00ad",
		"ss", "ß", "SS", "ẞ", "i", "ı", "İ", "I", "1", "01", "1.0", "1e0", "٣", "null", "NULL", "true", "-", "--",
		"'", "''", `"`, "`", `\`, `\\`, `\'`, "%", "_", "%%", "[a]", "?", "$1", "${x}", "{a}", ":a", ";", "'; DROP TABLE coupons; --",
		"👍", "👍🏽", "👎", "🇪🇺", "👩‍👩‍👧", "𝄞", "שלום", "שָׁלוֹם", "\u202eabc", "مرحبا", "ﬁ", "fi", "\u2028", "\ufeffa", "\U0010ffff", "\x7f",
		strings.Repeat("x", redemption.MaxIDLength), strings.Repeat("x", redemption.MaxIDLength-1) + "X", strings.Repeat("é", redemption.MaxIDLength/2),
	}
}

// impossible returns texts that no store can keep.
func impossible() []string { return []string{"a\x00", "\x00", "a\xff", "\xed\xa0\x80", "a\xc3"} }

func anyTextComesBack(p *probe) {
	c := p.coupon()
	for _, text := range texts() {
		r := p.checkout(text, c)
		r.Order.ID, r.Order.Key, r.Order.Fingerprint, r.By = text, text, text, text
		r.Order.Metadata = map[string]string{text: text}
		r.Order.Quote.Lines[0].ID, r.Order.Quote.Lines[0].ItemID = text, text
		r.Uses[0].ID, r.Uses[0].OrderID = text, text
		r.Order.Claims[0].Counter = text
		_, err := p.s.Order(p.Context(), store.OrderKey{ID: text})
		p.fails(err, store.ErrNotFound, "Order before there is an order %q", text)
		p.reserve(r)
		e := event(redemption.SessionAttached, r.Order)
		e.SessionID, e.SessionURL = text, text
		p.apply(e)
	}
	for _, text := range texts() {
		found := answer(p, store.Store.Order, store.OrderKey{SessionID: text})
		o := found.Order
		same(p, []string{o.ID, o.Key, o.Fingerprint, o.CustomerID, o.Metadata[text], o.SessionURL, o.Quote.Lines[0].ItemID, o.Claims[0].Counter, found.Uses[0].ID},
			[]string{text, text, text, text, text, text, text, text, text}, "the order with the text %q", text)
		same(p, answer(p, store.Store.Order, store.OrderKey{CustomerID: text, Key: text}), found, "the order of the key %q", text)
		same(p, answer(p, store.Store.ListUses, store.UseList{CustomerID: text}).Items, found.Uses, "the uses of the customer %q", text)
		p.count(text, 1, 0)
		same(p, p.apply(redemption.Event{Kind: redemption.Paid, SessionID: text, At: at(1100)}).Order.ID, text, "the order that a payment finds by the session %q", text)
	}
	for _, text := range texts() {
		if described := p.draft(named(text), described(text)); described.Validate() == nil {
			same(p, p.save(store.CreateCoupon, described), described, "the coupon with the text %q", text)
		}
	}
}

func impossibleTextIsRefused(p *probe) {
	c := p.coupon()
	o := p.reserve(p.checkout("ann", c)).Order
	reservations := map[string]func(r *store.Reservation, text string){
		"order ID":       func(r *store.Reservation, text string) { r.Order.ID, r.Uses[0].OrderID = text, text },
		"key":            func(r *store.Reservation, text string) { r.Order.Key = text },
		"fingerprint":    func(r *store.Reservation, text string) { r.Order.Fingerprint = text },
		"customer":       func(r *store.Reservation, text string) { r.Order.CustomerID, r.Uses[0].CustomerID = text, text },
		"replaced order": func(r *store.Reservation, text string) { r.Order.Replaces = text },
		"metadata": func(r *store.Reservation, text string) {
			r.Order.Metadata = map[string]string{"k": strings.Repeat(text, 50)}
		},
		"metadata's key": func(r *store.Reservation, text string) { r.Order.Metadata = map[string]string{text: "v"} },
		"item":           func(r *store.Reservation, text string) { r.Order.Quote.Lines[0].ItemID = text },
		"use ID":         func(r *store.Reservation, text string) { r.Uses[0].ID = text },
		"coupon":         func(r *store.Reservation, text string) { r.Uses[0].CouponID, r.Coupons[0].ID = text, text },
		"counter":        func(r *store.Reservation, text string) { r.Uses[0].Claims[0].Counter = strings.Repeat(text, 5) },
		"actor":          func(r *store.Reservation, text string) { r.By = text },
	}
	events := map[string]func(s *store.Settlement, text string){
		"session": func(s *store.Settlement, text string) { s.Event.SessionID = text },
		"URL":     func(s *store.Settlement, text string) { s.Event.SessionURL = strings.Repeat(text, 50) },
		"order":   func(s *store.Settlement, text string) { s.Event.OrderID = text },
		"actor":   func(s *store.Settlement, text string) { s.By = text },
	}
	long := strings.Repeat("x", redemption.MaxIDLength+1)
	p.unchanged("text that cannot be kept", func() {
		for _, text := range append(impossible(), long) {
			for what, put := range reservations {
				r := p.checkout("ann", c)
				put(&r, text)
				p.refused(r, validation.ErrInvalid, "with the %s %.20q", what, text)
			}
			for what, put := range events {
				s := settlement(event(redemption.SessionAttached, o))
				put(&s, text)
				fails(p, store.Store.Apply, s, validation.ErrInvalid, "with the %s %.20q", what, text)
			}
			fails(p, store.Store.Apply, p.unknown(text, "cs_lost", c), validation.ErrInvalid, "of a payment by the customer %.20q", text)
			change := changeOf(store.EditCoupon, c)
			change.By = text
			fails(p, store.Store.SaveCoupon, change, validation.ErrInvalid, "by %.20q", text)
			if text != long {
				p.saveFails(store.EditCoupon, with(c, named(text)), validation.ErrInvalid, "with the name "+text)
				mirror := coupon.Mirror{CouponID: text, PromotionCodeID: text, Revision: c.Revision}
				p.saveFails(store.ConfirmMirror, with(c, func(c *coupon.Coupon) { c.Mirror = mirror }), validation.ErrInvalid, "with the mirror "+text)
			}
		}
	})
}

func impossibleTextIsNotFound(p *probe) {
	c := p.coupon(named("a\ufffd"))
	p.reserve(p.checkout("a", c))
	p.unchanged("looking for text that cannot be kept", func() {
		for _, text := range append(impossible(), strings.Repeat("x", 100_000)) {
			what := fmt.Sprintf("%.20q", text)
			fails(p, find, store.LookUp{Names: store.ByID(text)}, coupon.ErrNotFound, "of text that cannot be kept")
			found := p.look(store.LookUp{Names: store.ByID(c.ID), CustomerID: text, Identities: []string{text, "a"}, Email: text})
			same(p, found.ByCustomer, []eligibility.Count{{}, {Reserved: 1}}, "the uses of the customer %s", what)
			for _, key := range []store.OrderKey{{ID: text}, {SessionID: text}, {CustomerID: text, Key: "k"}, {CustomerID: "a", Key: text}} {
				fails(p, store.Store.Order, key, store.ErrNotFound, "of text that cannot be kept")
			}
			same(p, answer(p, store.Store.ListOrders, store.OrderList{CustomerID: text}), store.OrderPage{}, "the orders of the customer %s", what)
			for _, list := range []store.UseList{{CouponID: text}, {CustomerID: text}, {ExchangeID: text}} {
				same(p, answer(p, store.Store.ListUses, list), store.UsePage{}, "the uses of %s", what)
			}
			p.count(text, 0, 0)
			for _, kind := range []store.ChangeKind{store.EditCoupon, store.DeleteCoupon} {
				p.saveFails(kind, with(c, func(c *coupon.Coupon) { c.ID = text }), coupon.ErrNotFound, "of the coupon "+what)
			}
		}
	})
}

func instants(p *probe) {
	zone := time.FixedZone("Chatham", 12*3600+45*60)
	for _, t := range []time.Time{
		at(0), at(0).In(zone), at(0).Add(999 * time.Nanosecond), time.Unix(0, 0), time.Unix(-1, 999_999_999),
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1582, 10, 10, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(2038, 1, 19, 3, 14, 8, 0, zone),
		time.Date(2026, 3, 29, 2, 30, 0, 123_456_789, time.FixedZone("", -3600)),
	} {
		want := calendar.Instant(t)
		c := p.coupon(createdAt(t), func(c *coupon.Coupon) { c.StartsAt = t })
		stored := p.lookedUp(c.ID)
		same(p, []time.Time{stored.CreatedAt, stored.UpdatedAt, stored.StartsAt}, []time.Time{want, want, want}, "the instants of a coupon")
		r := p.checkout("ann", c)
		r.Order.CreatedAt, r.Order.Deadline, r.Uses[0].CreatedAt = t, t, t
		p.reserve(r)
		e := event(redemption.Paid, r.Order)
		e.At = t
		p.apply(e)
		o := p.order(r.Order.ID)
		same(p, []time.Time{o.Order.CreatedAt, o.Order.UpdatedAt, o.Uses[0].CreatedAt, o.Uses[0].CompletedAt}, []time.Time{want, want, want, want}, "the instants of an order")
		for _, got := range []time.Time{stored.CreatedAt, o.Order.CreatedAt, o.Uses[0].CompletedAt} {
			same(p, got.Location().String(), "UTC", "the location of an instant")
		}
		all := p.everything().Journal
		same(p, all[len(all)-1].At, want, "the instant in the journal")
	}
	c := p.coupon()
	p.unchanged("instants out of range", func() {
		for _, t := range []time.Time{time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(-300_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
			for what, put := range map[string]func(r *store.Reservation){
				"createdAt": func(r *store.Reservation) { r.Order.CreatedAt = t }, "deadline": func(r *store.Reservation) { r.Order.Deadline = t },
				"use": func(r *store.Reservation) { r.Uses[0].CreatedAt = t },
			} {
				r := p.checkout("ann", c)
				put(&r)
				p.refused(r, validation.ErrInvalid, "with the instant %s as %s", t, what)
			}
			e := redemption.Event{Kind: redemption.Cancelled, OrderID: "ord_none", At: t}
			p.applyFails(e, validation.ErrInvalid, "at "+t.String())
		}
	})
}

func bounds(p *probe) {
	c, points := p.coupon(), p.coupon(forPoints)
	many := make([]coupon.Coupon, redemption.MaxUses+1)
	for i := range many {
		many[i] = p.draft()
	}
	on := func(change func(r *store.Reservation)) store.Reservation {
		r := p.checkout("ann", c)
		change(&r)
		return r
	}
	exchange := func(change func(u *redemption.Use)) store.Reservation {
		r := p.exchange("ann", points)
		change(&r.Uses[0])
		return r
	}
	reservations := map[string]store.Reservation{
		"uses":                     p.checkout("ann", many...),
		"order.claims":             on(func(r *store.Reservation) { r.Order.Claims = make([]eligibility.Claim, redemption.MaxClaims+1) }),
		"uses[0].claims":           on(func(r *store.Reservation) { r.Uses[0].Claims = make([]eligibility.Claim, redemption.MaxClaims+1) }),
		"order.claims[0].amount":   on(func(r *store.Reservation) { r.Order.Claims[0].Amount = 0 }),
		"uses[0].claims[1].amount": on(func(r *store.Reservation) { r.Uses[0].Claims[1].Amount = eligibility.MaxAmount + 1 }),
		"uses[0].claims[0].limit":  on(func(r *store.Reservation) { r.Uses[0].Claims[0].Limit = -1 }),
		"order.metadata": on(func(r *store.Reservation) {
			for i := range redemption.MaxMetadata {
				r.Order.Metadata[fmt.Sprint(i)] = ""
			}
		}),
		"order.key":            on(func(r *store.Reservation) { r.Order.Key = "" }),
		"order.customerId":     on(func(r *store.Reservation) { r.Order.CustomerID, r.Uses[0].CustomerID = "", "" }),
		"order.state":          on(func(r *store.Reservation) { r.Order.State = redemption.OrderPaid }),
		"uses[0].state":        on(func(r *store.Reservation) { r.Uses[0].State = redemption.Completed }),
		"uses[0].orderId":      on(func(r *store.Reservation) { r.Uses[0].CustomerID = "bob" }),
		"uses[0].origin":       on(func(r *store.Reservation) { r.Uses[0].Origin = redemption.FromPayment }),
		"uses[0].points":       on(func(r *store.Reservation) { r.Uses[0].Points = 5 }),
		"uses[0].couponId":     on(func(r *store.Reservation) { r.Coupons[0].ID = "cpn_other" }),
		"uses[1].couponId":     p.checkout("ann", c, c),
		"coupons":              on(func(r *store.Reservation) { r.Coupons = append(r.Coupons, store.CouponAt{ID: "cpn_other"}) }),
		"order.coupons":        on(func(r *store.Reservation) { r.Order.Coupons = make([]coupon.Snapshot, redemption.MaxUses+1) }),
		"order.quote.discount": on(func(r *store.Reservation) { r.Order.Quote.Discount++ }),
		"uses[0].key":          exchange(func(u *redemption.Use) { u.Key = "" }),
		"uses[0].exchangeId":   exchange(func(u *redemption.Use) { u.ExchangeID = "" }),
		"uses[0].pointsState":  exchange(func(u *redemption.Use) { u.PointsState = redemption.PointsDebited }),
	}
	unknown := func(change func(r *store.Reservation)) store.Settlement {
		s := p.unknown("ann", "cs_lost", c)
		change(&s.Unknown)
		return s
	}
	none := redemption.Event{}
	settlements := map[string]store.Settlement{
		"event.kind": settlement(none), "event.at": settlement(none),
		"event.sessionId":          settlement(redemption.Event{Kind: redemption.Paid, At: at(1)}),
		"event.orderId":            settlement(redemption.Event{Kind: redemption.SessionAttached, SessionID: "cs", At: at(1)}),
		"event.useId":              settlement(redemption.Event{Kind: redemption.Paid, SessionID: "cs", UseID: "use", At: at(1)}),
		"unknown.order.state":      unknown(func(r *store.Reservation) { r.Order.State = redemption.OrderOpen }),
		"unknown.order.key":        unknown(func(r *store.Reservation) { r.Order.Key = "key" }),
		"unknown.uses[0].state":    unknown(func(r *store.Reservation) { r.Uses[0].State = redemption.Reserved }),
		"unknown.uses[0].orderId":  unknown(func(r *store.Reservation) { r.Uses[0].OrderID = "ord_other" }),
		"unknown.uses":             unknown(func(r *store.Reservation) { r.Uses = make([]redemption.Use, redemption.MaxUses+1) }),
		"unknown.uses[1].couponId": p.unknown("ann", "cs_lost", c, c),
	}
	p.unchanged("requests that do not validate", func() {
		allNamed(p, store.Store.Reserve, reservations)
		allNamed(p, store.Store.Apply, settlements)
	})
}

// allNamed checks that each request fails with a validation error for its wrong field.
func allNamed[R, A any](p *probe, call request[R, A], requests map[string]R) {
	p.Helper()
	for field, with := range requests {
		err := failure(p, call, with, validation.ErrInvalid, "with a fault in %s", field)
		if !strings.Contains(err.Error(), field) {
			p.stop("the error of a fault in %s does not name it: %v", field, err)
		}
	}
}

// reopenClauses are about two stores on the same data, as in several processes.
func reopenClauses() []clause {
	return []clause{
		{"what was stored outlives the store", "another store on the same data has all of it, and goes on where this one has stopped", outlives},
		{"what another process has changed", "what a call has changed, every call that begins after it has returned finds, in whichever process", changedElsewhere},
	}
}

func outlives(p *probe) {
	c := p.coupon(limits(2, 1))
	paid := p.placed(p.checkout("ann", c), redemption.SessionAttached, redemption.Paid)
	request := p.checkout("bob", c)
	p.reserve(request)
	before := p.everything()
	p.ok(p.s.Close(), "Close")
	p.s = p.reopen()
	same(p, p.everything(), before, "what another store has")
	same(p, p.order(paid.Order.ID), paid, "a paid order")
	p.replays(request, "in another store")
	p.refused(p.checkout("cem", c), store.ErrLimit, "when no use is left")
	p.happen(request.Order, redemption.Cancelled)
	p.reserve(p.checkout("cem", c))
}

// changedElsewhere makes the calls on two stores in turn, and reads both after each call.
func changedElsewhere(p *probe) {
	first, second := p.s, p.reopen()
	for i, c := range p.calls() {
		s := []store.Store{first, second}[i%2]
		_, err := c.do(p.Context(), s)
		p.ok(err, "%s", c.name)
		p.s = first
		want := p.everything()
		p.s = second
		same(p, p.everything(), want, "what another store has after %s", c.name)
	}
	p.s = first
	c := p.coupon(limits(1, 0))
	p.s = second
	p.edit(c, inState(coupon.Inactive))
	p.s = first
	p.refused(p.checkout("ann", c), coupon.ErrInactive, "of a coupon that another store has switched off")
}
