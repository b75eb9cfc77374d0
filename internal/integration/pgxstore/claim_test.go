package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// meanwhile is what others do between a reservation's look at its coupon and its turn at
// the gate, and what becomes of the reservation.
type meanwhile struct {
	limits coupon.Limits
	points bool                       // the coupon is for points
	once   bool                       // a batch answers all in one go
	adapt  func(*store.Reservation)   // changes what is asked
	before func(*claims) error        // what is done before, if anything
	do     func(*claims) error        // what is done meanwhile
	want   func(store.Reserved) error // nil if a rejection or an error is wanted
	code   coupon.RejectionCode
	err    error
}

var meanwhiles = map[string]meanwhile{
	"nothing": {
		limits: coupon.Limits{MaxUses: 10, MaxUsesPerUser: 1}, once: true, do: nobody, want: fresh,
	},
	"nothing, and there are as many places as are asked for": {
		limits: coupon.Limits{MaxUses: 2, MaxUsesPerUser: 1}, once: true, do: nobody, want: fresh,
	},
	"nothing, and the customer has uses of this coupon and of another": {
		limits: coupon.Limits{MaxUses: 10, MaxUsesPerUser: 2}, once: true, before: func(w *claims) error {
			elsewhere := newCoupon(w.T, "elsewhere")
			err := errors.Join(w.others.CreateCoupon(w.Context(), elsewhere), w.reserve("ann", "k"))
			for _, key := range []string{"e1", "e2"} {
				_, failed := w.others.Reserve(w.Context(), checkout(elsewhere, w.quote, "ann", key, epoch))
				err = errors.Join(err, failed)
			}
			return err
		}, do: nobody, want: fresh,
	},
	"nothing, and the customer has given points back": {
		limits: coupon.Limits{MaxUses: 10}, points: true, once: true, adapt: byPointsInstead, before: func(w *claims) error {
			return errors.Join(w.exchanged("ann", "k"), w.cancel("ann", "k"))
		}, do: nobody, want: fresh,
	},
	"nothing, and the customer is paying with points": {
		limits: coupon.Limits{MaxUses: 10}, points: true, once: true, adapt: byPointsInstead, before: func(w *claims) error {
			if err := w.exchanged("ann", "k"); err != nil {
				return err
			}
			over := store.TakeOver{ReservationID: redemption.IDPrefix + "ann-k", Deadline: epoch.Add(time.Hour), At: epoch}
			over.Order = *checkout(w.coupon, w.quote, "ann", "k", epoch).Order
			over.Order.Key = "paid"
			_, err := w.others.Transition(w.Context(), over.ReservationID, redemption.Event{Kind: redemption.PointsExchanged, At: epoch})
			if err == nil {
				_, err = w.others.TakeOver(w.Context(), over)
			}
			return err
		}, do: nobody, want: fresh,
	},
	"others take places": {
		limits: coupon.Limits{MaxUses: 10, MaxUsesPerUser: 1}, do: func(w *claims) error { return w.reserve("bob", "k") }, want: fresh,
	},
	"the last places are taken": {
		limits: coupon.Limits{MaxUses: 4}, do: func(w *claims) error {
			return errors.Join(w.reserve("bob", "k"), w.reserve("carl", "k"), w.reserve("dora", "k"), w.reserve("emil", "k"))
		}, code: coupon.UsageLimitReached,
	},
	"the last places are taken and given back": {
		limits: coupon.Limits{MaxUses: 4}, do: func(w *claims) error {
			return errors.Join(w.reserve("bob", "k"), w.reserve("carl", "k"), w.reserve("dora", "k"), w.reserve("emil", "k"),
				w.cancel("bob", "k"), w.cancel("carl", "k"), w.cancel("dora", "k"))
		}, want: fresh,
	},
	"the customer's only use is taken": {
		limits: coupon.Limits{MaxUses: 10, MaxUsesPerUser: 1}, do: func(w *claims) error { return w.reserve("ann", "k") }, code: coupon.UserUsageLimitReached,
	},
	"one of the customer's uses is taken": {
		limits: coupon.Limits{MaxUses: 10, MaxUsesPerUser: 2}, do: func(w *claims) error { return w.reserve("ann", "k") }, want: fresh,
	},
	"the customer's only use is taken and given back": {
		limits: coupon.Limits{MaxUses: 10, MaxUsesPerUser: 1}, do: func(w *claims) error {
			return errors.Join(w.reserve("ann", "k"), w.cancel("ann", "k"))
		}, want: fresh,
	},
	"the customer's only use is taken, of a coupon without another limit": {
		limits: coupon.Limits{MaxUsesPerUser: 1}, do: func(w *claims) error { return w.reserve("ann", "k") }, code: coupon.UserUsageLimitReached,
	},
	"one of the customer's uses is taken, of a coupon without another limit": {
		limits: coupon.Limits{MaxUsesPerUser: 2}, do: func(w *claims) error { return w.reserve("ann", "k") }, want: fresh,
	},
	"the customer's only use is taken and given back, of a coupon without another limit": {
		limits: coupon.Limits{MaxUsesPerUser: 1}, do: func(w *claims) error {
			return errors.Join(w.reserve("ann", "k"), w.cancel("ann", "k"))
		}, want: fresh,
	},
	"the coupon is switched off": {
		limits: coupon.Limits{MaxUses: 10}, do: func(w *claims) error {
			return w.update(func(c *coupon.Coupon) { c.State = coupon.Inactive })
		}, code: coupon.CouponInactive,
	},
	"the coupon is edited": {
		limits: coupon.Limits{MaxUses: 10}, adapt: func(r *store.Reservation) { r.CouponRevision = 1 },
		do: func(w *claims) error { return w.update(func(c *coupon.Coupon) { c.Name = "another" }) }, err: store.ErrStaleRevision,
	},
	"the coupon is edited, which is nothing to the call": {
		limits: coupon.Limits{MaxUses: 10},
		do:     func(w *claims) error { return w.update(func(c *coupon.Coupon) { c.Name = "another" }) }, want: fresh,
	},
	"the limit is raised": {
		limits: coupon.Limits{MaxUses: 10}, do: func(w *claims) error {
			return w.update(func(c *coupon.Coupon) { c.Limits.MaxUses = 20 })
		}, want: fresh,
	},
	"the limit is lifted": {
		limits: coupon.Limits{MaxUses: 10}, do: func(w *claims) error {
			return w.update(func(c *coupon.Coupon) { c.Limits.MaxUses = 0 })
		}, want: fresh,
	},
	"the customer gets a limit": {
		limits: coupon.Limits{MaxUses: 10}, do: func(w *claims) error {
			return errors.Join(w.reserve("ann", "k"), w.update(func(c *coupon.Coupon) { c.Limits.MaxUsesPerUser = 1 }))
		}, code: coupon.UserUsageLimitReached,
	},
	"the coupon is deleted": {
		limits: coupon.Limits{MaxUses: 10}, do: func(w *claims) error { return w.others.DeleteCoupon(w.Context(), w.coupon.ID, 1) },
		code: coupon.CouponNotFound,
	},
	"the customer exchanges points":                           exchanged(coupon.Limits{MaxUses: 10}),
	"the customer exchanges points for an unlimited coupon":   exchanged(coupon.Limits{}),
	"the customer exchanges points, once is what each may do": exchanged(coupon.Limits{MaxUsesPerUser: 1}),
}

