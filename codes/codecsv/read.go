package codecsv

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// ErrTruncated means that a file stops in the middle of a row.
var ErrTruncated = errors.New("the file stops in the middle of a row")

// Error means that a file cannot be read any further.
type Error struct {
	// Row is the number of the row, counted from 1, as spreadsheets count.
	Row int64
	// Err is [ErrTruncated], or the error of the [io.Reader].
	Err error
}

// Error returns a message with the number of the row.
func (e *Error) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Options are the options of a [Reader].
type Options struct {
	// Location is the zone of instants that have none, and of dates. A nil Location means UTC.
	Location *time.Location
	// Ignore names columns that are not read, though they change who may use a code, when and how often.
	Ignore []string
}

// Column is a column of a file.
type Column struct {
	// Name is the name in the first row.
	Name string
	// Field is the JSON name of what the column has, or empty if the column is ignored.
	Field string
}

// Row is a row of a file. It is accepted, or refused with a Refusal.
type Row struct {
	// Number is the number of the row, as spreadsheets count: the header is row 1 unless empty rows come first.
	Number int64
	// Draft describes the code. In a refused row, it is incomplete.
	Draft coupon.CodeDraft
	// Active is false if the code is switched off.
	Active bool
	// UsedCount is how often the code was used before. MaxUses of the Draft includes these uses; see Remaining.
	UsedCount int64
	// Refusal is nil, or a [*validation.Error] that names every invalid field.
	Refusal error
}

// Remaining returns the draft with the uses that are left. left is false if the code was used as often as it may be.
func (row Row) Remaining() (draft coupon.CodeDraft, left bool) {
	limit, limited := row.Draft.MaxUses.Value()
	if !limited {
		return row.Draft, true
	}
	if int64(limit) <= row.UsedCount {
		return row.Draft, false
	}
	row.Draft.MaxUses = coupon.Set(limit - int(row.UsedCount))
	return row.Draft, true
}

// Reader reads the rows of a file. It is not safe for concurrent use.
type Reader struct{ file }

// file is a file whose header was read.
type file struct {
	scanner  scanner
	columns  columns
	location *time.Location
	row      int64
}

// NewReader reads the header of a file. The error is a [*validation.Error] if the file is no CSV, or its header does not
// name a column of codes, or names a field twice. Otherwise it is an [*Error].
func NewReader(file io.Reader, o Options) (*Reader, error) {
	r := new(Reader)
	if err := r.open(file, o, columnsOf); err != nil {
		return nil, err
	}
	return r, nil
}

// open reads the header of a file. of returns the columns of a header.
func (r *file) open(in io.Reader, o Options, of func(header record) columns) error {
	if in == nil {
		return validation.New("file", validation.Required, "is required")
	}
	r.scanner, r.location = scanner{in: bufio.NewReader(in)}, cmp.Or(o.Location, time.UTC)
	if err := r.checkBeginning(); err != nil {
		return err
	}
	header, err := r.header()
	if err != nil {
		return err
	}
	if header == "" {
		return validation.New("file", validation.Required, "the file is empty")
	}
	r.columns = r.bestColumns(header, of)
	if r.columns.headless {
		r.scanner.in = bufio.NewReader(io.MultiReader(strings.NewReader(header+"\n"), r.scanner.in))
		r.row--
	}
	r.columns.ignore(o.Ignore)
	return r.columns.validate()
}

// checkBeginning skips a byte order mark. It refuses files that are not CSV.
func (r *file) checkBeginning() error {
	const zip, mark = "PK\x03\x04", "\xef\xbb\xbf"
	beginning, err := r.scanner.in.Peek(len(zip))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return &Error{Row: 1, Err: err}
	case bytes.HasPrefix(beginning, []byte(zip)):
		return validation.New("file", validation.Malformed, "is a file of a spreadsheet program: save it as CSV (UTF-8)")
	case bytes.HasPrefix(beginning, []byte("\xff\xfe")), bytes.HasPrefix(beginning, []byte("\xfe\xff")), bytes.IndexByte(beginning, 0) >= 0:
		return validation.New("file", validation.Malformed, "is not UTF-8: save it as CSV (UTF-8)")
	case bytes.HasPrefix(beginning, []byte(mark)):
		_, err = r.scanner.in.Discard(len(mark))
		return err
	}
	return nil
}

