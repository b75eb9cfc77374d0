package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Follow reads the journal from its beginning, page by page of the given size, until done
// is closed and nothing is left. It returns what it has read, and an error for a position
// that does not increase. Run it while others write.
func Follow(ctx context.Context, s store.Journal, page int, done <-chan struct{}) ([]store.Entry, error) {
	var all []store.Entry
	for after := int64(0); ; {
		last := false
		select {
		case <-done:
			last = true // all earlier commits are visible by now
		default:
		}
		entries, err := s.Journal(ctx, after, page)
		if err != nil {
			return all, fmt.Errorf("journal after %d: %w", after, err)
		}
		for _, e := range entries {
			if e.Position <= after {
				return all, fmt.Errorf("%w: the journal tells position %d after %d", errContradiction, e.Position, after)
			}
			after = e.Position
		}
		all = append(all, entries...)
		if last && len(entries) == 0 {
			return all, nil
		}
	}
}

func journalClauses() []clause {
	return []clause{
		{"what the journal tells", "every change is written with its cause, in order, with the versions 1 to n of the record", whatTheJournalTells},
		{"coupons in the journal", "an entry about a coupon tells it before and after the change, without addresses", couponsInTheJournal},
		{"codes in the journal", "an entry about codes tells the batch, or the code before and after the change, without owners", codesInTheJournal},
		{"history of a coupon", "History returns the entries about one coupon, the highest version first, also those without a position", historyOfACoupon},
		{"actors in the journal", "By tells the journal who made the change", actorsInTheJournal},
		{"pages of the journal", "Journal returns entries after a position, at most limit; 0 begins at the first", pagesOfTheJournal},
		{"a reader misses nothing", "a reader that goes on from the last position it has seen misses no entry and sees none twice; entries of one order, use or coupon keep their order", readerMissesNothing},
	}
}

// entryOf has the parts of an entry's data that the suite checks.
type entryOf struct {
	Cause, State  string
	Before, After struct{ Name, Code string } // empty if there was no coupon or code
	Batch         string                      // the batch of new codes
	Added         int                         // the number of new codes
}

// about returns the entries about a subject.
func (p *probe) about(subject string) []store.Entry {
	p.Helper()
	return only(p.everything().Journal, func(e store.Entry) bool { return e.Subject == subject })
}

// summaries returns the entries about a subject as "kind cause state version".
func (p *probe) summaries(subject string) []string {
	p.Helper()
	var list []string
	for _, e := range p.about(subject) {
		var data entryOf
		if err := json.Unmarshal(e.Data, &data); err != nil {
			p.stop("the data of an entry is no JSON: %v", err)
		}
		list = append(list, fmt.Sprint(e.Kind, " ", data.Cause, " ", data.State, " ", e.Version))
	}
	return list
}

func whatTheJournalTells(p *probe) {
	c, points := p.coupon(), p.coupon(forPoints)
	r := p.reserve(p.checkout("ann", c))
	next := p.reserve(p.retry(p.happen(r.Order, redemption.SessionAttached).Order, c))
	p.happen(r.Order, redemption.Paid)
	same(p, p.summaries(r.Order.ID), []string{
		"order_opened opened open 1", "order_changed session_attached open 2", "order_cancelled replaced cancelled 3", "order_paid paid paid 4",
	}, "what the journal tells of an order")
	same(p, p.summaries(next.Order.ID), []string{"order_opened opened open 1", "order_cancelled superseded_by_payment cancelled 2"}, "what the journal tells of the order that replaced it")
	held := p.exchanged("ann", points)
	taker := p.reserve(taking(p.checkout("ann", points), held))
	p.happen(taker.Order, redemption.PaymentPending, redemption.PaymentFailed)
	p.ofUse(redemption.PointsGivenBack, taker.Uses[0].ID)
	same(p, p.summaries(held.ID), []string{"points_reserved reserved reserved 1", "points_changed points_exchanged reserved 2", "points_changed checked_out released 3"}, "what the journal tells of a points reservation")
	same(p, p.summaries(taker.Order.ID), []string{"order_opened opened open 1", "order_changed payment_pending awaiting_payment 2", "order_cancelled payment_failed cancelled 3"}, "what the journal tells of an order with points")
	same(p, p.summaries(taker.Uses[0].ID), []string{"points_given_back points_given_back released 3"}, "what the journal tells of points that were given back")
	early := p.placed(p.checkout("cleo", c), redemption.Paid, redemption.SessionAttached)
	same(p, p.summaries(early.Order.ID), []string{"order_opened opened open 1", "order_paid paid paid 2", "order_changed session_attached paid 3"}, "what the journal tells of a payment before its session: it is told once")
	s := p.unknown("bob", "cs_lost", c)
	p.settle(s)
	same(p, p.summaries(s.Unknown.Order.ID), []string{"order_paid unknown_payment paid 1"}, "what the journal tells of an unknown payment")
}

