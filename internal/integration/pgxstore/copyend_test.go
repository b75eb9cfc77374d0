package pgxstore_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/storetest"
)

// copying is a connection that calls a function within a COPY, after half of the first message with rows.
type copying struct {
	net.Conn

	begun bool // the COPY
	half  func(net.Conn)
}

func (c *copying) Write(b []byte) (int, error) {
	if !c.begun || b[0] != 'd' {
		c.begun = bytes.HasPrefix(b, []byte("Q")) && bytes.Contains(b, []byte("copy "))
		return c.Conn.Write(b)
	}
	n, err := c.Conn.Write(b[:len(b)/2])
	if err != nil {
		return n, err
	}
	c.half(c.Conn)
	rest, err := c.Conn.Write(b[n:])
	return n + rest, err
}

// importOf imports codes with the numbers from first on.
func importOf(couponID string, first, count int) store.CodeChange {
	c := store.CodeChange{Kind: store.ImportCodes, CouponID: couponID, Batch: "import", Fingerprint: "f", At: at}
	for i := range count {
		c.Codes = append(c.Codes, coupon.IssuedCode{
			Code: coupon.StoredCode(fmt.Sprintf("CODE-%05d", first+i)), CouponID: couponID, Batch: "import",
			Active: true, Revision: 1, CreatedAt: at, UpdatedAt: at,
		})
	}
	return c
}

// A COPY that ends in the middle leaves no code. The same call again adds all codes. Without a transaction of the host, the
// store may have made the second call itself, because no COMMIT was sent.
func TestACopyThatEndsInTheMiddle(t *testing.T) {
	t.Parallel()
	dsn := shared.NewCopy(t)
	beside := postgrestest.NewPool(t, dsn)
	for name, end := range map[string]func(context.CancelFunc, net.Conn){
		"the context":    func(cancel context.CancelFunc, _ net.Conn) { cancel() },
		"the connection": func(_ context.CancelFunc, c net.Conn) { _ = c.Close() },
		"the server": func(context.CancelFunc, net.Conn) {
			var ended int
			if err := beside.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'copying'`).Scan(&ended); err != nil || ended == 0 { // those of the case before may still be ending
				t.Errorf("%d connections were ended: %v", ended, err)
			}
		},
	} {
		for _, host := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in a transaction of the host: %t", name, host), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var armed atomic.Bool
				pool := postgrestest.NewPool(t, dsn, func(c *pgxpool.Config) {
					c.MaxConns = 1
					c.ConnConfig.RuntimeParams["application_name"] = "copying"
					c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
						conn, err := new(net.Dialer).DialContext(ctx, network, address)
						return &copying{Conn: conn, half: func(c net.Conn) {
							if armed.Swap(false) {
								end(cancel, c)
							}
						}}, err
					}
				})
				s := newEmptyStore(t, pool)
				c := create(t, s, newCoupon(t, "TEN", coupon.Limits{}))
				before, err := storetest.Read(t.Context(), s)
				require.NoError(t, err)
				change := importOf(c.ID, 0, 1_000)
				call := func() error { _, err := s.SaveCodes(ctx, change); return err }
				if host {
					call = func() error {
						tx, err := pool.Begin(t.Context())
						require.NoError(t, err)
						_, err = s.WithTx(tx).SaveCodes(ctx, change)
						require.Error(t, tx.Commit(t.Context()), "a host cannot commit a part")
						return err
					}
				}
				armed.Store(true)
				err = call()
				require.False(t, armed.Load())
				if host || err != nil {
					require.Error(t, err)
					require.Equal(t, name == "the context", ctx.Err() != nil)
					require.ErrorIs(t, err, map[bool]error{true: context.Canceled, false: err}[name == "the context"])
					after, err := storetest.Read(t.Context(), s)
					require.NoError(t, err)
					require.Equal(t, before, after)
				}
				_, err = s.SaveCodes(t.Context(), change)
				require.NoError(t, err)
				after, err := storetest.Read(t.Context(), s)
				require.NoError(t, err)
				require.Len(t, after.Codes, 1+len(change.Codes), "one is the plain code")
				require.Equal(t, int64(len(change.Codes)), after.Batches[0].Added)
				require.NoError(t, storetest.Check(t.Context(), s))
			})
		}
	}
}

// Two COPYs of the same codes meet: the second waits for the transaction of the first. It then finds the codes, or adds them
// if the first was rolled back.
func TestCopiesThatMeet(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	for _, commits := range []bool{true, false} {
		for _, host := range []bool{true, false} {
			t.Run(fmt.Sprintf("the first commits: %t, the second in a transaction of the host: %t", commits, host), func(t *testing.T) {
				ctx, cancel := patience.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
				defer cancel()
				s := newEmptyStore(t, pool)
				theirs, ours := create(t, s, newCoupon(t, "THEIRS", coupon.Limits{})), create(t, s, newCoupon(t, "OURS", coupon.Limits{}))
				first, err := pool.Begin(ctx)
				require.NoError(t, err)
				defer func() { _ = first.Rollback(ctx) }()
				_, err = s.WithTx(first).SaveCodes(ctx, importOf(theirs.ID, 0, 300))
				require.NoError(t, err)
				second := s
				end := func() error { return nil }
				if host {
					tx, err := pool.Begin(ctx)
					require.NoError(t, err)
					defer func() { _ = tx.Rollback(ctx) }()
					second, end = s.WithTx(tx), func() error { return tx.Commit(ctx) }
				}
				var known []coupon.IssuedCode
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					known, err = second.SaveCodes(ctx, importOf(ours.ID, 200, 300))
				}()
				waitForLock(ctx, t, pool, ended)
				var want []coupon.IssuedCode
				if commits {
					require.NoError(t, first.Commit(ctx))
					want = importOf(theirs.ID, 200, 100).Codes
				} else {
					require.NoError(t, first.Rollback(ctx))
				}
				<-ended
				require.NoError(t, err)
				require.NoError(t, end())
				require.Empty(t, cmp.Diff(want, known, cmp.AllowUnexported(coupon.Code{}, coupon.Owner{})))
				all, err := storetest.Read(ctx, s)
				require.NoError(t, err)
				require.Len(t, all.Codes, 2+map[bool]int{true: 500, false: 300}[commits], "two are plain codes")
				require.NoError(t, storetest.Check(ctx, s))
			})
		}
	}
}
