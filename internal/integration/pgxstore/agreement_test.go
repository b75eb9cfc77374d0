package pgxstore_test

import (
	order "cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestBatchesAgreeWithSingleCalls makes random batches of settlements, transitions and
// sessions, over whatever state the ones before have left, and the same calls one by
// one in another schema: answers, rows and counts are the same.
func TestBatchesAgreeWithSingleCalls(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	rapid.Check(t, func(t *rapid.T) {
		if difference := p.run(drawScenario(t)); difference != "" {
			t.Fatal(difference)
		}
	})
	for _, j := range joinedCalls {
		together, alone := p.together[j.name].Load(), p.alone[j.name].Load()
		t.Logf("%s: %d together, %d left alone", j.name, together, alone)
		if together == 0 || alone == 0 || together < alone {
			t.Errorf("%s: %d together and %d left alone say little", j.name, together, alone)
		}
	}
}

// TestBatchesAgreeNotices changes the functions of batches, and the test above would
// notice each change.
func TestBatchesAgreeNotices(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	scenarios := rapid.Custom(drawScenario)
	for name, plant := range planted {
		t.Run(name, func(t *testing.T) {
			undo := change(t, p.pool, plant.function, "batched", plant.correct, plant.wrong)
			defer undo()
			for seed := range 300 {
				if difference := p.run(scenarios.Example(seed)); difference != "" {
					t.Logf("seed %d: %s", seed, difference)
					return
				}
			}
			t.Error("300 scenarios do as well")
		})
	}
}

type plant struct{ function, correct, wrong string }

var planted = map[string]plant{
	"a late payment takes no place":     {"couponkit_settle_batch", `OR h.kind = 'session completed' AND (h.r).state = 'released'`, ``},
	"a payment leaves no record":        {"couponkit_settle_batch", `THEN h.kind = 'session completed' AND h.coupon_id <> ''`, `THEN false`},
	"a session has two settlements":     {"couponkit_settle_batch", `PARTITION BY a.session_id ORDER BY a.n) > 1`, `PARTITION BY a.session_id ORDER BY a.n) > 9`},
	"an order has two settlements":      {"couponkit_settle_batch", `PARTITION BY a.ordered_id ORDER BY a.n) > 1`, `PARTITION BY a.ordered_id ORDER BY a.n) > 9`},
	"a redemption has two settlements":  {"couponkit_settle_batch", `PARTITION BY coalesce(a.of_session, a.of_order) ORDER BY a.n) > 1`, `PARTITION BY coalesce(a.of_session, a.of_order) ORDER BY a.n) > 9`},
	"an order does not name its record": {"couponkit_settle_batch", `WHEN w.session_id = '' THEN (SELECT`, `WHEN false THEN (SELECT`},
	"the settled keep their places":     {"couponkit_settle_batch", `-count(*) AS reserved`, `0::bigint AS reserved`},
	"the settled are not counted":       {"couponkit_settle_batch", `count(*) FILTER (WHERE a.state = 'completed')`, `0::bigint`},
	"delayed payments are forgotten":    {"couponkit_settle_batch", `awaiting_payment = a.awaiting_payment, `, ``},
	"points are not given back":         {"couponkit_settle_batch", `points_state = a.points_state,`, ``},
	"orders are not found by session":   {"couponkit_settle_batch", `WHERE o.session_id = w.session_id AND`, `WHERE false AND`},
	"only redemptions change":           {"couponkit_settle_batch", `(w.altered OR w.moved)`, `w.altered`},
	"only orders change":                {"couponkit_settle_batch", `(w.altered OR w.moved)`, `w.moved`},
	"orders keep their deadline": {"couponkit_settle_batch", `deadline = a.deadline, updated_at = a.updated_at
        FROM unnest(orders)`, `updated_at = a.updated_at FROM unnest(orders)`},
	"the rest of old processes is lost": {"couponkit_settle", `rest := rest || b.n;`, `NULL;`},
	"two events of a redemption":        {"couponkit_transition_batch", `ORDER BY w.n) > 1`, `ORDER BY w.n) > 9`},
	"a payment is a transition":         {"couponkit_transition_batch", `WHEN h.missing OR h.kind = 'session completed' THEN h.r`, `WHEN h.missing THEN h.r`},
	"the released keep their places":    {"couponkit_transition_batch", `array_agg(-c.freed)`, `array_agg(0::bigint)`},
	"orders of the released stay open":  {"couponkit_transition_batch", `WHERE x.id = r.of_record FOR UPDATE`, `WHERE false FOR UPDATE`},
	"two sessions of an order":          {"couponkit_attach_batch", `PARTITION BY a.order_id ORDER BY a.n) > 1`, `PARTITION BY a.order_id ORDER BY a.n) > 9`},
	"two orders of a session":           {"couponkit_attach_batch", `PARTITION BY a.session_id ORDER BY a.n) > 1`, `PARTITION BY a.session_id ORDER BY a.n) > 9`},
	"the session of another redemption": {"couponkit_attach_batch", `WHEN r.session_id <> w.session_id AND EXISTS`, `WHEN false AND EXISTS`},
	"a session for an order that ended": {"couponkit_attach_batch", `AND (o.session_id <> '' OR o.state <> 'open') THEN`, `AND o.session_id <> '' THEN`},
	"a session without a name":          {"couponkit_attach_batch", `IS NOT NULL THEN 'superseded'`, `= 'other_session' THEN 'superseded'`},
	"an attached session is forgotten":  {"couponkit_attach_batch", `SET session_id = w.session_id, session_url = w.url`, `SET session_url = w.url`},
	"reservations keep their deadline":  {"couponkit_attach_batch", `SET session_id = w.session_id, deadline = w.deadline, updated_at`, `SET session_id = w.session_id, updated_at`},
	"a repeated session is dated anew":  {"couponkit_attach_batch", `CASE WHEN o.session_id <> w.session_id THEN w.at ELSE o.updated_at END`, `w.at`},
}

// pair is a database in which the schema batched gets batches, and the schema single
// the same calls one by one.
type pair struct {
	tb              testing.TB
	pool            *pgxpool.Pool
	batched, single *pgxstore.Store
	quote           pricing.Quote
	scenarios       atomic.Int64
	together, alone map[string]*atomic.Int64 // calls by the name of the joined call
}

func newPair(tb testing.TB) *pair {
	tb.Helper()
	pool := newDatabase(tb, pgxstore.Namespace{Schema: "batched"}, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["synchronous_commit"] = "off" // nothing crashes here
	})
	if err := pgxstore.Migrate(tb.Context(), pool, pgxstore.Namespace{Schema: "single"}); err != nil {
		tb.Fatal(err)
	}
	p := &pair{tb: tb, pool: pool, quote: quote(tb), together: map[string]*atomic.Int64{}, alone: map[string]*atomic.Int64{}}
	p.batched = newStore(tb, pool, pgxstore.Options{Namespace: pgxstore.Namespace{Schema: "batched"}, Batch: pgxstore.BatchOptions{Off: true}})
	p.single = newStore(tb, pool, pgxstore.Options{Namespace: pgxstore.Namespace{Schema: "single"}, Batch: pgxstore.BatchOptions{Off: true}})
	for _, j := range joinedCalls {
		p.together[j.name], p.alone[j.name] = new(atomic.Int64), new(atomic.Int64)
	}
	return p
}

