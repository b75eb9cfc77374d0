package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/couponkit/couponkit/codes/codecsv"
)

// format is a form of data on standard output. It is a value of a flag.
type format string

const (
	tableFormat format = "table"
	jsonFormat  format = "json"
	csvFormat   format = "csv"
)

func (f *format) String() string { return string(f.or(tableFormat)) }

func (f *format) Type() string { return "format" }

// Set reads a format.
func (f *format) Set(text string) error {
	switch format(text) {
	case tableFormat, jsonFormat, csvFormat:
		*f = format(text)
		return nil
	}
	return usagef("must be table, json or csv")
}

// or returns the format, or a default if the command line names none.
func (f format) or(other format) format {
	if f == "" {
		return other
	}
	return f
}

// column is a column of a table and of CSV.
type column[T any] struct {
	name string
	cell func(T) any
}

// tableRows is how many rows are in memory until their columns have a width.
const tableRows = 1_000

// sheet prints rows of one kind. JSON has the whole items.
type sheet[T any] struct {
	tool    *tool
	columns []column[T]

	rows  []table.Row
	csv   *csv.Writer
	began bool
}

func newSheet[T any](t *tool, columns []column[T]) *sheet[T] {
	return &sheet[T]{tool: t, columns: columns, csv: csv.NewWriter(t.Out)}
}

func (s *sheet[T]) add(item T) error {
	switch s.tool.format.or(tableFormat) {
	case jsonFormat:
		return json.NewEncoder(s.tool.Out).Encode(item)
	case csvFormat:
		if err := s.header(); err != nil {
			return err
		}
		cells := make([]string, len(s.columns))
		for i, c := range s.columns {
			cells[i] = codecsv.Harmless(text(c.cell(item)))
		}
		return s.csv.Write(cells)
	case tableFormat:
	}
	row := make(table.Row, len(s.columns))
	for i, c := range s.columns {
		row[i] = printable(text(c.cell(item)))
	}
	if s.rows = append(s.rows, row); len(s.rows) < tableRows {
		return nil
	}
	return s.render()
}

// header writes the names of the columns once, also if there is no row.
func (s *sheet[T]) header() error {
	if s.began {
		return nil
	}
	s.began = true
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
	}
	return s.csv.Write(names)
}

// render writes the rows that are in memory as a table.
func (s *sheet[T]) render() error {
	if len(s.rows) == 0 {
		return nil
	}
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = 0 // as they are, which is how JSON and CSV name them
	w.SetStyle(style)
	names := make(table.Row, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
	}
	w.AppendHeader(names)
	w.AppendRows(s.rows)
	s.rows = s.rows[:0]
	w.SuppressTrailingSpaces()
	_, err := fmt.Fprintln(s.tool.Out, w.Render())
	return err
}

func (s *sheet[T]) close() error {
	switch s.tool.format.or(tableFormat) {
	case csvFormat:
		if err := s.header(); err != nil {
			return err
		}
		s.csv.Flush()
		return s.csv.Error()
	case tableFormat:
		return s.render()
	case jsonFormat:
	}
	return nil
}

// list prints a sequence. After an error of the sequence, the rows before it are printed.
func list[T any](t *tool, items iter.Seq2[T, error], columns []column[T]) error {
	s := newSheet(t, columns)
	for item, err := range items {
		if err == nil {
			err = s.add(item)
		}
		if err != nil {
			_ = s.close()
			return err
		}
	}
	return s.close()
}

// show prints one item: as a table, it has a row for each column.
func show[T any](t *tool, item T, columns []column[T]) error {
	if t.format.or(tableFormat) != tableFormat {
		s := newSheet(t, columns)
		if err := s.add(item); err != nil {
			return err
		}
		return s.close()
	}
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	w.SetStyle(style)
	for _, c := range columns {
		w.AppendRow(table.Row{c.name, printable(text(c.cell(item)))})
	}
	w.SuppressTrailingSpaces()
	_, err := fmt.Fprintln(t.Out, w.Render())
	return err
}

func text(cell any) string {
	if cell == nil {
		return ""
	}
	return fmt.Sprint(cell)
}

// printable replaces characters that would move the cursor of a terminal or change its colors.
func printable(cell string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, cell)
}

// say prints words. Nobody could be told of an error.
func (t *tool) say(form string, args ...any) {
	lines := t.withoutSecrets(fmt.Sprintf(form, args...))
	for line := range strings.SplitSeq(strings.TrimRight(lines, "\n"), "\n") {
		_, _ = fmt.Fprintln(t.Err, printable(line))
	}
}

// wordWriter says what is logged.
type wordWriter struct{ tool *tool }

func (w wordWriter) Write(b []byte) (int, error) {
	w.tool.say("%s", b)
	return len(b), nil
}

// progress shows a person how far long work has come. The function that it returns ends the line.
func (t *tool) progress(what string) (show func(done, of int64), end func()) {
	if !t.Terminal {
		return func(int64, int64) {}, func() {}
	}
	shown := false
	show = func(done, of int64) {
		shown = true
		if of > 0 {
			_, _ = fmt.Fprintf(t.Err, "\r%s: %d of %d (%d %%)", what, done, of, done*100/of)
		} else {
			_, _ = fmt.Fprintf(t.Err, "\r%s: %d", what, done)
		}
	}
	return show, func() {
		if shown {
			_, _ = fmt.Fprintln(t.Err)
		}
	}
}
