package couponkit_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
)

// taxing is a processor whose sessions tell a tax once they are paid, and whose events may tell the
// tax without its lines.
type taxing struct {
	processor.Processor
	tax   pricing.Tax
	err   error
	asked int
}

func (p *taxing) Session(ctx context.Context, id string) (processor.Session, error) {
	p.asked++
	s, err := p.Processor.Session(ctx, id)
	if err == nil && s.PaymentStatus.Settled() {
		s.Tax, err = p.tax, p.err
	}
	return s, err
}

func (p *taxing) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	s, err := p.Processor.ExpireSession(ctx, id)
	s.Tax = p.tax
	return s, err
}

// taxed is a world whose processor adds a tax.
func taxed(t *testing.T, tax pricing.Tax) (*world, *taxing) {
	t.Helper()
	w := newWorld(t)
	p := &taxing{Processor: w.fake, tax: tax}
	service, err := couponkit.New(w.store, couponkit.WithProcessor(p), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	w.Service = service
	w.create(t, tenOff())
	return w, p
}

// TestEveryPaymentRecordsWhatWasCharged: whoever finds the payment, the order has the amount and
// the tax of its session.
func TestEveryPaymentRecordsWhatWasCharged(t *testing.T) {
	t.Parallel()
	tax := pricing.Tax{Amount: 4_98, Lines: []pricing.LineTax{{LineID: "A", Amount: 4_00}, {LineID: "S", Amount: 98}}}
	event := func(lines []pricing.LineTax) func(*world, couponkit.Checkout) error {
		return func(w *world, c couponkit.Checkout) error {
			e := w.event(c, processor.Completed, processor.Paid)
			e.Tax = pricing.Tax{Amount: tax.Amount, Lines: lines}
			_, err := w.HandleEvent(w.t.Context(), e)
			return err
		}
	}
	for name, find := range map[string]func(*world, couponkit.Checkout) error{
		"an event with lines":    event(tax.Lines),
		"an event without lines": event(nil),
		"a sweep": func(w *world, _ couponkit.Checkout) error {
			w.pass(2 * time.Hour)
			_, err := w.Sweep(w.t.Context(), 0)
			return err
		},
		"a refresh": func(w *world, c couponkit.Checkout) error {
			_, err := w.Refresh(w.t.Context(), annCancels(c.Order.ID))
			return err
		},
		"a cancellation": func(w *world, c couponkit.Checkout) error {
			_, err := w.CancelCheckout(w.t.Context(), annCancels(c.Order.ID))
			if errors.Is(err, couponkit.ErrOrderPaid) {
				err = nil
			}
			return err
		},
	} {
		w, _ := taxed(t, tax)
		first := w.checkout(t, w.request("TEN"))
		require.NoError(t, w.fake.Pay(first.Session.ID))
		require.NoError(t, find(w, first), name)
		o := w.order(t, first.Order.ID)
		require.Equal(t, redemption.OrderPaid, o.State, name)
		want := redemption.Charge{Currency: pricing.EUR(), Amount: o.Quote.Total, Tax: tax}
		require.Empty(t, cmp.Diff(want, o.Charge), name)
		require.Equal(t, o.Quote.Total+4_98, o.Paid(), name)
	}
}

// TestAPaymentIsRecordedWhateverItsTax: a tax that does not belong to the order flags the payment,
// in every outcome.
func TestAPaymentIsRecordedWhateverItsTax(t *testing.T) {
	t.Parallel()
	line := func(id string, amount int64) pricing.LineTax { return pricing.LineTax{LineID: id, Amount: amount} }
	for name, test := range map[string]struct {
		tax  pricing.Tax
		want couponkit.Flag
	}{
		"a tax":            {pricing.Tax{Amount: 4_98}, couponkit.FlagNone},
		"by line":          {pricing.Tax{Amount: 98, Lines: []pricing.LineTax{line("A", 98)}}, couponkit.FlagNone},
		"negative":         {pricing.Tax{Amount: -1}, couponkit.FlagAmountMismatch},
		"an unknown line":  {pricing.Tax{Amount: 1, Lines: []pricing.LineTax{line("none", 1)}}, couponkit.FlagAmountMismatch},
		"another sum":      {pricing.Tax{Amount: 1, Lines: []pricing.LineTax{line("A", 2)}}, couponkit.FlagAmountMismatch},
		"no text":          {pricing.Tax{Amount: 1, Lines: []pricing.LineTax{line("\x00", 1), line("A", 0)}}, couponkit.FlagAmountMismatch},
		"the least number": {pricing.Tax{Amount: math.MinInt64, Lines: []pricing.LineTax{line("A", math.MinInt64)}}, couponkit.FlagAmountMismatch},
	} {
		w, _ := taxed(t, test.tax)
		first := w.checkout(t, w.request("TEN"))
		require.NoError(t, w.fake.Pay(first.Session.ID))
		e := w.event(first, processor.Completed, processor.Paid)
		e.Tax = test.tax
		for range 2 {
			o, err := w.HandleEvent(t.Context(), e)
			require.NoError(t, err, name)
			require.Equal(t, []any{redemption.OrderPaid, test.want}, []any{o.Order.State, o.Flag}, name)
		}
		got, err := w.Refresh(t.Context(), annCancels(first.Order.ID))
		require.NoError(t, err, name)
		require.Equal(t, test.want, got.Flag, "a refresh: %s", name)
	}
}

// TestTheTaxByLineIsAskedForOnce: an event that tells a tax and not of which lines. A processor
// that does not tell it leaves the payment as it is, and one that does not answer is asked again.
func TestTheTaxByLineIsAskedForOnce(t *testing.T) {
	t.Parallel()
	tax := pricing.Tax{Amount: 98, Lines: []pricing.LineTax{{LineID: "A", Amount: 98}}}
	for _, refusal := range []error{nil, processor.ErrForbidden, processor.ErrNotFound, processor.ErrRejected, processor.ErrUnavailable} {
		w, p := taxed(t, tax)
		first := w.checkout(t, w.request(""))
		require.NoError(t, w.fake.Pay(first.Session.ID))
		e := w.event(first, processor.Completed, processor.Paid)
		e.Tax.Amount = tax.Amount
		p.asked, p.err = 0, refusal
		o, err := w.HandleEvent(t.Context(), e)
		require.Equal(t, 1, p.asked)
		if errors.Is(refusal, processor.ErrUnavailable) {
			require.ErrorIs(t, err, couponkit.ErrUnavailable)
			require.Equal(t, redemption.OrderOpen, w.order(t, first.Order.ID).State)
			continue
		}
		require.NoError(t, err)
		want := tax
		if refusal != nil {
			want.Lines = nil
		}
		require.Empty(t, cmp.Diff(want, o.Order.Charge.Tax))
		require.Equal(t, couponkit.FlagNone, o.Flag)
	}
}
