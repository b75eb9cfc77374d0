package pgxstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

func (s *statements) attempts() {
	s.lockAttempts = s.name("lock attempts", `SELECT a.bucket, a.full_at FROM unnest((SELECT $1::text[])) AS w (bucket)
		CROSS JOIN LATERAL (SELECT * FROM {attempts} a WHERE a.bucket = w.bucket FOR UPDATE) a`)
	s.insertAttempts = s.name("insert attempts", guarded(`INSERT INTO {attempts} (bucket, full_at)
		SELECT * FROM unnest($1::text[], $2::bigint[])`))
	s.updateAttempts = s.name("update attempts", `UPDATE {attempts} a SET full_at = w.full_at
		FROM unnest($1::text[], $2::bigint[]) AS w (bucket, full_at) WHERE a.bucket = w.bucket`)
	// A plan may run IN (SELECT … LIMIT …) once for each row, and then delete more. An array is made once.
	s.forgetAttempts = s.name("forget attempts", fmt.Sprintf(`DELETE FROM {attempts} WHERE full_at <= $1
		AND bucket = ANY (ARRAY(SELECT bucket FROM {attempts} WHERE full_at <= $1 LIMIT %d FOR UPDATE SKIP LOCKED))`, store.MaxForgotten))
}

// LoadAttempts implements [engine.AttemptTx] in one round trip.
func (t *tx) LoadAttempts(ctx context.Context, keys []string) (map[string]time.Time, error) {
	found, b := make(map[string]time.Time, len(keys)), new(pgx.Batch)
	queue(b, func(row pgx.Rows) error {
		var key string
		var fullAt int64
		err := row.Scan(&key, &fullAt)
		found[key] = instant(fullAt)
		return err
	}, t.sql.lockAttempts, keys)
	return found, t.send(ctx, b, false)
}

// withoutDisk lets a transaction commit before it is on the disk. Everybody behind one address waits for the lock of a bucket,
// which would otherwise be held while the disk writes.
const withoutDisk = "SET LOCAL synchronous_commit TO off"

// SaveAttempts implements [engine.AttemptTx] in one round trip, which also commits.
func (t *tx) SaveAttempts(ctx context.Context, writes []engine.BucketWrite) error {
	b := new(pgx.Batch)
	if t.own {
		b.Queue(withoutDisk)
	}
	for _, statement := range [...]struct {
		text  string
		added bool
	}{{t.sql.updateAttempts, false}, {t.sql.insertAttempts, true}} {
		var keys []string
		var fullAt []int64
		for _, w := range writes {
			if w.New == statement.added {
				keys, fullAt = append(keys, w.Key), append(fullAt, micros(w.FullAt))
			}
		}
		if len(keys) > 0 {
			b.Queue(statement.text, keys, fullAt)
		}
	}
	return t.send(ctx, b, true)
}

// SaveAttempts implements [store.Attempts] in two round trips. Concurrent calls share a transaction. If the server
// crashes, attempts of the last second may be forgotten, unless the transaction is the host's.
func (s *Store) SaveAttempts(ctx context.Context, c store.AttemptChange) (time.Time, error) {
	c = c.Normalize()
	if err := c.Validate(); err != nil {
		return time.Time{}, err
	}
	if err := s.ready(ctx); err != nil {
		return time.Time{}, err
	}
	if s.host != nil {
		return engine.Only(s.attemptAll(ctx, []store.AttemptChange{c}))
	}
	return s.shared.attempts.do(ctx, c, c.Buckets[0].Key)
}

// attemptAll decides the changes in one transaction.
func (s *Store) attemptAll(ctx context.Context, changes []store.AttemptChange) (answers []engine.Answer[time.Time], err error) {
	err = s.transact(ctx, func(t *tx) (err error) {
		answers, err = engine.SaveAttempts(ctx, t, changes...)
		return err
	})
	return answers, wrap("save attempts", err)
}

// ForgetAttempts implements [store.Attempts].
func (s *Store) ForgetAttempts(ctx context.Context, at time.Time) (forgotten int, err error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	err = s.transact(ctx, func(t *tx) error {
		b := new(pgx.Batch)
		b.Queue(t.sql.forgetAttempts, micros(at)).Exec(func(done pgconn.CommandTag) error {
			forgotten = int(done.RowsAffected())
			return nil
		})
		return t.send(ctx, b, true)
	})
	return forgotten, wrap("forget attempts", err)
}
