package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/couponkit/couponkit"
)

// Metrics counts requests and what couponkit is asked, for Prometheus. It has a
// registry of its own. It is a couponkit.Observer.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	attempts *prometheus.CounterVec
	flags    *prometheus.CounterVec
}

var _ couponkit.Observer = (*Metrics)(nil)

// NewMetrics returns metrics that stand at 0.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Help: "How long requests took, by route and status.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 10),
		}, []string{"route", "status"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "couponkit_attempts_total", Help: "Calls of couponkit, by operation and outcome: ok, failed, cancelled by who called, or the first reason of a refusal.",
		}, []string{"operation", "outcome"}),
		flags: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "couponkit_flagged_payments_total", Help: "Payments that were recorded and that somebody should look at.",
		}, []string{"flag"}),
	}
	m.registry.MustRegister(m.requests, m.attempts, m.flags,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Register adds what else of a service is measured.
func (m *Metrics) Register(c prometheus.Collector) { m.registry.MustRegister(c) }

// Observe counts an attempt.
func (m *Metrics) Observe(_ context.Context, a couponkit.Attempt) {
	outcome := "ok"
	switch {
	case len(a.Reasons) > 0:
		outcome = a.Reasons[0].String()
	case errors.Is(a.Err, context.Canceled):
		outcome = "cancelled"
	case a.Err != nil:
		outcome = "failed"
	}
	m.attempts.WithLabelValues(string(a.Operation), outcome).Inc()
	if a.Flag != couponkit.FlagNone {
		m.flags.WithLabelValues(string(a.Flag)).Inc()
	}
}

func (m *Metrics) request(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