// scenario is a few checkouts, and what happens to them.
type scenario struct {
	Checkouts []checkedOut
	Steps     []step
}

// checkedOut is an order of a customer with a coupon, by points, or without any.
type checkedOut struct{ Coupon, Customer int }

// The coupons of a scenario; noCoupon stands for an order without one.
const (
	unlimited = iota
	twoPlaces
	oncePerCustomer
	bothLimits
	byPoints
	noCoupon
)

// step is a batch, or a take-over.
type step struct {
	Joined int  // of joinedCalls; len(joinedCalls) takes over
	Old    bool // as a process of before couponkit_settle_batch makes it
	Calls  []call
}

// call is about a checkout, and says what its parts belong to: whose, or nobody.
type call struct {
	Of, Other                                     int // checkouts
	Kind, Session, Order, Reservation, Coupon, ID part
	Deadline                                      int
}

type part int

// What a part of a call may be; own is what belongs to its checkout.
const (
	own part = iota
	ofOther
	nothing
	unknown
	second
)

func drawScenario(t *rapid.T) scenario {
	var s scenario
	for i := range rapid.SampledFrom([]int{6, 5, 4, 3, 2, 1}).Draw(t, "checkouts") {
		s.Checkouts = append(s.Checkouts, checkedOut{
			Coupon:   rapid.SampledFrom([]int{unlimited, unlimited, twoPlaces, twoPlaces, oncePerCustomer, bothLimits, byPoints, noCoupon}).Draw(t, fmt.Sprintf("coupon %d", i)),
			Customer: rapid.IntRange(0, 2).Draw(t, "customer"),
		})
	}
	whose := func(often int, others ...part) *rapid.Generator[part] {
		return rapid.SampledFrom(append(make([]part, often), others...))
	}
	of := rapid.IntRange(0, len(s.Checkouts)-1)
	ordinary := whose(12, second, second, ofOther, nothing, nothing, unknown)
	meeting := whose(4, ofOther, ofOther, ofOther, ofOther, second, nothing, unknown)
	for range rapid.SampledFrom([]int{4, 5, 3, 2, 1}).Draw(t, "steps") {
		one := step{
			Joined: rapid.SampledFrom([]int{0, 0, 1, 2, 0, 0, 2, 3}).Draw(t, "joined"),
			Old:    rapid.IntRange(0, 3).Draw(t, "old") == 0,
		}
		session, other := ordinary, of
		if rapid.SampledFrom([]bool{false, true, false}).Draw(t, "meeting") { // calls about several checkouts name the session of one
			session, other = meeting, rapid.Just(of.Draw(t, "met"))
		}
		for i := range rapid.SampledFrom([]int{4, 6, 5, 3, 2, 1}).Draw(t, "calls") {
			about := i % len(s.Checkouts)
			if rapid.IntRange(0, 5).Draw(t, "again") == 5 {
				about = of.Draw(t, "of")
			}
			c := call{
				Of: about, Other: other.Draw(t, "other"),
				Kind:        part(rapid.IntRange(0, 5).Draw(t, "kind")),
				Session:     session.Draw(t, "session"),
				Order:       whose(12, ofOther, nothing, unknown, second, second).Draw(t, "order"),
				Reservation: whose(12, ofOther, nothing, unknown).Draw(t, "reservation"),
				Coupon:      whose(8, ofOther, nothing, unknown).Draw(t, "metadata"),
				ID:          whose(12, ofOther, nothing).Draw(t, "new ID"),
				Deadline:    rapid.IntRange(0, 2).Draw(t, "deadline"),
			}
			if rapid.IntRange(0, 9).Draw(t, "no session") == 9 { // it never came to be
				c.Kind, c.Session, c.Reservation = 5, nothing, nothing
			}
			one.Calls = append(one.Calls, c)
		}
		s.Steps = append(s.Steps, one)
	}
	return s
}