func couponsInTheJournal(p *probe) {
	c := p.coupon(named("first"), p.forAddresses("ann@shop.example"))
	c = p.edit(c, named("second"), p.forAddresses("bob@shop.example", "*@members.example"))
	p.save(store.ConfirmMirror, with(c, mirrored(c.Revision)))
	p.save(store.DeleteCoupon, c)
	same(p, p.summaries(c.ID), []string{"coupon_created   1", "coupon_changed   2", "coupon_mirrored   3", "coupon_deleted   4"}, "what the journal tells of a coupon")
	p.keepsSecret(c.ID, "shop.example", "members.example")
	want := [][2]string{{"", "first"}, {"first", "second"}, {"second", "second"}, {"second", ""}}
	for i, e := range p.everything().Journal {
		var data entryOf
		p.own(json.Unmarshal(e.Data, &data))
		same(p, [2]string{data.Before.Name, data.After.Name}, want[i], "the names before and after in entry %d", i)
		same(p, e.At, at(400), "the instant of entry %d", i)
	}
}

func codesInTheJournal(p *probe) {
	c := p.coupon()
	change := p.issue(c, "spring", 3)
	change.Codes[0].Owner, change.Codes[1].Owner = coupon.OwnerID("member-7"), coupon.OwnerEmail("ann@shop.example")
	key := change.Codes[0].Code.String()
	code := answer(p, store.Store.SaveCodes, change)[0]
	answer(p, store.Store.SaveCodes, editOf(code, func(c *coupon.IssuedCode) { c.Owner = coupon.OwnerEmail("bob@shop.example") }))
	same(p, p.summaries(c.ID), []string{"coupon_created   1", "codes_added   2", "code_changed   3"}, "what the journal tells of codes")
	var data [3]entryOf
	for i, e := range p.about(c.ID) {
		p.own(json.Unmarshal(e.Data, &data[i]))
	}
	same(p, []any{data[1].Batch, data[1].Added}, []any{"spring", 3}, "the batch of the new codes, and their number")
	same(p, []string{data[2].Before.Code, data[2].After.Code}, []string{key, key}, "the code before and after its change")
	p.keepsSecret(c.ID, "shop.example", "member-7")
}

// keepsSecret checks that no entry about a coupon contains one of the texts. The texts identify
// customers.
func (p *probe) keepsSecret(couponID string, texts ...string) {
	p.Helper()
	history, err := p.s.History(p.Context(), couponID, 0, store.MaxJournalLimit)
	p.ok(err, "History(%s)", couponID)
	for _, e := range append(history, p.about(couponID)...) {
		for _, text := range texts {
			same(p, bytes.Contains(e.Data, []byte(text)), false, "whether the entry %s %d tells %q: %s", e.Kind, e.Version, text, e.Data)
		}
	}
}

func historyOfACoupon(p *probe) {
	c, other := p.coupon(), p.coupon()
	p.reserve(p.checkout("ann", c))
	for i := range 5 {
		c = p.edit(c, named(fmt.Sprint("name ", i)))
		other = p.edit(other, named("other"))
		if i == 2 {
			p.everything() // gives the entries their positions
		}
	}
	p.save(store.DeleteCoupon, c)
	history := func(id string, before int64, limit int) []store.Entry {
		entries, err := p.s.History(p.Context(), id, before, limit)
		p.ok(err, "History(%s, %d, %d)", id, before, limit)
		for i := range entries {
			entries[i].Position = 0
		}
		return entries
	}
	fresh := history(c.ID, 0, 1<<30)
	want := p.about(c.ID)
	slices.Reverse(want)
	for i := range want {
		want[i].Position = 0
	}
	same(p, len(want), 7, "the number of entries")
	same(p, fresh, want, "the history before its last entries have a position")
	for limit := range 9 {
		for before := range 9 {
			from := 0
			if before > 0 {
				from = max(0, len(want)+1-before)
			}
			same(p, history(c.ID, int64(before), limit), want[from:min(from+limit, len(want))], "the history before version %d, at most %d", before, limit)
		}
	}
	same(p, history("cpn_none", 0, 10), nil, "the history of an unknown coupon")
	same(p, history("a\x00", 0, 10), nil, "the history of what is no ID")
}

