package pgxstore

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/pricing"
)

// Defaults and bounds of [BatchOptions].
const (
	DefaultBatchWorkers = 4
	DefaultBatchSize    = 512
	MaxBatchSize        = 1_024
	DefaultBatchQueue   = 16_384
	DefaultBatchTimeout = 30 * time.Second
)

// BatchOptions bound the group commit: concurrent calls of Reserve, Settle, Transition
// and AttachSession in one process are joined, each kind by itself, into one transaction
// and one round trip. Calls that would meet others of their batch, and settlements that
// need a place of a coupon, follow in transactions of their own.
// Each caller gets an exact answer of their own, and a call that meets no other runs at
// once and alone. The limits do not depend on it: processes with and without it,
// and transactions of hosts, may all write at once. The zero value is the default.
type BatchOptions struct {
	// Off runs every call by itself.
	Off bool
	// Workers is how many batches of one kind are run at once, at most. With 3 or more, a
	// second one begins when enough calls wait, so that it is carried out while the first
	// one is being committed; reservations have no second one for a while after other
	// processes were met at their coupons. Further ones begin only when all take longer
	// than 10 ms, as when they wait for a coupon that a transaction of a host holds, and
	// are about what is in none of them: other coupons (of settlements whose metadata names
	// no coupon, other sessions), for transitions other redemptions, for attached sessions
	// other orders. With 2 or more, two calls that meet nobody else are both sent at once.
	// At most 64; 0 is [DefaultBatchWorkers], or half of the pool's connections if that is
	// less: a pool of six is enough for two batches.
	Workers int
	// MaxSize bounds a batch, at most [MaxBatchSize]; 0 is [DefaultBatchSize]. Reservations
	// whose orders are large are in smaller ones: 16 MiB of them, or a larger one alone. So it
	// is with the orders that settlements and sessions answer with, as long as PostgreSQL
	// stores them: those that would be more follow one by one.
	MaxSize int
	// MaxQueue bounds the calls of one kind that wait for a batch; others wait for a
	// place in the queue, as long as their context lives. At most 1<<24; 0 is
	// [DefaultBatchQueue].
	MaxQueue int
	// Timeout bounds one batch, whatever the contexts of its callers, at most an hour; 0 is
	// [DefaultBatchTimeout], and one call that runs alone. Callers whose batch took longer
	// get context.DeadlineExceeded, even if their own context has not ended. With Off, and for calls that no
	// batch carries out, the caller's context is the only bound.
	Timeout time.Duration
	// OnBatch, when given, hears of every transaction, also of those with one call.
	// It is called by many goroutines at once and must return quickly.
	OnBatch func(BatchReport)
}

// BatchReport tells of one transaction.
type BatchReport struct {
	// Operation is "reserve", "settle", "transition" or "attach".
	Operation string
	// Size is how many calls it had.
	Size int
	// Waited is how long the oldest of them waited for it to begin, and Took how long
	// it ran, retries included.
	Waited time.Duration
	Took   time.Duration
	// Err is what failed for some or all of its calls; business rejections do not
	// count.
	Err error
}

func (o Options) validate() error {
	var faults pricing.ValidationError
	faults.Merge("", o.Namespace.validate())
	for _, bound := range [...]struct {
		field string
		value int64
		most  int64
	}{
		{"batch.workers", int64(o.Batch.Workers), 64},
		{"batch.maxSize", int64(o.Batch.MaxSize), MaxBatchSize},
		{"batch.maxQueue", int64(o.Batch.MaxQueue), 1 << 24},
		{"batch.timeout", int64(o.Batch.Timeout), int64(time.Hour)},
	} {
		switch {
		case bound.value < 0:
			faults.Add(bound.field, pricing.FieldTooSmall, "must not be negative")
		case bound.value > bound.most:
			faults.Add(bound.field, pricing.FieldTooLarge, fmt.Sprintf("at most %d", bound.most))
		}
	}
	return faults.Err()
}

// withDefaults fills in what is not given. Half of the pool is left to other work.
func (o BatchOptions) withDefaults(pool *pgxpool.Pool) BatchOptions {
	if o.Workers == 0 {
		o.Workers = max(1, min(DefaultBatchWorkers, int(pool.Config().MaxConns)/2))
	}
	o.MaxSize = orDefault(o.MaxSize, DefaultBatchSize)
	o.MaxQueue = orDefault(o.MaxQueue, DefaultBatchQueue)
	o.Timeout = orDefault(o.Timeout, DefaultBatchTimeout)
	return o
}

func orDefault[T int | time.Duration](value, fallback T) T {
	if value == 0 {
		return fallback
	}
	return value
}