// nobody does anything meanwhile.
func nobody(*claims) error { return nil }

// exchanged is the same customer's exchange of points meanwhile.
func exchanged(limits coupon.Limits) meanwhile {
	return meanwhile{
		limits: limits, points: true, adapt: byPointsInstead, do: func(w *claims) error {
			_, err := w.others.Reserve(w.Context(), w.exchange("ann", "k"))
			return err
		}, want: func(got store.Reserved) error {
			if !got.Replayed || got.Redemption.Key != "k" {
				return errors.New("it is not the reservation that the customer holds")
			}
			return nil
		},
	}
}

// fresh accepts a reservation that is new.
func fresh(got store.Reserved) error {
	if got.Replayed || got.Redemption.Key != "slow" {
		return errors.New("it is another reservation")
	}
	return nil
}

func byPointsInstead(r *store.Reservation) {
	r.Order = nil
	v := &r.Redemption
	v.Origin, v.OrderID, v.Points, v.PointsState = redemption.FromPoints, "", 50, redemption.PointsPending
}

// TestWhatHappensBeforeTheGate: a reservation is stored before its turn at the coupon's
// gate, and what others have done meanwhile counts all the same, whether it comes alone,
// in a batch or in one of several coupons. Nothing is left of one that has fallen, and the
// others of its batch are stored.
func TestWhatHappensBeforeTheGate(t *testing.T) {
	t.Parallel()
	for name, m := range meanwhiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("alone", func(t *testing.T) {
				t.Parallel()
				w := newClaims(t, m)
				answer := w.start("ann")
				w.last.reached()
				require.NoError(t, m.do(w))
				w.last.open()
				w.check(<-answer)
				w.checkRows()
			})
			if m.limits.MaxUses > 0 { // others have no gate
				t.Run("alone, where others were met before", func(t *testing.T) {
					t.Parallel()
					w := newClaims(t, m)
					w.meet()
					answer := w.start("ann")
					w.last.reached()
					require.Equal(t, []bool{false, true}, w.asked.crowded)
					require.NoError(t, m.do(w))
					w.last.open()
					w.check(<-answer)
					w.checkRows()
				})
			}
			t.Run("in a batch", func(t *testing.T) {
				t.Parallel()
				joined(t, m, hot("ann", "zoe"), func(w *claims, answers []<-chan claimed) {
					w.last.reached()
					require.NoError(t, m.do(w))
					w.last.open()
					w.check(<-answers[0])
					w.checkNeighbour(<-answers[1])
					w.checkRows()
				})
			})
			for beside, limits := range map[string][2]coupon.Limits{
				"beside other coupons":       {{MaxUses: 1}, {MaxUsesPerUser: 1}},
				"beside coupons with limits": {{MaxUses: 1}, {MaxUses: 1_000, MaxUsesPerUser: 9}},
			} {
				t.Run(beside, func(t *testing.T) {
					t.Parallel()
					all := append(hot("ann"), another("yan", limits[0]), another("zoe", limits[1]))
					joined(t, m, all, func(w *claims, answers []<-chan claimed) {
						w.last.reached()
						require.NoError(t, m.do(w))
						w.last.open()
						w.check(<-answers[0])
						for _, answer := range answers[1:] {
							w.checkStored(<-answer)
						}
						w.checkRows()
					})
				})
			}
		})
	}
}

