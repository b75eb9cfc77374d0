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

// reference is how a document names a test: its file and its function, between back
// quotes.
var reference = regexp.MustCompile("`([A-Za-z0-9_./]+_test\\.go) ((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// namesRealTests checks a document that has more than so many references.
func namesRealTests(t *testing.T, references int, document ...string) {
	t.Helper()
	root := filepath.Join("..", "..")
	read, err := os.ReadFile(filepath.Join(root, filepath.Join(document...)))
	require.NoError(t, err)
	require.Greater(t, len(reference.FindAllSubmatch(read, -1)), references, "the references were not found")
	for _, fault := range referenceFaults(root, string(read)) {
		t.Error(fault)
	}
}

// referenceFaults finds references to tests that are not there, and rows of tables, but for
// their heads, that name none.
func referenceFaults(root, text string) []string {
	var faults []string
	rows := withoutHeads(text)
	if !strings.Contains("\n"+rows, "\n|---") {
		faults = append(faults, "there is no table")
	}
	for line := range strings.Lines(rows) {
		if strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|---") && !reference.MatchString(line) {
			faults = append(faults, "a row names no test: "+strings.TrimSpace(line))
		}
	}
	for _, found := range reference.FindAllStringSubmatch(text, -1) {
		names, err := testsOf(filepath.Join(root, filepath.FromSlash(found[1])))
		if err != nil || !slices.Contains(names, found[2]) {
			faults = append(faults, fmt.Sprintf("there is no test %s in %s", found[2], found[1]))
		}
	}
	return faults
}

// withoutHeads leaves out the heads of tables, which name no test.
func withoutHeads(text string) string {
	lines := strings.SplitAfter(text, "\n")
	var kept strings.Builder
	for i, line := range lines {
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|---") {
			continue
		}
		kept.WriteString(line)
	}
	return kept.String()
}

func testsOf(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
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
