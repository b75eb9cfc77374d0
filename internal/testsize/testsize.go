// Package testsize tells tests how much to do.
//
// Tests that search, such as the simulation, the oracles of package pricing and the search for
// planted faults, have two forms. The short form finds typical faults and runs by default. The
// long form runs where the environment variable COUPONKIT_LONG is not empty, as in .ci/run.
package testsize

import "os"

// Variable is the environment variable that asks for long forms.
const Variable = "COUPONKIT_LONG"

// Long reports whether tests run in their long form.
func Long() bool { return os.Getenv(Variable) != "" }

// Of returns the size for the form in which tests run.
func Of[T any](short, long T) T {
	if Long() {
		return long
	}
	return short
}
