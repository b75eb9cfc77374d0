package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit"
)

const balanceQuery = `SELECT balance FROM shop_points WHERE user_id = $1`

// Balance returns the customer's points; somebody unknown has none.
func (d *DB) Balance(ctx context.Context, userID string) (int64, error) {
	var balance int64
	err := d.balance.row(ctx, d.db, userID).Scan(&balance)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return balance, err
}

// Debit takes points for a reservation, once; see [couponkit.Points]. The entry's
// primary key is what makes it idempotent: of concurrent calls one inserts.
func (d *DB) Debit(ctx context.Context, userID, reservationID string, points int64) error {
	err := d.within(ctx, func(tx *sql.Tx) error {
		fresh, err := d.enter(ctx, tx, userID, reservationID, points, false)
		if err != nil {
			return err
		}
		if !fresh {
			return entryIsOpen(ctx, tx, reservationID)
		}
		enough, err := changed(tx.ExecContext(ctx,
			`UPDATE shop_points SET balance = balance - $2 WHERE user_id = $1 AND balance >= $2`, userID, points))
		if err == nil && !enough {
			return couponkit.ErrInsufficientPoints
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("debit points: %w", err)
	}
	return nil
}

// Refund gives the points of a reservation back to whom they were taken from, once,
// and closes it; see [couponkit.Points].
func (d *DB) Refund(ctx context.Context, userID, reservationID string) error {
	err := d.within(ctx, func(tx *sql.Tx) error {
		fresh, err := d.enter(ctx, tx, userID, reservationID, 0, true)
		if err != nil || fresh {
			return err
		}
		var debited int64
		err = tx.QueryRowContext(ctx,
			`UPDATE shop_point_entries SET closed = 1, changed_at = $2 WHERE reservation_id = $1 AND closed = 0
			 RETURNING user_id, debited`, reservationID, d.options.Now().UnixMicro()).Scan(&userID, &debited)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // already refunded
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE shop_points SET balance = balance + $2 WHERE user_id = $1`, userID, debited)
		return err
	})
	if err != nil {
		return fmt.Errorf("refund points: %w", err)
	}
	return nil
}

// enter inserts the entry of a reservation unless there is one.
func (d *DB) enter(ctx context.Context, tx *sql.Tx, userID, reservationID string, points int64, closed bool) (bool, error) {
	state := 0
	if closed {
		state = 1
	}
	return changed(tx.ExecContext(ctx,
		`INSERT INTO shop_point_entries (reservation_id, user_id, debited, closed, changed_at)
		 VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		reservationID, userID, points, state, d.options.Now().UnixMicro()))
}

func entryIsOpen(ctx context.Context, tx *sql.Tx, reservationID string) error {
	var closed int
	err := tx.QueryRowContext(ctx,
		`SELECT closed FROM shop_point_entries WHERE reservation_id = $1`, reservationID).Scan(&closed)
	if err == nil && closed != 0 {
		return couponkit.ErrReservationClosed
	}
	return err
}
