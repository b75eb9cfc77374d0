package redemption_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

func TestAnEventHasAnInstant(t *testing.T) {
	t.Parallel()
	for kind := redemption.PointsExchanged; kind <= redemption.Leaving; kind++ {
		e := redemption.Event{Kind: kind, SessionID: "s1"}
		if diff := cmp.Diff([]string{"at required"}, faultsIn(e.Validate())); diff != "" {
			t.Errorf("%s without an instant: faults differ (-want +got):\n%s", kind, diff)
		}
		e.At = time.Date(1, time.January, 1, 0, 0, 0, 1000, time.UTC)
		if err := e.Validate(); err != nil {
			t.Errorf("%s at the first instant that is kept: %v", kind, err)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", redemption.MaxIDLength/2) // 254 bytes
	for _, test := range []struct {
		name   string
		change func(*redemption.Redemption)
		want   []string // field and code of every fault
	}{
		{"nothing", func(r *redemption.Redemption) { *r = redemption.Redemption{} }, []string{
			"id required", "key required", "couponId required", "customerId required",
			"state unknown", "origin unknown", "createdAt required",
		}},
		{"IDs of the greatest length", func(r *redemption.Redemption) {
			r.ID, r.Key, r.CouponID, r.CustomerID, r.OrderID, r.SessionID = long+"x", long+"x", long+"x", long+"x", long+"x", long+"x"
		}, nil},
		{"IDs that are too long", func(r *redemption.Redemption) {
			r.ID, r.Key, r.CouponID, r.CustomerID, r.OrderID, r.SessionID = long+"xx", long+"xx", long+"xx", long+"xx", long+"xx", long+"xx"
		}, []string{"id too_long", "key too_long", "couponId too_long", "customerId too_long", "orderId too_long", "sessionId too_long"}},
		{"NUL", func(r *redemption.Redemption) { r.Key = "a\x00" }, []string{"key malformed"}},
		{"no UTF-8", func(r *redemption.Redemption) { r.SessionID = "\xff" }, []string{"sessionId malformed"}},
		{"a checkout without an order", func(r *redemption.Redemption) { r.OrderID = "" }, []string{"orderId required"}},
		{"completed without a session", func(r *redemption.Redemption) { r.State = redemption.Completed }, []string{"sessionId required"}},
		{"released without a session", func(r *redemption.Redemption) { r.State = redemption.Released }, nil},
		{"no such state", func(r *redemption.Redemption) { r.State = redemption.Released + 1 }, []string{"state unknown"}},
		{"no such origin", func(r *redemption.Redemption) { r.Origin = redemption.FromPayment + 1 }, []string{"origin unknown"}},
		{"a checkout with points", func(r *redemption.Redemption) { r.Points = 1 }, []string{"points not_allowed"}},
		{"a checkout with a state of points", func(r *redemption.Redemption) { r.PointsState = redemption.PointsDebited }, []string{"points not_allowed"}},
		{"no such state of points", func(r *redemption.Redemption) { r.PointsState = redemption.PointsRefunded + 1 }, []string{"pointsState unknown"}},
		{"points outside a checkout", func(r *redemption.Redemption) { *r = points() }, nil},
		{"one point", func(r *redemption.Redemption) { *r = points(); r.Points = 1 }, nil},
		{"points of none", func(r *redemption.Redemption) { *r = points(); r.Points = 0 }, []string{"points required"}},
		{"points in no state", func(r *redemption.Redemption) { *r = points(); r.PointsState = redemption.NoPoints }, []string{"points required"}},
		{"points refunded", func(r *redemption.Redemption) { *r = points(); r.PointsState = redemption.PointsRefunded }, nil},
		{"a payment of nobody without an order", func(r *redemption.Redemption) {
			r.Origin, r.State, r.CustomerID, r.OrderID, r.SessionID = redemption.FromPayment, redemption.Completed, "", "", "s1"
		}, nil},
	} {
		r := checkout()
		test.change(&r)
		if diff := cmp.Diff(test.want, faultsIn(r.Validate())); diff != "" {
			t.Errorf("%s: faults differ (-want +got):\n%s", test.name, diff)
		}
	}
}

func faultsIn(err error) []string {
	var faults *pricing.ValidationError
	if !errors.As(err, &faults) {
		return nil
	}
	var list []string
	for _, f := range faults.Fields {
		list = append(list, f.Field+" "+string(f.Code))
	}
	return list
}

func TestEqualComparesEveryField(t *testing.T) {
	t.Parallel()
	a := records()["pleav"]
	a.CompletedAt, a.ReleasedAt = minute(40), minute(41)
	elsewhere := a
	zone := time.FixedZone("elsewhere", 3600)
	for _, instant := range []*time.Time{
		&elsewhere.Deadline, &elsewhere.LeavingUntil, &elsewhere.CreatedAt, &elsewhere.UpdatedAt, &elsewhere.CompletedAt, &elsewhere.ReleasedAt,
	} {
		*instant = instant.In(zone)
	}
	if !a.Equal(elsewhere) || !elsewhere.Equal(a) {
		t.Error("the same instants in another zone are another record")
	}
	for i := range reflect.TypeFor[redemption.Redemption]().NumField() {
		b := a
		field := reflect.ValueOf(&b).Elem().Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString(field.String() + "x")
		case reflect.Uint8:
			field.SetUint(field.Uint() + 1)
		case reflect.Int64:
			field.SetInt(field.Int() + 1)
		case reflect.Bool:
			field.SetBool(!field.Bool())
		default:
			instant, ok := reflect.TypeAssert[time.Time](field)
			require.True(t, ok)
			field.Set(reflect.ValueOf(instant.Add(time.Microsecond)))
		}
		if a.Equal(b) || b.Equal(a) {
			t.Errorf("records that differ in %s are equal", reflect.TypeFor[redemption.Redemption]().Field(i).Name)
		}
	}
}

func TestWhatARecordIsGoodFor(t *testing.T) {
	t.Parallel()
	type use struct {
		Live, Usable, RefundDue bool
		Completed, Reserved     int64
	}
	for name, want := range map[string]use{
		"new":   {Live: true, Usable: true, Reserved: 1},
		"open":  {Live: true, Usable: true, Reserved: 1},
		"leave": {Live: true, Usable: true, Reserved: 1},
		"waits": {Live: true, Reserved: 1},
		"paid":  {Completed: 1},
		"freed": {},
		"lost":  {},
		"pend":  {Live: true, Reserved: 1},
		"held":  {Live: true, Usable: true, Reserved: 1},
		"cart":  {Live: true, Usable: true, Reserved: 1},
		"popen": {Live: true, Usable: true, Reserved: 1},
		"pleav": {Live: true, Usable: true, Reserved: 1},
		"pwait": {Live: true, Reserved: 1},
		"ppaid": {Completed: 1},
		"due":   {RefundDue: true},
		"back":  {},
		"pdue":  {RefundDue: true, Completed: 1},
		"pback": {Completed: 1},
	} {
		r := records()[name]
		got := use{Live: r.Live(), Usable: r.Usable(), RefundDue: r.RefundDue()}
		got.Completed, got.Reserved = r.Counts()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
	if completed, reserved := (redemption.Redemption{}).Counts(); completed != 0 || reserved != 0 {
		t.Errorf("no record counts %d and %d", completed, reserved)
	}
}
