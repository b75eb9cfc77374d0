package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/redemption"
)

// Rows are locked in one order: coupon, redemption, order, count. Who looks for a row
// does not lock it yet. But a transaction of the host may read an older state, and has to
// lock a row in order to see it as it is.

// reading is how a row is read: by [tx.row], [tx.latest] or [tx.latestToChange].
type reading func(ctx context.Context, statement string, args ...any) *sql.Row

// redemptionOf returns the redemption that the statement finds, or the zero value.
func (t *tx) redemptionOf(ctx context.Context, read reading, statement string, args ...any) (redemption.Redemption, error) {
	r, err := scanRedemption(read(ctx, statement, args...))
	if err != nil {
		return redemption.Redemption{}, missing(err, "read redemption")
	}
	return r, nil
}

// redemptionSeen returns the redemption with the ID, or the zero value. It locks the row
// only where the transaction does not see it.
func (t *tx) redemptionSeen(ctx context.Context, id string) (redemption.Redemption, error) {
	r, err := t.redemptionOf(ctx, t.row, redemptionByID, id)
	if err == nil && r.ID == "" && t.joined {
		return t.redemptionOf(ctx, t.latest, redemptionByID, id)
	}
	return r, err
}

// orderSeen returns the order that the statement finds, or the zero value. It locks the
// row only where the transaction does not see it.
func (t *tx) orderSeen(ctx context.Context, statement string, args ...any) (storedOrder, error) {
	o, err := scanOrder(t.row(ctx, statement, args...))
	if t.joined && errors.Is(err, sql.ErrNoRows) {
		o, err = scanOrder(t.latest(ctx, statement, args...))
	}
	if err != nil {
		return storedOrder{}, missing(err, "read order")
	}
	return o, nil
}

// missing turns the lack of a row into no error.
func missing(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// lockRedemption returns the redemption, which nobody else changes until the
// transaction ends, or the zero value. It comes before lockOrder.
func (t *tx) lockRedemption(ctx context.Context, id string) (redemption.Redemption, error) {
	r, err := scanRedemption(t.row(ctx, redemptionByID+"{for_update}", id))
	if err != nil {
		return redemption.Redemption{}, missing(err, "lock redemption")
	}
	return r, nil
}

func (t *tx) lockOrder(ctx context.Context, id string) (storedOrder, error) {
	o, err := scanOrder(t.row(ctx, orderByID+"{for_update}", id))
	if err != nil {
		return storedOrder{}, missing(err, "lock order")
	}
	return o, nil
}
