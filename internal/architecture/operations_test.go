package architecture_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOperationsNamesRealTests: every row of a table of docs/operations.md names a test that is
// there, and the document stays one that is read in an emergency.
func TestOperationsNamesRealTests(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	require.NoError(t, err)
	require.Greater(t, len(securityReference.FindAllSubmatch(text, -1)), 20, "the references were not found")
	require.Less(t, strings.Count(string(text), "\n"), 120)
	for _, fault := range securityFaults(root, withoutHeads(string(text))) {
		t.Error(fault)
	}
}
