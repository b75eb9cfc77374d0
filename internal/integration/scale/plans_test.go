package scale_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/scale"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// shop is the size at which a wrong plan cannot hide behind a small table.
func shop() scale.Size { return scale.Size{Coupons: 20_000, Redemptions: 400_000, Seed: 1} }

// TestPlans holds every statement that the store sends, and every one within its
// functions, to index scans that read a bounded number of rows: with plans that
// PostgreSQL makes for the values at hand, and with those that it keeps. That it
// would notice is shown by dropping each index.
func TestPlans(t *testing.T) {
	t.Parallel()
	plain := loaded(t, shop(), true)
	var plans recorder
	open := func(t *testing.T, settings ...string) *pgxpool.Pool {
		t.Helper()
		config := plain.Config()
		config.MaxConns = 4
		plans.install(config, settings...)
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		err = pool.Ping(t.Context())
		if lacksAutoExplain(err) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return pool
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		s := newStore(t, open(t, "plan_cache_mode = "+mode), pgxstore.Options{Batch: pgxstore.BatchOptions{Workers: 1}})
		for _, call := range scale.Calls(shop(), strings.ReplaceAll(mode, "_", "")) {
			t.Run(mode+"/"+call.Name, func(t *testing.T) {
				work, err := plans.during(func() error { return call.Run(t.Context(), s) })
				if err != nil {
					t.Fatal(err)
				}
				if len(work.queries) == 0 {
					t.Error("no plan was seen")
				}
				for _, fault := range work.beyond(call.Rows) {
					t.Error(fault)
				}
			})
		}
	}
	t.Run("a batch", func(t *testing.T) {
		holdsInBatches(t, newStore(t, open(t), pgxstore.Options{Batch: pgxstore.BatchOptions{Workers: 1}}), &plans)
	})
	pool := open(t)
	s := newStore(t, pool, pgxstore.Options{})
	t.Run("totals", func(t *testing.T) { saysWhenItStoppedCounting(t, s) })
	for _, drop := range drops {
		t.Run("without "+drop.index, func(t *testing.T) {
			call := callNamed(t, drop.call, "dropped")
			work, err := plans.during(func() error {
				return rolledBack(t.Context(), pool, drop.statement(), func(tx pgx.Tx) error { return call.Run(t.Context(), s.WithTx(tx)) })
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(work.beyond(call.Rows)) == 0 {
				t.Errorf("%q does as well without the index", call.Name)
			}
		})
	}
}

// lacksAutoExplain says whether the server does not have the module, or does not let
// the test's role load it. Whatever else fails is no reason to go without the plans.
func lacksAutoExplain(err error) bool {
	const undefinedFile, insufficientPrivilege = "58P01", "42501"
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == undefinedFile || refused.Code == insufficientPrivilege)
}

// holdsInBatches makes calls at once, until some of every kind were joined.
func holdsInBatches(t *testing.T, s *pgxstore.Store, plans *recorder) {
	t.Helper()
	const callers, rows = 32, 20
	calls := []scale.Call{
		callNamed(t, "reserve, pay", "paid"), callNamed(t, "reserve, attach, expire", "expired"),
		callNamed(t, "reserve, take over, cancel", "cancelled"),
	}
	missing := []string{"couponkit_claim_plain", "couponkit_settle_batch", "couponkit_attach_batch", "couponkit_transition_batch"}
	for range 20 {
		work, err := plans.during(func() error {
			faults := make(chan error, callers)
			for i := range callers {
				go func() { faults <- calls[i%len(calls)].Run(t.Context(), s) }()
			}
			var err error
			for range callers {
				err = errors.Join(err, <-faults)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range work.beyond(callers * rows) {
			t.Error(fault)
		}
		if missing = slices.DeleteFunc(missing, work.asked); len(missing) == 0 {
			return
		}
	}
	t.Errorf("no calls were joined into %v", missing)
}

// saysWhenItStoppedCounting: a total is exact, or it is ExactTotal or more and said
// to be less than there are.
func saysWhenItStoppedCounting(t *testing.T, s *pgxstore.Store) {
	t.Helper()
	all, err := s.ListCoupons(t.Context(), store.CouponList{})
	if err != nil || all.AtLeast || all.Total != int64(shop().Coupons) {
		t.Errorf("all coupons: total %d, at least: %t, %v", all.Total, all.AtLeast, err)
	}
	found, err := s.ListCoupons(t.Context(), store.CouponList{Search: scale.FrequentWord})
	if err != nil || !found.AtLeast || found.Total < store.ExactTotal {
		t.Errorf("a frequent word: total %d, at least: %t, %v", found.Total, found.AtLeast, err)
	}
	rare, err := s.ListCoupons(t.Context(), store.CouponList{Search: scale.Code(shop().Coupons / 2)})
	if err != nil || rare.AtLeast || rare.Total != 1 {
		t.Errorf("one code: total %d, at least: %t, %v", rare.Total, rare.AtLeast, err)
	}
	uses, err := s.ListRedemptions(t.Context(), store.RedemptionList{})
	if err != nil || !uses.AtLeast || uses.Total < store.ExactTotal {
		t.Errorf("all redemptions: total %d, at least: %t, %v", uses.Total, uses.AtLeast, err)
	}
}

// dropped is an index, or the constraint that it belongs to.
type dropped struct {
	table, index, call string
	constraint         bool
}

// drops name an index and a call that needs it. The index on coupon and customer is
// not among them: it excludes concurrent uses, and without it a look-up reads the few
// records of the customer.
var drops = []dropped{
	{"coupons", "coupons_pkey", "look up by ID", true},
	{"coupons", "coupons_code_key", "look up by code", true},
	{"coupons", "coupons_created_at_idx", "first page of coupons", false},
	{"coupons", "coupons_search_idx", "search for a rare word", false},
	{"coupon_redemptions", "coupon_redemptions_pkey", "redemption by ID", true},
	{"coupon_redemptions", "coupon_redemptions_key_key", "redemptions of a customer", true},
	{"coupon_redemptions", "coupon_redemptions_session_key", "reserve, pay", false},
	{"coupon_redemptions", "coupon_redemptions_due_idx", "due", false},
	{"coupon_redemptions", "coupon_redemptions_refund_idx", "due", false},
	{"coupon_redemptions", "coupon_redemptions_state_idx", "first page of redemptions", false},
	{"coupon_redemptions", "coupon_redemptions_coupon_idx", "redemptions of a hot coupon", false},
	{"orders", "orders_pkey", "order by ID", true},
	{"orders", "orders_key_key", "order by key", true},
	{"orders", "orders_session_idx", "pay without a record", false},
	{"orders", "orders_open_idx", "open orders", false},
}

func (d dropped) statement() string {
	if d.constraint {
		return "ALTER TABLE " + d.table + " DROP CONSTRAINT " + d.index + " CASCADE"
	}
	return "DROP INDEX " + d.index
}

// rolledBack runs work after a statement, and undoes both.
func rolledBack(ctx context.Context, pool *pgxpool.Pool, statement string, work func(pgx.Tx) error) error {
	undo := errors.New("undo")
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		if err := work(tx); err != nil {
			return err
		}
		return undo
	})
	if errors.Is(err, undo) {
		return nil
	}
	return err
}

// recorder collects the plans that the module auto_explain reports of connections.
type recorder struct {
	mu    sync.Mutex
	plans []plan
	fault error
}

// plan is a node of EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON).
type plan struct {
	Node      string  `json:"Node Type"`
	Relation  string  `json:"Relation Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Hit       float64 `json:"Shared Hit Blocks"`
	Read      float64 `json:"Shared Read Blocks"`
	Plans     []plan  `json:"Plans"`
	query     string
}

// install makes connections report the plan of every statement, also of those within
// functions.
func (r *recorder) install(config *pgxpool.Config, settings ...string) {
	settings = append([]string{
		"auto_explain.log_min_duration = 0", "auto_explain.log_nested_statements = on", "auto_explain.log_format = json",
		"auto_explain.log_analyze = on", "auto_explain.log_buffers = on", "auto_explain.log_timing = off",
		"client_min_messages = log",
	}, settings...)
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { r.hear(n.Message) }
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "LOAD 'auto_explain'; SET "+strings.Join(settings, "; SET "), pgx.QueryExecModeSimpleProtocol)
		return err
	}
}

func (r *recorder) hear(message string) {
	_, text, found := strings.Cut(message, "plan:\n")
	if !found {
		return
	}
	var report struct {
		Query string `json:"Query Text"`
		Plan  plan   `json:"Plan"`
	}
	err := json.Unmarshal([]byte(text), &report)
	report.Plan.query = report.Query
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = errors.Join(r.fault, err)
	r.plans = append(r.plans, report.Plan)
}

// during returns the plans of a call.
func (r *recorder) during(call func() error) (work, error) {
	r.mu.Lock()
	r.plans = nil
	r.mu.Unlock()
	err := call()
	r.mu.Lock()
	defer r.mu.Unlock()
	var w work
	for _, p := range r.plans {
		w.queries = append(w.queries, p.query)
		if !strings.HasPrefix(p.query, "EXPLAIN ") { // which reads nothing
			w.add(p, p.query)
		}
	}
	return w, errors.Join(err, r.fault)
}

// work is what statements have read.
type work struct {
	queries []string
	scans   []scan
}

// scan is how a table was read.
type scan struct {
	query, relation, node, index string
	rows, blocks                 float64
}

func (w *work) add(p plan, query string) {
	if p.Relation != "" || p.Node == "Bitmap Index Scan" {
		w.scans = append(w.scans, scan{
			query: query, relation: p.Relation, node: p.Node, index: p.Index,
			rows: (p.Rows + p.Filtered + p.Rechecked) * p.Loops, blocks: p.Hit + p.Read,
		})
	}
	for _, child := range p.Plans {
		w.add(child, query)
	}
}

// asked reports whether a statement has the text.
func (w work) asked(text string) bool {
	return slices.ContainsFunc(w.queries, func(query string) bool { return strings.Contains(query, text) })
}

// large are the tables that grow with the shop.
var large = map[string]bool{
	"coupons": true, "coupon_redemptions": true, "orders": true, "coupon_counters": true, "coupon_allowed_emails": true,
}

// blocksPerRow is how many pages the way to a row takes at most; a statement has
// some for free.
const blocksPerRow, freeBlocks = 4, 50

// beyond returns the scans that read a whole table, or more than so many rows.
func (w work) beyond(rows float64) []string {
	var faults []string
	for _, s := range w.scans {
		switch {
		case large[s.relation] && s.node == "Seq Scan":
			faults = append(faults, "a sequential scan of "+s.String())
		case s.rows > rows || s.blocks > freeBlocks+blocksPerRow*rows:
			faults = append(faults, fmt.Sprintf("more than %.0f rows: %s", rows, s))
		}
	}
	return faults
}

func (s scan) String() string {
	return fmt.Sprintf("%s by %s %s: %.0f rows, %.0f blocks, in %.200s", s.relation, s.node, s.index, s.rows, s.blocks,
		strings.Join(strings.Fields(s.query), " "))
}

func callNamed(t *testing.T, name, base string) scale.Call {
	t.Helper()
	for _, c := range scale.Calls(shop(), base) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no call %q", name)
	return scale.Call{}
}
