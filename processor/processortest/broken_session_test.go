package processortest_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
)

func percent(text string) pricing.Discount {
	p, _ := pricing.ParsePercent(text)
	return pricing.PercentOff(p)
}

// changed lets every answer about a session go through a function.
func changed(change func(*processor.Session)) func(*fakeprocessor.Processor, *processortest.Harness) {
	return with(func(f *fakeprocessor.Processor) wrapped {
		through := func(s processor.Session, err error) (processor.Session, error) {
			if err == nil {
				change(&s)
			}
			return s, err
		}
		return wrapped{
			create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
				return through(f.CreateSession(ctx, r))
			},
			session: func(ctx context.Context, id string) (processor.Session, error) { return through(f.Session(ctx, id)) },
			expire: func(ctx context.Context, id string) (processor.Session, error) {
				return through(f.ExpireSession(ctx, id))
			},
		}
	})
}

// asked lets every request for a session go through a function.
func asked(change func(*processor.SessionRequest)) func(*fakeprocessor.Processor, *processortest.Harness) {
	return with(func(f *fakeprocessor.Processor) wrapped {
		return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
			r.Lines = slices.Clone(r.Lines) // the suite still reads its own
			change(&r)
			return f.CreateSession(ctx, r)
		}}
	})
}

// refusing lets the error of every request for a session go through a function.
func refusing(change func(processor.SessionRequest, error) error) func(*fakeprocessor.Processor, *processortest.Harness) {
	return with(func(f *fakeprocessor.Processor) wrapped {
		return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
			s, err := f.CreateSession(ctx, r)
			if err = change(r, err); err != nil {
				return processor.Session{}, err
			}
			return s, nil
		}}
	})
}

// oneLine is a line for all that the request asks for.
func oneLine(r processor.SessionRequest) []processor.SessionLine {
	line := r.Lines[0]
	line.Quantity, line.UnitAmount = 1, r.Total
	return []processor.SessionLine{line}
}

// declaring is a fake without bounds that declares some.
func declaring(f *fakeprocessor.Processor, h *processortest.Harness) {
	declared := f.Abilities()
	free, harness := newFake(processor.Abilities{})
	*h = harness
	h.Processor = wrapped{Processor: free, abilities: &declared}
}

// strict is a fake with bounds that declares none.
func strict(_ *fakeprocessor.Processor, h *processortest.Harness) {
	bound, harness := newFake(bounded())
	*h = harness
	h.Processor = wrapped{Processor: bound, abilities: &processor.Abilities{}}
}

