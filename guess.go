package couponkit

import (
	"context"
	"log/slog"
	"slices"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/ratelimit"
)

// ErrTooManyAttempts means that the limiter of [WithLimiter] refuses to look up codes, because the customer has
// entered too many wrong ones. Use errors.As with a *[ratelimit.TooManyAttemptsError] to get the instant from
// which the customer may try again.
var ErrTooManyAttempts = ratelimit.ErrTooManyAttempts

// WithLimiter limits how often customers may enter wrong codes. The subjects of a call come from its context;
// see [WithSubjects]. By default, nobody is limited.
//
// Validate, Quote, Explain, Checkout, PaymentLink, ExchangePoints, Prepare and Reserve take an attempt for each code
// before they look any up. Without enough attempts left, they return [ErrTooManyAttempts] and look nothing up.
// Afterwards they give back the attempts of all codes but these:
//
//   - codes that do not exist, also those with a wrong check symbol (see [WithCodeForms]);
//   - codes of other customers: with another owner, without the customer on the allow-list or among the
//     coupon's customer tags, or for signed-in customers if the customer is not;
//   - codes that are switched off, unless they are the customer's own.
//
// The limit must allow as many attempts as a request may have codes. A request with codes whose context has no
// subject fails with a [*validation.Error]. If the limiter fails, the call fails, and nothing is looked up.
//
// The methods for administrators are not limited. In a transaction of the host,
// [Ledger.Reserve] takes no attempts: it needs a request of [Service.Prepare], which has taken them.
func WithLimiter(l ratelimit.Limiter) Option { return func(s *Service) { s.limiter = l } }

// WithOpaqueRefusals refuses a code that is not for the customer with coupon.ErrNotFound alone, exactly like
// a code that does not exist. Strangers then cannot find out which codes exist. Codes are refused
// so for which [WithLimiter] gives no attempt back. By default, customers get all reasons.
//
//   - A code that is open to the customer keeps all other reasons, such as a minimum purchase or an expiry. So do
//     the codes of their owners, also coupon.ErrInactive.
//   - An anonymous customer who has to sign in hears that alone for every code, and nothing is looked up.
//   - The store is asked as often for a code that exists as for one that does not, and the processor is not asked.
//   - The observer still gets the true reasons and the coupon; see [Attempt].
//
// Staff who need the true reasons ask a service without this option.
func WithOpaqueRefusals() Option { return func(s *Service) { s.opaque = true } }

// WithCodeForms names the forms of the codes that are generated for this store. A text that a customer enters
// in such a form, with a wrong check symbol, is refused with coupon.ErrNotFound without asking the store; see
// [codes.Form.Refuses]. By default, every text is looked up.
//
// A handmade code works unless Refuses reports it: it needs the prefix, length and dashes of a form, symbols
// alone, and a wrong last character. Create, AddCodes and ImportCodes refuse such a code, so that nobody hands
// out a code that does not work. Before you add a form, check the codes that exist with Refuses. Staff finds
// all codes.
func WithCodeForms(forms ...codes.Form) Option {
	return func(s *Service) { s.forms = slices.Clone(forms) }
}

type subjectsKey struct{}

// WithSubjects returns a context that names who makes the calls, for [WithLimiter]: for example the customer,
// the network address and the session. Each subject has a limit of its own.
func WithSubjects(ctx context.Context, subjects ...ratelimit.Subject) context.Context {
	return context.WithValue(ctx, subjectsKey{}, slices.Clone(subjects))
}

// guard returns the guard of a call. The attempt hears of what it hides.
func (s *Service) guard(attempt *settle.Attempt) quote.Guard {
	g := quote.Guard{Opaque: s.opaque, Hidden: attempt.Hide, Forms: s.forms}
	if s.limiter != nil {
		g.Take = s.takeAttempts
	}
	return g
}

// takeAttempts takes attempts of the subjects of a call.
func (s *Service) takeAttempts(ctx context.Context, n int) (giveBack func(n int), err error) {
	subjects, _ := ctx.Value(subjectsKey{}).([]ratelimit.Subject)
	if err := s.limiter.Take(ctx, n, subjects...); err != nil {
		return nil, err
	}
	return func(n int) {
		if n == 0 {
			return
		}
		ctx, cancel := detached(ctx)
		defer cancel()
		if err := s.limiter.Return(ctx, n, subjects...); err != nil {
			s.logger.WarnContext(ctx, "attempts that did not fail are counted", slog.Any("error", err))
		}
	}, nil
}

// forgetAttempts lets the limiter forget subjects that have all of their attempts.
func (s *Service) forgetAttempts(ctx context.Context) error {
	if forgetter, is := s.limiter.(interface{ Forget(context.Context) error }); is && !s.inTransaction {
		return forgetter.Forget(ctx)
	}
	return nil
}
