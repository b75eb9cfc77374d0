package architecture_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const module = "github.com/couponkit/couponkit"

// TestFloors reads the sources itself rather than asking go list, so that files
// behind build tags count too and the test cache notices a change in any.
func TestFloors(t *testing.T) {
	t.Parallel()
	tree, err := readTree(filepath.Join("..", ".."))
	require.NoError(t, err)
	require.Contains(t, tree, "pricing", "the sources were not found")

	for _, violation := range violations(tree) {
		t.Error(violation)
	}
}

// TestPolicyIsConsistent guards the list itself: a second line for a path would
// hide behind the first.
func TestPolicyIsConsistent(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, f := range policy {
		for _, r := range f.rules {
			paths = append(paths, r.path)
		}
	}
	slices.Sort(paths)
	if unique := slices.Compact(slices.Clone(paths)); !cmp.Equal(unique, paths) {
		t.Errorf("a path is listed twice (-once +listed):\n%s", cmp.Diff(unique, paths))
	}
}

// TestRoomsOfTheRoot plants imports: the internal packages in which the root works never call back up, and pure
// packages never import these.
func TestRoomsOfTheRoot(t *testing.T) {
	t.Parallel()
	tree, err := readTree(filepath.Join("..", ".."))
	require.NoError(t, err)
	contracts, _, _ := place("store")
	rooms := slices.DeleteFunc(slices.Clone(tree["."]), func(p string) bool {
		own, inside := inRepository(p)
		level, _, _ := place(own)
		return !inside || !strings.HasPrefix(own, "internal/") || level <= contracts
	})
	require.Contains(t, rooms, module+"/internal/checkout", "the rooms were not found")
	for _, room := range rooms {
		own, _ := inRepository(room)
		require.NotEmpty(t, violations(imports{own: {module}}), "%s may import the root", own)
		for _, pure := range []string{"validation", "pricing", "calendar", "email", "coupon", "eligibility", "eligibility/offers", "eligibility/replay", "redemption"} {
			require.NotEmpty(t, violations(imports{pure: {room}}), "%s may import %s", pure, own)
		}
	}
}

// imports holds what the non-test files of each package import, by the path of
// the package relative to the root of the repository.
type imports map[string][]string

// violations lists what in the tree the policy forbids, sorted.
func violations(tree imports) []string {
	var found []string
	for from, paths := range tree {
		level, r, ok := place(from)
		if !ok {
			found = append(found, from+" has no floor")
			continue
		}
		for _, p := range paths {
			if own, inside := inRepository(p); inside {
				found = append(found, insideViolations(from, level, r, own)...)
			} else {
				found = append(found, outsideViolations(from, r, p)...)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func insideViolations(from string, level int, r rule, to string) []string {
	below, target, ok := place(to)
	if !ok {
		return []string{fmt.Sprintf("%s imports %s, which has no floor", display(from), to)}
	}
	var found []string
	for _, pair := range strangers {
		if covers(pair[0], from) && covers(pair[1], to) || covers(pair[1], from) && covers(pair[0], to) {
			found = append(found, fmt.Sprintf("%s imports %s: they are strangers", from, to))
		}
	}
	sameTree := r.path == target.path && strings.HasSuffix(r.path, "/...")
	if below >= level && !sameTree {
		found = append(found, fmt.Sprintf("%s (floor %s) imports %s (floor %s)",
			display(from), policy[level].name, display(to), policy[below].name))
	}
	if target.suite && !r.suite {
		found = append(found, fmt.Sprintf("%s imports %s, a test suite", display(from), to))
	}
	return found
}

func outsideViolations(from string, r rule, to string) []string {
	var found []string
	if !r.suite && slices.ContainsFunc(testEngines, func(engine string) bool { return within(engine, to) }) {
		found = append(found, fmt.Sprintf("%s imports %s, a test engine", display(from), to))
	}
	host, _, _ := strings.Cut(to, "/")
	standard := !strings.Contains(host, ".")
	if !standard && !slices.ContainsFunc(r.modules, func(m string) bool { return within(m, to) }) {
		found = append(found, fmt.Sprintf("%s imports %s, which its line does not allow", display(from), to))
	}
	return found
}

// place finds the floor and the line of a package, the exact line first.
func place(pkg string) (level int, line rule, ok bool) {
	for i, f := range policy {
		for _, r := range f.rules {
			if r.path == pkg {
				return i, r, true
			}
			if covers(r.path, pkg) {
				level, line, ok = i, r, true
			}
		}
	}
	return level, line, ok
}

// covers reports whether pattern, a path or a path with a trailing "/...",
// names pkg.
func covers(pattern, pkg string) bool {
	tree, isTree := strings.CutSuffix(pattern, "/...")
	return pkg == tree || isTree && strings.HasPrefix(pkg, tree+"/")
}

// within reports whether importPath is parent or below it. The empty parent
// holds everything, and a major version suffix counts as below.
func within(parent, importPath string) bool {
	return parent == "" || importPath == parent || strings.HasPrefix(importPath, parent+"/")
}

func inRepository(importPath string) (relative string, inside bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func display(pkg string) string {
	if pkg == "." {
		return "the root package"
	}
	return pkg
}

// readTree parses the import clauses of every non-test Go file under root,
// those of nested modules included.
func readTree(root string) (imports, error) {
	tree := imports{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, name, entry.Name())
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		paths, err := importsOf(name)
		if errors.Is(err, fs.ErrNotExist) { // an editor moved it meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(relative)
		tree[pkg] = append(tree[pkg], paths...)
		return nil
	})
	return tree, err
}

// enter skips the directories that the go command skips. It also opens the
// directory, so that the test cache notices files that come and go.
func enter(root, name, base string) error {
	hidden := strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
	if name != root && (hidden || base == "testdata" || base == "vendor" || base == "node_modules") {
		return fs.SkipDir
	}
	_, err := os.ReadDir(name)
	return err
}

func importsOf(name string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		paths = append(paths, path.Clean(p))
	}
	return paths, nil
}
