package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// meanwhile is how long a broken store waits between looking and writing.
const meanwhile = 30 * time.Millisecond

// faulty is a sound store of which some calls are done wrongly.
type faulty struct {
	store.Store
	reserve func(ctx context.Context, r store.Reservation) (store.Reserved, error)
	apply   func(ctx context.Context, s store.Settlement) (store.Settled, error)
	save    func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error)
	issue   func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error)
	codes   func(ctx context.Context, list store.CodeList) (store.CodePage, error)
	batches func(ctx context.Context, list store.BatchList) (store.BatchPage, error)
	order   func(ctx context.Context, by store.OrderKey) (store.Settled, error)
	lookUp  func(ctx context.Context, by store.LookUp) (store.LookedUp, error)
	coupons func(ctx context.Context, list store.CouponList) (store.CouponPage, error)
	orders  func(ctx context.Context, list store.OrderList) (store.OrderPage, error)
	uses    func(ctx context.Context, list store.UseList) (store.UsePage, error)
	counts  func(ctx context.Context, keys []string) ([]eligibility.Count, error)
	journal func(ctx context.Context, after int64, limit int) ([]store.Entry, error)
	ends    func(ctx context.Context) (int64, error)
	sums    func(ctx context.Context, list store.SumList) ([]store.DaySum, error)
	history func(ctx context.Context, couponID string, before int64, limit int) ([]store.Entry, error)
	try     func(ctx context.Context, c store.AttemptChange) (time.Time, error)
	forget  func(ctx context.Context, at time.Time) (int, error)
	close   func() error
}

func newFaulty() *faulty {
	s := newDamageable()
	return &faulty{s, s.Reserve, s.Apply, s.SaveCoupon, s.SaveCodes, s.ListCodes, s.ListBatches, s.Order, s.LookUp, s.ListCoupons, s.ListOrders, s.ListUses, s.Counts, s.Journal, s.JournalEnd, s.Sums, s.History, s.SaveAttempts, s.ForgetAttempts, s.Close}
}

func (f *faulty) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return f.reserve(ctx, r)
}

func (f *faulty) Apply(ctx context.Context, s store.Settlement) (store.Settled, error) {
	return f.apply(ctx, s)
}

func (f *faulty) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	return f.save(ctx, c)
}

func (f *faulty) SaveCodes(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	return f.issue(ctx, c)
}

func (f *faulty) ListCodes(ctx context.Context, list store.CodeList) (store.CodePage, error) {
	return f.codes(ctx, list)
}

func (f *faulty) ListBatches(ctx context.Context, list store.BatchList) (store.BatchPage, error) {
	return f.batches(ctx, list)
}

func (f *faulty) SaveAttempts(ctx context.Context, c store.AttemptChange) (time.Time, error) {
	return f.try(ctx, c)
}

func (f *faulty) ForgetAttempts(ctx context.Context, at time.Time) (int, error) {
	return f.forget(ctx, at)
}

func (f *faulty) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	return f.order(ctx, by)
}

// known returns the coupons that a look-up has found.
func known(found store.LookedUp) []*store.Found {
	return slices.DeleteFunc(slices.Clone(found.Coupons), func(c *store.Found) bool { return c == nil })
}

func idOf(c *store.Found) string {
	if c == nil {
		return ""
	}
	return c.Coupon.ID
}

func (f *faulty) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	return f.lookUp(ctx, by)
}

func (f *faulty) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	return f.coupons(ctx, list)
}

func (f *faulty) ListOrders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	return f.orders(ctx, list)
}

func (f *faulty) ListUses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	return f.uses(ctx, list)
}

func (f *faulty) Counts(ctx context.Context, keys []string) ([]eligibility.Count, error) {
	return f.counts(ctx, keys)
}

func (f *faulty) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return f.journal(ctx, after, limit)
}

func (f *faulty) JournalEnd(ctx context.Context) (int64, error) { return f.ends(ctx) }

func (f *faulty) Sums(ctx context.Context, list store.SumList) ([]store.DaySum, error) {
	return f.sums(ctx, list)
}

func (f *faulty) History(ctx context.Context, couponID string, before int64, limit int) ([]store.Entry, error) {
	return f.history(ctx, couponID, before, limit)
}

func (f *faulty) Close() error { return f.close() }

func (f *faulty) Unwrap() store.Store { return f.Store }

// request changes every reservation before the sound store sees it.
func (f *faulty) request(change func(r *store.Reservation)) {
	sound := f.reserve
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		r = r.Normalize()
		change(&r)
		return sound(ctx, r)
	}
}

// told changes every settlement before the sound store sees it.
func (f *faulty) told(change func(ctx context.Context, s *store.Settlement)) {
	sound := f.apply
	f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
		change(ctx, &s)
		return sound(ctx, s)
	}
}

// refusal does something after a reservation was refused, and returns another answer.
func (f *faulty) refusal(of error, then func(ctx context.Context, r store.Reservation) (store.Reserved, error)) {
	sound := f.reserve
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		reserved, err := sound(ctx, r)
		if errors.Is(err, of) {
			return then(ctx, r)
		}
		return reserved, err
	}
}

// change changes every change of a coupon before the sound store sees it.
func (f *faulty) change(change func(c *store.CouponChange)) {
	sound := f.save
	f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
		change(&c)
		return sound(ctx, c)
	}
}

func (f *faulty) entries(change func(entries []store.Entry) []store.Entry) {
	sound := f.journal
	f.journal = func(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
		entries, err := sound(ctx, after, limit)
		return change(entries), err
	}
}

// tells adds a text to the data of all entries of a kind.
func (f *faulty) tells(kind store.EntryKind, text string) {
	f.entries(func(entries []store.Entry) []store.Entry {
		for i, e := range entries {
			if e.Kind == kind {
				entries[i].Data = append([]byte(fmt.Sprintf(`{"more":%q,`, text)), e.Data[1:]...)
			}
		}
		return entries
	})
}

