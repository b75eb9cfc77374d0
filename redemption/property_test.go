package redemption_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/redemption"
)

// machine is redemption.Apply, or something that is broken on purpose.
type machine func(redemption.Redemption, redemption.Event) (redemption.Redemption, error)

// property draws a case and returns what is wrong with the machine, or nothing.
type property func(t *rapid.T, apply machine) (fault string)

// properties are the sentences of contract section 5 that hold for every history.
func properties() map[string]property {
	return map[string]property{
		"session events in any order end equal":         anyOrder,
		"a payment absorbs":                             paymentAbsorbs,
		"a repetition changes nothing":                  repetition,
		"what is refused is typed and changes nothing":  refusals,
		"points only move forward":                      pointsForward,
		"counts are those of the state":                 countsFollow,
		"what names a record never changes":             identity,
		"a change is noted, and nothing else":           updatedAt,
		"a valid record stays valid and fits its state": validity,
		"another session's events concern nobody":       otherSessions,
		"expiry waits for a delayed payment":            expiryWaits,
		"a delayed payment only extends the deadline":   unpaidExtends,
		"only a lapsed deadline lapses":                 lapseNeedsDeadline,
		"over the limit only without a place":           overLimit,
		"only pending points are refused":               refusalNeedsPending,
		"an expiry waits for what is leaving":           expiryWaitsForLeaving,
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	for name, holds := range properties() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				if fault := holds(t, redemption.Apply); fault != "" {
					t.Fatal(fault)
				}
			})
		})
	}
}

// FuzzApply searches for a history that breaks one of the properties.
func FuzzApply(f *testing.F) {
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range properties() {
			if !yield(name) {
				return
			}
		}
	})
	// Shorter texts end before a history is drawn, and their tests are skipped.
	for seed := range byte(4) {
		f.Add(bytes.Repeat([]byte{seed, 0, 7 * seed, 1, 0, 0, 0, 0}, 512))
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "property")
		if fault := properties()[name](t, redemption.Apply); fault != "" {
			t.Fatalf("%s: %s", name, fault)
		}
	}))
}

// anyRecord draws one of the kinds of records.
func anyRecord(t *rapid.T) redemption.Redemption {
	kinds := records()
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return kinds[rapid.SampledFrom(names).Draw(t, "record")]
}

// anyEvent draws an event of any kind, legal or not, that happens at minute n.
func anyEvent(t *rapid.T, n int) redemption.Event {
	return redemption.Event{
		Kind:        redemption.EventKind(rapid.IntRange(0, int(redemption.Leaving)+1).Draw(t, "kind")),
		At:          minute(n),
		SessionID:   rapid.SampledFrom([]string{"s1", "s1", "s2", ""}).Draw(t, "session"),
		OrderID:     rapid.SampledFrom([]string{"o1", "o1", "o2", ""}).Draw(t, "order"),
		Deadline:    minute(rapid.IntRange(0, 120).Draw(t, "deadline")),
		NoPlaceLeft: rapid.Bool().Draw(t, "no place left"),
	}
}

// walk applies a history of events and returns the fault that look finds at a step.
func walk(
	t *rapid.T, apply machine, look func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, err error) string,
) string {
	r := anyRecord(t)
	for i := range rapid.IntRange(1, 12).Draw(t, "events") {
		e := anyEvent(t, 5+10*i)
		after, err := apply(r, e)
		if fault := look(r, e, after, err); fault != "" {
			return fmt.Sprintf("event %q at %s with session %q and order %q on %+v made %+v (%v): %s",
				e.Kind, e.At.Format(time.TimeOnly), e.SessionID, e.OrderID, r, after, err, fault)
		}
		r = after
	}
	return ""
}

// anyOrder delivers what a processor says of one session twice, in two orders and with
// other repetitions.
func anyOrder(t *rapid.T, apply machine) string {
	start := records()[rapid.SampledFrom([]string{"new", "open", "waits", "cart", "popen", "pwait"}).Draw(t, "record")]
	fate := rapid.SampledFrom([][]redemption.EventKind{
		{redemption.SessionCompleted},
		{redemption.SessionCompleted, redemption.SessionExpired},
		{redemption.SessionUnpaid, redemption.SessionCompleted},
		{redemption.SessionUnpaid, redemption.SessionCompleted, redemption.SessionExpired, redemption.PaymentFailed},
		{redemption.SessionUnpaid, redemption.PaymentFailed},
	}).Draw(t, "fate")
	first, fault := deliver(t, apply, start, fate)
	if fault != "" {
		return fault
	}
	second, fault := deliver(t, apply, start, fate)
	if fault != "" {
		return fault
	}
	if first != second {
		return fmt.Sprintf("%v ended as %+v and as %+v", fate, first, second)
	}
	return ""
}

