package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// run gives slices to the target with the least time, until all have the goal.
// A target with a finding, and one that does not build, sits out.
func run(ctx context.Context, o options, targets []target, out io.Writer) error {
	sitting := map[string]bool{}
	for ctx.Err() == nil {
		entries, err := readLog(o.root)
		if err != nil {
			return err
		}
		next, left := choose(targets, totals(entries), sitting, int64(o.goal.Seconds()))
		if !left {
			break
		}
		result, err := o.fuzz(ctx, next, out)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil || result.findings > 0 {
			sitting[next.String()] = true
		}
		if err != nil {
			_, _ = fmt.Fprintf(out, "%s\t%v\n", next, err)
			continue
		}
		_, _ = fmt.Fprintf(out, "%s\t%d s\t%d executions\t%d new\t%d findings\n", next, result.seconds, result.executions, result.interesting, result.findings)
		if err := record(o.root, next, time.Now(), result); err != nil {
			return err
		}
	}
	if len(sitting) > 0 {
		return fmt.Errorf("%d targets sat out after a finding or a failure", len(sitting))
	}
	return nil
}

// choose returns the first of the targets that have had the least time.
func choose(targets []target, sums map[string]counts, out map[string]bool, goal int64) (least target, left bool) {
	for _, t := range targets {
		seconds := sums[t.String()].seconds
		if out[t.String()] || seconds >= goal {
			continue
		}
		if !left || seconds < sums[least.String()].seconds {
			least, left = t, true
		}
	}
	return least, left
}

// instrumented lets the fuzzer see which code of the repository an input reaches.
// The -fuzz flag of go test would do that for all packages that are linked; with an
// SDK of a processor among them, that is a thousand times slower.
const instrumented = "-gcflags=" + module + "/...=-d=libfuzzer"

const module = "github.com/couponkit/couponkit"

// unshortened inputs that reach new code are kept nearly as they are. Making them shorter
// is what Go spends its time on otherwise, a minute for each: a target that reads long
// inputs hardly ever tried a new one. A finding is a little longer for it.
const unshortened = "-test.fuzzminimizetime=10x"

// fuzz runs one slice. One that is interrupted counts for what it was.
func (o options) fuzz(ctx context.Context, t target, out io.Writer) (counts, error) {
	program, err := o.build(ctx, t, instrumented)
	if err != nil {
		return counts{}, err
	}
	inputs := filepath.Join(o.cache, "inputs", filepath.FromSlash(t.folder))
	if err := os.MkdirAll(inputs, 0o700); err != nil {
		return counts{}, err
	}
	folder := filepath.Join(o.root, filepath.FromSlash(t.folder))
	text, busy, err := o.command(ctx, folder, program,
		"-test.run=^$", "-test.fuzz=^"+t.name+"$", "-test.fuzztime="+o.slice.String(), "-test.fuzzcachedir="+inputs,
		"-test.parallel="+strconv.Itoa(o.workers), unshortened)
	result := readReport(text)
	result.seconds = min(result.seconds, int64(busy.Seconds()))
	if input, hung := hangOf(text); hung {
		if result.findings, err = o.again(ctx, folder, program, t, input); err != nil {
			return counts{}, err
		}
	}
	if result.findings > 0 {
		_, _ = fmt.Fprintln(out, text)
	}
	switch {
	case err == nil, result.findings > 0, ctx.Err() != nil:
		return result, nil
	case strings.Contains(text, "context deadline exceeded"):
		return result, nil // go test reports the end of its own time now and then
	}
	return counts{}, fmt.Errorf("%w\n%s", err, text)
}

var hang = regexp.MustCompile(`hung or terminated unexpectedly(?s:.*)Failing input written to testdata/fuzz/(\S+)`)

// hangOf returns the input of a fuzzer that was ended in the middle of one. Go does
// so after ten seconds by the clock, also when the fuzzer was stopped meanwhile or had
// no processor.
func hangOf(text string) (input string, hung bool) {
	found := hang.FindStringSubmatch(text)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// again runs an input alone, a few times. Only one that fails again is a finding; the
// others are removed.
func (o options) again(ctx context.Context, folder, program string, t target, input string) (findings int64, err error) {
	_, _, err = o.command(ctx, folder, program, "-test.run=^"+t.name+"$/^"+filepath.Base(input)+"$", "-test.count=5", "-test.timeout=10m")
	switch {
	case err == nil:
		return 0, os.Remove(filepath.Join(folder, "testdata", "fuzz", filepath.FromSlash(input))) //nolint:gosec // a file that the fuzzer has made
	case ctx.Err() != nil:
		return 0, fmt.Errorf("interrupted, %s is to be looked at: %w", input, ctx.Err())
	}
	return 1, nil
}

var (
	progress = regexp.MustCompile(`fuzz: elapsed: ([0-9hms]+), execs: ([0-9]+) .*new interesting: ([0-9]+)`)
	finding  = regexp.MustCompile(`Failing input written to |failure while testing seed corpus entry`)
)

// readReport reads what the fuzzer tells.
func readReport(text string) counts {
	var c counts
	for _, found := range progress.FindAllStringSubmatch(text, -1) {
		elapsed, err := time.ParseDuration(found[1])
		if err != nil {
			continue
		}
		c.seconds = int64(elapsed.Seconds())
		c.executions, _ = strconv.ParseInt(found[2], 10, 64)  // digits
		c.interesting, _ = strconv.ParseInt(found[3], 10, 64) // digits
	}
	if finding.MatchString(text) {
		c.findings = 1
	}
	return c
}

// build compiles the tests of a target's package. A package that does not compile
// at the moment is run as it was when it last did.
func (o options) build(ctx context.Context, t target, flags ...string) (string, error) {
	name := t.folder + strings.Join(flags, "")
	program := filepath.Join(o.cache, "programs", strings.NewReplacer("/", "_", "=", "", ".", "").Replace(name)+".test")
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		return "", err
	}
	args := append([]string{"test", "-c", "-o", program}, flags...)
	text, _, err := o.command(ctx, filepath.Join(o.root, filepath.FromSlash(t.folder)), "go", append(args, ".")...)
	if err == nil {
		return program, nil
	}
	if _, missing := os.Stat(program); missing == nil {
		return program, nil
	}
	return "", fmt.Errorf("does not build: %w\n%s", err, text)
}

// command runs a program in a folder and returns what it printed, and how long it
// and its children had a processor. Once the context ends it is told to stop, as by a
// terminal.
func (o options) command(ctx context.Context, folder, program string, args ...string) (string, time.Duration, error) {
	words := append(append(strings.Fields(o.prefix), program), args...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // words of the one who calls
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOMAXPROCS="+strconv.Itoa(o.workers))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	var busy time.Duration
	if cmd.ProcessState != nil {
		busy = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return text.String(), busy, err
}