// eachUse changes every use that the store answers.
func (f *faulty) eachUse(change func(u *redemption.Use)) {
	all := func(uses []redemption.Use) {
		for i := range uses {
			change(&uses[i])
		}
	}
	apply, order, orders, uses := f.apply, f.order, f.orders, f.uses
	f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
		settled, err := apply(ctx, s)
		all(settled.Uses)
		return settled, err
	}
	f.order = func(ctx context.Context, by store.OrderKey) (store.Settled, error) {
		settled, err := order(ctx, by)
		all(settled.Uses)
		return settled, err
	}
	f.orders = func(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
		page, err := orders(ctx, list)
		for i := range page.Items {
			all(page.Items[i].Uses)
		}
		return page, err
	}
	f.uses = func(ctx context.Context, list store.UseList) (store.UsePage, error) {
		page, err := uses(ctx, list)
		all(page.Items)
		return page, err
	}
}

func claims(r *store.Reservation, change func(c *eligibility.Claim)) {
	for i := range r.Order.Claims {
		change(&r.Order.Claims[i])
	}
	for i := range r.Uses {
		for j := range r.Uses[i].Claims {
			change(&r.Uses[i].Claims[j])
		}
	}
}

// fault is a way to break the contract, and the clauses that must notice it.
type fault struct {
	plant  func(f *faulty)
	caught []string
}

func faults() map[string]fault {
	all := map[string]fault{}
	for _, group := range []map[string]fault{reservationFaults(), eventFaults(), refundFaults(), couponFaults(), codeFaults(), batchFaults(), attemptFaults(), readFaults(), journalFaults(), damageFaults()} {
		maps.Copy(all, group)
	}
	return all
}

