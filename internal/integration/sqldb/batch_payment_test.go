package sqldb_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// paymentSituations bring a reservation of customer and name about, and return the payment
// that follows.
func paymentSituations() map[string]func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
	later := noon().Add(30 * time.Second)
	reserve := func(t *testing.T, s store.Store, r store.Reservation) redemption.Redemption {
		t.Helper()
		kept, err := s.Reserve(t.Context(), r)
		require.NoError(t, err)
		return kept.Redemption
	}
	checkout := func(t *testing.T, s store.Store, c coupon.Coupon, name string) redemption.Redemption {
		t.Helper()
		return reserve(t, s, checkoutOf(c, name, name))
	}
	attach := func(t *testing.T, s store.Store, r redemption.Redemption) {
		t.Helper()
		_, err := s.AttachSession(t.Context(), store.Attachment{
			OrderID: r.OrderID, SessionID: "cs_" + r.CustomerID, SessionURL: "https://pay.example/" + r.CustomerID,
			Deadline: noon().Add(2 * time.Hour), At: later,
		})
		require.NoError(t, err)
	}
	happened := func(t *testing.T, s store.Store, r redemption.Redemption, e redemption.Event) {
		t.Helper()
		e.At = later
		_, err := s.Transition(t.Context(), r.ID, e)
		require.NoError(t, err)
	}
	takeOver := func(t *testing.T, s store.Store, c coupon.Coupon, r redemption.Redemption, name string) redemption.Redemption {
		t.Helper()
		order := *checkoutOf(c, r.CustomerID, name).Order
		order.ReservationID = r.ID
		taken, err := s.TakeOver(t.Context(), store.TakeOver{
			ReservationID: r.ID, FromSessionID: r.SessionID, Order: order, Deadline: noon().Add(3 * time.Hour), At: later,
		})
		require.NoError(t, err)
		return taken.Redemption
	}
	paid := func(r redemption.Redemption) store.Settlement {
		return settlementOf(redemption.SessionCompleted, r, "cs_"+r.CustomerID)
	}
	return map[string]func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement{
		"a session that was never attached": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			return paid(checkout(t, s, c, name))
		},
		"the session that was attached": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			r := checkout(t, s, c, name)
			attach(t, s, r)
			return paid(r)
		},
		"another session than the attached one": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			r := checkout(t, s, c, name)
			attach(t, s, r)
			return settlementOf(redemption.SessionCompleted, r, "cs_other_"+name)
		},
		"a payment that was waited for": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			r := checkout(t, s, c, name)
			unpaid := settlementOf(redemption.SessionUnpaid, r, "cs_"+name)
			unpaid.Event.Deadline = noon().Add(48 * time.Hour)
			_, err := s.Settle(t.Context(), unpaid)
			require.NoError(t, err)
			return paid(r)
		},
		"a reservation that was released": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			r := checkout(t, s, c, name)
			happened(t, s, r, redemption.Event{Kind: redemption.Cancelled})
			return paid(r)
		},
		"what is paid already": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			p := paid(checkout(t, s, c, name))
			_, err := s.Settle(t.Context(), p)
			require.NoError(t, err)
			return p
		},
		"an exchange of points that an order has": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			r := reserve(t, s, exchangeOf(c, name, name))
			happened(t, s, r, redemption.Event{Kind: redemption.PointsExchanged})
			return paid(takeOver(t, s, c, r, name+"-order"))
		},
		"an order that was taken over": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			r := checkout(t, s, c, name)
			takeOver(t, s, c, r, name+"-later")
			return paid(r)
		},
		"an order of another reservation": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			r, other := checkout(t, s, c, name), checkout(t, s, c, name+"-other")
			p := paid(r)
			p.Event.OrderID = other.OrderID
			return p
		},
		"a session that another redemption has": func(t *testing.T, s store.Store, c coupon.Coupon, name string) store.Settlement {
			t.Helper()
			other := checkout(t, s, c, name+"-other")
			attach(t, s, other)
			return settlementOf(redemption.SessionCompleted, checkout(t, s, c, name), "cs_"+other.CustomerID)
		},
	}
}

// paymentResult is a payment's answer, and what is stored afterwards.
type paymentResult struct {
	Settled     store.Settled
	Err         string
	Redemptions []redemption.Redemption
	Order       store.Order
}

func resultOf(t *testing.T, in store.Store, p store.Settlement, settled store.Settled, answer error) paymentResult {
	t.Helper()
	page, err := in.ListRedemptions(t.Context(), store.RedemptionList{CouponID: p.CouponID})
	require.NoError(t, err)
	order, err := in.Order(t.Context(), p.Event.OrderID)
	require.NoError(t, err)
	return paymentResult{Settled: settled, Err: fmt.Sprint(answer), Redemptions: page.Items, Order: order}
}

// Whatever a payment is about, its answer and what is stored are the same beside
// another one in a batch as by itself.
func TestAPaymentInABatchIsAsByItself(t *testing.T) {
	t.Parallel()
	situations := paymentSituations()
	forEachSQLite(t, func(t *testing.T, s shop) {
		t.Helper()
		opened, _ := s.open(t)
		reference := memstore.New()
		for i, name := range slices.Sorted(maps.Keys(situations)) {
			id := fmt.Sprint("s", i)
			c := limitedCoupon(id, 100, 2)
			var payment store.Settlement
			for _, in := range []store.Store{opened, reference} {
				require.NoError(t, in.CreateCoupon(t.Context(), c))
				payment = situations[name](t, in, c, id)
			}
			usual := checkoutOf(c, id+"-usual", id+"-usual")
			for _, in := range []store.Store{opened, reference} {
				for _, r := range []store.Reservation{usual, checkoutOf(c, id+"-open", id+"-open")} {
					_, err := in.Reserve(t.Context(), r)
					require.NoError(t, err)
				}
			}
			beside := settlementOf(redemption.SessionCompleted, usual.Redemption, "cs_"+id+"-usual")
			_, err := reference.Settle(t.Context(), beside)
			require.NoError(t, err)
			settled, answer := reference.Settle(t.Context(), payment)
			want := resultOf(t, reference, payment, settled, answer)

			s.inOneBatch(t, // a payment that names another's order leaves that one open
				func() { _, err = opened.Settle(t.Context(), beside) },
				func() { settled, answer = opened.Settle(t.Context(), payment) })
			require.NoError(t, err)
			if diff := cmp.Diff(want, resultOf(t, opened, payment, settled, answer)); diff != "" {
				t.Errorf("%s (-by itself +in a batch):\n%s", name, diff)
			}
		}
	})
}
