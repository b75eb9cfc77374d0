package architecture_test

import "testing"

// TestOperationsNamesRealTests: every row of a table of docs/operations.md names a test that is
// there.
func TestOperationsNamesRealTests(t *testing.T) {
	t.Parallel()
	namesRealTests(t, 20, "docs", "operations.md")
}
