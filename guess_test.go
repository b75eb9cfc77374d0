package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// limited returns a world whose customers may fail three times in three minutes, and the context of ann's calls.
func limited(t *testing.T, options ...couponkit.Option) (*world, context.Context) {
	t.Helper()
	w := &world{}
	limiter, err := ratelimit.NewMemory(ratelimit.Limits{"customer": {Attempts: 3, Window: 3 * time.Minute}},
		ratelimit.MemoryOptions{Now: func() time.Time { return w.now }})
	require.NoError(t, err)
	made := newWorld(t, append(options, couponkit.WithLimiter(limiter))...)
	*w = *made
	w.Service, err = couponkit.New(w.store, append([]couponkit.Option{
		couponkit.WithProcessor(w.fake), couponkit.WithClock(func() time.Time { return w.now }), couponkit.WithPoints(w.ledger),
		couponkit.WithLimiter(limiter),
	}, options...)...)
	require.NoError(t, err)
	return w, couponkit.WithSubjects(t.Context(), ratelimit.Subject{Limit: "customer", ID: ann.ID})
}

// left counts how many wrong codes ann may still enter, and enters them.
func (w *world) left(ctx context.Context) (n int) {
	for n < 10 {
		_, err := w.Validate(ctx, couponkit.ValidateRequest{Code: "WRONG", Customer: ann})
		if errors.Is(err, couponkit.ErrTooManyAttempts) {
			break
		}
		n++
	}
	w.pass(time.Hour)
	return n
}

// TestOnlyWrongCodesCount goes through all methods for customers: what a call takes of three attempts.
func TestOnlyWrongCodesCount(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]couponkit.Option{"plain": nil, "opaque": {couponkit.WithOpaqueRefusals()}} {
		w, ctx := limited(t, options...)
		d := tenOff()
		d.MaxUsesPerUser = coupon.Clear[int]()
		open := w.create(t, d)
		w.issue(t, open, "spring", coupon.CodeDraft{Code: "BOBS", Owner: coupon.OwnerID(bob.ID)})
		dear := tenOff()
		dear.Code, dear.MinPurchase = "DEAR", coupon.Amounts{"": "99"}
		w.create(t, dear)
		off := tenOff()
		off.Code = "OFF"
		_, err := w.SetActive(t.Context(), w.create(t, off).ID, false)
		require.NoError(t, err)
		current := couponkit.NewOffers(w.store, offers.Limits{})
		update(t, current)
		cart := couponkit.QuoteRequest{Cart: phones(), Customer: ann}
		quote := func(codes ...string) error {
			cart.Codes = codes
			_, err := w.Quote(ctx, cart)
			return err
		}
		key := 0
		for _, c := range []struct {
			what  string
			costs int
			call  func() error
		}{
			{"a code that applies", 0, func() error { return quote("TEN") }},
			{"an ID", 0, func() error { return quote(open.ID) }},
			{"no code", 0, func() error { return quote() }},
			{"a blank code", 0, func() error { return quote(" ") }},
			{"a code below its minimum", 0, func() error { return quote("DEAR") }},
			{"an unknown code", 1, func() error { return quote("NONE") }},
			{"an unknown ID", 1, func() error { return quote("cpn_none") }},
			{"a text that is no code", 1, func() error { return quote("two words") }},
			{"the code of somebody else", 1, func() error { return quote("BOBS") }},
			{"a code that is switched off", 1, func() error { return quote("OFF") }},
			{"two wrong codes of three", 2, func() error { return quote("NONE", "TEN", "BOBS") }},
			{"a code twice", 0, func() error { return quote("NONE", "NONE") }},
			{"a checkout", 1, func() error {
				_, err := w.Checkout(ctx, couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"NONE"}, Customer: ann})
				return err
			}},
			{"a checkout that leaves codes out", 2, func() error {
				_, err := w.Checkout(ctx, couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"NONE", "BOBS", "TEN"}, Customer: ann, SkipRefused: true})
				return err
			}},
			{"a link", 1, func() error {
				_, err := w.PaymentLink(ctx, couponkit.PaymentLinkRequest{
					CheckoutRequest: couponkit.CheckoutRequest{Codes: []string{"NONE"}, Customer: ann}, Mode: couponkit.ProductLink, Amount: pricing.NewMoney(10_00, pricing.EUR()),
				})
				return err
			}},
			{"a reservation", 1, func() error {
				_, err := w.Reserve(ctx, couponkit.ReserveRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Codes: []string{"NONE"}, Customer: ann}})
				return err
			}},
			{"a reservation that succeeds", 0, func() error {
				key++
				_, err := w.Reserve(ctx, couponkit.ReserveRequest{Key: fmt.Sprint(key), QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: ann}})
				require.NoError(t, err)
				return nil
			}},
			{"an exchange", 1, func() error {
				_, err := w.ExchangePoints(ctx, couponkit.ExchangeRequest{Coupon: "NONE", Customer: ann})
				return err
			}},
			{"an explanation", 2, func() error {
				cart.Codes = []string{"NONE", "BOBS"}
				_, err := w.Explain(ctx, cart)
				return err
			}},
			{"suggestions", 0, func() error {
				found, err := w.Suggest(ctx, couponkit.SuggestRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Customer: ann}, Offers: current, Visible: anyCode, Best: 1, Nearly: 1})
				require.Len(t, found.Best, 1)
				return err
			}},
			{"suggestions beside wrong codes", 2, func() error {
				_, err := w.Suggest(ctx, couponkit.SuggestRequest{
					QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Codes: []string{"NONE", "BOBS"}, Customer: ann}, Offers: current, Visible: anyCode, Best: 1, Nearly: 1,
				})
				return err
			}},
		} {
			if err := c.call(); errors.Is(err, couponkit.ErrTooManyAttempts) {
				t.Fatalf("%s: %s: %v", name, c.what, err)
			}
			require.Equal(t, 3-c.costs, w.left(ctx), "%s: attempts that are left after %s", name, c.what)
		}
	}
}

