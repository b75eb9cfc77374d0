// Command couponkit administers coupons, codes and orders in the database of a shop. Run it with --help, or read
// docs/command.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/couponkit/couponkit/cmd/couponkit/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	os.Exit(command.Run(ctx, os.Args[1:], command.Environment{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}))
}
