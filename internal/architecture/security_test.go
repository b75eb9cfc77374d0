package architecture_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// securityReference is how SECURITY.md names a test: its file and its function,
// between back quotes.
var securityReference = regexp.MustCompile("`([A-Za-z0-9_./]+_test\\.go) ((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// TestSecurityNamesRealTests: a threat is held by a test that is there, and every
// row of a table of SECURITY.md names at least one.
func TestSecurityNamesRealTests(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	require.NoError(t, err)
	require.Greater(t, len(securityReference.FindAllSubmatch(text, -1)), 30, "the references were not found")
	for _, fault := range securityFaults(root, string(text)) {
		t.Error(fault)
	}
}

// TestSecurityCheckNotices plants what must not be in such a document.
func TestSecurityCheckNotices(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	const sound = "| attack | what holds it | what is left | tests |\n|---|---|---|---|\n" +
		"| a | b | c | `internal/architecture/security_test.go TestSecurityCheckNotices` |\n"
	require.Empty(t, securityFaults(root, sound))
	for name, text := range map[string]string{
		"a test that is not there": strings.Replace(sound, "CheckNotices", "CheckSleeps", 1),
		"a file that is not there": strings.Replace(sound, "security_test.go", "insecurity_test.go", 1),
		"a row without a test":     sound + "| a | b | c | a good feeling |\n",
	} {
		require.NotEmpty(t, securityFaults(root, text), name)
	}
}

func securityFaults(root, text string) []string {
	var faults []string
	tables := 0
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "|---"):
			tables++
			continue
		case !strings.HasPrefix(line, "|") || strings.Contains(line, "| attack |"):
			continue
		}
		if !securityReference.MatchString(line) {
			faults = append(faults, "a row names no test: "+strings.TrimSpace(line))
		}
	}
	if tables == 0 {
		faults = append(faults, "there is no table")
	}
	for _, found := range securityReference.FindAllStringSubmatch(text, -1) {
		names, err := testsOf(filepath.Join(root, filepath.FromSlash(found[1])))
		if err != nil || !slices.Contains(names, found[2]) {
			faults = append(faults, fmt.Sprintf("there is no test %s in %s", found[2], found[1]))
		}
	}
	return faults
}

func testsOf(file string) ([]string, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range parsed.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Recv == nil {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}
