package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// newSample makes a repository with a package and one of its targets in the list. A
// marker lets some of the targets do something once.
func newSample(t *testing.T, name string) (options, []target) {
	t.Helper()
	o := options{root: t.TempDir(), cache: t.TempDir(), goal: time.Second, slice: 2 * time.Second, workers: 1, most: 2, largest: 100}
	for file, text := range map[string]string{
		"go.mod":                       "module " + module + "\n\ngo 1.26.0\n",
		"sample/sample_test.go":        text(t, "sample_test.go.txt"),
		"sample/sample.go":             text(t, "sample.go.txt"),
		"internal/fuzzing/targets.txt": "sample\t" + name + "\tanything\n",
	} {
		file = filepath.Join(o.root, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	targets, err := readTargets(filepath.Join(o.root, targetsFile))
	require.NoError(t, err)
	return o, targets
}

func text(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	return string(text)
}

// corpus lists the inputs of a target in the repository.
func corpus(t *testing.T, o options, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(o.root, "sample", "testdata", "fuzz", name, "*"))
	require.NoError(t, err)
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}

// learn puts inputs, by the names of their files, where the fuzzer keeps what it has found.
func learn(t *testing.T, o options, name string, inputs map[string]string) {
	t.Helper()
	learnt := filepath.Join(o.cache, "inputs", "sample", name)
	require.NoError(t, os.MkdirAll(learnt, 0o750))
	for file, text := range inputs {
		text = "go test fuzz v1\nstring(\"" + text + "\")\n"
		require.NoError(t, os.WriteFile(filepath.Join(learnt, file), []byte(text), 0o600))
	}
}

// logged is the sum of a target's slices.
func logged(t *testing.T, o options, name string) counts {
	t.Helper()
	entries, err := readLog(o.root)
	require.NoError(t, err)
	return totals(entries)["sample "+name]
}

// TestRunUntilTheGoal: slices follow until the target has had its time.
func TestRunUntilTheGoal(t *testing.T) {
	t.Parallel()
	o, targets := newSample(t, "FuzzSound")
	require.NoError(t, run(t.Context(), o, targets, t.Output()))
	sum := logged(t, o, "FuzzSound")
	if sum.seconds < 1 || sum.executions == 0 || sum.findings != 0 {
		t.Errorf("%+v", sum)
	}
}

// TestAFinding: it stays as an input, is told with what the fuzzer said, and the
// target is not run again.
func TestAFinding(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"FuzzWrong", "FuzzEndsAlways"} {
		o, targets := newSample(t, name)
		var out bytes.Buffer
		require.ErrorContains(t, run(t.Context(), o, targets, &out), "1 targets sat out")
		if sum := logged(t, o, name); sum.findings != 1 {
			t.Errorf("%s: %+v", name, sum)
		}
		if files := corpus(t, o, name); len(files) != 1 || !strings.Contains(out.String(), files[0]) {
			t.Errorf("%s: the inputs %q, told:\n%s", name, files, out.String())
		}
	}
}

// TestAHangThatWasNone: a fuzzer that is ended in the middle of an input blames the
// input; one that passes alone is no finding, and is gone.
func TestAHangThatWasNone(t *testing.T) {
	t.Parallel()
	o, targets := newSample(t, "FuzzEndsOnce")
	require.NoError(t, run(t.Context(), o, targets, t.Output()))
	require.FileExists(t, filepath.Join(o.root, "sample", "marker"), "the fuzzer has not ended in the middle")
	if sum := logged(t, o, "FuzzEndsOnce"); sum.findings != 0 {
		t.Errorf("%+v", sum)
	}
	require.Empty(t, corpus(t, o, "FuzzEndsOnce"))
}

// TestAnInterruptedRun ends soon, without an error, and loses nothing of the slice.
func TestAnInterruptedRun(t *testing.T) {
	t.Parallel()
	o, targets := newSample(t, "FuzzMarks")
	o.slice = time.Hour
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		var first time.Time
		for ctx.Err() == nil {
			// Executions are told every tenth of a second: the target has to go on for some.
			if marker, err := os.Stat(filepath.Join(o.root, "sample", "marker")); err == nil {
				if first.IsZero() {
					first = marker.ModTime()
				}
				if marker.ModTime().Sub(first) > time.Second {
					interrupt()
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	require.NoError(t, run(ctx, o, targets, t.Output()))
	if sum := logged(t, o, "FuzzMarks"); sum.executions == 0 || sum.findings != 0 {
		t.Errorf("%+v", sum)
	}
}

// TestAPackageThatDoesNotBuild sits out, and nothing is said to have run.
func TestAPackageThatDoesNotBuild(t *testing.T) {
	t.Parallel()
	o, targets := newSample(t, "FuzzSound")
	require.NoError(t, os.WriteFile(filepath.Join(o.root, "sample", "sample.go"), []byte("no package\n"), 0o600))
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), o, targets, &out), "1 targets sat out")
	require.Contains(t, out.String(), "does not build")
	require.NoFileExists(t, filepath.Join(o.root, filepath.FromSlash(logFile)))
}

// TestKeep takes what reaches something new, the smallest first: not what the seed or
// an input before reaches, not what is too large, and no more than the most.
func TestKeep(t *testing.T) {
	t.Parallel()
	o, targets := newSample(t, "FuzzSound")
	inputs := map[string]string{
		"1seed":    "a2",
		"2new":     "b",
		"3again":   "b34",
		"4large":   "c" + strings.Repeat("x", 200),
		"5another": "c2345",
	}
	learn(t, o, "FuzzSound", inputs)
	require.NoError(t, keep(t.Context(), o, targets, t.Output()))
	if diff := cmp.Diff([]string{"2new", "5another"}, corpus(t, o, "FuzzSound")); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	o.most = 3
	require.NoError(t, keep(t.Context(), o, targets, t.Output()))
	require.Len(t, corpus(t, o, "FuzzSound"), 2, "a second time finds nothing new")
}

// TestKeepTakesNoMoreThanTheMost: what is there counts.
func TestKeepTakesNoMoreThanTheMost(t *testing.T) {
	t.Parallel()
	o, targets := newSample(t, "FuzzSound")
	o.most = 1
	learn(t, o, "FuzzSound", map[string]string{"b": "b", "c1": "c1"})
	require.NoError(t, keep(t.Context(), o, targets, t.Output()))
	require.Equal(t, []string{"b"}, corpus(t, o, "FuzzSound"))
}

// TestKeepLeavesOutWhatIsSkipped: it would be a test that shows nothing.
func TestKeepLeavesOutWhatIsSkipped(t *testing.T) {
	t.Parallel()
	o, targets := newSample(t, "FuzzSkips")
	learn(t, o, "FuzzSkips", map[string]string{"b": "b", "c1": "c1"})
	require.NoError(t, keep(t.Context(), o, targets, t.Output()))
	require.Equal(t, []string{"c1"}, corpus(t, o, "FuzzSkips"))
}

// TestKeepOfAnInputThatFails tells it, and leaves nothing behind.
func TestKeepOfAnInputThatFails(t *testing.T) {
	t.Parallel()
	o, targets := newSample(t, "FuzzWrong")
	learn(t, o, "FuzzWrong", map[string]string{"b": "b"})
	require.ErrorContains(t, keep(t.Context(), o, targets, t.Output()), "FuzzWrong/b")
	require.Empty(t, corpus(t, o, "FuzzWrong"))
}