// separators are the possible separators, the most frequent first.
const separators = ",;\t|"

// header returns the text of the first row that is neither empty nor a separator line. A separator
// line, such as sep=;, sets the separator.
func (r *file) header() (string, error) {
	for {
		r.row++
		text, ended, err := r.line()
		if err != nil {
			return "", err
		}
		named, is := strings.CutPrefix(text, "sep=")
		if is && r.scanner.separator == 0 && len(named) == 1 && strings.Contains(separators, named) {
			r.scanner.separator = named[0]
		} else if strings.Trim(text, separators+" \"") != "" || ended {
			return text, nil
		}
	}
}

// line returns the text of a row with its quotation marks. ended reports whether the file has ended.
func (r *file) line() (text string, ended bool, err error) {
	var row strings.Builder
	inside := false
	for {
		b, err := r.scanner.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && inside:
			return "", true, &Error{Row: r.row, Err: ErrTruncated}
		case errors.Is(err, io.EOF):
			return row.String(), true, nil
		case err != nil:
			return "", false, &Error{Row: r.row, Err: err}
		case !inside && (b == '\n' || b == '\r'):
			if err := r.scanner.endRow(b); err != nil {
				return "", false, &Error{Row: r.row, Err: err}
			}
			return row.String(), false, nil
		case row.Len() == MaxRowBytes:
			return "", false, validation.New("file", validation.TooLong, fmt.Sprintf("the first row has more than %d bytes", MaxRowBytes))
		}
		inside = inside != (b == '"')
		row.WriteByte(b)
	}
}

// bestColumns splits a header. If the separator is unknown, it uses the separator that finds most known
// columns.
func (r *file) bestColumns(header string, of func(record) columns) (best columns) {
	choices := separators
	if r.scanner.separator != 0 {
		choices = string(r.scanner.separator)
	}
	for _, separator := range []byte(choices) {
		s := scanner{in: bufio.NewReader(strings.NewReader(header)), separator: separator}
		names, _ := s.next() // reading from a string cannot fail
		c := of(names)
		if best.names == nil || c.known() > best.known() {
			best, r.scanner.separator = c, separator
		}
	}
	return best
}

// Ignored returns the names of the columns that are not read, in their order.
func (r *file) Ignored() (names []string) {
	for _, c := range r.Columns() {
		if c.Field == "" && c.Name != "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// Columns returns the columns in their order, also those that are ignored.
func (r *file) Columns() []Column {
	all := make([]Column, len(r.columns.names))
	for i, name := range r.columns.names {
		all[i] = Column{Name: original(name), Field: r.columns.fields[i].name()}
	}
	return all
}

// Rows returns the rows after the header, each of them accepted or refused. After an [*Error], the sequence ends. Rows
// reads on where an earlier sequence has stopped.
func (r *Reader) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for read, err := range r.records() {
			switch {
			case err != nil:
				yield(Row{Number: r.row}, err)
				return
			case !yield(r.rowOf(read), nil):
				return
			}
		}
	}
}

// records are the rows that are not blank, as text. After an error, the sequence ends.
func (r *file) records() iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for {
			r.row++
			read, err := r.scanner.next()
			switch {
			case err == nil && (read.finished || read.unended && !read.open && read.blank()):
				r.row--
				return
			case err == nil && (read.open || read.unended && len(read.cells) < len(r.columns.names)):
				err = ErrTruncated
			}
			if err != nil {
				yield(record{}, &Error{Row: r.row, Err: err})
				return
			}
			if !read.blank() && !yield(read, nil) {
				return
			}
		}
	}
}

