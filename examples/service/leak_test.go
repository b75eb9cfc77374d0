package main

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain requires that a program that has ended has left no goroutine.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
