package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// requestTime is the time limit of one request.
const requestTime = 20 * time.Second

// contentPolicy allows pages to load only files of this service. Scripts and styles inside a page are
// forbidden.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// transportPolicy tells browsers to use https for a year. It covers this host only, because subdomains
// may belong to others.
const transportPolicy = "max-age=31536000"

// Wrap puts around a mux what every request of the service gets, whoever registered
// its handler: security headers, the refusal of requests from other sites, a
// deadline, a log line, metrics, and an answer when a handler panics.
func (a *API) Wrap(mux *http.ServeMux) http.Handler {
	guarded := a.origins.Handler(a.withProblems(mux))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		secure(w.Header())
		if a.byHTTPS() {
			w.Header().Set("Strict-Transport-Security", transportPolicy)
		}
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		recorded := &recorder{ResponseWriter: w}
		r = r.WithContext(ctx)
		defer func() {
			route := r.Pattern
			if route == "" { // the request did not reach the mux
				_, route = mux.Handler(r)
			}
			if failure := recover(); failure != nil {
				if err, is := failure.(error); is && errors.Is(err, http.ErrAbortHandler) {
					panic(failure)
				}
				a.Logger.ErrorContext(ctx, "a handler panicked", slog.String("route", route), slog.Any("panic", failure),
					slog.String("stack", string(debug.Stack())))
				if recorded.status == 0 {
					a.problem(recorded, r, problem{Status: http.StatusInternalServerError, Code: "internal", Title: "Something went wrong here."})
				}
			}
			took := time.Since(began)
			a.Metrics.request(route, recorded.status, took)
			// Do not log the path: a customer may have typed a code into it.
			a.Logger.InfoContext(ctx, "request", slog.String("method", r.Method), slog.String("route", route),
				slog.Int("status", recorded.status), slog.Duration("took", took))
		}()
		guarded.ServeHTTP(recorded, r)
	})
}

func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
}

// recorder records the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// withProblems replaces error answers that are plain text or empty by problems. The mux gives such
// answers for unknown paths.
func (a *API) withProblems(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&problemWriter{ResponseWriter: w, write: func(p problem) { a.problem(w, r, p) }}, r)
	})
}

type problemWriter struct {
	http.ResponseWriter
	write    func(problem)
	replaced bool
}

func (w *problemWriter) WriteHeader(status int) {
	content := w.Header().Get("Content-Type")
	if status < http.StatusBadRequest || content != "" && content != "text/plain; charset=utf-8" {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.replaced = true
	p := problem{Status: status, Code: "internal", Title: http.StatusText(status)}
	if status < http.StatusInternalServerError {
		p.Code = "bad_request"
	}
	switch status {
	case http.StatusBadRequest:
		p.Title = "The request could not be understood."
	case http.StatusNotFound:
		p.Code, p.Title = "not_found", "There is no such page."
	case http.StatusMethodNotAllowed:
		p.Code, p.Title = "method_not_allowed", "The page does not know this method."
	case http.StatusRequestEntityTooLarge:
		p.Code, p.Title = "too_large", "The request is too large."
	case http.StatusServiceUnavailable:
		p = unavailable("unavailable", "The service is not available at the moment.")
	}
	w.write(p)
}

func (w *problemWriter) Write(b []byte) (int, error) {
	if w.replaced {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *problemWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
