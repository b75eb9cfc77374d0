package couponkit_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
)

// failed returns the error that ended a sequence.
func failed[T any](all iter.Seq2[T, error]) (end error) {
	for _, err := range all {
		end = err
	}
	return end
}

// TestEveryFailureIsObservedOnce: the observer gets one attempt of each failed call, with its error.
func TestEveryFailureIsObservedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	offered := couponkit.NewOffers(w.store, offers.Limits{})
	stranger := eligibility.Customer{ID: "\x00"}
	quote := couponkit.QuoteRequest{Customer: stranger, Cart: phones()}
	reserve := couponkit.ReserveRequest{QuoteRequest: quote, Hold: hold}
	order := couponkit.OrderRequest{OrderID: "none", AnyCustomer: true}
	const none = "cpn_none"
	calls := map[couponkit.Operation]func(context.Context) error{ //nolint:exhaustive // the others fail only with the store or the processor
		couponkit.OpCreate:    func(ctx context.Context) error { _, err := w.Create(ctx, coupon.Draft{}); return err },
		couponkit.OpUpdate:    func(ctx context.Context) error { _, err := w.Update(ctx, none, coupon.Patch{}); return err },
		couponkit.OpSetActive: func(ctx context.Context) error { _, err := w.SetActive(ctx, none, true); return err },
		couponkit.OpDelete:    func(ctx context.Context) error { return w.Delete(ctx, none) },
		couponkit.OpAddCodes:  func(ctx context.Context) error { _, err := w.AddCodes(ctx, none, coupon.Batch{}, nil); return err },
		couponkit.OpCreateCodes: func(ctx context.Context) error {
			_, err := w.CreateCodes(ctx, none, coupon.BatchDraft{}, nil)
			return err
		},
		couponkit.OpAssignCodes: func(ctx context.Context) error {
			return failed(w.AssignCodes(ctx, none, "batch", slices.Values([]coupon.Owner{coupon.OwnerID("ann")})))
		},
		couponkit.OpImportCodes: func(ctx context.Context) error {
			return failed(w.ImportCodes(ctx, none, "batch", func(yield func(codecsv.Row, error) bool) {
				yield(codecsv.Row{Draft: coupon.CodeDraft{Code: "NEW"}, Active: true}, nil)
			}))
		},
		couponkit.OpUpdateCode:  func(ctx context.Context) error { _, err := w.UpdateCode(ctx, "NONE", coupon.CodePatch{}); return err },
		couponkit.OpChangeBatch: func(ctx context.Context) error { _, err := w.SetBatchActive(ctx, none, "batch", true); return err },
		couponkit.OpValidate: func(ctx context.Context) error {
			_, err := w.Validate(ctx, couponkit.ValidateRequest{Customer: stranger})
			return err
		},
		couponkit.OpQuote:   func(ctx context.Context) error { _, err := w.Quote(ctx, quote); return err },
		couponkit.OpExplain: func(ctx context.Context) error { _, err := w.Explain(ctx, quote); return err },
		couponkit.OpSuggest: func(ctx context.Context) error {
			_, err := w.Suggest(ctx, couponkit.SuggestRequest{QuoteRequest: quote, Offers: offered})
			return err
		},
		couponkit.OpCheckout: func(ctx context.Context) error {
			_, err := w.Checkout(ctx, couponkit.CheckoutRequest{Customer: stranger, Cart: phones()})
			return err
		},
		couponkit.OpPaymentLink: func(ctx context.Context) error {
			_, err := w.PaymentLink(ctx, couponkit.PaymentLinkRequest{})
			return err
		},
		couponkit.OpPrepare:      func(ctx context.Context) error { _, err := w.Prepare(ctx, reserve); return err },
		couponkit.OpReserve:      func(ctx context.Context) error { _, err := w.Reserve(ctx, reserve); return err },
		couponkit.OpBeginPayment: func(ctx context.Context) error { _, err := w.BeginPayment(ctx, "none"); return err },
		couponkit.OpOpenSession: func(ctx context.Context) error {
			_, err := w.OpenSession(ctx, "none", couponkit.SessionOptions{})
			return err
		},
		couponkit.OpAttachPayment: func(ctx context.Context) error { _, err := w.AttachPayment(ctx, couponkit.Payment{}); return err },
		couponkit.OpRecord:        func(ctx context.Context) error { _, err := w.Record(ctx, couponkit.Payment{}); return err },
		couponkit.OpRunDue:        func(ctx context.Context) error { return w.RunDue(ctx, "none") },
		couponkit.OpCancel:        func(ctx context.Context) error { _, err := w.Cancel(ctx, "none"); return err },
		couponkit.OpCancelCheckout: func(ctx context.Context) error {
			_, err := w.CancelCheckout(ctx, order)
			return err
		},
		couponkit.OpRefresh: func(ctx context.Context) error { _, err := w.Refresh(ctx, order); return err },
		couponkit.OpExchangePoints: func(ctx context.Context) error {
			_, err := w.ExchangePoints(ctx, couponkit.ExchangeRequest{Customer: stranger})
			return err
		},
		couponkit.OpCancelExchange: func(ctx context.Context) error { return w.CancelExchange(ctx, ann.ID, "none") },
		couponkit.OpEvent: func(ctx context.Context) error {
			_, err := w.HandleEvent(ctx, processor.Event{Type: processor.Completed, Metadata: map[string]string{processor.MetadataOrderID: "none"}})
			return err
		},
		couponkit.OpRefund: func(ctx context.Context) error { _, err := w.Refund(ctx, couponkit.RefundRequest{}); return err },
	}
	for op, call := range calls {
		w.attempts = nil
		err := call(t.Context())
		require.Error(t, err, op)
		require.Len(t, w.attempts, 1, op)
		require.Equal(t, op, w.attempts[0].Operation)
		require.ErrorIs(t, w.attempts[0].Err, err, op)
	}
}

