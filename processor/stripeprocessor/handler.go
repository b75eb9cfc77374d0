package stripeprocessor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/processor"
)

const (
	maxDelivery = 1 << 20
	// deliveryTime bounds the work for one delivery: Stripe's payment page waits up to
	// ten seconds for the answer before it lets the customer go on.
	deliveryTime = 4500 * time.Millisecond
	// endingTime is what of it may go to the removal of a session's coupon.
	endingTime = time.Second
)

// Handler is a webhook endpoint: it authenticates each delivery with
// [Processor.ParseEvent] and hands the event to a function, which the Webhook method of
// couponkit.Service returns. It answers
//
//   - 200 when the function has returned nil, or the event is processor.Ignored and
//     the function was not called;
//   - 400 when the signature is wrong, or the event cannot be read or is of another
//     origin;
//   - 405 when the method is not POST, 413 when the body has more than 1 MiB;
//   - 503 when the function has returned an error, so that Stripe sends the event
//     again.
//
// The function must return nil only when the effect is stored. Its context ends
// after four and a half seconds. The answers do not tell more than their status; the
// reason goes to the logger.
func (p *Processor) Handler(handle func(context.Context, processor.Event) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := p.receive(w, r, handle)
		if status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		w.WriteHeader(status)
	})
}

func (p *Processor) receive(w http.ResponseWriter, r *http.Request, handle func(context.Context, processor.Event) error) int {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		var tooLong *http.MaxBytesError
		if errors.As(err, &tooLong) {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusBadRequest
	}
	ctx, cancel := context.WithTimeout(r.Context(), deliveryTime)
	defer cancel()
	event, session, err := p.parse(body, r.Header.Get(SignatureHeader))
	if err != nil {
		p.options.Logger.WarnContext(ctx, "webhook delivery is refused", slog.Any("error", err))
		return http.StatusBadRequest
	}
	if event.Type == processor.Ignored {
		return http.StatusOK
	}
	if err := handle(ctx, event); err != nil {
		p.options.Logger.ErrorContext(ctx, "webhook event could not be stored", slog.String("event", event.ID),
			slog.String("session", event.SessionID), slog.Any("error", err))
		return http.StatusServiceUnavailable
	}
	p.afterEvent(ctx, session)
	return http.StatusOK
}

// afterEvent removes what the session does not need any more. The event is stored
// already, so nothing that fails here matters for the answer.
func (p *Processor) afterEvent(ctx context.Context, session *stripe.CheckoutSession) {
	if session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endingTime)
	defer cancel()
	p.dropSessionCoupons(ctx, session)
}