// TestTooManyAttempts: nothing is looked up, also for codes that exist, and the error has the instant.
func TestTooManyAttempts(t *testing.T) {
	t.Parallel()
	w, ctx := limited(t)
	w.create(t, tenOff())
	for range 3 {
		_, err := w.Validate(ctx, couponkit.ValidateRequest{Code: "WRONG", Customer: ann})
		require.ErrorIs(t, err, coupon.ErrNotFound)
	}
	_, err := w.Validate(ctx, couponkit.ValidateRequest{Code: "TEN", Customer: ann})
	refused, is := errors.AsType[*ratelimit.TooManyAttemptsError](err)
	require.True(t, is)
	require.Equal(t, w.now.Add(time.Minute), refused.RetryAt)
	w.now = refused.RetryAt
	_, err = w.Validate(ctx, couponkit.ValidateRequest{Code: "TEN", Customer: ann})
	require.NoError(t, err)
}

func TestALimiterNeedsASubject(t *testing.T) {
	t.Parallel()
	w, _ := limited(t)
	_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann})
	require.Equal(t, []string{"subjects"}, faultyFields(t, err))
	_, err = w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Customer: ann})
	require.NoError(t, err, "a request without codes needs none")
	four := couponkit.QuoteRequest{Cart: phones(), Customer: ann, Codes: []string{"A", "B", "C", "D"}}
	_, err = w.Quote(couponkit.WithSubjects(t.Context(), ratelimit.Subject{Limit: "customer", ID: ann.ID}), four)
	require.Equal(t, []string{"attempts"}, faultyFields(t, err), "more codes than the limit has attempts")
}

// brokenLimiter cannot count.
type brokenLimiter struct{ ratelimit.Limiter }

var errUncounted = errors.New("cannot count")

func (brokenLimiter) Take(context.Context, int, ...ratelimit.Subject) error { return errUncounted }

func TestWithoutCountsNothingIsLookedUp(t *testing.T) {
	t.Parallel()
	calls := 0
	s, err := couponkit.New(gated{memstore.New(), func(_ string, effect func() error) error { calls++; return effect() }}, couponkit.WithLimiter(brokenLimiter{}))
	require.NoError(t, err)
	_, err = s.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann})
	require.ErrorIs(t, err, errUncounted)
	require.Zero(t, calls)
}

