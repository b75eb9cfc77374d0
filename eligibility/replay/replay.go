package replay

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// These constants are defaults and inclusive upper bounds of [Options].
const (
	// DefaultMaxCoupons is the value of Options.MaxCoupons if it is 0.
	DefaultMaxCoupons = offers.DefaultMaxCoupons
	// DefaultMaxCounters is the value of Options.MaxCounters if it is 0. A counter takes about 200 bytes.
	DefaultMaxCounters = 10_000_000
	// MaxWorkers is the maximum number of workers.
	MaxWorkers = 1_024
)

// These errors end a replay.
var (
	// ErrTooManyCounters means that the carts need more counters than [Options].MaxCounters.
	ErrTooManyCounters = errors.New("replay: the limits need too many counters")
	// ErrOverflow means that a sum of money exceeds 64 bits.
	ErrOverflow = errors.New("replay: a sum of money is too large")
)

// Event is a recorded cart.
type Event struct {
	// At is when the customer bought the cart. It is required. No event may be before an earlier one.
	At time.Time
	// Cart has the list prices.
	Cart     pricing.Cart
	Customer eligibility.Customer
	// Facts are what was known about the purchase. A coupon whose condition needs another fact is refused.
	Facts eligibility.Facts
	// Paid is what the customer has paid, in the currency of the cart. The zero Paid means that it is unknown;
	// the cart is then compared with its list prices.
	Paid pricing.Money
}

// Options restrict a replay. The zero Options are the defaults.
type Options struct {
	// MaxCoupons is the maximum number of coupons of a cart, from 1 to [pricing.MaxCoupons].
	MaxCoupons int
	// MaxNodes bounds the search for a cart; see [offers.SetOptions]. Report.Unproved counts the carts for
	// which the search ended there.
	MaxNodes int
	// Workers is the number of goroutines that search, usually runtime.GOMAXPROCS(0). 0 means 1.
	Workers int
	// MaxCounters bounds the memory.
	MaxCounters int
	// Keep tells that a customer keeps what they had, unless the coupons make the cart cheaper than what was
	// paid. Otherwise the coupons replace what the customer had.
	Keep bool
	// Refused is called for every item that was refused, in the order of the items. The number of the first
	// item is 1. The error is that of read, or a [*validation.Error].
	Refused func(item int64, err error)
	// Progress is called after each round, with the number of items so far.
	Progress func(items int64)
}

// Run replays recorded carts. Each item is a cart, which read decodes. An item that read refuses is left out,
// and so are an invalid event and an event that is before an earlier one. Of several coupons with the same ID,
// the last one counts, and coupons that are not active are left out. The coupons must be valid. A nil sequence is empty.
//
// Several goroutines call read at the same time. Run reads the items and calls the functions of the options in
// the goroutine of its caller. It ends its goroutines before it returns. If read panics, Run panics with the same
// value in the goroutine of its caller, also after its goroutines have ended. If read ends its goroutine, Run
// returns an error.
//
// Run returns these errors, and a report of carts before them:
//
//   - the error of an item;
//   - a [*validation.Error] for invalid options or a nil read, and in the cases of [offers.New];
//   - [ErrTooManyCounters] and [ErrOverflow].
func Run[T any](items iter.Seq2[T, error], read func(T) (Event, error), coupons iter.Seq[*coupon.Coupon], o Options) (Report, error) {
	var faults validation.Error
	if read == nil {
		faults.Add("read", validation.Required, "is required")
	}
	faults.Merge("", o.normalize())
	if err := faults.Err(); err != nil {
		return Report{}, err
	}
	c, err := newContest(coupons, o)
	if err != nil {
		return Report{}, err
	}
	e := newEngine(c, read)
	defer e.stop()
	if items == nil {
		items = func(func(T, error) bool) {}
	}
	for item, err := range items {
		if err != nil {
			return e.finish(err)
		}
		if err := e.add(item); err != nil {
			return e.finish(err)
		}
	}
	return e.finish(nil)
}

func (o *Options) normalize() error {
	var faults validation.Error
	bound := func(field string, n *int, absent, most int) {
		if *n == 0 {
			*n = absent
		}
		switch {
		case *n < 0:
			faults.Add(field, validation.TooSmall, "must not be negative")
		case *n > most:
			faults.Add(field, validation.TooLarge, fmt.Sprintf("must be at most %d", most))
		}
	}
	const most = 1 << 30
	bound("maxCoupons", &o.MaxCoupons, DefaultMaxCoupons, pricing.MaxCoupons)
	bound("maxNodes", &o.MaxNodes, offers.DefaultMaxNodes, most)
	bound("workers", &o.Workers, 1, MaxWorkers)
	bound("maxCounters", &o.MaxCounters, DefaultMaxCounters, most)
	return faults.Err()
}

func (e *Event) validate() error {
	var faults validation.Error
	if e.At.IsZero() {
		faults.Add("at", validation.Required, "is required")
	}
	faults.Merge("customer", e.Customer.Validate())
	faults.Merge("facts", e.Facts.Validate())
	switch in := e.Paid.Currency(); {
	case in.IsZero():
	case in != e.Cart.Currency:
		faults.Add("paid", validation.Mismatch, "must be in the currency of the cart")
	case e.Paid.Minor() < 0:
		faults.Add("paid", validation.TooSmall, "must not be negative")
	}
	return faults.Err()
}
