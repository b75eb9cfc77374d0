package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestNobodyWaitsInACircle lets several processes settle, cancel, attach and take over
// the same checkouts at once, each in an order of its own: PostgreSQL never has to end a
// deadlock, which the store would hide by trying again.
func TestNobodyWaitsInACircle(t *testing.T) {
	t.Parallel()
	rush := newRush(t, "")
	rush.withoutDeadlock(10, rush.round)
}

// TestNobodyWaitsInACircleNotices lets batches lock redemptions in any order.
func TestNobodyWaitsInACircleNotices(t *testing.T) {
	t.Parallel()
	rush := newRush(t, `ORDER BY md5(random()::text || redemption_id)`)
	rush.untilDeadlock(50, rush.round)
}

// TestLatePaymentsOverTheLimitOfEach: those who pay late, where a coupon bounds nothing
// but each customer's uses, all find that no place is left and look again with the coupon
// to themselves.
func TestLatePaymentsOverTheLimitOfEach(t *testing.T) {
	t.Parallel()
	rush := newRush(t, "")
	for number := range 3 {
		rush.latePayments(number)
	}
	if met := rush.deadlocks.Load(); met > 0 {
		t.Errorf("%d deadlocks", met)
	}
	if err := storetest.CheckInvariants(t.Context(), rush.stores[0]); err != nil {
		t.Error(err)
	}
}

// latePayments lets customers who have used all that they may pay at once for what they
// had given up.
func (r *rush) latePayments(number int) {
	r.Helper()
	const customers = 12
	single := r.stores[3]
	c := newCoupon(r.T, fmt.Sprint("late", number), func(c *coupon.Coupon) { c.Limits.MaxUsesPerUser = 1 })
	if err := single.CreateCoupon(r.Context(), c); err != nil {
		r.Fatal(err)
	}
	pay := func(o store.Order) error {
		settled, err := single.Settle(r.Context(), store.Settlement{
			Event:         redemption.Event{Kind: redemption.SessionCompleted, At: epoch.Add(time.Minute), SessionID: "cs_" + o.ID, OrderID: o.ID},
			ReservationID: o.ReservationID, CouponID: c.ID, CustomerID: o.CustomerID,
		})
		if err == nil && settled.Redemption.State != redemption.Completed {
			return fmt.Errorf("%s is %s", o.ID, settled.Redemption.State)
		}
		return err
	}
	var late []store.Order
	for i := range customers {
		customer := fmt.Sprintf("late%d_%d", number, i)
		given, used := checkout(c, quote(r.T), customer, "given up", epoch), checkout(c, quote(r.T), customer, "used", epoch)
		for _, step := range []func() error{
			func() error { _, err := single.Reserve(r.Context(), given); return err },
			func() error {
				_, err := single.Transition(r.Context(), given.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: epoch})
				return err
			},
			func() error { _, err := single.Reserve(r.Context(), used); return err },
			func() error { return pay(*used.Order) },
		} {
			if err := step(); err != nil {
				r.Fatal(err)
			}
		}
		late = append(late, *given.Order)
	}
	var everybody errgroup.Group
	for _, o := range late {
		everybody.Go(func() error { return pay(o) })
	}
	if err := everybody.Wait(); err != nil {
		r.Fatal(err)
	}
	list, err := single.ListRedemptions(r.Context(), store.RedemptionList{CouponID: c.ID, State: redemption.Completed, PageSize: store.MaxPageSize})
	if err != nil {
		r.Fatal(err)
	}
	over := 0
	for _, each := range list.Items {
		if each.OverLimit {
			over++
		}
	}
	if over != customers || len(list.Items) != 2*customers {
		r.Errorf("%d of %d payments are over the limit, want %d of %d", over, len(list.Items), customers, 2*customers)
	}
}

// rush is a database that several processes use, and how often they met in a deadlock.
type rush struct {
	*testing.T

	pool      *pgxpool.Pool
	stores    []*pgxstore.Store
	coupons   []coupon.Coupon
	deadlocks atomic.Int64
	joined    atomic.Int64
	calls     atomic.Int64
	rounds    int
}

