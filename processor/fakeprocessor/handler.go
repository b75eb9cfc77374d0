package fakeprocessor

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/couponkit/couponkit/processor"
)

const maxBody = 1 << 20

// Handler returns a webhook endpoint. It authenticates each delivery with
// [Processor.ParseEvent] and calls handle with the context of the request. The method
// Webhook of couponkit.Service returns such a function. The status is
//
//   - 200 if handle returns nil, or for a [processor.Ignored] event without calling
//     handle
//   - 400 if the signature or the event is invalid
//   - 405 if the method is not POST
//   - 413 if the body has more than 1 MiB
//   - 500 if handle returns an error; the event is then delivered again
//
// The response body contains no details.
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
