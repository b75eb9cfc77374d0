package pgxstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// reserveRequest is a reservation that was checked and can be stored.
type reserveRequest struct {
	store.Reservation
	documents orderDocuments
}

// verdict is what couponkit_reserve says of one request.
type verdict struct {
	outcome string
	held    string // the reservation by points that the customer holds
	limits  coupon.Limits
}

// Reserve implements store.Redemptions in one round trip.
func (s *Store) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	if err := s.ready(ctx); err != nil {
		return store.Reserved{}, err
	}
	request, err := newReserveRequest(r)
	if err != nil {
		return store.Reserved{}, err
	}
	for range maxAttempts {
		v, err := s.reserve(ctx, request)
		if err != nil {
			return store.Reserved{}, fmt.Errorf("reserve: %w", err)
		}
		reserved, done, err := s.reserved(ctx, request, v)
		if done || err != nil {
			return reserved, err
		}
	}
	return store.Reserved{}, fmt.Errorf("reserve: the customer's reservation changes all the time: %w", store.ErrConflict)
}

// newReserveRequest checks and normalises what is about to be stored.
func newReserveRequest(r store.Reservation) (reserveRequest, error) {
	r.Redemption = stored(r.Redemption)
	if err := r.Validate(); err != nil {
		return reserveRequest{}, err
	}
	request := reserveRequest{Reservation: r}
	if r.Order != nil {
		order := storedOrder(r.Order.Clone())
		var err error
		if request.documents, err = validDocuments(order); err != nil {
			return reserveRequest{}, err
		}
		request.Order = &order
	}
	return request, nil
}

// reserve asks for a place, in a batch where that is possible.
func (s *Store) reserve(ctx context.Context, r reserveRequest) (verdict, error) {
	if s.pool == nil || s.shared.groups == nil {
		answers, err := s.reserveAll(ctx, []reserveRequest{r})
		if err != nil {
			return verdict{}, err
		}
		return answers[0].value, nil
	}
	return s.shared.groups.reserve.do(ctx, r, r.Redemption.CouponID, r.Redemption.CustomerID)
}

// reserved turns a verdict into the result. It is not done when the reservation
// that the customer held has gone meanwhile.
func (s *Store) reserved(ctx context.Context, r reserveRequest, v verdict) (result store.Reserved, done bool, err error) {
	id := r.Redemption.CouponID
	switch v.outcome {
	case "reserved":
		result.Redemption = r.Redemption
		if r.Order != nil {
			result.Order = *r.Order
		}
		return result, true, nil
	case "known":
		result, err = s.firstResult(ctx, r.Reservation)
	case "held":
		result.Replayed = true
		result.Redemption, err = s.Redemption(ctx, v.held)
		held := result.Redemption.Live() && result.Redemption.OrderID == ""
		return result, held, err
	case "unknown":
		err = unknownCoupon(id)
	case "inactive":
		err = coupon.Reject(id, coupon.CouponInactive, coupon.Params{})
	case "stale":
		err = fmt.Errorf("coupon %s has another revision than %d: %w", id, r.CouponRevision, store.ErrStaleRevision)
	case "used_up":
		err = store.WithinLimits(id, v.limits, v.limits.MaxUses, 0)
	case "user_used_up":
		err = store.WithinLimits(id, v.limits, 0, v.limits.MaxUsesPerUser)
	case "both_used_up":
		err = store.WithinLimits(id, v.limits, v.limits.MaxUses, v.limits.MaxUsesPerUser)
	case "conflict":
		err = fmt.Errorf("redemption %s or order %s exists: %w", r.Redemption.ID, r.Redemption.OrderID, store.ErrConflict)
	default:
		err = fmt.Errorf("unknown outcome %q", v.outcome)
	}
	return result, true, err
}

