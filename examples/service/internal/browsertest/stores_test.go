package browsertest_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// postgresVariable names a PostgreSQL server to use instead of a throwaway one.
const postgresVariable = "COUPONKIT_SERVICE_TEST_POSTGRES"

// postgres is the server that the suite shares. It loses what it holds in a crash of
// the machine, which no test looks at.
var postgres = postgrestest.Shared{
	Settings: []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"},
	Prepare:  seeded,
}

// onOneStore runs a test in a world on an SQLite file. It is for pages that look the same whatever
// the store; the tests of app hold the answers that the pages show to every store. The test may
// run beside other tests.
func onOneStore(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	test(newWorld(t, stores[0]))
}

// onEveryStore runs a test in two worlds: on an SQLite file and on PostgreSQL. The tests may
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

var stores = []kind{{"sqlite", freshFile}, {"postgres", freshCopy}}

func freshCopy(t *testing.T) string {
	t.Helper()
	return postgres.NewCopy(t)
}

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
	content, err := os.ReadFile(original)
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "couponkit.db")
	require.NoError(t, os.WriteFile(copied, content, 0o600))
	return copied
}