// aloneAndJoined lets ann ask alone, and in a batch with somebody whom her answer does not
// concern.
func aloneAndJoined(t *testing.T, name string, m meanwhile) {
	t.Helper()
	t.Run(name+", alone", func(t *testing.T) {
		t.Parallel()
		w := newClaims(t, m)
		w.last.open()
		w.check(<-w.start("ann"))
		w.checkRows()
	})
	t.Run(name+", in a batch", func(t *testing.T) {
		t.Parallel()
		joined(t, m, hot("ann", "zoe"), func(w *claims, answers []<-chan claimed) {
			w.last.open()
			w.check(<-answers[0])
			w.checkStored(<-answers[1])
			w.checkRows()
		})
	})
}

// TestAKeyOfAnOrderIsNotReservedWith: nothing that a reservation without an order stores
// would meet an order without a coupon that has its key.
func TestAKeyOfAnOrderIsNotReservedWith(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]coupon.Limits{"unlimited": {}, "limited": {MaxUses: 10}, "limited per customer": {MaxUsesPerUser: 1}} {
		m := meanwhile{limits: limits, points: true, adapt: byPointsInstead, err: store.ErrKeyReused, before: func(w *claims) error {
			o := *checkout(w.coupon, w.quote, "ann", "slow", epoch).Order
			o.CouponID, o.Coupon, o.ReservationID = "", nil, ""
			_, _, err := w.others.CreateOrder(t.Context(), o)
			return err
		}}
		aloneAndJoined(t, name, m)
	}
}

// TestAnExchangeOfWhatIsHeldAlready: the customer keeps the held reservation, also
// where the host asks for its ID once more by another key.
func TestAnExchangeOfWhatIsHeldAlready(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]coupon.Limits{"unlimited": {}, "limited": {MaxUses: 10}, "limited per customer": {MaxUsesPerUser: 1}} {
		m := exchanged(limits)
		m.before = func(w *claims) error { return w.exchanged("ann", "k") }
		m.adapt = func(r *store.Reservation) {
			byPointsInstead(r)
			r.Redemption.ID = redemption.IDPrefix + r.Redemption.CustomerID + "-k"
		}
		aloneAndJoined(t, name, m)
	}
}

// TestTwoOfABatchWithOneID: one of them is stored, and the other fails alone, whether
// there is a place for them at first or only when the one before them has fallen.
func TestTwoOfABatchWithOneID(t *testing.T) {
	t.Parallel()
	same := func(r *store.Reservation) {
		if r.Redemption.CustomerID != "ann" {
			r.Redemption.ID, r.Order.ReservationID = redemption.IDPrefix+"same", redemption.IDPrefix+"same"
		}
	}
	t.Run("at first", func(t *testing.T) {
		t.Parallel()
		joined(t, meanwhile{limits: coupon.Limits{MaxUses: 10}, adapt: same}, hot("yan", "zoe"), func(w *claims, answers []<-chan claimed) {
			w.last.open()
			w.checkOneOf(<-answers[0], <-answers[1])
			w.checkRows()
		})
	})
	t.Run("when there is a place", func(t *testing.T) {
		t.Parallel()
		m := meanwhile{limits: coupon.Limits{MaxUses: 3, MaxUsesPerUser: 1}, adapt: same, code: coupon.UserUsageLimitReached, before: func(w *claims) error {
			return errors.Join(w.reserve("bob", "k"), w.reserve("carl", "k"))
		}}
		joined(t, m, hot("ann", "yan", "zoe"), func(w *claims, answers []<-chan claimed) {
			w.last.reached()
			require.NoError(t, errors.Join(w.cancel("bob", "k"), w.cancel("carl", "k"), w.reserve("ann", "k")))
			w.last.open()
			w.check(<-answers[0])
			w.checkOneOf(<-answers[1], <-answers[2])
			w.checkRows()
		})
	})
}

// TestTheLastPlaceOfABatch: who asked first has it, and whoever may not have it leaves it
// to the next one, in one go. Those for whom there seemed to be a place are asked again.
func TestTheLastPlaceOfABatch(t *testing.T) {
	t.Parallel()
	m := meanwhile{limits: coupon.Limits{MaxUses: 4, MaxUsesPerUser: 1}}
	refused := func(w *claims, got claimed, code coupon.RejectionCode) {
		w.Helper()
		rejection := (*coupon.Rejection)(nil)
		if !errors.As(got.err, &rejection) || !rejection.Has(code) {
			w.Errorf("%v, want %s", got.err, code)
		}
	}
	t.Run("of those who may", func(t *testing.T) {
		t.Parallel()
		joined(t, m, hot("ann", "yan", "zoe"), func(w *claims, answers []<-chan claimed) {
			w.last.reached()
			require.NoError(t, errors.Join(w.reserve("bob", "k"), w.reserve("carl", "k"), w.reserve("dora", "k")))
			w.last.open()
			w.checkStored(<-answers[0])
			refused(w, <-answers[1], coupon.UsageLimitReached)
			refused(w, <-answers[2], coupon.UsageLimitReached)
			w.checkRows()
		})
	})
	t.Run("beside one who may not", func(t *testing.T) {
		t.Parallel()
		m := m
		m.once = true
		joined(t, m, hot("ann", "zoe"), func(w *claims, answers []<-chan claimed) {
			w.last.reached()
			require.NoError(t, errors.Join(w.reserve("bob", "k"), w.reserve("carl", "k"), w.reserve("ann", "k")))
			w.last.open()
			refused(w, <-answers[0], coupon.UserUsageLimitReached)
			w.checkStored(<-answers[1])
			w.checkRows()
		})
	})
}

