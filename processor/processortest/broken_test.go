package processortest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
)

// subjectVariable names the broken processor that this process runs the suite on.
const subjectVariable = "COUPONKIT_BROKEN_PROCESSOR"

// TestBroken proves the suite: every one of these processors breaks one sentence of
// the contract, and the clause for that sentence fails. The suite runs in a process of
// its own, which is this test again.
func TestBroken(t *testing.T) {
	if name := os.Getenv(subjectVariable); name != "" {
		runSubject(t, name)
		return
	}
	t.Parallel()
	executable, err := os.Executable()
	require.NoError(t, err)
	for name, broken := range subjects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, clause := range broken.caught {
				if output, failed := runClause(t, executable, name, clause); !failed {
					t.Errorf("the clause %q does not notice it:\n%s", clause, output)
				}
			}
		})
	}
}

// TestEveryClauseCatches proves that no clause is idle: each has a broken processor
// that it notices.
func TestEveryClauseCatches(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	require.NoError(t, err)
	output, err := runSuite(t, executable, "sound", "^TestBroken$")
	require.NoError(t, err, "the suite fails on a sound processor:\n%s", output)

	caught := map[string]bool{}
	for _, broken := range subjects() {
		for _, clause := range broken.caught {
			caught[strings.ReplaceAll(clause, " ", "_")] = true
		}
	}
	clauses := 0
	for line := range strings.Lines(output) {
		clause, isRun := strings.CutPrefix(strings.TrimSpace(line), "=== RUN   TestBroken/")
		if !isRun {
			continue
		}
		clauses++
		if !caught[clause] {
			t.Errorf("no broken processor shows that the clause %q notices anything", clause)
		}
	}
	require.Greater(t, clauses, 50, "the clauses were not found in the output:\n%s", output)
}

// TestBareHarness runs the suite on a harness without hooks: clauses that need one are
// skipped with its name, and the others run.
func TestBareHarness(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	require.NoError(t, err)
	output, err := runSuite(t, executable, "bare", "^TestBroken$")
	require.NoError(t, err, output)
	for _, hook := range []string{"Another", "Advance", "Customer", "Payable", "Renewal", "Events", "Announce", "Account", "Faults", "ListsMirrors", "FindsSessions", "Refunds"} {
		if !strings.Contains(output, "the harness cannot do what this clause needs: "+hook+"\n") {
			t.Errorf("no clause is skipped for want of %s:\n%s", hook, output)
		}
	}
	for _, clause := range []string{"ensure_can_be_repeated", "remove", "create_a_session", "expire_an_open_session", "ended_context"} {
		if !strings.Contains(output, "--- PASS: TestBroken/"+clause+" ") {
			t.Errorf("the clause %s, which needs no hook, does not run:\n%s", clause, output)
		}
	}
}

// TestAProcessorWithoutCoupons runs the suite on one that has sessions only: the clauses
// about mirrors that are kept are skipped, and everything else holds.
func TestAProcessorWithoutCoupons(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	require.NoError(t, err)
	output, err := runSuite(t, executable, "without coupons", "^TestBroken$")
	require.NoError(t, err, output)
	if !strings.Contains(output, "the harness cannot do what this clause needs: a mirror that is kept\n") {
		t.Errorf("no clause is skipped for want of a mirror:\n%s", output)
	}
	for _, clause := range []string{
		"no_mirror_is_declared", "create_a_session", "lost_answers_of_create", "processor_that_is_down", "ended_context",
		"many_ensure_one_coupon", "session_is_not_discounted_again",
	} {
		if !strings.Contains(output, "--- PASS: TestBroken/"+clause+" ") {
			t.Errorf("the clause %s does not run:\n%s", clause, output)
		}
	}
}

// runClause runs one clause; failed reports whether it, and not the process as such,
// has failed.
func runClause(t *testing.T, executable, subject, clause string) (output string, failed bool) {
	t.Helper()
	clause = strings.ReplaceAll(clause, " ", "_")
	output, err := runSuite(t, executable, subject, "^TestBroken$/^"+clause+"$")
	if !strings.Contains(output, "=== RUN   TestBroken/"+clause) {
		t.Fatalf("there is no clause %q: %v\n%s", clause, err, output)
	}
	failed = strings.Contains(output, "--- FAIL: TestBroken/"+clause)
	if failed && !strings.Contains(output, "the contract says: ") {
		t.Errorf("the failure does not say what the contract asks for:\n%s", output)
	}
	return output, failed
}

