package pgxstore_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/pgxstore"
)

var seeds = flag.Int("seeds", 4, "how many random histories to compare with memstore")

// TestAgreesWithMemstore runs random histories on the reference and on PostgreSQL,
// and compares every answer, in all ways of using the store.
func TestAgreesWithMemstore(t *testing.T) {
	t.Parallel()
	simple := func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol }
	for _, way := range []struct {
		name      string
		options   pgxstore.Options
		configure []func(*pgxpool.Config)
		inTx      bool
	}{
		{name: "batched"},
		{name: "alone", options: pgxstore.Options{Batch: pgxstore.BatchOptions{Off: true}}},
		{name: "in transactions", inTx: true},
		{name: "without prepared statements", options: pgxstore.Options{QueryExecMode: pgx.QueryExecModeExec}},
		{name: "simple protocol", configure: []func(*pgxpool.Config){simple}},
		{name: "in a namespace", options: pgxstore.Options{Namespace: pgxstore.Namespace{
			Schema: `Shop "1"`, Prefix: `50%'s {x}_\`,
		}}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			pool := newDatabase(t, way.options.Namespace, way.configure...)
			tested := newStore(t, pool, way.options)
			for seed := range uint64(*seeds) {
				h := newHistory(t, seed, fmt.Sprintf("%d_", seed), tested)
				for range 250 {
					if way.inTx {
						h.inTransaction(pool, tested)
					} else {
						h.step()
					}
				}
				h.compareAll()
			}
		})
	}
}

// history is a random sequence of calls, made on both stores.
type history struct {
	t       *testing.T
	random  *rand.Rand
	prefix  string // keeps histories in one database apart
	now     time.Time
	quote   pricing.Quote
	model   store.Store
	tested  store.Store
	made    int
	records []string
	orders  []string
	log     []string
	gone    map[string]bool // coupons that may have been deleted, or paid for before they existed
}

func newHistory(t *testing.T, seed uint64, prefix string, tested store.Store) *history {
	t.Helper()
	return &history{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), prefix: prefix, now: epoch, quote: quote(t),
		model: memstore.New(), tested: tested, gone: make(map[string]bool),
	}
}

func pick[T any](h *history, from ...T) T { return from[h.random.IntN(len(from))] }

// inTransaction runs a few steps in a transaction of the host and commits it.
func (h *history) inTransaction(pool *pgxpool.Pool, s *pgxstore.Store) {
	h.t.Helper()
	tx, err := pool.Begin(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(h.t.Context()))
	h.tested = s.WithTx(tx)
	for range 1 + h.random.IntN(3) {
		h.step()
	}
	if err := tx.Commit(h.t.Context()); err != nil {
		h.t.Fatalf("%v\n%s", err, h.log)
	}
	h.tested = s
}

func (h *history) code() string {
	return h.prefix + pick(h, "FREE", "TWO", "ONCE", "BOTH", "POINTS", "LISTED")
}
func (h *history) couponID() string { return coupon.IDPrefix + h.code() }
func (h *history) customer() string { return h.prefix + pick(h, "ann", "bob", "cid") }

// session returns one of the few sessions that an order may get.
func (h *history) session(order string) string {
	return fmt.Sprintf("cs_%s%s_%d", h.prefix, order, pick(h, 0, 0, 0, 1))
}

func (h *history) record() string {
	if len(h.records) == 0 {
		return "none"
	}
	return h.records[len(h.records)-1-min(h.random.IntN(8), h.random.IntN(len(h.records)))]
}

func (h *history) order() string {
	if len(h.orders) == 0 || h.random.IntN(8) == 0 {
		return pick(h, "", "none")
	}
	return h.orders[len(h.orders)-1-min(h.random.IntN(8), h.random.IntN(len(h.orders)))]
}

// step makes one call on both stores and compares the answers.
func (h *history) step() {
	h.t.Helper()
	h.now = h.now.Add(time.Duration(1+h.random.IntN(1_000_000)) * time.Microsecond)
	h.made++
	for _, choice := range []struct {
		weight int
		call   func() (string, func(store.Store) (any, error))
	}{
		{6, h.createCoupon},
		{4, h.updateCoupon},
		{1, h.deleteCoupon},
		{2, h.confirmMirror},
		{30, h.reserve},
		{8, h.takeOver},
		{24, h.settle},
		{12, h.transition},
		{10, h.attach},
		{3, h.createOrder},
		{8, h.lookUp},
	} {
		if h.random.IntN(108) < choice.weight {
			name, call := choice.call()
			h.log = append(h.log, name)
			h.compare(name, call)
			return
		}
	}
	h.read()
}

func (h *history) compare(name string, call func(store.Store) (any, error)) {
	h.t.Helper()
	want, wantErr := call(h.model)
	got, gotErr := call(h.tested)
	options := []cmp.Option{cmpopts.EquateEmpty()}
	if diff := cmp.Diff(kind(wantErr), kind(gotErr)); diff != "" {
		h.t.Fatalf("%s\n(-memstore +pgxstore):\n%s\nmemstore: %v\npgxstore: %v\n%s", name, diff, wantErr, gotErr, h.tail())
	}
	if wantErr == nil {
		if diff := cmp.Diff(want, got, options...); diff != "" {
			h.t.Fatalf("%s\n(-memstore +pgxstore):\n%s\n%s", name, diff, h.tail())
		}
	}
}

func (h *history) tail() string {
	text := ""
	for _, line := range h.log[max(0, len(h.log)-25):] {
		text += line + "\n"
	}
	return text
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
	return sorted(kinds)
}

func (h *history) ctx() context.Context { return h.t.Context() }
