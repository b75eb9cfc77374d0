package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

type hostCall func(ctx context.Context, s store.Store, r store.Reservation) error

// hostPair is two calls about one reservation, each in a transaction of a host.
type hostPair struct {
	name    string
	before  hostCall // by the store, or none
	calls   [2]hostCall
	refusal error // that one of them may be told, depending on who is first
}

func hostPairs(c coupon.Coupon) []hostPair {
	settle := func(kind redemption.EventKind) hostCall {
		return func(ctx context.Context, s store.Store, r store.Reservation) error {
			_, err := s.Settle(ctx, settlementOf(kind, r.Redemption, "cs "+r.Redemption.ID))
			return err
		}
	}
	attach := func(ctx context.Context, s store.Store, r store.Reservation) error {
		return bringings()[0].call(ctx, s, r, "cs "+r.Redemption.ID)
	}
	again := func(ctx context.Context, s store.Store, r store.Reservation) error {
		repeated := checkoutOf(c, r.Redemption.CustomerID, "again "+r.Redemption.Key)
		repeated.Redemption.Key, repeated.Order.Key = r.Redemption.Key, r.Redemption.Key
		_, err := s.Reserve(ctx, repeated)
		return err
	}
	another := func(ctx context.Context, s store.Store, r store.Reservation) error {
		_, err := s.Reserve(ctx, checkoutOf(c, r.Redemption.CustomerID, "another "+r.Redemption.Key))
		return err
	}
	byOrder := func(ctx context.Context, s store.Store, r store.Reservation) error {
		_, err := s.Settle(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.SessionExpired, At: noon(), OrderID: r.Order.ID}})
		return err
	}
	takeOver := func(ctx context.Context, s store.Store, r store.Reservation) error {
		next := *checkoutOf(c, r.Redemption.CustomerID, "next "+r.Redemption.Key).Order
		next.ReservationID = r.Redemption.ID
		_, err := s.TakeOver(ctx, store.TakeOver{
			ReservationID: r.Redemption.ID, FromSessionID: "cs " + r.Redemption.ID, Order: next, Deadline: next.Deadline, At: noon(),
		})
		return err
	}
	exchange := func(ctx context.Context, s store.Store, r store.Reservation) error {
		_, err := s.Reserve(ctx, exchangeOf(c, r.Redemption.CustomerID, "exchange "+r.Redemption.Key))
		return err
	}
	paid, expired := settle(redemption.SessionCompleted), settle(redemption.SessionExpired)
	return []hostPair{
		{"a payment that is delivered twice", nil, [2]hostCall{paid, paid}, nil},
		{"an expiry that is delivered twice", nil, [2]hostCall{expired, expired}, nil},
		{"a payment beside the attachment of its session", nil, [2]hostCall{paid, attach}, store.ErrSuperseded},
		{"a payment beside an order that has ended", nil, [2]hostCall{paid, byOrder}, nil},
		{"a payment beside the repeated checkout", nil, [2]hostCall{paid, again}, nil},
		{"a payment beside another checkout of the customer", nil, [2]hostCall{paid, another}, nil},
		{"an expiry beside another checkout of the customer", nil, [2]hostCall{expired, another}, nil},
		{"a late payment that is delivered twice", expired, [2]hostCall{paid, paid}, nil},
		{"a late payment beside another checkout of the customer", expired, [2]hostCall{paid, another}, nil},
		{"an expiry beside a checkout that takes over", attach, [2]hostCall{expired, takeOver}, store.ErrSuperseded},
		{"an exchange that is repeated", nil, [2]hostCall{exchange, exchange}, nil},
		{"an attachment that is repeated", nil, [2]hostCall{attach, attach}, nil},
	}
}

// Two hosts that tell of one reservation at once wait for each other, and neither is told
// to begin anew: every row is locked at once as it will be needed, always in one order.
func TestHostsMeet(t *testing.T) {
	t.Parallel()
	const rounds = 20
	s := mariadbShop(t)
	opened, db := s.open(t)
	for name, limits := range map[string]coupon.Limits{
		"limited": {MaxUses: 1_000_000, MaxUsesPerUser: 1000}, "limited over all": {MaxUses: 1_000_000}, "limited by customer": {MaxUsesPerUser: 1000},
	} {
		c := limitedCoupon("MEET-"+strings.ReplaceAll(name, " ", "-"), limits.MaxUses, limits.MaxUsesPerUser)
		require.NoError(t, opened.CreateCoupon(t.Context(), c))
		for _, pair := range hostPairs(c) {
			t.Run(name+"/"+pair.name, func(t *testing.T) {
				for round := range rounds {
					r := checkoutOf(c, customer(round), fmt.Sprint(name, " ", pair.name, " ", round))
					_, err := opened.Reserve(t.Context(), r)
					require.NoError(t, err)
					if pair.before != nil {
						require.NoError(t, pair.before(t.Context(), opened, r))
					}
					var calls sync.WaitGroup
					errs := make([]error, 2)
					for i, call := range pair.calls {
						calls.Go(func() {
							errs[i] = inHost(t.Context(), opened, db, func(view store.Store) error { return call(t.Context(), view, r) })
						})
					}
					calls.Wait()
					for _, err := range errs {
						if pair.refusal == nil || !errors.Is(err, pair.refusal) {
							require.NoError(t, err, "round %d", round)
						}
					}
				}
			})
		}
	}
	require.NoError(t, storetest.CheckInvariants(t.Context(), opened))
}

// inHost runs the call in a transaction of a host, as documented.
func inHost(ctx context.Context, s *sqlstore.Store, db *sql.DB, call func(store.Store) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := call(s.WithTx(tx)); err != nil {
		return err
	}
	return tx.Commit()
}
