package redemption_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/redemption"
)

// spoilt is redemption.Apply whose answer is changed afterwards.
func spoilt(change func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, err error) (redemption.Redemption, error)) machine {
	return func(r redemption.Redemption, e redemption.Event) (redemption.Redemption, error) {
		after, err := redemption.Apply(r, e)
		return change(r, e, after, err)
	}
}

// turned is redemption.Apply whose event is changed before.
func turned(change func(redemption.Redemption, *redemption.Event)) machine {
	return func(r redemption.Redemption, e redemption.Event) (redemption.Redemption, error) {
		change(r, &e)
		return redemption.Apply(r, e)
	}
}

// on spoils what a kind of event made of a record.
func on(kind redemption.EventKind, change func(before redemption.Redemption, e redemption.Event, after *redemption.Redemption)) machine {
	return spoilt(func(before redemption.Redemption, e redemption.Event, after redemption.Redemption, err error) (redemption.Redemption, error) {
		if e.Kind == kind && err == nil {
			change(before, e, &after)
		}
		return after, err
	})
}

// brokenMachines each break one sentence; caught names the property that notices.
func brokenMachines() map[string]struct {
	apply  machine
	caught string
} {
	type broken = struct {
		apply  machine
		caught string
	}
	return map[string]broken{
		"an expiry wins over a payment": {
			on(redemption.SessionExpired, func(before redemption.Redemption, e redemption.Event, after *redemption.Redemption) {
				if before.State == redemption.Completed && before.SessionID == e.SessionID {
					after.State, after.CompletedAt, after.ReleasedAt = redemption.Released, time.Time{}, e.At
				}
			}), "session events in any order end equal",
		},
		"a second payment is a second completion": {
			on(redemption.SessionCompleted, func(_ redemption.Redemption, e redemption.Event, after *redemption.Redemption) {
				after.CompletedAt, after.UpdatedAt = e.At, e.At
			}), "a payment absorbs",
		},
		"a repeated attachment sets the deadline": {
			on(redemption.SessionAttached, func(_ redemption.Redemption, e redemption.Event, after *redemption.Redemption) {
				if after.Live() {
					after.Deadline, after.UpdatedAt = e.At.Add(time.Hour), e.At
				}
			}), "a repetition changes nothing",
		},
		"a refusal changes the record": {
			spoilt(func(_ redemption.Redemption, _ redemption.Event, after redemption.Redemption, err error) (redemption.Redemption, error) {
				if err != nil {
					after.AwaitingPayment = !after.AwaitingPayment
				}
				return after, err
			}), "what is refused is typed and changes nothing",
		},
		"a refusal is a bare sentinel": {
			spoilt(func(_ redemption.Redemption, _ redemption.Event, after redemption.Redemption, err error) (redemption.Redemption, error) {
				if err != nil {
					err = redemption.ErrIllegal
				}
				return after, err
			}), "what is refused is typed and changes nothing",
		},
		"a refusal of another cause": {
			spoilt(func(r redemption.Redemption, e redemption.Event, after redemption.Redemption, err error) (redemption.Redemption, error) {
				if err != nil {
					err = &redemption.TransitionError{ID: r.ID, State: r.State, Kind: e.Kind, Cause: errors.New("no")}
				}
				return after, err
			}), "what is refused is typed and changes nothing",
		},
		"a refusal that names another state": {
			spoilt(func(r redemption.Redemption, e redemption.Event, after redemption.Redemption, err error) (redemption.Redemption, error) {
				if err != nil {
					err = &redemption.TransitionError{ID: r.ID, State: redemption.Reserved, Kind: e.Kind, Cause: redemption.ErrIllegal}
				}
				return after, err
			}), "what is refused is typed and changes nothing",
		},
		"a payment takes a refund back": {
			on(redemption.SessionCompleted, func(_ redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				if after.PointsState > redemption.PointsDebited {
					after.PointsState = redemption.PointsDebited
				}
			}), "points only move forward",
		},
		"a released record keeps the points": {
			spoilt(func(before redemption.Redemption, _ redemption.Event, after redemption.Redemption, err error) (redemption.Redemption, error) {
				if after.State == redemption.Released && before.State == redemption.Reserved {
					after.PointsState = before.PointsState
				}
				return after, err
			}), "points only move forward",
		},
		"an expiry refunds again": {
			on(redemption.SessionExpired, func(before redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				if before.PointsState == redemption.PointsRefunded {
					after.PointsState = redemption.PointsRefundDue
				}
			}), "points only move forward",
		},
		"an attachment brings a released record back": {
			on(redemption.SessionAttached, func(before redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				if before.State == redemption.Released {
					after.State, after.ReleasedAt = redemption.Reserved, time.Time{}
				}
			}), "counts are those of the state",
		},
		"a delayed payment counts as a payment": {
			on(redemption.SessionUnpaid, func(_ redemption.Redemption, e redemption.Event, after *redemption.Redemption) {
				if after.AwaitingPayment {
					after.State, after.CompletedAt, after.AwaitingPayment, after.Deadline = redemption.Completed, e.At, false, time.Time{}
				}
			}), "counts are those of the state",
		},
		"a take-over changes the key": {
			on(redemption.TakenOver, func(_ redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				after.Key += "+"
			}), "what names a record never changes",
		},
		"every event is noted": {
			spoilt(func(_ redemption.Redemption, e redemption.Event, after redemption.Redemption, err error) (redemption.Redemption, error) {
				after.UpdatedAt = e.At
				return after, err
			}), "a change is noted, and nothing else",
		},
		"no event is noted": {
			spoilt(func(before redemption.Redemption, _ redemption.Event, after redemption.Redemption, err error) (redemption.Redemption, error) {
				after.UpdatedAt = before.UpdatedAt
				return after, err
			}), "a change is noted, and nothing else",
		},
		"a payment keeps the deadline": {
			on(redemption.SessionCompleted, func(before redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				after.Deadline = before.Deadline
			}), "a valid record stays valid and fits its state",
		},
		"a payment after the release keeps its instant": {
			on(redemption.SessionCompleted, func(before redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				after.ReleasedAt = before.ReleasedAt
			}), "a valid record stays valid and fits its state",
		},
		"a delayed payment does not take its session": {
			on(redemption.SessionUnpaid, func(before redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				after.SessionID = before.SessionID
			}), "a valid record stays valid and fits its state",
		},
		"events go by the order alone": {
			turned(func(r redemption.Redemption, e *redemption.Event) {
				if e.Kind == redemption.SessionExpired && e.OrderID == r.OrderID {
					e.SessionID = r.SessionID
				}
			}), "another session's events concern nobody",
		},
		"a take-over goes by the reservation alone": {
			turned(func(r redemption.Redemption, e *redemption.Event) {
				if e.Kind == redemption.TakenOver {
					e.SessionID = r.SessionID
				}
			}), "another session's events concern nobody",
		},
		"an expiry ends a delayed payment": {
			turned(func(_ redemption.Redemption, e *redemption.Event) {
				if e.Kind == redemption.SessionExpired {
					e.Kind = redemption.PaymentFailed
				}
			}), "expiry waits for a delayed payment",
		},
		"an expiry ends what is leaving": {
			turned(func(r redemption.Redemption, e *redemption.Event) {
				if e.Kind == redemption.SessionExpired && !r.AwaitingPayment {
					e.Kind = redemption.PaymentFailed
				}
			}), "an expiry waits for what is leaving",
		},
		"what leaves is kept for ever": {
			on(redemption.SessionExpired, func(before redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				if after.Live() {
					after.Deadline = before.Deadline
				}
			}), "an expiry waits for what is leaving",
		},
		"a payment leaves the mark of what is leaving": {
			on(redemption.SessionCompleted, func(before redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				after.LeavingUntil = before.LeavingUntil
			}), "a valid record stays valid and fits its state",
		},
		"a take-over leaves the mark of what is leaving": {
			on(redemption.TakenOver, func(before redemption.Redemption, _ redemption.Event, after *redemption.Redemption) {
				after.LeavingUntil = before.LeavingUntil
			}), "a valid record stays valid and fits its state",
		},
		"a delayed payment sets the deadline": {
			on(redemption.SessionUnpaid, func(_ redemption.Redemption, e redemption.Event, after *redemption.Redemption) {
				if after.AwaitingPayment {
					after.Deadline = e.Deadline
				}
			}), "a delayed payment only extends the deadline",
		},
		"a reservation lapses at any time": {
			turned(func(_ redemption.Redemption, e *redemption.Event) {
				if e.Kind == redemption.Lapsed {
					e.Kind = redemption.Cancelled
				}
			}), "only a lapsed deadline lapses",
		},
		"a refusal is a cancellation": {
			turned(func(_ redemption.Redemption, e *redemption.Event) {
				if e.Kind == redemption.PointsRefused {
					e.Kind = redemption.Cancelled
				}
			}), "only pending points are refused",
		},
		"a payment that kept its place is over the limit": {
			on(redemption.SessionCompleted, func(before redemption.Redemption, e redemption.Event, after *redemption.Redemption) {
				if before.State == redemption.Reserved {
					after.OverLimit = e.NoPlaceLeft
				}
			}), "over the limit only without a place",
		},
		"a payment without a place is not flagged": {
			turned(func(_ redemption.Redemption, e *redemption.Event) { e.NoPlaceLeft = false }),
			"over the limit only without a place",
		},
	}
}

// attempts bounds the cases in which a broken machine has to be noticed.
const attempts = 20_000

// notices reports whether the property finds a fault in the machine.
func notices(holds property, apply machine) bool {
	faults := rapid.Custom(func(t *rapid.T) string { return holds(t, apply) })
	for seed := range attempts {
		if faults.Example(seed) != "" {
			return true
		}
	}
	return false
}

// TestPropertiesCatch proves the properties: each notices a machine that breaks it,
// and no property is without such a machine.
func TestPropertiesCatch(t *testing.T) {
	t.Parallel()
	unproven := properties()
	for name, broken := range brokenMachines() {
		delete(unproven, broken.caught)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !notices(properties()[broken.caught], broken.apply) {
				t.Errorf("the property %q does not notice it", broken.caught)
			}
		})
	}
	for name := range unproven {
		t.Errorf("no broken machine shows that the property %q notices anything", name)
	}
}
