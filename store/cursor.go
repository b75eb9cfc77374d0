package store

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// Cursor is a position in a list that is sorted from newest to oldest. The next page begins
// after the record with this creation time and ID. Stores use Cursor to write and read the
// cursors of their pages.
type Cursor struct {
	CreatedAt time.Time
	ID        string
}

// String returns the cursor as opaque text.
func (c Cursor) String() string {
	buf := binary.BigEndian.AppendUint64(nil, uint64(c.CreatedAt.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(buf, c.ID...))
}

// ParseCursor reads the text of a cursor that [Cursor.String] returned. For any other text,
// ParseCursor returns a [*validation.Error] for the field "after".
func ParseCursor(text string) (Cursor, error) {
	buf, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(buf) < 8 || len(buf) > 8+redemption.MaxIDLength {
		return Cursor{}, noCursor()
	}
	micros := int64(binary.BigEndian.Uint64(buf)) //nolint:gosec // as it was written
	c := Cursor{CreatedAt: time.UnixMicro(micros).UTC(), ID: string(buf[8:])}
	if year := c.CreatedAt.Year(); year < 1 || year > 9999 || !IsText(c.ID) || c.String() != text {
		return Cursor{}, noCursor()
	}
	return c, nil
}

func noCursor() error {
	return invalidField("after", validation.Malformed, "is no cursor of this list")
}

// Before reports whether a record comes after the cursor in the list. The record is then
// older than the cursor, or equally old with a smaller ID.
func (c Cursor) Before(createdAt time.Time, id string) bool {
	if !createdAt.Equal(c.CreatedAt) {
		return createdAt.Before(c.CreatedAt)
	}
	return id < c.ID
}

// Cut returns the first records of a list, at most size, and the cursor of the next page. The
// cursor is empty if the list has no further record. Stores read one record more than a page
// has, and cut it off.
func Cut[R coupon.Coupon | Settled | redemption.Use](records []R, size int) (page []R, next string) {
	if len(records) <= size {
		return records, ""
	}
	var at Cursor
	switch last := any(records[size-1]).(type) {
	case coupon.Coupon:
		at = Cursor{last.CreatedAt, last.ID}
	case Settled:
		at = Cursor{last.Order.CreatedAt, last.Order.ID}
	case redemption.Use:
		at = Cursor{last.CreatedAt, last.ID}
	}
	return records[:size], at.String()
}
