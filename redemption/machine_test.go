package redemption_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/redemption"
)

// minute is so many minutes after noon, when every record is made.
func minute(n int) time.Time {
	return time.Date(2026, time.November, 20, 12, n, 0, 0, time.UTC)
}

// checkout is a reservation that was made with an order.
func checkout() redemption.Redemption {
	return redemption.Redemption{
		ID: "rsv_1", Key: "key", CouponID: "cpn_1", CustomerID: "ann",
		State: redemption.Reserved, Origin: redemption.FromCheckout, OrderID: "o1",
		Deadline: minute(30), CreatedAt: minute(0), UpdatedAt: minute(0),
	}
}

// points is a reservation whose points are not yet debited.
func points() redemption.Redemption {
	r := checkout()
	r.Origin, r.OrderID, r.Points, r.PointsState = redemption.FromPoints, "", 500, redemption.PointsPending
	return r
}

// records are all the kinds of records that there are, by their names in the matrix.
func records() map[string]redemption.Redemption {
	with := func(r redemption.Redemption, change func(*redemption.Redemption)) redemption.Redemption {
		change(&r)
		return r
	}
	open := func(r *redemption.Redemption) { r.SessionID = "s1" }
	leaves := func(r *redemption.Redemption) {
		r.SessionID, r.LeavingUntil, r.Deadline = "s1", minute(60), minute(90)
	}
	waits := func(r *redemption.Redemption) { r.SessionID, r.AwaitingPayment = "s1", true }
	paid := func(r *redemption.Redemption) {
		r.SessionID, r.State, r.Deadline, r.CompletedAt = "s1", redemption.Completed, time.Time{}, minute(3)
	}
	released := func(r *redemption.Redemption) {
		r.SessionID, r.State, r.Deadline, r.ReleasedAt = "s1", redemption.Released, time.Time{}, minute(4)
	}
	held := with(points(), func(r *redemption.Redemption) { r.PointsState, r.Deadline = redemption.PointsDebited, time.Time{} })
	cart := with(held, func(r *redemption.Redemption) { r.OrderID, r.Deadline = "o1", minute(30) })
	due := func(r *redemption.Redemption) { r.PointsState = redemption.PointsRefundDue }
	return map[string]redemption.Redemption{
		"new": checkout(), "open": with(checkout(), open), "leave": with(checkout(), leaves), "waits": with(checkout(), waits),
		"paid": with(checkout(), paid), "freed": with(checkout(), released),
		"lost": with(with(checkout(), released), func(r *redemption.Redemption) { r.SessionID = "" }),
		"pend": points(), "held": held, "cart": cart, "popen": with(cart, open), "pleav": with(cart, leaves), "pwait": with(cart, waits),
		"ppaid": with(cart, paid), "due": with(with(cart, released), due),
		"back":  with(with(cart, released), func(r *redemption.Redemption) { r.PointsState = redemption.PointsRefunded }),
		"pdue":  with(with(cart, paid), due),
		"pback": with(with(cart, paid), func(r *redemption.Redemption) { r.PointsState = redemption.PointsRefunded }),
	}
}

