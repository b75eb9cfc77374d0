package main

import "github.com/couponkit/couponkit/internal/benchmarks/record"

// figure is one chart: panels of the same rows, each row a way.
type figure struct {
	// name is that of the file, results where the figures come from.
	name, results string
	title         string
	// legend says how to read the figure, a line each.
	legend  []string
	columns int
	panels  []panel
	rows    []row
	scale   scale
	// common gives all panels one axis, so that they can be compared.
	common bool
}

type panel struct {
	title string
	// cell is measured for each row, with the row's way.
	cell record.Cell
}

type row struct {
	way, label string
	mark       mark
}

// mark tells rows apart.
type mark int

const (
	other     mark = iota
	ours           // this repository
	reference      // a bound, and nothing that anybody would use
)

// scale is how values are laid out and written.
type scale int

const (
	// duration in ns, less is better: dots on a logarithmic axis, with the ratio to
	// this repository's first row.
	duration scale = iota
	// rate per second, more is better: bars from 0.
	rate
	// rateOfAnyOrder is a rate whose least and greatest lie too far apart for bars:
	// dots on a logarithmic axis.
	rateOfAnyOrder
)

func figures() []figure {
	return []figure{quoteFigure(), validityFigure(), allowListFigure(), serviceFigure()}
}

func quoteFigure() figure {
	f := figure{
		name: "quote", results: "quote.txt", title: "Pricing a cart: 12.5 % off, spread over its lines", columns: 2,
		legend: []string{
			"Time for one quote, logarithmic; less is better. Beside it, how many times couponkit's with a reused result.",
			"Unchecked sums: the same arithmetic on int64 without a single check, a bound. go-money has no largest remainder.",
		},
		rows: []row{
			{"floor", "unchecked sums", reference},
			{"couponkit", "couponkit, reused result", ours},
			{"couponkit-fresh", "couponkit, new result", ours},
			{"plain-int64", "int64 written plainly", other},
			{"go-money", "Rhymond/go-money", other},
			{"govalues", "govalues/decimal", other},
			{"shopspring", "shopspring/decimal", other},
		},
	}
	for _, size := range []struct{ lines, title string }{{"1", "1 line"}, {"10", "10 lines"}, {"100", "100 lines"}, {"1000", "1,000 lines"}} {
		cell := record.Cell{Name: "Quote", Unit: "ns/op"}.With("discount", "percentage").With("lines", size.lines)
		f.panels = append(f.panels, panel{size.title, cell})
	}
	return f
}

func validityFigure() figure {
	cell := record.Cell{Name: "Decide", Unit: "ns/op"}.With("answer", "yes").With("addresses", "1000")
	return figure{
		name: "validity", results: "validity.txt", title: "May this customer use this coupon?", columns: 2,
		legend: []string{
			"Time for one decision with an allow-list of 1,000 addresses, logarithmic; less is better. Beside it, how many times couponkit's.",
			"couponkit finds every reason, and with a cart prices it too; the others answer yes or no.",
		},
		panels: []panel{{"Cart of 10 lines", cell.With("lines", "10")}, {"Before there is a cart", cell.With("lines", "0")}},
		rows: []row{
			{"couponkit", "couponkit", ours},
			{"by-hand", "the same rules by hand", other},
			{"expr", "expr, variables prepared", other},
			{"expr-built-per-call", "expr, built for each call", other},
			{"cel-go", "cel-go, variables prepared", other},
			{"cel-go-built-per-call", "cel-go, built for each call", other},
		},
	}
}

func allowListFigure() figure {
	f := figure{
		name: "allowlist", results: "validity.txt", title: "Finding one address in an allow-list", columns: 2, common: true,
		legend: []string{
			"Time to look up an address as a customer types it, all parts of the list in turn, logarithmic; less is better.",
			"Beside it, how many times couponkit's.",
		},
		rows: []row{
			{"couponkit", "couponkit", ours},
			{"map", "map, lower-cased", other},
			{"sorted", "sorted, lower-cased", other},
			{"linear", "linear, lower-cased", other},
			{"equal-fold", "linear, EqualFold", other},
		},
	}
	for _, size := range []struct{ n, title string }{{"1", "1 address"}, {"10", "10 addresses"}, {"1000", "1,000 addresses"}, {"100000", "100,000 addresses"}} {
		cell := record.Cell{Name: "AllowList", Unit: "ns/op"}.With("asked", "various").With("addresses", size.n)
		f.panels = append(f.panels, panel{size.title, cell})
	}
	return f
}

func serviceFigure() figure {
	f := figure{
		name: "service", results: "service.txt", title: "The reference service over HTTP", columns: 2, scale: rateOfAnyOrder, common: true,
		legend: []string{
			"Requests or whole checkouts a second, logarithmic; more is better. A checkout is four requests or more and a webhook, on one coupon.",
			"Echo: a handler that only sends back what it got, one request each, a bound.",
		},
		rows: []row{
			{"memstore", "in memory", ours},
			{"sqlite", "SQLite", ours},
			{"postgresql", "PostgreSQL", ours},
			{"echo", "echo", reference},
		},
	}
	for _, connections := range []string{"1", "8", "64", "256"} {
		cell := record.Cell{Name: "Service", Unit: "requests/s"}.With("connections", connections)
		at := connections + " connections"
		if connections == "1" {
			at = "1 connection"
		}
		f.panels = append(f.panels,
			panel{"Apply a coupon, " + at, cell.With("request", "apply")},
			panel{"Check out, " + at, cell.With("request", "checkout")})
	}
	return f
}
