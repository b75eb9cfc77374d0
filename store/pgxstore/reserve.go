package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// Outcomes of couponkit_claim_plain that mean something to the batch, and those that say
// there is no place.
const (
	outcomeReserved = "reserved" // it was stored
	outcomeLater    = "later"    // it is to be asked again after the commit

	outcomeUsedUp     = "used_up"
	outcomeUserUsedUp = "user_used_up"
	outcomeBothUsedUp = "both_used_up"
)

// verdict is what couponkit_claim_plain says of one request.
type verdict struct {
	outcome string
	held    string // the reservation by points that the customer holds
	limits  coupon.Limits

	meanwhile int // places that others took at the gates of the whole batch
}

// Reserve implements store.Redemptions in one round trip; to find what a key was used for
// before, or what the customer holds of a coupon for points, is another.
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
	return store.Reserved{}, fmt.Errorf("reserve: the coupon, or what the customer holds of it, changes all the time: %w", store.ErrConflict)
}

// newReserveRequest checks and normalises what is about to be stored.
func newReserveRequest(r store.Reservation) (*reserveRequest, error) {
	r.Redemption = stored(r.Redemption)
	if err := r.Validate(); err != nil {
		return nil, err
	}
	request := &reserveRequest{Reservation: r}
	if r.Order != nil {
		order := storedOrder(r.Order.Clone())
		var err error
		if request.documents, err = validDocuments(order); err != nil {
			return nil, err
		}
		request.Order = &order
	}
	return request, nil
}

// reserve asks for a place, in a batch where that is possible.
func (s *Store) reserve(ctx context.Context, r *reserveRequest) (verdict, error) {
	if s.pool == nil || s.shared.groups == nil {
		return s.reserveOne(ctx, r)
	}
	return s.shared.groups.reserve.do(ctx, r, r.Redemption.CouponID, r.Redemption.CustomerID)
}

// reserved turns a verdict into the result. It is not done when the reservation
// that the customer held, or the limit that left no place, has gone meanwhile.
func (s *Store) reserved(ctx context.Context, r *reserveRequest, v verdict) (result store.Reserved, done bool, err error) {
	id := r.Redemption.CouponID
	switch v.outcome {
	case outcomeReserved:
		result.Redemption = r.Redemption
		if r.Order != nil {
			result.Order = *r.Order
		}
		return result, true, nil
	case "known":
		result, err = s.firstResult(ctx, r.Reservation)
	case outcomeLater:
		return result, false, nil
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
	case outcomeUsedUp, outcomeUserUsedUp, outcomeBothUsedUp:
		err = v.usedUp(id)
		return result, err != nil, err
	case "conflict":
		err = s.inTheWay(ctx, &r.Redemption)
	default:
		err = fmt.Errorf("unknown outcome %q", v.outcome)
	}
	return result, true, err
}

// inTheWay says what a reservation that could not be stored has met: a record or an order
// with its ID, or another redemption with the session that it brings, as hardly any does.
func (s *Store) inTheWay(ctx context.Context, r *redemption.Redemption) error {
	if r.SessionID != "" {
		_, err := s.Redemption(ctx, r.ID)
		if errors.Is(err, store.ErrNotFound) {
			_, err = s.Order(ctx, r.OrderID)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			return store.SessionTaken(r.SessionID)
		case err != nil:
			return err
		}
	}
	return fmt.Errorf("redemption %s or order %s exists: %w", r.ID, r.OrderID, store.ErrConflict)
}

// usedUp is the rejection of a verdict that says there is no place. It is nil when the limit
// was lifted since: a batch looks for places first and reads the limits once more later.
func (v verdict) usedUp(couponID string) error {
	taken, byCustomer := v.limits.MaxUses, v.limits.MaxUsesPerUser
	switch v.outcome {
	case outcomeUsedUp:
		byCustomer = 0
	case outcomeUserUsedUp:
		taken = 0
	}
	return store.WithinLimits(couponID, v.limits, taken, byCustomer)
}

