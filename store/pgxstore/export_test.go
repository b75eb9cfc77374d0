package pgxstore

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// Group opens the group commit to the tests: requests and answers are numbers.
type Group struct{ g *group[int, int] }

// NewGroup returns a group whose batches run answers: by request, an answer and an
// error of its own; the last error is that of the whole batch.
func NewGroup(options BatchOptions, run func(context.Context, []int) (map[int]int, map[int]error, error)) *Group {
	options.Workers = orDefault(options.Workers, 1)
	options.MaxSize = orDefault(options.MaxSize, DefaultBatchSize)
	options.MaxQueue = orDefault(options.MaxQueue, DefaultBatchQueue)
	options.Timeout = orDefault(options.Timeout, DefaultBatchTimeout)
	return &Group{newGroup("test", options, func(ctx context.Context, requests []int) ([]answer[int], error) {
		values, errs, err := run(ctx, requests)
		answers := make([]answer[int], len(requests))
		for i, r := range requests {
			answers[i] = answer[int]{values[r], errs[r]}
		}
		return answers, err
	})}
}

// What a batch answers to calls that it has left.
var (
	ErrAlone = errAlone
	ErrLater = errLater
)

// Do runs a request.
func (g *Group) Do(ctx context.Context, request int, route, clash string) (int, error) {
	return g.g.do(ctx, request, route, clash)
}

// Waiting returns how many calls wait for a batch.
func (g *Group) Waiting() int {
	g.g.mu.Lock()
	defer g.g.mu.Unlock()
	return g.g.waiting.length
}

// Busy returns how many workers run calls.
func (g *Group) Busy() int {
	g.g.mu.Lock()
	defer g.g.mu.Unlock()
	return len(g.g.busy)
}

// Patience makes the group wait for its batches so long. It is set before any call.
func (g *Group) Patience(patience time.Duration) { g.g.patience = patience }

// Meanwhile tells from an answer what others did while its batch was carried out. It is set
// before any call.
func (g *Group) Meanwhile(others func(int) int) { g.g.meanwhile = others }

// Weigh tells how many bytes a request sends. It is set before any call.
func (g *Group) Weigh(weigh func(int) int) { g.g.weigh = weigh }

// Close ends the group.
func (g *Group) Close() { g.g.close() }

// Expand writes the names of a namespace into a statement.
func (n Namespace) Expand(statement string) string { return n.expand(statement) }

// Verdict is what a single claim was answered.
type Verdict struct {
	Outcome, Held string
	Limits        coupon.Limits
	Passed        bool
}

// SingleVerdict reads the answer of couponkit_claim_single; "" is NULL.
func SingleVerdict(said ...string) (Verdict, error) {
	var parts []zeronull.Text
	for _, part := range said {
		parts = append(parts, zeronull.Text(part))
	}
	v, passed, err := singleVerdict(parts)
	return Verdict{Outcome: v.outcome, Held: v.held, Limits: v.limits, Passed: passed}, err
}

// ScanInstant reads an instant as PostgreSQL writes it; nil is NULL.
func ScanInstant(text *string) (time.Time, error) {
	var v pgtype.Text
	if text != nil {
		v = pgtype.Text{String: *text, Valid: true}
	}
	at := time.Unix(0, 0)
	err := (*instantColumn)(&at).ScanText(v)
	return at, err
}

// ReservationWeight is how many bytes the store takes a reservation to send.
func ReservationWeight(r store.Reservation) (int, error) {
	request, err := newReserveRequest(r)
	if err != nil {
		return 0, err
	}
	return newGroups(new(Store), BatchOptions{}).reserve.weigh(request), nil
}

// ReservationValues are the values of the statement that stores a reservation which is not alone,
// as they are sent and as pgx takes them, and the types of its parameters.
func ReservationValues(r store.Reservation, crowded bool) (sent [][]byte, taken []any, types []string, err error) {
	request, err := newReserveRequest(r)
	if err != nil {
		return nil, nil, nil, err
	}
	names := claimTypes + " boolean"
	if r.Order != nil {
		names += " " + orderTypes
	}
	by := newStatements(Namespace{}).claimSingle
	wire, arguments := newWireList(), argumentList{}
	by.list(wire, request, crowded)
	by.list(&arguments, request, crowded)
	return wire.values, arguments, strings.Fields(names), nil
}
