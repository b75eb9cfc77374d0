package record

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// between parts the values of one key.
const between = " | "

// Measured is what a program has to record.
type Measured struct {
	// Package is the import path of what was measured.
	Package string
	// Extra are further configuration lines, as for [Header].
	Extra []string
	// Unit describes the unit that is compared: "requests/s better=higher".
	Unit string
	// Lines are the results, each with a line end.
	Lines string
}

// Save writes results with their [Header] to a file, in place of what is there.
func Save(ctx context.Context, file string, m Measured) error {
	return write(ctx, file, "", m)
}

// Add writes results below those that the file has, so that a record can be made in
// pieces; without the file it is [Save]. The file keeps one header, which names for
// each key all values that it ever had: "commit: 1a2b3c4 | 5d6e7f8".
func Add(ctx context.Context, file string, m Measured) error {
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return write(ctx, file, string(before), m)
}

func write(ctx context.Context, file, before string, m Measured) error {
	var now bytes.Buffer
	if err := Header(ctx, &now, m.Package, m.Extra...); err != nil {
		return err
	}
	head, results := split(before)
	newest, _ := split(now.String())
	for _, line := range newest {
		head = merge(head, line)
	}
	var out strings.Builder
	for _, line := range head {
		out.WriteString(line + "\n")
	}
	if !strings.HasPrefix(results, "Unit ") {
		results = "Unit " + m.Unit + "\n" + results
	}
	out.WriteString(results + m.Lines)
	return os.WriteFile(file, []byte(out.String()), 0o644)
}

// split parts the configuration lines at the head from the rest.
func split(text string) (head []string, rest string) {
	for {
		line, after, found := strings.Cut(text, "\n")
		if !found || strings.HasPrefix(line, "Unit ") || strings.HasPrefix(line, "Benchmark") {
			return head, text
		}
		head, text = append(head, line), after
	}
}

// merge adds a configuration line to others, or its value to the line of its key. The
// package stays last.
func merge(head []string, line string) []string {
	key, value, _ := strings.Cut(line, ": ")
	for i, known := range head {
		if !strings.HasPrefix(known, key+": ") {
			continue
		}
		if values := strings.Split(strings.TrimPrefix(known, key+": "), between); !slices.Contains(values, value) {
			head[i] += between + value
		}
		return head
	}
	if n := len(head); n > 0 && strings.HasPrefix(head[n-1], "pkg: ") {
		return slices.Insert(head, n-1, line)
	}
	return append(head, line)
}
