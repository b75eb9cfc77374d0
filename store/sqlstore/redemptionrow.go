package sqlstore

import (
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
)

const redemptionColumns = `r.id, r.idempotency_key, r.coupon_id, r.customer_id, r.state, r.origin, r.order_id, r.session_id,
	r.points, r.points_state, r.awaiting_payment, r.over_limit, r.deadline, r.leaving_until,
	r.created_at, r.updated_at, r.completed_at, r.released_at`

const insertedColumns = `id, idempotency_key, coupon_id, customer_id, state, origin, order_id,
	session_id, points, points_state, awaiting_payment, over_limit, deadline, leaving_until,
	created_at, updated_at, completed_at, released_at`

const insertRedemption = `INSERT INTO {coupon_redemptions} (` + insertedColumns + `)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?){or_nothing}`

// What never changes is left out.
const updateRedemption = `UPDATE {coupon_redemptions} SET state = ?, order_id = ?, session_id = ?, points_state = ?,
	awaiting_payment = ?, over_limit = ?, deadline = ?, leaving_until = ?, updated_at = ?, completed_at = ?, released_at = ? WHERE id = ?`

// payRedemption is updateRedemption for what nearly every payment changes. SQLite checks
// the less the fewer columns are written.
const payRedemption = `UPDATE {coupon_redemptions} SET state = 'completed', session_id = ?, deadline = NULL,
	updated_at = ?, completed_at = ? WHERE id = ?`

// onlyPaid reports whether payRedemption makes the second of the first.
func onlyPaid(before, after redemption.Redemption) bool {
	before.State, before.Deadline = redemption.Completed, time.Time{}
	before.SessionID, before.UpdatedAt, before.CompletedAt = after.SessionID, after.UpdatedAt, after.CompletedAt
	return before == after
}

// redemptionRow receives a row; the nulls of an outer join leave it without an ID.
type redemptionRow struct {
	r                          redemption.Redemption
	state, origin, pointsState string
	created, updated           int64
	deadline, leaving          optional
	completed, released        optional
}

func (row *redemptionRow) targets() []any {
	r := &row.r
	return []any{
		&r.ID, &r.Key, &r.CouponID, &r.CustomerID, &row.state, &row.origin, &r.OrderID, &r.SessionID,
		&r.Points, &row.pointsState, &r.AwaitingPayment, &r.OverLimit,
		&row.deadline, &row.leaving, &row.created, &row.updated, &row.completed, &row.released,
	}
}

func (row *redemptionRow) redemption() (r redemption.Redemption, err error) {
	r = row.r
	if r.State, err = redemption.ParseState(row.state); err != nil {
		return r, fmt.Errorf("state of redemption %s: %w", r.ID, corrupt(err))
	}
	if r.Origin, err = redemption.ParseOrigin(row.origin); err != nil {
		return r, fmt.Errorf("origin of redemption %s: %w", r.ID, corrupt(err))
	}
	if r.PointsState, err = redemption.ParsePointsState(row.pointsState); err != nil {
		return r, fmt.Errorf("points of redemption %s: %w", r.ID, corrupt(err))
	}
	r.CreatedAt, r.UpdatedAt = instant(row.created), instant(row.updated)
	r.Deadline, r.LeavingUntil = optionalInstant(row.deadline), optionalInstant(row.leaving)
	r.CompletedAt, r.ReleasedAt = optionalInstant(row.completed), optionalInstant(row.released)
	return r, nil
}

func scanRedemption(row scanner) (redemption.Redemption, error) {
	var into redemptionRow
	if err := row.Scan(into.targets()...); err != nil {
		return redemption.Redemption{}, err
	}
	return into.redemption()
}

// redemptionValues returns the arguments of insertRedemption.
func redemptionValues(r redemption.Redemption) []any {
	return []any{
		r.ID, r.Key, r.CouponID, r.CustomerID, r.State.String(), r.Origin.String(), r.OrderID, r.SessionID,
		r.Points, r.PointsState.String(), r.AwaitingPayment, r.OverLimit,
		optionalMicros(r.Deadline), optionalMicros(r.LeavingUntil), micros(r.CreatedAt), micros(r.UpdatedAt),
		optionalMicros(r.CompletedAt), optionalMicros(r.ReleasedAt),
	}
}

// redemptionChanges returns the arguments of updateRedemption.
func redemptionChanges(r redemption.Redemption) []any {
	return []any{
		r.State.String(), r.OrderID, r.SessionID, r.PointsState.String(), r.AwaitingPayment, r.OverLimit,
		optionalMicros(r.Deadline), optionalMicros(r.LeavingUntil), micros(r.UpdatedAt),
		optionalMicros(r.CompletedAt), optionalMicros(r.ReleasedAt), r.ID,
	}
}

// atMicrosecond cuts all instants off, as they are stored.
func atMicrosecond(r redemption.Redemption) redemption.Redemption {
	for _, t := range [...]*time.Time{&r.Deadline, &r.LeavingUntil, &r.CreatedAt, &r.UpdatedAt, &r.CompletedAt, &r.ReleasedAt} {
		*t = coupon.Instant(*t)
	}
	return r
}

func eventAtMicrosecond(e redemption.Event) redemption.Event {
	e.At, e.Deadline = coupon.Instant(e.At), coupon.Instant(e.Deadline)
	return e
}

// corrupt hides what would look like the caller's mistake: it is the database that
// holds something else than this package wrote.
func corrupt(err error) error { return fmt.Errorf("unreadable row: %s", err) } //nolint:errorlint // see above
