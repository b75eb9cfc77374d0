package stripeprocessor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v86"
	"golang.org/x/time/rate"

	"github.com/couponkit/couponkit/processor"
)

// Retry limits the attempts of one call. The retries of stripe-go are switched off.
type Retry struct {
	// Attempts is the maximum number of attempts, including the first; default 4.
	Attempts int
	// BaseDelay is the pause before the second attempt; default 250 ms. It doubles with
	// each attempt. Half of every pause is random.
	BaseDelay time.Duration
	// MaxDelay is the maximum of one pause; default 4 s. It also limits Stripe's
	// Retry-After.
	MaxDelay time.Duration
	// MaxTime is the time after which no further attempt begins; default 30 s.
	MaxTime time.Duration
}

func (r Retry) withDefaults() Retry {
	r.Attempts = max(cmp.Or(r.Attempts, 4), 1)
	r.BaseDelay = cmp.Or(r.BaseDelay, 250*time.Millisecond)
	r.MaxDelay = cmp.Or(r.MaxDelay, 4*time.Second)
	r.MaxTime = cmp.Or(r.MaxTime, 30*time.Second)
	return r
}

// pause returns the wait after attempt n. At least half of it is fixed. The other half is random, so
// that clients that failed together do not return together.
func (r Retry) pause(n int, wished time.Duration) time.Duration {
	delay := r.MaxDelay
	if shift := n - 1; shift < 20 {
		delay = min(r.BaseDelay<<shift, r.MaxDelay)
	}
	half := delay / 2
	delay = half + time.Duration(mathrand.Int64N(int64(max(half, 1)))) //nolint:gosec // spreads load, guards nothing
	return min(max(delay, wished), r.MaxDelay)
}

// call describes one operation for the loop of attempts.
type call struct {
	// op names it, in errors and for the rate limit.
	op string
	// key returns the idempotency key of a generation. If it is nil, every call gets a random key, and
	// another one after each failure of Stripe ([failed]).
	//
	// A key is used until it is spent. A key is spent if Stripe replays a saved failure or refusal for
	// it, or knows it with other parameters. Stripe keeps a key for at least a day. Only then does the
	// next generation begin. So every process comes to the same key, and finds the object that another
	// process has made.
	key func(generation int) string
	// look checks whether the call has taken effect, before another key is used. It is not called if
	// the saved answer is a refusal. It is nil for calls that only read or set values; these calls are
	// simply repeated.
	look func(ctx context.Context) (done bool, err error)
}

// maxGenerations is the maximum number of keys that a call tries.
const maxGenerations = 4

// errKeysSpent means that all keys of a call are spent.
var errKeysSpent = errors.New("all keys are spent")

// do sends a request until it is answered. After a lost answer it sends the same key and the same
// parameters. A spent key does not count as an attempt, and is followed by no pause, because Stripe
// tried nothing.
func (p *Processor) do(ctx context.Context, c call, send func(ctx context.Context, key string) error) error {
	started, generation, key := p.options.Clock(), 0, c.keyOf(0)
	for n := 1; ; {
		if err := p.limits.wait(ctx, c.op); err != nil {
			return ended(c.op, err)
		}
		answer := &exchange{}
		err := attempt(context.WithValue(ctx, exchangeKey{}, answer), key, send)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ended(c.op, ctx.Err())
		}
		failure := newError(c.op, answer, err)
		failed := failed(answer.status)
		spent := c.key != nil && answer.spent(failure)
		if !spent {
			if err := p.beforeRepeat(ctx, answer, failure, n, started); err != nil {
				return err
			}
			n++
		}
		if !spent && (c.key != nil || !failed) {
			continue
		}
		if c.look != nil && (failed || errors.Is(failure, ErrConflict)) {
			if done, err := c.look(ctx); err != nil || done {
				return err
			}
		}
		if generation++; spent && generation == maxGenerations {
			return spentKeys(failure)
		}
		key = c.keyOf(generation)
	}
}

// spentKeys returns an error that wraps errKeysSpent. It does not match a refusal: the saved refusal
// answered an earlier call.
func spentKeys(last *Error) error {
	return refused(last.Op, processor.ErrUnavailable, fmt.Errorf("%w, the last by: %v", errKeysSpent, last)) //nolint:errorlint // one kind only
}

// beforeRepeat pauses after attempt n. It returns an error if there is no further attempt.
func (p *Processor) beforeRepeat(ctx context.Context, answer *exchange, failure *Error, n int, started time.Time) error {
	if !answer.mayRepeat(failure) || n >= p.options.Retry.Attempts {
		return failure
	}
	pause := p.options.Retry.pause(n, answer.retryAfter())
	if p.options.Clock().Sub(started)+pause > p.options.Retry.MaxTime {
		return failure
	}
	p.options.Logger.WarnContext(ctx, "stripe call is repeated", slog.String("op", failure.Op), slog.Int("attempt", n),
		slog.Int("status", failure.Status), slog.String("code", failure.Code), slog.String("request", failure.RequestID))
	if err := sleep(ctx, pause); err != nil {
		return ended(failure.Op, err)
	}
	return nil
}