// matrix is the whole machine: what every event does to every kind of record.
//
//	=  nothing, and no error    x  ErrIllegal    o  ErrOtherSession    l  ErrNotLapsed
//	A  attached   T  taken over   W  waits for a delayed payment   C  completed
//	R  released   D  points debited   F  points refunded
//	V  about to leave its session   K  kept until it has left
//
// The records new to lost are of a checkout: without a session, with session s1, about to
// leave that, with a delayed payment, completed, released, released before a session. The others are of
// points: pending, held outside a checkout, in a checkout without a session, with one,
// about to leave that, with a delayed payment, completed, released with the refund due, refunded, and
// completed after they were released.
const matrix = `
event       session order | new open leave waits paid freed lost | pend held cart popen pleav pwait ppaid due back pdue pback
exchanged   -       -     | x   x    x     x     x    x     x    | D    =    =    =     =     =     =     x   x    x    x
attached    s1      o1    | A   =    =     =     =    =     x    | o    o    A    =     =     =     =     =   =    =    =
attached    s2      o1    | A   o    o     o     o    o     x    | o    o    A    o     o     o     o     o   o    o    o
attached    s1      o2    | o   =    =     =     =    =     o    | o    o    o    =     =     =     =     =   =    =    =
attached    s2      o2    | o   o    o     o     o    o     o    | o    o    o    o     o     o     o     o   o    o    o
attached    -       o1    | x   x    x     x     x    x     x    | x    x    x    x     x     x     x     x   x    x    x
taken       -       o2    | T   o    o     x     x    x     x    | x    T    T    o     o     x     x     x   x    x    x
taken       s1      o2    | o   T    T     x     x    x     x    | x    o    o    T     T     x     x     x   x    x    x
taken       s2      o2    | o   o    o     x     x    x     x    | x    o    o    o     o     x     x     x   x    x    x
taken       -       o1    | =   =    =     =     =    =     =    | x    T    =    =     =     =     =     =   =    =    =
taken       s1      o1    | =   =    =     =     =    =     =    | x    o    =    =     =     =     =     =   =    =    =
taken       s1      -     | x   x    x     x     x    x     x    | x    x    x    x     x     x     x     x   x    x    x
completed   s1      o1    | C   C    C     C     =    C     C    | o    o    C    C     C     C     =     C   C    =    =
completed   s2      o1    | C   o    o     o     o    o     C    | o    o    C    o     o     o     o     o   o    o    o
completed   s1      o2    | o   C    C     C     =    C     o    | o    o    o    C     C     C     =     C   C    =    =
completed   s2      o2    | o   o    o     o     o    o     o    | o    o    o    o     o     o     o     o   o    o    o
completed   -       o1    | x   x    x     x     x    x     x    | x    x    x    x     x     x     x     x   x    x    x
unpaid      s1      o1    | W   W    W     =     =    =     =    | =    =    W    W     W     =     =     =   =    =    =
unpaid      s2      o1    | W   =    =     =     =    =     =    | =    =    W    =     =     =     =     =   =    =    =
unpaid      s1      o2    | =   W    W     =     =    =     =    | =    =    =    W     W     =     =     =   =    =    =
unpaid      -       o1    | =   =    =     =     =    =     =    | =    =    =    =     =     =     =     =   =    =    =
failed      s1      o1    | R   R    R     R     =    =     =    | =    =    R    R     R     R     =     =   =    =    =
failed      s2      o1    | R   =    =     =     =    =     =    | =    =    R    =     =     =     =     =   =    =    =
failed      s1      o2    | =   R    R     R     =    =     =    | =    =    =    R     R     R     =     =   =    =    =
expired     s1      o1    | R   R    K     =     =    =     =    | =    =    R    R     K     =     =     =   =    =    =
expired     s2      o1    | R   =    =     =     =    =     =    | =    =    R    =     =     =     =     =   =    =    =
expired     s1      o2    | =   R    K     =     =    =     =    | =    =    =    R     K     =     =     =   =    =    =
expired     -       o1    | R   =    =     =     =    =     =    | =    =    R    =     =     =     =     =   =    =    =
failed      -       -     | =   =    =     =     =    =     =    | =    =    =    =     =     =     =     =   =    =    =
expired     -       -     | =   =    =     =     =    =     =    | =    =    =    =     =     =     =     =   =    =    =
expired     s1      -     | =   R    K     =     =    =     =    | R    R    =    R     K     =     =     =   =    =    =
completed   s1      -     | o   C    C     C     =    C     o    | C    C    o    C     C     C     =     C   C    =    =
cancelled   -       -     | R   o    o     o     x    =     =    | R    R    R    o     o     o     x     =   =    x    x
cancelled   s1      -     | o   R    R     R     x    =     =    | o    o    o    R     R     R     x     =   =    x    x
cancelled   s2      -     | o   o    o     o     x    =     =    | o    o    o    o     o     o     x     =   =    x    x
lapsed      -       -     | R   o    o     o     x    =     =    | R    l    R    o     o     o     x     =   =    x    x
lapsed      s1      -     | o   R    l     R     x    =     =    | o    o    o    R     l     R     x     =   =    x    x
lapsed      s2      -     | o   o    o     o     x    =     =    | o    o    o    o     o     o     x     =   =    x    x
lapsed      early   -     | l   o    o     o     x    =     =    | l    l    l    o     o     o     x     =   =    x    x
lapsed      s1early -     | o   l    l     l     x    =     =    | o    o    o    l     l     l     x     =   =    x    x
refused     -       -     | x   x    x     x     x    =     =    | R    x    x    x     x     x     x     =   =    x    x
refused     s1      -     | x   x    x     x     x    =     =    | o    x    x    x     x     x     x     =   =    x    x
refunded    -       -     | x   x    x     x     x    x     x    | x    x    x    x     x     x     x     F   =    F    =
leaving     s1      -     | o   V    V     x     x    x     x    | x    o    o    V     V     x     x     x   x    x    x
leaving     s2      -     | o   o    o     x     x    x     x    | x    o    o    o     o     x     x     x   x    x    x
leaving     -       -     | x   x    x     x     x    x     x    | x    x    x    x     x     x     x     x   x    x    x
nothing     -       -     | x   x    x     x     x    x     x    | x    x    x    x     x     x     x     x   x    x    x
beyond      s1      o1    | x   x    x     x     x    x     x    | x    x    x    x     x     x     x     x   x    x    x
`

