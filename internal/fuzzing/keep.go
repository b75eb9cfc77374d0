package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keep copies inputs that the fuzzer has found into testdata/fuzz: those that reach
// a statement of the repository that neither the seeds nor the files before reach,
// the smallest first. Those whose test is skipped are left out.
func keep(ctx context.Context, o options, targets []target, out io.Writer) error {
	for _, t := range targets {
		kept, err := o.keepInputs(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		_, _ = fmt.Fprintf(out, "%s\t%d files kept\n", t, kept)
	}
	return nil
}

func (o options) keepInputs(ctx context.Context, t target) (int, error) {
	corpus := filepath.Join(o.root, filepath.FromSlash(t.folder), "testdata", "fuzz", t.name)
	there, err := os.ReadDir(corpus)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	inputs, err := o.smallest(filepath.Join(o.cache, "inputs", filepath.FromSlash(t.folder), t.name))
	if err != nil || len(inputs) == 0 || len(there) >= o.most {
		return 0, err
	}
	program, err := o.build(ctx, t, "-cover", "-coverpkg="+module+"/...")
	if err != nil {
		return 0, err
	}
	reached, _, err := o.reach(ctx, t, program, "^"+t.name+"$")
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(corpus, 0o750); err != nil {
		return 0, err
	}
	kept := 0
	for _, input := range inputs {
		if len(there)+kept >= o.most {
			break
		}
		useful, err := o.try(ctx, t, program, input, corpus, reached)
		if err != nil {
			return kept, err
		}
		if useful {
			kept++
		}
	}
	if len(there)+kept == 0 {
		return 0, os.Remove(corpus)
	}
	return kept, nil
}

// try puts an input into the corpus and takes it out again when it adds nothing to
// what is reached.
func (o options) try(ctx context.Context, t target, program, input, corpus string, reached map[string]bool) (bool, error) {
	file := filepath.Join(corpus, filepath.Base(input))
	if _, err := os.Stat(file); err == nil {
		return false, nil
	}
	text, err := os.ReadFile(input) //nolint:gosec // an input of the cache
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // a file of the repository
		return false, err
	}
	more, skipped, err := o.reach(ctx, t, program, "^"+t.name+"$/^"+filepath.Base(input)+"$")
	if err != nil {
		return false, errors.Join(err, os.Remove(file))
	}
	useful := false
	for block := range more {
		if !skipped { // else it shows nothing, whatever it reaches
			useful = useful || !reached[block]
			reached[block] = true
		}
	}
	if !useful {
		return false, os.Remove(file)
	}
	return true, nil
}

// smallest lists the inputs of a folder that are small enough, the smallest first.
func (o options) smallest(folder string) ([]string, error) {
	files, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return nil, err
		}
		if info.Size() <= o.largest {
			sizes[filepath.Join(folder, f.Name())] = info.Size()
		}
	}
	names := make([]string, 0, len(sizes))
	for name := range sizes {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(sizes[a], sizes[b]), strings.Compare(a, b)) })
	const most = 500
	return names[:min(len(names), most)], nil
}

// reach runs tests and returns the blocks of statements that they reached, and whether
// any was skipped.
func (o options) reach(ctx context.Context, t target, program, pattern string) (reached map[string]bool, skipped bool, err error) {
	profile := filepath.Join(o.cache, "reach.out")
	text, _, err := o.command(ctx, filepath.Join(o.root, filepath.FromSlash(t.folder)), program,
		"-test.run="+pattern, "-test.coverprofile="+profile, "-test.v")
	if err != nil {
		return nil, false, fmt.Errorf("%w\n%s", err, text)
	}
	file, err := os.Open(profile) //nolint:gosec // the one that was just written
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = file.Close() }()
	reached = map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if block, times, found := strings.Cut(lines.Text(), " "); found && !strings.HasSuffix(times, " 0") && !strings.HasPrefix(block, "mode:") {
			reached[block] = true
		}
	}
	return reached, strings.Contains(text, "--- SKIP: "), nil
}
