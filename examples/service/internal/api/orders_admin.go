package api

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
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
	// Unreadable are the orders of the page that the store cannot read.
	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

// SoldOrder is an order with what was bought and what was refunded.
type SoldOrder struct {
	ListedOrder

	// Flag tells that somebody should look at the payment.
	Flag couponkit.Flag `json:"flag,omitempty"`
	// Returned is the money that went back to the customer or is to go back.
	Returned        string           `json:"returned,omitempty"`
	Lines           []SoldLine       `json:"lines"`
	Refunds         []Refund         `json:"refunds"`
	ExternalRefunds []ExternalRefund `json:"externalRefunds"`
	Disputes        []Dispute        `json:"disputes"`
	// Due is what has to be done outside for the order. The service repeats it until it has an answer.
	Due []Due `json:"due"`
}

// Due is something that has to be done at the payment processor or in the ledger of points. Since is
// when the order or the use last changed.
type Due struct {
	Kind  redemption.DueKind `json:"kind"`
	Since time.Time          `json:"since"`
}

// ExternalRefund is a refund that somebody made at the processor.
type ExternalRefund struct {
	ID     string                    `json:"id"`
	At     time.Time                 `json:"at"`
	Amount string                    `json:"amount"`
	State  redemption.RepaymentState `json:"state"`
}