// reserveAll runs the requests in one transaction and one round trip. No customer
// has two.
func (s *Store) reserveAll(ctx context.Context, requests []reserveRequest) ([]answer[verdict], error) {
	arguments := reserveArguments(requests)
	var outcomes []string
	var held []zeronull.Text
	var maxUses, maxUsesPerUser []zeronull.Int8
	err := s.retry(ctx, func() error {
		return s.queryRow(ctx, s.sql.reserve, []any{&outcomes, &held, &maxUses, &maxUsesPerUser}, arguments...)
	})
	if err != nil {
		return nil, err
	}
	if len(outcomes) != len(requests) {
		return nil, fmt.Errorf("%d outcomes for %d requests", len(outcomes), len(requests))
	}
	answers := make([]answer[verdict], len(requests))
	for i := range answers {
		answers[i].value = verdict{
			outcome: outcomes[i], held: string(held[i]),
			limits: coupon.Limits{MaxUses: int64(maxUses[i]), MaxUsesPerUser: int64(maxUsesPerUser[i])},
		}
	}
	return answers, nil
}

// reserveArguments turns the requests into the columns that couponkit_reserve
// takes. Without any order the columns of orders are empty.
func reserveArguments(requests []reserveRequest) []any {
	column := func(value func(redemption.Redemption) string) []string {
		list := make([]string, len(requests))
		for i := range requests {
			list[i] = value(requests[i].Redemption)
		}
		return list
	}
	coupons := column(func(r redemption.Redemption) string { return r.CouponID })
	distinct := slices.Clone(coupons)
	slices.Sort(distinct)
	points, revisions := make([]int64, len(requests)), make([]int64, len(requests))
	deadlines := make([]*time.Time, len(requests))
	created, updated := make([]time.Time, len(requests)), make([]time.Time, len(requests))
	for i := range requests {
		r := &requests[i].Redemption
		points[i], revisions[i] = r.Points, requests[i].CouponRevision
		deadlines[i], created[i], updated[i] = orNull(&r.Deadline), r.CreatedAt, r.UpdatedAt
	}
	return append([]any{
		slices.Compact(distinct),
		column(func(r redemption.Redemption) string { return r.ID }),
		column(func(r redemption.Redemption) string { return r.Key }),
		coupons,
		column(func(r redemption.Redemption) string { return r.CustomerID }),
		column(func(r redemption.Redemption) string { return r.Origin.String() }),
		points,
		column(func(r redemption.Redemption) string { return r.PointsState.String() }),
		column(func(r redemption.Redemption) string { return r.OrderID }),
		column(func(r redemption.Redemption) string { return r.SessionID }),
		deadlines, created, updated, revisions,
	}, orderArguments(requests)...)
}

// orderArguments are the columns of the orders.
func orderArguments(requests []reserveRequest) []any {
	n := 0
	if slices.ContainsFunc(requests, func(r reserveRequest) bool { return r.Order != nil }) {
		n = len(requests)
	}
	fingerprints, states, sessions, urls := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	discounts := make([]int64, n)
	deadlines, created, updated := make([]*time.Time, n), make([]*time.Time, n), make([]*time.Time, n)
	quotes, snapshots, metadata := make([]*string, n), make([]*string, n), make([]*string, n)
	for i := range n {
		o := requests[i].Order
		if o == nil {
			continue
		}
		fingerprints[i], states[i], sessions[i], urls[i] = o.Fingerprint, o.State.String(), o.SessionID, o.SessionURL
		discounts[i] = o.DiscountAmount
		deadlines[i], created[i], updated[i] = orNull(&o.Deadline), &o.CreatedAt, &o.UpdatedAt
		quotes[i], snapshots[i], metadata[i] = requests[i].documents.quote, requests[i].documents.snapshot, requests[i].documents.metadata
	}
	return []any{fingerprints, states, sessions, urls, discounts, deadlines, created, updated, quotes, snapshots, metadata}
}

// orNull is nil, which is NULL, for no instant.
func orNull(t *time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return t
}