func brokenSessions() map[string]subject {
	return map[string]subject{
		"create is not idempotent": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var calls atomic.Int64
				asked(func(r *processor.SessionRequest) { r.Key += strconv.FormatInt(calls.Add(1), 10) })(f, h)
			},
			caught: []string{"create is idempotent by key", "lost answers of create", "many create one session"},
		},
		"create takes when the order was made for a parameter": {
			how: asked(func(r *processor.SessionRequest) {
				if !r.OrderedAt.IsZero() {
					r.Key += r.OrderedAt.String()
				}
			}),
			caught: []string{"create is idempotent by key"},
		},
		"create gives its key up after two lost answers": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				var lost sync.Map
				return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
					key := r.Key
					counted, _ := lost.LoadOrStore(key, new(atomic.Int64))
					n, _ := counted.(*atomic.Int64)
					r.Key += "-" + strconv.FormatInt(n.Load()/2, 10)
					s, err := f.CreateSession(ctx, r)
					if errors.Is(err, processor.ErrUnavailable) {
						n.Add(1)
					}
					return s, err
				}}
			}),
			caught: []string{"lost answers of create"},
		},
		"every period is discounted": {
			how: asked(func(r *processor.SessionRequest) {
				for i, l := range r.Lines {
					if off := r.FirstPeriodDiscount; l.Recurs != pricing.Once && l.Quantity == 1 && l.UnitAmount >= off {
						r.Lines[i].UnitAmount, r.FirstPeriodDiscount = l.UnitAmount-off, 0
					}
				}
			}),
			caught: []string{"renewals of a subscription"},
		},
		"every interval is a month": {
			how: asked(func(r *processor.SessionRequest) {
				for i, l := range r.Lines {
					if l.Recurs > pricing.Once && l.Recurs <= pricing.Yearly {
						r.Lines[i].Recurs = pricing.Monthly
					}
				}
			}),
			caught: []string{"renewals of a subscription"},
		},
		"create adds up with overflow": {
			how: asked(func(r *processor.SessionRequest) {
				total := -r.FirstPeriodDiscount
				for _, l := range r.Lines {
					total += l.Quantity * l.UnitAmount
				}
				if total == r.Total && total > 0 {
					r.Lines, r.FirstPeriodDiscount = oneLine(*r), 0
				}
			}),
			caught: []string{"create refuses sums that are off"},
		},
		"create mixes currencies of a key": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var first sync.Map
				asked(func(r *processor.SessionRequest) {
					used, _ := first.LoadOrStore(r.Key, *r)
					if before, _ := used.(processor.SessionRequest); before.Total == r.Total {
						*r = before
					}
				})(f, h)
			},
			caught: []string{"create with a used key and other parameters"},
		},
		"create says open of what has ended": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
					s, err := f.CreateSession(ctx, r)
					if err == nil {
						s.Status, s.PaymentStatus = processor.SessionOpen, processor.Unpaid
					}
					return s, err
				}}
			}),
			caught: []string{"create again when the session has ended unpaid", "create again when the session was paid"},
		},
		"create refuses what has ended": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
					s, err := f.CreateSession(ctx, r)
					if err == nil && s.Status == processor.SessionExpired {
						return processor.Session{}, processor.ErrRejected
					}
					return s, err
				}}
			}),
			caught: []string{"create again when the session has ended by itself", "create again when the session has ended unpaid"},
		},
		"create takes a failed payment for one on its way": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
					s, err := f.CreateSession(ctx, r)
					s.PaymentFailed = false
					return s, err
				}}
			}),
			caught: []string{"create again when the payment has failed"},
		},
		"end reaches the session in its place": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				again := processor.Session{} // in place of one that has ended
				with(func(f *fakeprocessor.Processor) wrapped {
					return wrapped{
						create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
							s, err := f.CreateSession(ctx, r)
							if err == nil && s.Status == processor.SessionExpired {
								r.Key += " again"
								again, err = f.CreateSession(ctx, r)
								return again, err
							}
							return s, err
						},
						expire: func(ctx context.Context, id string) (processor.Session, error) {
							if again.ID != "" {
								_, _ = f.ExpireSession(ctx, again.ID)
							}
							return f.ExpireSession(ctx, id)
						},
					}
				})(f, h)
			},
			caught: []string{"create again and end the first again"},
		},
		"create needs an e-mail": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
					if r.CustomerEmail == "" {
						return processor.Session{}, processor.ErrRejected
					}
					return f.CreateSession(ctx, r)
				}}
			}),
			caught: []string{"create with what is required only"},
		},
		"success URL is only declared": {
			how: with(func(*fakeprocessor.Processor) wrapped {
				return wrapped{abilities: &processor.Abilities{NeedsSuccessURL: true}}
			}),
			caught: []string{"create with what is required only"},
		},
		"success URL is needed undeclared": {
			how: func(_ *fakeprocessor.Processor, h *processortest.Harness) {
				needs, harness := newFake(processor.Abilities{NeedsSuccessURL: true})
				*h = harness
				h.Processor = wrapped{Processor: needs, abilities: &processor.Abilities{}}
			},
			caught: []string{"create with what is required only"},
		},
		"create sells a paid order again": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
					s, err := f.CreateSession(ctx, r)
					if err == nil && s.Status == processor.SessionComplete {
						r.Key += " again"
						return f.CreateSession(ctx, r)
					}
					return s, err
				}}
			}),
			caught: []string{"create again when the session was paid"},
		},
		"create ignores the key": {
			how: asked(func(r *processor.SessionRequest) {
				r.Key = "always"
			}),
			caught: []string{"create is idempotent by key"},
		},
		"create returns the first session whatever is asked": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
					s, err := f.CreateSession(ctx, r)
					if errors.Is(err, processor.ErrRejected) && len(f.Sessions()) == 1 {
						return f.Sessions()[0], nil
					}
					return s, err
				}}
			}),
			caught: []string{"create with a used key and other parameters"},
		},
		"totals are off by a cent": {
			how:    changed(func(s *processor.Session) { s.Total++ }),
			caught: []string{"create a session", "session in every currency", "session of a subscription"},
		},
		"totals are hundredths in every currency": {
			how: changed(func(s *processor.Session) {
				if s.Currency.Exponent() == 0 {
					s.Total *= 100
				}
			}),
			caught: []string{"session in every currency"},
		},
		"charges whole tens of steps": {
			bounded: true,
			how: asked(func(r *processor.SessionRequest) {
				if r.Currency.Code() != "KWD" {
					return
				}
				r.Total = -r.FirstPeriodDiscount
				for i := range r.Lines {
					r.Lines[i].UnitAmount -= r.Lines[i].UnitAmount % 100
					r.Total += r.Lines[i].UnitAmount * r.Lines[i].Quantity
				}
			}),
			caught: []string{"session in steps of the currency"},
		},
		"forgets the step of a first period": {
			bounded: true,
			how: asked(func(r *processor.SessionRequest) {
				if off := r.FirstPeriodDiscount % 10; r.Currency.Code() == "KWD" && off > 0 {
					r.FirstPeriodDiscount -= off
					r.Total += off
				}
			}),
			caught: []string{"session in steps of the currency"},
		},
		"charges the total without the lines": {
			how: asked(func(r *processor.SessionRequest) {
				if len(r.Lines) > 0 && r.Mode == processor.Payment && r.Total > 0 {
					line := r.Lines[0]
					line.Quantity, line.UnitAmount = 1, r.Total
					r.Lines = []processor.SessionLine{line}
				}
			}),
			caught: []string{"create refuses sums that are off"},
		},
		"forgets the discount of the first period": {
			how: asked(func(r *processor.SessionRequest) {
				r.Total += r.FirstPeriodDiscount
				r.FirstPeriodDiscount = 0
			}),
			caught: []string{"session of a subscription"},
		},
		"discounts again": {
			how: changed(func(s *processor.Session) {
				if s.PaymentStatus == processor.Paid {
					s.Total -= 100
				}
			}),
			caught: []string{"session is not discounted again"},
		},
		"metadata is dropped": {
			how:    asked(func(r *processor.SessionRequest) { r.Metadata = nil }),
			caught: []string{"create a session", "session keeps its metadata", "event of a payment", "event of a session that was expired"},
		},
		"metadata is shared": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{
					create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
						s, err := f.CreateSession(ctx, r)
						s.Metadata = r.Metadata
						return s, err
					},
					session: func(ctx context.Context, id string) (processor.Session, error) {
						s, err := f.Session(ctx, id)
						if err == nil {
							s.Metadata = map[string]string{"note": "changed by the caller"}
						}
						return s, err
					},
				}
			}),
			caught: []string{"session keeps its metadata"},
		},
		"metadata is cut": {
			how: changed(func(s *processor.Session) {
				for key, value := range s.Metadata {
					s.Metadata[key] = value[:min(len(value), 40)]
				}
			}),
			caught: []string{"session keeps its metadata"},
		},
		"unknown sessions are empty": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{session: func(ctx context.Context, id string) (processor.Session, error) {
					s, err := f.Session(ctx, id)
					if errors.Is(err, processor.ErrNotFound) {
						return s, nil
					}
					return s, err
				}}
			}),
			caught: []string{"session is found by its ID only"},
		},
		"end is ignored": {
			how:    asked(func(r *processor.SessionRequest) { r.ExpiresAt = r.ExpiresAt.Add(48 * time.Hour) }),
			caught: []string{"create a session", "session ends by itself", "event of a session that ended by itself"},
		},
		"expire says expired although paid": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{expire: func(ctx context.Context, id string) (processor.Session, error) {
					s, err := f.ExpireSession(ctx, id)
					if err == nil {
						s.Status, s.PaymentStatus = processor.SessionExpired, processor.Unpaid
					}
					return s, err
				}}
			}),
			caught: []string{"expire a paid session", "expire a session that waits for its payment"},
		},
		"expire refuses what has ended": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{expire: func(ctx context.Context, id string) (processor.Session, error) {
					if s, err := f.Session(ctx, id); err == nil && s.Status != processor.SessionOpen {
						return processor.Session{}, processor.ErrRejected
					}
					return f.ExpireSession(ctx, id)
				}}
			}),
			caught: []string{"expire an open session", "expire a paid session", "lost answers of expire"},
		},
		"expire only looks": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{expire: func(ctx context.Context, id string) (processor.Session, error) {
					s, err := f.Session(ctx, id)
					if err == nil && s.Status == processor.SessionOpen {
						s.Status = processor.SessionExpired
					}
					return s, err
				}}
			}),
			caught: []string{"expire an open session", "event of a session that was expired"},
		},
		"expire forgets the session": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{expire: func(ctx context.Context, id string) (processor.Session, error) {
					s, err := f.ExpireSession(ctx, id)
					return processor.Session{ID: s.ID, Status: s.Status, PaymentStatus: s.PaymentStatus}, err
				}}
			}),
			caught: []string{"expire keeps what the session is"},
		},
		"expire and payment both win": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{expire: func(ctx context.Context, id string) (processor.Session, error) {
					before, err := f.Session(ctx, id)
					if err != nil {
						return before, err
					}
					for range 5000 { // looks, is slow, and then decides on what it saw
						if now, err := f.Session(ctx, id); err != nil || now.Status != processor.SessionOpen {
							break
						}
						time.Sleep(time.Millisecond)
					}
					after, err := f.ExpireSession(ctx, id)
					if before.Status == processor.SessionOpen {
						after.Status, after.PaymentStatus = processor.SessionExpired, processor.Unpaid
					}
					return after, err
				}}
			}),
			caught: []string{"customer pays while the session is expired"},
		},
		"free lines are refused": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
					for _, l := range r.Lines {
						if l.UnitAmount == 0 {
							return processor.Session{}, processor.ErrRejected
						}
					}
					return f.CreateSession(ctx, r)
				}}
			}),
			caught: []string{"session with free lines", "create at total 0"},
		},
		"failed payments look pending": {
			how:    changed(func(s *processor.Session) { s.PaymentFailed = false }),
			caught: []string{"payment that fails"},
		},
		"bounds are only declared": {
			bounded: true, how: declaring,
			caught: []string{
				"create at total 0", "create at the minimum charge", "create off the step",
				"create with many lines", "create with two intervals", "create with a lifetime",
			},
		},
		"a total that is too small is refused as anything": {
			bounded: true, how: refusing(func(r processor.SessionRequest, err error) error {
				if errors.Is(err, processor.ErrBelowMinimum) {
					return processor.ErrRejected
				}
				return err
			}),
			caught: []string{"create at the minimum charge"},
		},
		"an address is a reason to refuse": {
			how: refusing(func(r processor.SessionRequest, err error) error {
				if strings.HasSuffix(r.CustomerEmail, "@localhost") {
					return processor.ErrRejected
				}
				return err
			}),
			caught: []string{"create with odd decoration"},
		},
		"a long name is a reason to refuse": {
			how: refusing(func(r processor.SessionRequest, err error) error {
				if len(r.Lines) > 0 && len(r.Lines[0].Name) > 250 {
					return processor.ErrRejected
				}
				return err
			}),
			caught: []string{"create with odd decoration"},
		},
		"bounds are not declared": {
			how: strict,
			caught: []string{
				"create at total 0", "create at the minimum charge", "create with many lines", "create with two intervals",
				"create with a lifetime", "session in every currency",
			},
		},
		"a plan is sold for one payment": {
			how: asked(func(r *processor.SessionRequest) {
				for i := range r.Lines {
					if r.Mode == processor.Payment {
						r.Lines[i].Recurs = pricing.Once
					}
				}
			}),
			caught: []string{"create in the mode of the lines"},
		},
		"the mode is ignored": {
			how: asked(func(r *processor.SessionRequest) {
				r.Mode = processor.Payment
				if slices.ContainsFunc(r.Lines, func(l processor.SessionLine) bool { return l.Recurs != pricing.Once }) {
					r.Mode = processor.Subscription
				}
			}),
			caught: []string{"create in the mode of the lines"},
		},
		"keys that are too long or missing are mended": {
			how: asked(func(r *processor.SessionRequest) {
				r.Key = cmp.Or(r.Key, "none")
				r.Key = r.Key[:min(len(r.Key), processor.MaxKeyLength)]
			}),
			caught: []string{"create with a key at its bounds"},
		},
		"long keys are cut": {
			how: asked(func(r *processor.SessionRequest) {
				if len(r.Key) <= processor.MaxKeyLength {
					r.Key = r.Key[:min(len(r.Key), processor.MaxKeyLength-1)]
				}
			}),
			caught: []string{"create with a key at its bounds"},
		},
		"unknown kinds are devices": {
			how: asked(func(r *processor.SessionRequest) {
				for i, l := range r.Lines {
					if l.Kind < pricing.Plan || l.Kind > pricing.Shipping {
						r.Lines[i].Kind = pricing.Device
					}
				}
			}),
			caught: []string{"create refuses what there is not"},
		},
		"unknown intervals are months": {
			how: asked(func(r *processor.SessionRequest) {
				for i, l := range r.Lines {
					if l.Recurs > pricing.Yearly {
						r.Lines[i].Recurs = pricing.Monthly
					}
				}
			}),
			caught: []string{"create refuses what there is not"},
		},
		"no currency is euros": {
			how: asked(func(r *processor.SessionRequest) {
				if r.Currency.IsZero() {
					r.Currency = pricing.EUR()
				}
			}),
			caught: []string{"create refuses what there is not"},
		},
		"a free start is refused": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
					if r.Mode == processor.Subscription && r.Total == 0 {
						return processor.Session{}, processor.ErrRejected
					}
					return f.CreateSession(ctx, r)
				}}
			}),
			caught: []string{"create at total 0"},
		},
		"a free start is charged": {
			how: asked(func(r *processor.SessionRequest) {
				if r.Mode == processor.Subscription && r.Total == 0 {
					r.Total, r.FirstPeriodDiscount = r.FirstPeriodDiscount, 0
				}
			}),
			caught: []string{"create at total 0"},
		},
		"a free start is free for good": {
			how: asked(func(r *processor.SessionRequest) {
				if r.Mode == processor.Subscription && r.Total == 0 {
					r.FirstPeriodDiscount = 0
					for i := range r.Lines {
						r.Lines[i].UnitAmount = 0
					}
				}
			}),
			caught: []string{"renewals of a subscription"},
		},
		"negative lines are dropped": {
			how: asked(func(r *processor.SessionRequest) {
				for i := range r.Lines {
					if r.Lines[i].UnitAmount < 0 || r.Lines[i].Quantity < 1 {
						r.Total -= r.Lines[i].UnitAmount * r.Lines[i].Quantity
						r.Lines[i].Quantity, r.Lines[i].UnitAmount = 1, 0
					}
				}
			}),
			caught: []string{"create refuses amounts below zero"},
		},
	}
}