// TestManyGuessesAtOnce: parallel guesses are as many as the limit allows, and one of them cannot find a code.
func TestManyGuessesAtOnce(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	limiter, err := ratelimit.NewStored(s, ratelimit.Limits{"customer": {Attempts: 5, Window: 24 * time.Hour}}, nil)
	require.NoError(t, err)
	service, err := couponkit.New(s, couponkit.WithLimiter(limiter), couponkit.WithOpaqueRefusals())
	require.NoError(t, err)
	ctx := couponkit.WithSubjects(t.Context(), ratelimit.Subject{Limit: "customer", ID: "ann"})
	var guesses atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			_, err := service.Validate(ctx, couponkit.ValidateRequest{Code: fmt.Sprint("GUESS", i), Customer: ann})
			if errors.Is(err, coupon.ErrNotFound) {
				guesses.Add(1)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(5), guesses.Load())
	_, err = service.Sweep(t.Context(), 1)
	require.NoError(t, err)
	_, err = service.Validate(ctx, couponkit.ValidateRequest{Code: "GUESS", Customer: ann})
	require.ErrorIs(t, err, couponkit.ErrTooManyAttempts, "a sweep forgets only whoever has all attempts")
}

// TestAReservationInATransactionIsCountedBefore: Prepare counts its codes, once.
func TestAReservationInATransactionIsCountedBefore(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	limiter, err := ratelimit.NewMemory(ratelimit.Limits{"customer": {Attempts: 2, Window: time.Hour}}, ratelimit.MemoryOptions{})
	require.NoError(t, err)
	service, err := couponkit.New(s, couponkit.WithLimiter(limiter))
	require.NoError(t, err)
	ctx := couponkit.WithSubjects(t.Context(), ratelimit.Subject{Limit: "customer", ID: "ann"})
	r := couponkit.ReserveRequest{QuoteRequest: couponkit.QuoteRequest{Cart: phones(), Customer: ann, Codes: []string{"WRONG"}}}
	_, err = service.In(s).Reserve(ctx, r)
	require.ErrorIs(t, err, couponkit.ErrNotPrepared)
	prepared, err := service.Prepare(ctx, r)
	require.NoError(t, err)
	for range 5 {
		_, err = service.In(s).Reserve(ctx, prepared)
		require.ErrorIs(t, err, coupon.ErrNotFound)
	}
	prepared.Codes = []string{"OTHER"}
	_, err = service.In(s).Reserve(ctx, prepared)
	require.ErrorIs(t, err, couponkit.ErrNotPrepared, "another code than the prepared one")
	_, err = service.Prepare(ctx, r)
	require.NoError(t, err, "the second attempt")
	_, err = service.Prepare(ctx, r)
	require.ErrorIs(t, err, couponkit.ErrTooManyAttempts)
	r.Codes = nil
	_, err = service.In(s).Reserve(ctx, r)
	require.NoError(t, err, "a reservation without codes needs no limiter")
}

func formOf(t *testing.T, shape coupon.CodeShape) codes.Form {
	t.Helper()
	form, err := codes.NewForm(shape)
	require.NoError(t, err)
	return form
}

// wrong changes the last symbol of a generated code.
func wrong(code coupon.Code) string {
	text := code.String()
	last := "2"
	if strings.HasSuffix(text, last) {
		last = "3"
	}
	return text[:len(text)-1] + last
}

