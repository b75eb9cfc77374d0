package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the program answers into testdata/vectors, to be reviewed by hand")

// leastVectors guards against a folder that was emptied by mistake.
const leastVectors = 80

// vector is a document and its answer, which were calculated by hand from the
// clause of the contract that it names.
type vector struct {
	Name     string          `json:"name"`
	Clause   string          `json:"clause"`
	Input    json.RawMessage `json:"input"`
	Expected json.RawMessage `json:"expected"`
}

// noon is the instant of documents that name none.
func noon() time.Time { return time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC) }

func TestVectors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "vectors", "*.json"))
	require.NoError(t, err)
	seen := 0
	for _, file := range files {
		vectors := readVectors(t, file)
		seen += len(vectors)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			for i := range vectors {
				checkVector(t, &vectors[i])
			}
			if *update {
				require.NoError(t, os.WriteFile(file, formatVectors(t, vectors), 0o600))
			}
		})
	}
	require.GreaterOrEqual(t, seen, leastVectors)
}

// checkVector compares byte by byte: the order of fields and the places of
// amounts are part of the answer.
func checkVector(t *testing.T, v *vector) {
	t.Helper()
	out, diagnostics, status := runOn(string(v.Input))
	if status != statusDone {
		t.Errorf("%s: status %d: %s", v.Name, status, diagnostics)
		return
	}
	if *update {
		v.Expected = json.RawMessage(strings.TrimSuffix(out, "\n"))
	}
	if diff := cmp.Diff(string(v.Expected)+"\n", out); diff != "" {
		t.Errorf("%s (contract section %s) (-want +got):\n%s", v.Name, v.Clause, diff)
	}
}

// TestAnswersDoNotDependOnEachOther sends all vectors in one stream, forwards and
// backwards: nothing of a document may be left when the next is answered.
func TestAnswersDoNotDependOnEachOther(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "vectors", "*.json"))
	require.NoError(t, err)
	var all []vector
	for _, file := range files {
		all = append(all, readVectors(t, file)...)
	}
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	for _, vectors := range [][]vector{all, backwards} {
		var input, want strings.Builder
		for _, v := range vectors {
			input.Write(v.Input)
			want.WriteString(string(v.Expected) + "\n")
		}
		out, diagnostics, status := runOn(input.String())
		if diff := cmp.Diff(want.String(), out); diff != "" || status != statusDone {
			t.Errorf("status %d, %s (-want +got):\n%s", status, diagnostics, diff)
		}
	}
}

func readVectors(t *testing.T, file string) []vector {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var vectors []vector
	require.NoError(t, dec.Decode(&vectors), file)
	for _, v := range vectors {
		require.NotEmpty(t, v.Name, file)
		require.NotEmpty(t, v.Clause, "%s: %s", file, v.Name)
	}
	return vectors
}

// formatVectors gives the document and the answer a line each, so that a
// changed answer is a changed line.
func formatVectors(t *testing.T, vectors []vector) []byte {
	t.Helper()
	var b bytes.Buffer
	field := func(before, name string, value any) {
		b.WriteString(before + `"` + name + `":`)
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(value))
		b.Truncate(b.Len() - 1) // the line break
	}
	b.WriteString("[\n")
	for i, v := range vectors {
		field("{", "name", v.Name)
		field(",", "clause", v.Clause)
		field(",\n ", "input", v.Input)
		field(",\n ", "expected", v.Expected)
		b.WriteString([...]string{"},\n", "}\n"}[(i+1)/len(vectors)])
	}
	b.WriteString("]\n")
	return b.Bytes()
}

// runOn runs the program on one input.
func runOn(input string) (out, diagnostics string, status int) {
	var stdout, stderr bytes.Buffer
	status = run(strings.NewReader(input), &stdout, &stderr, noon)
	return stdout.String(), stderr.String(), status
}
