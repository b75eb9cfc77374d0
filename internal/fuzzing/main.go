package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fuzzing:", err)
		os.Exit(1)
	}
}

// options are the flags of all commands.
type options struct {
	root    string
	cache   string
	goal    time.Duration
	slice   time.Duration
	workers int
	prefix  string
	only    string
	most    int
	largest int64
}

func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say run, keep or table")
	}
	o, err := readOptions(args, out)
	if err != nil {
		return err
	}
	all, err := readTargets(filepath.Join(o.root, targetsFile))
	if err != nil {
		return err
	}
	chosen := matching(all, o.only)
	switch args[0] {
	case "run":
		return run(ctx, o, chosen, out)
	case "keep":
		return keep(ctx, o, chosen, out)
	case "table":
		return printTable(out, o.root, all)
	}
	return fmt.Errorf("there is no command %q: say run, keep or table", args[0])
}

func readOptions(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.root, "root", ".", "root of the repository")
	flags.StringVar(&o.cache, "cache", "", "where inputs and programs are kept between runs; default: a folder in the user's cache")
	flags.DurationVar(&o.goal, "goal", time.Hour, "run: time that every target gets, earlier runs included")
	flags.DurationVar(&o.slice, "slice", time.Minute, "run: time of a target before it is the next one's turn")
	flags.IntVar(&o.workers, "workers", 1, "run: processes that fuzz at the same time")
	flags.StringVar(&o.prefix, "exec", "", `run: words before every program that is run, such as "nice -n 19"`)
	flags.StringVar(&o.only, "only", "", "only targets that hold one of these texts, with commas between them")
	flags.IntVar(&o.most, "most", 8, "keep: files that a target gets at most")
	flags.Int64Var(&o.largest, "largest", 1<<10, "keep: bytes of a file at most")
	if err := flags.Parse(args[1:]); err != nil {
		return options{}, err
	}
	if o.cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return options{}, err
		}
		o.cache = filepath.Join(base, "couponkit-fuzzing")
	}
	root, err := filepath.Abs(o.root)
	o.root = root
	return o, err
}

// matching returns the targets that hold one of the texts, in the order of the list.
func matching(all []target, texts string) []target {
	var some []target
	for _, t := range all {
		holds := func(text string) bool { return strings.Contains(t.String(), text) }
		if slices.ContainsFunc(strings.Split(texts, ","), holds) {
			some = append(some, t)
		}
	}
	return some
}
