package storetest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func textClauses() []clause {
	return []clause{
		{"any text comes back", "values that go in and out are copies, whatever text they hold: quotes, wildcards, control characters, combining and right-to-left characters, emoji, up to the longest", anyTextComesBack},
		{"text is compared by byte", "text is compared byte by byte, case-sensitively", textIsComparedByByte},
		{"text that cannot be kept is refused", "text with a NUL or that is not UTF-8 is refused as pricing.ErrInvalid where it would be written", impossibleTextIsRefused},
		{"text that cannot be kept is not found", "text with a NUL or that is not UTF-8 finds nothing where it is looked for", impossibleTextIsNotFound},
		{"text that cannot be kept hides nothing", "a payment of a known session counts, whatever text it names beside", impossibleTextHidesNothing},
	}
}

// texts have a history of breaking databases. All of them are different.
func texts() []string {
	return []string{
		"a", "A", "a ", " a", "a\t", "a\n", "a\x01", "á", "a\u0301", "ä", "å", "ａ", "а", "ª", "a\u200b", "a\u00ad",
		"ss", "ß", "SS", "ẞ", "i", "ı", "İ", "I", "1", "01", "1.0", "1e0", "٣", "null", "NULL", "true", "-", "--",
		"'", "''", `"`, "`", `\`, `\\`, `\'`, "%", "_", "%%", "[a]", "?", "$1", "${x}", "{a}", ":a", ";", "'; DROP TABLE coupons; --",
		"👍", "👍🏽", "👎", "🇪🇺", "👩‍👩‍👧", "𝄞", "שלום", "שָׁלוֹם", "\u202eabc", "مرحبا", "ﬁ", "fi", "\u2028", "\ufeffa", "\U0010ffff", "\x7f",
		strings.Repeat("x", redemption.MaxIDLength), strings.Repeat("x", redemption.MaxIDLength-1) + "X", strings.Repeat("é", redemption.MaxIDLength/2),
	}
}

func anyTextComesBack(p *probe) {
	c := p.coupon()
	for i, text := range texts() {
		r := p.checkout(c, text, text)
		r.Redemption.ID, r.Order.ReservationID = text, text
		r.Redemption.OrderID, r.Order.ID = text, text
		r.Order.Fingerprint = text
		r.Order.Metadata = map[string]string{text: text, "all": strings.Repeat(text, 1+i%3)}
		r.Order.Quote.Lines[0].ID, r.Order.Quote.Lines[0].ItemID = text, text
		want := store.Reserved{Redemption: r.Redemption, Order: r.Order.Clone()}
		reserved := p.place(r)
		same(p, reserved, want, "what Reserve returns with the text %q", text)
		same(p, p.reread(reserved), want, "what is stored with the text %q", text)
		byKey, err := p.s.OrderByKey(p.Context(), text, text)
		p.ok(err, "OrderByKey with the text %q", text)
		same(p, byKey, want.Order, "the order of the key %q", text)
		same(p, p.redemptions(store.RedemptionList{CustomerID: text}), []redemption.Redemption{want.Redemption}, "the redemptions of %q", text)
		a := attachment(text, text)
		a.SessionURL = text
		_, err = p.s.AttachSession(p.Context(), a)
		p.ok(err, "AttachSession with the text %q", text)
		settled := p.settle(store.Settlement{Event: redemption.Event{Kind: redemption.SessionCompleted, At: at(900), SessionID: text}})
		same(p, settled.Redemption.ID, text, "the redemption of the session %q", text)
		same(p, settled.Order.SessionURL, text, "the URL of the session %q", text)
	}
	p.counts(c.ID, int64(len(texts())), 0)
	for i, text := range texts() {
		if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\x01\x7f\n\t") {
			continue // no name of a coupon
		}
		c := p.draft(named(text), func(c *coupon.Coupon) { c.Description = fmt.Sprintf("<%d>\n%s", i, text) })
		p.ok(p.s.CreateCoupon(p.Context(), c), "CreateCoupon with the name %q", text)
		got, err := p.s.Coupon(p.Context(), c.ID)
		p.ok(err, "Coupon")
		same(p, got, c, "the coupon with the name %q", text)
		search := fmt.Sprintf("<%d>\n%s", i, text)
		if utf8.RuneCountInString(search) > store.MaxSearchLength {
			continue
		}
		page, err := p.s.ListCoupons(p.Context(), store.CouponList{Search: search})
		p.ok(err, "ListCoupons")
		same(p, page, store.CouponPage{Items: []coupon.Coupon{c}, Total: 1}, "what the search for %q finds", search)
	}
}

