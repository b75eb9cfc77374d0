package main

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain requires that shops that have ended have left no goroutine.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
