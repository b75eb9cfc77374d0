package pgxstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/coupon"
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
	ask    func(*store.Reservation)   // changes what is asked
	do     func(*claims) error        // what is done meanwhile
	want   func(store.Reserved) error // nil if a rejection or an error is wanted
	code   coupon.RejectionCode
	err    error
}

var meanwhiles = map[string]meanwhile{
	"nothing": {
		limits: coupon.Limits{MaxUses: 10, MaxUsesPerUser: 1}, do: func(*claims) error { return nil }, want: fresh,
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
	"the coupon is switched off": {
		limits: coupon.Limits{MaxUses: 10}, do: func(w *claims) error {
			return w.update(func(c *coupon.Coupon) { c.State = coupon.Inactive })
		}, code: coupon.CouponInactive,
	},
	"the coupon is edited": {
		limits: coupon.Limits{MaxUses: 10}, ask: func(r *store.Reservation) { r.CouponRevision = 1 },
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
	"the customer exchanges points": {
		limits: coupon.Limits{MaxUses: 10}, points: true, ask: byPointsInstead, do: func(w *claims) error {
			_, err := w.others.Reserve(w.Context(), w.exchange("ann", "k"))
			return err
		}, want: func(got store.Reserved) error {
			if !got.Replayed || got.Redemption.Key != "k" {
				return errors.New("it is not the reservation that the customer holds")
			}
			return nil
		},
	},
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
// gate, and what others have done meanwhile counts all the same, whether it comes alone
// or in a batch. Nothing is left of one that has fallen, and the others of its batch are
// stored.
func TestWhatHappensBeforeTheGate(t *testing.T) {
	t.Parallel()
	for name, m := range meanwhiles {
		for _, batched := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", alone", true: ", in a batch"}[batched], func(t *testing.T) {
				t.Parallel()
				w := newClaims(t, m)
				if batched {
					w.join()
				}
				answer := w.start("ann", "slow", m.ask)
				var neighbour <-chan claimed
				if batched {
					neighbour = w.start("zoe", "slow", m.ask)
					w.waitUntilQueued()
				}
				w.proceed(gateOfFirst)
				w.waitUntilHeld(gateOfSlow)
				if err := m.do(w); err != nil {
					t.Fatal(err)
				}
				w.proceed(gateOfSlow)
				w.check(<-answer)
				if batched {
					w.checkNeighbour(<-neighbour)
					require.Eventually(t, func() bool { return len(w.sizes()) == 2 }, 10*time.Second, time.Millisecond)
					if !slices.Contains(w.sizes(), 2) {
						t.Errorf("batches of %v", w.sizes())
					}
				}
				w.checkRows()
			})
		}
	}
}

// TestAKeyOfAnOrderIsNotReservedWith: nothing that a reservation without an order stores
// would meet an order without a coupon that has its key.
func TestAKeyOfAnOrderIsNotReservedWith(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]coupon.Limits{"unlimited": {}, "limited": {MaxUses: 10}, "limited per customer": {MaxUsesPerUser: 1}} {
		for _, batched := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", alone", true: ", in a batch"}[batched], func(t *testing.T) {
				t.Parallel()
				w := newClaims(t, meanwhile{limits: limits, points: true, ask: byPointsInstead, err: store.ErrKeyReused})
				o := *checkout(w.coupon, w.quote, "ann", "slow", epoch).Order
				o.CouponID, o.Coupon, o.ReservationID = "", nil, ""
				_, _, err := w.others.CreateOrder(t.Context(), o)
				require.NoError(t, err)
				w.proceed(gateOfSlow)
				if !batched {
					w.check(<-w.start("ann", "slow", byPointsInstead))
					w.checkRows()
					return
				}
				w.join()
				answer, neighbour := w.start("ann", "slow", byPointsInstead), w.start("zoe", "slow", byPointsInstead)
				w.waitUntilQueued()
				w.proceed(gateOfFirst)
				w.check(<-answer)
				got := <-neighbour
				require.NoError(t, got.err)
				w.note(got)
				w.checkRows()
			})
		}
	}
}

// claims is a coupon with one process whose reservations wait before they are stored,
// and another one.
type claims struct {
	*testing.T
	meanwhile

	pool         *pgxpool.Pool
	slow, others *pgxstore.Store
	coupon       coupon.Coupon
	quote        pricing.Quote
	first        <-chan claimed
	held         map[int]func()
	stored       map[string]bool // reservations, by ID

	mu      sync.Mutex
	batches []int
}

// The advisory locks that reservations of the keys first and slow wait for.
const (
	gateOfFirst = 4711
	gateOfSlow  = 4712
)

// claimed is what became of a reservation.
type claimed struct {
	result store.Reserved
	err    error
}

