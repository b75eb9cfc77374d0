package api

import (
	"net/http"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// ListedOrder is an order in a list of administrators.
type ListedOrder struct {
	ID            string                `json:"id"`
	State         redemption.OrderState `json:"state"`
	CustomerID    string                `json:"customerId"`
	CustomerEmail string                `json:"customerEmail"`
	SessionID     string                `json:"sessionId,omitempty"`
	Codes         []string              `json:"codes"`
	// Currency and the amounts are empty for an order that only a payment has told of.
	Currency  string    `json:"currency,omitempty"`
	Total     string    `json:"total,omitempty"`
	Discount  string    `json:"discount,omitempty"`
	Refunded  string    `json:"refunded,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// OrderPage is a page of orders.
type OrderPage struct {
	Items []ListedOrder `json:"items"`
	Next  string        `json:"next"`
}

// SoldOrder is an order with what was bought and what was refunded.
type SoldOrder struct {
	ListedOrder
	Lines   []SoldLine `json:"lines"`
	Refunds []Refund   `json:"refunds"`
}

// SoldLine is a line of an order. Left is how many units were not refunded yet.
type SoldLine struct {
	Line     int    `json:"line"`
	ID       string `json:"id"`
	Name     string `json:"name"`
	Shipping bool   `json:"shipping"`
	Quantity int64  `json:"quantity"`
	Left     int64  `json:"left"`
	Total    string `json:"total"`
}

// Refund is a refund. ID and At are empty for a refund that is not recorded.
type Refund struct {
	ID       string           `json:"id,omitempty"`
	At       time.Time        `json:"at,omitzero"`
	Currency string           `json:"currency"`
	Amount   string           `json:"amount"`
	Lines    []RefundedLine   `json:"lines"`
	Coupons  []RefundedCoupon `json:"coupons"`
}

// RefundedLine tells how many units of a line were returned.
type RefundedLine struct {
	Line     int    `json:"line"`
	Name     string `json:"name"`
	Quantity int64  `json:"quantity"`
}

// RefundedCoupon is the discount that a coupon took back.
type RefundedCoupon struct {
	Code     string `json:"code"`
	Discount string `json:"discount"`
}

// period reads the parameters nameFrom and nameUntil. Dates are days in UTC, both inclusive.
func (q *query) period(name string) (p store.Period) {
	from, until := name+"From", name+"Until"
	if name == "" {
		from, until = "from", "until"
	}
	p.From, p.Until = q.moment(from).Start(time.UTC), q.moment(until).End(time.UTC)
	if !p.From.IsZero() && !p.Until.IsZero() && !p.From.Before(p.Until) {
		q.faults.Add(until, pricing.FieldMismatch, "must be after "+from)
		return store.Period{}
	}
	return p
}

func (q *query) moment(name string) coupon.Moment {
	text := q.text(name)
	if text == "" {
		return coupon.Moment{}
	}
	m, err := coupon.ParseMoment(text)
	q.faults.Merge(name, err)
	return m
}

// OrderPage returns the page of orders that the address of a request asks for.
func (a *API) OrderPage(r *http.Request) (OrderPage, error) {
	q := query{r: r}
	q.only("customer", "state", "from", "until", "after", "pageSize")
	list := store.OrderList{
		CustomerID: q.text("customer"), After: q.text("after"), Created: q.period(""),
		PageSize: q.number("pageSize", store.DefaultPageSize, store.MaxPageSize),
	}
	if name := q.text("state"); name != "" {
		var err error
		if list.State, err = redemption.ParseOrderState(name); err != nil {
			q.faults.Add("state", pricing.FieldUnknown, "must be open, awaiting_payment, paid, cancelled, partly_refunded or refunded")
		}
	}
	if err := q.faults.Err(); err != nil {
		return OrderPage{}, err
	}
	found, err := a.Service.Orders(r.Context(), list)
	if err != nil {
		return OrderPage{}, err
	}
	customers := make([]string, len(found.Items))
	for i, item := range found.Items {
		customers[i] = item.Order.CustomerID
	}
	emails, err := a.Shop.Emails(r.Context(), customers)
	page := OrderPage{Items: []ListedOrder{}, Next: found.Next}
	for _, item := range found.Items {
		page.Items = append(page.Items, listedOrder(item.Order, emails))
	}
	return page, err
}

func listedOrder(o redemption.Order, emails map[string]string) ListedOrder {
	l := ListedOrder{
		ID: o.ID, State: o.State, CustomerID: o.CustomerID, CustomerEmail: emails[o.CustomerID], SessionID: o.SessionID,
		Codes: []string{}, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt,
	}
	for i := range o.Coupons {
		l.Codes = append(l.Codes, o.Coupons[i].Code.String())
	}
	if q := o.Quote; !q.Currency.IsZero() {
		l.Currency, l.Total, l.Discount = q.Currency.Code(), amountOf(q, q.Total), amountOf(q, q.Discount)
		l.Refunded = amountOf(q, o.Refunded().Amount)
	}
	return l
}

func amountOf(q pricing.Quote, minor int64) string {
	return pricing.NewMoney(minor, q.Currency).Amount()
}

// SoldOrder returns the order that the path of a request names.
func (a *API) SoldOrder(r *http.Request) (SoldOrder, error) {
	o, err := a.anyOrder(r)
	if err != nil {
		return SoldOrder{}, err
	}
	return a.sold(r, o)
}

func (a *API) anyOrder(r *http.Request) (redemption.Order, error) {
	found, err := a.Orders.Order(r.Context(), store.OrderKey{ID: r.PathValue("id")})
	return found.Order, err
}

func (a *API) sold(r *http.Request, o redemption.Order) (SoldOrder, error) {
	emails, err := a.Shop.Emails(r.Context(), []string{o.CustomerID})
	sold := SoldOrder{ListedOrder: listedOrder(o, emails), Lines: []SoldLine{}, Refunds: []Refund{}}
	before := o.Refunded()
	for i := range o.Quote.Lines {
		l := &o.Quote.Lines[i]
		left := l.Quantity
		if i < len(before.Units) {
			left -= before.Units[i]
		}
		sold.Lines = append(sold.Lines, SoldLine{
			Line: i, ID: l.ID, Name: a.describe(l.Line), Shipping: l.Kind == pricing.Shipping, Quantity: l.Quantity, Left: left,
			Total: amountOf(o.Quote, l.Total),
		})
	}
	for i := range o.Refunds {
		sold.Refunds = append(sold.Refunds, a.refundView(o, o.Refunds[i].ID, o.Refunds[i].At, o.Refunds[i].Result))
	}
	return sold, err
}

func (a *API) refundView(o redemption.Order, id string, at time.Time, result pricing.Refund) Refund {
	view := Refund{
		ID: id, At: at, Currency: o.Quote.Currency.Code(), Amount: amountOf(o.Quote, result.Amount),
		Lines: []RefundedLine{}, Coupons: []RefundedCoupon{},
	}
	for _, l := range result.Lines {
		view.Lines = append(view.Lines, RefundedLine{l.Line, a.describe(o.Quote.Lines[l.Line].Line), l.Quantity})
	}
	for _, c := range result.Coupons {
		for i := range o.Coupons {
			if o.Coupons[i].ID == c.ID && c.Discount > 0 {
				view.Coupons = append(view.Coupons, RefundedCoupon{o.Coupons[i].Code.String(), amountOf(o.Quote, c.Discount)})
			}
		}
	}
	return view
}

// previewRefund returns what a refund would give back, and changes nothing.
func (a *API) previewRefund(o redemption.Order, returns pricing.Returns) (Refund, error) {
	if !o.State.Paid() {
		return Refund{}, redemption.ErrIllegal
	}
	result, err := o.Quote.Refund(o.Refunded(), returns)
	if err != nil {
		return Refund{}, err
	}
	return a.refundView(o, "", time.Time{}, result), nil
}

// refund refunds a part of an order, or all of it.
func (a *API) refund(r *http.Request, orderID, key string, returns pricing.Returns) (Refund, error) {
	done, err := a.Service.Refund(r.Context(), couponkit.RefundRequest{OrderID: orderID, Key: key, Returns: returns})
	if err != nil {
		return Refund{}, err
	}
	return a.refundView(done.Order, done.Refund.ID, done.Refund.At, done.Refund.Result), nil
}

func (a *API) listOrders(w http.ResponseWriter, r *http.Request) error {
	page, err := a.OrderPage(r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, page)
	return nil
}

func (a *API) soldOrder(w http.ResponseWriter, r *http.Request) error {
	sold, err := a.SoldOrder(r)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, sold)
	return nil
}

func readReturns(r *http.Request) (returns pricing.Returns, err error) {
	body, err := readBody(r)
	if err == nil {
		err = returns.UnmarshalJSON(body)
	}
	return returns, err
}

func (a *API) showRefund(w http.ResponseWriter, r *http.Request) error {
	returns, err := readReturns(r)
	if err != nil {
		return err
	}
	o, err := a.anyOrder(r)
	if err != nil {
		return err
	}
	view, err := a.previewRefund(o, returns)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

func (a *API) makeRefund(w http.ResponseWriter, r *http.Request) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	returns, err := readReturns(r)
	if err != nil {
		return err
	}
	view, err := a.refund(r, r.PathValue("id"), key, returns)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, view)
	return nil
}
