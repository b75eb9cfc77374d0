package pgxstore_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// meeting is a pair of calls, the second of which waits for rows of the first, unless its name is in free.
type meeting struct {
	limits        coupon.Limits
	before        []func(context.Context, store.Store, coupon.Coupon) (any, error)
	first, second func(context.Context, store.Store, coupon.Coupon) (any, error)
}

func meetings(tb testing.TB) map[string]meeting {
	tb.Helper()
	type call = func(context.Context, store.Store, coupon.Coupon) (any, error)
	q := quote(tb)
	reserve := func(customer, key, replaces string) call {
		return func(ctx context.Context, s store.Store, c coupon.Coupon) (any, error) {
			r := checkout(c, q, customer, key)
			if replaces != "" {
				r.Order.Replaces = redemption.OrderIDPrefix + customer + "-" + replaces
			}
			return s.Reserve(ctx, r)
		}
	}
	event := func(kind redemption.EventKind, key, session string) call {
		return func(ctx context.Context, s store.Store, _ coupon.Coupon) (any, error) {
			return s.Apply(ctx, store.Settlement{Event: redemption.Event{
				Kind: kind, At: at, OrderID: redemption.OrderIDPrefix + "ann-" + key, SessionID: session, Deadline: at.Add(time.Hour),
				AskedAt: math.MaxInt64,
			}})
		}
	}
	points := func(key string) call {
		return func(ctx context.Context, s store.Store, c coupon.Coupon) (any, error) {
			r := checkout(c, q, "ann", key)
			u := &r.Uses[0]
			u.Key, u.ExchangeID, u.OrderID, u.Origin, u.Points, u.PointsState = key, u.ID, "", redemption.FromPoints, 5, redemption.PointsPending
			return s.Reserve(ctx, store.Reservation{Uses: r.Uses, Coupons: r.Coupons})
		}
	}
	debited := func(ctx context.Context, s store.Store, _ coupon.Coupon) (any, error) {
		return s.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.PointsExchanged, At: at, UseID: "use_ann-p"}})
	}
	taking := func(key string) call {
		return func(ctx context.Context, s store.Store, c coupon.Coupon) (any, error) {
			r := checkout(c, q, "ann", key)
			u := &r.Uses[0]
			u.ExchangeID, u.Origin, u.Points, u.PointsState = "use_ann-p", redemption.FromPoints, 5, redemption.PointsDebited
			return s.Reserve(ctx, r)
		}
	}
	unknown := func(orderID, session string) call {
		return func(ctx context.Context, s store.Store, c coupon.Coupon) (any, error) {
			r := checkout(c, q, "ann", "lost")
			r.Order.Key, r.Order.State, r.Order.SessionID, r.Order.Deadline = "", redemption.OrderPaid, session, time.Time{}
			r.Uses[0].State, r.Uses[0].Origin, r.Uses[0].CompletedAt = redemption.Completed, redemption.FromPayment, at
			return s.Apply(ctx, store.Settlement{Unknown: r, Event: redemption.Event{Kind: redemption.Paid, At: at, OrderID: orderID, SessionID: session}})
		}
	}
	edit := func(ctx context.Context, s store.Store, c coupon.Coupon) (any, error) {
		c.Name = "edited"
		return s.SaveCoupon(ctx, store.CouponChange{Kind: store.EditCoupon, Coupon: c, Unlimited: c.Limits.MaxUses == 0, At: at})
	}
	// The customer has been there before, so that their counters exist.
	regular := []call{reserve("ann", "old", ""), event(redemption.Cancelled, "old", "")}
	ordered := append(regular[:2:2], reserve("ann", "1", ""))
	waiting := append(ordered[:3:3], event(redemption.SessionAttached, "1", "cs_1"), reserve("ann", "2", "1"))
	next := append(waiting[:5:5], event(redemption.PaymentEnded, "1", "cs_1"))
	begins := func(key string) call { return event(redemption.PaymentBegun, key, "") }
	one := coupon.Limits{MaxUses: 1, MaxUsesPerUser: 1}
	return map[string]meeting{
		"one key":                  {one, regular, reserve("ann", "1", ""), reserve("ann", "1", "")},
		"the last use":             {coupon.Limits{MaxUses: 1}, nil, reserve("ann", "1", ""), reserve("bob", "1", "")},
		"a customer's use":         {coupon.Limits{MaxUsesPerUser: 1}, regular, reserve("ann", "1", ""), reserve("ann", "2", "")},
		"all that is exceeded":     {coupon.Limits{MaxUses: 2, MaxUsesPerUser: 1}, []call{reserve("bob", "1", "")}, reserve("ann", "1", ""), reserve("ann", "2", "")},
		"hand-overs":               {one, ordered, reserve("ann", "2", "1"), reserve("ann", "3", "1")},
		"hand-over of one key":     {one, ordered, reserve("ann", "2", "1"), reserve("ann", "2", "1")},
		"hand-over of the new":     {one, append(ordered[:3:3], reserve("ann", "2", "1")), reserve("ann", "3", "2"), event(redemption.Paid, "1", "cs_1")},
		"payment and cancellation": {one, ordered, event(redemption.Paid, "1", "cs_1"), event(redemption.Cancelled, "1", "")},
		"cancellation and payment": {one, ordered, event(redemption.Cancelled, "1", ""), event(redemption.Paid, "1", "cs_1")},
		"a use that is given back": {one, ordered, event(redemption.Cancelled, "1", ""), reserve("bob", "1", "")},
		"sessions":                 {one, ordered, event(redemption.SessionAttached, "1", "cs_1"), event(redemption.SessionAttached, "1", "cs_2")},
		"exchanges":                {one, regular, points("p"), points("p2")},
		"exchange of one key":      {one, regular, points("p"), points("p")},
		"points":                   {one, append(regular[:2:2], points("p"), debited), taking("1"), taking("2")},
		"points and one key":       {one, append(regular[:2:2], points("p"), debited), taking("1"), taking("1")},
		"an unknown payment":       {one, nil, unknown("", "cs_1"), unknown("", "cs_1")},
		"a payment ahead":          {one, regular, reserve("ann", "1", ""), unknown("ord_ann-1", "cs_1")},
		"a payment that begins":    {one, ordered, begins("1"), begins("1")},
		"hand-over and payment":    {one, ordered, reserve("ann", "2", "1"), begins("1")},
		"payment and hand-over":    {one, ordered, begins("1"), reserve("ann", "2", "1")},
		"the end of a payment":     {one, waiting, event(redemption.PaymentEnded, "1", "cs_1"), begins("2")},
		"begins and on its way":    {one, next, begins("2"), event(redemption.PaymentPending, "1", "cs_1")},
		"on its way and begins":    {one, next, event(redemption.PaymentPending, "1", "cs_1"), begins("2")},
		"an edit":                  {one, nil, edit, reserve("ann", "1", "")},
		"edits":                    {one, nil, edit, edit},
		"an edit after":            {one, regular, reserve("ann", "1", ""), edit},
	}
}

