package pgxstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

type (
	settleRequest = store.Settlement
	settlement    = store.Settled
)

// Settle implements store.Redemptions in one round trip; a payment that needs a place of
// its coupon takes another where calls are joined ([BatchOptions]).
func (s *Store) Settle(ctx context.Context, request store.Settlement) (store.Settled, error) {
	if err := s.ready(ctx); err != nil {
		return store.Settled{}, err
	}
	if e := request.Event; !e.OfSession() {
		return store.Settled{}, &redemption.TransitionError{ID: request.ReservationID, Kind: e.Kind, Cause: redemption.ErrIllegal}
	}
	request.Event.At = instant(request.Event.At)
	if err := request.Event.Validate(); err != nil {
		return store.Settled{}, err
	}
	request, err := s.soughtSettlement(ctx, request)
	if err != nil {
		return store.Settled{}, err
	}
	settled, err := s.settle(ctx, request)
	if err != nil {
		return store.Settled{}, fmt.Errorf("settle: %w", err)
	}
	return settled, nil
}

// paymentOf is the record of a payment for which there is none.
func paymentOf(s store.Settlement) redemption.Redemption {
	return redemption.Redemption{
		ID: s.NewID, Key: s.NewID, CouponID: s.CouponID, CustomerID: s.CustomerID,
		State: redemption.Completed, Origin: redemption.FromPayment, OrderID: s.Event.OrderID,
		SessionID: s.Event.SessionID, CreatedAt: s.Event.At, UpdatedAt: s.Event.At, CompletedAt: s.Event.At,
	}
}

func (s *Store) settle(ctx context.Context, request settleRequest) (settlement, error) {
	if s.pool == nil || s.shared.groups == nil {
		answers, err := s.settleOne(ctx, []settleRequest{request})
		if err != nil {
			return settlement{}, err
		}
		return answers[0].value, answers[0].err
	}
	route := request.CouponID
	if route == "" {
		route = request.Event.SessionID
	}
	return s.shared.groups.settle.do(ctx, request, route, "")
}

// settleAll runs the settlements in one transaction and one round trip, but for those
// that need one of their own.
func (s *Store) settleAll(ctx context.Context, requests []settleRequest) ([]answer[settlement], error) {
	if len(requests) == 1 {
		return s.settleOne(ctx, requests)
	}
	return s.settleWith(ctx, s.sql.settleBatch, requests, settleColumns(requests))
}

// settleOne runs a settlement, whatever it is.
func (s *Store) settleOne(ctx context.Context, requests []settleRequest) ([]answer[settlement], error) {
	customers, ids := make([]string, len(requests)), make([]string, len(requests))
	for i, r := range requests {
		customers[i], ids[i] = r.CustomerID, r.NewID
	}
	return s.settleWith(ctx, s.sql.settleEach, requests, append(settleColumns(requests), customers, ids))
}

func (s *Store) settleWith(ctx context.Context, statement string, requests []settleRequest, arguments []any) ([]answer[settlement], error) {
	var answers []answer[settlement]
	err := s.retry(ctx, func() error {
		answers = make([]answer[settlement], len(requests))
		seen := 0
		err := s.query(ctx, statement, func(rows pgx.Rows) error {
			seen++
			return scanSettled(rows, requests, answers)
		}, arguments...)
		if err == nil && seen != len(requests) {
			return fmt.Errorf("%d answers for %d settlements", seen, len(requests))
		}
		return err
	})
	return answers, err
}

// settleColumns are the arguments of couponkit_settle_batch, with which those of
// couponkit_settle_each begin.
func settleColumns(requests []settleRequest) []any {
	n := len(requests)
	reservations, coupons, events := make([]string, n), make([]string, n), make([]redemption.Event, n)
	for i, r := range requests {
		reservations[i], coupons[i], events[i] = r.ReservationID, r.CouponID, r.Event
	}
	return append(eventArguments(events), reservations, coupons)
}

func scanSettled(rows pgx.Rows, requests []settleRequest, answers []answer[settlement]) error {
	var n int64
	var problem zeronull.Text
	var r redemptionRow
	var o orderRow
	var settled store.Settled
	targets := append([]any{&n, &problem, &settled.Changed}, r.targets()...)
	if err := rows.Scan(append(targets, o.targets()...)...); err != nil {
		return err
	}
	if n < 1 || n > int64(len(answers)) {
		return fmt.Errorf("an answer for settlement %d", n)
	}
	to := &answers[n-1]
	switch problem {
	case "alone":
		to.err = errAlone
		return nil
	case "unnamed":
		to.err = paymentOf(requests[n-1]).Validate()
		return nil
	case "conflict":
		to.err = fmt.Errorf("the new redemption's ID exists: %w", store.ErrConflict)
		return nil
	}
	var err error
	if settled.Redemption, err = r.redemption(); err == nil {
		settled.Order, err = o.order()
	}
	to.value, to.err = settled, err
	return nil
}

// eventArguments turns events into the columns of couponkit_event.
func eventArguments(events []redemption.Event) []any {
	n := len(events)
	kinds, sessions, orders := make([]string, n), make([]string, n), make([]string, n)
	ats, deadlines := make([]time.Time, n), make([]*time.Time, n)
	for i, e := range events {
		kinds[i], sessions[i], orders[i], ats[i] = e.Kind.String(), e.SessionID, e.OrderID, instant(e.At)
		deadline := instant(e.Deadline)
		deadlines[i] = orNull(&deadline)
	}
	return []any{kinds, ats, sessions, orders, deadlines}
}