// runSuite runs this test again, as the suite on one subject. Under the race detector a
// process sleeps a second before it ends, which a hundred of them need not.
func runSuite(t *testing.T, executable, subject, pattern string) (output string, err error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), executable, "-test.v", "-test.run="+pattern)
	c.Env = append(os.Environ(), subjectVariable+"="+subject, "GORACE=atexit_sleep_ms=0")
	out, err := c.CombinedOutput()
	return string(out), err
}

func runSubject(t *testing.T, name string) {
	t.Helper()
	processortest.Run(t, func(t *testing.T) processortest.Harness {
		t.Helper()
		breakIt := func(*fakeprocessor.Processor, *processortest.Harness) {}
		abilities := processor.Abilities{}
		var canMirror func(coupon.Coupon) bool
		switch name {
		case "sound":
		case "bare":
			breakIt = func(f *fakeprocessor.Processor, h *processortest.Harness) {
				*h = processortest.Harness{Processor: struct{ processor.Processor }{f}, Now: h.Now}
			}
		case "without coupons":
			breakIt = func(f *fakeprocessor.Processor, h *processortest.Harness) {
				adapter := sessionsOnly{Sessions: f, abilities: f.Abilities()}
				h.Processor, h.NoMirror = adapter, true
				h.Another = func() processor.Processor { return adapter }
				h.ListsMirrors, h.FindsSessions, h.Account, h.Refunds = false, false, processortest.Account{}, processortest.Refunds{}
			}
		default:
			broken, ok := subjects()[name]
			if !ok {
				t.Fatalf("no broken processor %q", name)
			}
			breakIt = broken.how
			if broken.bounded {
				abilities = bounded()
			}
			if broken.simple {
				canMirror = isSimple
			}
		}
		fake, h := newFakeOf(fakeprocessor.Options{Abilities: abilities, CanMirror: canMirror})
		breakIt(fake, &h)
		return h
	})
}

// subject is a broken processor and the clauses that have to notice.
type subject struct {
	how     func(*fakeprocessor.Processor, *processortest.Harness)
	bounded bool
	simple  bool // it cannot express coupons with further terms
	caught  []string
}

func subjects() map[string]subject {
	all := map[string]subject{}
	for _, group := range []map[string]subject{
		brokenEnsures(), brokenUpdates(), brokenRemovals(), brokenVerifications(),
		brokenLists(), brokenUnsupported(), brokenWithoutCode(), brokenSessions(), brokenFinders(), brokenRepetitions(), brokenEvents(), brokenRefunds(), brokenTaxes(), brokenErrors(),
	} {
		maps.Copy(all, group)
	}
	return all
}

// wrapped is a fake of which some methods are replaced; nil ones are the fake's.
type wrapped struct {
	*fakeprocessor.Processor

	ensure    func(context.Context, coupon.Coupon) (coupon.Mirror, error)
	update    func(context.Context, coupon.Coupon) (coupon.Mirror, error)
	setActive func(context.Context, coupon.Coupon) (coupon.Mirror, error)
	remove    func(context.Context, coupon.Coupon) error
	verify    func(context.Context, coupon.Coupon) (processor.MirrorStatus, error)
	mirrors   func(context.Context) iter.Seq2[processor.MirrorRef, error]
	create    func(context.Context, processor.SessionRequest) (processor.Session, error)
	session   func(context.Context, string) (processor.Session, error)
	expire    func(context.Context, string) (processor.Session, error)
	find      findCall
	refund    refundCall
	refunds   refundsCall
	abilities *processor.Abilities
}

func (w wrapped) FindSession(ctx context.Context, orderID string, since time.Time) (processor.Session, error) {
	if w.find != nil {
		return w.find(ctx, orderID, since)
	}
	return w.Processor.FindSession(ctx, orderID, since)
}

func (w wrapped) Refund(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
	if w.refund != nil {
		return w.refund(ctx, r)
	}
	return w.Processor.Refund(ctx, r)
}

func (w wrapped) Refunds(ctx context.Context, id string) (processor.PaymentRefunds, error) {
	if w.refunds != nil {
		return w.refunds(ctx, id)
	}
	return w.Processor.Refunds(ctx, id)
}

