// Package command has the commands of the tool couponkit. [Run] is the whole tool.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/couponkit/couponkit/validation"
)

// These constants are the exit codes of the tool.
const (
	OK      = 0 // the command did what it was told to
	Failed  = 1 // the command failed; what it did before stays done, and repeating it is safe
	Usage   = 2 // the command line or a setting is invalid, and nothing was done
	Refused = 3 // some rows of the input were refused, and the others were processed
)

// Environment is what the program gives to its commands. All fields but Terminal are required.
type Environment struct {
	In io.Reader
	// Out gets data alone, Err gets words.
	Out, Err io.Writer
	// Getenv returns a variable of the environment.
	Getenv func(string) string
	Now    func() time.Time
	// Terminal tells that a person reads Err, who is shown the progress of long work.
	Terminal bool
}

// Run runs one command line, without the name of the program, and returns its exit code. When the context ends, the
// command stops after the work that is under way.
func Run(ctx context.Context, args []string, env Environment) int {
	t := &tool{Environment: env}
	root := t.root()
	root.SetArgs(append([]string{}, args...)) // nil would be the arguments of the process
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	if err := refuseSecrets(args); err != nil {
		return t.report(err)
	}
	return t.report(root.ExecuteContext(ctx))
}

// tool is one run of the program.
type tool struct {
	Environment

	configFile string
	format     format

	settings settings
	secrets  []string // never printed
}

// usageError is an error of the person who has typed the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(form string, args ...any) error { return usageError{fmt.Errorf(form, args...)} }

// refusedError counts the rows of an input that were refused.
type refusedError struct{ rows int64 }

func (r refusedError) Error() string {
	if r.rows == 1 {
		return "1 row was refused"
	}
	return fmt.Sprintf("%d rows were refused", r.rows)
}

// report prints an error and returns the exit code.
func (t *tool) report(err error) int {
	var usage usageError
	var refused refusedError
	switch {
	case err == nil:
		return OK
	case errors.Is(err, syscall.EPIPE):
		return Failed // the reader of the data has gone, as head does
	case errors.As(err, &usage):
		t.say("couponkit: %v", err)
		t.say("couponkit --help shows the commands")
		return Usage
	case errors.As(err, &refused):
		t.say("couponkit: %v", err)
		return Refused
	}
	t.fail(err)
	return Failed
}

// fail prints an error, every invalid field on a line of its own.
func (t *tool) fail(err error) {
	var invalid *validation.Error
	switch {
	case errors.As(err, &invalid):
		for _, f := range invalid.Fields {
			t.say("couponkit: %s (%s)", strings.TrimPrefix(f.Path+": "+f.Message, ": "), f.Code)
		}
	case errors.Is(err, context.Canceled):
		t.say("couponkit: interrupted")
	default:
		t.say("couponkit: %v", err)
		if advice := advice(err); advice != "" {
			t.say("%s", advice)
		}
	}
}

// root makes the commands.
func (t *tool) root() *cobra.Command {
	root := group("couponkit", "Administer coupons, codes and orders", `couponkit administers coupons, codes and orders in the database of a shop.

The database is a URL in the variable COUPONKIT_DATABASE, or in a file:
  postgres://user@host/database
  mysql://user@host/database
  sqlite:///var/lib/shop.db, or the path of the file

--config or COUPONKIT_CONFIG names the file. Nobody but its owner may read it. It has JSON such as
  {"database": "postgres://…", "timeZone": "Europe/Berlin"}

Data goes to standard output, words go to standard error.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some rows were refused.`,
		t.couponCommands(), t.codeCommands(), t.orderCommands(), t.explainCommand(), t.storeCommands(),
		t.replayCommand(), t.sweepCommand(), t.reconcileCommand(), t.journalCommands(), t.serveCommand())
	root.Version = version()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentFlags().StringVar(&t.configFile, "config", "", "file with the settings (default $COUPONKIT_CONFIG)")
	root.PersistentFlags().VarP(&t.format, "output", "o", "table, json (one object a line) or csv")
	complete(root, "output", string(tableFormat), string(jsonFormat), string(csvFormat))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.SetVersionTemplate("{{.Version}}\n")
	return root
}

// group makes a command that has commands and does nothing itself.
func group(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short, Long: long,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usagef("unknown command %q of %q", args[0], c.CommandPath())
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return usagef("%q needs a command; %s --help shows them", c.CommandPath(), c.CommandPath())
		},
	}
	c.AddCommand(commands...)
	return c
}

// command makes a command that takes between least and most arguments.
func command(use, short, long string, least, most int, run func(c *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < least || len(args) > most {
				return usagef("wrong number of arguments; usage: %s", c.UseLine())
			}
			return nil
		},
		RunE:              run,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

// require marks flags without which a command does not run.
func require(c *cobra.Command, flags ...string) *cobra.Command {
	before := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		for _, name := range flags {
			if !c.Flags().Changed(name) {
				return usagef("--%s is required; usage: %s", name, c.UseLine())
			}
		}
		return before(c, args)
	}
	return c
}

// complete tells shells the values of a flag.
func complete(c *cobra.Command, flag string, values ...string) {
	// An error would mean that the flag does not exist.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// version is that of the module from which the program was built.
func version() string {
	if info, known := debug.ReadBuildInfo(); known && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
