// Package server is the reference service as a program: its flags, its environment and its life.
package server

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
)

// ErrUsage means that a flag is unknown or invalid, or that settings contradict each other. Nothing was started.
var ErrUsage = errors.New("invalid usage")

// Program is what a program gives to the service. The zero value is a service without environment and output.
type Program struct {
	// Store is the path of an SQLite file, "memory" or a postgres:// address. With a Store, there is no flag -store.
	Store string
	// Getenv returns variables of the environment; see the README. A nil Getenv is an empty environment.
	Getenv func(string) string
	// Out gets the address of the service, Logs what it logs. A nil writer discards.
	Out, Logs io.Writer
}

// closing is the time that running requests get when the service ends, after -drain. It is longer than
// the service works on one request, and shorter than the 30 seconds of Kubernetes. A supervisor that
// waits less, such as docker stop, kills the program.
const closing = 25 * time.Second

// Run starts the service and prints its address. It stops the service when the context ends.
//
// Run returns these errors:
//
//   - flag.ErrHelp means that the arguments ask for help, which was printed to Logs.
//   - [ErrUsage] means that the arguments or the environment are invalid.
//   - Any other error means that the service could not start, failed, or did not end well.
func Run(ctx context.Context, args []string, p Program) error {
	p = p.orDefaults()
	config, err := readConfig(args, p)
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	server, err := app.Start(ctx, config)
	if err != nil {
		return err
	}
	say(p.Out, announcement(server.URL, config))
	select {
	case <-ctx.Done():
	case err = <-server.Failed():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), config.Drain+closing)
	defer cancel()
	if closeErr := server.Close(ending); err == nil {
		err = closeErr
	}
	if err == nil {
		say(p.Out, "stopped\n")
	}
	return err
}

func (p Program) orDefaults() Program {
	if p.Getenv == nil {
		p.Getenv = func(string) string { return "" }
	}
	if p.Out == nil {
		p.Out = io.Discard
	}
	if p.Logs == nil {
		p.Logs = io.Discard
	}
	return p
}

