package couponkit_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// firstError reads a sequence to its first error.
func firstError[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func only1[T any](_ T, err error) error { return err }

// shopOfCalls is a world with two coupons, a batch and an open order, and the calls that need the time or new IDs.
func shopOfCalls(t *testing.T, options ...couponkit.Option) (*world, map[string]func(context.Context) error) {
	t.Helper()
	w := newWorld(t, options...)
	c := w.create(t, tenOff())
	d := tenOff()
	d.Code, d.Distribution, d.PointsRequired = "POINTS", coupon.PointsRedeemable, 30
	w.create(t, d)
	_, err := w.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "b"}, []coupon.CodeDraft{{Code: "ONE"}})
	require.NoError(t, err)
	r := w.request("TEN")
	r.Key = "before"
	open := w.checkout(t, r)
	of := couponkit.OrderRequest{OrderID: open.Order.ID, AnyCustomer: true}
	wanted := couponkit.QuoteRequest{Cart: phones(), Codes: only("TEN"), Customer: bob}
	unknown := couponkit.Payment{ID: "lost", OrderID: "lost", Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(5_00, pricing.EUR())}
	return w, map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error {
			d := tenOff()
			d.Code = "NEW"
			return only1(w.Create(ctx, d))
		},
		"Update": func(ctx context.Context) error {
			return only1(w.Update(ctx, c.ID, coupon.Patch{Name: coupon.Set("x")}))
		},
		"SetActive": func(ctx context.Context) error { return only1(w.SetActive(ctx, c.ID, false)) },
		"Delete":    func(ctx context.Context) error { return w.Delete(ctx, c.ID) },
		"AddCodes": func(ctx context.Context) error {
			return only1(w.AddCodes(ctx, c.ID, coupon.Batch{ID: "n"}, []coupon.CodeDraft{{Code: "N"}}))
		},
		"CreateCodes": func(ctx context.Context) error {
			return only1(w.CreateCodes(ctx, c.ID, coupon.BatchDraft{Batch: coupon.Batch{ID: "g"}, Count: 2}, nil))
		},
		"PreviewCodes": func(ctx context.Context) error {
			return only1(w.PreviewCodes(ctx, c.ID, coupon.BatchDraft{Batch: coupon.Batch{ID: "g"}, Count: 2}))
		},
		"UpdateCode": func(ctx context.Context) error {
			return only1(w.UpdateCode(ctx, "ONE", coupon.CodePatch{Active: coupon.Set(false)}))
		},
		"SetBatch":      func(ctx context.Context) error { return only1(w.SetBatchActive(ctx, c.ID, "b", false)) },
		"RemoveCodes":   func(ctx context.Context) error { return only1(w.RemoveUnusedCodes(ctx, c.ID, "b")) },
		"AssignCodes":   func(ctx context.Context) error { return firstError(w.AssignCodes(ctx, c.ID, "b", oneOwner)) },
		"PreviewAssign": func(ctx context.Context) error { return firstError(w.PreviewAssign(ctx, c.ID, "b", oneOwner)) },
		"ImportCodes":   func(ctx context.Context) error { return firstError(w.ImportCodes(ctx, c.ID, "i", oneRow)) },
		"PreviewImport": func(ctx context.Context) error { return firstError(w.PreviewImport(ctx, c.ID, "i", oneRow)) },
		"Validate": func(ctx context.Context) error {
			return only1(w.Validate(ctx, couponkit.ValidateRequest{Code: "TEN", Customer: bob}))
		},
		"Quote":   func(ctx context.Context) error { return only1(w.Quote(ctx, wanted)) },
		"Explain": func(ctx context.Context) error { return only1(w.Explain(ctx, wanted)) },
		"Prepare": func(ctx context.Context) error {
			return only1(w.Prepare(ctx, couponkit.ReserveRequest{QuoteRequest: wanted}))
		},
		"Reserve": func(ctx context.Context) error {
			return only1(w.Reserve(ctx, couponkit.ReserveRequest{QuoteRequest: wanted}))
		},
		"Checkout": func(ctx context.Context) error { return only1(w.Checkout(ctx, w.request("TEN"))) },
		"Repeated": func(ctx context.Context) error {
			r := w.request("TEN")
			r.Key = "before"
			return only1(w.Checkout(ctx, r))
		},
		"PaymentLink": func(ctx context.Context) error {
			return only1(w.PaymentLink(ctx, couponkit.PaymentLinkRequest{CheckoutRequest: w.request("TEN"), Mode: couponkit.SubscriptionLink}))
		},
		"ExchangePoints": func(ctx context.Context) error {
			return only1(w.ExchangePoints(ctx, couponkit.ExchangeRequest{Coupon: "POINTS", Customer: ann}))
		},
		"CancelExchange": func(ctx context.Context) error { return w.CancelExchange(ctx, ann.ID, "use_none") },
		"BeginPayment":   func(ctx context.Context) error { return only1(w.BeginPayment(ctx, open.Order.ID)) },
		"AttachPayment": func(ctx context.Context) error {
			return only1(w.AttachPayment(ctx, couponkit.Payment{OrderID: open.Order.ID, ID: "other"}))
		},
		"Record":         func(ctx context.Context) error { return only1(w.Record(ctx, unknown)) },
		"HandleEvent":    func(ctx context.Context) error { return only1(w.HandleEvent(ctx, paidEvent(open.Session.ID))) },
		"Cancel":         func(ctx context.Context) error { return only1(w.Cancel(ctx, open.Order.ID)) },
		"CancelCheckout": func(ctx context.Context) error { return only1(w.CancelCheckout(ctx, of)) },
		"Refresh":        func(ctx context.Context) error { return only1(w.Refresh(ctx, of)) },
		"OpenSession": func(ctx context.Context) error {
			return only1(w.OpenSession(ctx, open.Order.ID, couponkit.SessionOptions{}))
		},
		"Refund": func(ctx context.Context) error {
			return only1(w.Refund(ctx, couponkit.RefundRequest{OrderID: open.Order.ID, Key: "k", Returns: pricing.Returns{All: true}}))
		},
		"Due":    func(ctx context.Context) error { return firstError(w.Due(ctx, couponkit.DueOptions{})) },
		"RunDue": func(ctx context.Context) error { return w.RunDue(ctx, open.Order.ID) },
		"Sweep":  func(ctx context.Context) error { return only1(w.Sweep(ctx, 0)) },
		"Reconcile": func(ctx context.Context) error {
			return only1(w.Reconcile(ctx, couponkit.ReconcileOptions{DryRun: true}))
		},
		"Replay": func(ctx context.Context) error { return only1(w.Replay(ctx, 10, nil, replay.Options{})) },
	}
}

