package processortest_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
)

// memory is what a process knows of the sessions that it was answered with.
type memory struct {
	mu       sync.Mutex
	answered map[string]answered // by the request's key
}

type answered struct{ id, request string }

func newMemory() *memory { return &memory{answered: map[string]answered{}} }

// create asks for a session under somebody's own key, unless the memory has the answer.
func (m *memory) create(
	ctx context.Context, f *fakeprocessor.Processor, r processor.SessionRequest, own string,
) (processor.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	parameters := r
	parameters.OrderedAt = time.Time{}
	text, err := json.Marshal(parameters)
	if err != nil {
		return processor.Session{}, processor.ErrRejected
	}
	if known, ok := m.answered[r.Key]; ok && known.request != string(text) {
		return processor.Session{}, processor.ErrRejected
	} else if ok {
		return f.Session(ctx, known.id)
	}
	key := r.Key
	r.Key = ownKey(key, own)
	s, err := f.CreateSession(ctx, r)
	if err == nil {
		m.answered[key] = answered{s.ID, string(text)}
	}
	return s, err
}

// ownKey makes another key of one that is in its bounds.
func ownKey(key, own string) string {
	if key == "" || len(key) > processor.MaxKeyLength {
		return key
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(key+" of "+own)))
}

// creating replaces CreateSession, in every process anew.
func creating(
	process func(*fakeprocessor.Processor) func(context.Context, processor.SessionRequest) (processor.Session, error),
) func(*fakeprocessor.Processor, *processortest.Harness) {
	return with(func(f *fakeprocessor.Processor) wrapped { return wrapped{create: process(f)} })
}

func brokenRepetitions() map[string]subject {
	return map[string]subject{
		"create remembers its answers in memory": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var calls atomic.Int64
				creating(func(f *fakeprocessor.Processor) func(context.Context, processor.SessionRequest) (processor.Session, error) {
					own := newMemory()
					return func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
						return own.create(ctx, f, r, "call "+strconv.FormatInt(calls.Add(1), 10))
					}
				})(f, h)
			},
			caught: []string{
				"lost answers of create leave one session", "create in another process", "lost answers of create in another process",
			},
		},
		"create makes a key up in each process": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var processes atomic.Int64
				creating(func(f *fakeprocessor.Processor) func(context.Context, processor.SessionRequest) (processor.Session, error) {
					own := strconv.FormatInt(processes.Add(1), 10)
					return func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
						r.Key = ownKey(r.Key, own)
						return f.CreateSession(ctx, r)
					}
				})(f, h)
			},
			caught: []string{
				"create in another process", "lost answers of create in another process", "many processes create one session",
			},
		},
		"create shares answers that were not lost": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var processes atomic.Int64
				shared := newMemory()
				creating(func(f *fakeprocessor.Processor) func(context.Context, processor.SessionRequest) (processor.Session, error) {
					own := strconv.FormatInt(processes.Add(1), 10)
					return func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
						return shared.create(ctx, f, r, own)
					}
				})(f, h)
			},
			caught: []string{"lost answers of create in another process"},
		},
		"create looks before it makes a session": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var looks, calls atomic.Int64
				var made sync.Map // what every process finds at the processor
				creating(func(f *fakeprocessor.Processor) func(context.Context, processor.SessionRequest) (processor.Session, error) {
					return func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
						key := r.Key
						found, _ := made.Load(key)
						looks.Add(1)
						for range 5000 { // looks, is slow, and then decides on what it saw
							if looks.Load() > 1 {
								break
							}
							time.Sleep(time.Millisecond)
						}
						if id, ok := found.(string); ok {
							return f.Session(ctx, id)
						}
						r.Key = ownKey(r.Key, strconv.FormatInt(calls.Add(1), 10))
						s, err := f.CreateSession(ctx, r)
						if err == nil {
							made.Store(key, s.ID)
						}
						return s, err
					}
				})(f, h)
			},
			caught: []string{"many processes create one session"},
		},
		"create makes a session before it looks": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var calls atomic.Int64
				var made sync.Map // what every process finds at the processor
				creating(func(f *fakeprocessor.Processor) func(context.Context, processor.SessionRequest) (processor.Session, error) {
					return func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
						key := r.Key
						r.Key = ownKey(key, strconv.FormatInt(calls.Add(1), 10))
						s, err := f.CreateSession(ctx, r)
						if err != nil {
							return s, err
						}
						first, _ := made.LoadOrStore(key, s.ID)
						id, _ := first.(string)
						return f.Session(ctx, id)
					}
				})(f, h)
			},
			caught: []string{"many create one session", "create in another process"},
		},
		"create sells a paid order again after its end": {
			how: finishedLate(func(ctx context.Context, f *fakeprocessor.Processor, r processor.SessionRequest) (processor.Session, error) {
				r.Key += " again"
				r.ExpiresAt = r.ExpiresAt.Add(240 * time.Hour)
				return f.CreateSession(ctx, r)
			}),
			caught: []string{"create again too late when the session was paid"},
		},
		"create refuses a paid order after its end": {
			how: finishedLate(func(context.Context, *fakeprocessor.Processor, processor.SessionRequest) (processor.Session, error) {
				return processor.Session{}, processor.ErrRejected
			}),
			caught: []string{"create again too late when the session was paid"},
		},
	}
}

// finishedLate answers otherwise to a request whose session the customer has finished and
// whose end is past.
func finishedLate(
	answer func(context.Context, *fakeprocessor.Processor, processor.SessionRequest) (processor.Session, error),
) func(*fakeprocessor.Processor, *processortest.Harness) {
	return func(f *fakeprocessor.Processor, h *processortest.Harness) {
		now := h.Now
		creating(func(f *fakeprocessor.Processor) func(context.Context, processor.SessionRequest) (processor.Session, error) {
			return func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
				s, err := f.CreateSession(ctx, r)
				if err == nil && s.Status == processor.SessionComplete && now().After(r.ExpiresAt) {
					return answer(ctx, f, r)
				}
				return s, err
			}
		})(f, h)
	}
}