// free are the calls that do not wait: what is committed refuses them.
var free = []string{"a use that is given back", "the end of a payment"}

// A call that waits for rows of an open transaction is answered as if it came after that, if
// it is committed, and as if that had never been, if it is rolled back. A call that does not wait
// is answered as if that had never been. Memory tells how.
func TestWhoeverWaitsComesAfter(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	for name, m := range meetings(t) {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", committed ", commits), func(t *testing.T) {
				s, reference := newEmptyStore(t, pool), memstore.New()
				draft := newCoupon(t, "TEN", m.limits)
				c := create(t, s, draft)
				create(t, reference, draft)
				for _, call := range m.before {
					_, err := call(t.Context(), reference, c)
					require.NoError(t, err)
					_, err = call(t.Context(), s, c)
					require.NoError(t, err)
				}
				free := slices.Contains(free, name)
				if commits && !free {
					_, err := m.first(t.Context(), reference, c)
					require.NoError(t, err)
				}
				want, wantErr := m.second(t.Context(), reference, c)

				ctx, cancel := patience.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
				defer cancel()
				host, err := pool.Begin(ctx)
				require.NoError(t, err)
				defer func() { _ = host.Rollback(ctx) }()
				_, err = m.first(ctx, s.WithTx(host), c)
				require.NoError(t, err)
				var got any
				var gotErr error
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					got, gotErr = m.second(ctx, s, c)
				}()
				if free {
					<-ended
				} else {
					waitForLock(ctx, t, pool, ended)
				}
				if commits {
					require.NoError(t, host.Commit(ctx))
				} else {
					require.NoError(t, host.Rollback(ctx))
				}
				<-ended
				require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(gotErr))
				require.Empty(t, cmp.Diff(want, got))
				require.NoError(t, storetest.Check(ctx, s))
			})
		}
	}
}

// waitForLock waits until somebody waits for a lock.
func waitForLock(ctx context.Context, t *testing.T, pool *pgxpool.Pool, ended <-chan struct{}) {
	t.Helper()
	for waiting := false; !waiting; time.Sleep(time.Millisecond) {
		select {
		case <-ended:
			t.Error("the call did not wait")
			return
		default:
		}
		require.NoError(t, pool.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
	}
}
