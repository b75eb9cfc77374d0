package app_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// postgres is the server that the tests of this package share.
var postgres postgrestest.Shared

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
