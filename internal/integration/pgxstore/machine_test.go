package pgxstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

var ten = decimal.NewFromInt(10)

// records yields redemptions in every combination of what the machine looks at.
func records(yield func(redemption.Redemption) bool) {
	// Leaving until before and after the deadline and the later events.
	hour := epoch.Add(time.Hour)
	waits := []struct{ deadline, leaving time.Time }{
		{}, {deadline: hour}, {hour, epoch.Add(30 * time.Minute)}, {hour, epoch.Add(90 * time.Minute)}, {leaving: epoch.Add(30 * time.Minute)},
	}
	for _, state := range []redemption.State{redemption.Reserved, redemption.Completed, redemption.Released} {
		for points := redemption.NoPoints; points <= redemption.PointsRefunded; points++ {
			for _, session := range []string{"", "s1"} {
				for _, order := range []string{"", "o1"} {
					for _, awaiting := range []bool{false, true} {
						for _, waits := range waits {
							r := redemption.Redemption{
								ID: "r", Key: "k", CouponID: "cpn_x", CustomerID: "c", State: state, Origin: redemption.FromPoints,
								OrderID: order, SessionID: session, Points: 5, PointsState: points, AwaitingPayment: awaiting,
								Deadline: waits.deadline, LeavingUntil: waits.leaving, CreatedAt: epoch, UpdatedAt: epoch,
							}
							if state == redemption.Released {
								r.ReleasedAt = epoch
							}
							if !yield(r) {
								return
							}
						}
					}
				}
			}
		}
	}
}

// events yields events in every combination of what the machine looks at.
func events(yield func(redemption.Event) bool) {
	at := epoch.Add(time.Minute)
	for kind := redemption.PointsExchanged; kind <= redemption.Leaving; kind++ {
		for _, session := range []string{"", "s1", "s2"} {
			for _, order := range []string{"", "o1", "o2"} {
				for _, deadline := range []time.Time{{}, at, epoch.Add(2 * time.Hour)} {
					for _, when := range []time.Time{at, epoch.Add(time.Hour)} {
						for _, full := range []bool{false, true} {
							if !yield(redemption.Event{
								Kind: kind, At: when, SessionID: session, OrderID: order, Deadline: deadline, NoPlaceLeft: full,
							}) {
								return
							}
						}
					}
				}
			}
		}
	}
}

// TestApplyInTheDatabase compares the machine in the database with redemption.Apply
// over all states and events.
func TestApplyInTheDatabase(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t, pgxstore.Namespace{})
	compared := 0
	for r := range records {
		var batch machineBatch
		for e := range events {
			batch.add(r, e)
		}
		got := batch.apply(t, pool)
		for i, e := range batch.events {
			want, err := redemption.Apply(r, e)
			// What is the same bit for bit is spared the long way to say so.
			if applied := (machineResult{want, cause(err)}); applied != got[i] {
				if diff := cmp.Diff(applied, got[i]); diff != "" {
					t.Fatalf("record %+v\nevent %+v\n(-Apply +database):\n%s", r, e, diff)
				}
			}
			compared++
		}
	}
	t.Logf("%d pairs", compared)
}

type machineResult struct {
	Record  redemption.Redemption
	Refusal string
}

func cause(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, redemption.ErrOtherSession):
		return "other_session"
	case errors.Is(err, redemption.ErrNotLapsed):
		return "not_lapsed"
	}
	return "illegal"
}

type machineBatch struct {
	record redemption.Redemption
	events []redemption.Event
}

func (b *machineBatch) add(r redemption.Redemption, e redemption.Event) {
	b.record, b.events = r, append(b.events, e)
}

