package fakeprocessor

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/couponkit/couponkit/processor"
)

const maxBody = 1 << 20

// Handler is a webhook endpoint: it authenticates each delivery with
// [Processor.ParseEvent] and hands the event to a function, with the context of the
// request. The Webhook method of couponkit.Service returns such a function. It answers
//
//   - 200 when the function has returned nil, or the event is processor.Ignored and
//     the function was not called;
//   - 400 when the signature is wrong or the event cannot be read;
//   - 405 when the method is not POST;
//   - 413 when the body has more than 1 MiB;
//   - 500 when the function has returned an error, so that the event comes again.
//
// The answers have no body that tells more.
func (p *Processor) Handler(handle func(context.Context, processor.Event) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(p.receive(w, r, handle))
	})
}

func (p *Processor) receive(
	w http.ResponseWriter, r *http.Request, handle func(context.Context, processor.Event) error,
) (status int) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusBadRequest
	}
	e, err := p.ParseEvent(body, r.Header.Get(SignatureHeader))
	if err != nil {
		return http.StatusBadRequest
	}
	if e.Type == processor.Ignored {
		return http.StatusOK
	}
	if err := handle(r.Context(), e); err != nil {
		return http.StatusInternalServerError
	}
	return http.StatusOK
}
