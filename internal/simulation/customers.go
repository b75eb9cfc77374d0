package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func email(customer string) string { return customer + "@example.org" }

// customer draws a customer. A few buy most of the time.
func (w *world) customer(s *shop) eligibility.Customer {
	n := w.random.IntN(w.temper.hot)
	if w.odds(5) {
		n = w.random.IntN(w.config.Customers)
	}
	id := fmt.Sprintf("customer%d", n)
	if a := s.book.account(id); !a.credited {
		a.credited = true
		s.ledger.Credit(id, startingPoints)
	}
	return eligibility.Customer{ID: id, Email: email(id)}
}

// pointsCustomer draws a customer, mostly the customer of the last exchange.
func (w *world) pointsCustomer(s *shop) string {
	if last := s.exchanged.Customer.ID; last != "" && !w.odds(3) {
		return last
	}
	return w.customer(s).ID
}

// typed draws the text that a customer enters for a coupon: a code, an ID, or other text.
func (w *world) typed(s *shop, id string) string {
	c, there := s.book.coupons[id]
	switch n := w.random.IntN(30); {
	case n == 0:
		return "no-such-code"
	case n < 5:
		return id
	case n < 7:
		return " " + strings.ToLower(c.Code.String()) + " "
	case len(s.issued[id]) > 0 && w.odds(2):
		return s.issued[id][w.random.IntN(len(s.issued[id]))].String()
	case !there:
		return strings.TrimSpace(codes[w.random.IntN(w.temper.codes)])
	}
	return c.Code.String()
}

// entered draws the codes that a customer enters for a purchase.
func (w *world) entered(s *shop) []string {
	id := w.anyCoupon(s)
	if w.odds(4) {
		return w.several(s, id)
	}
	return []string{w.typed(s, id)}
}

// several returns the codes of a coupon and of other coupons, which mostly combine with it.
func (w *world) several(s *shop, id string) []string {
	ids, most := []string{id}, 2+w.random.IntN(3)
	for i := len(s.coupons) - 1; i >= 0 && len(ids) < most; i-- {
		c := s.book.coupons[s.coupons[i]]
		usable := c.State == coupon.Active && c.Distribution == coupon.General && !slices.ContainsFunc(ids, func(other string) bool {
			return !pricing.Combinable(c.Group, s.book.coupons[other].Group)
		})
		if usable || w.odds(40) {
			ids = append(ids, s.coupons[i])
		}
	}
	w.random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	codes := make([]string, len(ids))
	for i := range ids {
		codes[i] = w.typed(s, ids[i])
	}
	return codes
}

// catalogue lists the items of the shops. The prices need rounding.
var catalogue = [...]pricing.Line{
	{Kind: pricing.Device, ItemID: "phone", UnitPrice: 33_33},
	{Kind: pricing.Device, ItemID: "tablet", UnitPrice: 101_01},
	{Kind: pricing.Accessory, ItemID: "case", UnitPrice: 7},
	{Kind: pricing.Accessory, ItemID: "sticker", UnitPrice: 0},
	{Kind: pricing.Plan, ItemID: "gold", UnitPrice: 9_99, Recurs: pricing.Monthly},
	{Kind: pricing.Plan, ItemID: "day pass", UnitPrice: 1_49},
	{Kind: pricing.Shipping, ItemID: "parcel", UnitPrice: 4_90},
}

func (w *world) currency() pricing.Currency {
	c, _ := pricing.ParseCurrency([]string{"EUR", "JPY", "KWD"}[max(0, w.random.IntN(33)-30)])
	return c
}

func (w *world) cart() pricing.Cart {
	cart := pricing.Cart{Currency: w.currency()}
	for i := range 1 + w.random.IntN(5) {
		line := catalogue[w.random.IntN(len(catalogue))]
		line.ID, line.Quantity = fmt.Sprint(i+1), 1+w.random.Int64N(7)
		cart.Lines = append(cart.Lines, line)
	}
	return cart
}

// request is a purchase that a customer tried and may try again.
type request struct {
	couponkit.PaymentLinkRequest        // a zero Mode is a checkout
	quotes                       bool   // asks for a quote first
	tampers                      bool   // expects a total that is one unit too low
	name                         string // of the operation in the trace
}

