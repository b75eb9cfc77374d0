package simulation

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// entry has the position of a journal entry, its subject and its version.
type entry struct {
	position, version int64
	subject           string
}

// readJournal reads the new entries of the journal. It adds their subjects to the touched records.
func (w *world) readJournal(s *shop, t *touched, c *change) {
	b := &s.book
	for w.fault == nil {
		last := b.journal[len(b.journal)-1].position
		entries, err := s.eyes.Journal(background(), last, store.MaxJournalLimit)
		w.must(NoSurprise, err == nil, "read the journal: %v", err)
		if len(entries) == 0 {
			return
		}
		c.any = true
		for _, e := range entries {
			w.must(JournalIsWhole, e.Position > last, "position %d comes after %d", e.Position, last)
			last = e.Position
			b.journal = append(b.journal, entry{e.Position, e.Version, e.Subject})
			w.sawEntry(b, t, e)
		}
	}
}

// sawEntry checks an entry against earlier entries of the same coupon, order or use.
func (w *world) sawEntry(b *book, t *touched, e store.Entry) {
	if e.Kind == store.CouponCreated {
		delete(b.versions, e.Subject)
	}
	w.follows(b, e, e.Subject, e.Version)
	switch kind, _, _ := strings.Cut(string(e.Kind), "_"); kind {
	case "coupon", "codes", "code":
		t.coupons = append(t.coupons, e.Subject)
	case "points":
		t.uses = append(t.uses, e.Subject)
	default:
		t.orders = append(t.orders, e.Subject)
		b.kinds[e.Subject] = e.Kind
		var data struct {
			Uses []struct {
				ID      string
				Version int64
			}
		}
		err := json.Unmarshal(e.Data, &data)
		w.must(JournalIsWhole, err == nil, "the data of entry %d: %v", e.Position, err)
		for _, u := range data.Uses {
			if b.versions[u.ID] != u.Version {
				w.follows(b, e, u.ID, u.Version)
			}
		}
	}
}

func (w *world) follows(b *book, e store.Entry, id string, version int64) {
	w.must(JournalIsWhole, version == b.versions[id]+1, "entry %d, %s, has version %d of %s after version %d", e.Position, e.Kind, version, id, b.versions[id])
	b.versions[id] = version
}

// lastKinds maps the state of an order to the kinds that its last entry may have.
var lastKinds = map[redemption.OrderState][]store.EntryKind{
	redemption.OrderOpen: {store.OrderOpened, store.OrderChanged}, redemption.OrderAwaitingPayment: {store.OrderChanged},
	redemption.OrderPaid: {store.OrderPaid, store.OrderChanged, store.OrderRepaid}, redemption.OrderCancelled: {store.OrderCancelled},
	redemption.OrderPartlyRefunded: {store.OrderRefunded, store.OrderChanged, store.OrderRepaid},
	redemption.OrderEnding:         {store.OrderChanged},
	redemption.OrderRefunded:       {store.OrderRefunded, store.OrderChanged, store.OrderRepaid},
}

// checkJournal compares changed records with their entries in the journal.
func (w *world) checkJournal(s *shop, c *change) {
	last := func(id string, version int64) {
		w.must(JournalIsWhole, version == s.book.versions[id], "%s has version %d, and the journal ends at %d", id, version, s.book.versions[id])
	}
	for _, o := range c.orders {
		last(o.now.ID, o.now.Version)
		kind := s.book.kinds[o.now.ID]
		w.must(JournalIsWhole, slices.Contains(lastKinds[o.now.State], kind), "order %s is %s, and its last entry is %s", o.now.ID, o.now.State, kind)
	}
	for _, u := range c.uses {
		last(u.now.ID, u.now.Version)
	}
}

// follow plays a host that reads the journal on from its last position.
func (w *world) follow() bool {
	s, limit := w.shop(), 1+w.random.IntN(40)
	return w.begin(s, "follow", "a host reads the journal", func(ctx context.Context, t *task) error {
		from := s.followed
		after := s.book.journal[from].position
		entries, err := t.service.Journal(ctx, after, limit)
		t.then = func() {
			for i, e := range entries {
				next := from+i+1 < len(s.book.journal) && s.book.journal[from+i+1] == entry{e.Position, e.Version, e.Subject}
				w.must(JournalIsWhole, next, "a host gets entry %d, version %d of %s, after %d", e.Position, e.Version, e.Subject, after)
			}
			s.followed = max(s.followed, from+len(entries))
		}
		return err
	})
}
