package architecture_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/couponkit/couponkit/processor/fakeprocessor" // downloads the modules that the quickstart needs
	_ "github.com/couponkit/couponkit/store/memstore"
)

// clone is where README.md expects the clone, from the folder of the newcomer's program.
const clone = "../couponkit"

// TestQuickstartRunsInAnEmptyFolder does what README.md tells a newcomer, in a module outside of
// the workspace, with this checkout as the clone.
func TestQuickstartRunsInAnEmptyFolder(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	folder := t.TempDir()
	program := firstBlock(t, string(readme), "## Quickstart\n", "go")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600))
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.sum"), sums, 0o600))

	commands := strings.Split(strings.TrimSpace(firstBlock(t, string(readme), "<!-- quickstart -->\n", "sh")), "\n")
	require.Contains(t, commands, "go mod edit -replace="+module+"="+clone)
	var output string
	for _, command := range commands {
		output = runIn(t, folder, strings.Fields(strings.Replace(command, clone, root, 1)))
	}
	require.Equal(t, "to pay: 24.90\norder: paid\ncoupon refused: user_usage_limit_reached\n", output)
}

// firstBlock returns the first fenced block of a language after a text.
func firstBlock(t *testing.T, document, after, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(document, after)
	require.True(t, found, "there is no %q", after)
	_, rest, found = strings.Cut(rest, "```"+language+"\n")
	require.True(t, found, "there is no block of %s after %q", language, after)
	block, _, _ := strings.Cut(rest, "```")
	return block
}

// runIn runs a command outside of the workspace, without a network, and returns its output.
func runIn(t *testing.T, folder string, command []string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Dir = folder
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off")
	var errors strings.Builder
	c.Stderr = &errors
	output, err := c.Output()
	require.NoError(t, err, "%s: %s", command, errors.String())
	return string(output)
}