func null(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// apply runs the machine in the database.
func (b *machineBatch) apply(t *testing.T, pool *pgxpool.Pool) []machineResult {
	t.Helper()
	var kinds, sessions, orders []string
	var ats []time.Time
	var deadlines []*time.Time
	var full []bool
	for _, e := range b.events {
		kinds, sessions, orders = append(kinds, e.Kind.String()), append(sessions, e.SessionID), append(orders, e.OrderID)
		ats, deadlines, full = append(ats, e.At), append(deadlines, null(e.Deadline)), append(full, e.NoPlaceLeft)
	}
	r := b.record
	rows, err := pool.Query(context.WithoutCancel(t.Context()), `
		SELECT (a.result).state, (a.result).order_id, (a.result).session_id, (a.result).points_state, (a.result).awaiting_payment,
			(a.result).over_limit, (a.result).deadline, (a.result).updated_at, (a.result).completed_at, (a.result).released_at,
			(a.result).leaving_until, coalesce(a.refusal, '')
		FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::timestamptz[], $6::boolean[])
			WITH ORDINALITY AS e (kind, at, session_id, order_id, deadline, full_up, n)
		CROSS JOIN LATERAL couponkit_apply(
			ROW($7::text, $8::text, $9::text, $10::text, $11::text, $12::text, $13::text, $14::text, $15::bigint, $16::text,
				$17::boolean, $18::boolean, $19::timestamptz, $20::timestamptz, $21::timestamptz, $22::timestamptz, $23::timestamptz,
				NULL::bigint, $24::timestamptz)::coupon_redemptions,
			ROW(e.kind, e.at, e.session_id, e.order_id, e.deadline, e.full_up)::couponkit_event) a
		ORDER BY e.n`,
		kinds, ats, sessions, orders, deadlines, full,
		r.ID, r.Key, r.CouponID, r.CustomerID, r.State.String(), r.Origin.String(), r.OrderID, r.SessionID, r.Points,
		r.PointsState.String(), r.AwaitingPayment, r.OverLimit, null(r.Deadline), r.CreatedAt, r.UpdatedAt,
		null(r.CompletedAt), null(r.ReleasedAt), null(r.LeavingUntil))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var results []machineResult
	for rows.Next() {
		result := machineResult{Record: r}
		var state, points string
		var deadline, completed, released, leaving *time.Time
		v := &result.Record
		if err := rows.Scan(&state, &v.OrderID, &v.SessionID, &points, &v.AwaitingPayment, &v.OverLimit,
			&deadline, &v.UpdatedAt, &completed, &released, &leaving, &result.Refusal); err != nil {
			t.Fatal(err)
		}
		if v.State, err = redemption.ParseState(state); err != nil {
			t.Fatal(err)
		}
		if v.PointsState, err = redemption.ParsePointsState(points); err != nil {
			t.Fatal(err)
		}
		v.Deadline, v.CompletedAt, v.ReleasedAt = orZero(deadline), orZero(completed), orZero(released)
		v.LeavingUntil = orZero(leaving)
		v.UpdatedAt = v.UpdatedAt.UTC()
		results = append(results, result)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(results) != len(b.events) {
		t.Fatalf("%d results for %d events", len(results), len(b.events))
	}
	return results
}

func orZero(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.UTC()
}

// TestOrderAfterInTheDatabase compares an order's half of the machine with
// store.Order.After over all states and events.
func TestOrderAfterInTheDatabase(t *testing.T) {
	t.Parallel()
	pool := newDatabase(t, pgxstore.Namespace{})
	for state := store.OrderOpen; state <= store.OrderCancelled; state++ {
		for _, session := range []string{"", "s1"} {
			for _, deadline := range []time.Time{{}, epoch.Add(time.Hour)} {
				compareOrders(t, pool, store.Order{
					ID: "o1", State: state, SessionID: session, Deadline: deadline, CreatedAt: epoch, UpdatedAt: epoch,
				})
			}
		}
	}
}

func compareOrders(t *testing.T, pool *pgxpool.Pool, o store.Order) {
	t.Helper()
	for e := range events {
		if e.NoPlaceLeft || e.OrderID != "" {
			continue // an order does not look at it
		}
		var state string
		var deadline *time.Time
		got := o
		if err := pool.QueryRow(t.Context(), `
			SELECT a.state, a.session_id, a.deadline, a.updated_at
			FROM couponkit_order_after(
				ROW('o1', 'k', 'f', 'c', $1::text, '', '', 0, $2::text, '', $3::timestamptz, $4::timestamptz, $4::timestamptz,
					'{}'::jsonb, NULL, NULL)::orders,
				ROW($5::text, $6::timestamptz, $7::text, $8::text, $9::timestamptz, false)::couponkit_event) a`,
			o.State.String(), o.SessionID, null(o.Deadline), o.CreatedAt,
			e.Kind.String(), e.At, e.SessionID, e.OrderID, null(e.Deadline)).Scan(&state, &got.SessionID, &deadline, &got.UpdatedAt); err != nil {
			t.Fatal(err)
		}
		var err error
		if got.State, err = store.ParseOrderState(state); err != nil {
			t.Fatal(err)
		}
		got.Deadline, got.UpdatedAt = orZero(deadline), got.UpdatedAt.UTC()
		if diff := cmp.Diff(o.After(e), got); diff != "" {
			t.Fatalf("order %+v\nevent %+v\n(-After +database):\n%s", o, e, diff)
		}
	}
}
