package pgxstore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestValuesAreSentAsPgxSendsThem: what the store writes by itself is what pgx makes of the
// same values for the types of the parameters, to the byte.
func TestValuesAreSentAsPgxSendsThem(t *testing.T) {
	t.Parallel()
	ends := []time.Time{
		time.Date(1, 1, 1, 0, 0, 0, 1_000, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		time.Date(1999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 26, 15, 30, 0, 123_456_000, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	}
	for _, crowded := range []bool{false, true} {
		for _, at := range ends {
			ordered := reservation(t)
			ordered.CouponRevision = 1<<63 - 1
			ordered.Redemption.Key, ordered.Order.Key = "kéy €", "kéy €"
			for _, instant := range []*time.Time{
				&ordered.Redemption.Deadline, &ordered.Redemption.CreatedAt, &ordered.Redemption.UpdatedAt,
				&ordered.Order.Deadline, &ordered.Order.CreatedAt, &ordered.Order.UpdatedAt,
			} {
				*instant = at
			}
			wantSentAsPgx(t, ordered, crowded)
			ordered.Order.Metadata = nil
			wantSentAsPgx(t, ordered, crowded)

			points := ordered
			points.Order = nil
			points.Redemption.Origin, points.Redemption.OrderID = redemption.FromPoints, ""
			points.Redemption.Points, points.Redemption.PointsState = 1<<62+3, redemption.PointsPending
			wantSentAsPgx(t, points, crowded)
			points.Redemption.Deadline = time.Time{}
			wantSentAsPgx(t, points, crowded)
		}
	}
}

func wantSentAsPgx(t *testing.T, r store.Reservation, crowded bool) {
	t.Helper()
	sent, taken, types, err := pgxstore.ReservationValues(r, crowded)
	if err != nil {
		t.Fatal(err)
	}
	if len(sent) != len(types) || len(taken) != len(types) {
		t.Fatalf("%d values are sent and pgx takes %d, of %d", len(sent), len(taken), len(types))
	}
	encoding := pgtype.NewMap()
	number := map[string]uint32{
		"text": pgtype.TextOID, "bigint": pgtype.Int8OID, "timestamptz": pgtype.TimestamptzOID, "boolean": pgtype.BoolOID,
	}
	for i, name := range types {
		want, err := encoding.Encode(number[name], pgx.BinaryFormatCode, taken[i], []byte{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, sent[i]); diff != "" {
			t.Errorf("value %d, %s, %v (-pgx +sent):\n%s", i+1, name, taken[i], diff)
		}
	}
}