// TestALimitThatIsLiftedWhileABatchIsStored: customers who were found beyond it have a place,
// and are not told so while nothing is stored for them.
func TestALimitThatIsLiftedWhileABatchIsStored(t *testing.T) {
	t.Parallel()
	ofEach := coupon.Limits{MaxUses: 10, MaxUsesPerUser: 1}
	for name, test := range map[string]struct {
		limits coupon.Limits
		batch  []asking
		lifted coupon.Limits
		beside error // what those beside her are told
	}{
		"that of each customer": {
			limits: coupon.Limits{MaxUses: 2, MaxUsesPerUser: 1}, batch: hot("ann", "bob"), lifted: coupon.Limits{MaxUses: 10},
		},
		"that over all customers": { // it is read once more when somebody beside her has no place
			limits: coupon.Limits{MaxUses: 1}, batch: append(hot("ann"), another("yan", ofEach)), beside: coupon.ErrUserUsageLimitReached,
		},
		"both": {
			limits: coupon.Limits{MaxUses: 1, MaxUsesPerUser: 1}, batch: append(hot("ann"), another("yan", ofEach)), beside: coupon.ErrUserUsageLimitReached,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := meanwhile{limits: test.limits, want: fresh, before: func(w *claims) error { return w.reserve("ann", "earlier") }}
			joined(t, m, test.batch, func(w *claims, answers []<-chan claimed) {
				w.last.reached()
				require.NoError(t, w.update(func(c *coupon.Coupon) { c.Limits = test.lifted }))
				if test.beside != nil {
					of := newCoupon(t, "of-yan", func(c *coupon.Coupon) { c.Limits = ofEach })
					_, err := w.others.Reserve(t.Context(), checkout(of, w.quote, "yan", "k", epoch))
					require.NoError(t, err)
				}
				w.last.open()
				w.check(<-answers[0])
				beside := <-answers[1]
				require.ErrorIs(t, beside.err, test.beside)
				w.note(beside)
				w.checkRows()
			})
		})
	}
}

// asking begins a reservation.
type asking func(*claims) <-chan claimed

// hot asks for the coupon, for each of the customers.
func hot(customers ...string) (all []asking) {
	for _, customer := range customers {
		all = append(all, func(w *claims) <-chan claimed { return w.start(customer) })
	}
	return all
}

// another asks for a coupon of its own, of which there is a use.
func another(customer string, limits coupon.Limits) asking {
	return func(w *claims) <-chan claimed {
		w.Helper()
		c := newCoupon(w.T, "of-"+customer, func(c *coupon.Coupon) { c.Limits = limits })
		require.NoError(w, w.others.CreateCoupon(w.Context(), c))
		return w.ask(checkout(c, w.quote, customer, "slow", epoch))
	}
}

// joined lets several ask one after another of a process that is busy, so that they are a
// batch. Should they not have been queued in time, it is done again with more patience.
func joined(t *testing.T, m meanwhile, all []asking, then func(w *claims, answers []<-chan claimed)) {
	t.Helper()
	for patience := 10 * time.Millisecond; patience < 5*time.Second; patience *= 2 {
		w := newClaims(t, m)
		w.beBusy()
		var answers []<-chan claimed
		for _, ask := range all {
			answers = append(answers, ask(w))
			time.Sleep(patience)
		}
		w.first.open()
		then(w, answers)
		require.NoError(t, (<-w.busy).err)
		require.NoError(t, w.slow.Close()) // after its reports
		if w.batches[1] == len(all) || t.Failed() {
			if m.once && w.asked.calls() != 2 {
				t.Error("some of the batch were asked again")
			}
			return
		}
	}
	t.Error("they were never one batch")
}

// claims is a coupon with one process whose reservations wait before they are stored,
// and another one.
type claims struct {
	*testing.T
	meanwhile

	pool         *pgxpool.Pool
	asked        claimCalls // by slow
	slow, others *pgxstore.Store
	coupon       coupon.Coupon
	quote        pricing.Quote
	first, last  *barrier // before reservations with the keys first and slow are stored
	busy         <-chan claimed
	stored       map[string]bool // reservations, by ID

	mu      sync.Mutex
	batches []int
}

// claimed is what became of a reservation.
type claimed struct {
	result store.Reserved
	err    error
}

