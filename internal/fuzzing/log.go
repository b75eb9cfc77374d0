package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const logFile = "internal/fuzzing/log.tsv"

const logHead = "# date\tfolder\ttarget\tseconds\texecutions\tnew interesting\tfindings\n"

// entry is what a target did on one day.
type entry struct {
	date           string
	folder, target string
	counts
}

// counts are what a slice, a day or all days have come to.
type counts struct {
	seconds     int64 // of fuzzing, as the fuzzer counts them
	executions  int64
	interesting int64 // inputs that reached something new
	findings    int64
}

func (c *counts) add(more counts) {
	c.seconds += more.seconds
	c.executions += more.executions
	c.interesting += more.interesting
	c.findings += more.findings
}

func readLog(root string) ([]entry, error) {
	text, err := os.ReadFile(filepath.Join(root, logFile)) //nolint:gosec // the log of this repository
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []entry
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		e, err := readEntry(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func readEntry(line string) (entry, error) {
	const columns = 7
	parts := strings.Split(line, "\t")
	if len(parts) != columns {
		return entry{}, fmt.Errorf("log line %q has %d columns", line, len(parts))
	}
	var numbers [4]int64
	for i, text := range parts[3:] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return entry{}, fmt.Errorf("log line %q: %w", line, err)
		}
		numbers[i] = n
	}
	return entry{parts[0], parts[1], parts[2], counts{numbers[0], numbers[1], numbers[2], numbers[3]}}, nil
}

// record adds a slice to the day's line of its target.
func record(root string, t target, at time.Time, c counts) error {
	entries, err := readLog(root)
	if err != nil {
		return err
	}
	today := at.UTC().Format(time.DateOnly)
	found := false
	for i := range entries {
		if e := &entries[i]; e.date == today && e.folder == t.folder && e.target == t.name {
			e.add(c)
			found = true
		}
	}
	if !found {
		entries = append(entries, entry{today, t.folder, t.name, c})
	}
	var text strings.Builder
	text.WriteString(logHead)
	for _, e := range entries {
		fmt.Fprintf(&text, "%s\t%s\t%s\t%d\t%d\t%d\t%d\n", e.date, e.folder, e.target, e.seconds, e.executions, e.interesting, e.findings)
	}
	return replace(filepath.Join(root, logFile), text.String())
}

// replace writes a file as a whole or not at all.
func replace(name, text string) error {
	next := name + ".new"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	if err := os.Chmod(next, 0o644); err != nil { //nolint:gosec // a file of the repository
		return err
	}
	return os.Rename(next, name)
}

// totals sums the log by target.
func totals(entries []entry) map[string]counts {
	sums := map[string]counts{}
	for _, e := range entries {
		sum := sums[e.folder+" "+e.target]
		sum.add(e.counts)
		sums[e.folder+" "+e.target] = sum
	}
	return sums
}