func reservationFaults() map[string]fault {
	return map[string]fault{
		"limits are checked before the lock": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				r = r.Normalize()
				var exceeded []eligibility.Claim
				claims(&r, func(c *eligibility.Claim) {
					counts, _ := f.Store.Counts(ctx, []string{c.Counter})
					if !c.Fits(counts[0]) {
						exceeded = append(exceeded, *c)
					}
					c.Limit = 0
				})
				if len(exceeded) > 0 {
					return store.Reserved{}, &store.LimitError{Exceeded: exceeded}
				}
				time.Sleep(meanwhile) // another caller reads the same counts meanwhile
				return sound(ctx, r)
			}
		}, []string{"race for the last uses of a coupon", "race for the uses of a customer", "race for two coupons in opposite order", "race for a budget", "one counter, two uses", "race for a first order", "race of identities"}},
		"limits are off by one": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				claims(r, func(c *eligibility.Claim) {
					if c.Limit > 0 && c.Limit < 1<<60 {
						c.Limit++
					}
				})
			})
		}, []string{agreement, "a limit is inclusive", "limit of the kind coupon", "limit of the kind customer", "limit of the kind customer and day", "limit of the kind code", "limit of the kind campaign", "limit of the kind budget", "race for the last uses of a coupon", "first order", "identities"}},
		"what is handed over must fit beside itself": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				r = r.Normalize()
				var exceeded []eligibility.Claim
				claims(&r, func(c *eligibility.Claim) {
					if counts, _ := f.Store.Counts(ctx, []string{c.Counter}); r.Order.Replaces != "" && !c.Fits(counts[0]) {
						exceeded = append(exceeded, *c)
					}
				})
				if len(exceeded) > 0 {
					return store.Reserved{}, &store.LimitError{Exceeded: exceeded}
				}
				return sound(ctx, r)
			}
		}, []string{"hand-over", "first order handed over"}},
		"amounts are ones": {func(f *faulty) {
			f.request(func(r *store.Reservation) { claims(r, func(c *eligibility.Claim) { c.Amount = 1 }) })
		}, []string{"limit of the kind budget", "an order comes back"}},
		"only the first use claims": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				for i := 1; i < len(r.Uses); i++ {
					r.Uses[i].Claims = nil
				}
			})
		}, []string{"one counter, two uses", "all or nothing", "race for two coupons in opposite order"}},
		"counters are folded": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				claims(r, func(c *eligibility.Claim) { c.Counter = strings.TrimSpace(strings.ToLower(c.Counter)) })
			})
		}, []string{"counters by bytes", "any text comes back"}},
		"an order stays without its uses": {func(f *faulty) {
			sound := f.reserve
			f.refusal(store.ErrLimit, func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				refused := r
				refused.Uses, refused.Coupons = nil, nil
				_, _ = sound(ctx, refused)
				return store.Reserved{}, &store.LimitError{}
			})
		}, []string{"all or nothing"}},
		"a stale revision is accepted": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				for i := range r.Coupons {
					r.Coupons[i].Revision = 0
				}
			})
		}, []string{agreement, "coupons as priced", "edits against reservations", "new claims are checked"}},
		"a key forgets its fingerprint": {func(f *faulty) {
			f.request(func(r *store.Reservation) { r.Order.Fingerprint = "" })
		}, []string{agreement, "a key of another request", "an order comes back"}},
		"a key is one of all customers": {func(f *faulty) {
			sound := f.reserve
			seen := map[string]string{}
			var mu sync.Mutex
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				mu.Lock()
				defer mu.Unlock()
				if other, used := seen[r.Order.Key]; used && r.Order.Key != "" && other != r.Order.CustomerID {
					return store.Reserved{}, store.ErrKeyReused
				}
				seen[r.Order.Key] = r.Order.CustomerID
				return sound(ctx, r)
			}
		}, []string{"keys of customers"}},
		"a key of an ended order is free": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				reserved, err := sound(ctx, r)
				if err == nil && reserved.Replayed && reserved.Order.State == redemption.OrderCancelled {
					r = r.Normalize()
					r.Order.Key += "#"
					return sound(ctx, r)
				}
				return reserved, err
			}
		}, []string{"a repeated key"}},
		"hand-over in two steps": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				if old, err := f.Store.Order(ctx, store.OrderKey{ID: r.Order.Replaces}); err == nil && old.Order.State == redemption.OrderOpen {
					_, _ = f.Store.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.Cancelled, OrderID: old.Order.ID, SessionID: old.Order.SessionID, At: r.Order.CreatedAt}})
					r = r.Normalize()
					r.Order.Replaces = ""
				}
				return sound(ctx, r)
			}
		}, []string{agreement, "hand-over", "kept below a lowered limit", "new claims are checked", "a chain of hand-overs", "points are handed over", "missing claims are kept for a late payment", "no more is kept"}},
		"what was replaced is replaced again": {func(f *faulty) {
			sound := f.reserve
			f.refusal(store.ErrSuperseded, func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				r = r.Normalize()
				r.Order.Replaces = ""
				return sound(ctx, r)
			})
		}, []string{"race of hand-overs", "what cannot be replaced"}},
		"an order's own claims are forgotten": {func(f *faulty) {
			f.request(func(r *store.Reservation) { r.Order.Claims = nil })
		}, []string{"an order without coupons", "counters by bytes"}},
		"a taken ID is no error": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				reserved, err := sound(ctx, r)
				if errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrKeyReused) {
					return store.Reserved{Order: r.Order, Uses: r.Uses}, nil
				}
				return reserved, err
			}
		}, []string{"taken IDs"}},
		"a paid order takes a reservation beyond the limit": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				if known, err := f.Order(ctx, store.OrderKey{ID: r.Order.ID}); err == nil && known.Order.FromPayment() {
					claims(&r, func(c *eligibility.Claim) { c.Limit = 0 })
				}
				return sound(ctx, r)
			}
		}, []string{"a payment came first"}},
		"an adopted use forgets the payer": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				known, _ := f.Order(ctx, store.OrderKey{ID: r.Order.ID})
				reserved, err := sound(ctx, r)
				if err == nil && len(eligibility.HashedIdentities(known.Order.Claims)) > 0 {
					reserved.Uses[0].Claims = reserved.Uses[0].Claims[:2]
				}
				return reserved, err
			}
		}, []string{"a payer came first"}},
		"a payment tells of an open order": {func(f *faulty) {
			sound := f.apply
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				settled, err := sound(ctx, s)
				if s.Event.Kind == redemption.Paid {
					settled.Order.State = redemption.OrderOpen
				}
				return settled, err
			}
		}, []string{"a reservation beside its payment"}},
		"an order has few uses": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				const few = 16
				if len(r.Uses) > few {
					return store.Reserved{}, &validation.Error{}
				}
				return sound(ctx, r)
			}
		}, []string{"the largest order"}},
		"the coupon is looked at before the key": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				for _, c := range r.Coupons {
					if found, err := store.Find(ctx, f.Store, store.LookUp{Names: store.ByID(c.ID)}); err != nil || !found.Coupon.Active() {
						return store.Reserved{}, coupon.Reject(c.ID, coupon.CouponInactive, coupon.Params{})
					}
				}
				return sound(ctx, r)
			}
		}, []string{"replay comes first"}},
		"points claim nothing before a checkout": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				if r.Order.IsZero() {
					r.Uses[0].Claims = nil
				}
			})
		}, []string{"a points reservation"}},
		"a checkout of points claims again": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				for i := range r.Uses {
					if !r.Order.IsZero() && r.Uses[i].ExchangeID != "" {
						r.Uses[i].Claims = slices.Concat(r.Uses[i].Claims, r.Uses[i].Claims)
					}
				}
			})
		}, []string{"a checkout takes points"}},
		"keys are looked for before the lock": {func(f *faulty) {
			var keys sync.Map
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				if r.Order.IsZero() {
					return sound(ctx, r)
				}
				key := r.Order.CustomerID + " " + r.Order.Key
				if id, used := keys.Load(key); used {
					found, err := f.Store.Order(ctx, store.OrderKey{ID: id.(string)})
					return store.Reserved{Order: found.Order, Uses: found.Uses, Replayed: true}, err
				}
				time.Sleep(meanwhile) // another caller looks for the same key meanwhile
				r = r.Normalize()
				r.Order.Key += r.Order.ID
				reserved, err := sound(ctx, r)
				if err == nil {
					keys.Store(key, r.Order.ID)
				}
				return reserved, err
			}
		}, []string{"race of one key", "a key of another request"}},
		"anybody may replace an order": {func(f *faulty) {
			sound := f.reserve
			f.refusal(store.ErrNotFound, func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				r = r.Normalize()
				r.Order.Replaces = ""
				return sound(ctx, r)
			})
		}, []string{"what cannot be replaced"}},
		"points that cannot be had are given": {func(f *faulty) {
			without := func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				r = r.Normalize()
				for i := range r.Uses {
					u := &r.Uses[i]
					u.Origin, u.ExchangeID, u.Points, u.PointsState = redemption.FromCheckout, "", 0, redemption.NoPoints
				}
				return f.Store.Reserve(ctx, r)
			}
			f.refusal(store.ErrNotFound, without)
			f.refusal(store.ErrSuperseded, without)
		}, []string{"points that cannot be had", "race for points"}},
		"a held reservation is reserved again": {func(f *faulty) {
			sound := f.reserve
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				reserved, err := sound(ctx, r)
				if err == nil && reserved.Replayed && reserved.Order.IsZero() && reserved.Uses[0].Key != r.Uses[0].Key {
					reserved.Uses[0].ID, reserved.Uses[0].Key = r.Uses[0].ID, r.Uses[0].Key
				}
				return reserved, err
			}
		}, []string{"a held reservation is replayed", "race of one exchange"}},
	}
}