func (w *world) checkout() bool {
	s := w.shop()
	r := request{quotes: w.odds(3), tampers: w.odds(12)}
	r.CheckoutRequest = couponkit.CheckoutRequest{Key: w.key(s), Customer: w.customer(s), Cart: w.cart()}
	switch {
	case s.exchanged.Coupon != "" && w.odds(3):
		r.Customer, r.Codes = s.exchanged.Customer, w.several(s, s.exchanged.Coupon)
	case w.parts.Automatic && w.odds(2): // coupons come without codes
	case !w.odds(10):
		r.Codes = w.entered(s)
	}
	if w.parts.Automatic {
		policies := [...]eligibility.ConflictPolicy{eligibility.RefuseAll, eligibility.KeepFirst, eligibility.KeepBest}
		r.Conflicts, r.SkipRefused = policies[w.random.IntN(len(policies))], w.odds(2)
	}
	r.name = fmt.Sprintf("%s checks out with %s and coupons %q", r.Customer.ID, r.Key, r.Codes)
	return w.buy(s, r)
}

func (w *world) paymentLink() bool {
	s := w.shop()
	r := request{}
	r.CheckoutRequest = couponkit.CheckoutRequest{Key: w.key(s), Customer: w.customer(s), Codes: w.entered(s)}
	r.Mode, r.Amount = couponkit.ProductLink, pricing.NewMoney(20_00, w.currency())
	if w.odds(2) {
		r.Mode, r.Amount, r.Cart = couponkit.SubscriptionLink, pricing.Money{}, w.cart()
	}
	r.name = fmt.Sprintf("%s takes a payment link with %s and coupons %q", r.Customer.ID, r.Key, r.Codes)
	return w.buy(s, r)
}

// retry repeats a purchase. With another key, it needs the claims of the earlier order.
func (w *world) retry() bool {
	s := w.shop()
	if len(s.requests) == 0 {
		return false
	}
	r := recent(w, s.requests, 6, 1_000)
	switch n := w.random.IntN(12); {
	case n == 0:
		r.Cart, r.name = w.cart(), r.name+", and another cart"
	case n == 1: // another customer may guess a key, because keys are not secret
		r.Customer = w.customer(s)
		r.name = r.Customer.ID + " repeats what " + r.name
	case n < 7:
		r.Key = w.key(s)
		r.name += ", and again with " + r.Key
	}
	return w.buy(s, r)
}

// key draws an idempotency key: a new key, another customer's key, or no key.
func (w *world) key(s *shop) string {
	switch {
	case s.keys > 0 && w.odds(12):
		return fmt.Sprintf("key%d", w.random.IntN(s.keys))
	case w.odds(12):
		return ""
	}
	s.keys++
	return fmt.Sprintf("key%d", s.keys-1)
}

func (w *world) buy(s *shop, r request) bool {
	kind := "checkout"
	if r.Mode != 0 {
		kind = "payment link"
	}
	s.requests = append(s.requests, r)
	return w.begin(s, kind, r.name, func(ctx context.Context, t *task) (err error) {
		var made couponkit.Checkout
		var accepted *couponkit.Totals
		t.then = func() { w.bought(s, r, accepted, made) }
		if r.Mode != 0 {
			made, err = t.service.PaymentLink(ctx, r.PaymentLinkRequest)
			return err
		}
		if r.quotes {
			q, err := t.service.Quote(ctx, couponkit.QuoteRequest{
				Cart: r.Cart, Codes: r.Codes, Customer: r.Customer, Conflicts: r.Conflicts, SkipRefused: r.SkipRefused,
			})
			if err != nil {
				return err
			}
			accepted = &couponkit.Totals{Subtotal: q.Subtotal, Discount: q.Discount, Shipping: q.Shipping, Total: q.Total}
			if r.tampers {
				accepted.Total--
			}
			r.Expected = accepted
		}
		if pass := w.parts.Checkout; pass != nil {
			r.CheckoutRequest = pass(r.CheckoutRequest)
		}
		made, err = t.service.Checkout(ctx, r.CheckoutRequest)
		return err
	})
}

