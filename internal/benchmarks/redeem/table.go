package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// table is a part's results in Markdown, or nothing if there are none.
func (r results) table(p part) string {
	clients, rows := r.measured(p)
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	before := thousands(float64(p.redemptions)) + " redemptions before"
	if rows[0].filled != "" {
		before += " where it is seeded"
	}
	fmt.Fprintf(&b, "**%s**, %s. %s\n\n| |", p.title, before, r.legend(p, clients, rows))
	for _, n := range clients {
		fmt.Fprintf(&b, " %d client%s |", n, plural(n))
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(clients)) + "\n")
	for _, row := range rows {
		b.WriteString("| " + row.label())
		for _, n := range clients {
			b.WriteString(" | " + r.entry(p.cell(row, n), p.cell(rows[0], n)))
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// measured are the columns and rows of which there is anything.
func (r results) measured(p part) (clients []int, rows []row) {
	for _, row := range p.rows {
		if slices.ContainsFunc(p.clients, func(n int) bool { return len(r[p.cell(row, n)]) > 0 }) {
			rows = append(rows, row)
		}
	}
	for _, n := range p.clients {
		if slices.ContainsFunc(rows, func(row row) bool { return len(r[p.cell(row, n)]) > 0 }) {
			clients = append(clients, n)
		}
	}
	return clients, rows
}

// legend says how to read a table.
func (r results) legend(p part, clients []int, rows []row) string {
	first := rows[0].label()
	var rounds []int
	for _, n := range clients {
		for _, row := range rows {
			if done := len(r[p.cell(row, n)]); done > 0 {
				rounds = append(rounds, done)
			}
		}
	}
	least, most := slices.Min(rounds), slices.Max(rounds)
	if most == 1 {
		return fmt.Sprintf("Each cell, one round: **redemptions a second** (times %s), p50 / p99.", first)
	}
	count := strconv.Itoa(most)
	if least < most {
		count = fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprintf("Each cell, of %s rounds: median of the **redemptions a second** (median of the rounds' ratios to %s), "+
		"slowest to fastest round, medians of p50 / p99.", count, first)
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// entry is one cell of a table.
func (r results) entry(c, first cell) string {
	rounds := r[c]
	if len(rounds) == 0 {
		return "–"
	}
	rates := each(rounds, perSecond)
	text := "**" + thousands(median(rates)) + "**"
	if ratio, known := r.ratio(c, first, perSecond); known {
		text += fmt.Sprintf(" (%sx)", times(ratio))
	}
	if len(rounds) > 1 {
		text += fmt.Sprintf(" <br> %s to %s", thousands(slices.Min(rates)), thousands(slices.Max(rates)))
	}
	return text + fmt.Sprintf(" <br> %s / %s", duration(median(each(rounds, p50))), duration(median(each(rounds, p99))))
}

// times has two digits at least.
func times(ratio float64) string {
	if ratio >= 10 {
		return thousands(ratio)
	}
	return fmt.Sprintf("%.1f", ratio)
}

// duration has three digits.
func duration(ns float64) string {
	switch unit := time.Duration(ns); {
	case unit >= time.Second:
		return fmt.Sprintf("%.2f s", ns/1e9)
	case unit >= 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", ns/1e6)
	case unit >= 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	}
	return fmt.Sprintf("%.2f ms", ns/1e6)
}

// thousands writes a number without decimals and its thousands apart.
func thousands(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