func eventFaults() map[string]fault {
	return map[string]fault{
		"what a payment tells of is forgotten": {func(f *faulty) {
			f.told(func(_ context.Context, s *store.Settlement) { s.Event.Learned = nil })
		}, []string{agreement, "identities learned at payment", "race of learned identities"}},
		"documents stay as they were": {func(f *faulty) {
			f.eachUse(func(u *redemption.Use) { u.Claims = u.Claims[:min(2, len(u.Claims))] })
		}, []string{"identities learned at payment"}},
		"limits of learned claims are looked at before the lock": {func(f *faulty) {
			sound := f.apply
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				if len(s.Event.Learned) == 0 {
					return sound(ctx, s)
				}
				before, _ := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID})
				exceeded := make([]bool, len(before.Uses))
				for i, u := range before.Uses {
					counts, _ := f.Store.Counts(ctx, []string{eligibility.CustomerUses(u.CouponID, s.Event.Learned[0])})
					exceeded[i] = !eligibility.Claim{Amount: 1, Limit: 3}.Fits(counts[0])
				}
				time.Sleep(meanwhile) // another caller reads the same counts meanwhile
				settled, err := sound(ctx, s)
				for i := range exceeded {
					settled.Uses[i].OverLimit = exceeded[i]
				}
				return settled, err
			}
		}, []string{"race of learned identities"}},
		"a late payment is not flagged": {func(f *faulty) {
			f.eachUse(func(u *redemption.Use) { u.OverLimit = false })
		}, []string{agreement, "a late payment", "a late payment flags by use", "a late payment beside a paid successor", "an unknown payment"}},
		"a late payment is dropped": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				if o, err := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID}); err == nil && o.Order.State == redemption.OrderCancelled && s.Event.Kind == redemption.Paid {
					return o, nil
				}
				return f.Store.Apply(ctx, s)
			}
		}, []string{"a late payment", "events in any order"}},
		"a payment in a session is dropped": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				if o, err := f.Store.Order(ctx, store.OrderKey{SessionID: s.Event.SessionID}); err == nil && s.Event.Kind == redemption.Paid {
					return o, nil
				}
				return f.Store.Apply(ctx, s)
			}
		}, []string{"events at once", "hand-over against payment", "every event in every state"}},
		"a late end ends the successor": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				settled, err := f.Store.Apply(ctx, s)
				if o, readErr := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID}); readErr == nil && o.Order.ReplacedBy != "" && s.Event.Kind != redemption.Paid {
					_, _ = f.Store.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.Cancelled, OrderID: o.Order.ReplacedBy, At: s.Event.At}})
				}
				return settled, err
			}
		}, []string{agreement, "a late end changes no successor"}},
		"a successor survives": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				if o, err := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID}); err == nil && o.Order.ReplacedBy != "" && s.Event.Kind == redemption.Paid {
					return o, nil
				}
				return f.Store.Apply(ctx, s)
			}
		}, []string{"a late payment after hand-over", "a late payment takes points back", "points are kept for a late payment", "points go back to the order that may be paid"}},
		"a payment on its way is dropped": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				if o, err := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID}); err == nil && o.Order.ReplacedBy != "" && s.Event.Kind == redemption.PaymentPending {
					return o, nil
				}
				return f.Store.Apply(ctx, s)
			}
		}, []string{"a payment on its way after hand-over"}},
		"an end gives back twice": {func(f *faulty) {
			var twice sync.Map
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				settled, err := f.Store.Apply(ctx, s)
				if err == nil && !settled.Changed && settled.Order.State == redemption.OrderCancelled {
					for key := range redemption.Holdings(redemption.Order{State: redemption.OrderOpen, Claims: settled.Order.Claims}) {
						twice.Store(key, true)
					}
				}
				return settled, err
			}
			f.counts = func(ctx context.Context, keys []string) ([]eligibility.Count, error) {
				counts, err := f.Store.Counts(ctx, keys)
				for i := range counts {
					if _, is := twice.Load(keys[i]); is {
						counts[i].Reserved--
					}
				}
				return counts, err
			}
		}, []string{"every event in every state"}},
		"a session is that of two orders": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				settled, err := f.Store.Apply(ctx, s)
				if errors.Is(err, store.ErrSuperseded) && s.Event.Kind == redemption.SessionAttached {
					return store.Settled{Changed: true}, nil
				}
				return settled, err
			}
		}, []string{"one session, one order", "sessions at once", "every event in every state"}},
		"sessions are folded": {func(f *faulty) {
			f.told(func(_ context.Context, s *store.Settlement) {
				s.Event.SessionID = strings.TrimSpace(strings.ToLower(s.Event.SessionID))
			})
		}, []string{"one session, one order", "any text comes back"}},
		"an event goes by the order that it names": {func(f *faulty) {
			f.told(func(ctx context.Context, s *store.Settlement) {
				if o, err := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID}); err == nil && o.Order.SessionID != "" {
					s.Event.SessionID = o.Order.SessionID
				}
			})
		}, []string{"every event in every state", "an event that finds nothing"}},
		"an order without a session comes first": {func(f *faulty) {
			f.told(func(ctx context.Context, s *store.Settlement) {
				if o, err := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID}); err == nil && o.Order.SessionID == "" && s.Event.SessionID != "" {
					s.Event.SessionID += "#"
				}
			})
		}, []string{"an event finds its order"}},
		"what is unknown is an error": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				settled, err := f.Store.Apply(ctx, s)
				if err == nil && settled.Order.IsZero() && settled.Uses == nil {
					return settled, store.ErrNotFound
				}
				return settled, err
			}
		}, []string{"an event that finds nothing", "an unknown payment"}},
		"an unknown order is no error": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				settled, err := f.Store.Apply(ctx, s)
				if errors.Is(err, store.ErrNotFound) {
					err = nil
				}
				return settled, err
			}
		}, []string{"an event that finds nothing", "an unknown use"}},
		"an unknown payment is not recorded": {func(f *faulty) {
			f.told(func(_ context.Context, s *store.Settlement) { s.Unknown = store.Reservation{} })
		}, []string{"an unknown payment", "unknown payments at once", "IDs of unknown payments"}},
		"an unknown payment is recorded twice": {func(f *faulty) {
			var made atomic.Int64
			f.told(func(_ context.Context, s *store.Settlement) {
				if made.Add(1) > 1 && s.Event.SessionID != "" && !s.Unknown.Order.IsZero() {
					s.Event.SessionID += "#"
					s.Unknown.Order.SessionID += "#"
				}
			})
		}, []string{"an unknown payment", "unknown payments at once"}},
		"everything is a change": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				settled, err := f.Store.Apply(ctx, s)
				settled.Changed = err == nil
				return settled, err
			}
		}, []string{"every event in every state", "payments at once", "every event of a use"}},
		"instants of events go back": {func(f *faulty) {
			f.order = func(ctx context.Context, by store.OrderKey) (store.Settled, error) {
				settled, err := f.Store.Order(ctx, by)
				for i := range settled.Uses {
					settled.Uses[i].ReleasedAt = settled.Order.CreatedAt
				}
				return settled, err
			}
		}, []string{"every event in every state"}},
		"points are given back with every end": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				settled, err := f.Store.Apply(ctx, s)
				for _, u := range settled.Uses {
					if u.PointsState == redemption.PointsRefundDue {
						_, _ = f.Store.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.PointsGivenBack, UseID: u.ID, At: s.Event.At}})
					}
				}
				return settled, err
			}
		}, []string{"points of a cancelled order", "every event of a use"}},
	}
}

