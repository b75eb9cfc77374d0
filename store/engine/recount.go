package engine

import (
	"errors"
	"iter"
	"strings"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// HeldStates returns the names of the states in which a record holds its claims: as reserved, and as completed. Each
// result is a list of SQL literals, such as 'open', 'ending'. Stores recount their counters with them.
func HeldStates(orders bool) (reserved, completed string) {
	claims := []eligibility.Claim{{Counter: "c", Amount: 1}}
	var asReserved, asCompleted []string
	for state := 1; ; state++ {
		held, name := redemption.Holdings(redemption.Order{}, redemption.Use{State: redemption.State(state), Claims: claims}), redemption.State(state).String()
		if orders {
			held, name = redemption.Holdings(redemption.Order{State: redemption.OrderState(state), Claims: claims}), redemption.OrderState(state).String()
		}
		switch {
		case name == "":
			return strings.Join(asReserved, ", "), strings.Join(asCompleted, ", ")
		case held["c"].Reserved > 0:
			asReserved = append(asReserved, "'"+name+"'")
		case held["c"].Completed > 0:
			asCompleted = append(asCompleted, "'"+name+"'")
		}
	}
}

// Recount yields the differences of a [store.Verifier]. After an error of one of its methods, the store stops.
type Recount struct {
	yield func(store.Difference, error) bool
}

// errEnded means that the loop over the differences has ended.
var errEnded = errors.New("the loop has ended")

// Verify returns the differences that run finds. An error of run ends the sequence.
func Verify(run func(*Recount) error) iter.Seq2[store.Difference, error] {
	return func(yield func(store.Difference, error) bool) {
		if err := run(&Recount{yield}); err != nil && !errors.Is(err, errEnded) {
			yield(store.Difference{}, err)
		}
	}
}

// Counter compares a counter with its claims.
func (r *Recount) Counter(key string, counted, recounted eligibility.Count) error {
	return r.compare(key, []number{
		{store.ReservedClaims, counted.Reserved, recounted.Reserved},
		{store.CompletedClaims, counted.Completed, recounted.Completed},
	})
}

// ScanCounter reads and compares a row with a key, two counted and two recounted numbers, reserved before completed.
// The function key returns the key that is stored as a text.
func (r *Recount) ScanCounter(scan func(...any) error, key func(string) string) error {
	var stored string
	var counted, recounted eligibility.Count
	if err := scan(&stored, &counted.Reserved, &counted.Completed, &recounted.Reserved, &recounted.Completed); err != nil {
		return err
	}
	return r.Counter(key(stored), counted, recounted)
}

// BatchCounts are the numbers of the codes of a batch.
type BatchCounts struct{ Codes, Assigned, Inactive int64 }

// Batch compares the numbers of a batch with its codes.
func (r *Recount) Batch(couponID, id string, counted, recounted BatchCounts) error {
	return r.compare(eligibility.BatchUses(couponID, id), []number{
		{store.BatchCodes, counted.Codes, recounted.Codes},
		{store.AssignedCodes, counted.Assigned, recounted.Assigned},
		{store.InactiveCodes, counted.Inactive, recounted.Inactive},
	})
}

// ScanBatch reads and compares a row with the IDs of a coupon and a batch, and the counted and the recounted
// [BatchCounts].
func (r *Recount) ScanBatch(scan func(...any) error) error {
	var couponID, id string
	var counted, recounted BatchCounts
	err := scan(&couponID, &id, &counted.Codes, &counted.Assigned, &counted.Inactive, &recounted.Codes, &recounted.Assigned, &recounted.Inactive)
	if err != nil {
		return err
	}
	return r.Batch(couponID, id, counted, recounted)
}

// number is a stored number beside that of the records.
type number struct {
	kind               store.NumberKind
	counted, recounted int64
}

func (r *Recount) compare(counter string, numbers []number) error {
	for _, n := range numbers {
		if n.counted != n.recounted && !r.yield(store.Difference{Counter: counter, Number: n.kind, Counted: n.counted, Recounted: n.recounted}, nil) {
			return errEnded
		}
	}
	return nil
}