// told lets every event go through a function; false drops it.
func told(change func(*processor.Event) (keep bool)) func(*fakeprocessor.Processor, *processortest.Harness) {
	return func(_ *fakeprocessor.Processor, h *processortest.Harness) {
		honest := h.Events
		h.Events = func() ([]processor.Event, error) {
			list, err := honest()
			var kept []processor.Event
			for _, e := range list {
				if change(&e) {
					kept = append(kept, e)
				}
			}
			return kept, err
		}
	}
}

func brokenEvents() map[string]subject {
	return map[string]subject{
		"completed is taken for paid": {
			how: told(func(e *processor.Event) bool {
				if e.Type == processor.Completed {
					e.PaymentStatus = processor.Paid
				}
				return true
			}),
			caught: []string{"events of a delayed payment", "events of a payment that fails", "event of a session of total 0"},
		},
		"expired is not told": {
			how:    told(func(e *processor.Event) bool { return e.Type != processor.Expired }),
			caught: []string{"event of a session that was expired", "event of a session that ended by itself"},
		},
		"delayed payments are not told": {
			how: told(func(e *processor.Event) bool {
				if e.Type == processor.PaymentSucceeded || e.Type == processor.PaymentFailed {
					e.Type = processor.Ignored
				}
				return true
			}),
			caught: []string{"events of a delayed payment", "events of a payment that fails"},
		},
		"failure is told as expiry": {
			how: told(func(e *processor.Event) bool {
				if e.Type == processor.PaymentFailed {
					e.Type = processor.Expired
				}
				return true
			}),
			caught: []string{"events of a payment that fails"},
		},
		"events lose their metadata": {
			how:    told(func(e *processor.Event) bool { e.Metadata = nil; return true }),
			caught: []string{"event of a payment", "event of a subscription"},
		},
		"events know no payer": {
			how:    told(func(e *processor.Event) bool { e.Payer = processor.Payer{}; return true }),
			caught: []string{"event of a payer"},
		},
		"events lose their session": {
			how:    told(func(e *processor.Event) bool { e.SessionID = ""; return true }),
			caught: []string{"event of a payment"},
		},
		"events charge something else": {
			how:    told(func(e *processor.Event) bool { e.Total += 333; return true }),
			caught: []string{"event of a subscription"},
		},
		"events have no instant": {
			how:    told(func(e *processor.Event) bool { e.CreatedAt = time.Time{}; return true }),
			caught: []string{"event of a payment"},
		},
		"unknown events complete": {
			how: told(func(e *processor.Event) bool {
				if e.Type == processor.Ignored {
					e.Type = processor.Completed
				}
				return true
			}),
			caught: []string{"event of something else"},
		},
		"paid sessions expire": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				honest := h.Events
				h.Events = func() ([]processor.Event, error) {
					list, err := honest()
					for _, s := range f.Sessions() {
						if !h.Now().Before(s.ExpiresAt) {
							list = append(list, processor.Event{ID: "evt", Type: processor.Expired, SessionID: s.ID, CreatedAt: s.ExpiresAt})
						}
					}
					return list, err
				}
			},
			caught: []string{"paid session does not end by itself"},
		},
	}
}