// secondKey makes a repeated key of a refund a new one.
func secondKey(s *store.Settlement) {
	if s.Event.Kind == redemption.Refunded {
		s.Event.Refund.Key = fmt.Sprint(s.Event.Refund.Key, time.Now().UnixNano())
	}
}

func refundFaults() map[string]fault {
	return map[string]fault{
		"keys of refunds are ignored": {func(f *faulty) {
			f.told(func(_ context.Context, s *store.Settlement) { secondKey(s) })
		}, []string{agreement, "refunds", "keys of refunds", "race of one refund"}},
		"refunds are looked for before the lock": {func(f *faulty) {
			f.told(func(ctx context.Context, s *store.Settlement) {
				if s.Event.Kind != redemption.Refunded {
					return
				}
				seen, _ := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID})
				time.Sleep(meanwhile) // another caller looks for the same key meanwhile
				if _, known := seen.Order.RefundOf(s.Event.Refund.Key); !known {
					secondKey(s)
				}
			})
		}, []string{"refunds", "keys of refunds", "race of one refund"}},
		"a refund gives every use back": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				for i := range r.Uses {
					r.Uses[i].Restore = coupon.RestoreAlways
				}
			})
		}, []string{"refunds"}},
		"a second payment finds no order": {func(f *faulty) {
			f.told(func(_ context.Context, s *store.Settlement) {
				if s.Event.Kind == redemption.Paid {
					s.Event.OrderID = ""
				}
			})
		}, []string{"a payment in another session"}},
		"a charge is not stored": {func(f *faulty) {
			f.told(func(_ context.Context, s *store.Settlement) {
				s.Event.Charge = redemption.Charge{}
				s.Unknown.Order.Charge = redemption.Charge{}
			})
		}, []string{"what was charged", "a wrong charge"}},
		"a refund gives no use back": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				for i := range r.Uses {
					r.Uses[i].Restore = coupon.RestoreNever
				}
			})
		}, []string{"refunds", "points of a refunded use", "a use that a refund gave back", "race of refunds"}},
		"a refund is counted again": {func(f *faulty) {
			var refunded sync.Map
			f.told(func(_ context.Context, s *store.Settlement) {
				if s.Event.Kind == redemption.Refunded {
					refunded.Store("any", true)
				}
			})
			f.counts = func(ctx context.Context, keys []string) ([]eligibility.Count, error) {
				counts, err := f.Store.Counts(ctx, keys)
				for i := range counts {
					if _, is := refunded.Load("any"); is && eligibility.IsBudget(keys[i]) {
						counts[i].Completed--
					}
				}
				return counts, err
			}
		}, []string{"refunds", "race of refunds", "race of one refund"}},
		"points are refunded by every refund": {func(f *faulty) {
			f.eachUse(func(u *redemption.Use) {
				if u.PointsState == redemption.PointsRefunded && u.State == redemption.Completed {
					u.PointsState = redemption.PointsRefundDue
				}
			})
		}, []string{"points of a refunded use"}},
		"any order is refunded": {func(f *faulty) {
			sound := f.apply
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				settled, err := sound(ctx, s)
				if s.Event.Kind == redemption.Refunded && (errors.Is(err, redemption.ErrIllegal) || errors.Is(err, store.ErrNotFound)) {
					err = nil
				}
				return settled, err
			}
		}, []string{agreement, "refunds that are refused", "keys of refunds"}},
		"a sweep sees no repayments": {func(f *faulty) {
			f.orders = func(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
				page, err := f.Store.ListOrders(ctx, list)
				if !list.DueAt.IsZero() {
					page.Items = slices.DeleteFunc(page.Items, func(o store.Settled) bool { return o.Order.State.Paid() })
				}
				return page, err
			}
		}, []string{"repayments"}},
		"the journal does not tell of refunds": {func(f *faulty) {
			f.entries(func(entries []store.Entry) []store.Entry {
				return slices.DeleteFunc(entries, func(e store.Entry) bool { return e.Kind == store.OrderRefunded })
			})
		}, []string{"refunds"}},
	}
}