func newClaims(t *testing.T, m meanwhile) *claims {
	t.Helper()
	pool := lentDatabase(t)
	w := &claims{T: t, meanwhile: m, pool: pool, quote: quote(t), stored: map[string]bool{}}
	w.others = newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}})
	listened := postgrestest.NewPool(t, pool.Config().ConnString(), func(c *pgxpool.Config) { c.ConnConfig.Tracer = &w.asked })
	w.slow = newStore(t, listened, pgxstore.Options{Batch: pgxstore.BatchOptions{Workers: 1, OnBatch: func(b pgxstore.BatchReport) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.batches = append(w.batches, b.Size)
	}}})
	w.coupon = newCoupon(t, "hot", func(c *coupon.Coupon) {
		c.Limits = m.limits
		if m.points {
			c.Distribution, c.PointsRequired = coupon.PointsRedeemable, 50
		}
	})
	if err := w.others.CreateCoupon(t.Context(), w.coupon); err != nil {
		t.Fatal(err)
	}
	w.first, w.last = newBarrier(t, pool, "first", 1), newBarrier(t, pool, "slow", 2)
	w.last.close()
	if m.before != nil {
		if err := m.before(w); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// meet lets the slow process find others at the gate of another coupon.
func (w *claims) meet() {
	w.Helper()
	other := w.beBusy(func(c *coupon.Coupon) { c.Limits.MaxUses = 2 })
	_, err := w.others.Reserve(w.Context(), checkout(other, w.quote, "yan", "k", epoch))
	require.NoError(w, err)
	w.first.open()
	require.NoError(w, (<-w.busy).err)
}

// beBusy lets a reservation of another coupon wait, and returns that coupon.
func (w *claims) beBusy(options ...func(*coupon.Coupon)) coupon.Coupon {
	w.Helper()
	w.first.close()
	other := newCoupon(w.T, "other", options...)
	if err := w.others.CreateCoupon(w.Context(), other); err != nil {
		w.Fatal(err)
	}
	answer := make(chan claimed, 1)
	go func() {
		result, err := w.slow.Reserve(w.Context(), checkout(other, w.quote, "yves", "first", epoch))
		answer <- claimed{result, err}
	}()
	w.busy = answer
	w.first.reached()
	return other
}

// start reserves with the key slow.
func (w *claims) start(customer string) <-chan claimed {
	r := checkout(w.coupon, w.quote, customer, "slow", epoch)
	if w.adapt != nil {
		w.adapt(&r)
	}
	return w.ask(r)
}

func (w *claims) ask(r store.Reservation) <-chan claimed {
	answer := make(chan claimed, 1)
	go func() {
		result, err := w.slow.Reserve(w.Context(), r)
		answer <- claimed{result, err}
	}()
	return answer
}

func (w *claims) exchange(customer, key string) store.Reservation {
	r := checkout(w.coupon, w.quote, customer, key, epoch)
	byPointsInstead(&r)
	return r
}

// exchanged is an exchange of points before.
func (w *claims) exchanged(customer, key string) error {
	r, err := w.others.Reserve(w.Context(), w.exchange(customer, key))
	w.note(claimed{r, err})
	return err
}

func (w *claims) reserve(customer, key string) error {
	_, err := w.others.Reserve(w.Context(), checkout(w.coupon, w.quote, customer, key, epoch))
	return err
}

func (w *claims) cancel(customer, key string) error {
	_, err := w.others.Transition(w.Context(), redemption.IDPrefix+customer+"-"+key, redemption.Event{Kind: redemption.Cancelled, At: epoch})
	return err
}

func (w *claims) update(change func(*coupon.Coupon)) error {
	c := w.coupon
	change(&c)
	_, err := w.others.UpdateCoupon(w.Context(), c)
	return err
}

// check compares what became of ann's reservation with what is wanted.
func (w *claims) check(got claimed) {
	w.Helper()
	rejection := (*coupon.Rejection)(nil)
	switch {
	case w.want != nil:
		if got.err != nil {
			w.Error(got.err)
		} else if err := w.want(got.result); err != nil {
			w.Errorf("%v: %+v", err, got.result)
		}
	case w.err != nil:
		if !errors.Is(got.err, w.err) {
			w.Errorf("%v, want %v", got.err, w.err)
		}
	case !errors.As(got.err, &rejection) || rejection.Reasons[0].Code != w.code:
		w.Errorf("%v, want %s", got.err, w.code)
	}
	w.note(got)
}

// checkNeighbour lets the other one of the batch fail for no other reason than the
// coupon's.
func (w *claims) checkNeighbour(got claimed) {
	w.Helper()
	ofCustomer := w.code == coupon.UserUsageLimitReached
	if failed := got.err != nil; failed != (w.want == nil && !ofCustomer) {
		w.Errorf("the other one of the batch: %v", got.err)
	}
	w.note(got)
}

// checkStored wants a reservation stored, whatever becomes of ann's.
func (w *claims) checkStored(got claimed) {
	w.Helper()
	require.NoError(w, got.err)
	w.note(got)
}

// checkOneOf wants one of two stored, and the other one refused for what the first has.
func (w *claims) checkOneOf(stored, refused claimed) {
	w.Helper()
	if stored.err != nil {
		stored, refused = refused, stored
	}
	if stored.err != nil || !errors.Is(refused.err, store.ErrConflict) {
		w.Errorf("%v and %v, want one ErrConflict", stored.err, refused.err)
	}
	w.note(stored)
}

func (w *claims) note(got claimed) {
	if got.err == nil {
		w.stored[got.result.Redemption.ID] = true
	}
}

// checkRows wants a row and an order for each slow reservation that was acknowledged and
// for no other, and counts that are those of the rows.
func (w *claims) checkRows() {
	w.Helper()
	page, err := w.others.ListRedemptions(w.Context(), store.RedemptionList{PageSize: store.MaxPageSize})
	if err != nil {
		w.Fatal(err)
	}
	got := map[string]bool{}
	for _, r := range page.Items {
		if r.Key == "slow" || r.Origin == redemption.FromPoints {
			got[r.ID] = true
		}
	}
	if diff := cmp.Diff(w.stored, got); diff != "" {
		w.Errorf("rows (-acknowledged +stored):\n%s", diff)
	}
	var orders int
	if err := w.pool.QueryRow(w.Context(), `SELECT count(*) FROM orders o
			WHERE o.reservation_id <> '' AND NOT EXISTS (SELECT FROM coupon_redemptions r WHERE r.id = o.reservation_id)`).Scan(&orders); err != nil || orders > 0 {
		w.Errorf("%d orders without their reservation, %v", orders, err)
	}
	if _, err := w.others.Coupon(w.Context(), w.coupon.ID); errors.Is(err, store.ErrNotFound) {
		return // it was deleted
	}
	if err := storetest.CheckInvariants(w.Context(), w.others); err != nil {
		w.Error(err)
	}
}

// TestTermsStayWhileAReservationIsStored: a coupon without a limit over all customers has
// no gate. Whoever changes it waits for the reservations that are being stored.
func TestTermsStayWhileAReservationIsStored(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]coupon.Limits{"unlimited": {}, "limited per customer": {MaxUsesPerUser: 1}} {
		m := meanwhile{limits: limits, want: fresh}
		changed := func(w *claims, answers ...<-chan claimed) {
			w.last.reached()
			done := make(chan claimed, 1)
			go func() { done <- claimed{err: w.update(func(c *coupon.Coupon) { c.State = coupon.Inactive })} }()
			w.waits(done, func() bool { return false })
			w.last.open()
			for _, answer := range answers {
				w.check(<-answer)
			}
			require.NoError(w, (<-done).err)
			w.checkRows()
		}
		t.Run(name+", alone", func(t *testing.T) {
			t.Parallel()
			w := newClaims(t, m)
			changed(w, w.start("ann"))
		})
		t.Run(name+", in a batch", func(t *testing.T) {
			t.Parallel()
			joined(t, m, hot("ann", "zoe"), func(w *claims, answers []<-chan claimed) { changed(w, answers...) })
		})
	}
}