// staged is a scenario with the names of everything in it.
type staged struct {
	*pair

	scenario

	prefix  string
	now     time.Time
	calls   int
	coupons []coupon.Coupon
	orders  []string // of the checkouts, "" if there is none
	seconds []string // the other orders of their reservations
	records []string
}

// run returns the first difference that the scenario makes.
func (p *pair) run(s scenario) string {
	w := p.staged(s)
	if difference := w.begin(); difference != "" {
		return difference
	}
	for i := range s.Steps {
		if difference := w.step(s.Steps[i]); difference != "" {
			return fmt.Sprintf("step %d of %+v\n%s", i+1, s, difference)
		}
	}
	return ""
}

func (p *pair) staged(s scenario) *staged {
	return &staged{pair: p, scenario: s, prefix: fmt.Sprintf("p%d_", p.scenarios.Add(1)), now: epoch}
}

// both makes a call in both schemas, where it has the same outcome.
func (w *staged) both(call func(store.Store) error) string {
	return cmp.Diff(kind(call(w.single)), kind(call(w.batched)))
}

func (w *staged) begin() string {
	ctx := w.tb.Context()
	for i, change := range []func(*coupon.Coupon){
		unlimited:       func(*coupon.Coupon) {},
		twoPlaces:       func(c *coupon.Coupon) { c.Limits.MaxUses = 2 },
		oncePerCustomer: func(c *coupon.Coupon) { c.Limits.MaxUsesPerUser = 1 },
		bothLimits:      func(c *coupon.Coupon) { c.Limits = coupon.Limits{MaxUses: 3, MaxUsesPerUser: 1} },
		byPoints:        func(c *coupon.Coupon) { c.Distribution, c.PointsRequired = coupon.PointsRedeemable, 50 },
	} {
		c := newCoupon(w.tb, fmt.Sprintf("%s%d", w.prefix, i), change)
		w.coupons = append(w.coupons, c)
		if difference := w.both(func(s store.Store) error { return s.CreateCoupon(ctx, c) }); difference != "" {
			return difference
		}
	}
	for i := range w.Checkouts {
		if difference := w.checkout(i); difference != "" {
			return difference
		}
	}
	return ""
}

