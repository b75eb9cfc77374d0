package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

type orderView struct {
	ID             string                `json:"id"`
	State          redemption.OrderState `json:"state"`
	CouponID       string                `json:"couponId,omitempty"`
	Coupon         *coupon.Snapshot      `json:"coupon"` // the first entry of Coupons
	Coupons        []coupon.Snapshot     `json:"coupons"`
	DiscountAmount pricing.Money         `json:"discountAmount"`
	Quote          pricing.Quote         `json:"quote"`
	Names          []lineName            `json:"names"`
	// Refunded is the amount returned to the customer, or on its way. It includes the Refunds and money
	// that went back in other ways.
	Refunded  pricing.Money    `json:"refunded"`
	Refunds   []customerRefund `json:"refunds"`
	SessionID string           `json:"sessionId,omitempty"`
	// PaymentURL is the payment page of an open order.
	PaymentURL string    `json:"paymentUrl,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	UpdatedAt  time.Time `json:"updatedAt"`
}

// customerRefund is a refund as the customer sees it. A refund made at the processor has no lines.
type customerRefund struct {
	At     time.Time                 `json:"at"`
	Amount pricing.Money             `json:"amount"`
	State  redemption.RepaymentState `json:"state"`
	Lines  []RefundedLine            `json:"lines"`
}

// lineName has the displayed name of a line of the quote.
type lineName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (a *API) order(w http.ResponseWriter, r *http.Request) error {
	reader := a.readerID(r, func(p placedOrder) bool { return p.OrderID == r.PathValue("id") })
	if reader == "" {
		return problem{Status: http.StatusUnauthorized, Code: "user_required", Title: "Sign in first."}
	}
	found, err := a.Service.Order(r.Context(), couponkit.OrderRequest{OrderID: r.PathValue("id"), CustomerID: reader})
	o := found.Order
	if err == nil && o.Key == "" { // the order is known only from a payment, so its lines are unknown
		err = store.ErrNotFound
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, a.orderView(o))
	return nil
}

// cancelOrder cancels an unpaid order for its customer.
func (a *API) cancelOrder(w http.ResponseWriter, r *http.Request) error {
	var id string
	read, err := readForm(r, map[string]any{"orderId": &id})
	if err != nil {
		return err
	}
	var faults validation.Error
	if id == "" {
		faults.Add("orderId", validation.Required, "an order ID is required")
	}
	if err := read.besides(faults); err != nil {
		return err
	}
	done, err := a.Service.CancelCheckout(r.Context(), couponkit.OrderRequest{OrderID: id, CustomerID: customerOf(r).ID})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, a.orderView(done.Order))
	return nil
}

func (a *API) orderView(o redemption.Order) orderView {
	view := orderView{
		ID: o.ID, State: o.State, DiscountAmount: pricing.NewMoney(o.Quote.Discount, o.Quote.Currency), Quote: o.Quote,
		Coupons: append([]coupon.Snapshot{}, o.Coupons...), Names: a.names(o.Quote), SessionID: o.SessionID, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt,
		Refunded: pricing.NewMoney(o.Returned(), o.Quote.Currency), Refunds: a.customerRefunds(o),
	}
	if len(o.Coupons) > 0 {
		view.CouponID, view.Coupon = o.Coupons[0].ID, &o.Coupons[0]
	}
	if o.State == redemption.OrderOpen {
		view.PaymentURL = o.SessionURL
	}
	return view
}

// customerRefunds returns the refunds of an order, oldest first. It leaves out failed refunds made at
// the processor.
func (a *API) customerRefunds(o redemption.Order) []customerRefund {
	refunds := []customerRefund{}
	for i := range o.Refunds {
		made := &o.Refunds[i]
		refunds = append(refunds, customerRefund{
			made.At, pricing.NewMoney(made.Repayment.Amount, o.Quote.Currency), made.Repayment.State, a.refundedLines(o, made.Result),
		})
	}
	for _, e := range o.ExternalRefunds {
		if e.State != redemption.RepaymentFailed {
			refunds = append(refunds, customerRefund{e.At, pricing.NewMoney(e.Amount, o.Quote.Currency), e.State, []RefundedLine{}})
		}
	}
	slices.SortStableFunc(refunds, func(x, y customerRefund) int { return x.At.Compare(y.At) })
	return refunds
}

// names returns the displayed names of the lines of a quote.
func (a *API) names(q pricing.Quote) []lineName {
	names := []lineName{}
	for _, l := range q.Lines {
		names = append(names, lineName{l.ID, a.describe(l.Line)})
	}
	return names
}
