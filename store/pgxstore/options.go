package pgxstore

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/validation"
)

// DefaultSchema is the PostgreSQL schema of the tables unless [Options] name another.
const DefaultSchema = "couponkit"

// Options of a [Store]. The zero value is the default.
//
// How statements are sent is a setting of the pool. Behind a proxy that pools transactions,
// set its DefaultQueryExecMode to pgx.QueryExecModeExec, unless the proxy knows prepared
// statements.
type Options struct {
	// Schema is the PostgreSQL schema of the tables; empty is [DefaultSchema]. It has at most
	// 63 bytes, and neither NUL nor $.
	Schema string
	// Batch bounds the group commit.
	Batch BatchOptions
}

// Defaults and bounds of [BatchOptions].
const (
	DefaultBatchWorkers = 4
	DefaultBatchSize    = 512
	MaxBatchSize        = 1_024
	DefaultBatchQueue   = 16_384
	DefaultBatchTimeout = 30 * time.Second
)

// BatchOptions bound the group commit. Concurrent calls of Reserve in one process are joined
// into one transaction, and so are concurrent calls of Apply, and of SaveAttempts. No timer
// delays a call: one that finds no transaction under way begins at once.
type BatchOptions struct {
	// Workers is how many batches of one kind are under way at most, from 1 to 64. 0 is
	// [DefaultBatchWorkers], or half of the pool's connections if that is less. More than two
	// are only begun while all others have waited for long.
	Workers int
	// MaxSize is the most calls of a batch, at most [MaxBatchSize]; 0 is [DefaultBatchSize].
	MaxSize int
	// MaxQueue is how many calls of one kind wait at most, up to 1<<24; 0 is
	// [DefaultBatchQueue]. Further calls wait for room until their contexts end.
	MaxQueue int
	// Timeout bounds a batch, at most one hour; 0 is [DefaultBatchTimeout].
	Timeout time.Duration
	// OnBatch, when given, hears of every batch. Many goroutines call it at once.
	OnBatch func(BatchReport)
}

// BatchReport tells of one batch.
type BatchReport struct {
	// Operation is "reserve", "apply" or "attempts".
	Operation string
	// Size is how many calls the batch had.
	Size int
	// Took is how long it ran, with repetitions.
	Took time.Duration
	// Err is what failed for some or all of the calls. Business rejections do not count.
	Err error
}

func (o Options) validate() error {
	var faults validation.Error
	switch {
	case len(o.Schema) > 63: // PostgreSQL truncates longer names
		faults.Add("schema", validation.TooLong, "at most 63 bytes")
	case !utf8.ValidString(o.Schema) || strings.ContainsAny(o.Schema, "\x00$"):
		faults.Add("schema", validation.Malformed, "must be valid UTF-8 text without NUL and $")
	}
	for _, bound := range [...]struct {
		field       string
		value, most int64
	}{
		{"batch.workers", int64(o.Batch.Workers), 64},
		{"batch.maxSize", int64(o.Batch.MaxSize), MaxBatchSize},
		{"batch.maxQueue", int64(o.Batch.MaxQueue), 1 << 24},
		{"batch.timeout", int64(o.Batch.Timeout), int64(time.Hour)},
	} {
		switch {
		case bound.value < 0:
			faults.Add(bound.field, validation.TooSmall, "must be at least 0")
		case bound.value > bound.most:
			faults.Add(bound.field, validation.TooLarge, fmt.Sprintf("at most %d", bound.most))
		}
	}
	return faults.Err()
}

func (o BatchOptions) withDefaults(pool *pgxpool.Pool) BatchOptions {
	if o.Workers == 0 {
		o.Workers = max(1, min(DefaultBatchWorkers, int(pool.Config().MaxConns)/2))
	}
	o.MaxSize = cmp.Or(o.MaxSize, DefaultBatchSize)
	o.MaxQueue = cmp.Or(o.MaxQueue, DefaultBatchQueue)
	o.Timeout = cmp.Or(o.Timeout, DefaultBatchTimeout)
	return o
}

func (o Options) schema() string { return cmp.Or(o.Schema, DefaultSchema) }

var namePattern = regexp.MustCompile(`\{([a-z_]+)\}`)

// expand adds the quoted schema to the names of tables: {orders} becomes "couponkit"."orders".
func (o Options) expand(statement string) string {
	return namePattern.ReplaceAllStringFunc(statement, func(found string) string {
		return pgx.Identifier{o.schema(), strings.Trim(found, "{}")}.Sanitize()
	})
}
