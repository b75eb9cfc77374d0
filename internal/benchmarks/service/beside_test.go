package main

import (
	"strings"
	"testing"
)

func TestMediansAreCompared(t *testing.T) {
	t.Parallel()
	b := &bench{settings: settings{besides: "31f2763", rounds: 3, connections: []int{64}}}
	of := func(rates ...int64) (reports []report) {
		for _, done := range rates {
			reports = append(reports, report{cells: []cell{{connections: 64, checkout: result{Seconds: 2, Done: 2 * done}}}})
		}
		return reports
	}
	text := compared(b, "sqlite", [2][]report{of(10, 99, 20), of(31, 30, 1)})
	if !strings.Contains(text, "| 64 | 20 | 30 | 1.50 |") {
		t.Error(text)
	}
}