func couponFaults() map[string]fault {
	return map[string]fault{
		"codes are compared without accents": {func(f *faulty) {
			taken := map[string]bool{}
			var mu sync.Mutex
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				mu.Lock()
				defer mu.Unlock()
				folded := strings.ReplaceAll(c.Coupon.Code.String(), "É", "E")
				if c.Kind == store.CreateCoupon && taken[folded] {
					return coupon.Coupon{}, coupon.Reject(c.Coupon.ID, coupon.CodeTaken, coupon.Params{})
				}
				saved, err := f.Store.SaveCoupon(ctx, c)
				taken[folded] = taken[folded] || err == nil && c.Kind == store.CreateCoupon
				return saved, err
			}
		}, []string{"taken codes", "a code is free again"}},
		"codes are looked for before the lock": {func(f *faulty) {
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				_, free := store.Find(ctx, f.Store, store.LookUp{Names: store.ByCode(c.Coupon.Code)})
				time.Sleep(meanwhile) // another caller looks for the same code meanwhile
				saved, err := f.Store.SaveCoupon(ctx, c)
				if errors.Is(err, coupon.ErrCodeTaken) && free != nil {
					return c.Coupon, nil
				}
				return saved, err
			}
		}, []string{"codes at once"}},
		"a new coupon has no mirror": {func(f *faulty) {
			f.change(func(c *store.CouponChange) {
				if c.Kind == store.CreateCoupon {
					c.Coupon.Mirror = coupon.Mirror{}
				}
			})
		}, []string{"a coupon comes back"}},
		"a taken code names the new coupon": {func(f *faulty) {
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				saved, err := f.Store.SaveCoupon(ctx, c)
				if errors.Is(err, coupon.ErrCodeTaken) {
					err = coupon.Reject(c.Coupon.ID, coupon.CodeTaken, coupon.Params{})
				}
				return saved, err
			}
		}, []string{"taken codes"}},
		"an edit ignores the revision": {func(f *faulty) {
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				saved, err := f.Store.SaveCoupon(ctx, c)
				if errors.Is(err, store.ErrStaleRevision) {
					found, _ := store.Find(ctx, f.Store, store.LookUp{Names: store.ByID(c.Coupon.ID)})
					c.Coupon.Revision, c.Coupon.Mirror.Revision = found.Coupon.Revision, found.Coupon.Revision
					return f.Store.SaveCoupon(ctx, c)
				}
				return saved, err
			}
		}, []string{"changes of what is not there", "edits at once"}},
		"an edit keeps the scope": {func(f *faulty) {
			f.change(func(c *store.CouponChange) { c.Coupon.Scope = coupon.Scope{AppliesTo: coupon.All} })
		}, []string{"edits"}},
		"a narrowed list replaces the whole one": {func(f *faulty) {
			f.change(func(c *store.CouponChange) {
				if list := c.Coupon.AllowedUserEmails; c.Kind == store.EditCoupon && list.Narrowed() {
					c.Coupon.AllowedUserEmails, _ = coupon.NewEmailSet(append(list.Slice(), "someone@shop.example")...)
				}
			})
		}, []string{agreement, "an allow-list stays"}},
		"a mirror raises the revision": {func(f *faulty) {
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				saved, err := f.Store.SaveCoupon(ctx, c)
				if err == nil && c.Kind == store.ConfirmMirror {
					return f.Store.SaveCoupon(ctx, store.CouponChange{Kind: store.EditCoupon, Coupon: saved, Unlimited: c.Unlimited, At: c.At})
				}
				return saved, err
			}
		}, []string{"mirrors"}},
		"a deleted coupon is only switched off": {func(f *faulty) {
			f.change(func(c *store.CouponChange) {
				if c.Kind == store.DeleteCoupon {
					found, _ := store.Find(context.Background(), f.Store, store.LookUp{Names: store.ByID(c.Coupon.ID), Whole: true})
					found.Coupon.Revision, found.Coupon.State = c.Coupon.Revision, coupon.Deleting
					c.Kind, c.Coupon, c.Unlimited = store.EditCoupon, found.Coupon, found.Coupon.Limits.MaxUses == 0
				}
			})
		}, []string{"a code is free again", "deletes against reservations", "coupons as priced"}},
		"a limit that is added forgets the past": {func(f *faulty) {
			var folded sync.Map
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				saved, err := f.Store.SaveCoupon(ctx, c)
				if err == nil && c.Kind == store.EditCoupon && !c.Unlimited {
					folded.Store(eligibility.CouponUses(c.Coupon.ID), true)
				}
				return saved, err
			}
			f.counts = func(ctx context.Context, keys []string) ([]eligibility.Count, error) {
				counts, err := f.Store.Counts(ctx, keys)
				for i := range counts {
					if _, is := folded.Load(keys[i]); is {
						counts[i].Reserved /= 2
					}
				}
				return counts, err
			}
		}, []string{"a limit that is added later", "edits against reservations"}},
		"a limit stays after it was taken away": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				for i := range r.Uses {
					for j := range r.Uses[i].Claims {
						if c := &r.Uses[i].Claims[j]; eligibility.IsShared(c.Counter) && c.Limit == 0 {
							c.Limit = 3
						}
					}
				}
			})
		}, []string{"a limit that is taken away"}},
		"a deleted coupon takes its uses along": {func(f *faulty) {
			var gone sync.Map
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				saved, err := f.Store.SaveCoupon(ctx, c)
				if err == nil && c.Kind == store.DeleteCoupon {
					gone.Store(c.Coupon.ID, true)
				}
				return saved, err
			}
			f.uses = func(ctx context.Context, list store.UseList) (store.UsePage, error) {
				page, err := f.Store.ListUses(ctx, list)
				page.Items = slices.DeleteFunc(page.Items, func(u redemption.Use) bool { _, is := gone.Load(u.CouponID); return is })
				return page, err
			}
		}, []string{"deletion leaves orders"}},
		"an ID is taken only by what is there": {func(f *faulty) {
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				saved, err := f.Store.SaveCoupon(ctx, c)
				if _, missing := store.Find(ctx, f.Store, store.LookUp{Names: store.ByID(c.Coupon.ID)}); missing != nil && errors.Is(err, store.ErrConflict) {
					return c.Coupon, nil
				}
				return saved, err
			}
		}, []string{"an ID with uses"}},
		"an invalid edit is stored": {func(f *faulty) {
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				saved, err := f.Store.SaveCoupon(ctx, c)
				if errors.Is(err, validation.ErrInvalid) {
					return c.Coupon, nil
				}
				return saved, err
			}
		}, []string{"invalid changes", "text that cannot be kept is refused"}},
	}
}