// TestTheFirstLimitComesWhileAReservationLooks: it has seen a coupon without a limit, and
// then waits for the one who gives it the first. It is in line for the places all the same.
func TestTheFirstLimitComesWhileAReservationLooks(t *testing.T) {
	t.Parallel()
	m := meanwhile{code: coupon.UsageLimitReached}
	inTransaction(t, m, hot("ann", "zoe"), func(w *claims, in *pgxstore.Store) error {
		c := w.coupon
		c.Limits.MaxUses = 1
		_, err := in.UpdateCoupon(w.Context(), c)
		return err
	}, func(w *claims) {
		w.last.reached()
		require.NoError(w, w.reserve("bob", "k"))
	})
}

// TestTwoReservationsOfACustomerAtOnce: where a coupon has no limit but that of each
// customer, nobody has a gate to pass. A customer's reservations wait for each other.
func TestTwoReservationsOfACustomerAtOnce(t *testing.T) {
	t.Parallel()
	m := meanwhile{limits: coupon.Limits{MaxUsesPerUser: 1}, code: coupon.UserUsageLimitReached}
	inTransaction(t, m, hot("ann"), func(w *claims, in *pgxstore.Store) error {
		w.last.open() // the others come as far as storing, and wait there
		_, err := in.Reserve(w.Context(), checkout(w.coupon, w.quote, "ann", "k", epoch))
		return err
	}, func(*claims) {})
}

// TestWhoeverHoldsTheGateIsFirst: a reservation that has seen a place waits at the gate for
// whoever takes it in a transaction, and comes after them. One that is rolled back has taken
// nothing.
func TestWhoeverHoldsTheGateIsFirst(t *testing.T) {
	t.Parallel()
	for customer, m := range map[string]meanwhile{
		"bob": {limits: coupon.Limits{MaxUses: 1}, code: coupon.UsageLimitReached},
		"ann": {limits: coupon.Limits{MaxUses: 10, MaxUsesPerUser: 1}, code: coupon.UserUsageLimitReached},
	} {
		reserve := func(w *claims, in *pgxstore.Store) error {
			w.last.open() // the others come as far as the gate
			_, err := in.Reserve(w.Context(), checkout(w.coupon, w.quote, customer, "k", epoch))
			return err
		}
		t.Run(customer, func(t *testing.T) {
			t.Parallel()
			inTransaction(t, m, hot("ann"), reserve, func(*claims) {})
		})
		t.Run(customer+", rolled back", func(t *testing.T) {
			t.Parallel()
			w := newClaims(t, meanwhile{limits: m.limits, want: fresh})
			tx, err := w.pool.Begin(t.Context())
			require.NoError(t, err)
			require.NoError(t, reserve(w, w.others.WithTx(tx)))
			answer := w.start("ann")
			w.waits(answer, func() bool { return false })
			require.NoError(t, tx.Rollback(t.Context()))
			w.check(<-answer)
			w.checkRows()
		})
	}
}

