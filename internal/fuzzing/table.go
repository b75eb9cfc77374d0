package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const tableFile = "docs/fuzzing.md"

const tableHead = `# Fuzzing

Every parser of outside input has a fuzz target, and every target knows a wrong
answer when it sees one: what it reads comes back as it was written, a slow reader
agrees, or the sums are right. CI runs each for 20,000 inputs (` + "`.ci/run fuzz`" + `). The
time below was gathered in slices with

    go run ./internal/fuzzing run -goal 1h

on one worker, often beside other work, so that the executions are no measure of
speed. The time is that of a processor, where the clock has gone further. The goal is an
hour for each target; the table says how far it is. It is written by
` + "`go run ./internal/fuzzing table`" + ` from ` + "`internal/fuzzing/log.tsv`" + `.

What was run before 22 November 2026, 20:45, an hour and 41 minutes in all, does not count
any more: Go spends up to a minute on making each input that reaches new code shorter, and
spent most of that time so. Ten attempts have to do now. In twelve seconds ` + "`FuzzDraftJSON`" + `
has 123 new inputs where it had one, and ` + "`FuzzEvaluate`" + ` runs 5,000 times a second instead
of 25 times.

A run on another machine begins with the inputs that were kept and finds others again:
they are counted as new once more.

An input that was a finding stays in ` + "`testdata/fuzz`" + ` of its package, beside inputs
that reach what the seeds do not.

| package | target | what it reads, and what it holds the answer to | time | executions | new inputs | findings |
|---|---|---|---:|---:|---:|---:|
`

func writeTable(root string, targets []target) error {
	text, err := table(root, targets)
	if err != nil {
		return err
	}
	return replace(filepath.Join(root, filepath.FromSlash(tableFile)), text)
}

// table is the document that the log makes.
func table(root string, targets []target) (string, error) {
	entries, err := readLog(root)
	if err != nil {
		return "", err
	}
	sums := totals(entries)
	var text strings.Builder
	text.WriteString(tableHead)
	var all counts
	for _, t := range targets {
		sum := sums[t.String()]
		all.add(sum)
		fmt.Fprintf(&text, "| %s | `%s` | %s | %s | %s | %d | %d |\n",
			t.folder, t.name, t.reads, clock(sum.seconds), grouped(sum.executions), sum.interesting, sum.findings)
	}
	fmt.Fprintf(&text, "| | %d targets | | %s | %s | %d | %d |\n", len(targets), clock(all.seconds), grouped(all.executions), all.interesting, all.findings)
	notes, err := os.ReadFile(filepath.Join(root, "internal", "fuzzing", "findings.md")) //nolint:gosec // of this repository
	if err != nil {
		return "", err
	}
	text.WriteString("\n")
	text.Write(notes)
	return text.String(), nil
}

// clock writes seconds as a person would.
func clock(seconds int64) string { return (time.Duration(seconds) * time.Second).String() }

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