// checkout reserves, as far as there is a place.
func (w *staged) checkout(i int) string { return w.both(w.reserving(i)) }

// reserving is the call that makes a checkout.
func (w *staged) reserving(i int) func(store.Store) error {
	ctx, c := w.tb.Context(), w.Checkouts[i]
	r := checkout(w.coupons[min(c.Coupon, byPoints)], w.quote, fmt.Sprintf("%sc%d", w.prefix, c.Customer), fmt.Sprintf("k%d", i), epoch)
	order, record := r.Order.ID, r.Redemption.ID
	call := func(s store.Store) error { _, err := s.Reserve(ctx, r); return err }
	switch c.Coupon {
	case byPoints:
		order, r.Order = "", nil
		v := &r.Redemption
		v.Origin, v.OrderID, v.Points, v.PointsState = redemption.FromPoints, "", 50, redemption.PointsPending
	case noCoupon:
		record = ""
		r.Order.CouponID, r.Order.Coupon, r.Order.ReservationID = "", nil, ""
		call = func(s store.Store) error { _, _, err := s.CreateOrder(ctx, *r.Order); return err }
	}
	w.orders, w.seconds, w.records = append(w.orders, order), append(w.seconds, order), append(w.records, record)
	return call
}

func (w *staged) step(s step) string {
	if s.Joined == len(joinedCalls) {
		return w.takeOver(s.Calls[0])
	}
	return w.joined(joinedCalls[s.Joined], s)
}

// takeOver gives a checkout's reservation to another order.
func (w *staged) takeOver(c call) string {
	ctx := w.tb.Context()
	w.tick()
	now, _ := w.single.Redemption(ctx, w.records[c.Of])
	if now.CustomerID == "" {
		return "" // there is no reservation
	}
	if now.Origin == redemption.FromPoints && now.PointsState == redemption.PointsPending {
		exchanged := redemption.Event{Kind: redemption.PointsExchanged, At: w.now}
		if difference := w.both(func(s store.Store) error { _, err := s.Transition(ctx, now.ID, exchanged); return err }); difference != "" {
			return difference
		}
	}
	return w.both(w.takingOver(c, now)) + w.compare()
}

// takingOver is the call that gives the reservation of a checkout to another order.
func (w *staged) takingOver(c call, now redemption.Redemption) func(store.Store) error {
	r := checkout(w.coupons[min(w.Checkouts[c.Of].Coupon, byPoints)], w.quote, now.CustomerID, fmt.Sprintf("t%d", w.calls), w.now)
	r.Order.ReservationID = now.ID
	w.seconds[c.Of] = r.Order.ID // and the order before is still spoken of
	if c.Order == own {
		w.orders[c.Of], w.seconds[c.Of] = w.seconds[c.Of], w.orders[c.Of]
	}
	over := store.TakeOver{ReservationID: now.ID, FromSessionID: now.SessionID, Order: *r.Order, Deadline: w.now.Add(time.Hour), At: w.now}
	return func(s store.Store) error { _, err := s.TakeOver(w.tb.Context(), over); return err }
}

// tick counts calls; each has an instant of its own.
func (w *staged) tick() {
	w.calls++
	w.now = w.now.Add(time.Second)
}

func (w *staged) session(c call) string {
	switch c.Session {
	case own:
		return fmt.Sprintf("cs_%s%d", w.prefix, c.Of)
	case second:
		return fmt.Sprintf("cs_%s%d_2", w.prefix, c.Of)
	case ofOther:
		return fmt.Sprintf("cs_%s%d", w.prefix, c.Other)
	case unknown:
		return fmt.Sprintf("cs_%sx%d", w.prefix, w.calls)
	case nothing:
	}
	return ""
}

func (w *staged) order(c call) string {
	if c.Order == second {
		return w.seconds[c.Of]
	}
	return w.named(c.Order, c, w.orders)
}

