package couponkit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestREADMEShowsTheExample: the quickstart in README is the code of Example, which
// compiles and runs.
func TestREADMEShowsTheExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(source), "func Example() {\n")
	require.True(t, found, "example_test.go has no Example")
	code, _, found = strings.Cut(code, "\t// Output:")
	require.True(t, found, "Example has no output")
	var want strings.Builder
	for line := range strings.Lines(code) {
		want.WriteString(strings.TrimPrefix(line, "\t"))
	}
	_, got, found := strings.Cut(string(readme), "```go\n")
	require.True(t, found, "README has no Go code")
	got, _, _ = strings.Cut(got, "```")
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("README's quickstart is not Example (-example +readme):\n%s", diff)
	}
}
