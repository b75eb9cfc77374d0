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
	// deliveryTime bounds the work for one delivery. Stripe's payment page waits up to ten seconds for
	// the answer before the customer can continue.
	deliveryTime = 4500 * time.Millisecond
	// endingTime is the part of deliveryTime that is reserved for the removal of a session's coupon.
	endingTime = time.Second
)

// Handler returns a webhook endpoint. It authenticates each delivery with
// [Processor.ParseEvent] and passes the event to handle. The method Webhook of
// couponkit.Service returns such a function. The status is
//
//   - 200 if handle returns nil, or for a [processor.Ignored] event without calling
//     handle
//   - 400 if the signature, the event or its origin is invalid
//   - 405 if the method is not POST
//   - 413 if the body has more than 1 MiB
//   - 503 if handle returns an error; Stripe then sends the event again
//
// handle must not return nil before the effect is stored. Its context ends after 4.5
// seconds. The reason of a refusal is logged. The response body does not contain it.
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
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
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

// afterEvent removes objects that the session does not need any more. The event is already stored, so a
// failure here does not change the answer.
func (p *Processor) afterEvent(ctx context.Context, session *stripe.CheckoutSession) {
	if session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endingTime)
	defer cancel()
	p.dropSessionCoupons(ctx, session)
}
