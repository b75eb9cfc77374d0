package storetest_test

import (
	"strings"
	"testing"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
)

func reference(*testing.T) store.Store { return memstore.New() }

func TestAgree(t *testing.T) {
	t.Parallel()
	storetest.Agree(t, open, reference, storetest.Histories{})
}

// agreement is the subtest of [TestBroken] that compares the store with the reference.
const agreement = "random histories"

// TestAgreeNotices: histories that know no sentence of the contract find what breaks one,
// save what is beyond calls that follow each other on one store, and what their few names
// and texts never meet.
func TestAgreeNotices(t *testing.T) {
	t.Parallel()
	beyond := map[string]bool{}
	for _, name := range []string{
		"a race is a conflict", "codes are checked, then written", "limits are checked, then used", "keys of take-overs are looked up, then written",
		"the counter is read, then written", "sessions are looked up, then given", // at once
		"a closed store goes on", "a restart loses everything", "the context is forgotten",
		"orders share their metadata", "the caller's order is kept", // what the caller does with values
		"codes are folded", "keys are folded", "text is normalised", "text is repaired", "nothing is validated",
		"what is malformed is refused first", "pages are clamped", "orders with a coupon need no place",
		"the session comes before the coupon", "the first mirror stays", "totals stop early", "pending points take no place",
		"a key of points is for any coupon", "prices are part of a request", "a transition may be of a session", "ended orders have lost their key",
		"a list that was given before is not written", "deleted IDs are free", "deleted IDs stay claimed", "the code comes before the ID", "the owner of a code is told",
		"a reservation brings any session", "a transition to a taken session is ignored", "payments mind no key", "a payment leaves its key free",
		"a session is of its first order",
	} {
		beyond[name] = true
	}
	for name := range subjects() {
		if beyond[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var output string
			for _, seeds := range []string{"[01]", "[2-5]", "[0-9]+"} { // most are noticed soon
				output = runSubtests(t, name, "^TestBroken$/^random_histories$/^seed_"+seeds+"$")
				if strings.Contains(output, "--- FAIL: TestBroken/random_histories ") {
					return
				}
			}
			t.Errorf("no history notices it:\n%s", output)
		})
	}
}