// bought checks the answer to a purchase.
func (w *world) bought(s *shop, r request, accepted *couponkit.Totals, made couponkit.Checkout) {
	settled, err := s.eyes.Order(background(), store.OrderKey{ID: made.Order.ID})
	order, who := settled.Order, r.Customer.ID
	w.must(AnswersAreTrue, err == nil && order.SessionID == made.Session.ID, "%s got order %s with session %s, which has %q (%v)",
		who, made.Order.ID, made.Session.ID, order.SessionID, err)
	w.must(OrdersAreTheirs, order.CustomerID == who && made.Order.CustomerID == who, "%s got order %s of %s", who, order.ID, order.CustomerID)
	w.must(TotalsAreCompared, !r.tampers || !r.quotes || made.Replayed, "%s claimed a cent less and got order %s", who, order.ID)
	w.must(TotalsAreCompared, accepted == nil || made.Replayed || made.Order.Quote.Total == accepted.Total,
		"%s has accepted %+v and got order %s of %d", who, accepted, order.ID, made.Order.Quote.Total)
	if key := who + " " + r.Key; r.Key != "" {
		before := s.book.answered[key]
		w.must(OneOrderForEachKey, before == "" || before == order.ID, "%s got orders %s and %s for %s", who, before, order.ID, r.Key)
		s.book.answered[key] = order.ID
	}
}

// preview asks for the effect of a coupon and changes nothing. In a shop with batches, an administrator
// may change a batch instead.
func (w *world) preview() bool {
	s := w.shop()
	if len(s.issuedInOrder) > 0 && w.odds(3) {
		return w.changeBatch(s)
	}
	c, code, cart, quote := w.customer(s), w.typed(s, w.anyCoupon(s)), w.cart(), w.odds(2)
	return w.begin(s, "preview", c.ID+" looks at coupon "+code, func(ctx context.Context, t *task) (err error) {
		if quote {
			_, err = t.service.Quote(ctx, couponkit.QuoteRequest{Cart: cart, Codes: []string{code}, Customer: c})
		} else {
			_, err = t.service.Validate(ctx, couponkit.ValidateRequest{Code: code, Customer: c})
		}
		return err
	})
}

func (w *world) exchange() bool {
	s := w.shop()
	id := w.anyCoupon(s)
	for i := 0; i < 4 && s.book.coupons[id].PointsRequired == 0; i++ { // mostly a coupon that costs points
		id = w.anyCoupon(s)
	}
	r := couponkit.ExchangeRequest{Coupon: id, Customer: w.customer(s), Key: w.key(s)}
	if s.book.coupons[id].PointsRequired == 0 && !w.odds(10) {
		return false
	}
	s.exchanged = r
	for range 1 + w.random.IntN(3) { // perhaps they click twice, or more often
		w.begin(s, "exchange", r.Customer.ID+" exchanges points for "+id, func(ctx context.Context, t *task) error {
			held, err := t.service.ExchangePoints(ctx, r)
			t.then = func() {
				w.must(AnswersAreTrue, held.PointsState != redemption.PointsPending && held.State != redemption.Released && held.CustomerID == r.Customer.ID,
					"%s got %s use %s of %s, its points %s", r.Customer.ID, held.State, held.ID, held.CustomerID, held.PointsState)
			}
			return err
		})
	}
	return true
}

func (w *world) cancelExchange() bool {
	s := w.shop()
	customer := w.pointsCustomer(s)
	return w.begin(s, "cancel exchange", customer+" cancels an exchange", func(ctx context.Context, t *task) error {
		held, err := t.service.Exchanges(ctx, customer)
		if err != nil || len(held) == 0 {
			return err
		}
		id := held[0].ExchangeID
		s.book.givenUp[id] = struct{}{}
		t.then = func() {
			now := s.book.uses[s.book.holders[id]]
			w.must(AnswersAreTrue, now.State != redemption.Reserved, "exchange %s was cancelled, and its use %s is %s", id, now.ID, now.State)
		}
		return t.service.CancelExchange(ctx, customer, id)
	})
}

// spendElsewhere plays a customer who spends all points outside the service, or gets them back.
func (w *world) spendElsewhere() bool {
	s := w.shop()
	id := w.pointsCustomer(s)
	a := s.book.account(id)
	spent := -a.elsewhere
	if spent == 0 {
		spent = s.ledger.Balance(id)
	}
	a.elsewhere += spent
	s.ledger.Credit(id, -spent)
	w.log("%s spends %d points elsewhere", id, spent)
	s.touched.points = true
	return true
}

// acts returns a happening that changes a session at the processor, if the session's state allows it.
func acts(name string, what func(*fakeprocessor.Processor, string) error) func(*world) bool {
	return func(w *world) bool {
		s := w.shop()
		id := w.anySession(s)
		if what(s.fake, id) != nil {
			return false
		}
		w.log("%s: session %s", name, id)
		return true
	}
}