// TestAProcessOfBefore claims by the function that it knows, beside others.
func TestAProcessOfBefore(t *testing.T) {
	t.Parallel()
	const claim = `('rsv_' || $1::text || $2::text, $2, $3, $1, 'points', 50, 'pending', '', '', NULL, $4, $4, 0,
		'', '', '', '', 0, NULL, NULL, NULL, NULL, NULL, NULL`
	type said struct {
		Outcome, Held       string
		LimitOfAll, PerUser int64
	}
	for step, function := range map[string]string{
		"migration 19": "couponkit_claim" + claim + ")", "migration 22": "couponkit_claim_one" + claim + ", false)",
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newClaims(t, meanwhile{limits: coupon.Limits{MaxUses: 2, MaxUsesPerUser: 1}})
			require.NoError(t, w.reserve("bob", "k"))
			for _, call := range []struct {
				customer, key string
				want          said
			}{
				{"bob", "1", said{Outcome: "user_used_up", LimitOfAll: 2, PerUser: 1}},
				{"ann", "1", said{Outcome: "reserved"}},
				{"ann", "1", said{Outcome: "known", Held: "rsv_ann1", LimitOfAll: 2, PerUser: 1}},
				{"ann", "2", said{Outcome: "held", Held: "rsv_ann1", LimitOfAll: 2, PerUser: 1}},
				{"carl", "1", said{Outcome: "used_up", LimitOfAll: 2, PerUser: 1}},
			} {
				var got said
				require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT outcome, coalesce(held, ''),
					coalesce(limit_of_all, 0), coalesce(limit_per_user, 0) FROM `+function,
					call.customer, call.key, w.coupon.ID, epoch).Scan(&got.Outcome, &got.Held, &got.LimitOfAll, &got.PerUser))
				require.Empty(t, cmp.Diff(call.want, got), call.customer)
			}
			require.NoError(t, storetest.CheckInvariants(t.Context(), w.others))
		})
	}
}

// inTransaction does something in a transaction, commits it, and goes on
// once the reservations wait for it. What all of them get is what the first one gets.
func inTransaction(t *testing.T, m meanwhile, all []asking, do func(*claims, *pgxstore.Store) error, then func(*claims)) {
	t.Helper()
	for name, some := range map[string][]asking{"alone": all[:1], "in a batch": append(slices.Clip(all), another("yan", coupon.Limits{}))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var others pgx.Tx
			m := m
			m.before = func(w *claims) error {
				own, err := pgx.ConnectConfig(w.Context(), w.pool.Config().ConnConfig) // the pool has few
				require.NoError(w, err)
				w.Cleanup(func() { require.NoError(w, own.Close(context.WithoutCancel(w.Context()))) })
				others, err = own.Begin(w.Context())
				require.NoError(w, err)
				return do(w, w.others.WithTx(others))
			}
			joined(t, m, some, func(w *claims, answers []<-chan claimed) {
				w.waits(answers[0], w.last.isReached)
				require.NoError(w, others.Commit(w.Context()))
				then(w)
				w.last.open()
				for i, answer := range answers {
					if i < len(all) {
						w.check(<-answer)
						continue
					}
					got := <-answer
					require.NoError(w, got.err)
					w.note(got)
				}
				w.checkRows()
			})
		})
	}
}

// waits waits until somebody waits for what others do with rows. It fails when that is
// done, or has gone too far, instead.
func (w *claims) waits(done <-chan claimed, tooFar func() bool) {
	w.Helper()
	for waiting := false; !waiting; time.Sleep(time.Millisecond) {
		select {
		case got := <-done:
			w.Fatalf("it was done while others were at it: %v", got.err)
		default:
			require.False(w, tooFar(), "it went on while others were at it")
		}
		require.NoError(w, w.pool.QueryRow(w.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event <> 'advisory'`).Scan(&waiting))
	}
}

// TestNobodyWaitsInACircleReserving lets several processes reserve the same keys of the
// same customers at once, each in an order of its own, of coupons that are used up, freed
// and used up again: PostgreSQL never has to end a deadlock.
func TestNobodyWaitsInACircleReserving(t *testing.T) {
	t.Parallel()
	for name, expecting := range map[string]string{"expecting what they met": "NOT cautious", "expecting plain batches": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rush := newRush(t, "")
			rush.slowly()
			change(t, rush.pool, "couponkit_claim_plain", "public", "IF NOT cautious THEN", "IF "+expecting+" THEN")
			rush.withoutDeadlock(6, rush.reservations)
		})
	}
}