func newClaims(t *testing.T, m meanwhile) *claims {
	t.Helper()
	pool := newDatabase(t, pgxstore.Namespace{})
	w := &claims{T: t, meanwhile: m, pool: pool, quote: quote(t), held: map[int]func(){}, stored: map[string]bool{}}
	w.others = newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}})
	w.slow = newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Workers: 1, OnBatch: func(b pgxstore.BatchReport) {
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
	if _, err := pool.Exec(t.Context(), `
		CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_advisory_xact_lock_shared(CASE new.key WHEN 'first' THEN 4711 ELSE 4712 END);
			RETURN new;
		END $$;
		CREATE TRIGGER dawdle BEFORE INSERT ON coupon_redemptions FOR EACH ROW WHEN (new.key IN ('first', 'slow')) EXECUTE FUNCTION dawdle()`); err != nil {
		t.Fatal(err)
	}
	w.hold(gateOfSlow)
	return w
}

// hold takes a lock until proceed is called.
func (w *claims) hold(lock int) {
	w.Helper()
	tx, err := w.pool.Begin(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if _, err := tx.Exec(w.Context(), `SELECT pg_advisory_xact_lock($1)`, lock); err != nil {
		w.Fatal(err)
	}
	w.held[lock] = sync.OnceFunc(func() { _ = tx.Rollback(context.WithoutCancel(w.Context())) })
	w.Cleanup(w.held[lock])
}

func (w *claims) proceed(lock int) {
	if free := w.held[lock]; free != nil {
		free()
	}
}

// waitUntilHeld waits until somebody waits for the lock.
func (w *claims) waitUntilHeld(lock int) {
	w.Helper()
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		if err := w.pool.QueryRow(w.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, lock).Scan(&waiting); err != nil {
			w.Fatal(err)
		}
	}
}

// join makes the process busy, so that those who come now are a batch.
func (w *claims) join() {
	w.Helper()
	w.hold(gateOfFirst)
	other := newCoupon(w.T, "other")
	if err := w.others.CreateCoupon(w.Context(), other); err != nil {
		w.Fatal(err)
	}
	answer := make(chan claimed, 1)
	go func() {
		result, err := w.slow.Reserve(w.Context(), checkout(other, w.quote, "yves", "first", epoch))
		answer <- claimed{result, err}
	}()
	w.first = answer
	w.waitUntilHeld(gateOfFirst)
}

// waitUntilQueued gives calls that have begun the time to be queued.
func (w *claims) waitUntilQueued() { time.Sleep(300 * time.Millisecond) }

func (w *claims) start(customer, key string, ask func(*store.Reservation)) <-chan claimed {
	r := checkout(w.coupon, w.quote, customer, key, epoch)
	if ask != nil {
		ask(&r)
	}
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
	if first := <-w.first; first.err != nil {
		w.Error(first.err)
	}
	ofCustomer := w.code == coupon.UserUsageLimitReached
	if failed := got.err != nil; failed != (w.want == nil && !ofCustomer) {
		w.Errorf("the other one of the batch: %v", got.err)
	}
	w.note(got)
}

func (w *claims) note(got claimed) {
	if got.err == nil {
		w.stored[got.result.Redemption.ID] = true
	}
}

func (w *claims) sizes() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.batches)
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

// TestNobodyWaitsInACircleReserving lets several processes reserve the same keys of the
// same customers at once, each in an order of its own, of coupons that are used up, freed
// and used up again: PostgreSQL never has to end a deadlock.
func TestNobodyWaitsInACircleReserving(t *testing.T) {
	t.Parallel()
	rush := newRush(t, "")
	rush.slowly()
	for range 6 {
		rush.reservations()
	}
	if met := rush.deadlocks.Load(); met > 0 {
		t.Errorf("%d deadlocks", met)
	}
	t.Logf("%d calls, %d in batches of several", rush.calls.Load(), rush.joined.Load())
	if rush.joined.Load() < rush.calls.Load()/4 {
		t.Error("few calls were joined")
	}
	if err := storetest.CheckInvariants(t.Context(), rush.stores[0]); err != nil {
		t.Error(err)
	}
}

// TestNobodyWaitsInACircleReservingNotices lets batches store in any order, and lets
// them store as they did before, after counting.
func TestNobodyWaitsInACircleReservingNotices(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]plant{
		"stored in any order": {"couponkit_claim_batch", "ORDER BY customer_ids[n]; -- the same for all", "ORDER BY md5(random()::text || n); -- the same for all"},
		"gates held before": {
			"couponkit_claim_batch", "pending := ARRAY(SELECT generate_series(1, requests));",
			"pending := ARRAY(SELECT generate_series(1, requests)); PERFORM {couponkit_lock}(coupons);",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rush := newRush(t, "")
			rush.slowly()
			wrong := strings.ReplaceAll(plant.wrong, "{couponkit_lock}", "public.couponkit_lock")
			change(t, rush.pool, plant.function, "public", plant.correct, wrong)
			for range 30 {
				rush.reservations()
				if rush.deadlocks.Load() > 0 {
					return
				}
			}
			t.Error("no deadlock")
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

// reservations lets every process reserve the same, and give some of it back.
func (r *rush) reservations() {
	r.Helper()
	r.rounds++
	var asked []store.Reservation
	for i := range 24 {
		asked = append(asked, checkout(r.coupons[1+i%2], quote(r.T), "c"+string(rune('a'+i)), "r"+string(rune('a'+r.rounds)), epoch))
	}
	var everybody errgroup.Group
	for i, s := range r.stores {
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
