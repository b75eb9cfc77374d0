package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// buildAt builds the service of another commit from the history of the repository.
func buildAt(ctx context.Context, dir, commit string) (string, error) {
	tree := filepath.Join(dir, "tree")
	script := `set -e; mkdir "$1"; git -C "$(git rev-parse --show-toplevel)" archive "$2" | tar -x -C "$1"`
	if output, err := exec.CommandContext(ctx, "sh", "-c", script, "sh", tree, commit).CombinedOutput(); err != nil {
		return "", fmt.Errorf("read commit %s: %w\n%s", commit, err, output)
	}
	return buildIn(ctx, tree, filepath.Join(dir, "before"))
}

// beside measures the service of another commit and this one by turns, on servers and files of
// their own, and prints the medians of the rounds and their ratio.
func (b *bench) beside(ctx context.Context, out io.Writer) error {
	b.note("building the service of %s", b.besides)
	before, err := buildAt(ctx, b.dir, b.besides)
	if err != nil {
		return err
	}
	for _, store := range b.stores {
		var rounds [2][]report
		for range b.rounds {
			for i, program := range []string{before, b.service} {
				r, err := b.turn(ctx, store, program)
				if err != nil {
					return fmt.Errorf("%s: %w", store, err)
				}
				rounds[i] = append(rounds[i], r)
			}
		}
		if _, err := io.WriteString(out, compared(b, store, rounds)); err != nil {
			return err
		}
	}
	return nil
}

// turn measures a program once, in a folder that is removed again.
func (b *bench) turn(ctx context.Context, store, program string) (r report, err error) {
	turn := *b
	if turn.dir, err = os.MkdirTemp(b.dir, "turn-"); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(turn.dir)) }()
	turn.foreign, turn.service = program != b.service, program
	if err := turn.writeScripts(); err != nil {
		return r, err
	}
	return turn.measure(ctx, store)
}

// compared is a table of medians: checkouts a second of the commit, of this tree, and the ratio.
func compared(b *bench, store string, rounds [2][]report) string {
	var text strings.Builder
	fmt.Fprintf(&text, "### %s: checkouts a second, medians of %d rounds\n\n| connections | %s | now | ratio |\n|---:|---:|---:|---:|\n",
		store, b.rounds, b.besides)
	for i, connections := range b.connections {
		var medians [2]float64
		for way, reports := range rounds {
			rates := make([]float64, 0, len(reports))
			for _, r := range reports {
				rates = append(rates, r.cells[i].checkout.rate())
			}
			slices.Sort(rates)
			medians[way] = rates[len(rates)/2]
		}
		fmt.Fprintf(&text, "| %d | %.0f | %.0f | %.2f |\n", connections, medians[0], medians[1], medians[1]/medians[0])
	}
	text.WriteString("\n")
	return text.String()
}
