package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

const (
	lockAttempts   = `SELECT bucket, full_at FROM {attempts}{by_id} WHERE bucket IN ({in}) ORDER BY bucket{for_update}`
	insertAttempts = `{insert} {attempts} (bucket, full_at) VALUES {rows}`
	updateAttempts = `{update} {attempts} SET full_at = ? WHERE bucket = ?`
	forgetAttempts = `DELETE FROM {attempts} WHERE {forgotten}`
)

// LoadAttempts implements [engine.AttemptTx].
func (s *session) LoadAttempts(ctx context.Context, keys []string) (map[string]time.Time, error) {
	found := make(map[string]time.Time, len(keys))
	err := s.eachIn(ctx, lockAttempts, 1, anys(keys), func(rows *sql.Rows) error {
		var key string
		var fullAt int64
		err := rows.Scan(&key, &fullAt)
		found[key] = time.UnixMicro(fullAt).UTC()
		return err
	})
	return found, err
}

// SaveAttempts implements [engine.AttemptTx].
func (s *session) SaveAttempts(ctx context.Context, writes []engine.BucketWrite) error {
	var added [][]any
	for _, w := range writes {
		if w.New {
			added = append(added, []any{w.Key, w.FullAt.UnixMicro()})
			continue
		}
		if err := s.exec(ctx, updateAttempts, w.FullAt.UnixMicro(), w.Key); err != nil {
			return fmt.Errorf("update attempts: %w", err)
		}
	}
	return s.insert(ctx, insertAttempts, added)
}

// SaveAttempts implements [store.Attempts].
func (s *Store) SaveAttempts(ctx context.Context, c store.AttemptChange) (time.Time, error) {
	c = c.Normalize()
	if err := c.Validate(); err != nil {
		return time.Time{}, err
	}
	var retryAt time.Time
	err := s.write(ctx, "save attempts", &request{other: func(ctx context.Context, t *session) (err error) {
		retryAt, err = engine.Only(engine.SaveAttempts(ctx, t, c))
		return err
	}})
	return answered(retryAt, err)
}

// ForgetAttempts implements [store.Attempts].
func (s *Store) ForgetAttempts(ctx context.Context, at time.Time) (int, error) {
	var forgotten int64
	err := s.write(ctx, "forget attempts", &request{other: func(ctx context.Context, t *session) error {
		t.changed = 0
		err := t.exec(ctx, forgetAttempts, at.UnixMicro())
		forgotten = t.changed
		return err
	}})
	return answered(int(forgotten), err)
}
