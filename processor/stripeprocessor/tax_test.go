package stripeprocessor_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/redemption"
)

// taxed are options with an automatic tax of 20 %, and of 7 % on food.
func taxed(behavior string) func(*stripeprocessor.Options, *stripefake.Options) {
	return func(o *stripeprocessor.Options, f *stripefake.Options) {
		o.AutomaticTax, o.TaxBehavior, f.TaxPercent, f.TaxPercents = true, behavior, 20, map[string]int64{"food": 7}
	}
}

// lined is a request with two unit prices of one line, food and shipping.
func (w *world) lined(key string) processor.SessionRequest {
	r := w.request(key)
	r.Lines = []processor.SessionLine{
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "phone", Quantity: 1, UnitAmount: 33_34},
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "phone", Quantity: 2, UnitAmount: 33_33},
		{LineID: "F", Kind: "food", ItemID: "food", Name: "food", Quantity: 1, UnitAmount: 10_00},
		{LineID: "S", Kind: pricing.Shipping, ItemID: "dhl", Name: "dhl", Quantity: 1, UnitAmount: 4_90},
	}
	r.Total = 114_90
	return r
}

// TestTaxOfASession: a paid session tells what Stripe has added to each line.
func TestTaxOfASession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		behavior string
		want     pricing.Tax
		lists    int
	}{
		"exclusive": {"exclusive", pricing.Tax{Amount: 21_68, Lines: []pricing.LineTax{{LineID: "A", Amount: 20_00}, {LineID: "F", Amount: 70}, {LineID: "S", Amount: 98}}}, 1},
		"inclusive": {"inclusive", pricing.Tax{}, 0},
		"none":      {"", pricing.Tax{}, 0},
	} {
		w := newWorld(t, taxed(test.behavior))
		made, err := w.processor.CreateSession(t.Context(), w.lined("key"))
		require.NoError(t, err, name)
		require.NoError(t, w.account.Pay(made.ID))
		before := w.count("sessions.line_items")
		got, err := w.processor.Session(t.Context(), made.ID)
		require.NoError(t, err, name)
		require.EqualValues(t, 114_90, got.Total, name)
		require.Empty(t, cmp.Diff(test.want, got.Tax), name)
		require.Equal(t, test.lists, w.count("sessions.line_items")-before, "calls: %s", name)
	}
}

// TestTaxOfAnEvent: a webhook event tells the whole tax, and makes no call.
func TestTaxOfAnEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, taxed("exclusive"))
	made, err := w.processor.CreateSession(t.Context(), w.lined("key"))
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(made.ID))
	for _, e := range w.account.Events() {
		got, err := w.processor.ParseEvent(e.Payload, w.account.Sign(e.Payload, w.clock.Now()))
		require.NoError(t, err)
		if got.Type == processor.Completed {
			require.Empty(t, cmp.Diff(pricing.Tax{Amount: 21_68}, got.Tax))
			require.EqualValues(t, 114_90, got.Total)
			require.Zero(t, w.count("sessions.line_items"))
			return
		}
	}
	t.Error("no event tells of the payment")
}

// TestTaxOfAFirstPeriod: Stripe spreads the discount of the first period over the lines.
func TestTaxOfAFirstPeriod(t *testing.T) {
	t.Parallel()
	w := newWorld(t, taxed("exclusive"))
	r := w.subscription("key")
	r.Lines[0].LineID, r.Lines[1].LineID = "P", "D"
	r.Lines[0].UnitAmount, r.Lines[1].UnitAmount, r.FirstPeriodDiscount, r.Total = 40_00, 60_00, 10_00, 90_00
	made, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(made.ID))
	got, err := w.processor.Session(t.Context(), made.ID)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(pricing.Tax{Amount: 18_00, Lines: []pricing.LineTax{{LineID: "P", Amount: 7_20}, {LineID: "D", Amount: 10_80}}}, got.Tax,
		cmpopts.SortSlices(func(a, b pricing.LineTax) bool { return a.LineID < b.LineID })))
}

// TestTaxThatStripeDoesNotTellByLine: the session tells the whole tax.
func TestTaxThatStripeDoesNotTellByLine(t *testing.T) {
	t.Parallel()
	whole := pricing.Tax{Amount: 21_68}
	for name, change := range map[string]func(*world){
		"a key without the permission": func(w *world) { w.account.Deny("sessions.line_items") },
		"lines without an ID": func(w *world) {
			w.account.TamperSessions(func(s *stripefake.Session) { s.Lines[2].Metadata = nil })
		},
		"another sum": func(w *world) {
			w.account.TamperSessions(func(s *stripefake.Session) { s.LineAmounts[0].Total++ })
		},
	} {
		w := newWorld(t, taxed("exclusive"))
		change(w)
		made, err := w.processor.CreateSession(t.Context(), w.lined("key"))
		require.NoError(t, err)
		require.NoError(t, w.account.Pay(made.ID))
		got, err := w.processor.Session(t.Context(), made.ID)
		require.NoError(t, err, name)
		require.Empty(t, cmp.Diff(whole, got.Tax), name)
	}
	w := newWorld(t, taxed("exclusive"))
	r := w.request("many")
	r.Lines, r.Total = nil, 0
	for range 101 {
		r.Lines = append(r.Lines, processor.SessionLine{LineID: string(rune('A' + len(r.Lines))), Kind: "food", ItemID: "bread", Name: "bread", Quantity: 1, UnitAmount: 1_00})
		r.Total += 1_00
	}
	made, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(made.ID))
	got, err := w.processor.Session(t.Context(), made.ID)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(pricing.Tax{Amount: 20_20}, got.Tax), "lines that were summed up")
}

