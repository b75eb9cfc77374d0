package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asProgram lets the test's executable be the program itself, which can be sent signals.
const asProgram = "COUPONKIT_TEST_AS_PROGRAM"

// TestMain requires that a program that has ended has left no goroutine.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}
