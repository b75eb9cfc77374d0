package codecsv

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// WriteOptions are the options of a [Writer].
type WriteOptions struct {
	// Separator is a comma, semicolon, tab or vertical bar. 0 means a comma.
	Separator rune
	// ByteOrderMark puts a byte order mark first, by which some spreadsheets recognize UTF-8.
	ByteOrderMark bool
}

// Writer writes issued codes as rows. It is not safe for concurrent use.
type Writer struct {
	out  io.Writer
	rows *csv.Writer
	mark bool
	head bool // whether the header has been written
}

// NewWriter returns a Writer. The error is a [*validation.Error] for the field separator, or for a nil out.
func NewWriter(out io.Writer, o WriteOptions) (*Writer, error) {
	if out == nil {
		return nil, validation.New("out", validation.Required, "is required")
	}
	if o.Separator == 0 {
		o.Separator = ','
	}
	if !strings.ContainsRune(separators, o.Separator) {
		return nil, validation.New("separator", validation.Unknown, "must be a comma, a semicolon, a tab or a vertical bar")
	}
	w := &Writer{out: out, rows: csv.NewWriter(out), mark: o.ByteOrderMark}
	w.rows.Comma = o.Separator
	return w, nil
}

// Write writes the row of a code, and before the first one the header. The columns are the JSON names of
// [coupon.IssuedCode]. Write buffers; see Flush. The errors come from the [io.Writer].
func (w *Writer) Write(c coupon.IssuedCode) error {
	if err := w.header(); err != nil {
		return err
	}
	limit := ""
	if c.MaxUses != 0 {
		limit = strconv.FormatInt(c.MaxUses, 10)
	}
	row := [...]string{
		c.Code.String(), c.CouponID, c.Batch, limit, c.Owner.String(), instant(c.ExpiresAt), strconv.FormatBool(c.Active),
		strconv.FormatInt(c.UsedCount, 10), strconv.FormatInt(c.ReservedCount, 10), instant(c.CreatedAt), instant(c.UpdatedAt),
		strconv.FormatInt(c.Revision, 10),
	}
	for i := range row {
		row[i] = Harmless(row[i])
	}
	return w.rows.Write(row[:])
}

func (w *Writer) header() error {
	if w.head {
		return nil
	}
	w.head = true
	if w.mark {
		if _, err := io.WriteString(w.out, "\ufeff"); err != nil {
			return err
		}
	}
	return w.rows.Write([]string{
		"code", "couponId", "batch", "maxUses", "owner", "expiresAt", "active", "usedCount", "reservedCount", "createdAt", "updatedAt", "revision",
	})
}

// Flush writes what is buffered, and the header even if there is no code.
func (w *Writer) Flush() error {
	if err := w.header(); err != nil {
		return err
	}
	w.rows.Flush()
	return w.rows.Error()
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