// TestTaxIsReadAfterTheOptionWasSwitchedOff: the session tells that its tax was calculated.
func TestTaxIsReadAfterTheOptionWasSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, taxed("exclusive"))
	made, err := w.processor.CreateSession(t.Context(), w.lined("key"))
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(made.ID))
	got, err := w.anotherProcess(func(o *stripeprocessor.Options) { o.AutomaticTax = false }).Session(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, []int64{114_90, 21_68}, []int64{got.Total, got.Tax.Amount})
	require.Len(t, got.Tax.Lines, 3)
}

// TestRefundsOfATaxedPurchase: two units at 50.00 less 10 %, and 20 % of tax that Stripe adds or
// that the prices include. What the customer paid goes back.
func TestRefundsOfATaxedPurchase(t *testing.T) {
	t.Parallel()
	one := pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}
	all := pricing.Returns{All: true}
	for name, test := range map[string]struct {
		behavior string
		byLine   bool
		now      []pricing.Returns
		want     []int64 // goods, tax and money of each refund
	}{
		"everything":            {"exclusive", true, []pricing.Returns{all}, []int64{90_00, 18_00, 108_00}},
		"one and the other":     {"exclusive", true, []pricing.Returns{one, one}, []int64{45_00, 9_00, 54_00, 45_00, 9_00, 54_00}},
		"without lines":         {"exclusive", false, []pricing.Returns{one, all}, []int64{45_00, 9_00, 54_00, 45_00, 9_00, 54_00}},
		"inclusive":             {"inclusive", true, []pricing.Returns{one, all}, []int64{45_00, 0, 45_00, 45_00, 0, 45_00}},
		"inclusive, everything": {"inclusive", true, []pricing.Returns{all}, []int64{90_00, 0, 90_00}},
	} {
		s := newShop(t, taxed(test.behavior))
		s.create("ten", 5)
		line := phones(2)
		line.UnitPrice = 50_00
		checkout := s.checkout("TEN", "ann", "cart", line)
		require.NoError(t, s.account.Pay(checkout.Session.ID))
		if !test.byLine {
			s.account.Deny("sessions.line_items")
		}
		_, err := s.account.Deliver(t.Context(), s.server.Client(), s.address)
		require.NoError(t, err)
		var got []int64
		back := int64(0)
		for i, now := range test.now {
			result, err := s.service.Refund(t.Context(), couponkit.RefundRequest{OrderID: checkout.Order.ID, Key: string(rune('a' + i)), Returns: now})
			require.NoError(t, err, name)
			require.Equal(t, redemption.RepaymentSucceeded, result.Refund.Repayment.State)
			got = append(got, result.Refund.Result.Amount, result.Refund.Tax, result.Refund.Repayment.Amount)
		}
		require.Equal(t, test.want, got, name)
		for _, r := range s.account.Refunds() {
			back += r.Amount
		}
		session, _ := s.account.Session(checkout.Session.ID)
		require.Equal(t, session.AmountTotal, back, name)
		outcome, err := s.service.Refresh(t.Context(), couponkit.OrderRequest{OrderID: checkout.Order.ID, AnyCustomer: true})
		require.NoError(t, err)
		require.Equal(t, []any{redemption.OrderRefunded, couponkit.FlagNone}, []any{outcome.Order.State, outcome.Flag}, name)
		require.Equal(t, test.byLine && test.behavior == "exclusive", len(outcome.Order.Charge.Tax.Lines) > 0, name)
	}
}

// TestStaffReturnsATaxedUnit: Stripe does not tell what a refund in the dashboard was. The order is
// flagged, and no more than the payment goes back.
func TestStaffReturnsATaxedUnit(t *testing.T) {
	t.Parallel()
	s := newShop(t, taxed("exclusive"))
	s.create("ten", 5)
	checkout := s.checkout("TEN", "ann", "cart", phones(2))
	require.NoError(t, s.account.Pay(checkout.Session.ID))
	_, err := s.account.RefundInDashboard(checkout.Session.ID, 5_00)
	require.NoError(t, err)
	_, err = s.account.Deliver(t.Context(), s.server.Client(), s.address)
	require.NoError(t, err)
	result, err := s.service.Refund(t.Context(), couponkit.RefundRequest{OrderID: checkout.Order.ID, Key: "a", Returns: pricing.Returns{All: true}})
	require.NoError(t, err)
	require.Equal(t, result.Order.Paid()-5_00, result.Refund.Repayment.Amount)
	require.Equal(t, result.Order.Paid(), result.Refund.Amount())
	outcome, err := s.service.Refresh(t.Context(), couponkit.OrderRequest{OrderID: checkout.Order.ID, AnyCustomer: true})
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagExternalRefund, outcome.Flag)
}
