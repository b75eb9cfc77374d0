package pgxstore

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
)

// redemptionColumns are read in this order by redemptionRow.
const redemptionColumns = `id, key, coupon_id, customer_id, state, origin, order_id, session_id, points, points_state,
	awaiting_payment, over_limit, deadline, leaving_until, created_at, updated_at, completed_at, released_at`

// columnsOf puts the expression of a row before each column.
func columnsOf(row, columns string) string {
	names := strings.Split(columns, ",")
	for i, name := range names {
		names[i] = row + "." + strings.TrimSpace(name)
	}
	return strings.Join(names, ", ")
}

// redemptionRow receives the columns. A row of NULLs is no redemption.
type redemptionRow struct {
	record                     redemption.Redemption
	state, origin, pointsState string
	awaiting, overLimit        *bool
}

func (r *redemptionRow) targets() []any {
	v := &r.record
	return []any{
		(*zeronull.Text)(&v.ID), (*zeronull.Text)(&v.Key), (*zeronull.Text)(&v.CouponID), (*zeronull.Text)(&v.CustomerID),
		(*zeronull.Text)(&r.state), (*zeronull.Text)(&r.origin), (*zeronull.Text)(&v.OrderID), (*zeronull.Text)(&v.SessionID),
		(*zeronull.Int8)(&v.Points), (*zeronull.Text)(&r.pointsState), &r.awaiting, &r.overLimit,
		(*instantColumn)(&v.Deadline), (*instantColumn)(&v.LeavingUntil),
		(*instantColumn)(&v.CreatedAt), (*instantColumn)(&v.UpdatedAt),
		(*instantColumn)(&v.CompletedAt), (*instantColumn)(&v.ReleasedAt),
	}
}

// redemption returns the record, the zero value for no row.
func (r *redemptionRow) redemption() (redemption.Redemption, error) {
	v := r.record
	if v.ID == "" {
		return redemption.Redemption{}, nil
	}
	var err error
	if v.State, err = redemption.ParseState(r.state); err != nil {
		return redemption.Redemption{}, corrupt("redemption", v.ID, err)
	}
	if v.Origin, err = redemption.ParseOrigin(r.origin); err != nil {
		return redemption.Redemption{}, corrupt("redemption", v.ID, err)
	}
	if v.PointsState, err = redemption.ParsePointsState(r.pointsState); err != nil {
		return redemption.Redemption{}, corrupt("redemption", v.ID, err)
	}
	v.AwaitingPayment, v.OverLimit = r.awaiting != nil && *r.awaiting, r.overLimit != nil && *r.overLimit
	return stored(v), nil
}

// stored returns the record as the database keeps it: instants to the microsecond.
func stored(v redemption.Redemption) redemption.Redemption {
	v.Deadline, v.LeavingUntil = coupon.Instant(v.Deadline), coupon.Instant(v.LeavingUntil)
	v.CreatedAt, v.UpdatedAt = coupon.Instant(v.CreatedAt), coupon.Instant(v.UpdatedAt)
	v.CompletedAt, v.ReleasedAt = coupon.Instant(v.CompletedAt), coupon.Instant(v.ReleasedAt)
	return v
}
