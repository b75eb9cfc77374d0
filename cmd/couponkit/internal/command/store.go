package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/couponkit/couponkit/examples/service/server"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/sqlstore"
)

func (t *tool) storeCommands() *cobra.Command {
	return group("store", "Prepare and verify the database", "", t.storeMigrate(), t.storeVerify())
}

func (t *tool) storeMigrate() *cobra.Command {
	var dryRun bool
	c := command("migrate", "Make the tables if they are not there", `Services and tools may migrate at once. A dry run prints the statements that make new tables.`,
		0, 0, func(c *cobra.Command, _ []string) (err error) {
			if dryRun {
				return t.printSchema()
			}
			db, err := t.connect(c.Context(), true)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			if db.kind == postgresServer {
				err = pgxstore.Migrate(c.Context(), db.pool, db.pgx)
			} else {
				err = sqlstore.Migrate(c.Context(), db.db, db.dialect(), db.sql)
			}
			if err == nil {
				t.say("the tables are there")
			}
			return err
		})
	dryRunFlag(c, &dryRun)
	return c
}

var differenceColumns = []column[store.Difference]{
	{"counter", func(d store.Difference) any { return d.Counter }},
	{"number", func(d store.Difference) any { return d.Number }},
	{"counted", func(d store.Difference) any { return d.Counted }},
	{"recounted", func(d store.Difference) any { return d.Recounted }},
}

func (t *tool) storeVerify() *cobra.Command {
	return command("verify", "Recount every counter, and report differences", `It recounts the counters from orders and uses, and the codes of batches, in one consistent state. Each stored number that
the records do not confirm is a row. Exit code 1 means that there is one. Nothing is changed, and a shop may be open.`,
		0, 0, func(c *cobra.Command, _ []string) error {
			return t.withStore(c.Context(), func(s store.Store) error {
				v, able := store.As[store.Verifier](s)
				if !able {
					return errors.New("the store cannot recount")
				}
				n := 0
				err := list(t, func(yield func(store.Difference, error) bool) {
					for d, err := range v.Verify(c.Context()) {
						if n++; !yield(d, err) {
							return
						}
					}
				}, differenceColumns)
				switch {
				case err != nil:
					return err
				case n > 0:
					return fmt.Errorf("%d numbers differ", n)
				}
				t.say("every number is confirmed")
				return nil
			})
		})
}

// printSchema prints the statements without a database.
func (t *tool) printSchema() error {
	if err := t.load(); err != nil {
		return err
	}
	k, _, err := t.settings.kindOf()
	if err != nil {
		return err
	}
	var script string
	if k == postgresServer {
		script, err = pgxstore.Schema(pgxstore.Options{Schema: t.settings.Schema})
	} else {
		script, err = sqlstore.Schema((&connection{kind: k}).dialect(), sqlstore.Options{TablePrefix: t.settings.TablePrefix})
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(t.Out, strings.TrimRight(script, "\n")+"\n")
	return err
}

func (t *tool) serveCommand() *cobra.Command {
	const most = 100
	return command("serve [-- FLAGS]", "Run the reference service on the database", `What follows -- are flags of the service, such as -addr; couponkit serve -- -help shows them. The database is SQLite or
PostgreSQL.`, 0, most, func(c *cobra.Command, args []string) error {
		if err := t.load(); err != nil {
			return err
		}
		k, path, err := t.settings.kindOf()
		if err != nil {
			return err
		}
		where := t.settings.Database
		switch {
		case k == mysqlServer:
			return usagef("the reference service runs on SQLite and PostgreSQL")
		case k == sqliteFile:
			where = path
		case t.settings.Schema != "" && t.settings.Schema != pgxstore.DefaultSchema, t.settings.TablePrefix != "":
			return usagef("the reference service has the default schema and prefix")
		}
		err = server.Run(c.Context(), args, server.Program{Store: where, Getenv: t.Getenv, Out: t.Out, Logs: t.Err})
		switch {
		case isHelp(err):
			return nil
		case errors.Is(err, server.ErrUsage):
			return usageError{err}
		}
		return err
	})
}

func isHelp(err error) bool { return errors.Is(err, flag.ErrHelp) }