// ending is what has to be equal however the events arrive: instants are those of
// their arrival, and points may have been refunded before a payment came.
type ending struct {
	state     redemption.State
	session   string
	waits     bool
	overLimit bool
	deadline  bool
}

func deliver(t *rapid.T, apply machine, r redemption.Redemption, fate []redemption.EventKind) (ending, string) {
	events := slices.Clone(fate)
	for range rapid.IntRange(0, 4).Draw(t, "duplicates") {
		events = append(events, rapid.SampledFrom(fate).Draw(t, "duplicate"))
	}
	for i, kind := range rapid.Permutation(events).Draw(t, "order of events") {
		after, err := apply(r, redemption.Event{
			Kind: kind, At: minute(5 + i), SessionID: "s1", OrderID: "o1", Deadline: minute(50),
		})
		if err != nil {
			return ending{}, fmt.Sprintf("the session's event %q was refused: %v", kind, err)
		}
		r = after
	}
	return ending{r.State, r.SessionID, r.AwaitingPayment, r.OverLimit, !r.Deadline.IsZero()}, ""
}

func paymentAbsorbs(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, _ redemption.Event, after redemption.Redemption, _ error) string {
		if before.State != redemption.Completed {
			return ""
		}
		if before.PointsState == redemption.PointsRefundDue {
			after.PointsState, after.UpdatedAt = before.PointsState, before.UpdatedAt
		}
		if after != before {
			return "what is paid has changed"
		}
		return ""
	})
}

func repetition(t *rapid.T, apply machine) string {
	return walk(t, apply, func(_ redemption.Redemption, e redemption.Event, after redemption.Redemption, err error) string {
		if err != nil {
			return ""
		}
		if e.Kind != redemption.SessionExpired || !e.At.Before(after.LeavingUntil) { // else it is in time only now
			e.At = e.At.Add(time.Minute)
		}
		again, err := apply(after, e)
		if err != nil || again != after {
			return fmt.Sprintf("repeated, it made %+v (%v)", again, err)
		}
		return ""
	})
}

func refusals(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, err error) string {
		if err == nil {
			return ""
		}
		var refused *redemption.TransitionError
		switch {
		case after != before:
			return "refused, and yet it changed the record"
		case !errors.As(err, &refused):
			return "the error is no *TransitionError"
		case !errors.Is(err, redemption.ErrIllegal):
			return "the error does not match ErrIllegal"
		case refused.ID != before.ID || refused.State != before.State || refused.Kind != e.Kind:
			return "the error names something else"
		}
		return ""
	})
}

func pointsForward(t *rapid.T, apply machine) string {
	refunds := 0
	return walk(t, apply, func(before redemption.Redemption, _ redemption.Event, after redemption.Redemption, _ error) string {
		if before.PointsState != redemption.PointsRefundDue && after.PointsState == redemption.PointsRefundDue {
			refunds++
		}
		switch {
		case cmp.Compare(after.PointsState, before.PointsState) < 0:
			return "the points moved back"
		case before.PointsState == redemption.NoPoints && after.PointsState != redemption.NoPoints:
			return "a record without points got some"
		case refunds > 1:
			return "the points are refunded a second time"
		case after.State == redemption.Released && (after.PointsState == redemption.PointsPending || after.PointsState == redemption.PointsDebited):
			return "the points of a released record are kept"
		}
		return ""
	})
}

// countsFollow checks that places are taken and freed one at a time, that no record
// takes one again save by a payment, and that the steps add up.
func countsFollow(t *rapid.T, apply machine) string {
	var used, reserved int64
	first := true
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, _ error) string {
		wasUsed, wasReserved := before.Counts()
		isUsed, isReserved := after.Counts()
		if first {
			used, reserved, first = wasUsed, wasReserved, false
		}
		used, reserved = used+isUsed-wasUsed, reserved+isReserved-wasReserved
		switch {
		case used+reserved < 0 || used+reserved > 1 || used < 0 || reserved < 0:
			return fmt.Sprintf("%d used and %d reserved in all", used, reserved)
		case isUsed < wasUsed:
			return "a use was taken back"
		case isReserved > wasReserved:
			return "a place was taken without asking for the limits"
		case isUsed > wasUsed && e.Kind != redemption.SessionCompleted:
			return "a use was counted without a payment"
		}
		return ""
	})
}