// textIsComparedByByte gives each of two customers, keys, sessions and IDs that look
// alike a place of its own.
func textIsComparedByByte(p *probe) {
	c := p.coupon(limits(0, 1))
	keyed := p.coupon()
	for _, text := range texts() {
		p.place(p.checkout(c, text, "key")) // the customer's only place
		p.place(p.checkout(keyed, "ann", text))
		_, err := p.s.Order(p.Context(), "ord "+text)
		p.fails(err, store.ErrNotFound, "Order of an ID like %q, before it exists", text)
		unknown := p.settle(store.Settlement{Event: redemption.Event{Kind: redemption.SessionExpired, At: at(900), SessionID: text}})
		same(p, unknown, store.Settled{}, "what Settle returns for a session like %q, before it exists", text)
		opened := p.reserve(keyed, "bob")
		p.attach(opened.Order.ID, text)
	}
	for _, text := range texts() {
		found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID, CustomerID: text})
		p.ok(err, "LookUp")
		same(p, found.ReservedByCustomer, int64(1), "the reservations of the customer %q", text)
	}
	p.counts(c.ID, 0, int64(len(texts())))
	for _, ids := range [][2]string{{"cpn_a", "cpn_A"}, {"cpn_a1", "cpn_a01"}, {"cpn_x_", "cpn_x%"}} {
		one, two := p.draft(), p.draft()
		one.ID, two.ID = ids[0], ids[1]
		p.ok(p.s.CreateCoupon(p.Context(), one), "CreateCoupon")
		_, err := p.s.Coupon(p.Context(), two.ID)
		p.fails(err, coupon.ErrNotFound, "Coupon of an ID like %q, before it exists", two.ID)
		p.ok(p.s.CreateCoupon(p.Context(), two), "CreateCoupon with the ID %q beside %q", two.ID, one.ID)
	}
	p.invariants()
}

func impossible() []string { return []string{"a\x00", "\x00", "a\xff", "\xed\xa0\x80", "a\xc3"} }

func impossibleTextIsRefused(p *probe) {
	c := p.coupon()
	bare := p.reserve(c, "ann")
	before := p.everything()
	for _, text := range impossible() {
		for what, spoil := range map[string]func(r *store.Reservation){
			"ID":             func(r *store.Reservation) { r.Redemption.ID, r.Order.ReservationID = text, text },
			"key":            func(r *store.Reservation) { r.Redemption.Key, r.Order.Key = text, text },
			"customer":       func(r *store.Reservation) { r.Redemption.CustomerID, r.Order.CustomerID = text, text },
			"order ID":       func(r *store.Reservation) { r.Redemption.OrderID, r.Order.ID = text, text },
			"fingerprint":    func(r *store.Reservation) { r.Order.Fingerprint = text },
			"metadata":       func(r *store.Reservation) { r.Order.Metadata = map[string]string{"k": text} },
			"metadata's key": func(r *store.Reservation) { r.Order.Metadata = map[string]string{text: "v"} },
			"session's URL":  func(r *store.Reservation) { r.Order.SessionURL = text },
			"item":           func(r *store.Reservation) { r.Order.Quote.Lines[0].ItemID = text },
		} {
			r := p.checkout(c, "ann", p.key())
			spoil(&r)
			_, err := p.s.Reserve(p.Context(), r)
			p.fails(err, pricing.ErrInvalid, "Reserve with the %s %q", what, text)
			r.Order.CouponID, r.Order.Coupon, r.Order.ReservationID = "", nil, ""
			if what == "ID" {
				continue
			}
			_, _, err = p.s.CreateOrder(p.Context(), *r.Order)
			p.fails(err, pricing.ErrInvalid, "CreateOrder with the %s %q", what, text)
		}
		for _, a := range []store.Attachment{
			{OrderID: bare.Order.ID, SessionID: text, SessionURL: "https://pay.example", At: at(600), Deadline: at(2000)},
			{OrderID: bare.Order.ID, SessionID: "cs", SessionURL: text, At: at(600), Deadline: at(2000)},
		} {
			_, err := p.s.AttachSession(p.Context(), a)
			p.fails(err, pricing.ErrInvalid, "AttachSession with session %q and URL %q", a.SessionID, a.SessionURL)
		}
		over := p.takeOver(c, bare.Redemption, p.key())
		over.Order.Metadata = map[string]string{"k": text}
		_, err := p.s.TakeOver(p.Context(), over)
		p.fails(err, pricing.ErrInvalid, "TakeOver with the metadata %q", text)
		paid := p.settlement(redemption.SessionCompleted, store.Reserved{
			Redemption: redemption.Redemption{CouponID: c.ID, CustomerID: text},
		}, p.session())
		_, err = p.s.Settle(p.Context(), paid)
		p.fails(err, pricing.ErrInvalid, "Settle of a payment by the customer %q", text)
		changed := c
		changed.Name = text
		_, err = p.s.UpdateCoupon(p.Context(), changed)
		p.fails(err, pricing.ErrInvalid, "UpdateCoupon with the name %q", text)
		p.mirrorIsRefused(c, text)
		same(p, p.everything(), before, "what is stored after the text %q was refused", text)
	}
}

