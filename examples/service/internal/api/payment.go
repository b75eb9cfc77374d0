package api

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// keyPrefix begins the idempotency keys that this service makes when a client sends none. Every order
// needs a key, because the return address from the payment page contains it.
const keyPrefix = "auto-"

// customer returns the signed-in user. In this shop, the tag of a customer is the user's role.
func customer(r *http.Request) eligibility.Customer {
	u := customerOf(r)
	c := eligibility.Customer{ID: u.ID, Email: u.Email}
	if u.Role != "" {
		c.Tags = []string{string(u.Role)}
	}
	return c
}

func (a *API) applyCoupon(w http.ResponseWriter, r *http.Request) error {
	code := r.PathValue("codeOrId")
	validation, err := a.Service.Validate(r.Context(), couponkit.ValidateRequest{Code: code, Customer: customer(r), Facts: eligibility.Facts{Channel: channel}, AllowAnonymous: a.Guests})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, validation)
	return nil
}

type quoteView struct {
	Quote      pricing.Quote    `json:"quote"`
	Coupon     *coupon.Snapshot `json:"coupon"`
	Coupons    []explainedCode  `json:"coupons"`
	Automatic  []explainedCode  `json:"automatic,omitempty"`
	Rejections []coupon.Reason  `json:"rejections"`
}

// explainedCode has the effect of a code. It has the terms of the coupon only if the coupon applies.
type explainedCode struct {
	couponkit.ExplainedCode

	Terms *coupon.Snapshot `json:"terms,omitempty"`
}

// quote prices a cart. Refused coupons are part of the answer. Without a session, coupons are looked up
// only if the shop has guests.
func (a *API) quote(w http.ResponseWriter, r *http.Request) error {
	asked, err := a.quoteRequest(r)
	if err != nil {
		return err
	}
	view := quoteView{Coupons: []explainedCode{}, Rejections: []coupon.Reason{}}
	if len(asked.Codes) > 0 && asked.Customer.ID == "" && !a.Guests {
		asked.Codes, view.Rejections = nil, []coupon.Reason{{Code: coupon.UserRequired}}
	}
	explained, err := a.Service.Explain(r.Context(), asked)
	if err != nil && coupon.RejectionsOf(err) == nil {
		return err
	}
	view.add(explained, append(explained.Quote.Refused, coupon.RejectionsOf(err)...))
	writeJSON(w, http.StatusOK, view)
	return nil
}

// quoteRequest reads a cart with the codes of its customer.
func (a *API) quoteRequest(r *http.Request) (couponkit.QuoteRequest, error) {
	var request cartRequest
	read, err := readForm(r, request.targets())
	if err != nil {
		return couponkit.QuoteRequest{}, err
	}
	var faults validation.Error
	asked := couponkit.QuoteRequest{
		Cart: a.cart(request, &faults), Codes: request.coupons(&faults), Conflicts: eligibility.ConflictPolicy(request.conflicts),
		Customer: a.buyerOf(r, request.email, &faults), Facts: request.facts(&faults), AllowAnonymous: true,
	}
	return asked, read.besides(faults)
}

// add adds the effect of the codes, and all reasons for refusing coupons or the total.
func (v *quoteView) add(e couponkit.Explanation, refused coupon.Rejections) {
	v.Quote = e.Quote.Quote
	v.Coupons, v.Automatic = withTerms(v.Coupons, e.Codes, e.Quote), withTerms(nil, e.Automatic, e.Quote)
	if applied := slices.DeleteFunc(slices.Clone(v.Coupons), func(c explainedCode) bool { return !c.Applied }); len(applied) == 1 {
		v.Coupon = applied[0].Terms
	}
	for _, r := range refused {
		v.Rejections = append(v.Rejections, r.Reasons...)
	}
	slices.SortStableFunc(v.Rejections, coupon.CompareReasons)
}

// withTerms appends the effects of coupons, with the terms of those that apply.
func withTerms(list []explainedCode, effects []couponkit.ExplainedCode, of couponkit.Quote) []explainedCode {
	for _, effect := range effects {
		explained := explainedCode{ExplainedCode: effect}
		if i := slices.IndexFunc(of.Terms, func(s coupon.Snapshot) bool { return s.ID == effect.CouponID }); i >= 0 && effect.Applied {
			explained.Terms = &of.Terms[i]
		}
		list = append(list, explained)
	}
	return list
}

type checkoutView struct {
	OrderID   string        `json:"orderId"`
	SessionID string        `json:"sessionId"`
	URL       string        `json:"url"`
	Quote     pricing.Quote `json:"quote"`
	// Refused lists the coupons that were left out of a new order.
	Refused []refusedCoupon `json:"refused,omitempty"`
}