func kindOf(name string) redemption.EventKind {
	return map[string]redemption.EventKind{
		"exchanged": redemption.PointsExchanged, "attached": redemption.SessionAttached, "taken": redemption.TakenOver,
		"completed": redemption.SessionCompleted, "unpaid": redemption.SessionUnpaid, "failed": redemption.PaymentFailed,
		"expired": redemption.SessionExpired, "cancelled": redemption.Cancelled, "lapsed": redemption.Lapsed,
		"refunded": redemption.PointsGivenBack, "refused": redemption.PointsRefused, "leaving": redemption.Leaving, "nothing": 0, "beyond": redemption.Leaving + 1,
	}[name]
}

// eventOf reads the first three words of a row. Events happen when the deadline of
// every record has come, save the early ones.
func eventOf(row []string) redemption.Event {
	e := redemption.Event{Kind: kindOf(row[0]), At: minute(30), SessionID: row[1], OrderID: row[2]}
	if session, early := strings.CutSuffix(row[1], "early"); early {
		e.SessionID, e.At = session, minute(30).Add(-time.Microsecond)
	}
	if e.SessionID == "-" {
		e.SessionID = ""
	}
	if e.OrderID == "-" {
		e.OrderID = ""
	}
	if e.Kind == redemption.SessionAttached || e.Kind == redemption.TakenOver || e.Kind == redemption.Leaving {
		e.Deadline = minute(90)
	}
	if e.Kind == redemption.SessionUnpaid {
		e.Deadline = minute(30)
	}
	return e
}

// outcome is what the letter of the matrix says that an event makes of a record.
func outcome(letter string, r redemption.Redemption, e redemption.Event) (redemption.Redemption, error) {
	after := r
	after.UpdatedAt = e.At
	switch letter {
	case "=":
		return r, nil
	case "x":
		return r, redemption.ErrIllegal
	case "o":
		return r, redemption.ErrOtherSession
	case "l":
		return r, redemption.ErrNotLapsed
	case "A":
		after.SessionID, after.Deadline = e.SessionID, e.Deadline
	case "T":
		after.OrderID, after.SessionID, after.Deadline, after.LeavingUntil = e.OrderID, "", e.Deadline, time.Time{}
	case "V":
		after.LeavingUntil = e.Deadline
		if r.Deadline.Before(e.Deadline) {
			after.Deadline = e.Deadline
		}
	case "K":
		after.Deadline = r.LeavingUntil
	case "W":
		after.SessionID, after.AwaitingPayment, after.LeavingUntil = e.SessionID, true, time.Time{}
	case "C":
		after.State, after.SessionID, after.CompletedAt = redemption.Completed, e.SessionID, e.At
		after.AwaitingPayment, after.Deadline, after.ReleasedAt = false, time.Time{}, time.Time{}
		after.LeavingUntil = time.Time{}
	case "R":
		after.State, after.ReleasedAt, after.AwaitingPayment, after.Deadline = redemption.Released, e.At, false, time.Time{}
		after.LeavingUntil = time.Time{}
		if r.SessionID == "" {
			after.SessionID = e.SessionID
		}
		if r.PointsState != redemption.NoPoints {
			after.PointsState = redemption.PointsRefundDue
		}
	case "D":
		after.PointsState, after.Deadline = redemption.PointsDebited, time.Time{}
	case "F":
		after.PointsState = redemption.PointsRefunded
	}
	return after, nil
}