func actorsInTheJournal(p *probe) {
	r := p.checkout("ann", p.coupon())
	r.By = "support: Bob \"B\" <b@shop.example>"
	p.reserve(r)
	p.happen(r.Order, redemption.Paid)
	anonymous := p.checkout("ann")
	anonymous.By = ""
	p.reserve(anonymous)
	var actors []string
	for _, e := range p.everything().Journal {
		actors = append(actors, e.By)
	}
	same(p, actors, []string{"admin", r.By, "processor", ""}, "the actors of all entries")
}

func pagesOfTheJournal(p *probe) {
	ends := func(want int64, what string) {
		end, err := p.s.JournalEnd(p.Context())
		p.ok(err, "JournalEnd")
		same(p, end, want, "the end of %s", what)
	}
	ends(0, "an empty journal")
	for range 7 {
		p.reserve(p.checkout("ann"))
	}
	all := p.everything().Journal
	same(p, len(all), 7, "the number of entries")
	ends(all[len(all)-1].Position, "the journal")
	journal := func(after int64, limit int) []store.Entry {
		entries, err := p.s.Journal(p.Context(), after, limit)
		p.ok(err, "Journal(%d, %d)", after, limit)
		return entries
	}
	for limit := range 9 {
		for i := -1; i < len(all); i++ {
			after, from := int64(0), i+1
			if i >= 0 {
				after = all[i].Position
			}
			same(p, journal(after, limit), all[from:min(from+limit, len(all))], "the journal after %d, at most %d", after, limit)
		}
	}
	same(p, journal(-5, 1<<30), all, "the journal from before the beginning, without a bound")
	same(p, journal(1<<62, 10), nil, "the journal behind its end")
}

// readerMissesNothing reads the journal while many transactions run. Some of the transactions fail.
func readerMissesNothing(p *probe) {
	c, full := p.coupon(limits(0, 0)), p.coupon(limits(1, 0))
	p.reserve(p.checkout("zoe", full))
	var read [3][]store.Entry
	var failed [3]error
	var reading sync.WaitGroup
	done := make(chan struct{})
	for i := range read {
		reading.Go(func() { read[i], failed[i] = Follow(p.Context(), p.s, 1+3*i, done) })
	}
	var written atomic.Int64
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		customer := fmt.Sprint("c", i%7)
		for range 4 {
			r := p.checkout(customer, c)
			if _, err := s.Reserve(ctx, p.checkout(customer, c, full)); !errors.Is(err, store.ErrLimit) {
				return fmt.Errorf("a reservation that does not fit: %w", err)
			}
			if _, err := s.Reserve(ctx, r); err != nil {
				return err
			}
			for _, kind := range []redemption.EventKind{redemption.SessionAttached, redemption.Paid} {
				e := event(kind, r.Order)
				e.SessionID = sessionOf(r.Order.ID)
				if _, err := s.Apply(ctx, settlement(e)); err != nil {
					return err
				}
			}
			written.Add(3)
		}
		return nil
	})
	close(done)
	reading.Wait()
	p.succeeded(errs)
	all, before := p.everything().Journal, 3
	same(p, int64(len(all)-before), written.Load(), "the number of entries")
	for i := range read {
		p.ok(failed[i], "following the journal")
		same(p, read[i], all, "what a reader has seen while others wrote")
	}
}

// bySubject returns the entries of each record, as comparable text. Databases may store JSON in another
// form.
func bySubject(journal []store.Entry) map[string][]string {
	entries := map[string][]string{}
	for _, e := range journal {
		var data any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			data = string(e.Data)
		}
		entries[e.Subject] = append(entries[e.Subject], fmt.Sprintf("%s %d at %s by %q: %v", e.Kind, e.Version, e.At, e.By, data))
	}
	return entries
}
