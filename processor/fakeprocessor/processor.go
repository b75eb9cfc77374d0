package fakeprocessor

import (
	"container/heap"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/couponkit/couponkit/processor"
)

// Defaults of [Options].
const (
	DefaultSecret    = "whsec_fake"
	DefaultTolerance = 5 * time.Minute
	DefaultPageURL   = "https://pay.example/"
)

// Options configure a [Processor]. The zero value is a processor without bounds
// on the wall clock.
type Options struct {
	// Now is the processor's clock: sessions expire and deliveries are signed by it.
	// It is called from many goroutines and must not call the processor. Give it the
	// clock of couponkit.WithClock: a session whose end is past by this one is refused.
	// nil is time.Now.
	Now func() time.Time
	// Abilities are what the processor declares, and what it holds callers to.
	Abilities processor.Abilities
	// Secret signs webhook deliveries; empty is [DefaultSecret].
	Secret string
	// Tolerance is how far the instant of a signature may lie from the clock, in the
	// past and in the future, itself included; 0 is [DefaultTolerance].
	Tolerance time.Duration
	// PageURL is what the URL of a session begins with, its ID follows; empty is
	// [DefaultPageURL].
	PageURL string
	// IDPrefix stands in the IDs of sessions, promotion codes and events behind their
	// kind, as in cs_<prefix>000001; empty is none. A processor forgets everything
	// with its process and counts from 1 again: where a store outlives it, give every
	// process a prefix of its own, or the IDs of two runs are the same.
	IDPrefix string
}

// id returns the ID of the n-th object of a kind.
func (o *Options) id(kind string, n int) string { return fmt.Sprintf("%s_%s%06d", kind, o.IDPrefix, n) }

// Processor is a payment processor in memory. Make it with [New]. All methods may
// be called from many goroutines at once.
type Processor struct {
	options Options
	faults  faults

	mu       sync.Mutex // guards what follows
	account  account
	sessions map[string]*session
	byKey    map[string]*session
	deadline deadlines
	queue    []event // the oldest first
	taken    []event
	last     map[string]payload // the last fact by session
	eventSeq int
}

var (
	_ processor.Processor    = (*Processor)(nil)
	_ processor.MirrorLister = (*Processor)(nil)
)

// New returns a processor that knows no coupon and no session.
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

// Abilities returns the abilities of [Options].
func (p *Processor) Abilities() processor.Abilities { return cloneAbilities(p.options.Abilities) }

func cloneAbilities(a processor.Abilities) processor.Abilities {
	a.MinimumCharge = maps.Clone(a.MinimumCharge)
	a.AmountStep = maps.Clone(a.AmountStep)
	return a
}

// lock locks the processor and lets every session end whose time has come.
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

// deadlines is a heap of sessions, the one that expires first on top.
type deadlines []*session

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	if !d[i].ExpiresAt.Equal(d[j].ExpiresAt) {
		return d[i].ExpiresAt.Before(d[j].ExpiresAt)
	}
	return d[i].ID < d[j].ID
}

func (d deadlines) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

// Push is for container/heap.
func (d *deadlines) Push(x any) {
	if s, ok := x.(*session); ok {
		*d = append(*d, s)
	}
}

// Pop is for container/heap.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	s := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return s
}
