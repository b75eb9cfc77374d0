package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// postgres is the server that the tests of this package share. It loses what it holds in
// a crash of the machine, which no test looks at. Its copies have the demo in them.
var postgres = postgrestest.Shared{
	Settings: []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"},
	Prepare:  seeded,
}

// seeded makes the demo in an empty store and leaves it.
func seeded(ctx context.Context, store string) error {
	server, err := app.Start(ctx, app.Config{
		Store: store, Seed: true, Now: noon, PasswordCost: bcrypt.MinCost, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return server.Close(ctx)
}

func TestMain(m *testing.M) {
	status := m.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	direct.CloseIdleConnections()
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}