// sentinelOf returns the most special sentinel that the error matches.
func sentinelOf(err error) error {
	for _, sentinel := range [...]error{redemption.ErrOtherSession, redemption.ErrNotLapsed, redemption.ErrIllegal} {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	return err
}

func TestEveryEventOnEveryRecord(t *testing.T) {
	t.Parallel()
	rows := strings.Split(strings.TrimSpace(matrix), "\n")
	header := strings.Fields(strings.ReplaceAll(rows[0], "|", ""))[3:]
	kinds := records()
	if len(header) != len(kinds) {
		t.Fatalf("the matrix has %d kinds of records, there are %d", len(header), len(kinds))
	}
	for _, line := range rows[1:] {
		row := strings.Fields(strings.ReplaceAll(line, "|", ""))
		if len(row) != 3+len(header) {
			t.Fatalf("the row %q has %d cells", line, len(row))
		}
		e := eventOf(row)
		for i, name := range header {
			t.Run(fmt.Sprintf("%s %s %s on %s", row[0], row[1], row[2], name), func(t *testing.T) {
				t.Parallel()
				want, wantErr := outcome(row[3+i], kinds[name], e)
				got, err := redemption.Apply(kinds[name], e)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the record differs (-want +got):\n%s", diff)
				}
				if sentinelOf(err) != wantErr { //nolint:errorlint // sentinels themselves
					t.Errorf("the error is %v, want %v", err, wantErr)
				}
			})
		}
	}
}

func TestEveryRecordOfTheMatrixIsValid(t *testing.T) {
	t.Parallel()
	for name, r := range records() {
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDelayedPaymentExtendsTheDeadline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		given, deadline time.Time
		want            time.Time
	}{
		{"later", minute(30), minute(40), minute(40)},
		{"earlier", minute(30), minute(20), minute(30)},
		{"the same", minute(30), minute(30), minute(30)},
		{"none before", time.Time{}, minute(20), minute(20)},
		{"none given", minute(30), time.Time{}, minute(30)},
	} {
		for _, name := range []string{"new", "open", "waits", "cart", "popen", "pwait"} {
			r := records()[name]
			r.Deadline = test.given
			got, err := redemption.Apply(r, redemption.Event{
				Kind: redemption.SessionUnpaid, At: minute(9), SessionID: "s1", OrderID: "o1", Deadline: test.deadline,
			})
			if err != nil || !got.Deadline.Equal(test.want) || !got.AwaitingPayment {
				t.Errorf("%s deadline on %s: %s (%v), want %s", test.name, name, got.Deadline, err, test.want)
			}
			if got.Equal(r) != got.UpdatedAt.Equal(r.UpdatedAt) {
				t.Errorf("%s deadline on %s: UpdatedAt is %s", test.name, name, got.UpdatedAt)
			}
		}
	}
}

// TestAnExpiryWhileTheReservationLeaves: until then it is kept, and no longer than it
// would have been; from that instant an expiry is one as ever.
func TestAnExpiryWhileTheReservationLeaves(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"leave", "pleav"} {
		leaving := records()[name]
		for _, test := range []struct {
			name           string
			at             time.Time
			deadline, want time.Time // zero is released
		}{
			{"at once", minute(9), minute(90), minute(60)},
			{"at the last moment", minute(60).Add(-time.Microsecond), minute(90), minute(60)},
			{"too late", minute(60), minute(90), time.Time{}},
			{"before a deadline that is earlier", minute(9), minute(30), minute(30)},
			{"without a deadline", minute(9), time.Time{}, minute(60)},
		} {
			r := leaving
			r.Deadline = test.deadline
			got, err := redemption.Apply(r, redemption.Event{Kind: redemption.SessionExpired, At: test.at, SessionID: "s1"})
			if err != nil || !got.Deadline.Equal(test.want) || got.Live() == test.want.IsZero() {
				t.Errorf("%s of %s: %s with the deadline %s (%v)", test.name, name, got.State, got.Deadline, err)
			}
		}
	}
}