// mirrorIsRefused says that the processor's ID is the text, in all ways there are.
func (p *probe) mirrorIsRefused(c coupon.Coupon, text string) {
	for _, m := range []coupon.Mirror{
		{CouponID: text, PromotionCodeID: "promo", Revision: c.Revision}, {CouponID: "co", PromotionCodeID: text, Revision: c.Revision},
	} {
		_, err := p.s.ConfirmMirror(p.Context(), c.ID, m)
		p.fails(err, pricing.ErrInvalid, "ConfirmMirror of %+q", m)
		changed := c
		changed.Mirror = m
		_, err = p.s.UpdateCoupon(p.Context(), changed)
		p.fails(err, pricing.ErrInvalid, "UpdateCoupon with the mirror %+q", m)
		created := p.draft()
		created.Mirror = m
		p.fails(p.s.CreateCoupon(p.Context(), created), pricing.ErrInvalid, "CreateCoupon with the mirror %+q", m)
	}
}

func impossibleTextIsNotFound(p *probe) {
	c := p.coupon(named("a\ufffd"))
	bare := p.reserve(c, "a")
	before := p.everything()
	for _, text := range impossible() {
		_, err := p.s.Coupon(p.Context(), text)
		p.fails(err, coupon.ErrNotFound, "Coupon(%q)", text)
		_, err = p.s.LookUp(p.Context(), store.LookUp{CouponID: text})
		p.fails(err, coupon.ErrNotFound, "LookUp of the ID %q", text)
		found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID, CustomerID: text, Email: text})
		p.ok(err, "LookUp for the customer %q", text)
		same(p, [2]int64{found.CompletedByCustomer, found.ReservedByCustomer}, [2]int64{}, "the uses of the customer %q", text)
		p.fails(p.s.DeleteCoupon(p.Context(), text, 1), coupon.ErrNotFound, "DeleteCoupon(%q)", text)
		_, err = p.s.ConfirmMirror(p.Context(), text, coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: 1})
		p.fails(err, coupon.ErrNotFound, "ConfirmMirror(%q)", text)
		page, err := p.s.ListCoupons(p.Context(), store.CouponList{Search: text})
		p.ok(err, "ListCoupons with the search %q", text)
		same(p, page, store.CouponPage{}, "what the search %q finds", text)
		for _, list := range []store.RedemptionList{{CouponID: text}, {CustomerID: text}} {
			page, err := p.s.ListRedemptions(p.Context(), list)
			p.ok(err, "ListRedemptions(%+q)", list)
			same(p, page, store.RedemptionPage{}, "the list %+q", list)
		}
		_, err = p.s.Redemption(p.Context(), text)
		p.fails(err, store.ErrNotFound, "Redemption(%q)", text)
		_, err = p.s.Order(p.Context(), text)
		p.fails(err, store.ErrNotFound, "Order(%q)", text)
		for _, pair := range [][2]string{{text, "k"}, {"a", text}} {
			_, err = p.s.OrderByKey(p.Context(), pair[0], pair[1])
			p.fails(err, store.ErrNotFound, "OrderByKey(%q, %q)", pair[0], pair[1])
		}
		_, err = p.s.Transition(p.Context(), text, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
		p.fails(err, store.ErrNotFound, "Transition of %q", text)
		_, err = p.s.AttachSession(p.Context(), attachment(text, "cs"))
		p.fails(err, store.ErrNotFound, "AttachSession to %q", text)
		_, err = p.s.Settle(p.Context(), p.settlement(redemption.SessionExpired, bare, text))
		p.fails(err, pricing.ErrInvalid, "Settle of an expiry that would bring a reservation the session %q", text)
		unknown := p.settlement(redemption.SessionExpired, bare, "cs_lost")
		unknown.Event.OrderID, unknown.ReservationID = text, text
		same(p, p.settle(unknown), store.Settled{}, "what Settle finds by the reservation and order %q", text)
		unknown.Event.SessionID = text
		same(p, p.settle(unknown), store.Settled{}, "what Settle finds by the session %q", text)
		same(p, p.everything(), before, "what is stored after looking for the text %q", text)
	}
}

func impossibleTextHidesNothing(p *probe) {
	c := p.coupon()
	for _, text := range append(impossible(), strings.Repeat("x", redemption.MaxIDLength+1)) {
		r := p.opened(c, "ann")
		_, err := p.s.Transition(p.Context(), r.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900), SessionID: text})
		p.fails(err, redemption.ErrOtherSession, "Transition of a redemption with the session %q", text)
		over := p.takeOver(c, r.Redemption, p.key())
		over.FromSessionID = text
		_, err = p.s.TakeOver(p.Context(), over)
		p.fails(err, store.ErrSuperseded, "TakeOver from the session %q", text)
		paid := p.settlement(redemption.SessionCompleted, store.Reserved{
			Redemption: redemption.Redemption{ID: text, CouponID: text, CustomerID: text}, Order: store.Order{ID: text},
		}, r.Order.SessionID)
		settled := p.settle(paid)
		same(p, settled.Redemption.State, redemption.Completed, "the redemption after a payment that names %q", text)
		same(p, settled.Order.State, store.OrderPaid, "the order after a payment that names %q", text)
	}
	p.counts(c.ID, int64(len(impossible())+1), 0)
	p.invariants()
}
