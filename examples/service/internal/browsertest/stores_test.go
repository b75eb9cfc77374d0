package browsertest_test

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// postgresVariable names a PostgreSQL server to use instead of a throwaway one.
const postgresVariable = "COUPONKIT_SERVICE_TEST_POSTGRES"

// postgres is the server that the suite shares. It loses what it holds in a crash of
// the machine, which no test looks at.
var postgres = postgrestest.Shared{Settings: []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"}}

// onEveryStore runs a test in two worlds: on an SQLite file and on PostgreSQL. It may
// run beside other tests.
func onEveryStore(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(newWorld(t, s))
		})
	}
}

// kind is a kind of store.
type kind struct {
	name string
	// fresh returns the address of a store that was just seeded and is the test's own.
	fresh func(*testing.T) string
}

var stores = []kind{{"sqlite", freshFile}, {"postgres", freshDatabase}}

// scratch is the directory of the seeded file, removed when the suite ends.
var scratch string

// seeded makes the demo in an empty store and leaves it.
func seeded(ctx context.Context, store string) error {
	server, err := app.Start(ctx, app.Config{Store: store, Seed: true, PasswordCost: bcrypt.MinCost})
	if err != nil {
		return err
	}
	return server.Close(ctx)
}

// seededFile is seeded once; each world gets a copy.
var seededFile = sync.OnceValues(func() (string, error) {
	file := filepath.Join(scratch, "seeded.db")
	return file, seeded(context.Background(), file)
})

func freshFile(t *testing.T) string {
	t.Helper()
	original, err := seededFile()
	require.NoError(t, err)
	source, err := os.Open(original)
	require.NoError(t, err)
	defer source.Close()
	copied, err := os.Create(filepath.Join(t.TempDir(), "couponkit.db"))
	require.NoError(t, err)
	_, err = io.Copy(copied, source)
	require.NoError(t, err)
	require.NoError(t, copied.Close())
	return copied.Name()
}

// template is a database that is seeded once; each world gets a copy.
type template struct {
	once   sync.Once
	server *postgrestest.Server
	name   string
	err    error
}

var (
	seededDatabase template
	databases      atomic.Int64
)

func (d *template) need(t *testing.T, server *postgrestest.Server) string {
	t.Helper()
	d.once.Do(func() {
		ctx := context.WithoutCancel(t.Context())
		d.server, d.name = server, databaseName()
		if d.err = execute(ctx, server, "CREATE DATABASE "+d.name); d.err == nil {
			d.err = seeded(ctx, databaseAddress(server, d.name))
		}
	})
	require.NoError(t, d.err)
	return d.name
}

// drop removes the template, for the server may be somebody's own.
func (d *template) drop(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	return execute(ctx, d.server, "DROP DATABASE IF EXISTS "+d.name+" WITH (FORCE)")
}

func freshDatabase(t *testing.T) string {
	t.Helper()
	server := postgres.Need(t)
	original, name := seededDatabase.need(t, server), databaseName()
	ctx := context.WithoutCancel(t.Context())
	require.NoError(t, execute(ctx, server, "CREATE DATABASE "+name+" TEMPLATE "+original))
	t.Cleanup(func() { require.NoError(t, execute(ctx, server, "DROP DATABASE "+name+" WITH (FORCE)")) })
	return databaseAddress(server, name)
}

func databaseName() string {
	return fmt.Sprintf("couponkit_browser_%d_%d", os.Getpid(), databases.Add(1))
}

func databaseAddress(server *postgrestest.Server, name string) string {
	address, err := url.Parse(server.DSN())
	if err != nil {
		return server.DSN() // which the test then cannot open, and says so
	}
	address.Path = "/" + name
	return address.String()
}

func execute(ctx context.Context, server *postgrestest.Server, statement string) error {
	connection, err := pgx.Connect(ctx, server.DSN())
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close(ctx) }()
	_, err = connection.Exec(ctx, statement)
	return err
}
