package pgxstore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/validation"
)

// SchemaVersion is the version of the schema that this package reads and writes.
const SchemaVersion = 1

//go:embed schema.sql
var schemaSQL string

// migrationLock is the advisory lock of [Migrate]: "couponki" in ASCII.
const migrationLock = 0x636f75706f6e6b69

// ErrVersion is matched by the error of [Migrate] for a schema of another version.
var ErrVersion = errors.New("the schema has another version")

// Schema returns the script that makes schema and tables, for a tool of the host. It is
// meant for an empty schema and one transaction. Options that do not validate are a
// [*validation.Error].
func Schema(options Options) (string, error) {
	if err := options.validate(); err != nil {
		return "", err
	}
	schema := pgx.Identifier{options.schema()}.Sanitize()
	return "CREATE SCHEMA IF NOT EXISTS " + schema + ";\n\n" + options.expand(schemaSQL), nil
}

// Beginner begins transactions: a pool or a connection of pgx.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Migrate makes the schema if it is not there. Any number of processes may call it at every
// start. It works in one transaction that waits at most ten seconds for each lock.
//
// A schema of another version is [ErrVersion]. Tables of couponkit's names that it has not
// made are an error of PostgreSQL, and nothing is done.
func Migrate(ctx context.Context, db Beginner, options Options) error {
	if db == nil {
		return validation.New("db", validation.Required, "is required")
	}
	script, err := Schema(options)
	if err != nil {
		return err
	}
	return Retry(ctx, func() error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error { return migrate(ctx, tx, options, script) })
	})
}

func migrate(ctx context.Context, tx pgx.Tx, options Options, script string) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = '10s'; SELECT pg_advisory_xact_lock(%d)", migrationLock),
		pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	version, err := versionOf(ctx, tx, options)
	switch {
	case err != nil:
		return fmt.Errorf("read the version of the schema: %w", err)
	case version == SchemaVersion:
		return nil
	case version != 0:
		return fmt.Errorf("%w: schema %s has version %d, this package needs %d", ErrVersion, options.schema(), version, SchemaVersion)
	}
	if _, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	return nil
}

// versionOf returns the version of the schema, or 0 if there is none.
func versionOf(ctx context.Context, tx pgx.Tx, options Options) (version int, err error) {
	var there bool
	table := pgx.Identifier{options.schema(), "version"}.Sanitize()
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.QueryExecModeExec, table).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+table, pgx.QueryExecModeExec).Scan(&version)
	if code := codeOf(err); strings.HasPrefix(code, "42") && code != insufficientPrivilege { // the table belongs to the host
		return 0, fmt.Errorf("%w: %s is not couponkit's: %s", ErrVersion, table, err.Error())
	}
	return version, err
}
