package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

//go:embed figure.svg.tmpl
var figureTemplate string

// Lengths in pixels.
const (
	width      = 880
	margin     = 28
	labelWidth = 186 // names of the ways, beside the first panel of each row
	gap        = 24  // between panels
	rowHeight  = 24
	headHeight = 34 // a panel's title
	axisHeight = 34 // its ticks
	lineHeight = 18 // of legend and notes
	titleSpace = 40
	valueRoom  = 96 // for the figure after the longest mark
)

// drawing is what the template writes.
type drawing struct {
	Width, Height int
	Title         string
	Texts         []text
	Panels        []drawnPanel
}

// Page is the drawing without the pixel that its edge takes.
func (d drawing) Page() drawing { return drawing{Width: d.Width - 1, Height: d.Height - 1} }

type text struct {
	X, Y   float64
	Class  string
	Anchor string
	Text   string
}

type drawnPanel struct {
	Ticks []tick
	Rows  []drawnRow
	Texts []text
}

type tick struct{ X, Top, Bottom float64 }

type drawnRow struct {
	Class        string
	Bar          bool
	X, Y, Length float64
}

// BarTop is the upper edge of a bar.
func (r drawnRow) BarTop() float64 { return r.Y - 7 }

// Dot is where a dot is drawn.
func (r drawnRow) Dot() float64 { return r.X + r.Length }

func (f figure) draw(results record.Results) ([]byte, error) {
	d := drawing{Width: width, Title: f.title}
	y := float64(margin + 16)
	d.Texts = append(d.Texts, text{X: margin, Y: y, Class: "title", Text: f.title})
	for i, line := range f.legend {
		d.Texts = append(d.Texts, text{X: margin, Y: y + float64(24+i*lineHeight), Class: "muted", Text: line})
	}
	top := y + titleSpace - 10 + float64(len(f.legend)*lineHeight)
	height := float64(headHeight + len(f.rows)*rowHeight + axisHeight)
	each := (width - 2*margin - labelWidth - float64(f.columns-1)*gap) / float64(f.columns)
	values, runs, err := f.values(results)
	if err != nil {
		return nil, err
	}
	for i, p := range f.panels {
		column, line := i%f.columns, i/f.columns
		box := area{left: margin + labelWidth + float64(column)*(each+gap), top: top + float64(line)*height, width: each}
		spanned := values[i]
		if f.common {
			spanned = slices.Concat(values...)
		}
		d.Panels = append(d.Panels, f.panel(p, values[i], f.scale.axis(spanned, box), box, column == 0))
	}
	lines := (len(f.panels) + f.columns - 1) / f.columns
	below := top + float64(lines)*height + 10
	for i, note := range notes(results, runs) {
		d.Texts = append(d.Texts, text{X: margin, Y: below + float64(i*16), Class: "note", Text: note})
		d.Height = int(below) + i*16 + margin - 8
	}
	var out bytes.Buffer
	err = template.Must(template.New("figure").Parse(figureTemplate)).Execute(&out, d)
	return out.Bytes(), err
}

// notes name the machine and the versions, as recorded.
func notes(results record.Results, runs int) []string {
	where := fmt.Sprintf("%s on %s, %s cores", results.Config("go"), results.Config("cpu"), results.Config("cores"))
	if server := results.Config("postgresql"); server != "" {
		where += "; PostgreSQL " + server
	}
	figures := "one run"
	if runs > 1 {
		figures = fmt.Sprintf("medians of %d runs", runs)
	}
	list := []string{fmt.Sprintf("%s; %s, %s", where, figures, results.Config("date"))}
	if peers := results.Config("peers"); peers != "" {
		list = append(list, peers)
	}
	return list
}

// area is where a panel's marks go.
type area struct{ left, top, width float64 }

// values are the medians by panel and row, and the least number of runs.
func (f figure) values(results record.Results) (values [][]float64, runs int, err error) {
	runs = math.MaxInt
	for _, p := range f.panels {
		var panel []float64
		for _, r := range f.rows {
			measured, err := results.Figure(p.cell.With("way", r.way))
			if err != nil {
				return nil, 0, err
			}
			panel, runs = append(panel, measured.Median), min(runs, measured.Runs)
		}
		values = append(values, panel)
	}
	return values, runs, nil
}