func (w wrapped) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	if w.ensure != nil {
		return w.ensure(ctx, c)
	}
	return w.Processor.EnsureMirror(ctx, c)
}

func (w wrapped) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	if w.update != nil {
		return w.update(ctx, c)
	}
	return w.Processor.UpdateMirror(ctx, c)
}

func (w wrapped) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	if w.setActive != nil {
		return w.setActive(ctx, c)
	}
	return w.Processor.SetMirrorActive(ctx, c)
}

func (w wrapped) RemoveMirror(ctx context.Context, c coupon.Coupon) error {
	if w.remove != nil {
		return w.remove(ctx, c)
	}
	return w.Processor.RemoveMirror(ctx, c)
}

func (w wrapped) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	if w.verify != nil {
		return w.verify(ctx, c)
	}
	return w.Processor.VerifyMirror(ctx, c)
}

func (w wrapped) Mirrors(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
	if w.mirrors != nil {
		return w.mirrors(ctx)
	}
	return w.Processor.Mirrors(ctx)
}

func (w wrapped) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	if w.create != nil {
		return w.create(ctx, r)
	}
	return w.Processor.CreateSession(ctx, r)
}

func (w wrapped) Session(ctx context.Context, id string) (processor.Session, error) {
	if w.session != nil {
		return w.session(ctx, id)
	}
	return w.Processor.Session(ctx, id)
}

func (w wrapped) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	if w.expire != nil {
		return w.expire(ctx, id)
	}
	return w.Processor.ExpireSession(ctx, id)
}

func (w wrapped) Abilities() processor.Abilities {
	if w.abilities != nil {
		return *w.abilities
	}
	return w.Processor.Abilities()
}

// with replaces methods of the fake, in every process anew: what replace makes is the memory of
// one process.
func with(replace func(*fakeprocessor.Processor) wrapped) func(*fakeprocessor.Processor, *processortest.Harness) {
	return func(fake *fakeprocessor.Processor, h *processortest.Harness) {
		h.Another = func() processor.Processor {
			w := replace(fake)
			w.Processor = fake
			return w
		}
		h.Processor = h.Another()
	}
}

func brokenErrors() map[string]subject {
	return map[string]subject{
		"ignores the context": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{
					ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
						return f.EnsureMirror(context.WithoutCancel(ctx), c)
					},
					expire: func(ctx context.Context, id string) (processor.Session, error) {
						return f.ExpireSession(context.WithoutCancel(ctx), id)
					},
				}
			}),
			caught: []string{"ended context"},
		},
		"waits on after the context has ended": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{session: func(ctx context.Context, id string) (processor.Session, error) {
					s, err := f.Session(ctx, id)
					if errors.Is(err, context.Canceled) || errors.Is(err, processor.ErrUnavailable) {
						return s, errors.New("gave up")
					}
					return s, err
				}}
			}),
			caught: []string{"context that ends while waiting to try again", "processor that is down", "ended context"},
		},
		"sleeps before it tries again": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{session: func(ctx context.Context, id string) (processor.Session, error) {
					s, err := f.Session(ctx, id)
					if errors.Is(err, processor.ErrUnavailable) {
						time.Sleep(time.Hour) // whatever becomes of the context
					}
					return s, err
				}}
			}),
			caught: []string{"context that ends while waiting to try again"},
		},
		"errors without a sentinel": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					m, err := f.EnsureMirror(ctx, c)
					if err != nil {
						return m, errors.New(err.Error())
					}
					return m, nil
				}}
			}),
			caught: []string{"ensure takes no foreign code", "lost answers of ensure", "processor that is down"},
		},
		"errors of two sentinels": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{session: func(ctx context.Context, id string) (processor.Session, error) {
					s, err := f.Session(ctx, id)
					if err != nil {
						return s, fmt.Errorf("%w: %w", processor.ErrUnavailable, err)
					}
					return s, nil
				}}
			}),
			caught: []string{"session is found by its ID only"},
		},
		"outage as a refusal": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{verify: func(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
					status, err := f.VerifyMirror(ctx, c)
					if errors.Is(err, processor.ErrUnavailable) {
						return processor.MirrorInvalid, nil
					}
					return status, err
				}}
			}),
			caught: []string{"processor that is down"},
		},
	}
}