func (w *staged) named(whose part, c call, of []string) string {
	switch whose {
	case own:
		return of[c.Of]
	case ofOther:
		return of[c.Other]
	case unknown:
		return w.prefix + "unknown"
	case nothing, second:
	}
	return ""
}

// columns are the arguments of the calls: a column for each parameter.
type columns [][]any

func (c columns) arguments() []any {
	arguments := make([]any, len(c))
	for i, column := range c {
		if _, text := column[0].(string); !text {
			instants := make([]*time.Time, len(column))
			for j, value := range column {
				at, _ := value.(time.Time)
				instants[j] = null(at)
			}
			arguments[i] = instants
			continue
		}
		texts := make([]string, len(column))
		for j, value := range column {
			texts[j], _ = value.(string)
		}
		arguments[i] = texts
	}
	return arguments
}

// joinedCall is a kind of call that is made in batches. Its statements read the columns
// a1, a2, ... of c, which are arrays of these types, and return the number of the call,
// what is to be said of it, and its answer.
type joinedCall struct {
	name, types       string
	batch, alone, old string // old is that of former processes, if they make batches
	make              func(w *staged, c call) []any
}

// joinedCalls are all of them.
var joinedCalls = []joinedCall{
	{
		name: "settle", types: "text timestamptz text text timestamptz text text text text",
		batch: settled("couponkit_settle_batch", 7), alone: settled("couponkit_settle_each", 9), old: settled("couponkit_settle", 9),
		make: (*staged).settlement,
	},
	{
		name: "transition", types: "text text timestamptz text text timestamptz",
		batch: moved("couponkit_transition_batch"), alone: moved("couponkit_transition"),
		make: (*staged).event,
	},
	{
		name: "attach", types: "text text text timestamptz timestamptz",
		batch: `SELECT f.n, f.outcome, ` + document("ordered") + ` FROM c, {schema}.couponkit_attach_batch(` + parameters(5) + `) f`,
		alone: `SELECT 1, f.outcome, CASE f.outcome WHEN 'attached' THEN ` + document("ordered") + ` END
			FROM c, {schema}.couponkit_attach(a1[1], a2[1], a3[1], a4[1], a5[1]) f`,
		make: (*staged).attachment,
	},
}

// document is a row as JSON, NULL for none.
func document(row string) string {
	return fmt.Sprintf("CASE WHEN (f.%[1]s).id IS NOT NULL THEN to_jsonb(f.%[1]s)::text END", row)
}

func parameters(count int) string {
	return strings.Join(strings.Fields("a1 a2 a3 a4 a5 a6 a7 a8 a9")[:count], ", ")
}

func settled(function string, count int) string {
	return `SELECT f.n, f.problem, concat_ws(E'\n', f.changed, ` + document("redemption") + `, ` + document("ordered") + `)
		FROM c, {schema}.` + function + `(` + parameters(count) + `) f`
}

func moved(function string) string {
	return `SELECT f.n, f.refusal, ` + document("redemption") + ` FROM c, {schema}.` + function + `(` + parameters(6) + `) f`
}

func (w *staged) deadline(c call) time.Time {
	return []time.Time{{}, w.now.Add(time.Minute), w.now.Add(48 * time.Hour)}[c.Deadline]
}

func (w *staged) settlement(c call) []any {
	kinds := []redemption.EventKind{
		redemption.SessionCompleted, redemption.SessionCompleted, redemption.SessionCompleted,
		redemption.SessionUnpaid, redemption.PaymentFailed, redemption.SessionExpired,
	}
	happened := kinds[c.Kind]
	if c.Session == nothing && happened != redemption.SessionExpired {
		c.Session = unknown
	}
	couponID, customer := "", ""
	if of := w.Checkouts[c.Of]; c.Coupon == ofOther || of.Coupon != noCoupon && c.Coupon != nothing {
		couponID, customer = w.coupons[min(of.Coupon, byPoints)].ID, fmt.Sprintf("%sc%d", w.prefix, of.Customer)
	}
	if c.Coupon == unknown {
		customer = ""
	}
	id := fmt.Sprintf("%s%snew%d", redemption.IDPrefix, w.prefix, w.calls)
	if c.ID != own {
		id = w.named(c.ID, c, w.records)
	}
	return []any{happened.String(), w.now, w.session(c), w.order(c), w.deadline(c), w.named(c.Reservation, c, w.records), couponID, customer, id}
}

