package pgxstore

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// column is an array argument with one element per row. An argument of type []string would cost an
// allocation for each element.
type column[T, V, E any] struct {
	rows       []T
	value      func(T) V
	set        func(*E, V)
	element    E // the element requested last
	dimensions [1]pgtype.ArrayDimension
}

// texts returns a column of text.
func texts[T any](rows []T, of func(T) string) *column[T, string, pgtype.Text] {
	return &column[T, string, pgtype.Text]{rows: rows, value: of, set: setText}
}

// numbers returns a column of bigint.
func numbers[T any](rows []T, of func(T) int64) *column[T, int64, pgtype.Int8] {
	return &column[T, int64, pgtype.Int8]{rows: rows, value: of, set: setNumber}
}

// flags returns a column of boolean.
func flags[T any](rows []T, of func(T) bool) *column[T, bool, pgtype.Bool] {
	return &column[T, bool, pgtype.Bool]{rows: rows, value: of, set: setFlag}
}

func setText(e *pgtype.Text, text string) { e.String, e.Valid = text, true }

func setNumber(e *pgtype.Int8, n int64) { e.Int64, e.Valid = n, true }

func setFlag(e *pgtype.Bool, is bool) { e.Bool, e.Valid = is, true }

// array is a column of any type.
type array interface{ empty() bool }

func (c *column[T, V, E]) empty() bool { return len(c.rows) == 0 }

func itself(text string) string { return text }

// Dimensions implements [pgtype.ArrayGetter].
func (c *column[T, V, E]) Dimensions() []pgtype.ArrayDimension {
	c.dimensions[0] = pgtype.ArrayDimension{Length: int32(len(c.rows)), LowerBound: 1} //nolint:gosec // rows of one batch
	return c.dimensions[:]
}

// Index implements [pgtype.ArrayGetter]. The result is valid until the next call.
func (c *column[T, V, E]) Index(i int) any {
	c.set(&c.element, c.value(c.rows[i]))
	return &c.element
}

// IndexType implements [pgtype.ArrayGetter].
func (c *column[T, V, E]) IndexType() any { return &c.element }

// TextValue implements [pgtype.TextValuer]. It is used by connections that do not read the types of
// arguments from the server.
func (c *column[T, V, E]) TextValue() (pgtype.Text, error) {
	oid := map[any]uint32{pgtype.Text{}: pgtype.TextArrayOID, pgtype.Int8{}: pgtype.Int8ArrayOID, pgtype.Bool{}: pgtype.BoolArrayOID}[any(*new(E))]
	text, err := pgtype.NewMap().Encode(oid, pgtype.TextFormatCode, struct{ pgtype.ArrayGetter }{c}, nil)
	return pgtype.Text{String: string(text), Valid: err == nil}, err
}

// documents returns the encoding of each record. All returned strings share one buffer.
func documents[T any](records []T, encode func(dst []byte, record T) ([]byte, error)) ([]string, error) {
	var buffer []byte
	ends := make([]int, len(records))
	for i := range records {
		var err error
		if buffer, err = encode(buffer, records[i]); err != nil {
			return nil, err
		}
		ends[i] = len(buffer)
		if i == 0 { // estimate the size of all records from the first
			buffer = slices.Grow(buffer, len(buffer)*len(records))
		}
	}
	text, list, begin := string(buffer), make([]string, len(records)), 0
	for i, end := range ends {
		list[i], begin = text[begin:end], end
	}
	return list, nil
}

// amountList is a column that is an array of bigint, of any number of dimensions. A row that is read into it reuses its
// memory.
type amountList []int64

// SetDimensions implements [pgtype.ArraySetter].
func (l *amountList) SetDimensions(dimensions []pgtype.ArrayDimension) error {
	n := min(len(dimensions), 1)
	for _, d := range dimensions {
		n *= int(d.Length)
	}
	*l = slices.Grow((*l)[:0], n)[:n]
	return nil
}

// ScanIndex implements [pgtype.ArraySetter].
func (l *amountList) ScanIndex(i int) any { return &(*l)[i] }

// ScanIndexType implements [pgtype.ArraySetter].
func (l *amountList) ScanIndexType() any { return new(int64) }
