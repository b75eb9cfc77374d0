package sqldb_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tables of the Go library are those of Unicode 15.0 and 17.0.
const (
	toolchain15 = "go1.26.8"
	toolchain17 = "go1.27.3"
)

// Two programs use one database, as during a rolling update. Whatever toolchain has built them,
// they find each other's coupons and record each other's payments.
func TestProgramsOfTwoToolchainsShareADatabase(t *testing.T) {
	t.Parallel()
	programs := map[string]string{}
	for _, toolchain := range []string{toolchain15, toolchain17} {
		program := filepath.Join(t.TempDir(), toolchain)
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./toolchain")
		build.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain)
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		programs[toolchain] = program
		out, err = exec.CommandContext(t.Context(), "go", "version", program).CombinedOutput()
		require.NoError(t, err)
		require.Contains(t, string(out), toolchain)
	}
	dsn := mariadb.Need(t).NewDatabase(t)
	run := func(toolchain, command, name string) string {
		out, err := exec.CommandContext(t.Context(), programs[toolchain], command, dsn, name).CombinedOutput()
		require.NoError(t, err, "%s %s %s: %s", toolchain, command, name, out)
		return strings.TrimSpace(string(out))
	}
	run(toolchain17, "create", "FIRST-")
	made := run(toolchain15, "create", "SECOND-")
	require.Equal(t, made, run(toolchain17, "use", "SECOND-"), "the keys of both programs")
	require.Equal(t, made, run(toolchain15, "use", "FIRST-"))
}
