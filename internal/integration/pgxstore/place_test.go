package pgxstore_test

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// place is where the server of a benchmark is.
type place struct {
	name      string
	configure func(*pgxpool.Config)
}

// places returns a server on the same machine, and one in a usual cloud.
func places() []place {
	return []place{{"here", func(*pgxpool.Config) {}}, {"cloud", inACloud}}
}

func (p place) pool(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	return postgrestest.NewPool(tb, shared.NewCopy(tb), p.configure)
}

// inACloud adds half a millisecond to each round trip, and a millisecond to each commit.
func inACloud(config *pgxpool.Config) {
	config.ConnConfig.RuntimeParams["commit_delay"] = "1000" // in microseconds
	config.ConnConfig.RuntimeParams["commit_siblings"] = "0"
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &distant{Conn: conn}, err
	}
}

// distant is a connection whose answers take longer.
type distant struct {
	net.Conn

	asked bool // and not answered yet
}

func (d *distant) Write(b []byte) (int, error) {
	d.asked = true
	return d.Conn.Write(b)
}

func (d *distant) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if d.asked && n > 0 {
		d.asked = false
		for begin := time.Now(); time.Since(begin) < 500*time.Microsecond; { // time.Sleep may take a whole millisecond
			runtime.Gosched()
		}
	}
	return n, err
}