func (w *staged) event(c call) []any {
	kinds := []redemption.EventKind{
		redemption.Cancelled, redemption.Lapsed, redemption.PointsExchanged, redemption.PointsGivenBack,
		redemption.SessionCompleted, redemption.Cancelled,
	}
	at := w.now
	if c.Deadline == 2 {
		at = at.Add(100 * time.Hour) // a reservation has lapsed
	}
	return []any{w.named(c.Reservation, c, w.records), kinds[c.Kind].String(), at, w.session(c), w.order(c), w.deadline(c)}
}

func (w *staged) attachment(c call) []any {
	return []any{w.order(c), w.session(c), fmt.Sprintf("https://pay.example/%d", c.Kind), w.deadline(c), w.now}
}

// reply is what a function says of a call.
type reply struct{ Verdict, Answer string }

// joined makes a batch in one schema and its calls by themselves in the other.
func (w *staged) joined(j joinedCall, s step) string {
	calls := w.made(j, s.Calls)
	old := s.Old && j.old != ""
	got, left, err := w.batch(j, calls, old)
	if err != nil {
		return fmt.Sprintf("%s: %v\n%v", j.name, err, calls)
	}
	w.together[j.name].Add(int64(len(s.Calls) - len(left)))
	w.alone[j.name].Add(int64(len(left)))
	want := map[int]reply{}
	for _, n := range inOrder(len(s.Calls), left) {
		if want[n], err = w.call("single", j, calls, n); err != nil {
			return fmt.Sprintf("%s: call %d by itself: %v\n%v", j.name, n, err, calls)
		}
	}
	if difference := cmp.Diff(want, got); difference != "" {
		return fmt.Sprintf("%s, old: %t, left alone: %v\n%v\n(-single +batched):\n%s", j.name, old, left, calls, difference)
	}
	if difference := w.compare(); difference != "" {
		return fmt.Sprintf("%s, old: %t, left alone: %v\n%v\nrows (-single +batched):\n%s", j.name, old, left, calls, difference)
	}
	return ""
}

// made are the arguments of the calls.
func (w *staged) made(j joinedCall, all []call) columns {
	calls := make(columns, len(strings.Fields(j.types)))
	for _, c := range all {
		w.tick()
		for i, value := range j.make(w, c) {
			calls[i] = append(calls[i], value)
		}
	}
	return calls
}

// inOrder is 1 to n, those at the end that were left alone.
func inOrder(n int, left []int) []int {
	last := make(map[int]bool, len(left))
	for _, i := range left {
		last[i] = true
	}
	var all []int
	for i := 1; i <= n; i++ {
		if !last[i] {
			all = append(all, i)
		}
	}
	return append(all, left...)
}

// batch makes the calls as the store does, or as a former process.
func (w *staged) batch(j joinedCall, calls columns, old bool) (got map[int]reply, left []int, err error) {
	ctx := w.tb.Context()
	undo := errors.New("undo")
	err = w.repeatedly(func() error {
		left = nil
		return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
			if got, err = query(ctx, tx, "batched", j.batch, j.types, calls); err != nil {
				return err
			}
			for n := 1; n <= len(calls[0]); n++ {
				if got[n].Verdict == "alone" {
					left = append(left, n)
				}
			}
			if old {
				return undo
			}
			return nil
		})
	})
	switch {
	case old && errors.Is(err, undo):
		slices.SortStableFunc(left, func(a, b int) int { // as couponkit_settle_each takes them
			return order.Or(compareTexts(calls[2], a, b), compareTexts(calls[3], a, b))
		})
		got, err = query(ctx, w.pool, "batched", j.old, j.types, calls)
		return got, left, err
	case err != nil:
		return nil, nil, err
	}
	for _, n := range left {
		if got[n], err = w.call("batched", j, calls, n); err != nil {
			return nil, nil, err
		}
	}
	return got, left, nil
}

// compareTexts compares what two calls have in a column.
func compareTexts(column []any, a, b int) int {
	return strings.Compare(fmt.Sprint(column[a-1]), fmt.Sprint(column[b-1]))
}

