package architecture_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOperationsNamesRealTests: every row of a table of docs/operations.md names a test that is
// there, and the document stays one that is read in an emergency.
func TestOperationsNamesRealTests(t *testing.T) {
	t.Parallel()
	text := namesRealTests(t, 20, "docs", "operations.md")
	require.Less(t, strings.Count(text, "\n"), 120)
}
