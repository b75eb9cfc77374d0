package pgxstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

type transitionRequest struct {
	id    string
	event redemption.Event
}

type transitioned = redemption.Redemption

// Transition implements store.Redemptions in one round trip; an event that brings the
// redemption a session, which another one may have, takes another.
func (s *Store) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	if err := s.ready(ctx); err != nil {
		return redemption.Redemption{}, err
	}
	if e.OfSession() {
		return redemption.Redemption{}, &redemption.TransitionError{ID: id, Kind: e.Kind, Cause: redemption.ErrIllegal}
	}
	e.At = instant(e.At)
	if err := e.Validate(); err != nil {
		return redemption.Redemption{}, err
	}
	if !storable(id) {
		return redemption.Redemption{}, unknownRedemption([]string{id})
	}
	e, err := s.soughtTransition(ctx, id, e)
	if err != nil {
		return redemption.Redemption{}, err
	}
	request := transitionRequest{id: id, event: e}
	if s.pool != nil && s.shared.groups != nil && e.Kind != redemption.SessionAttached {
		return s.shared.groups.transition.do(ctx, request, id, "")
	}
	answers, err := s.transitionOne(ctx, []transitionRequest{request})
	if err != nil {
		return redemption.Redemption{}, err
	}
	return answers[0].value, answers[0].err
}

// transitionAll runs the events in one transaction and one round trip, but for the
// second of one redemption.
func (s *Store) transitionAll(ctx context.Context, requests []transitionRequest) ([]answer[transitioned], error) {
	if len(requests) == 1 {
		return s.transitionOne(ctx, requests)
	}
	return s.transitionWith(ctx, s.sql.transitionBatch, requests)
}

func (s *Store) transitionOne(ctx context.Context, requests []transitionRequest) ([]answer[transitioned], error) {
	return s.transitionWith(ctx, s.sql.transition, requests)
}

func (s *Store) transitionWith(ctx context.Context, statement string, requests []transitionRequest) ([]answer[transitioned], error) {
	n := len(requests)
	ids, events := make([]string, n), make([]redemption.Event, n)
	for i, r := range requests {
		ids[i], events[i] = r.id, r.event
	}
	arguments := append([]any{ids}, eventArguments(events)...)
	var answers []answer[transitioned]
	err := s.retry(ctx, func() error {
		answers = make([]answer[transitioned], n)
		if requests[0].event.Kind == redemption.SessionAttached {
			superseded, err := s.sessionOfAnother(ctx, requests[0])
			if superseded || err != nil {
				answers[0].err = store.SessionTaken(requests[0].event.SessionID)
				return err
			}
		}
		seen := 0
		err := s.query(ctx, statement, func(rows pgx.Rows) error {
			seen++
			return scanTransitioned(rows, requests, answers)
		}, arguments...)
		if err == nil && seen != n {
			return fmt.Errorf("%d answers for %d events", seen, n)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("transition: %w", err)
	}
	return answers, nil
}

// sessionOfAnother reports whether the event would bring the redemption a session that
// another one has. The unique index would refuse it, and nothing more could be done in a
// transaction of the host.
func (s *Store) sessionOfAnother(ctx context.Context, request transitionRequest) (bool, error) {
	owner, err := s.oneRedemption(ctx, s.sql.concerned, request.event.SessionID, "", "")
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && owner.ID == request.id:
		return false, nil
	case err != nil:
		return false, err
	}
	now, err := s.oneRedemption(ctx, s.sql.redemption, request.id)
	switch {
	case errors.Is(err, store.ErrNotFound): // as the event itself will say
		return false, nil
	case err != nil:
		return false, err
	}
	after, refused := redemption.Apply(now, request.event)
	return refused == nil && after.SessionID != now.SessionID, nil
}

func scanTransitioned(rows pgx.Rows, requests []transitionRequest, answers []answer[transitioned]) error {
	var n int64
	var refusal zeronull.Text
	var row redemptionRow
	if err := rows.Scan(append([]any{&n, &refusal}, row.targets()...)...); err != nil {
		return err
	}
	if n < 1 || n > int64(len(answers)) {
		return fmt.Errorf("an answer for event %d", n)
	}
	to, request := &answers[n-1], requests[n-1]
	if refusal == "alone" {
		to.err = errAlone
		return nil
	}
	now, err := row.redemption()
	if err == nil && refusal != "" {
		err = refused(request, now, string(refusal))
	}
	if to.err = err; err == nil {
		to.value = now
	}
	return nil
}

// refused turns what couponkit_apply says into the error of redemption.Apply.
func refused(request transitionRequest, now redemption.Redemption, refusal string) error {
	cause := redemption.ErrIllegal
	switch refusal {
	case "missing":
		return fmt.Errorf("redemption %q: %w", request.id, store.ErrNotFound)
	case "other_session":
		cause = redemption.ErrOtherSession
	case "not_lapsed":
		cause = redemption.ErrNotLapsed
	}
	return &redemption.TransitionError{ID: request.id, State: now.State, Kind: request.event.Kind, Cause: cause}
}
