package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// What [Histories] that say nothing are.
const (
	DefaultHistories = 4
	DefaultSteps     = 250
)

// Histories are random sequences of calls. The zero value is [DefaultHistories] of
// them, the same ones each time.
type Histories struct {
	// Seed is that of the first history, and each further one has the next: what a
	// failure names is found again by it.
	Seed uint64
	// Count is how many histories there are, each on stores of its own; 0 is
	// [DefaultHistories].
	Count int
	// Steps is how many calls a history has; 0 is [DefaultSteps].
	Steps int
	// Joined, if not nil, is for stores that join a transaction of their host: it begins
	// one on the data of s, passes to calls a store that joins it, and commits.
	Joined func(t *testing.T, s store.Store, calls func(joined store.Store))
}

// Agree runs random histories on a new store and on a reference, one call after another,
// and compares every answer and, in the end, all that is stored. Where [Run] holds the
// store to each sentence of the contract, this finds what no sentence has thought of.
// The reference is a store that is known to be right, as memstore is; both are closed
// in the end. Answers are equal if their values are, or the kinds of their errors and
// the reasons of their rejections.
func Agree(t *testing.T, newStore, newReference func(t *testing.T) store.Store, of Histories) {
	t.Helper()
	if of.Count <= 0 {
		of.Count = DefaultHistories
	}
	if of.Steps <= 0 {
		of.Steps = DefaultSteps
	}
	for n := range uint64(of.Count) {
		seed := of.Seed + n
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			h := &history{
				probe: &probe{T: t, says: "two stores answer alike"}, random: rand.New(rand.NewPCG(seed, 7)),
				reference: opened(t, newReference), tested: opened(t, newStore), gone: make(map[string]bool),
			}
			h.run(of)
		})
	}
}

// opened returns a new store that is closed when the test ends.
func opened(t *testing.T, newStore func(t *testing.T) store.Store) store.Store {
	t.Helper()
	s := newStore(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// history is a random sequence of calls, made on both stores.
type history struct {
	*probe
	random    *rand.Rand
	reference store.Store
	tested    store.Store
	asked     []request
	records   []string
	orders    []string
	settled   []store.Settlement
	gone      map[string]bool // IDs of coupons that were deleted, or paid for before they existed
}

// run makes all calls.
func (h *history) run(of Histories) {
	h.Helper()
	for _, name := range names() {
		h.ask(h.create(name))
	}
	for left := of.Steps; left > 0; {
		if of.Joined == nil {
			h.step()
			left--
			continue
		}
		n := min(left, 1+h.random.IntN(3))
		whole := h.tested
		of.Joined(h.T, whole, func(joined store.Store) {
			h.tested = joined
			for range n {
				h.step()
			}
		})
		h.tested = whole
		left -= n
	}
	h.everything()
}

// compare makes a call on both stores.
func (h *history) compare(call string, do func(store.Store) (any, error)) {
	h.Helper()
	want, wantErr := do(h.reference)
	got, gotErr := do(h.tested)
	if diff := cmp.Diff(kinds(wantErr), kinds(gotErr)); diff != "" {
		h.Fatalf("%s\nthe errors are of other kinds (-reference +store):\n%s\nreference: %v\nstore: %v\nafter\n%s",
			call, diff, wantErr, gotErr, h.before(call))
	}
	if wantErr != nil {
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		h.Fatalf("%s\nthe answers differ (-reference +store):\n%s\nafter\n%s", call, diff, h.before(fmt.Sprintf("%s %+v", call, want)))
	}
}

// Of a history that fails, this many of the last calls are told, and as many of the
// earlier ones that name what the failure is about: an order may differ long before it
// is read.
const toldCalls = 25

// recordIDs finds the IDs of redemptions, orders and sessions that a history makes.
var recordIDs = regexp.MustCompile(`(rsv|ord|rsv_new)_\d+|cs_\d+`)

// before is what was asked before a failure that is about the text.
func (h *history) before(about string) string {
	last := max(0, len(h.asked)-toldCalls)
	var told []string
	for i := last - 1; i >= 0 && len(told) < toldCalls; i-- {
		if call := h.asked[i].told; mentions(call, recordIDs.FindAllString(about, toldCalls)) {
			told = append(told, call)
		}
	}
	slices.Reverse(told)
	if len(told) > 0 {
		told = slices.Concat([]string{"(earlier calls that name the same)"}, told, []string{"(the last calls)"})
	}
	for _, call := range h.asked[last:] {
		told = append(told, call.told)
	}
	return strings.Join(told, "\n")
}

// mentions reports whether the text holds one of the IDs.
func mentions(text string, ids []string) bool {
	return slices.ContainsFunc(recordIDs.FindAllString(text, -1), func(id string) bool { return slices.Contains(ids, id) })
}

// kinds are what the contract says of an error. An error of no kind is told by its text:
// no two stores have the same.
func kinds(err error) []string {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrSuperseded): // that an event is illegal then is a detail
		return []string{"superseded"}
	}
	var all []string
	for name, sentinel := range map[string]error{
		"not found": store.ErrNotFound, "conflict": store.ErrConflict, "stale": store.ErrStaleRevision,
		"key reused": store.ErrKeyReused, "closed": store.ErrClosed, "coupon not found": coupon.ErrNotFound,
		"inactive": coupon.ErrInactive, "taken": coupon.ErrCodeTaken, "invalid": pricing.ErrInvalid, "illegal": redemption.ErrIllegal,
	} {
		if errors.Is(err, sentinel) {
			all = append(all, name)
		}
	}
	var rejection *coupon.Rejection
	if errors.As(err, &rejection) {
		for _, reason := range rejection.Reasons {
			params, err := json.Marshal(reason.Params)
			if err != nil {
				params = fmt.Appendf(nil, "%+v", reason.Params)
			}
			all = append(all, fmt.Sprintf("%s %s", reason.Code, params))
		}
	}
	if all == nil {
		return []string{"failure: " + err.Error()}
	}
	slices.Sort(all)
	return all
}
