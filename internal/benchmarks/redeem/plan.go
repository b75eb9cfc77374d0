package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

// part is a table: ways beside each other under one condition.
type part struct {
	name, title string
	rows        []row
	clients     []int
	network     time.Duration
	commit      time.Duration
	content
}

// row is one line of a table: a way, under the part's condition and one of its own.
// The first row is what the others are compared with.
type row struct {
	way       string
	processes int    // that share the clients, unless 0
	filled    filled // what the database has before, unless the part says it
}

// filled compares a database that has redemptions with one that has none.
type filled string

const (
	asSeeded filled = "seeded"
	asEmpty  filled = "empty"
)

// label names the row in its table.
func (r row) label() string {
	switch {
	case r.processes == 1:
		return r.way + ", one process"
	case r.processes > 1:
		return fmt.Sprintf("%s, %d processes", r.way, r.processes)
	case r.filled != "":
		return r.way + ", " + string(r.filled)
	}
	return r.way
}

func rowsOf(ways ...string) []row {
	rows := make([]row, len(ways))
	for i, way := range ways {
		rows[i].way = way
	}
	return rows
}

// content is what a database has before.
type content struct{ coupons, redemptions int }

const seeded = 200_000

// parts are all that is measured.
func parts() []part {
	hot, many := content{1, seeded}, content{10_000, seeded}
	return []part{
		{
			name: "hot", title: "One hot coupon", content: hot, clients: []int{1, 2, 8, 64, 256},
			rows: rowsOf("textbook", "serializable", "conditional", "slots", "single", "batched", "ceiling", "redis", "redis-pipelined"),
		},
		{
			name: "many", title: "10,000 coupons", content: many, clients: []int{2, 8, 64},
			rows: rowsOf("textbook", "serializable", "conditional", "slots", "single", "batched", "ceiling"),
		},
		{
			name: "slow", title: "One hot coupon, slow disk and network (fsync +1 ms, round trip +0.5 ms)", content: hot,
			clients: []int{64, 256}, network: 500 * time.Microsecond, commit: time.Millisecond,
			rows: rowsOf("textbook", "conditional", "batched", "ceiling"),
		},
		{
			name: "processes", title: "One hot coupon, from several processes", content: hot, clients: []int{64, 256},
			rows: []row{{way: "batched", processes: 1}, {way: "batched", processes: 4}},
		},
		{
			name: "empty", title: "One hot coupon, a database filled from empty and a seeded one", content: hot, clients: []int{64, 256},
			rows: []row{{way: "batched", filled: asSeeded}, {way: "batched", filled: asEmpty}, {way: "ceiling", filled: asEmpty}},
		},
	}
}

// cell is what is measured once in every round.
type cell struct {
	row
	clients int
	network time.Duration
	commit  time.Duration
	content content
}

func (p part) cell(r row, clients int) cell {
	c := cell{row: r, clients: clients, network: p.network, commit: p.commit, content: p.content}
	if r.filled == asEmpty {
		c.content.redemptions = 0
	}
	return c
}

// planned finds a cell by the name of its part and the label of its row.
func planned(name, label string, clients int) cell {
	for _, p := range parts() {
		for _, r := range p.rows {
			if p.name == name && r.label() == label {
				return p.cell(r, clients)
			}
		}
	}
	return cell{}
}

// benchmark is the name that all cells have in recorded results, before their keys.
const benchmark = "Redeem"

// keys tell the cell from all others, in the order in which they are written.
func (c cell) keys() [][2]string {
	keys := [][2]string{
		{"coupons", strconv.Itoa(c.content.coupons)}, {"network", c.network.String()}, {"commit-delay", c.commit.String()},
	}
	if c.processes > 0 {
		keys = append(keys, [2]string{"processes", strconv.Itoa(c.processes)})
	}
	if c.filled != "" {
		keys = append(keys, [2]string{"filled", string(c.filled)})
	}
	return append(keys, [2]string{"clients", strconv.Itoa(c.clients)}, [2]string{"way", c.way})
}

// line is a round of the cell in Go's benchmark format.
func (c cell) line(s sample) string {
	var name strings.Builder
	name.WriteString("Benchmark" + benchmark)
	for _, k := range c.keys() {
		name.WriteString("/" + k[0] + "=" + k[1])
	}
	return fmt.Sprintf("%s %d %.2f %s %d %s %d %s\n", name.String(), s.calls, s.perSecond, unitRate,
		s.p50.Nanoseconds(), unitP50, s.p99.Nanoseconds(), unitP99)
}

// Units of recorded results.
const (
	unitRate = "redemptions/s"
	unitP50  = "p50-ns"
	unitP99  = "p99-ns"
)

// recorded is the cell's name in recorded results.
func (c cell) recorded(unit string) record.Cell {
	name := record.Cell{Name: benchmark, Unit: unit}
	for _, k := range c.keys() {
		name = name.With(k[0], k[1])
	}
	return name
}
