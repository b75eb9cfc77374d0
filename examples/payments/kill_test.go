package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/internal/provider"
	"github.com/couponkit/couponkit/internal/killtest"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// TestKilledAtAnyPoint kills the shop at random steps; see package killtest. At no time can two payments
// be paid, or are paid, for one use or one order. When all is settled, each order is paid at the provider
// and in couponkit or in neither, nothing is due, and the money of each refund went back once.
func TestKilledAtAnyPoint(t *testing.T) {
	for seed := range uint64(testsize.Of(4, 10)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed, nil)
			require.NoError(t, w.Run(60))
			t.Log(w)
		})
	}
}

// TestKillingNotices plants mistakes of a shop.
func TestKillingNotices(t *testing.T) {
	for name, fault := range map[string]struct {
		plant http.HandlerFunc // answers in place of the provider, unless it says nothing
		with  []couponkit.Option
		want  string
	}{
		"payments that are said to be void": {want: "has one payment, and these can be paid", plant: func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				http.Error(w, "{}", http.StatusNotFound)
			}
		}},
		"refunds under a new key": {want: "went back|a minute without|a webhook without", plant: func(_ http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/refunds/") {
				r.URL.Path += time.Now().Format(time.RFC3339Nano)
			}
		}},
		"no time for a creation": {want: "has one payment, and these can be paid|State:open Returned:0} has not ended", with: []couponkit.Option{couponkit.WithCreateTime(time.Millisecond)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, killtest.Notices(fault.want, func(seed uint64) *killtest.World { return newWorld(t, seed, fault.plant, fault.with...) }))
		})
	}
}

// outside is the provider as the world sees it.
type outside struct{ *provider.Provider }

func (o outside) Payments() (list []killtest.Payment) {
	for _, p := range o.Provider.Payments() {
		list = append(list, killtest.Payment{ID: p.ID, Order: p.Order, State: killtest.State(p.State), Returned: p.Refunded()})
	}
	return list
}

// victim is one life of the shop.
type victim struct {
	*shop

	db *sql.DB
}

func (v victim) Create(ctx context.Context, d coupon.Draft) error {
	_, err := v.coupons.Create(ctx, d)
	return err
}

func (v victim) Checkout(ctx context.Context, p killtest.Purchase) (string, error) {
	return v.checkout(ctx, p.ID, p.Customer, p.Codes())
}

func (v victim) Cancel(ctx context.Context, p killtest.Purchase) error { return v.cancel(ctx, p.ID) }

func (v victim) Refund(ctx context.Context, p killtest.Purchase, key string) error {
	return v.refund(ctx, p.ID, key)
}

func (v victim) EveryMinute(ctx context.Context) error { return v.runDue(ctx, "") }

func (v victim) Webhooks() http.Handler { return v.shop }

func (v victim) Close() {
	_ = v.store.Close()
	_ = v.db.Close()
}

const pragmas = "?_pragma=busy_timeout(1000)&_pragma=synchronous(OFF)&_txlock=immediate"

// newWorld plants a mistake, if it is given one.
func newWorld(t *testing.T, seed uint64, plant http.HandlerFunc, options ...couponkit.Option) *killtest.World {
	t.Helper()
	file, inMemory := "file:"+filepath.Join(t.TempDir(), "shop.db")+pragmas, provider.New("https://pay.example/")
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	require.NoError(t, sqlstore.Migrate(t.Context(), db, sqlstore.SQLite, sqlstore.Options{}))
	reader, err := sqlstore.New(t.Context(), db, sqlstore.SQLite, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, reader.Close())
		require.NoError(t, db.Close())
	})
	w := killtest.New(t.Context(), seed)
	w.Provider, w.Store = outside{inMemory}, reader
	w.Creates = func(r *http.Request, _ []byte) (orderID string, creates bool) {
		orderID, creates = strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/orders/"), "/payment")
		return orderID, creates && r.Method == http.MethodPut
	}
	w.Open = func(l *killtest.Life) (killtest.Shop, error) {
		client := &http.Client{Transport: l.Transport(planted{inMemory, plant})}
		pay := &provider.Payments{Client: provider.Client{URL: "https://provider.example", HTTP: client}}
		db := sql.OpenDB(l.Connector(&sqlite.Driver{}, file))
		s, err := open(t.Context(), db, pay, append([]couponkit.Option{couponkit.WithClock(w.Clock.Now)}, options...)...)
		if err != nil {
			_ = db.Close()
		}
		return victim{s, db}, err
	}
	return w
}

// planted lets a function answer in place of the provider.
type planted struct {
	*provider.Provider

	plant http.HandlerFunc
}

func (p planted) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.plant != nil {
		answer := httptest.NewRecorder()
		if p.plant(answer, r); answer.Body.Len() > 0 {
			return answer.Result(), nil
		}
	}
	return p.Provider.RoundTrip(r)
}
