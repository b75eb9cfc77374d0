package fakeprocessor

import (
	"container/heap"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// Defaults of [Options].
const (
	DefaultSecret    = "whsec_fake"
	DefaultTolerance = 5 * time.Minute
	DefaultPageURL   = "https://pay.example/"
)

// Options configures a [Processor]. The zero value has no bounds and uses the wall
// clock.
type Options struct {
	// Now is the processor's clock; nil means time.Now. It must be safe for concurrent
	// use and must not call the processor. Use the clock of couponkit.WithClock, or
	// sessions may be refused as expired.
	Now func() time.Time
	// Abilities are the abilities that the processor declares and enforces.
	Abilities processor.Abilities
	// CanMirror reports whether the processor can express a coupon. A coupon that the processor
	// cannot express gets an unsupported mirror; see [processor.Mirror]. If CanMirror is nil, the
	// processor can express every coupon.
	CanMirror func(c coupon.Coupon) bool
	// Secret signs webhook deliveries; empty means [DefaultSecret].
	Secret string
	// Tolerance is the maximum distance between a signature and the clock, included. It
	// applies to past and future. 0 means [DefaultTolerance].
	Tolerance time.Duration
	// PageURL is the beginning of a session's URL, before its ID; empty means
	// [DefaultPageURL].
	PageURL string
	// IDPrefix is inserted into the IDs of sessions, refunds, disputes, promotion codes and events, as in
	// cs_<prefix>000001. IDs of each process start at 1. Use a new prefix for each
	// process if the store keeps its data.
	IDPrefix string
	// Tax returns the tax that the processor adds to a session when the customer finishes it; see
	// [TaxByLine]. If Tax is nil, the processor adds no taxes.
	Tax func(r processor.SessionRequest) pricing.Tax
	// DelayRefunds keeps refunds pending until [Processor.FinishRefund].
	DelayRefunds bool
}

// id returns the ID of object n of a kind.
func (o *Options) id(kind string, n int) string { return fmt.Sprintf("%s_%s%06d", kind, o.IDPrefix, n) }

// Processor is a payment processor in memory. Create it with [New]. All methods are
// safe for concurrent use.
type Processor struct {
	options Options
	faults  faults

	mu       sync.Mutex // guards the fields below
	account  account
	sessions map[string]*session
	byKey    map[string]*session
	deadline deadlines
	queue    []event // oldest first
	taken    []event
	last     map[string]payload // by session: its last event
	eventSeq int

	refundSeq, disputeSeq int
}

var (
	_ processor.Processor     = (*Processor)(nil)
	_ processor.MirrorLister  = (*Processor)(nil)
	_ processor.Refunder      = (*Processor)(nil)
	_ processor.SessionFinder = (*Processor)(nil)
)

// New returns a processor without coupons and sessions.
func New(options Options) *Processor {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Secret == "" {
		options.Secret = DefaultSecret
	}
	if options.Tolerance == 0 {
		options.Tolerance = DefaultTolerance
	}
	if options.PageURL == "" {
		options.PageURL = DefaultPageURL
	}
	options.Abilities = cloneAbilities(options.Abilities)
	return &Processor{
		options:  options,
		account:  newAccount(options.id),
		sessions: map[string]*session{},
		byKey:    map[string]*session{},
		last:     map[string]payload{},
	}
}

// Abilities returns [Options].Abilities.
func (p *Processor) Abilities() processor.Abilities { return cloneAbilities(p.options.Abilities) }

func cloneAbilities(a processor.Abilities) processor.Abilities {
	a.MinimumCharge = maps.Clone(a.MinimumCharge)
	a.AmountStep = maps.Clone(a.AmountStep)
	return a
}

// lock locks the processor, and expires sessions whose time is over.
func (p *Processor) lock() (now time.Time) {
	p.mu.Lock()
	now = p.options.Now()
	for len(p.deadline) > 0 && !p.deadline[0].ExpiresAt.After(now) {
		if s, _ := heap.Pop(&p.deadline).(*session); s.Status == processor.SessionOpen {
			p.end(s, s.ExpiresAt)
		}
	}
	return now
}

// deadlines is a heap of sessions. The next session to expire is on top.
type deadlines []*session

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	if !d[i].ExpiresAt.Equal(d[j].ExpiresAt) {
		return d[i].ExpiresAt.Before(d[j].ExpiresAt)
	}
	return d[i].ID < d[j].ID
}

func (d deadlines) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

// Push implements [heap.Interface].
func (d *deadlines) Push(x any) {
	if s, ok := x.(*session); ok {
		*d = append(*d, s)
	}
}

// Pop implements [heap.Interface].
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	s := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return s
}