// call makes one call by itself.
func (w *staged) call(schema string, j joinedCall, calls columns, n int) (reply, error) {
	one := make(columns, len(calls))
	for i, column := range calls {
		one[i] = column[n-1 : n]
	}
	var got map[int]reply
	err := w.repeatedly(func() (err error) {
		got, err = query(w.tb.Context(), w.pool, schema, j.alone, j.types, one)
		return err
	})
	return got[1], err
}

// repeatedly runs a transaction again while PostgreSQL asks for it, as often as the store.
func (w *staged) repeatedly(work func() error) (err error) {
	for range 10 {
		if err = work(); !w.batched.Retryable(err) && !w.single.Retryable(err) {
			return err
		}
	}
	return err
}

type querier interface {
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
}

// query runs a statement on the calls.
func query(ctx context.Context, on querier, schema, statement, types string, calls columns) (map[int]reply, error) {
	var arrays []string
	for i, name := range strings.Fields(types) {
		arrays = append(arrays, fmt.Sprintf("$%[1]d::%[2]s[] AS a%[1]d", i+1, name))
	}
	rows, err := on.Query(ctx, "WITH c AS (SELECT "+strings.Join(arrays, ", ")+") "+strings.ReplaceAll(statement, "{schema}", schema), calls.arguments()...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	got := map[int]reply{}
	for rows.Next() {
		var n int
		var verdict, answer *string
		if err := rows.Scan(&n, &verdict, &answer); err != nil {
			return nil, err
		}
		if _, again := got[n]; again {
			return nil, fmt.Errorf("two answers for call %d", n)
		}
		got[n] = reply{orEmpty(verdict), orEmpty(answer)}
	}
	return got, rows.Err()
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// compare returns how the rows of the scenario differ.
func (w *staged) compare() string {
	return cmp.Diff(w.rows("single"), w.rows("batched"))
}

// rows are the redemptions, orders and counts of the scenario.
func (w *staged) rows(schema string) []string {
	ctx := w.tb.Context()
	var all []string
	for _, statement := range []string{
		`SELECT to_jsonb(r)::text FROM {schema}.coupon_redemptions r WHERE r.id >= $1 AND r.id < $2 ORDER BY r.id`,
		`SELECT to_jsonb(o)::text FROM {schema}.orders o WHERE o.id >= replace($1, 'rsv_', 'ord_') AND o.id < replace($2, 'rsv_', 'ord_') ORDER BY o.id`,
		`SELECT s.coupon_id || ': ' || sum(s.completed) || ' completed, ' || sum(s.reserved) || ' reserved' FROM {schema}.coupon_counters s
			WHERE s.coupon_id >= replace($1, 'rsv_', 'cpn_') AND s.coupon_id < replace($2, 'rsv_', 'cpn_') GROUP BY s.coupon_id ORDER BY s.coupon_id`,
	} {
		from := redemption.IDPrefix + w.prefix
		rows, err := w.pool.Query(ctx, strings.ReplaceAll(statement, "{schema}", schema), from, from[:len(from)-1]+"`")
		if err != nil {
			w.tb.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			w.tb.Fatal(err)
		}
		all = append(all, texts...)
	}
	return all
}

// kind is what the contract says of an error.
func kind(err error) []string {
	var kinds []string
	for name, sentinel := range map[string]error{
		"not found": store.ErrNotFound, "conflict": store.ErrConflict, "stale": store.ErrStaleRevision,
		"superseded": store.ErrSuperseded, "key reused": store.ErrKeyReused, "closed": store.ErrClosed,
		"coupon not found": coupon.ErrNotFound, "inactive": coupon.ErrInactive, "taken": coupon.ErrCodeTaken,
		"invalid": pricing.ErrInvalid, "illegal": redemption.ErrIllegal,
	} {
		if errors.Is(err, sentinel) {
			kinds = append(kinds, name)
		}
	}
	if rejection := (*coupon.Rejection)(nil); errors.As(err, &rejection) {
		for _, reason := range rejection.Reasons {
			kinds = append(kinds, fmt.Sprintf("%s %d %d", reason.Code, reason.Params.MaxUses, reason.Params.MaxUsesPerUser))
		}
	}
	if err != nil && kinds == nil {
		kinds = append(kinds, "failure: "+err.Error())
	}
	// An illegal event that makes a call superseded is a detail.
	if errors.Is(err, store.ErrSuperseded) {
		return []string{"superseded"}
	}
	slices.Sort(kinds)
	return kinds
}
