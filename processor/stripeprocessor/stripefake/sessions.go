package stripefake

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// email matches the addresses that Stripe accepts: ASCII, with a dot in the domain.
var email = regexp.MustCompile(`^[!-?A-~]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)

// Session is a Checkout Session at Stripe. Amounts are in Stripe's minor units. Times
// are Unix seconds.
type Session struct {
	ID                string
	Mode              string // payment or subscription
	Status            string // open, complete or expired
	PaymentStatus     string // unpaid, paid or no_payment_required
	Currency          string
	Lines             []Line
	LineAmounts       []LineAmounts // of Lines, in their order
	AmountSubtotal    int64
	AmountTotal       int64
	AmountDiscount    int64
	AmountTax         int64  // automatic tax of all lines, whether it was added or is included
	CouponID          string // coupon of the discount; may be empty
	Metadata          map[string]string
	PaymentMetadata   map[string]string // of the payment intent or subscription
	ClientReferenceID string
	CustomerEmail     string
	PayerEmail        string // that the customer entered on the page; empty if they left CustomerEmail
	SuccessURL        string
	CancelURL         string
	ExpiresAt         int64
	Created           int64
	// Form contains the parameters of the request.
	Form url.Values

	coupon  *Coupon
	payment string // state of the payment intent or subscription
}

// Line is one line of a session.
type Line struct {
	Name        string
	Quantity    int64
	UnitAmount  int64
	Interval    string // empty for a line that is paid once
	TaxBehavior string
	Metadata    map[string]string // nil if the request has none
}

// LineAmounts are the amounts of one line of a session.
type LineAmounts struct {
	Subtotal, Discount int64
	// Tax is the automatic tax. If the tax behavior of the line is exclusive, it is added to Total.
	Tax, Total int64
}

const (
	shortestSession = 30 * 60
	longestSession  = 24 * 3600
)

func (s *Session) clone() Session {
	out := *s
	out.Lines, out.LineAmounts = slices.Clone(s.Lines), slices.Clone(s.LineAmounts)
	for i := range out.Lines {
		out.Lines[i].Metadata = maps.Clone(out.Lines[i].Metadata)
	}
	out.Metadata, out.PaymentMetadata = maps.Clone(s.Metadata), maps.Clone(s.PaymentMetadata)
	return out
}

// Sessions returns all sessions, in the order of creation.
func (a *Account) Sessions() []Session {
	a.lock()
	defer a.mu.Unlock()
	list := make([]Session, 0, len(a.sessions))
	for _, s := range a.sessions {
		list = append(list, s.clone())
	}
	return list
}

// Session returns a session, and false if it does not exist.
func (a *Account) Session(id string) (Session, bool) {
	a.lock()
	defer a.mu.Unlock()
	if s := a.session(id); s != nil {
		return s.clone(), true
	}
	return Session{}, false
}

// PlantSessions creates n paid sessions of another application at one instant.
func (a *Account) PlantSessions(n int, created time.Time) {
	a.lock()
	defer a.mu.Unlock()
	at, _ := slices.BinarySearchFunc(a.sessions, created.Unix()+1, func(s *Session, t int64) int { return cmp.Compare(s.Created, t) })
	planted := make([]*Session, n)
	for i := range planted {
		id, _ := a.nextID("cs_planted")
		planted[i] = &Session{
			ID: id, Mode: "payment", Status: "complete", PaymentStatus: "paid", Currency: "eur", payment: "succeeded",
			AmountSubtotal: 100, AmountTotal: 100, Created: created.Unix(), ExpiresAt: created.Unix() + longestSession,
		}
	}
	a.sessions = slices.Insert(a.sessions, at, planted...)
}

func (a *Account) session(id string) *Session {
	i := slices.IndexFunc(a.sessions, func(s *Session) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return a.sessions[i]
}

func (a *Account) opCreateSession(_ []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "mode", "line_items", "success_url", "cancel_url", "client_reference_id", "customer_email",
		"expires_at", "metadata", "payment_intent_data", "subscription_data", "discounts", "automatic_tax", "expand"); refusal != nil {
		return nil, refusal
	}
	s := &Session{
		Mode: form.Get("mode"), Status: "open", PaymentStatus: "unpaid", Form: form, Created: now,
		ClientReferenceID: form.Get("client_reference_id"), CustomerEmail: form.Get("customer_email"),
		SuccessURL: form.Get("success_url"), CancelURL: form.Get("cancel_url"), payment: "requires_payment_method",
	}
	for _, step := range []func(*Session, url.Values, int64) *problem{
		a.sessionBasics, a.sessionLines, a.sessionDiscount, a.sessionTotal,
	} {
		if refusal := step(s, form, now); refusal != nil {
			return nil, refusal
		}
	}
	s.ID, _ = a.nextID("cs_test")
	if a.tamper != nil {
		a.tamper(s)
	}
	a.sessions = append(a.sessions, s)
	return a.showSession(s, form), nil
}

func (a *Account) sessionBasics(s *Session, form url.Values, now int64) (refusal *problem) {
	if s.Mode != "payment" && s.Mode != "subscription" {
		return invalid("", "mode", "Invalid mode")
	}
	if s.SuccessURL == "" {
		return invalid("parameter_missing", "success_url", "Missing required param: success_url.")
	}
	for name, most := range map[string]int{
		"client_reference_id": 200, "customer_email": maxEmail, "success_url": maxText, "cancel_url": maxText,
	} {
		if refusal := tooLong(form, name, most); refusal != nil {
			return refusal
		}
	}
	if s.CustomerEmail != "" && !email.MatchString(s.CustomerEmail) {
		return invalid("email_invalid", "customer_email", "Invalid email address: %s", s.CustomerEmail)
	}
	if s.ExpiresAt, refusal = integer(form, "expires_at"); refusal != nil {
		return refusal
	}
	s.ExpiresAt = cmp.Or(s.ExpiresAt, now+longestSession)
	switch {
	case s.ExpiresAt < now+shortestSession:
		return invalid("", "expires_at", "The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.")
	case s.ExpiresAt > now+longestSession:
		return invalid("", "expires_at", "The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.")
	}
	if s.Metadata, refusal = metadata(form, "metadata"); refusal != nil {
		return refusal
	}
	data, other := "payment_intent_data", "subscription_data"
	if s.Mode == "subscription" {
		data, other = other, data
	}
	for name := range form {
		if strings.HasPrefix(name, other+"[") {
			return invalid("", other, "You can not pass `%s` in `%s` mode.", other, s.Mode)
		}
	}
	s.PaymentMetadata, refusal = metadata(form, data+"[metadata]")
	return refusal
}

func (a *Account) sessionLines(s *Session, form url.Values, _ int64) *problem {
	recurring, interval, mixed := 0, "", false
	for i := 0; ; i++ {
		at := fmt.Sprintf("line_items[%d]", i)
		if !form.Has(at + "[quantity]") {
			break
		}
		l, refusal := sessionLine(s, form, at)
		if refusal != nil {
			return refusal
		}
		if l.Interval != "" {
			recurring++
			interval = cmp.Or(interval, l.Interval)
			mixed = mixed || l.Interval != interval
		}
		s.Lines = append(s.Lines, l)
	}
	switch {
	case len(s.Lines) == 0:
		return invalid("parameter_missing", "line_items", "You must pass line items.")
	case s.Mode == "payment" && len(s.Lines) > 100, s.Mode == "subscription" && (recurring > 20 || len(s.Lines)-recurring > 20):
		return invalid("", "line_items", "Too many line items")
	case mixed:
		return invalid("", "line_items", "Checkout does not support multiple prices with different billing intervals.")
	case s.Mode == "payment" && recurring > 0:
		return invalid("", "line_items", "You specified `payment` mode but passed a recurring price.")
	case s.Mode == "subscription" && recurring == 0:
		return invalid("", "line_items", "You must provide at least one recurring price in `subscription` mode.")
	}
	return nil
}

func sessionLine(s *Session, form url.Values, at string) (Line, *problem) {
	price := at + "[price_data]"
	l := Line{
		Name: form.Get(price + "[product_data][name]"), Interval: form.Get(price + "[recurring][interval]"),
		TaxBehavior: form.Get(price + "[tax_behavior]"),
	}
	currency := form.Get(price + "[currency]")
	s.Currency = cmp.Or(s.Currency, currency)
	var refusal *problem
	if l.Metadata, refusal = metadata(form, at+"[metadata]"); refusal != nil {
		return l, refusal
	}
	if len(l.Metadata) == 0 {
		l.Metadata = nil
	}
	if l.Quantity, refusal = integer(form, at+"[quantity]"); refusal != nil {
		return l, refusal
	}
	if l.UnitAmount, refusal = integer(form, price+"[unit_amount]"); refusal != nil {
		return l, refusal
	}
	switch {
	case currency == "" || currency != s.Currency:
		return l, invalid("", price+"[currency]", "All line items must have the same currency.")
	case l.Name == "":
		return l, invalid("parameter_missing", price+"[product_data][name]", "Missing required param: name.")
	case l.Quantity < 1 || l.Quantity > maxQuantity:
		return l, invalid("", at+"[quantity]", "quantity must be between 1 and %d", maxQuantity)
	case l.UnitAmount < 0 || l.UnitAmount > maxAmount || !form.Has(price+"[unit_amount]"):
		return l, invalid("", price+"[unit_amount]", "unit_amount is a non-negative integer of at most twelve digits")
	case tooLong(form, price+"[product_data][name]", maxProductName) != nil:
		return l, tooLong(form, price+"[product_data][name]", maxProductName)
	case !slices.Contains([]string{"", "day", "week", "month", "year"}, l.Interval):
		return l, invalid("", price+"[recurring][interval]", "Invalid interval")
	}
	return l, nil
}

func (a *Account) sessionDiscount(s *Session, form url.Values, now int64) *problem {
	if form.Has("discounts[1][coupon]") {
		return invalid("", "discounts", "Only one discount is allowed.")
	}
	if !form.Has("discounts[0][coupon]") {
		return nil
	}
	s.CouponID = form.Get("discounts[0][coupon]")
	c, ok := a.coupons[s.CouponID]
	if !ok {
		e := missing("coupon", s.CouponID)
		e.Status = 400
		return e
	}
	if !a.valid(c, now) {
		return invalid("", "discounts[0][coupon]", "This coupon has expired.")
	}
	if c.AmountOff > 0 && c.Currency != s.Currency {
		return invalid("", "discounts[0][coupon]", "The coupon's currency does not match.")
	}
	s.coupon = c
	return nil
}

// stepOf returns the step in which Stripe charges a currency, in minor units.
func stepOf(currency string) int64 {
	switch currency {
	case "isk", "ugx":
		return 100
	case "bhd", "jod", "kwd", "omr", "tnd":
		return 10
	}
	return 1
}

// taxPercent is the tax rate of a line.
func (o *Options) taxPercent(l Line) int64 {
	if percent, found := o.TaxPercents[l.Name]; found {
		return percent
	}
	return o.TaxPercent
}

// taxes spreads the discount over the lines and calculates their taxes, each rounded half-up.
func (a *Account) taxes(s *Session, automatic bool) {
	listed, discounted := int64(0), int64(0)
	for i, line := range s.Lines {
		l := &s.LineAmounts[i]
		listed += l.Subtotal
		upToHere := part(s.AmountDiscount, listed, s.AmountSubtotal)
		l.Discount, discounted = upToHere-discounted, upToHere
		l.Total = l.Subtotal - l.Discount
		percent := a.options.taxPercent(line)
		switch {
		case !automatic || line.TaxBehavior == "":
		case line.TaxBehavior == "exclusive":
			l.Tax = part(1, 2*percent*l.Total+100, 200)
			l.Total += l.Tax
		default:
			l.Tax = part(percent, l.Total, 100+percent)
		}
		s.AmountTax += l.Tax
		s.AmountTotal += l.Total
	}
}

// part returns amount * of / whole, rounded down.
func part(amount, of, whole int64) int64 {
	if whole == 0 {
		return 0
	}
	n := big.NewInt(amount)
	return n.Div(n.Mul(n, big.NewInt(of)), big.NewInt(whole)).Int64()
}

func (a *Account) sessionTotal(s *Session, form url.Values, _ int64) *problem {
	for _, l := range s.Lines {
		subtotal := l.Quantity * l.UnitAmount // no overflow, because both factors are bounded
		s.LineAmounts = append(s.LineAmounts, LineAmounts{Subtotal: subtotal})
		if s.AmountSubtotal += subtotal; s.AmountSubtotal > maxAmount {
			return invalid("amount_too_large", "line_items", "The total amount is at most twelve digits.")
		}
		if l.UnitAmount%stepOf(s.Currency) != 0 {
			return invalid("invalid_charge_amount_no_decimal_compatible", "line_items", "Amounts in %s have no such decimals.", s.Currency)
		}
	}
	s.AmountDiscount = discountOf(s.coupon, s.AmountSubtotal)
	a.taxes(s, form.Get("automatic_tax[enabled]") == "true")
	if least := a.options.MinimumCharge[s.Currency]; s.AmountTotal > 0 && s.AmountTotal < least {
		return invalid("amount_too_small", "", "The Checkout Session's total amount due must add up to at least %d %s", least, s.Currency)
	}
	return nil
}

func (a *Account) opListLineItems(ids []string, form url.Values, _ int64) (any, *problem) {
	if refusal := only(form, "limit", "starting_after", "expand"); refusal != nil {
		return nil, refusal
	}
	s := a.session(ids[0])
	if s == nil {
		return nil, missing("checkout.session", ids[0])
	}
	items := make([]int, len(s.Lines))
	for i := range items {
		items[i] = i
	}
	id := func(i int) string { return fmt.Sprintf("li_%s_%d", s.ID, i) }
	return pageOf(form, "/v1/checkout/sessions/"+s.ID+"/line_items", items, id, func(i int) any {
		l, amounts := s.Lines[i], s.LineAmounts[i]
		return map[string]any{
			"id": id(i), "object": "item", "currency": s.Currency, "description": l.Name, "quantity": l.Quantity,
			"amount_subtotal": amounts.Subtotal, "amount_discount": amounts.Discount, "amount_tax": amounts.Tax, "amount_total": amounts.Total,
			"metadata": merge(l.Metadata, nil),
		}
	})
}

func discountOf(c *Coupon, base int64) int64 {
	switch {
	case c == nil:
		return 0
	case c.AmountOff > 0:
		return min(c.AmountOff, base)
	}
	hundredths := int64(c.PercentOff*100 + 0.5)
	return (base*hundredths + 5_000) / 10_000
}

func (a *Account) opRetrieveSession(ids []string, form url.Values, _ int64) (any, *problem) {
	if refusal := only(form, "expand"); refusal != nil {
		return nil, refusal
	}
	s := a.session(ids[0])
	if s == nil {
		return nil, missing("checkout.session", ids[0])
	}
	return a.showSession(s, form), nil
}

func (a *Account) opListSessions(_ []string, form url.Values, _ int64) (any, *problem) {
	if refusal := only(form, "limit", "starting_after", "created", "status", "payment_intent", "subscription", "expand"); refusal != nil {
		return nil, refusal
	}
	since, refusal := integer(form, "created[gte]")
	if refusal != nil {
		return nil, refusal
	}
	until, refusal := integer(form, "created[lte]")
	if refusal != nil {
		return nil, refusal
	}
	var list []*Session
	payment, subscription := form.Get("payment_intent"), form.Get("subscription")
	for _, s := range slices.Backward(a.sessions) {
		if payment != "" && s.showPayment("payment", nil) != payment || subscription != "" && s.showPayment("subscription", nil) != subscription {
			continue
		}
		if s.Created >= since && (until == 0 || s.Created <= until) && (!form.Has("status") || form.Get("status") == s.Status) {
			list = append(list, s)
		}
	}
	return pageOf(form, "/v1/checkout/sessions", list, func(s *Session) string { return s.ID },
		func(s *Session) any { return a.showSession(s, nil) })
}

func (a *Account) opExpireSession(ids []string, form url.Values, now int64) (any, *problem) {
	s := a.session(ids[0])
	if s == nil {
		return nil, missing("checkout.session", ids[0])
	}
	if s.Status != "open" {
		return nil, invalid("", "", "Only Checkout Sessions with a status in [\"open\"] can be expired. This Checkout Session has a status of %s.", s.Status)
	}
	s.Status = "expired"
	a.announceSession("checkout.session.expired", s, now)
	return a.showSession(s, form), nil
}

func (a *Account) showSession(s *Session, form url.Values) map[string]any {
	discounts := []any{}
	if s.CouponID != "" {
		discounts = append(discounts, map[string]any{"coupon": s.CouponID, "promotion_code": nil})
	}
	var page any
	if s.Status == "open" {
		page = "https://checkout.stripe.example/c/pay/" + s.ID
	}
	var details any
	if s.Status != "open" {
		details = map[string]any{"email": orNull(cmp.Or(s.PayerEmail, s.CustomerEmail))}
	}
	return map[string]any{
		"id": s.ID, "object": "checkout.session", "mode": s.Mode, "status": s.Status, "payment_status": s.PaymentStatus,
		"currency": s.Currency, "amount_subtotal": s.AmountSubtotal, "amount_total": s.AmountTotal,
		"total_details": map[string]any{"amount_discount": s.AmountDiscount, "amount_tax": s.AmountTax, "amount_shipping": 0},
		"metadata":      merge(s.Metadata, nil), "client_reference_id": orNull(s.ClientReferenceID),
		"customer_email": orNull(s.CustomerEmail), "customer_details": details, "success_url": s.SuccessURL, "cancel_url": orNull(s.CancelURL),
		"expires_at": s.ExpiresAt, "created": s.Created, "livemode": false, "url": page,
		"discounts": discounts, "payment_intent": s.showPayment("payment", form), "subscription": s.showPayment("subscription", form),
		"invoice": s.showInvoice(), "automatic_tax": map[string]any{"enabled": s.Form.Get("automatic_tax[enabled]") == "true"},
	}
}

// showInvoice shows the first invoice of a subscription.
func (s *Session) showInvoice() any {
	if s.Mode != "subscription" || s.Status != "complete" {
		return nil
	}
	return "in_" + s.ID
}

// showPayment returns the payment intent or the subscription of a session. Only completed sessions have
// one. Sessions with a total of 0 have no payment intent.
func (s *Session) showPayment(mode string, form url.Values) any {
	if s.Mode != mode || s.Status != "complete" || mode == "payment" && s.AmountTotal == 0 {
		return nil
	}
	object, id := "payment_intent", "pi_"+s.ID
	if mode == "subscription" {
		object, id = "subscription", "sub_"+s.ID
	}
	if !wants(form, object) {
		return id
	}
	return map[string]any{"id": id, "object": object, "status": s.payment, "metadata": merge(s.PaymentMetadata, nil)}
}
