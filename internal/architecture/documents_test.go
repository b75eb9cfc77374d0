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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	fence     = regexp.MustCompile("^ *```")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	masculine = regexp.MustCompile(`(?i)\b(he|him|his|himself)\b`)
	goSource  = regexp.MustCompile(`^<!-- The code below is (?:(\w+) in )?(\S+\.go)\. -->$`)
)

// TestLinksOfDocuments: a link within the repository leads somewhere.
func TestLinksOfDocuments(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	found := texts(t, root, ".md")
	require.Contains(t, found, "README.md")
	for name, text := range found {
		for _, fault := range linkFaults(root, name, text) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// TestGoInDocumentsCompiles: every block of Go in a document is a file of this repository, or
// the body of a function in one, which the tests of its module compile.
func TestGoInDocumentsCompiles(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	blocks := 0
	for name, text := range texts(t, root, ".md") {
		blocks += strings.Count(text, "```go\n")
		for _, fault := range goFaults(root, text) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	require.GreaterOrEqual(t, blocks, 3, "the blocks were not found")
}

// TestPeopleAreThey: whoever documents, comments or texts speak of is "they".
func TestPeopleAreThey(t *testing.T) {
	t.Parallel()
	const here = "internal/architecture/documents_test.go"
	found := texts(t, filepath.Join("..", ".."), ".md", ".go", ".sql", ".sh", ".lua", ".js", ".css", ".html", ".yaml", ".yml")
	require.Contains(t, found, here)
	for name, text := range found {
		for line := range strings.Lines(text) {
			if word := masculine.FindString(line); word != "" && name != here {
				t.Errorf("%s: %q in: %s", name, word, strings.TrimSpace(line))
			}
		}
	}
}

// texts returns the files with these extensions by their paths.
func texts(t *testing.T, root string, extensions ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, name, entry.Name())
		}
		if !slices.Contains(extensions, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		texts[filepath.ToSlash(relative)] = string(text)
		return err
	}))
	return texts
}

// withoutCode leaves out fenced blocks.
func withoutCode(text string) string {
	var prose strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if fence.MatchString(line) {
			inside = !inside
			prose.WriteString("\n")
		} else if !inside {
			prose.WriteString(line)
		}
	}
	return prose.String()
}

// linkFaults finds links within the repository that lead nowhere.
func linkFaults(root, name, text string) (faults []string) {
	for _, found := range link.FindAllStringSubmatch(withoutCode(text), -1) {
		target, anchor, _ := strings.Cut(found[1], "#")
		if strings.Contains(target, "://") {
			continue
		}
		file := filepath.Join(root, filepath.FromSlash(path.Join(path.Dir(name), target)))
		if target == "" {
			file = filepath.Join(root, filepath.FromSlash(name))
		}
		if _, err := os.Stat(file); err != nil {
			faults = append(faults, "a link leads nowhere: "+found[1])
		} else if anchor != "" && !hasHeading(file, anchor) {
			faults = append(faults, "there is no such heading: "+found[1])
		}
	}
	return faults
}

// hasHeading reports whether a document, or the README of a folder, has a heading of that
// anchor.
func hasHeading(file, anchor string) bool {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "README.md")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(withoutCode(string(text))) {
		heading := strings.TrimSpace(strings.TrimLeft(line, "#"))
		if strings.HasPrefix(line, "#") && slug(heading) == anchor {
			return true
		}
	}
	return false
}

// slug is the anchor that GitHub makes of a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

// goFaults finds blocks of Go that are not what the comment before them names.
func goFaults(root, text string) (faults []string) {
	before := ""
	var block *strings.Builder
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case block == nil && trimmed == "```go":
			block = &strings.Builder{}
		case block != nil && trimmed == "```":
			faults = append(faults, blockFaults(root, before, block.String())...)
			before, block = "", nil
		case block != nil:
			block.WriteString(line)
		case trimmed != "":
			before = trimmed
		}
	}
	return faults
}

func blockFaults(root, source, block string) []string {
	named := goSource.FindStringSubmatch(source)
	if named == nil {
		return []string{"no comment says what this block of Go is: " + block}
	}
	want, err := goText(filepath.Join(root, filepath.FromSlash(named[2])), named[1])
	if err != nil {
		return []string{err.Error()}
	}
	if want != block {
		return []string{fmt.Sprintf("the block is not what it says to be (%s):\n%s\nwant:\n%s", source, block, want)}
	}
	return nil
}

// goText returns a file, or the body of one of its functions without its indentation.
func goText(file, function string) (string, error) {
	source, err := os.ReadFile(file)
	if err != nil || function == "" {
		return string(source), err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return "", err
	}
	for _, d := range parsed.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Name.Name == function {
			body := string(source[files.Position(f.Body.Lbrace).Offset+1 : files.Position(f.Body.Rbrace).Offset])
			return dedented(body), nil
		}
	}
	return "", fmt.Errorf("there is no function %s in %s", function, file)
}

func dedented(body string) string {
	var text strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(body, "\n")) {
		text.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return text.String()
}
