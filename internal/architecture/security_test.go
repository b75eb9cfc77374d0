package architecture_test

import "testing"

// TestSecurityNamesRealTests: a threat is held by a test that is there, and every
// row of a table of SECURITY.md names at least one.
func TestSecurityNamesRealTests(t *testing.T) {
	t.Parallel()
	namesRealTests(t, 30, "SECURITY.md")
}