// readConfig reads flags and environment variables.
func readConfig(args []string, p Program) (app.Config, error) {
	c := app.Config{
		Store: p.Store, StripeKey: p.Getenv("STRIPE_SECRET_KEY"), StripeWebhookSecret: p.Getenv("STRIPE_WEBHOOK_SECRET"),
		StripeURL: p.Getenv("STRIPE_API_URL"),
	}
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(p.Logs)
	flags.StringVar(&c.Addr, "addr", app.DefaultAddr, "where to listen; port 0 is a free one")
	if p.Store == "" {
		flags.StringVar(&c.Store, "store", app.DefaultStore(), "an SQLite file, memory, or postgres://…")
	}
	flags.BoolVar(&c.Seed, "seed", true, "make demo users, a catalogue and coupons when the store is empty; beside Stripe or a public URL of https only when asked for")
	flags.IntVar(&c.Crowd, "crowd", 0, "how many more customers the demo has")
	flags.StringVar(&c.PublicURL, "public-url", "", "where customers reach the service; default is where it listens")
	flags.BoolVar(&c.InsecureCookies, "insecure-cookies", false, "let browsers send sign-ins over plain HTTP; for browsers that do not trust their own machine")
	flags.BoolVar(&c.Guests, "guests", false, "let customers pay a cart with an e-mail address, without signing in")
	flags.BoolVar(&c.SuggestBest, "suggest-best", false, "show customers the best coupon for their cart; shows codes")
	flags.BoolVar(&c.SuggestNearly, "suggest-nearly", false, "show customers which coupons they get by buying a little more; shows codes")
	flags.Func("time-zone", "the time zone in which dates begin and end, such as Europe/Berlin (default UTC)", func(name string) (err error) {
		if c.Location, err = time.LoadLocation(name); name == "" || name == "Local" {
			err = errors.New("needs the IANA name of a time zone")
		}
		return err
	})
	flags.BoolVar(&c.PlainRefusals, "plain-refusals", false, "tell customers why a code is not for them; by default it is refused like one that does not exist")
	flags.BoolVar(&c.BehindProxy, "behind-proxy", false, "take the client's address from X-Forwarded-For")
	flags.IntVar(&c.Limits.AttemptsPerUser.Attempts, "attempts-per-user", 0, "codes that one user may look up at once in vain; 0 is the default")
	flags.IntVar(&c.Limits.AttemptsPerAddress.Attempts, "attempts-per-address", 0, "codes that one address may look up at once in vain; 0 is the default")
	flags.IntVar(&c.Limits.CheckoutsPerUser.Attempts, "checkouts-per-user", 0, "checkouts that one user may open at once; 0 is the default")
	flags.IntVar(&c.Limits.CheckoutsPerAddress.Attempts, "checkouts-per-address", 0, "checkouts that one address may open at once; 0 is the default")
	flags.DurationVar(&c.Sweep, "sweep", app.DefaultSweep, "how often reservations that have lapsed are released")
	flags.DurationVar(&c.Reconcile, "reconcile", app.DefaultReconcile, "how often the processor's coupons are compared with the store's")
	flags.DurationVar(&c.Drain, "drain", 0, "how long requests are still taken after /readyz says that the service is about to end")
	level := slog.LevelInfo
	flags.TextVar(&level, "log", slog.LevelInfo, "the least severe level that is logged: debug, info, warn, error")
	if err := flags.Parse(args); err != nil {
		return app.Config{}, err
	}
	if flags.NArg() > 0 {
		return app.Config{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := cmp.Or(outOfRange(c), contradiction(c)); err != nil {
		return app.Config{}, err
	}
	if c.Seed && !given(flags, "seed") {
		if err := refuseDemo(c); err != nil {
			return app.Config{}, err
		}
	}
	c.Logger = slog.New(slog.NewJSONHandler(p.Logs, &slog.HandlerOptions{Level: level}))
	return c, nil
}

// outOfRange reports numbers with which the service could not work.
func outOfRange(c app.Config) error {
	const mostCustomers, mostAttempts = 100_000, 1_000_000
	for _, f := range [...]struct {
		name    string
		n, most int
	}{
		{"-crowd", c.Crowd, mostCustomers},
		{"-attempts-per-user", c.Limits.AttemptsPerUser.Attempts, mostAttempts},
		{"-attempts-per-address", c.Limits.AttemptsPerAddress.Attempts, mostAttempts},
		{"-checkouts-per-user", c.Limits.CheckoutsPerUser.Attempts, mostAttempts},
		{"-checkouts-per-address", c.Limits.CheckoutsPerAddress.Attempts, mostAttempts},
	} {
		if f.n < 0 || f.n > f.most {
			return fmt.Errorf("%s is from 0 to %d", f.name, f.most)
		}
	}
	const shortest, longestDrain = 10 * time.Millisecond, time.Hour
	switch {
	case c.Sweep < shortest || c.Reconcile < shortest:
		return fmt.Errorf("what is done again and again is done with an interval: -sweep and -reconcile are at least %v", shortest)
	case c.Drain < 0 || c.Drain > longestDrain:
		return fmt.Errorf("-drain is from 0 to %v", longestDrain)
	}
	return nil
}

// contradiction reports options that would be ignored.
func contradiction(c app.Config) error {
	switch {
	case c.Crowd > 0 && !c.Seed:
		return errors.New("a crowd is part of the demo, which -seed=false leaves out")
	case c.StripeURL != "" && c.StripeKey == "":
		return errors.New("STRIPE_API_URL needs STRIPE_SECRET_KEY: without it payments are simulated")
	}
	return unreachable(c.PublicURL)
}

// given reports whether the command line names a flag.
func given(flags *flag.FlagSet, name string) (found bool) {
	flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// refuseDemo refuses the demo data if real money or strangers may be involved, unless it was explicitly
// requested. Everybody knows the passwords of the demo.
func refuseDemo(c app.Config) error {
	const choose = ": -seed=false leaves the demo's users out, whose passwords are known, and -seed makes them all the same"
	scheme, _, _ := strings.Cut(c.PublicURL, "://")
	switch {
	case c.StripeKey != "":
		return errors.New("payments go to Stripe" + choose)
	case strings.EqualFold(scheme, "https"):
		return errors.New("the public URL is one of https" + choose)
	}
	return nil
}

// unreachable refuses a public address that browsers could not use, or that contains a password. The
// error does not repeat the address.
func unreachable(public string) error {
	if public == "" {
		return nil
	}
	u, err := url.Parse(public)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the public URL is not an address that begins with http:// or https://")
	case u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the public URL has a user, a path, a query or a fragment, which no address of a page can begin with")
	}
	return nil
}

// say prints a text. It ignores errors, because there is no other way to report them.
func say(out io.Writer, text string) { _, _ = io.WriteString(out, text) }

// announcement returns the address of the service and the users who can sign in.
func announcement(at string, c app.Config) string {
	processor := "simulated"
	if c.StripeKey != "" {
		processor = "Stripe"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "couponkit is listening on %s (store: %s, processor: %s)\n\n", at, storeName(c.Store), processor)
	fmt.Fprintf(&b, "  shop         %s/plans, /accessories, /cart\n", at)
	fmt.Fprintf(&b, "  admin panel  %s/admin/coupons\n", at)
	fmt.Fprintf(&b, "  HTTP API     %s/docs, /openapi.json\n", at)
	fmt.Fprintf(&b, "  operations   %s/healthz, /readyz, /metrics\n\n", at)
	if c.Seed {
		b.WriteString("  the demo's users, if the store was empty\n")
		for _, u := range shop.DemoUsers() {
			fmt.Fprintf(&b, "    %-20s %-15s %s, %d points\n", u.Email, u.Password, u.Role, u.Points)
		}
		if crowd := shop.DemoCrowd(c.Crowd); len(crowd) > 0 {
			first, last := crowd[0], crowd[len(crowd)-1]
			fmt.Fprintf(&b, "    %s to %s, %s\n", first.Email, last.Email, first.Password)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// storeName returns the store without passwords. A database address may have a password of the user and
// passwords in its parameters.
func storeName(store string) string {
	scheme, _, address := strings.Cut(store, "://")
	if !address {
		return store
	}
	u, err := url.Parse(store)
	if err != nil {
		return scheme
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}
