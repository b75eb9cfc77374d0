package pgxstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/store"
)

type attached = store.Order

// AttachSession implements store.Orders in one round trip.
func (s *Store) AttachSession(ctx context.Context, a store.Attachment) (store.Order, error) {
	if err := s.ready(ctx); err != nil {
		return store.Order{}, err
	}
	a.At, a.Deadline = instant(a.At), instant(a.Deadline)
	if err := a.Validate(); err != nil {
		return store.Order{}, err
	}
	if !storable(a.OrderID) {
		return store.Order{}, unknownOrder([]string{a.OrderID})
	}
	if s.pool != nil && s.shared.groups != nil {
		return s.shared.groups.attach.do(ctx, a, a.OrderID, "")
	}
	answers, err := s.attachOne(ctx, []store.Attachment{a})
	if err != nil {
		return store.Order{}, err
	}
	return answers[0].value, answers[0].err
}

// attachAll attaches the sessions in one transaction and one round trip, but for the
// second of one order, reservation or session.
func (s *Store) attachAll(ctx context.Context, requests []store.Attachment) ([]answer[attached], error) {
	if len(requests) == 1 {
		return s.attachOne(ctx, requests)
	}
	n := len(requests)
	orders, sessions, urls := make([]string, n), make([]string, n), make([]string, n)
	deadlines, ats := make([]*time.Time, n), make([]time.Time, n)
	for i, a := range requests {
		orders[i], sessions[i], urls[i], deadlines[i], ats[i] = a.OrderID, a.SessionID, a.SessionURL, orNull(&a.Deadline), a.At
	}
	var answers []answer[attached]
	err := s.retry(ctx, func() error {
		answers = make([]answer[attached], n)
		seen := 0
		err := s.query(ctx, s.sql.attachBatch, func(rows pgx.Rows) error {
			seen++
			return scanAttached(rows, requests, answers)
		}, orders, sessions, urls, deadlines, ats)
		if err == nil && seen != n {
			return fmt.Errorf("%d answers for %d sessions", seen, n)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("attach sessions: %w", err)
	}
	return answers, err
}

func scanAttached(rows pgx.Rows, requests []store.Attachment, answers []answer[attached]) error {
	var n int64
	var outcome string
	var row orderRow
	if err := rows.Scan(append([]any{&n, &outcome}, row.targets()...)...); err != nil {
		return err
	}
	if n < 1 || n > int64(len(answers)) {
		return fmt.Errorf("an answer for session %d", n)
	}
	answers[n-1] = attachedAs(requests[n-1], outcome, &row)
	return nil
}

// attachOne attaches one session.
func (s *Store) attachOne(ctx context.Context, requests []store.Attachment) ([]answer[attached], error) {
	a := requests[0]
	var outcome string
	var row orderRow
	err := s.retry(ctx, func() error {
		row = orderRow{}
		return s.queryRow(ctx, s.sql.attach, append([]any{&outcome}, row.targets()...),
			a.OrderID, a.SessionID, a.SessionURL, orNull(&a.Deadline), a.At)
	})
	if err != nil {
		return nil, fmt.Errorf("attach session: %w", err)
	}
	return []answer[attached]{attachedAs(a, outcome, &row)}, nil
}

// attachedAs turns what the database says into the answer.
func attachedAs(a store.Attachment, outcome string, row *orderRow) (result answer[attached]) {
	switch outcome {
	case "attached":
		result.value, result.err = row.order()
	case "alone":
		result.err = errAlone
	case "missing":
		result.err = unknownOrder([]string{a.OrderID})
	case "superseded":
		result.err = fmt.Errorf("order %s was left or has ended, or %w", a.OrderID, store.SessionTaken(a.SessionID))
	default:
		result.err = fmt.Errorf("attach session: unknown outcome %q", outcome)
	}
	return result
}