func (a *API) cartCheckout(w http.ResponseWriter, r *http.Request) error {
	var (
		request  cartRequest
		expected json.RawMessage
	)
	targets := request.targets()
	targets["expected"], targets["skipRefused"] = &expected, &request.skip
	read, err := readForm(r, targets)
	if err != nil {
		return err
	}
	var faults validation.Error
	cart := a.cart(request, &faults)
	if needsShipping(cart) && request.shippingID == "" {
		faults.Add("shippingOptionId", validation.Required, "choose a shipping option")
	}
	totals, codes := shownTotals(expected, cart.Currency, &faults), request.coupons(&faults)
	who, facts := a.payerOf(r, request.email, &faults), request.facts(&faults)
	checkout, err := a.checkoutRequest(r, codes, "/cart", read, faults)
	if err != nil {
		return err
	}
	checkout.Cart, checkout.Expected, checkout.Customer, checkout.Facts = cart, totals, who, facts
	checkout.SkipRefused, checkout.Conflicts = request.skip, eligibility.ConflictPolicy(request.conflicts)
	done, err := a.buy(w, r, func() (couponkit.Checkout, error) { return a.Service.Checkout(r.Context(), checkout) })
	if err != nil {
		return err
	}
	if err := a.remember(w, r, who, done.Order); err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, checkoutView{
		OrderID: done.Order.ID, SessionID: done.Session.ID, URL: done.Session.URL, Quote: done.Order.Quote, Refused: leftOut(done.Refused),
	})
	return nil
}

// leftOut returns the refused coupons of a request.
func leftOut(refused coupon.Rejections) (coupons []refusedCoupon) {
	for _, r := range refused {
		coupons = append(coupons, refusedCoupon{r.Code, r.CouponID, r.Reasons})
	}
	return coupons
}

// checkoutRequest builds the common part of all checkout requests. It also returns the faults found so
// far.
func (a *API) checkoutRequest(
	r *http.Request, codes []string, cancelPath string, read form, faults validation.Error,
) (couponkit.CheckoutRequest, error) {
	key, err := idempotencyKey(r)
	faults.Merge("", err)
	if err := read.besides(faults); err != nil {
		return couponkit.CheckoutRequest{}, err
	}
	if key == "" {
		key = keyPrefix + rand.Text()
	}
	return couponkit.CheckoutRequest{
		Key: key, Customer: customer(r), Codes: codes, Describe: a.describe,
		SuccessURL: a.BaseURL + "/payment/return?key=" + url.QueryEscape(key),
		CancelURL:  a.BaseURL + cancelPath,
	}, nil
}

// buy opens a checkout within the limits. A call counts as a checkout only if it may have opened a
// session at the processor.
func (a *API) buy(w http.ResponseWriter, r *http.Request, open func() (couponkit.Checkout, error)) (couponkit.Checkout, error) {
	giveBack, err := a.take(r, checkouts, customerOf(r).ID)
	if err != nil {
		return couponkit.Checkout{}, err
	}
	done, err := replayed(open())
	if done.Replayed || err != nil && problemOf(err).Status < http.StatusInternalServerError {
		giveBack()
	}
	if err != nil {
		return couponkit.Checkout{}, err
	}
	if done.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	return done, nil
}

// replayed repeats the first answer if the key's order is paid or its payment is on its way. The
// order's page shows the current state.
func replayed(c couponkit.Checkout, err error) (couponkit.Checkout, error) {
	if !errors.Is(err, couponkit.ErrOrderPaid) || !c.Replayed {
		return c, err
	}
	c.Session.ID, c.Session.URL = c.Order.SessionID, c.Order.SessionURL
	return c, nil
}

type linkView struct {
	SessionID string `json:"sessionId"`
	URL       string `json:"url"`
	// Refused lists the coupons that were left out of a new order.
	Refused []refusedCoupon `json:"refused,omitempty"`
}

// linkRequest is the request of both modes. The mode decides which of its fields are allowed.
type linkRequest struct {
	cartRequest
	mode     *string // nil if the request has no mode
	amount   pricing.Number
	currency pricing.Currency
}