// TestAWrongCheckSymbolAsksNoDatabase counts the calls of the store, and the attempts.
func TestAWrongCheckSymbolAsksNoDatabase(t *testing.T) {
	t.Parallel()
	shape := coupon.CodeShape{Prefix: "SPRING", Symbols: 12}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	limiter, err := ratelimit.NewMemory(ratelimit.Limits{"customer": {Attempts: 2, Window: time.Hour}}, ratelimit.MemoryOptions{Now: clock})
	require.NoError(t, err)
	calls := 0
	s, err := couponkit.New(gated{memstore.New(), func(_ string, effect func() error) error { calls++; return effect() }},
		couponkit.WithClock(clock), couponkit.WithLimiter(limiter), couponkit.WithCodeForms(formOf(t, coupon.CodeShape{Prefix: "OTHER"}), formOf(t, shape)))
	require.NoError(t, err)
	c, err := s.Create(t.Context(), tenOff())
	require.NoError(t, err)
	issued, err := s.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "spring", Shape: shape}, []coupon.CodeDraft{{}})
	require.NoError(t, err)
	ctx := couponkit.WithSubjects(t.Context(), ratelimit.Subject{Limit: "customer", ID: ann.ID})
	calls = 0
	_, err = s.Validate(ctx, couponkit.ValidateRequest{Code: wrong(issued[0].Code), Customer: ann})
	require.ErrorIs(t, err, coupon.ErrNotFound)
	_, err = s.Quote(ctx, couponkit.QuoteRequest{Cart: phones(), Codes: []string{strings.ToLower(wrong(issued[0].Code))}, Customer: ann})
	require.ErrorIs(t, err, coupon.ErrNotFound)
	require.Zero(t, calls, "calls of the store")
	_, err = s.Validate(ctx, couponkit.ValidateRequest{Code: issued[0].Code.String(), Customer: ann})
	require.ErrorIs(t, err, couponkit.ErrTooManyAttempts, "both were counted")
	require.Zero(t, calls, "calls of the store")
	now = now.Add(time.Hour)
	_, err = s.Validate(ctx, couponkit.ValidateRequest{Code: issued[0].Code.String(), Customer: ann})
	require.NoError(t, err)
}

// TestHandmadeCodesBesideAForm: codes that staff has written work, whatever they look like. Those that no customer could
// enter are refused when they are made, and staff still finds those that were made before.
func TestHandmadeCodesBesideAForm(t *testing.T) {
	t.Parallel()
	shape := coupon.CodeShape{Prefix: "SPRING", Symbols: 12}
	form := formOf(t, shape)
	right := generatedCode(t, "0123456789", shape)
	w := newWorld(t)
	taken := map[string]bool{ // whether customers may enter it beside the form
		"SPRING": true, "SPRING-2026": true, right.String(): true, wrong(right): false,
		right.String()[:len(right.String())-1] + "E":  true, // a vowel is no symbol
		right.String() + "X":                          true, // another length
		"X" + wrong(right):                            true, // another prefix
		strings.Replace(wrong(right)[7:], "-", "", 1): true,
	}
	for code := range taken {
		d := tenOff()
		d.Code = code
		w.create(t, d)
	}
	var err error
	w.Service, err = couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)), couponkit.WithCodeForms(form))
	require.NoError(t, err)
	for code, works := range taken {
		err := w.validate(code)
		require.Equal(t, works, err == nil, "%s: %v", code, err)
		found, err := w.Find(t.Context(), code)
		require.NoError(t, err, "staff finds %s", code)
		require.NoError(t, w.validate(found.ID), "the ID of %s", code)
		parsed, err := coupon.ParseCode(code)
		require.NoError(t, err)
		require.Equal(t, works, !form.Refuses(parsed), code)
	}

	other := wrong(generatedCode(t, "9876543210", shape))
	d := tenOff()
	d.Code = other
	_, err = w.Create(t.Context(), d)
	require.Equal(t, []string{"code"}, faultyFields(t, err))
	d.Code = "FREE"
	c := w.create(t, d)
	_, err = w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "b"}, []coupon.CodeDraft{{Code: "FINE"}, {Code: other}, {}})
	require.Equal(t, []string{"codes[1].code"}, faultyFields(t, err))
	rows := func(yield func(codecsv.Row, error) bool) {
		for _, code := range []string{"FINE", other} {
			if !yield(codecsv.Row{Draft: coupon.CodeDraft{Code: code}, Active: true}, nil) {
				return
			}
		}
	}
	var verdicts []codecsv.Verdict
	for row, err := range w.ImportCodes(t.Context(), c.ID, "imported", rows) {
		require.NoError(t, err)
		verdicts = append(verdicts, row.Verdict)
		if row.Verdict == codecsv.Refused {
			require.ErrorIs(t, row.Refusal, validation.ErrInvalid)
		}
	}
	require.Equal(t, []codecsv.Verdict{codecsv.Added, codecsv.Refused}, verdicts)
}

func TestAFormNeedsAShape(t *testing.T) {
	t.Parallel()
	_, err := couponkit.New(memstore.New(), couponkit.WithCodeForms(codes.Form{}))
	require.Equal(t, []string{"codeForms[0]"}, faultyFields(t, err))
}
