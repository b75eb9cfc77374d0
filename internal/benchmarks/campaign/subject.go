package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// shape is the shape of all generated codes.
var shape = coupon.CodeShape{Symbols: 16} //nolint:gochecknoglobals // a constant

// subject is a service on a new database, with one coupon.
type subject struct {
	*couponkit.Service

	pool   *pgxpool.Pool
	store  *pgxstore.Store
	coupon coupon.Coupon
	drop   func(context.Context) error
}

func open(ctx context.Context, server *postgrestest.Server, connections int32) (s *subject, err error) {
	dsn, drop, err := server.Database(ctx)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	s = &subject{drop: drop}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := pgxstore.Migrate(ctx, s.pool, pgxstore.Options{}); err != nil {
		return nil, err
	}
	if s.store, err = pgxstore.New(s.pool, pgxstore.Options{}); err != nil {
		return nil, err
	}
	if s.Service, err = couponkit.New(s.store); err != nil {
		return nil, err
	}
	s.coupon, err = s.Create(ctx, draft())
	return s, err
}

// draft is a coupon with a limit for the campaign.
func draft() coupon.Draft {
	return coupon.Draft{
		Code: "HOT", Name: "Hot", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "1"},
		MaxUses: coupon.Set(1 << 30), MaxUsesPerUser: coupon.Set(1),
	}
}

func (s *subject) close(ctx context.Context) error {
	err := s.store.Close()
	s.pool.Close()
	return errors.Join(err, s.drop(ctx))
}

// on runs a turn on a new database.
func on(ctx context.Context, server *postgrestest.Server, turn func(*subject) error) (took time.Duration, err error) {
	s, err := open(ctx, server, 4)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if _, err := s.pool.Exec(ctx, "CHECKPOINT"); err != nil {
		return 0, err
	}
	began := time.Now()
	err = turn(s)
	return time.Since(began), err
}

// generated yields random codes. Every key has other codes.
func generated(key string, count int) func(yield func(coupon.Code) bool) {
	g, err := codes.NewGenerator([]byte(fmt.Sprintf("%016s", key)), shape)
	if err != nil {
		panic(err) // the shape is a constant
	}
	all, err := g.Codes(0, uint64(count))
	if err != nil {
		panic(err)
	}
	return all
}

// columns are those of a code.
func columns() []string {
	return []string{
		"coupon_id", "code_key", "live", "batch", "position", "counter", "max_uses", "owner", "active", "expires_at", "created_at", "updated_at", "revision",
	}
}

// copyCodes stores codes as the store does, by COPY.
func (s *subject) copyCodes(ctx context.Context, key string, count int) error {
	at, position := time.Now().UnixMicro(), int32(-1)
	rows := rowSource{values: func(yield func([]any) bool) {
		for c := range generated(key, count) {
			position++
			if !yield([]any{
				s.coupon.ID, c.String(), true, "batch", position, eligibility.CodeUses(s.coupon.ID, c.String()), int64(1), "", true, int64(0), at, at, int64(1),
			}) {
				return
			}
		}
	}}
	n, err := s.pool.CopyFrom(ctx, []string{"couponkit", "codes"}, columns(), rows.source())
	if err == nil && n != int64(count) {
		err = fmt.Errorf("%d codes were copied", n)
	}
	return err
}

// file is a CSV file of codes that is made while it is read.
func file(key string, count int) io.Reader {
	in, out := io.Pipe()
	go func() {
		_, err := io.WriteString(out, "code,maxUses\n")
		buffer := make([]byte, 0, 64<<10)
		for c := range generated(key, count) {
			buffer = append(append(buffer, c.String()...), ",1\n"...)
			if len(buffer) > 60<<10 && err == nil {
				_, err = out.Write(buffer)
				buffer = buffer[:0]
			}
		}
		_, last := out.Write(buffer)
		_ = out.CloseWithError(errors.Join(err, last))
	}()
	return in
}

// imports imports a file.
func (s *subject) imports(ctx context.Context, key string, count int) error {
	rows, err := codecsv.NewReader(file(key, count), codecsv.Options{})
	if err != nil {
		return err
	}
	added := 0
	for row, err := range s.ImportCodes(ctx, s.coupon.ID, "batch", rows.Rows()) {
		if err != nil {
			return err
		}
		if row.Verdict == codecsv.Added {
			added++
		}
	}
	if added != count {
		return fmt.Errorf("%d codes were added", added)
	}
	return nil
}

// creates generates a batch.
func (s *subject) creates(ctx context.Context, count int) error {
	b, err := s.CreateCodes(ctx, s.coupon.ID, coupon.BatchDraft{Batch: coupon.Batch{ID: "batch", Shape: shape}, Count: int64(count)}, nil)
	if err == nil && b.Added != int64(count) {
		err = fmt.Errorf("%d codes were added", b.Added)
	}
	return err
}

// some returns codes of the batch.
func (s *subject) some(ctx context.Context, count int) (keys []string, err error) {
	for c, err := range s.Codes(ctx, store.CodeList{CouponID: s.coupon.ID, Batch: "batch", PageSize: coupon.MaxCodes}) {
		if err != nil || len(keys) == count {
			return keys, err
		}
		keys = append(keys, c.Code.String())
	}
	return keys, nil
}