func (a *API) paymentLink(w http.ResponseWriter, r *http.Request) error {
	var request linkRequest
	targets := request.targets()
	delete(targets, "email") // customers who pay by link are signed in
	targets["mode"], targets["amount"], targets["currency"] = &request.mode, &request.amount, &request.currency
	targets["skipRefused"] = &request.skip
	read, err := readForm(r, targets)
	if err != nil {
		return err
	}
	var faults validation.Error
	mode := request.linkMode(&faults)
	link := couponkit.PaymentLinkRequest{Mode: mode}
	cancelPath := "/plans"
	var cart pricing.Cart
	switch mode {
	case couponkit.SubscriptionLink:
		cart = a.subscription(request, &faults)
	case couponkit.ProductLink:
		cancelPath = "/accessories"
		link.Amount = request.price(&faults)
	}
	codes, facts := request.coupons(&faults), request.facts(&faults)
	link.CheckoutRequest, err = a.checkoutRequest(r, codes, cancelPath, read, faults)
	if err != nil {
		return err
	}
	link.Cart, link.SkipRefused, link.Conflicts, link.Facts = cart, request.skip, eligibility.ConflictPolicy(request.conflicts), facts
	done, err := a.buy(w, r, func() (couponkit.Checkout, error) { return a.Service.PaymentLink(r.Context(), link) })
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, linkView{SessionID: done.Session.ID, URL: done.Session.URL, Refused: leftOut(done.Refused)})
	return nil
}

// linkMode reads the mode. The mode decides which fields are allowed.
func (request linkRequest) linkMode(faults *validation.Error) couponkit.LinkMode {
	if request.mode == nil {
		faults.Add("mode", validation.Required, "must be subscription or product")
		return 0
	}
	mode, err := couponkit.ParseLinkMode(*request.mode)
	faults.Merge("", err)
	return mode
}

// subscription returns the cart of a subscription checkout: at least one plan, and perhaps other items.
func (a *API) subscription(request linkRequest, faults *validation.Error) pricing.Cart {
	if request.amount != "" {
		faults.Add("amount", validation.NotAllowed, "the price of a subscription comes from the catalogue")
	}
	if !request.currency.IsZero() {
		faults.Add("currency", validation.NotAllowed, "the currency of a subscription comes from the catalogue")
	}
	cart := a.cart(request.cartRequest, faults)
	plans := false
	for _, l := range cart.Lines {
		plans = plans || l.Kind == pricing.Plan
	}
	if !plans && kindsKnown(cart) {
		faults.Add("lines", validation.Required, "a subscription has at least one plan")
	}
	if needsShipping(cart) && request.shippingID == "" {
		faults.Add("shippingOptionId", validation.Required, "choose a shipping option")
	}
	return cart
}

// price returns the amount of a product link.
func (request linkRequest) price(faults *validation.Error) pricing.Money {
	if len(request.lines) > 0 {
		faults.Add("lines", validation.NotAllowed, "a product link has an amount and no lines")
	}
	if request.shippingID != "" {
		faults.Add("shippingOptionId", validation.NotAllowed, "a product link has an amount and no shipping option")
	}
	if request.currency.IsZero() {
		faults.Add("currency", validation.Required, "a currency is required")
	}
	var amount pricing.Money
	value, err := request.amount.Decimal()
	switch {
	case err != nil:
	case value.Sign() <= 0:
		faults.Add("amount", validation.TooSmall, "an amount is greater than 0")
	case !request.currency.IsZero():
		amount, err = pricing.MoneyFromDecimal(value, request.currency)
	}
	faults.At("amount", err)
	return amount
}

// comeBack redirects a customer from the payment page to the order. The address has the checkout's key,
// because it was needed before the order existed. The request comes from a browser: a customer whose
// session has ended signs in again and continues. If the customer has no order with this key, the cart
// says that another account may have it. comeBack asks the processor, because the webhook may come
// later. If the processor does not answer, the order's page waits for the webhook.
func (a *API) comeBack(w http.ResponseWriter, r *http.Request) error {
	key := r.URL.Query().Get("key")
	reader := a.readerID(r, func(p placedOrder) bool { return p.Key == key })
	if reader == "" {
		http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return nil
	}
	found, err := a.Service.Refresh(r.Context(), couponkit.OrderRequest{CustomerID: reader, Key: key})
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, validation.ErrInvalid):
		http.Redirect(w, r, "/cart?notice=other_account", http.StatusSeeOther)
		return nil
	case err != nil && found.Order.IsZero():
		return err
	case err != nil:
		a.Logger.WarnContext(r.Context(), "the processor was not asked about an order", slog.String("order", found.Order.ID), slog.Any("error", err))
	}
	http.Redirect(w, r, "/orders/"+url.PathEscape(found.Order.ID), http.StatusSeeOther)
	return nil
}
