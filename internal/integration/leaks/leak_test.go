// Package leaks_test runs what starts goroutines in the root module, and requires
// that none is left. It stands in this module so that hosts do not inherit goleak.
package leaks_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// plantVariable lets the test program leak, so that somebody can see it fail.
const plantVariable = "COUPONKIT_PLANT_LEAK"

func TestMain(m *testing.M) {
	status := m.Run()
	if os.Getenv(plantVariable) != "" {
		go func() { select {} }()
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// TestAPlantedLeakIsNoticed: the check sees a goroutine that waits for ever, and sees
// it gone.
func TestAPlantedLeakIsNoticed(t *testing.T) {
	release := make(chan struct{})
	before := goleak.IgnoreCurrent()
	go func() { <-release }()
	if goleak.Find(before) == nil {
		t.Error("a goroutine that waits is not noticed")
	}
	close(release)
	if err := goleak.Find(before); err != nil {
		t.Errorf("a goroutine that has ended is noticed: %v", err)
	}
}

// TestTheSuiteOfStoresLeavesNothing: crowds of goroutines on the store in memory.
func TestTheSuiteOfStoresLeavesNothing(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memstore.New() }, storetest.Capabilities{})
}

// TestDeliveriesLeaveNothing: webhooks over HTTP, answered and not.
func TestDeliveriesLeaveNothing(t *testing.T) {
	fake := fakeprocessor.New(fakeprocessor.Options{})
	server := httptest.NewServer(fake.Handler(func(context.Context, processor.Event) error { return nil }))
	client := &http.Client{}
	if err := fake.Deliver(t.Context(), fakeprocessor.Post(client, server.URL)); err != nil {
		t.Fatal(err)
	}
	server.Close()
	client.CloseIdleConnections()
}

// TestLivesLeaveNothing: processes of the simulation that stop at any step take their
// goroutines along.
func TestLivesLeaveNothing(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		if _, err := simulation.Run(simulation.Config{Seed: seed}); err != nil {
			t.Fatal(err)
		}
	}
	if err := goleak.Find(); err != nil {
		t.Error(err)
	}
}