// newRush has three processes with batches and one without. order, if it is given, is
// the order in which batches of settlements lock redemptions.
func newRush(t *testing.T, order string) *rush {
	t.Helper()
	r := &rush{T: t}
	dsn := shared.NewCopy(t)
	seen := func(c *pgxpool.Config) {
		c.MaxConns = 8
		c.ConnConfig.Tracer = deadlockTracer{r}
		c.ConnConfig.RuntimeParams["deadlock_timeout"] = "50ms"
		c.ConnConfig.RuntimeParams["synchronous_commit"] = "off" // nothing crashes here
	}
	r.pool = postgrestest.NewPool(t, dsn, seen)
	if order != "" {
		change(t, r.pool, "couponkit_settle_batch", "public", "ORDER BY redemption_id", order)
	}
	for i := range 4 {
		options := pgxstore.Options{Batch: pgxstore.BatchOptions{Off: i == 3, OnBatch: func(b pgxstore.BatchReport) {
			if b.Size > 1 {
				r.joined.Add(int64(b.Size))
			}
		}}}
		r.stores = append(r.stores, newStore(t, postgrestest.NewPool(t, dsn, seen), options))
	}
	for i, limits := range []coupon.Limits{{}, {MaxUses: 60}, {MaxUses: 1_000_000, MaxUsesPerUser: 3}} {
		c := newCoupon(t, fmt.Sprint("rush", i), func(c *coupon.Coupon) { c.Limits = limits })
		r.coupons = append(r.coupons, c)
		if err := r.stores[0].CreateCoupon(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// change replaces a part of a function, until undo is called.
func change(tb testing.TB, pool *pgxpool.Pool, function, schema, correct, wrong string) (undo func()) {
	tb.Helper()
	var text string
	if err := pool.QueryRow(tb.Context(), `SELECT pg_get_functiondef(p.oid) FROM pg_proc p
		WHERE p.proname = $1 AND p.pronamespace = $2::regnamespace`, function, schema).Scan(&text); err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(text, correct) {
		tb.Fatalf("%s has no %q", function, correct)
	}
	set := func(text string) {
		if _, err := pool.Exec(tb.Context(), text); err != nil {
			tb.Error(err)
		}
	}
	set(strings.ReplaceAll(text, correct, wrong))
	return func() { set(text) }
}

// deadlockTracer counts the statements that PostgreSQL has ended because of a deadlock.
type deadlockTracer struct{ r *rush }

func (deadlockTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (d deadlockTracer) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	var server *pgconn.PgError
	if errors.As(data.Err, &server) && server.Code == "40P01" {
		d.r.deadlocks.Add(1)
		d.r.Logf("%s\n%s\n%s", server.Message, server.Detail, server.Where)
	}
}

// withoutDeadlock wants no deadlock in so many rounds, in which calls were joined.
func (r *rush) withoutDeadlock(rounds int, round func()) {
	r.Helper()
	for range rounds {
		round()
	}
	if met := r.deadlocks.Load(); met > 0 {
		r.Errorf("%d deadlocks", met)
	}
	r.Logf("%d calls, %d in batches of several", r.calls.Load(), r.joined.Load())
	if r.joined.Load() < r.calls.Load()/4 {
		r.Error("few calls were joined")
	}
	if err := storetest.CheckInvariants(r.Context(), r.stores[0]); err != nil {
		r.Error(err)
	}
}

// untilDeadlock wants one in so many rounds.
func (r *rush) untilDeadlock(rounds int, round func()) {
	r.Helper()
	for range rounds {
		if round(); r.deadlocks.Load() > 0 {
			return
		}
	}
	r.Error("no deadlock")
}

// round makes checkouts, and lets everybody do something with all of them.
func (r *rush) round() {
	r.Helper()
	r.rounds++
	checkouts := r.checkouts(24)
	var everybody errgroup.Group
	for i, s := range r.stores {
		for worker := range 12 {
			random := rand.New(rand.NewPCG(uint64(r.rounds), uint64(i*100+worker)))
			everybody.Go(func() error {
				for n, at := range random.Perm(len(checkouts)) {
					r.calls.Add(1)
					if err := r.call(s, checkouts[at], random, fmt.Sprintf("%d_%d_%d_%d", r.rounds, i, worker, n)); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	if err := everybody.Wait(); err != nil {
		r.Fatal(err)
	}
}

// checkouts are new reservations, most of them with a session, and orders without a
// coupon.
func (r *rush) checkouts(count int) []store.Order {
	r.Helper()
	var orders []store.Order
	for i := range count {
		c := r.coupons[i%len(r.coupons)]
		reservation := checkout(c, quote(r.T), fmt.Sprintf("c%d", i), fmt.Sprintf("r%d", r.rounds), epoch)
		if i%6 == 5 {
			o := *reservation.Order
			o.CouponID, o.Coupon, o.ReservationID = "", nil, ""
			if _, _, err := r.stores[0].CreateOrder(r.Context(), o); err != nil {
				r.Fatal(err)
			}
			orders = append(orders, o)
			continue
		}
		if _, err := r.stores[0].Reserve(r.Context(), reservation); err != nil {
			if errors.As(err, new(*coupon.Rejection)) {
				continue // its limit is reached in later rounds
			}
			r.Fatal(err)
		}
		orders = append(orders, *reservation.Order)
	}
	return orders
}

// call does one thing with a checkout. Whether it comes too late is not asked.
func (r *rush) call(s *pgxstore.Store, o store.Order, random *rand.Rand, name string) error {
	ctx := r.Context()
	session := "cs_" + o.ID
	at := epoch.Add(time.Duration(random.IntN(1000)) * time.Second)
	var err error
	switch random.IntN(10) {
	case 0:
		_, err = s.AttachSession(ctx, store.Attachment{OrderID: o.ID, SessionID: session, SessionURL: "https://pay.example", Deadline: at.Add(time.Hour), At: at})
	case 1:
		if o.ReservationID != "" {
			_, err = s.Transition(ctx, o.ReservationID, redemption.Event{
				Kind: []redemption.EventKind{redemption.Cancelled, redemption.Lapsed}[random.IntN(2)], At: at.Add(10 * time.Hour), SessionID: []string{"", session}[random.IntN(2)],
			})
		}
	case 2:
		if o.ReservationID != "" {
			next := o.Clone()
			next.ID, next.Key, next.SessionID = o.ID+name, o.Key+name, ""
			_, err = s.TakeOver(ctx, store.TakeOver{
				ReservationID: o.ReservationID, FromSessionID: []string{"", session}[random.IntN(2)], Order: next, Deadline: at.Add(time.Hour), At: at,
			})
		}
	default:
		kinds := []redemption.EventKind{redemption.SessionCompleted, redemption.SessionCompleted, redemption.SessionUnpaid, redemption.PaymentFailed, redemption.SessionExpired}
		_, err = s.Settle(ctx, store.Settlement{
			Event:         redemption.Event{Kind: kinds[random.IntN(len(kinds))], At: at, SessionID: session, OrderID: o.ID, Deadline: at.Add(2 * time.Hour)},
			ReservationID: o.ReservationID, CouponID: o.CouponID, CustomerID: o.CustomerID, NewID: redemption.IDPrefix + "new" + name,
		})
	}
	if slices.ContainsFunc(kind(err), func(text string) bool { return strings.HasPrefix(text, "failure") }) {
		return err
	}
	return nil
}
