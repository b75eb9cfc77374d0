package architecture_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
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

// TestPolicyCatches plants each kind of violation in a tree that obeys.
func TestPolicyCatches(t *testing.T) {
	t.Parallel()
	sound := imports{
		"internal/strictjson":     {"couponkit/validation", "encoding/json"},
		"pricing":                 {"couponkit/internal/strictjson", "github.com/shopspring/decimal", "golang.org/x/text/currency", "math/big"},
		"pricing/pricingtest":     {"couponkit/pricing", "pgregory.net/rapid"},
		"coupon":                  {"couponkit/pricing", "couponkit/internal/strictjson"},
		"eligibility":             {"couponkit/coupon", "couponkit/pricing"},
		"store":                   {"context", "couponkit/redemption"},
		"redemption":              {"couponkit/coupon", "couponkit/eligibility"},
		"processor":               {"couponkit/pricing"},
		".":                       {"couponkit/store", "couponkit/processor"},
		"store/memstore":          {"couponkit/store"},
		"store/pgxstore":          {"couponkit/store", "github.com/jackc/pgx/v5/pgxpool"},
		"store/storetest":         {"couponkit/store", "testing", "github.com/google/go-cmp/cmp"},
		"processor/fakeprocessor": {"couponkit/processor"},
		"examples/quickstart":     {"couponkit", "couponkit/store/memstore"},
	}
	if got := violations(full(sound)); got != nil {
		t.Fatalf("a tree that obeys is refused: %q", got)
	}
	tests := map[string]struct{ from, to, want string }{
		"up":                        {"pricing", "couponkit/coupon", "pricing (floor 0 money) imports coupon (floor 1 model)"},
		"across":                    {"eligibility", "couponkit/redemption", "eligibility (floor 2 rules and claims) imports redemption (floor 2 state machine, on top of claims)"},
		"contracts across":          {"store", "couponkit/processor", "store imports processor: they are strangers"},
		"contracts across, back":    {"processor", "couponkit/store", "processor imports store: they are strangers"},
		"implementation across":     {"store/memstore", "couponkit/processor", "store/memstore imports processor: they are strangers"},
		"front door on a store":     {".", "couponkit/store/memstore", "the root package (floor 4 front door) imports store/memstore (floor 5 implementations)"},
		"third party":               {"pricing", "github.com/jackc/pgx/v5", "pricing imports github.com/jackc/pgx/v5, which its line does not allow"},
		"prefix is not a path":      {"store", "github.com/shopspring/decimalish", "store imports github.com/shopspring/decimalish, which its line does not allow"},
		"engine in a program":       {"examples/quickstart", "pgregory.net/rapid", "examples/quickstart imports pgregory.net/rapid, a test engine"},
		"engine in a store":         {"store/memstore", "testing", "store/memstore imports testing, a test engine"},
		"suite in a program":        {"examples/quickstart", "couponkit/store/storetest", "examples/quickstart imports store/storetest, a test suite"},
		"package without a floor":   {"helpers", "fmt", "helpers has no floor"},
		"import without a floor":    {"store", "couponkit/internal/clock", "store imports internal/clock, which has no floor"},
		"suite below its generator": {"pricing/pricingtest", "couponkit/coupon/coupontest", "pricing/pricingtest (floor 5 generators and suites that hosts run in their own tests) imports coupon/coupontest (floor 5 generators and suites, on top of the generators of money)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := maps.Clone(sound)
			tree[test.from] = append(slices.Clone(tree[test.from]), test.to)
			if got := violations(full(tree)); !slices.Contains(got, test.want) {
				t.Errorf("the violation is not reported\nwant %q\ngot  %q", test.want, got)
			}
		})
	}
}

// imports holds what the non-test files of each package import, by the path of
// the package relative to the root of the repository.
type imports map[string][]string

// full spells out the abbreviation that the test tables use.
func full(tree imports) imports {
	out := imports{}
	for pkg, paths := range tree {
		for _, p := range paths {
			if p == "couponkit" || strings.HasPrefix(p, "couponkit/") {
				p = "github.com/couponkit/" + p
			}
			out[pkg] = append(out[pkg], p)
		}
	}
	return out
}

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