// check refuses a row whose cells are not to be told from each other.
func (r *file) check(read record) error {
	var faults validation.Error
	switch {
	case read.tooLong:
		faults.Add("row", validation.TooLong, fmt.Sprintf("a row has at most %d bytes and %d cells", MaxRowBytes, MaxColumns))
	case read.stray:
		faults.Add("row", validation.Malformed, "has text after a closing quotation mark")
	case len(read.cells) > len(r.columns.names) && strings.Join(read.cells[len(r.columns.names):], "") != "":
		faults.Add("row", validation.Mismatch, fmt.Sprintf("has %d cells, and the first row has %d", len(read.cells), len(r.columns.names)))
	}
	return faults.Err()
}

// cell returns a cell of a row. Missing cells at the end are empty, because spreadsheets omit them.
func (r record) cell(i int) string {
	if i < len(r.cells) {
		return r.cells[i]
	}
	return ""
}

// rowOf reads the cells of a row.
func (r *Reader) rowOf(read record) Row {
	row := Row{Number: r.row, Active: true}
	if row.Refusal = r.check(read); row.Refusal != nil {
		return row
	}
	var faults validation.Error
	limited := false
	for i, f := range r.columns.fields {
		cell := read.cell(i)
		if f == code && shortened.MatchString(cell) {
			faults.Add(f.name(), validation.Malformed, "is a number that a spreadsheet has shortened: format the column as text")
			continue
		}
		limited = limited || f == limitval && strings.TrimSpace(cell) != ""
		faults.At(f.name(), row.set(f, original(cell), r.location))
	}
	if r.columns.talon && !limited {
		row.Draft.MaxUses = coupon.Set(1)
	}
	faults.Merge("", row.Draft.Validate(r.location))
	row.Refusal = faults.Err()
	return row
}

// set reads a cell. An empty cell leaves its field unchanged.
func (row *Row) set(f field, cell string, location *time.Location) (err error) {
	if strings.TrimSpace(cell) == "" {
		if f == code {
			return validation.New("", validation.Required, "a code is required")
		}
		return nil
	}
	switch f {
	case code:
		row.Draft.Code = cell
	case owner:
		row.Draft.Owner, err = coupon.TypedOwner(cell)
		if err != nil {
			row.Draft.Owner = coupon.Owner{}
		}
	case recipient:
		row.Draft.Owner = coupon.OwnerID(cell)
	case address:
		row.Draft.Owner, err = coupon.ParseOwner(coupon.OwnerEmail(cell).String())
		if err != nil {
			row.Draft.Owner = coupon.Owner{}
		}
	case maxUses, limitval:
		return row.setLimit(f, cell)
	case usedCount:
		var n int
		n, err = count(cell)
		row.UsedCount = int64(n)
	case expiresAt:
		row.Draft.ExpiresAt, err = moment(cell, location)
		if err != nil {
			row.Draft.ExpiresAt = ""
		}
	case active:
		row.Active, err = truth(cell)
	case startsAt, discountLimit, limits, interval, duration, weekdays, reservation, voucherType, deleted:
		return lost(f, cell)
	case ignored:
	}
	return err
}

func (row *Row) setLimit(f field, cell string) error {
	n, err := count(cell)
	if err == nil && (n > 0 || f == maxUses) {
		row.Draft.MaxUses = coupon.Set(n)
	}
	return err
}

// lost refuses a cell with a value that a code cannot store.
func lost(f field, cell string) error {
	cell = strings.ToLower(strings.TrimSpace(cell))
	no, err := truth(cell)
	switch {
	case f == voucherType && cell == "discount_voucher",
		(f == limits || f == weekdays) && (cell == "[]" || cell == "{}" || cell == "null"),
		(f == deleted || f == reservation) && err == nil && !no,
		f == discountLimit && strings.Trim(cell, "0.,") == "":
		return nil
	case f == voucherType:
		return validation.New("", validation.NotAllowed, "only discount vouchers are codes")
	case f == deleted:
		return validation.New("", validation.NotAllowed, "the code was deleted")
	default:
		return validation.New("", validation.NotAllowed, "a code cannot keep this: remove the column, or ignore it")
	}
}