func readFaults() map[string]fault {
	return map[string]fault{
		"a closed store answers": {func(f *faulty) { f.close = func() error { return nil } }, []string{"after Close"}},
		"contexts are ignored": {func(f *faulty) {
			sound, apply := f.reserve, f.apply
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				return sound(context.WithoutCancel(ctx), r)
			}
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				return apply(context.WithoutCancel(ctx), s)
			}
		}, []string{"contexts"}},
		"the store keeps what it was passed": {func(f *faulty) {
			var passed sync.Map
			sound, orders := f.reserve, f.orders
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				reserved, err := sound(ctx, r)
				if err == nil && !reserved.Replayed {
					passed.Store(r.Order.ID, r.Order.Metadata)
				}
				return reserved, err
			}
			f.orders = func(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
				page, err := orders(ctx, list)
				for i := range page.Items {
					if kept, found := passed.Load(page.Items[i].Order.ID); found {
						page.Items[i].Order.Metadata, _ = kept.(map[string]string)
					}
				}
				return page, err
			}
		}, []string{"copies"}},
		"the store returns what it keeps": {func(f *faulty) {
			var kept sync.Map
			f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
				found, err := f.Store.LookUp(ctx, by)
				for _, c := range known(found) {
					if len(c.Held) > 0 {
						first, _ := kept.LoadOrStore(by.CustomerID, c.Held)
						c.Held, _ = first.([]redemption.Use)
					}
				}
				return found, err
			}
		}, []string{"copies"}},
		"instants are cut off at the millisecond": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				r.Order.CreatedAt = r.Order.CreatedAt.Truncate(time.Millisecond)
				for i := range r.Uses {
					r.Uses[i].CreatedAt = r.Uses[i].CreatedAt.Truncate(time.Millisecond)
				}
			})
		}, []string{"instants"}},
		"spaces at the end do not count": {func(f *faulty) {
			f.order = func(ctx context.Context, by store.OrderKey) (store.Settled, error) {
				found, err := f.Store.Order(ctx, by)
				if err != nil {
					by.ID = strings.TrimRight(by.ID, " ")
					return f.Store.Order(ctx, by)
				}
				return found, err
			}
		}, []string{"any text comes back"}},
		"odd text is an error of the database": {func(f *faulty) {
			f.order = func(ctx context.Context, by store.OrderKey) (store.Settled, error) {
				if !store.IsText(by.ID) || !store.IsText(by.SessionID) {
					return store.Settled{}, errors.New("invalid byte sequence for encoding")
				}
				return f.Store.Order(ctx, by)
			}
		}, []string{"text that cannot be kept is not found"}},
		"requests are cut to size": {func(f *faulty) {
			f.request(func(r *store.Reservation) {
				r.Uses = r.Uses[:min(len(r.Uses), redemption.MaxUses)]
				r.Coupons = r.Coupons[:min(len(r.Coupons), redemption.MaxUses)]
			})
		}, []string{"bounds"}},
		"uses are those of the first identity": {func(f *faulty) {
			f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
				slices.Sort(by.Identities)
				return f.Store.LookUp(ctx, by)
			}
		}, []string{"looking up"}},
		"names are answered in the order of coupons": {func(f *faulty) {
			f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
				found, err := f.Store.LookUp(ctx, by)
				slices.SortStableFunc(found.Coupons, func(a, b *store.Found) int { return strings.Compare(idOf(a), idOf(b)) })
				return found, err
			}
		}, []string{agreement, "looking up at once"}},
		"ended orders are looked up too": {func(f *faulty) {
			f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
				found, err := f.Store.LookUp(ctx, by)
				if by.Orders > 0 && by.CustomerID != "" && err == nil {
					page, _ := f.Store.ListOrders(ctx, store.OrderList{CustomerID: by.CustomerID, PageSize: by.Orders})
					found.Orders = page.Items
				}
				return found, err
			}
		}, []string{agreement, "looking up at once"}},
		"the allow-list is always whole": {func(f *faulty) {
			f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
				by.Whole = true
				return f.Store.LookUp(ctx, by)
			}
		}, []string{"narrowed allow-lists", "an allow-list stays"}},
		"a look-up knows no domains": {func(f *faulty) {
			f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
				found, err := f.Store.LookUp(ctx, by)
				for _, c := range known(found) {
					if list := c.Coupon.AllowedUserEmails; list.Narrowed() {
						own := slices.DeleteFunc(list.Slice(), func(entry string) bool { return strings.HasPrefix(entry, "*@") })
						c.Coupon.AllowedUserEmails = coupon.NarrowedEmailSet(list.Len(), strings.Join(own, ""))
					}
				}
				return found, err
			}
		}, []string{"narrowed allow-lists"}},
		"held reservations are the free ones": {func(f *faulty) {
			f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
				found, err := f.Store.LookUp(ctx, by)
				for _, c := range known(found) {
					c.Held = slices.DeleteFunc(c.Held, func(u redemption.Use) bool { return !u.Free() })
				}
				return found, err
			}
		}, []string{"held reservations"}},
		"a cursor skips one": {func(f *faulty) {
			f.coupons = func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				page, err := f.Store.ListCoupons(ctx, list)
				if list.After != "" && len(page.Items) > 0 {
					page.Items = page.Items[1:]
				}
				return page, err
			}
		}, []string{agreement, "coupons are listed", "cursors skip nothing"}},
		"a search has wildcards": {func(f *faulty) {
			f.coupons = func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				list.Search = strings.Trim(list.Search, "%_")
				return f.Store.ListCoupons(ctx, list)
			}
		}, []string{"coupons are found"}},
		"a list out of bounds is cut to size": {func(f *faulty) {
			f.coupons = func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				list.PageSize = min(list.PageSize, store.MaxPageSize)
				return f.Store.ListCoupons(ctx, list)
			}
		}, []string{"lists out of bounds"}},
		"what has just expired is left out": {func(f *faulty) {
			f.coupons = func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				if !list.ExpiredAt.IsZero() {
					list.ExpiredAt = list.ExpiredAt.Add(-time.Microsecond)
				}
				return f.Store.ListCoupons(ctx, list)
			}
		}, []string{"coupons are narrowed"}},
		"the end of a period is in it": {func(f *faulty) {
			f.orders = func(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
				if !list.Created.Until.IsZero() {
					list.Created.Until = list.Created.Until.Add(time.Microsecond)
				}
				return f.Store.ListOrders(ctx, list)
			}
		}, []string{"orders are listed"}},
		"every day has 24 hours": {func(f *faulty) {
			f.sums = func(ctx context.Context, list store.SumList) ([]store.DaySum, error) {
				_, offset := list.From.Zone()
				list.From = list.From.In(time.FixedZone("", offset))
				return f.Store.Sums(ctx, list)
			}
		}, []string{"sums"}},
		"the history has only what has a position": {func(f *faulty) {
			read := false
			f.journal = func(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
				read = true
				return f.Store.Journal(ctx, after, limit)
			}
			f.history = func(ctx context.Context, couponID string, before int64, limit int) ([]store.Entry, error) {
				entries, err := f.Store.History(ctx, couponID, before, limit)
				if !read && len(entries) > 0 {
					entries = entries[1:]
				}
				read = false
				return entries, err
			}
		}, []string{"history of a coupon"}},
		"orders are listed by one state only": {func(f *faulty) {
			f.orders = func(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
				if list.CustomerID != "" {
					list.State = 0
				}
				return f.Store.ListOrders(ctx, list)
			}
		}, []string{"orders are listed"}},
		"no list has orders that are ending": {func(f *faulty) {
			f.orders = func(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
				page, err := f.Store.ListOrders(ctx, list)
				page.Items = slices.DeleteFunc(page.Items, func(o store.Settled) bool { return o.Order.State == redemption.OrderEnding })
				return page, err
			}
		}, []string{agreement, "orders are listed", "work for the sweep"}},
		"a sweep sees no payments of cancelled orders": {func(f *faulty) {
			f.orders = func(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
				page, err := f.Store.ListOrders(ctx, list)
				if !list.DueAt.IsZero() {
					page.Items = slices.DeleteFunc(page.Items, func(o store.Settled) bool { return o.Order.State == redemption.OrderCancelled })
				}
				return page, err
			}
		}, []string{agreement, "work for the sweep"}},
		"a list of uses forgets the exchange": {func(f *faulty) {
			f.uses = func(ctx context.Context, list store.UseList) (store.UsePage, error) {
				list.ExchangeID = ""
				return f.Store.ListUses(ctx, list)
			}
		}, []string{"uses are listed"}},
		"what is due now is not due": {func(f *faulty) {
			f.orders = func(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
				if !list.DueAt.IsZero() {
					list.DueAt = list.DueAt.Add(-time.Microsecond)
				}
				return f.Store.ListOrders(ctx, list)
			}
		}, []string{"work for the sweep"}},
		"counts come in the order of the store": {func(f *faulty) {
			f.counts = func(ctx context.Context, keys []string) ([]eligibility.Count, error) {
				sorted := slices.Clone(keys)
				slices.Sort(sorted)
				return f.Store.Counts(ctx, slices.Compact(sorted))
			}
		}, []string{"counters by bytes"}},
	}
}

