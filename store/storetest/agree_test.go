package storetest_test

import (
	"context"
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

// TestAgreeLeavesTheStoreItsChoices: a store need not narrow the allow-list of a coupon
// that is looked up.
func TestAgreeLeavesTheStoreItsChoices(t *testing.T) {
	t.Parallel()
	whole := func(*testing.T) store.Store {
		f := &faulty{Store: memstore.New()}
		f.lookUp = func(ctx context.Context, by store.LookUp) (store.Found, error) {
			found, err := f.Store.LookUp(ctx, by)
			if err != nil {
				return found, err
			}
			found.Coupon, err = f.Store.Coupon(ctx, found.Coupon.ID)
			return found, err
		}
		return f
	}
	storetest.Agree(t, whole, reference, storetest.Histories{})
}

// TestAgreeTellsWhatLedThere: where two stores differ about a record, the earlier calls
// about it are told, and not the last ones alone.
func TestAgreeTellsWhatLedThere(t *testing.T) {
	t.Parallel()
	output := runSubtests(t, "an expiry releases what was paid", "^TestBroken$/^random_histories$/^seed_[0-9]$")
	_, told, found := strings.Cut(output, "(earlier calls that name the same)\n")
	earlier, _, both := strings.Cut(told, "(the last calls)\n")
	if !found || !both || strings.TrimSpace(earlier) == "" {
		t.Errorf("the earlier calls about the order are not told:\n%s", output)
	}
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
		"only addresses are looked up", "a search composes no letters",
		"codes are folded", "keys are folded", "text is normalised", "text is repaired", "nothing is validated", "the search counts bytes",
		"what is malformed is refused first", "pages are clamped", "later pages of a search tell the addresses", "text that nothing has is looked for without a cursor", "orders with a coupon need no place",
		"the session comes before the coupon", "the first mirror stays", "totals stop early", "pending points take no place",
		"a key of points is for any coupon", "prices are part of a request", "a transition may be of a session", "ended orders have lost their key",
		"a list that was given before is not written", "deleted IDs are free", "deleted IDs stay claimed", "the code comes before the ID", "the owner of a code is told",
		"a reservation brings any session", "a transition to a taken session is ignored", "payments mind no key", "a payment leaves its key free",
		"a session is of its first order",
		"a release is written over a payment", "an expiry is written over a plain order's payment", "an attachment is written over a plain order's payment",
		"payments look for a place, then take it", "late payments look for a place, then take it", "keys are looked up within a coupon", "sessions are looked up within a coupon",
		"whatever is there already is a taken code", "a mirror is confirmed for whatever revision there is", "an update makes a deleted coupon again", // at once
		"metadata are part of a request", "the price in points is part of a request", "prices of an order without a coupon are part of a request",
		"prices of a take-over are part of a request", "a take-over looks for the reservation before the key", "a take-over asks the coupon before the key",
		"a take-over with the key of a checkout is another request", "an order without a coupon minds no key of a take-over", "keys are kept for a day",
		"a take-over that fails has cancelled the first order", "a payment that fails has paid the order", "a conflict of IDs uses the key up",
		"events that are older than the record are ignored", "only what was released is refunded", "points of what was paid are not given back",
		"coupons are cached in each process", "states are cached in each process", "what is missing is cached",
		"lists are as the process has left them", // by another process
		"a reservation whose caller leaves has no order", "who leaves is told of the connection", "who leaves is told that all is done",
		"who leaves cannot come back", "lists end where the caller leaves", // whose context ends
		"refusals name no coupon", "the cursor of a numbered page is that of the first", "an update is validated as it is given", "a narrowed list is validated as it is given",
		"nothing is in a state that there is not", "instants are so many nanoseconds", "wall clocks are compared", "payments keep nanoseconds and zones",
		"an order is 64 KiB of text", "a session's URL has 2,048 bytes", "a statement has 65,535 parameters", "a sweep has 100 records", // as large
		"points are looked for among those that LookUp lists",
		"a deadline of zero is none given", "a repeated attachment keeps the first URL",
		"an order without a coupon takes no session of a redemption", "sessions are those that were attached",
		"a session is of the order that was attached last", "the caller says that no place is left", "a transition validates nothing",
		"payments leave IDs free", "payments that cross wait for each other", "IDs are looked up, then written",
		"a take-over goes by what it saw", "an attachment goes by what it saw", "a reservation goes by what it saw", "take-overs look their keys up once", // at once
		"a session that a transition brings is the order's too", "events may be without an instant", "take-overs may be without an instant", "sessions may be attached without an instant", "a limit below 0 is none", "leaving is never taken back", "equal instants go by a collation", "instants are compared by the millisecond",
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
