// Command service is couponkit's reference service: the specification's HTTP
// interface, admin panel and checkout pages, on an SQLite file and a simulated
// payment processor unless told otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/couponkit/couponkit/examples/service/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	err := server.Run(ctx, os.Args[1:], server.Program{Getenv: os.Getenv, Out: os.Stdout, Logs: os.Stderr})
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}