func journalFaults() map[string]fault {
	return map[string]fault{
		"the journal skips an entry": {func(f *faulty) {
			f.entries(func(entries []store.Entry) []store.Entry {
				return slices.DeleteFunc(entries, func(e store.Entry) bool { return e.Position == 2 })
			})
		}, []string{agreement, "what the journal tells", "coupons in the journal", "a reader misses nothing"}},
		"the journal ends before its last entry": {func(f *faulty) {
			sound := f.ends
			f.ends = func(ctx context.Context) (int64, error) {
				end, err := sound(ctx)
				return max(end-1, 0), err
			}
		}, []string{"pages of the journal"}},
		"the journal tells twice": {func(f *faulty) {
			f.entries(func(entries []store.Entry) []store.Entry {
				if len(entries) > 0 {
					entries = slices.Insert(entries, 0, entries[0])
				}
				return entries
			})
		}, []string{"what the journal tells", "pages of the journal"}},
		"the journal is in another order": {func(f *faulty) {
			f.entries(func(entries []store.Entry) []store.Entry {
				for i := 1; i < len(entries); i += 2 {
					a, b := &entries[i-1], &entries[i]
					*a, *b = *b, *a
					a.Position, b.Position = b.Position, a.Position
				}
				return entries
			})
		}, []string{"what the journal tells", "coupons in the journal"}},
		"positions are given before the commit": {func(f *faulty) {
			var overtaken sync.Map // positions behind which a reader has seen another
			f.entries(func(entries []store.Entry) []store.Entry {
				const seldom = 5
				var last int64
				if len(entries) > 0 {
					last = entries[len(entries)-1].Position
				}
				return slices.DeleteFunc(entries, func(e store.Entry) bool {
					if e.Position%seldom > 0 {
						return false
					}
					if e.Position == last {
						_, committed := overtaken.Load(e.Position)
						return !committed
					}
					_, committed := overtaken.LoadOrStore(e.Position, true)
					return !committed
				})
			})
		}, []string{"a reader misses nothing"}},
		"the journal forgets who it was": {func(f *faulty) {
			f.entries(func(entries []store.Entry) []store.Entry {
				for i := range entries {
					entries[i].By = ""
				}
				return entries
			})
		}, []string{"actors in the journal"}},
		"the journal tells no data": {func(f *faulty) {
			f.entries(func(entries []store.Entry) []store.Entry {
				for i := range entries {
					entries[i].Data = []byte("{}")
				}
				return entries
			})
		}, []string{"coupons in the journal", "what the journal tells"}},
		"the journal tells addresses": {func(f *faulty) {
			sound := f.save
			f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
				f.tells(store.CouponChanged, strings.Join(c.Coupon.AllowedUserEmails.Slice(), " "))
				return sound(ctx, c)
			}
		}, []string{"coupons in the journal"}},
		"the journal tells the owners of new codes": {func(f *faulty) {
			f.issues(func(c *store.CodeChange) { f.tells(store.CodesAdded, c.Codes[0].Owner.String()) })
		}, []string{"codes in the journal"}},
		"the journal tells the owners of changed codes": {func(f *faulty) {
			f.issues(func(c *store.CodeChange) { f.tells(store.CodeChanged, c.Codes[0].Owner.String()) })
		}, []string{"codes in the journal"}},
		"a page has one entry too many": {func(f *faulty) {
			sound := f.journal
			f.journal = func(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
				return sound(ctx, after, limit+1)
			}
		}, []string{"pages of the journal"}},
	}
}