// TestAReservationIsObservedOnce, whatever fails before it, and however often it is prepared.
func TestAReservationIsObservedOnce(t *testing.T) {
	t.Parallel()
	var attempts []couponkit.Attempt
	w, ctx := limited(t, couponkit.WithObserver(couponkit.ObserverFunc(func(_ context.Context, a couponkit.Attempt) {
		attempts = append(attempts, a)
	})))
	c := w.create(t, tenOff())
	r := couponkit.ReserveRequest{OrderID: "1", Hold: hold, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: phones(), Codes: []string{"TEN"}}}
	observed := func(want error) couponkit.Attempt {
		t.Helper()
		attempts = nil
		_, err := w.Reserve(ctx, r)
		require.ErrorIs(t, err, want)
		require.Len(t, attempts, 1)
		require.Equal(t, []any{couponkit.OpReserve, ann.ID, err}, []any{attempts[0].Operation, attempts[0].CustomerID, attempts[0].Err})
		return attempts[0]
	}

	reserved := observed(nil)
	require.Equal(t, []string{"1", c.ID}, []string{reserved.OrderID, reserved.CouponID})

	r.OrderID = "2"
	changes := 0
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.Hook, Times: -1, Do: func(fakeprocessor.Call) {
		_, err := w.save(store.EditCoupon, w.get(t, c.ID))
		require.NoError(t, err)
		changes++
	}})
	observed(couponkit.ErrNotPrepared)
	require.Equal(t, 3, changes)

	w.fake.Heal()
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.LostBefore, Times: -1})
	observed(couponkit.ErrUnavailable)

	r.Codes = []string{"WRONG", "WORSE", "WORST"}
	require.Contains(t, observed(coupon.ErrNotFound).Reasons, coupon.CouponNotFound)
	observed(couponkit.ErrTooManyAttempts)
}
