package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// measureSQLite compares generating codes on SQLite with a prepared insert of as many in one transaction.
func measureSQLite(ctx context.Context, s settings) error {
	return compare(ctx, s, fmt.Sprint("store on SQLite ", s.codes),
		way{"generate", func(ctx context.Context, _ int) (time.Duration, error) {
			return onSQLite(ctx, func(db *sql.DB) error { return createOnSQLite(ctx, db, s.codes) })
		}},
		way{"prepared insert", func(ctx context.Context, round int) (time.Duration, error) {
			return onSQLite(ctx, func(db *sql.DB) error { return insertOnSQLite(ctx, db, fmt.Sprint("insert", round), s.codes) })
		}},
	)
}

func onSQLite(ctx context.Context, turn func(*sql.DB) error) (took time.Duration, err error) {
	dir, err := os.MkdirTemp("", "couponkit-campaign-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sql.Open("sqlite", filepath.Join(dir, "codes.db"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		return 0, err
	}
	began := time.Now()
	err = turn(db)
	return time.Since(began), err
}

func createOnSQLite(ctx context.Context, db *sql.DB, count int) (err error) {
	store, err := sqlstore.New(ctx, db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	service, err := couponkit.New(store)
	if err != nil {
		return err
	}
	c, err := service.Create(ctx, draft())
	if err != nil {
		return err
	}
	_, err = service.CreateCodes(ctx, c.ID, coupon.BatchDraft{Batch: coupon.Batch{ID: "batch", Shape: shape}, Count: int64(count)}, nil)
	return err
}

// insertOnSQLite inserts codes as the store does, in one transaction and with the journal mode of the store.
func insertOnSQLite(ctx context.Context, db *sql.DB, key string, count int) (err error) {
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ended(tx.Rollback())) }()
	insert, err := tx.PrepareContext(ctx, "INSERT INTO couponkit_codes ("+strings.Join(columns(), ", ")+") VALUES (?"+strings.Repeat(", ?", len(columns())-1)+")")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	at, position := time.Now().UnixMicro(), 0
	for c := range generated(key, count) {
		if _, err := insert.ExecContext(ctx, "cpn_1", c.String(), 1, "batch", position, eligibility.CodeUses("cpn_1", c.String()), 1, "", 1, nil, at, at, 1); err != nil {
			return err
		}
		position++
	}
	return tx.Commit()
}

// ended drops the error of a transaction that was committed.
func ended(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
