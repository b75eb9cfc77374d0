package simulation

import (
	"context"
	"encoding/json"

	"slices"
	"strings"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// readJournal reads what the journal has got, and adds its subjects to what was touched.
func (w *world) readJournal(s *shop, t *touched, c *change) {
	b := &s.book
	for w.fault == nil {
		last := int64(0)
		if n := len(b.journal); n > 0 {
			last = b.journal[n-1].position
		}
		entries, err := s.eyes.Journal(background(), last, store.MaxJournalLimit)
		if err != nil {
			w.fail(NoSurprise, "read the journal: %v", err)
		}
		if len(entries) == 0 {
			return
		}
		c.any = true
		for _, e := range entries {
			if e.Position <= last {
				w.fail(JournalIsWhole, "position %d comes after %d", e.Position, last)
			}
			last = e.Position
			b.journal = append(b.journal, entry{e.Position, e.Version, e.Subject})
			w.sawEntry(b, t, e)
		}
	}
}

// sawEntry holds an entry to those before it of the same coupon, order or use.
func (w *world) sawEntry(b *book, t *touched, e store.Entry) {
	kind := string(e.Kind)
	switch {
	case strings.HasPrefix(kind, "coupon_"):
		t.coupons = append(t.coupons, e.Subject)
		if e.Kind == store.CouponCreated {
			delete(b.versions, e.Subject)
		}
		w.follows(b, e, e.Subject, e.Version)
	case strings.HasPrefix(kind, "points_"):
		t.uses = append(t.uses, e.Subject)
		w.follows(b, e, e.Subject, e.Version)
	default:
		t.orders = append(t.orders, e.Subject)
		b.kinds[e.Subject] = e.Kind
		w.follows(b, e, e.Subject, e.Version)
		var data struct {
			Uses []struct {
				ID      string
				Version int64
			}
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			w.fail(JournalIsWhole, "the data of entry %d: %v", e.Position, err)
		}
		for _, u := range data.Uses {
			if b.versions[u.ID] != u.Version {
				w.follows(b, e, u.ID, u.Version)
			}
		}
	}
}

func (w *world) follows(b *book, e store.Entry, id string, version int64) {
	if version != b.versions[id]+1 {
		w.fail(JournalIsWhole, "entry %d, %s, has version %d of %s after version %d", e.Position, e.Kind, version, id, b.versions[id])
	}
	b.versions[id] = version
}

// checkJournal compares records that have changed with what the journal has of them.
func (w *world) checkJournal(s *shop, c *change) {
	kinds := map[redemption.OrderState][]store.EntryKind{
		redemption.OrderOpen: {store.OrderOpened, store.OrderChanged}, redemption.OrderAwaitingPayment: {store.OrderChanged},
		redemption.OrderPaid: {store.OrderPaid}, redemption.OrderCancelled: {store.OrderCancelled},
	}
	for _, o := range c.orders {
		if has := s.book.versions[o.now.ID]; has != o.now.Version {
			w.fail(JournalIsWhole, "order %s has version %d, and the journal ends at %d", o.now.ID, o.now.Version, has)
		}
		if kind := s.book.kinds[o.now.ID]; !slices.Contains(kinds[o.now.State], kind) {
			w.fail(JournalIsWhole, "order %s is %s, and its last entry is %s", o.now.ID, o.now.State, kind)
		}
	}
	for _, u := range c.uses {
		if has := s.book.versions[u.now.ID]; has != u.now.Version {
			w.fail(JournalIsWhole, "use %s has version %d, and the journal ends at %d", u.now.ID, u.now.Version, has)
		}
	}
}

// follow lets a host read the journal from where it has stopped. What it gets is what comes
// next, whatever happens to its calls.
func (w *world) follow() bool {
	s, n, limit := w.shop(), w.node(), 1+w.random.IntN(40)
	return w.launch(&task{name: "a host reads the journal", kind: "follow", node: n, shop: s, reads: true}, func(ctx context.Context) error {
		from := s.followed
		after := int64(0)
		if from > 0 {
			after = s.book.journal[from-1].position
		}
		entries, err := n.services[s.number].Journal(ctx, after, limit)
		if err != nil || n.stopped {
			return err
		}
		for i, e := range entries {
			if from+i >= len(s.book.journal) || s.book.journal[from+i] != (entry{e.Position, e.Version, e.Subject}) {
				w.fail(JournalIsWhole, "a host gets entry %d, version %d of %s, as the one after %d", e.Position, e.Version, e.Subject, after)
				return nil
			}
		}
		s.followed = max(s.followed, from+len(entries))
		return nil
	})
}