func paidEvent(sessionID string) processor.Event {
	return processor.Event{ID: "evt", Type: processor.Completed, SessionID: sessionID}
}

func oneOwner(yield func(coupon.Owner) bool) {
	owner, err := coupon.ParseOwner("id:ann")
	if err == nil {
		yield(owner)
	}
}

func oneRow(yield func(codecsv.Row, error) bool) {
	r, err := codecsv.NewReader(strings.NewReader("code\nROW\n"), codecsv.Options{})
	if err != nil {
		yield(codecsv.Row{}, err)
		return
	}
	r.Rows()(yield)
}

// changes tells how much was written, and asked of the processor.
func (w *world) changes(t *testing.T) [2]int {
	t.Helper()
	entries, err := w.store.Journal(t.Context(), 0, store.MaxJournalLimit)
	require.NoError(t, err)
	return [2]int{len(entries), len(w.fake.Calls())}
}

// TestAClockThatNoStoreKeeps: nothing is written or asked, and no request is at fault.
func TestAClockThatNoStoreKeeps(t *testing.T) {
	t.Parallel()
	w, calls := shopOfCalls(t)
	before := w.changes(t)
	for _, at := range []time.Time{
		{},
		time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9_999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7_200)),
	} {
		w.now = at
		for name, call := range calls {
			w.attempts = nil
			err := call(t.Context())
			require.ErrorContains(t, err, "WithClock", "%s at %v", name, at)
			require.NotErrorIs(t, err, validation.ErrInvalid, "%s at %v", name, at)
			for _, a := range w.attempts {
				require.Equal(t, err, a.Err, name)
			}
		}
	}
	w.now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	require.Equal(t, before, w.changes(t))
}

// TestIDsThatAreNone: whichever ID is invalid, nothing is written, and no request is at fault.
func TestIDsThatAreNone(t *testing.T) {
	t.Parallel()
	var broken, made string
	w, calls := shopOfCalls(t, couponkit.WithIDs(func() func(string) string {
		n := 0
		return func(prefix string) string {
			if prefix == broken {
				return made
			}
			n++
			return fmt.Sprintf("%s%04d", prefix, n)
		}
	}()))
	before := w.changes(t)
	for prefix, names := range map[string][]string{
		"cpn_": {"Create"}, "key_": {"Checkout", "PaymentLink", "ExchangePoints"}, "ord_": {"Checkout", "PaymentLink"},
		"use_": {"Checkout", "Reserve", "ExchangePoints"},
	} {
		for _, id := range []string{"", prefix, "other", prefix + strings.Repeat("x", coupon.MaxIDLength), prefix + "\x00", prefix + "\xff"} {
			broken, made = prefix, id
			for _, name := range names {
				err := calls[name](t.Context())
				require.ErrorContains(t, err, "WithIDs", "%s with the ID %q", name, id)
				require.NotErrorIs(t, err, validation.ErrInvalid, name)
			}
		}
	}
	require.Equal(t, before[0], w.changes(t)[0])
	require.Len(t, w.fake.Sessions(), 1)
	broken = ""
	require.NoError(t, calls["ExchangePoints"](t.Context()))
}
