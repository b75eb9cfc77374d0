package main

import (
	"strings"
	"testing"
)

func TestMediansAreCompared(t *testing.T) {
	t.Parallel()
	b := &bench{settings: settings{rounds: 3, connections: []int{64}}}
	of := func(rates ...int64) (rounds [][]cell) {
		for _, done := range rates {
			rounds = append(rounds, []cell{{connections: 64, checkout: result{Seconds: 2, Done: 2 * done, P50: 1500, P99: 2500}}})
		}
		return rounds
	}
	text := b.table("sqlite", []way{{name: "before"}, {name: "now"}}, [][][]cell{of(10, 99, 20), of(31, 30, 1)})
	for _, row := range []string{"| 64 | before | 20 | 1.5 | 2.5 | 1.00 |", "| 64 | now | 30 | 1.5 | 2.5 | 1.50 |"} {
		if !strings.Contains(text, row) {
			t.Error(text)
		}
	}
}
