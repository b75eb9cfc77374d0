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

// budgets are the most words of a document, as wc -w counts them. A document without a line
// has ordinaryBudget.
var budgets = map[string]int{
	"README.md":        1_000,
	"SECURITY.md":      1_200,
	"CHANGELOG.md":     400,
	"docs/contract.md": 3_500,
}

const (
	ordinaryBudget  = 1_500
	cellBudget      = 25
	paragraphBudget = 80
)

var (
	fence     = regexp.MustCompile("^ *```")
	listItem  = regexp.MustCompile(`^ *([-*]|\d+\.) `)
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	masculine = regexp.MustCompile(`(?i)\b(he|him|his|himself)\b`)
	goSource  = regexp.MustCompile(`^<!-- The code below is (?:(\w+) in )?(\S+\.go)\. -->$`)
)

// TestDocumentsKeepTheirBudgets: documents stay short enough to be read, their links lead
// somewhere, and people in them are "they".
func TestDocumentsKeepTheirBudgets(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	found := texts(t, root, ".md")
	for name := range budgets {
		require.Contains(t, found, name)
	}
	for name, text := range found {
		for _, fault := range slices.Concat(wordFaults(name, text), linkFaults(root, name, text)) {
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

// TestDocumentChecksNotice plants each kind of fault.
func TestDocumentChecksNotice(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	words := func(n int) string { return strings.Repeat("word ", n) }
	for _, sound := range []string{
		words(paragraphBudget) + "\n\n" + words(paragraphBudget),
		"- " + words(paragraphBudget-1) + "\n- " + words(paragraphBudget-1),
		"| " + words(cellBudget) + "|" + words(cellBudget) + "|",
		"```\nhis" + words(2*paragraphBudget) + "\n```",
	} {
		require.Empty(t, wordFaults("docs/a.md", sound))
	}
	for name, broken := range map[string]string{
		"a long paragraph": words(50) + "\n" + words(31),
		"a long item":      "1. " + words(paragraphBudget),
		"a long cell":      "| a | " + words(cellBudget+1) + "|",
		"a long document":  strings.Repeat(words(60)+"\n\n", 26),
		"a masculine word": "The customer and His cart.",
	} {
		require.NotEmpty(t, wordFaults("docs/a.md", broken), name)
	}
	require.Empty(t, linkFaults(root, "docs/a.md", "[a](../README.md#quickstart) [b](contract.md) [c](https://example.org)"))
	require.NotEmpty(t, linkFaults(root, "docs/a.md", "[a](../LEERME.md)"))
	require.NotEmpty(t, linkFaults(root, "docs/a.md", "[a](../README.md#no-such-heading)"))
	require.NotEmpty(t, linkFaults(root, "docs/a.md", "![a](no.png)"))
	const tag = "<!-- The code below is display in internal/architecture/floors_test.go. -->\n"
	body := "```go\nif pkg == \".\" {\n\treturn \"the root package\"\n}\nreturn pkg\n```\n"
	require.Empty(t, goFaults(root, tag+body))
	require.NotEmpty(t, goFaults(root, body), "a block without a source")
	require.NotEmpty(t, goFaults(root, tag+strings.Replace(body, "root", "first", 1)), "another text")
	require.NotEmpty(t, goFaults(root, strings.Replace(tag, "display", "displays", 1)+body), "no such function")
}

// documents returns the texts of all documents by their names.
// TestPeopleInTheSourceAreThey: whoever the source speaks of, in comments or in texts, is "they".
func TestPeopleInTheSourceAreThey(t *testing.T) {
	t.Parallel()
	const here = "internal/architecture/documents_test.go"
	found := texts(t, filepath.Join("..", ".."), ".go", ".sql", ".sh", ".lua", ".js", ".css", ".html", ".yaml", ".yml")
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

// wordFaults finds what is too long, and people who are not "they".
func wordFaults(name, text string) (faults []string) {
	budget, listed := budgets[name]
	if !listed {
		budget = ordinaryBudget
	}
	if n := len(strings.Fields(text)); n > budget {
		faults = append(faults, fmt.Sprintf("%d words, at most %d", n, budget))
	}
	prose := withoutCode(text)
	for line := range strings.Lines(prose) {
		if found := masculine.FindString(line); found != "" {
			faults = append(faults, fmt.Sprintf("%q in: %s", found, strings.TrimSpace(line)))
		}
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for cell := range strings.SplitSeq(line, "|") {
			if n := len(strings.Fields(cell)); n > cellBudget {
				faults = append(faults, fmt.Sprintf("a cell of %d words, at most %d: %s", n, cellBudget, strings.TrimSpace(cell)))
			}
		}
	}
	for _, p := range paragraphs(prose) {
		if n := len(strings.Fields(p)); n > paragraphBudget {
			faults = append(faults, fmt.Sprintf("a paragraph of %d words, at most %d: %.60s", n, paragraphBudget, p))
		}
	}
	return faults
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

// paragraphs returns the paragraphs and the items of lists, without tables and headings.
func paragraphs(prose string) (all []string) {
	current := ""
	end := func() {
		if current != "" {
			all = append(all, current)
		}
		current = ""
	}
	for line := range strings.Lines(prose) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") {
			end()
			continue
		}
		if listItem.MatchString(line) {
			end()
		}
		current += line
	}
	end()
	return all
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
