package payments

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/couponkit/couponkit/processor"
)

// Collector tells Prometheus how the simulated processor's sessions stand. An operator
// sees by it whether the service has recorded what was paid. It reads all sessions
// whenever it is asked.
type Collector struct {
	simulator *Simulator
	sessions  *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns the collector of a simulator.
func NewCollector(s *Simulator) *Collector {
	return &Collector{
		simulator: s,
		sessions: prometheus.NewDesc("simulator_sessions",
			"Payment sessions at the simulated processor, by how they stand.", []string{"state"}, nil),
	}
}

// Describe is part of prometheus.Collector.
func (c *Collector) Describe(into chan<- *prometheus.Desc) { into <- c.sessions }

// Collect is part of prometheus.Collector.
func (c *Collector) Collect(into chan<- prometheus.Metric) {
	count := map[string]int{"open": 0, "paid": 0, "unpaid": 0, "expired": 0}
	for _, s := range c.simulator.fake.Sessions() {
		count[stateOf(s)]++
	}
	for state, n := range count {
		into <- prometheus.MustNewConstMetric(c.sessions, prometheus.GaugeValue, float64(n), state)
	}
}

// stateOf returns the name of a session's state. A completed session is unpaid while a transfer is on
// its way, and after the transfer failed.
func stateOf(s processor.Session) string {
	switch {
	case s.Status == processor.SessionOpen:
		return "open"
	case s.Status == processor.SessionExpired:
		return "expired"
	case s.PaymentStatus.Settled():
		return "paid"
	}
	return "unpaid"
}