func identity(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, _ redemption.Event, after redemption.Redemption, _ error) string {
		if before.ID != after.ID || before.Key != after.Key || before.CouponID != after.CouponID ||
			before.CustomerID != after.CustomerID || before.Origin != after.Origin || before.Points != after.Points ||
			!before.CreatedAt.Equal(after.CreatedAt) {
			return "it is another record"
		}
		return ""
	})
}

func updatedAt(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, _ error) string {
		unnoted := after
		unnoted.UpdatedAt = before.UpdatedAt
		switch {
		case unnoted != before && !after.UpdatedAt.Equal(e.At):
			return "it changed without a note of when"
		case unnoted == before && !after.UpdatedAt.Equal(before.UpdatedAt):
			return "it did not change, and UpdatedAt did"
		}
		return ""
	})
}

func validity(t *rapid.T, apply machine) string {
	return walk(t, apply, func(_ redemption.Redemption, _ redemption.Event, after redemption.Redemption, _ error) string {
		if err := after.Validate(); err != nil {
			return err.Error()
		}
		switch {
		case after.CompletedAt.IsZero() == (after.State == redemption.Completed):
			return "CompletedAt does not fit the state"
		case after.ReleasedAt.IsZero() == (after.State == redemption.Released):
			return "ReleasedAt does not fit the state"
		case !after.Live() && (!after.Deadline.IsZero() || !after.LeavingUntil.IsZero() || after.AwaitingPayment):
			return "what has ended still waits"
		case !after.LeavingUntil.IsZero() && (after.SessionID == "" || after.AwaitingPayment):
			return "it is leaving no session, or one that is paid"
		case after.AwaitingPayment && after.SessionID == "":
			return "it waits for the payment of no session"
		case after.OverLimit && after.State != redemption.Completed:
			return "what is not completed is over the limit"
		}
		return ""
	})
}

// otherSessions sends events of another session to records that have one.
func otherSessions(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, _ error) string {
		if e.Kind == redemption.PointsExchanged || e.Kind == redemption.PointsGivenBack {
			return "" // the ledger knows of no sessions
		}
		if before.SessionID != "" && e.SessionID != before.SessionID && after != before {
			return "an event of another session changed it"
		}
		return ""
	})
}

func expiryWaits(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, _ error) string {
		if e.Kind == redemption.SessionExpired && before.AwaitingPayment && after != before {
			return "an expiry ended what waits for a delayed payment"
		}
		return ""
	})
}

func expiryWaitsForLeaving(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, _ error) string {
		leaves := e.Kind == redemption.SessionExpired && before.Live() && before.SessionID == e.SessionID && e.At.Before(before.LeavingUntil)
		switch {
		case leaves && !after.Live():
			return "an expiry ended what is leaving its session"
		case leaves && after.Deadline.After(before.LeavingUntil):
			return "what never leaves is kept for longer"
		case before.LeavingUntil.IsZero() && !after.LeavingUntil.IsZero() && e.Kind != redemption.Leaving:
			return "it leaves without being told to"
		}
		return ""
	})
}

func unpaidExtends(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, _ error) string {
		if e.Kind == redemption.SessionUnpaid && after.Deadline.Before(before.Deadline) {
			return "the deadline moved back"
		}
		return ""
	})
}

func lapseNeedsDeadline(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, _ error) string {
		due := !before.Deadline.IsZero() && !e.At.Before(before.Deadline)
		if e.Kind == redemption.Lapsed && after != before && !due {
			return "it lapsed before its deadline"
		}
		return ""
	})
}

func refusalNeedsPending(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, _ error) string {
		if e.Kind == redemption.PointsRefused && after != before && before.PointsState != redemption.PointsPending {
			return "a refusal gave up points that are debited"
		}
		return ""
	})
}

func overLimit(t *rapid.T, apply machine) string {
	return walk(t, apply, func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, _ error) string {
		flagged := after.OverLimit && !before.OverLimit
		if want := before.State == redemption.Released && after.State == redemption.Completed && e.NoPlaceLeft; flagged != want {
			return fmt.Sprintf("OverLimit is %t", after.OverLimit)
		}
		return ""
	})
}