// TestALeavingReservationKeepsALaterDeadline: the sweep leaves it alone for as long as it
// leaves, and one that it would have left alone for longer is not released earlier.
func TestALeavingReservationKeepsALaterDeadline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ deadline, until, want time.Time }{
		{minute(30), minute(40), minute(40)},
		{minute(30), minute(20), minute(30)},
		{minute(30), time.Time{}, minute(30)},
		{time.Time{}, minute(20), time.Time{}},
	} {
		for _, name := range []string{"open", "leave", "popen", "pleav"} {
			r := records()[name]
			r.Deadline = test.deadline
			got, err := redemption.Apply(r, redemption.Event{
				Kind: redemption.Leaving, At: minute(9), SessionID: "s1", Deadline: test.until,
			})
			if err != nil || !got.Deadline.Equal(test.want) || !got.LeavingUntil.Equal(test.until) {
				t.Errorf("%s leaving until %s: until %s, deadline %s (%v)", name, test.until, got.LeavingUntil, got.Deadline, err)
			}
		}
	}
}

func TestPaymentOverTheLimit(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"new": false, "open": false, "waits": false, "cart": false, // they have kept their place
		"freed": true, "lost": true, "due": true, "back": true,
	} {
		for _, full := range []bool{false, true} {
			got, err := redemption.Apply(records()[name], redemption.Event{
				Kind: redemption.SessionCompleted, At: minute(9), SessionID: "s1", OrderID: "o1", NoPlaceLeft: full,
			})
			if err != nil || got.State != redemption.Completed {
				t.Errorf("%s is %s: %v", name, got.State, err)
			}
			if got.OverLimit != (want && full) {
				t.Errorf("%s with no place left = %t: OverLimit is %t", name, full, got.OverLimit)
			}
		}
	}
}

func TestTransitionErrorTellsWhatWasRefused(t *testing.T) {
	t.Parallel()
	_, err := redemption.Apply(records()["paid"], redemption.Event{Kind: redemption.Cancelled, At: minute(9)})
	var refused *redemption.TransitionError
	if !errors.As(err, &refused) {
		t.Fatalf("the error is %T", err)
	}
	want := redemption.TransitionError{
		ID: "rsv_1", State: redemption.Completed, Kind: redemption.Cancelled, Cause: redemption.ErrIllegal,
	}
	if *refused != want {
		t.Errorf("the error is %+v, want %+v", *refused, want)
	}
	if got, want := err.Error(), `redemption rsv_1 is completed, event "cancelled": illegal transition`; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	if errors.Is(err, redemption.ErrOtherSession) || errors.Is(err, redemption.ErrNotLapsed) {
		t.Errorf("%v matches a more special sentinel", err)
	}
}

func TestSpecialSentinelsMatchTheGeneralOne(t *testing.T) {
	t.Parallel()
	for _, special := range []error{redemption.ErrOtherSession, redemption.ErrNotLapsed} {
		if !errors.Is(special, redemption.ErrIllegal) {
			t.Errorf("%v does not match ErrIllegal", special)
		}
	}
	if errors.Is(redemption.ErrOtherSession, redemption.ErrNotLapsed) {
		t.Error("two special sentinels match each other")
	}
}

func TestEventsOfASession(t *testing.T) {
	t.Parallel()
	of := []redemption.EventKind{
		redemption.SessionCompleted, redemption.SessionUnpaid, redemption.PaymentFailed, redemption.SessionExpired,
	}
	for kind := redemption.EventKind(0); kind <= redemption.Leaving+1; kind++ {
		for _, session := range []string{"s1", ""} {
			want := slices.Contains(of, kind) && (session != "" || kind != redemption.SessionCompleted)
			if got := (redemption.Event{Kind: kind, SessionID: session, OrderID: "o1"}).OfSession(); got != want {
				t.Errorf("%q with session %q is of a session: %t, want %t", kind, session, got, want)
			}
		}
	}
}

func TestEventKindsHaveNames(t *testing.T) {
	t.Parallel()
	seen := map[string]redemption.EventKind{}
	for k := redemption.PointsExchanged; k <= redemption.Leaving; k++ {
		name := k.String()
		if other, twice := seen[name]; twice || name == "" {
			t.Errorf("the events %d and %d are both called %q", other, k, name)
		}
		seen[name] = k
	}
	for _, k := range []redemption.EventKind{0, redemption.Leaving + 1, 255} {
		if k.String() != "" {
			t.Errorf("the event %d, which there is not, is called %q", k, k)
		}
	}
}