// reserveAll runs the requests in one transaction and one round trip, but for those whose
// answer depends on what is committed then: asked again, some of these get a place each
// time, or all of one coupon get none. No customer has two.
func (s *Store) reserveAll(ctx context.Context, requests []*reserveRequest) ([]answer[verdict], error) {
	answers := make([]answer[verdict], len(requests))
	if len(requests) == 1 {
		v, err := s.reserveOne(ctx, requests[0])
		answers[0].value = v
		return answers, err
	}
	b, cautious := newReserveBatch(requests), s.shared.notPlain.met()
	var outcomes []string
	var held []zeronull.Text
	var limits, limitsPerUser []zeronull.Int8
	var meanwhile zeronull.Int8
	var met error // two of the batch, or others each time that it has looked again
	err := s.retry(ctx, func() error {
		outcomes, held, limits, limitsPerUser = nil, nil, nil, nil
		into := []any{&outcomes, &held, &limits, &limitsPerUser, &meanwhile}
		if met = s.querySparse(ctx, s.sql.reserveBatch, into, append(b.arguments(), cautious)...); s.names.isMeeting(met) {
			return nil
		}
		return met
	})
	if err == nil {
		err = met // its halves are run next
	}
	s.shared.notPlain.note(outcomes != nil || slices.Contains(limits, 0))
	switch {
	case err != nil:
		return nil, err
	case len(limits) != len(b.coupons) || len(limitsPerUser) != len(b.coupons):
		return nil, fmt.Errorf("the limits of %d coupons for %d", len(limits), len(b.coupons))
	case outcomes == nil: // as nearly always
		for i := range answers {
			answers[i].value = verdict{outcome: outcomeReserved, meanwhile: int(meanwhile)}
		}
		return answers, nil
	case len(outcomes) != len(requests) || len(held) != len(requests):
		return nil, fmt.Errorf("%d outcomes for %d requests", len(outcomes), len(requests))
	}
	for i := range answers {
		if outcomes[i] == outcomeLater {
			answers[i].err = errLater
			continue
		}
		place := b.places[i] - 1
		answers[i].value = verdict{
			outcome: outcomes[i], held: string(held[i]),
			limits:    coupon.Limits{MaxUses: int64(limits[place]), MaxUsesPerUser: int64(limitsPerUser[place])},
			meanwhile: int(meanwhile),
		}
	}
	return answers, nil
}

// reserveOne runs one request, without what it takes to run many.
func (s *Store) reserveOne(ctx context.Context, q *reserveRequest) (v verdict, err error) {
	var said []zeronull.Text
	err = s.retry(ctx, func() error {
		said = nil
		return s.claim(ctx, q, &said)
	})
	if err != nil {
		return verdict{}, err
	}
	v, passed, err := singleVerdict(said)
	s.shared.crowded.note(passed)
	s.shared.notPlain.note(said != nil && !passed)
	return v, err
}

// ofOthers are the unique indexes in which couponkit_claim_alone may meet redemptions with
// other keys.
var ofOthers = []string{"coupon_redemptions_pkey", "coupon_redemptions_session_key"}

// claim asks for a place for one request: with couponkit_claim_alone in a transaction of the
// store's own, where nothing but a place is expected, and nobody at the gate.
func (s *Store) claim(ctx context.Context, q *reserveRequest, said *[]zeronull.Text) error {
	crowded := s.shared.crowded.met()
	if s.pool != nil && !crowded && !s.shared.notPlain.met() {
		err := s.claimBy(ctx, &s.sql.claimAlone, q, false, said)
		if err == nil || !s.names.violates(err, ofOthers) {
			return err
		}
	}
	return s.claimBy(ctx, &s.sql.claimSingle, q, crowded, said)
}

// claimBy asks with one of the functions.
func (s *Store) claimBy(ctx context.Context, by *claimStatements, q *reserveRequest, crowded bool, said *[]zeronull.Text) error {
	statement := by.plain
	if q.Order != nil {
		statement = by.ordered
	}
	if s.direct {
		list := s.shared.takeList()
		defer s.shared.giveList(list)
		by.list(list, q, crowded)
		return queryDirectly(ctx, s.pool, statement, list, said)
	}
	list := make(argumentList, 0, mostValues)
	by.list(&list, q, crowded)
	return s.querySparse(ctx, statement, []any{said}, list...)
}

// list gives the values of the statement for the request.
func (by *claimStatements) list(to valueList, q *reserveRequest, crowded bool) {
	q.listRedemption(to)
	if by.expects {
		to.flag(crowded)
	}
	if q.Order != nil {
		q.listOrder(to)
	}
}

// listRedemption gives the values of claimTypes.
func (q *reserveRequest) listRedemption(to valueList) {
	r := &q.Redemption
	to.text(r.ID)
	to.text(r.Key)
	to.text(r.CouponID)
	to.text(r.CustomerID)
	to.text(r.Origin.String())
	to.integer(r.Points)
	to.text(r.PointsState.String())
	to.text(r.OrderID)
	to.text(r.SessionID)
	to.deadline(r.Deadline)
	to.instant(r.CreatedAt)
	to.instant(r.UpdatedAt)
	to.integer(q.CouponRevision)
}

// listOrder gives the values of orderTypes.
func (q *reserveRequest) listOrder(to valueList) {
	o := q.Order
	to.text(o.Fingerprint)
	to.text(o.State.String())
	to.text(o.SessionID)
	to.text(o.SessionURL)
	to.integer(o.DiscountAmount)
	to.deadline(o.Deadline)
	to.instant(o.CreatedAt)
	to.instant(o.UpdatedAt)
	to.document(q.documents.quote)
	to.document(q.documents.snapshot)
	to.document(q.documents.metadata)
}

// singleVerdict is the verdict that was said of a single claim, which is nothing nearly
// always, and whether its first try was in vain.
func singleVerdict(said []zeronull.Text) (v verdict, passed bool, err error) {
	if said == nil {
		return verdict{outcome: outcomeReserved}, false, nil
	}
	if len(said) != 5 {
		return verdict{}, false, fmt.Errorf("%d parts of an answer", len(said))
	}
	v = verdict{outcome: string(said[0]), held: string(said[1])}
	v.limits.MaxUses, err = limitOf(said[2])
	if err == nil {
		v.limits.MaxUsesPerUser, err = limitOf(said[3])
	}
	return v, said[4] != "", err
}

