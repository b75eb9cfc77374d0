package architecture_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSecurityNamesRealTests: a threat is held by a test that is there, and every
// row of a table of SECURITY.md names at least one.
func TestSecurityNamesRealTests(t *testing.T) {
	t.Parallel()
	namesRealTests(t, 30, "SECURITY.md")
}

// TestSecurityCheckNotices plants what must not be in such a document.
func TestSecurityCheckNotices(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	const sound = "| attack | what holds it | what is left | tests |\n|---|---|---|---|\n" +
		"| a | b | c | `internal/architecture/security_test.go TestSecurityCheckNotices` |\n"
	require.Empty(t, referenceFaults(root, sound))
	for name, text := range map[string]string{
		"a test that is not there": strings.Replace(sound, "CheckNotices", "CheckSleeps", 1),
		"a file that is not there": strings.Replace(sound, "security_test.go", "insecurity_test.go", 1),
		"a row without a test":     sound + "| a | b | c | a good feeling |\n",
		"no table":                 "`internal/architecture/security_test.go TestSecurityCheckNotices`\n",
	} {
		require.NotEmpty(t, referenceFaults(root, text), name)
	}
}
