package record

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Header writes the configuration lines that say where and with what the results
// below them were measured: Go, system, processor, commit, date, package, and the
// extra lines, each "key: value" with a lower-case key.
func Header(ctx context.Context, out io.Writer, pkg string, extra ...string) error {
	lines := append([]string{
		"go: " + runtime.Version(), "goos: " + runtime.GOOS, "goarch: " + runtime.GOARCH,
		"cpu: " + processor(), fmt.Sprintf("cores: %d", runtime.NumCPU()),
		"commit: " + commit(ctx), "date: " + time.Now().UTC().Format(time.DateOnly),
	}, extra...)
	_, err := fmt.Fprintf(out, "%s\npkg: %s\n", strings.Join(lines, "\n"), pkg)
	return err
}

// processor is what Linux calls it; elsewhere the result of go test has it.
func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=9", "--exclude", "*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// Versions returns the line "peers: ..." that names the versions of the modules, as
// the module in the current folder requires them.
func Versions(ctx context.Context, modules ...string) (string, error) {
	arguments := append([]string{"list", "-m", "-f", "{{.Path}} {{.Version}}"}, modules...)
	out, err := exec.CommandContext(ctx, "go", arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("versions of the peers: %w", err)
	}
	return "peers: " + strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), ", "), nil
}

func sortedKeys(keys map[string]string) []string { return slices.Sorted(maps.Keys(keys)) }