// limitOf reads a limit, of which NULL is none.
func limitOf(text zeronull.Text) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.ParseInt(string(text), 10, 64)
}

// reserveBatch holds requests as the columns that couponkit_claim_plain takes.
type reserveBatch struct {
	coupons []string // each once, sorted
	demands []int64  // how many requests each coupon has
	places  []int32  // of the request's coupon in coupons, from 1

	ids, keys, customers, origins, pointsStates, orderIDs, sessions []string
	points, revisions                                               []int64
	deadlines                                                       []*time.Time
	created, updated                                                []time.Time

	orders orderBatch
}

// orderBatch holds the orders of the requests; without any its columns are empty.
type orderBatch struct {
	fingerprints, states, sessions, urls []string
	discounts                            []int64
	deadlines, created, updated          []*time.Time
	quotes, snapshots, metadata          []*string
}

func newReserveBatch(requests []*reserveRequest) *reserveBatch {
	b := new(reserveBatch)
	n := len(requests)
	b.addCoupons(requests)
	texts := make([]string, 7*n)
	for _, column := range []*[]string{&b.ids, &b.keys, &b.customers, &b.origins, &b.pointsStates, &b.orderIDs, &b.sessions} {
		*column, texts = texts[:n:n], texts[n:]
	}
	b.points, b.revisions = make([]int64, n), make([]int64, n)
	b.deadlines, b.created, b.updated = make([]*time.Time, n), make([]time.Time, n), make([]time.Time, n)
	ordered := false
	for i, q := range requests {
		r := &q.Redemption
		b.ids[i], b.keys[i], b.customers[i], b.origins[i] = r.ID, r.Key, r.CustomerID, r.Origin.String()
		b.pointsStates[i], b.orderIDs[i], b.sessions[i] = r.PointsState.String(), r.OrderID, r.SessionID
		b.points[i], b.revisions[i] = r.Points, q.CouponRevision
		b.deadlines[i], b.created[i], b.updated[i] = orNull(&r.Deadline), r.CreatedAt, r.UpdatedAt
		ordered = ordered || q.Order != nil
	}
	if ordered {
		b.orders = newOrderBatch(requests)
	}
	return b
}

// addCoupons fills in the coupons and which of them each request is about.
func (b *reserveBatch) addCoupons(requests []*reserveRequest) {
	place := make(map[string]int32, 1)
	for _, q := range requests {
		if _, seen := place[q.Redemption.CouponID]; !seen {
			place[q.Redemption.CouponID] = 0
			b.coupons = append(b.coupons, q.Redemption.CouponID)
		}
	}
	slices.Sort(b.coupons)
	for i, id := range b.coupons {
		place[id] = int32(i + 1)
	}
	b.demands, b.places = make([]int64, len(b.coupons)), make([]int32, len(requests))
	for i, q := range requests {
		b.places[i] = place[q.Redemption.CouponID]
		b.demands[b.places[i]-1]++
	}
}

func newOrderBatch(requests []*reserveRequest) (b orderBatch) {
	n := len(requests)
	b.fingerprints, b.states, b.sessions, b.urls = make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	b.discounts = make([]int64, n)
	b.deadlines, b.created, b.updated = make([]*time.Time, n), make([]*time.Time, n), make([]*time.Time, n)
	b.quotes, b.snapshots, b.metadata = make([]*string, n), make([]*string, n), make([]*string, n)
	for i, q := range requests {
		o := q.Order
		if o == nil {
			continue
		}
		b.fingerprints[i], b.states[i], b.sessions[i], b.urls[i] = o.Fingerprint, o.State.String(), o.SessionID, o.SessionURL
		b.discounts[i] = o.DiscountAmount
		b.deadlines[i], b.created[i], b.updated[i] = orNull(&o.Deadline), &o.CreatedAt, &o.UpdatedAt
		b.quotes[i], b.snapshots[i], b.metadata[i] = q.documents.quote, q.documents.snapshot, q.documents.metadata
	}
	return b
}

func (b *reserveBatch) arguments() []any {
	o := &b.orders
	return []any{
		b.coupons, b.demands, b.places, b.ids, b.keys, b.customers, b.origins, b.points, b.pointsStates, b.orderIDs,
		b.sessions, b.deadlines, b.created, b.updated, b.revisions,
		or(o.fingerprints), or(o.states), or(o.sessions), or(o.urls), or(o.discounts), or(o.deadlines), or(o.created), or(o.updated),
		or(o.quotes), or(o.snapshots), or(o.metadata),
	}
}

// or is an empty array, and not NULL, for no column.
func or[T any](column []T) []T {
	if column == nil {
		return []T{}
	}
	return column
}

// orNull is nil, which is NULL, for no instant.
func orNull(t *time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return t
}