// Dispute tells that the customer asks their bank for the money.
type Dispute struct {
	ID     string                  `json:"id"`
	At     time.Time               `json:"at"`
	Amount string                  `json:"amount"`
	State  redemption.DisputeState `json:"state"`
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

// Refund is a refund. ID, Key, Returns, At and By are empty for a refund that is not recorded.
type Refund struct {
	ID string `json:"id,omitempty"`
	// Key and Returns are what a call repeats, such as after a failed repayment.
	Key     string           `json:"key,omitempty"`
	Returns *pricing.Returns `json:"returns,omitempty"`
	At      time.Time        `json:"at,omitzero"`
	// By is the e-mail address of the administrator, or else their ID.
	By       string `json:"by,omitempty"`
	Currency string `json:"currency"`
	Amount   string `json:"amount"`
	// Tax is the tax that the processor has added to the prices. Amount does not contain it.
	Tax string `json:"tax,omitempty"`
	// Total is Amount and Tax.
	Total   string           `json:"-"`
	Lines   []RefundedLine   `json:"lines"`
	Coupons []RefundedCoupon `json:"coupons"`
	// Repayment is nil if there is nothing to return.
	Repayment *Repayment `json:"repayment,omitempty"`
}

// Repayment tells how the money of a refund goes back.
type Repayment struct {
	State   redemption.RepaymentState `json:"state"`
	Amount  string                    `json:"amount"`
	Attempt int                       `json:"attempt"`
	// ID is the processor's ID of the refund, and Failure is why the money did not go back.
	ID      string `json:"id,omitempty"`
	Failure string `json:"failure,omitempty"`
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

// period reads the parameters nameFrom and nameUntil. Dates are days in the given time zone. Both days
// are included.
func (q *query) period(name string, zone *time.Location) (p store.Period) {
	from, until := name+"From", name+"Until"
	if name == "" {
		from, until = "from", "until"
	}
	begin, end := q.moment(from), q.moment(until)
	p.From, _ = begin.Start(zone) // a malformed moment is empty and has its fault already
	p.Until, _ = end.End(zone)
	if name == "expires" {
		p.From, p.Until = afterMidnight(begin, p.From, zone), afterMidnight(end, p.Until, zone)
	}
	if !p.From.IsZero() && !p.Until.IsZero() && !p.From.Before(p.Until) {
		q.faults.Add(until, validation.Mismatch, "must be after "+from)
		return store.Period{}
	}
	return p
}

// afterMidnight adds a microsecond to a bound that is a date. A coupon that is valid through a day
// expires at the first instant of the next day. With the added microsecond, it is listed under its last
// day.
func afterMidnight(m calendar.Moment, bound time.Time, zone *time.Location) time.Time {
	start, _ := m.Start(zone)
	if end, _ := m.End(zone); start.Equal(end) { // the bound is an instant or empty
		return bound
	}
	return bound.Add(time.Microsecond)
}

func (q *query) moment(name string) calendar.Moment {
	m := calendar.Moment(q.text(name))
	if _, err := m.Start(nil); err != nil {
		q.faults.Merge(name, err)
		return ""
	}
	return m
}

// OrderPage returns the page of orders that the address of a request asks for.
func (a *API) OrderPage(r *http.Request) (OrderPage, error) {
	q := query{r: r}
	q.only("customer", "state", "from", "until", "after", "pageSize")
	list := store.OrderList{
		CustomerID: q.text("customer"), After: q.text("after"), Created: q.period("", a.Location),
		PageSize: q.number("pageSize", store.DefaultPageSize, store.MaxPageSize),
	}
	if name := q.text("state"); name != "" {
		var err error
		if list.State, err = redemption.ParseOrderState(name); err != nil {
			q.faults.Add("state", validation.Unknown, "must be open, awaiting_payment, paid, cancelled, partly_refunded, refunded or ending")
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
	page := OrderPage{Items: []ListedOrder{}, Next: found.Next, Unreadable: unreadable(found.Unreadable)}
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
	found, err := a.anyOrder(r)
	if err != nil {
		return SoldOrder{}, err
	}
	return a.sold(r, found)
}

func (a *API) anyOrder(r *http.Request) (store.Settled, error) {
	return a.Service.Order(r.Context(), couponkit.OrderRequest{OrderID: r.PathValue("id"), AnyCustomer: true})
}

func (a *API) sold(r *http.Request, found store.Settled) (SoldOrder, error) {
	o := found.Order
	emails, err := a.emailsOf(r, o)
	sold := SoldOrder{
		ListedOrder: listedOrder(o, emails), Flag: couponkit.FlagOf(found), Lines: []SoldLine{}, Refunds: []Refund{},
		ExternalRefunds: []ExternalRefund{}, Disputes: []Dispute{}, Due: []Due{},
	}
	if !o.Quote.Currency.IsZero() {
		sold.Returned = amountOf(o.Quote, o.Returned())
	}
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
		sold.Refunds = append(sold.Refunds, a.recorded(o, o.Refunds[i], emails))
	}
	for _, e := range o.ExternalRefunds {
		sold.ExternalRefunds = append(sold.ExternalRefunds, ExternalRefund{e.ID, e.At, amountOf(o.Quote, e.Amount), e.State})
	}
	for _, d := range o.Disputes {
		sold.Disputes = append(sold.Disputes, Dispute{d.ID, d.At, amountOf(o.Quote, d.Amount), d.State})
	}
	for _, d := range o.Due(found.Uses...) {
		sold.Due = append(sold.Due, Due{d.Kind, d.Since})
	}
	return sold, err
}

// emailsOf returns addresses by user ID: of the customer and of the administrators who made the
// refunds.
func (a *API) emailsOf(r *http.Request, o redemption.Order) (map[string]string, error) {
	people := []string{o.CustomerID}
	for i := range o.Refunds {
		people = append(people, o.Refunds[i].By)
	}
	return a.Shop.Emails(r.Context(), people)
}

// recorded returns a refund of an order with the state of its repayment.
func (a *API) recorded(o redemption.Order, made redemption.Refund, emails map[string]string) Refund {
	view := a.refundView(o, made)
	view.ID, view.Key, view.Returns, view.At, view.By = made.ID, made.Key, &made.Returns, made.At, cmp.Or(emails[made.By], made.By)
	return view
}

func (a *API) refundView(o redemption.Order, made redemption.Refund) Refund {
	result := made.Result
	view := Refund{
		Currency: o.Quote.Currency.Code(), Amount: amountOf(o.Quote, result.Amount), Total: amountOf(o.Quote, made.Amount()),
		Lines: a.refundedLines(o, result), Coupons: []RefundedCoupon{},
	}
	if made.Tax > 0 {
		view.Tax = amountOf(o.Quote, made.Tax)
	}
	if p := made.Repayment; !p.IsZero() {
		view.Repayment = &Repayment{p.State, amountOf(o.Quote, p.Amount), p.Attempt, p.ID, p.Failure}
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

func (a *API) refundedLines(o redemption.Order, result pricing.Refund) []RefundedLine {
	lines := []RefundedLine{}
	for _, l := range result.Lines {
		lines = append(lines, RefundedLine{l.Line, a.describe(o.Quote.Lines[l.Line].Line), l.Quantity})
	}
	return lines
}

// previewRefund computes a refund without recording it.
func (a *API) previewRefund(o redemption.Order, request couponkit.RefundRequest) (Refund, error) {
	if !o.State.Paid() {
		return Refund{}, redemption.ErrIllegal
	}
	made, err := o.NewRefund(request.Returns, request.Elsewhere)
	if err != nil {
		return Refund{}, err
	}
	return a.refundView(o, made), nil
}

// refund refunds a part of an order, or all of it. The refund is final once it is recorded. If the
// processor does not answer, the sweep asks it again.
func (a *API) refund(r *http.Request, request couponkit.RefundRequest) (Refund, error) {
	done, err := a.Service.Refund(r.Context(), request)
	if done.Refund.ID == "" {
		return Refund{}, err
	}
	if err != nil {
		a.Logger.WarnContext(r.Context(), "the money of a refund is still due", slog.String("refund", done.Refund.ID), slog.Any("error", err))
	}
	emails, err := a.emailsOf(r, done.Order)
	return a.recorded(done.Order, done.Refund, emails), err
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

// readRefund reads the items to return, and whether the money goes back outside the processor.
func readRefund(r *http.Request) (request couponkit.RefundRequest, err error) {
	var lines, shipping, all json.RawMessage
	read, err := readForm(r, map[string]any{"returns": &lines, "shipping": &shipping, "all": &all, "elsewhere": &request.Elsewhere})
	if err != nil {
		return request, err
	}
	returns, err := json.Marshal(map[string]json.RawMessage{"returns": lines, "shipping": shipping, "all": all})
	if err != nil {
		return request, err
	}
	var faults validation.Error
	faults.Merge("", request.Returns.UnmarshalJSON(returns))
	return request, read.besides(faults)
}

func (a *API) showRefund(w http.ResponseWriter, r *http.Request) error {
	request, err := readRefund(r)
	if err != nil {
		return err
	}
	found, err := a.anyOrder(r)
	if err != nil {
		return err
	}
	view, err := a.previewRefund(found.Order, request)
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
	request, err := readRefund(r)
	if err != nil {
		return err
	}
	request.OrderID, request.Key = r.PathValue("id"), key
	view, err := a.refund(r, request)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, view)
	return nil
}