// TestNobodyWaitsInACircleReservingNotices lets batches store in any order, and lets
// them store as they did before, after counting.
func TestNobodyWaitsInACircleReservingNotices(t *testing.T) {
	t.Parallel()
	begin := "pending := ARRAY(SELECT generate_series(1, requests));"
	for name, plant := range map[string]plant{
		"stored in any order":        {"couponkit_claim_many", "ORDER BY customer_ids[n]; -- the same for all", "ORDER BY md5(random()::text || n); -- the same for all"},
		"gates held before":          {"couponkit_claim_many", begin, begin + " PERFORM public.couponkit_lock(coupons);"},
		"plain, stored in any order": {"couponkit_claim_plain", "ORDER BY customer_ids[n]) AS w", "ORDER BY md5(random()::text || n)) AS w"},
		"plain, gates held before":   {"couponkit_claim_plain", "WITH room AS", "PERFORM public.couponkit_lock(coupons); WITH room AS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rush := newRush(t, "")
			rush.slowly()
			change(t, rush.pool, plant.function, "public", plant.correct, plant.wrong)
			if plant.function == "couponkit_claim_plain" {
				change(t, rush.pool, plant.function, "public", "IF NOT cautious THEN", "IF true THEN")
			}
			rush.untilDeadlock(300, rush.reservations)
		})
	}
}

// slowly lets it take a while to store several reservations.
func (r *rush) slowly() {
	r.Helper()
	if _, err := r.pool.Exec(r.Context(), `
		CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_sleep(0.0005);
			RETURN new;
		END $$;
		CREATE TRIGGER dawdle BEFORE INSERT ON coupon_redemptions FOR EACH ROW EXECUTE FUNCTION dawdle()`); err != nil {
		r.Fatal(err)
	}
}

// reservations lets every process reserve the same, and give some of it back. In every
// second round customers are new and have room, and all have batches, so that these are plain.
func (r *rush) reservations() {
	r.Helper()
	r.rounds++
	stores, plain := r.stores, r.rounds%2 == 0
	if plain {
		stores = stores[:len(stores)-1] // the last one has no batches
	}
	var asked []store.Reservation
	for i := range 24 {
		of, customer := r.coupons[1+i%2], "c"+string(rune('a'+i))
		if plain {
			of, customer = r.coupons[2], fmt.Sprint(customer, r.rounds)
		}
		asked = append(asked, checkout(of, quote(r.T), customer, "r"+string(rune('a'+r.rounds)), epoch))
	}
	var everybody errgroup.Group
	for i, s := range stores {
		for worker := range 12 {
			everybody.Go(func() error { return r.reserveAll(s, asked, uint64(r.rounds), uint64(i*100+worker)) })
		}
	}
	if err := everybody.Wait(); err != nil {
		r.Fatal(err)
	}
}

// reserveAll reserves what is asked, in a random order, and gives some of it back.
func (r *rush) reserveAll(s *pgxstore.Store, asked []store.Reservation, round, worker uint64) error {
	random := rand.New(rand.NewPCG(round, worker))
	for _, at := range random.Perm(len(asked))[:8] {
		r.calls.Add(1)
		q := asked[at]
		_, err := s.Reserve(r.Context(), q)
		if err == nil && random.IntN(3) == 0 {
			_, err = s.Transition(r.Context(), q.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: epoch})
		}
		if slices.ContainsFunc(kind(err), func(text string) bool { return strings.HasPrefix(text, "failure") }) {
			return err
		}
	}
	return nil
}

// TestABatchTellsOfOthers: how many places others took between its look at the coupons and
// its turn at their gates, less what they gave back.
func TestABatchTellsOfOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ function, coupons, more string }{
		"one coupon":                 {"claim_plain", "ARRAY['cpn_hot']", ""},
		"several coupons":            {"claim_plain", "ARRAY['cpn_also', 'cpn_hot']", ""},
		"one coupon, any batch":      {"claim_many", "ARRAY['cpn_hot']", ", false"},
		"several coupons, any batch": {"claim_many", "ARRAY['cpn_also', 'cpn_hot']", ", false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClaims(t, meanwhile{limits: coupon.Limits{MaxUses: 10}, before: func(w *claims) error { return w.reserve("early", "k") }})
			require.NoError(t, w.others.CreateCoupon(t.Context(), newCoupon(t, "also", func(c *coupon.Coupon) { c.Limits.MaxUses = 10 })))
			told := make(chan int64, 1)
			go func() {
				var meanwhile int64
				err := w.pool.QueryRow(t.Context(), fmt.Sprintf(`SELECT meanwhile FROM couponkit_%[2]s(%[1]s, array_fill(2 / cardinality(%[1]s)::bigint, ARRAY[cardinality(%[1]s)]),
					ARRAY[1, cardinality(%[1]s)], ARRAY['rsv_a', 'rsv_b'], ARRAY['k', 'slow'], ARRAY['a', 'b'], ARRAY['checkout', 'checkout'], ARRAY[0, 0]::bigint[],
					ARRAY['none', 'none'], ARRAY['ord_a', 'ord_b'], ARRAY['', ''], ARRAY[now(), now()], ARRAY[now(), now()], ARRAY[now(), now()], ARRAY[0, 0]::bigint[],
					'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', false%[3]s)`, test.coupons, test.function, test.more)).Scan(&meanwhile)
				if err != nil {
					t.Error(err)
				}
				told <- meanwhile
			}()
			w.last.reached()
			require.NoError(t, errors.Join(w.reserve("bob", "k"), w.reserve("carl", "k"), w.reserve("dora", "k"), w.cancel("carl", "k")))
			w.last.open()
			require.EqualValues(t, 2, <-told)
		})
	}
}