// base is the figure of this repository's first row.
func (f figure) base(values []float64) float64 {
	for i, r := range f.rows {
		if r.mark == ours {
			return values[i]
		}
	}
	return 0
}

func (f figure) panel(p panel, values []float64, axis axis, box area, labelled bool) drawnPanel {
	base := f.base(values)
	d := drawnPanel{Texts: []text{{X: box.left, Y: box.top + 16, Class: "panel", Text: p.title}}}
	rowsTop := box.top + headHeight
	bottom := rowsTop + float64(len(f.rows)*rowHeight)
	for _, at := range axis.ticks {
		x := axis.x(at)
		d.Ticks = append(d.Ticks, tick{X: x, Top: rowsTop - 4, Bottom: bottom})
		d.Texts = append(d.Texts, text{X: x, Y: bottom + 16, Class: "note", Anchor: "middle", Text: f.scale.tick(at)})
	}
	for i, r := range f.rows {
		y := rowsTop + (float64(i)+0.5)*rowHeight
		x := axis.x(values[i])
		d.Rows = append(d.Rows, drawnRow{
			Class: r.mark.class(), Bar: f.scale == rate, X: box.left, Y: y, Length: x - box.left,
		})
		d.Texts = append(d.Texts, text{X: x + 10, Y: y + 4, Class: "value " + r.mark.class(), Text: f.scale.value(values[i], base)})
		if labelled {
			d.Texts = append(d.Texts, text{X: margin, Y: y + 4, Class: "label " + r.mark.class(), Text: r.label})
		}
	}
	return d
}

func (m mark) class() string {
	switch m {
	case ours:
		return "ours"
	case reference:
		return "reference"
	case other:
	}
	return "other"
}

// axis turns values into positions.
type axis struct {
	ticks []float64
	x     func(value float64) float64
}

func (s scale) axis(values []float64, box area) axis {
	least, most := math.Inf(1), 0.0
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	room := box.width - valueRoom
	if s == rate {
		step := niceStep(most)
		a := axis{x: func(v float64) float64 { return box.left + v/most*room }}
		for at := 0.0; at <= most; at += step {
			a.ticks = append(a.ticks, at)
		}
		return a
	}
	low, high := math.Floor(math.Log10(least)), math.Log10(most)
	a := axis{x: func(v float64) float64 { return box.left + 6 + (math.Log10(v)-low)/(high-low)*(room-6) }}
	for power := low; power <= math.Ceil(high); power++ {
		if a.x(math.Pow(10, power)) <= box.left+box.width-20 {
			a.ticks = append(a.ticks, math.Pow(10, power))
		}
	}
	return a
}

// niceStep is 1, 2 or 5 times a power of ten, two to four of which make most.
func niceStep(most float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(most/2)))
	for _, factor := range []float64{5, 2} {
		if most/(factor*power) >= 2 {
			return factor * power
		}
	}
	return power
}

func (s scale) tick(value float64) string {
	if s != duration {
		return thousands(value)
	}
	return nanoseconds(value)
}

// value writes a figure, and for a duration how many times ours it is.
func (s scale) value(value, base float64) string {
	if s != duration {
		return thousands(value)
	}
	times := value / base
	switch {
	case value == base:
		return nanoseconds(value)
	case times < 9.95:
		return fmt.Sprintf("%s · %.1f×", nanoseconds(value), times)
	}
	return fmt.Sprintf("%s · %s×", nanoseconds(value), thousands(math.Round(times)))
}

// nanoseconds writes three digits at most: "9.4 ns", "118 ns", "5.1 µs".
func nanoseconds(value float64) string {
	unit := "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if value < 999.5 {
			break
		}
		value, unit = value/1000, next
	}
	if value < 9.95 && value != math.Trunc(value) {
		return fmt.Sprintf("%.1f %s", value, unit)
	}
	return fmt.Sprintf("%.0f %s", value, unit)
}

// thousands writes a whole number with commas, of three digits that count.
func thousands(value float64) string {
	if value >= 1000 {
		digits := math.Pow(10, math.Floor(math.Log10(value))-2)
		value = math.Round(value/digits) * digits
	}
	whole := fmt.Sprintf("%.0f", value)
	var groups []string
	for len(whole) > 3 {
		groups = append([]string{whole[len(whole)-3:]}, groups...)
		whole = whole[:len(whole)-3]
	}
	return strings.Join(append([]string{whole}, groups...), ",")
}
