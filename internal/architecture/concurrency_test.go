package architecture_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConcurrencyNamesRealTests: every race and every package of docs/concurrency.md is
// held by tests that are there, and no package that starts goroutines is missing.
func TestConcurrencyNamesRealTests(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "concurrency.md"))
	require.NoError(t, err)
	starting := packagesThatStartGoroutines(t, root)
	require.Contains(t, starting, "store/pgxstore", "goroutines are not seen")
	require.Contains(t, starting, "internal/simulation", "coroutines are not seen")
	for _, fault := range concurrencyFaults(root, string(text), starting) {
		t.Error(fault)
	}
}

func concurrencyFaults(root, text string, starting []string) []string {
	faults := referenceFaults(root, text)
	for _, folder := range starting {
		if !strings.Contains(text, "| `"+folder+"` |") {
			faults = append(faults, fmt.Sprintf("%s starts goroutines and has no row", folder))
		}
	}
	return append(faults, withoutGoleak(root, text)...)
}

// withoutGoleak finds packages with a test in a folder whose tests do not look for
// goroutines that are left.
func withoutGoleak(root, text string) (faults []string) {
	for line := range strings.Lines(text) {
		row, isPackage := strings.CutPrefix(line, "| `")
		name, tests, _ := strings.Cut(row, "` |")
		if !isPackage {
			continue
		}
		for _, found := range reference.FindAllStringSubmatch(tests, -1) {
			folder := path.Dir(found[1])
			if !looksForGoroutines(filepath.Join(root, filepath.FromSlash(folder))) {
				faults = append(faults, fmt.Sprintf("%s: nothing in %s looks for goroutines", name, folder))
			}
		}
	}
	return faults
}

func looksForGoroutines(folder string) bool {
	files, _ := filepath.Glob(filepath.Join(folder, "*_test.go")) // the pattern is sound
	return slices.ContainsFunc(files, func(name string) bool {
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		return err == nil && slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"go.uber.org/goleak"` })
	})
}

// packagesThatStartGoroutines finds go statements, calls of a method Go with a function,
// and iterators that are pulled, outside of tests.
func packagesThatStartGoroutines(t *testing.T, root string) []string {
	t.Helper()
	var folders []string
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		relative, err := filepath.Rel(root, filepath.Dir(name))
		folder := filepath.ToSlash(relative)
		if err != nil || slices.Contains(folders, folder) {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil && startsGoroutines(parsed) {
			folders = append(folders, folder)
		}
		return err
	}))
	return folders
}

func startsGoroutines(file *ast.File) (starts bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			method, is := n.Fun.(*ast.SelectorExpr)
			if is && method.Sel.Name == "Go" && len(n.Args) == 1 {
				_, function := n.Args[0].(*ast.FuncLit)
				starts = starts || function
			}
			if is && strings.HasPrefix(method.Sel.Name, "Pull") {
				from, named := method.X.(*ast.Ident)
				starts = starts || named && from.Name == "iter"
			}
		}
		return !starts
	})
	return starts
}
