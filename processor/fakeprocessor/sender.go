package fakeprocessor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/couponkit/couponkit/processor"
)

// Sender sends one delivery. An error means that the receiver did not acknowledge it.
type Sender func(ctx context.Context, d Delivery) error

// Post returns a Sender that posts deliveries to a URL. A status of 200 to 299
// acknowledges. A nil client means [http.DefaultClient].
func Post(client *http.Client, url string) Sender {
	if client == nil {
		client = http.DefaultClient
	}
	return func(ctx context.Context, d Delivery) error {
		r, err := d.request(ctx, url)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody)) // read the rest, so that the connection can be reused
		return acknowledged(answer.StatusCode)
	}
}

// Serve returns a Sender that calls a handler without a network. A status of 200 to 299
// acknowledges.
func Serve(h http.Handler) Sender {
	return func(ctx context.Context, d Delivery) error {
		r, err := d.request(ctx, "/")
		if err != nil {
			return err
		}
		w := recorder{header: http.Header{}}
		h.ServeHTTP(&w, r)
		return acknowledged(max(w.status, http.StatusOK))
	}
}

// Events returns a Sender that parses deliveries and calls handle, as
// [Processor.Handler] would.
func (p *Processor) Events(handle func(context.Context, processor.Event) error) Sender {
	return func(ctx context.Context, d Delivery) error {
		e, err := p.ParseEvent(d.Payload, d.Signature)
		if err != nil || e.Type == processor.Ignored {
			return err
		}
		return handle(ctx, e)
	}
}

func (d Delivery) request(ctx context.Context, url string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.Payload))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(SignatureHeader, d.Signature)
	return r, nil
}

func acknowledged(status int) error {
	if status < 200 || status > 299 {
		return fmt.Errorf("the receiver answered %d %s", status, http.StatusText(status))
	}
	return nil
}

// recorder keeps the status of an answer and discards the rest.
type recorder struct {
	header http.Header
	status int
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return len(b), nil
}
