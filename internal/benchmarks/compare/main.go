// Command compare runs the benchmarks that set this repository's pricing and rules
// beside what a team would use instead, records the results, and says by benchstat's
// tables and against the goals what came out.
//
//	go run ./compare                     # measure, record in results, tell
//	go run ./compare -only quote -rounds 10
//	go run ./compare -recorded           # tell what is recorded, measure nothing
//
// Each round runs every benchmark once, so that a disturbance of the machine does not
// fall on one of them alone. The exit status is 1 when a goal is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

var errMissed = errors.New("goals are missed")

func main() {
	var o options
	only := flag.String("only", "", "which suites, with commas: "+strings.Join(names(suites()), ", ")+"; empty is all")
	flag.StringVar(&o.folder, "results", "results", "the folder of the recorded results")
	flag.IntVar(&o.rounds, "rounds", 6, "how often each benchmark runs")
	flag.StringVar(&o.benchtime, "benchtime", "100ms", "how long each run of a benchmark takes")
	flag.BoolVar(&o.recorded, "recorded", false, "measure nothing, tell what is recorded")
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}