// attempt sends the request once. stripe-go panics on some answers that Stripe never gives, such as a
// list that contains null. attempt returns such a panic as a malformed answer.
func attempt(ctx context.Context, key string, send func(ctx context.Context, key string) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = answerError(fmt.Sprintf("the answer could not be read: %v", r))
		}
	}()
	return send(ctx, key)
}

func (c call) keyOf(generation int) string {
	if c.key == nil {
		return rand.Text()
	}
	return c.key(generation)
}

// ended returns the error of a call whose context has ended.
func ended(op string, err error) error { return fmt.Errorf("stripe: %s: %w", op, err) }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// exchange records the answer to one request, even if its body could not be read. stripe-go returns no
// status and header in that case.
type exchange struct {
	status int
	header http.Header
	whole  bool // the whole body was received
}

type exchangeKey struct{}

// mayRepeat reports whether a further attempt can help. Answers of 4xx are final, except a concurrent
// use of the key and a rate limit. For the other answers, Stripe's header decides.
func (x *exchange) mayRepeat(failure *Error) bool {
	var repeatable bool
	switch {
	case x.status == 0, x.status < http.StatusBadRequest: // the answer is lost, in part or as a whole
		repeatable = true
	case x.status == http.StatusConflict:
		repeatable = failure.Code == string(stripe.ErrorCodeIdempotencyKeyInUse)
	case x.status == http.StatusTooManyRequests:
		repeatable = true
	case failed(x.status):
		repeatable = x.status != http.StatusNotImplemented
	default:
		return false
	}
	switch x.header.Get("Stripe-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	return repeatable
}

func (x *exchange) retryAfter() time.Duration {
	seconds, err := strconv.Atoi(x.header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 3600 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// replayed reports whether Stripe replayed the answer that it saved for the key.
func (x *exchange) replayed() bool { return x.header.Get("Idempotent-Replayed") == "true" }

// spent reports whether the key cannot be used any more. Stripe has saved a failure for it, or a
// refusal whose reason may be gone. Or the key belongs to a call with other parameters.
func (x *exchange) spent(failure *Error) bool {
	return errors.Is(failure, ErrConflict) || x.replayed() && (failed(x.status) || refusal(failure))
}

// failed reports whether a status means a failure, as opposed to a refusal. The failure is in Stripe
// (5xx), in something that Stripe depends on (424), or on the way (408).
func failed(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusFailedDependency || status == http.StatusRequestTimeout
}

// exchangeOf returns the exchange of the attempt that the context belongs to.
func exchangeOf(ctx context.Context) *exchange {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return &exchange{}
	}
	return x
}

// recorder records status and header of every answer, and limits the size of the body. It sets the
// connected account in every request, so that no call can omit it.
type recorder struct {
	next    http.RoundTripper
	account string
}

const maxAnswer = 16 << 20

func (r recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := exchangeOf(request.Context())
	*answer = exchange{}
	if r.account != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Stripe-Account", r.account)
	}
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answer.status, answer.header = response.StatusCode, response.Header
	response.Body = &bounded{ReadCloser: response.Body, left: maxAnswer, answer: answer}
	return response, nil
}

type bounded struct {
	io.ReadCloser
	left   int64
	answer *exchange
}

var errAnswerTooLong = errors.New("answer is too long")

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errAnswerTooLong
	}
	n, err := b.ReadCloser.Read(into[:min(int64(len(into)), b.left)])
	b.left -= int64(n)
	b.answer.whole = errors.Is(err, io.EOF)
	return n, err
}

func newClient(key string, o Options) *stripe.Client {
	hc := &http.Client{Timeout: defaultHTTPTimeout}
	if o.HTTPClient != nil {
		own := *o.HTTPClient
		hc = &own
	}
	next := hc.Transport
	if next == nil {
		next = http.DefaultTransport
		if shared, ok := next.(*http.Transport); ok {
			next = shared.Clone()
		}
	}
	hc.Transport = recorder{next: next, account: o.Account}
	return stripe.NewClient(key, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL:               stripe.String(o.BaseURL),
		HTTPClient:        hc,
		MaxNetworkRetries: stripe.Int64(0),
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
		EnableTelemetry:   new(false),
	})))
}

// limiter keeps Stripe's rate limits: for all calls together, and for each operation.
type limiter struct {
	all *rate.Limiter
	mu  sync.Mutex
	ops map[string]*rate.Limiter
}

// perOperation is Stripe's limit for one operation, in calls per second.
const perOperation = 25

func newLimiter(perSecond float64) *limiter {
	if perSecond < 0 {
		return &limiter{}
	}
	return &limiter{
		all: rate.NewLimiter(rate.Limit(perSecond), max(int(perSecond), 1)),
		ops: map[string]*rate.Limiter{},
	}
}

// wait returns when a call of the operation may be sent. It returns the context's error if the context
// ends first. It also returns that error, at once, if the context's deadline is before that time.
func (l *limiter) wait(ctx context.Context, op string) error {
	if l.all == nil {
		return ctx.Err()
	}
	for _, bound := range [...]*rate.Limiter{l.of(op), l.all} {
		if err := bound.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return context.DeadlineExceeded
		}
	}
	return nil
}

func (l *limiter) of(op string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	bound, ok := l.ops[op]
	if !ok {
		bound = rate.NewLimiter(perOperation, perOperation)
		l.ops[op] = bound
	}
	return bound
}
