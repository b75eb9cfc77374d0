package killtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// Shop is one life of the shop that is tested.
type Shop interface {
	Create(ctx context.Context, d coupon.Draft) error
	Checkout(ctx context.Context, p Purchase) (address string, err error)
	// Refund takes one unit back, under the key.
	Refund(ctx context.Context, p Purchase, key string) error
	// EveryMinute is what the shop does every minute.
	EveryMinute(ctx context.Context) error
	// Webhooks returns what receives the provider's webhooks.
	Webhooks() http.Handler
	// Close closes the connections.
	Close()
}

// Canceller is a [Shop] whose customers can give an order up.
type Canceller interface {
	Cancel(ctx context.Context, p Purchase) error
}

// Purchase is a form that a customer sends. A form that is sent twice is one order.
type Purchase struct {
	ID, Customer, Code string // Code is empty if the customer has none
}

// Codes returns the codes of the purchase.
func (p Purchase) Codes() []string { return strings.Fields(p.Code) }

// Provider is the payment provider. The customers act through it.
type Provider interface {
	// Payments returns all payments, in the order of their creation.
	Payments() []Payment
	Pay(paymentID string) error
	PayLater(paymentID string) error
	Settle(paymentID string) error
	Fail(paymentID string) error
	// Webhooks returns the waiting webhooks, the oldest first.
	Webhooks() []string
	// Notify sends a webhook. Unless the status is 200 to 299, the webhook keeps waiting.
	Notify(ctx context.Context, webhook int, to http.Handler) (status int)
	// Repeat lets a webhook wait a second time; Drop loses it.
	Repeat(webhook int)
	Drop(webhook int)
}

// State is the state of a [Payment].
type State string

// These constants are the values of State.
const (
	Open       State = "open"
	Processing State = "processing" // paid by a slow method
	Paid       State = "paid"
	Voided     State = "voided"
)

// Payment is a payment at the provider.
type Payment struct {
	ID, Order string
	State     State
	Returned  int64 // minor units
}

// World is everything outside of the shop. Its exported fields are set by the test.
type World struct {
	Context  context.Context //nolint:containedctx // of the test
	Clock    *Clock
	Provider Provider
	// Store is the store of the test. Nobody kills it.
	Store store.Store
	// Open starts the shop on what the last life has left.
	Open func(*Life) (Shop, error)
	// Creates reports whether a request creates the payment of an order. Such a request may be late by
	// the time that couponkit allows.
	Creates func(r *http.Request, body []byte) (orderID string, creates bool)
	// Compare compares the tables of the shop with couponkit, after each life. It may be nil.
	Compare func() error
	// Steps is the most steps of a life.
	Steps int

	random    *rand.Rand
	trouble   bool
	late      []request // in order of arrival
	coupons   int
	purchases []Purchase
	trace     []string
	life      *Life
	shop      Shop
	kills     int
}

// request is a request that will reach the provider late.
type request struct {
	*http.Request

	to   http.RoundTripper
	body []byte
	at   time.Time
}

// New returns a world that a seed decides.
func New(ctx context.Context, seed uint64) *World {
	return &World{
		Context: ctx, Clock: &Clock{now: time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)}, trouble: true, Steps: 400,
		random: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // repeatable
	}
}

// violation is the panic value for a broken rule.
type violation struct{ error }

// fail ends the run.
func (w *World) fail(format string, args ...any) {
	panic(violation{fmt.Errorf(format+"\n%s", append(args, strings.Join(w.trace[max(0, len(w.trace)-80):], "\n"))...)})
}

// Run lets the shop live and die so many times, ends all trouble, lets a month pass, and compares. It
// returns what is wrong.
func (w *World) Run(lives int) (err error) {
	defer func() {
		switch found := recover().(type) {
		case nil:
		case violation:
			w.shop.Close()
			err = found.error
		default:
			panic(found)
		}
	}()
	for range lives {
		if w.start(w.random.IntN(w.Steps) + 1) {
			w.live()
		}
		w.kills++
	}
	w.settle()
	w.compare()
	w.shop.Close()
	return nil
}

// start starts the shop with the data of the previous shop.
func (w *World) start(steps int) (started bool) {
	w.life = &Life{world: w, steps: steps, after: w.one(2)}
	shop, err := w.Open(w.life)
	switch {
	case err == nil:
		w.shop = shop
	case !w.life.IsDead():
		w.fail("the shop does not start: %v", err)
	}
	return err == nil
}

// Start starts a shop that is not killed, without any trouble, for a test of its own.
func (w *World) Start() Shop {
	w.trouble = false
	w.start(1 << 30)
	return w.shop
}

func (w *World) live() {
	for !w.life.IsDead() {
		w.act()
		w.onePaymentEach()
	}
	w.note("killed")
	w.shop.Close()
	w.compareTables()
}

// one returns true once in n times.
func (w *World) one(n int) bool { return w.random.IntN(n) == 0 }

func (w *World) note(format string, args ...any) {
	w.trace = append(w.trace, w.Clock.Now().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

// pass lets time pass before a step, so that late requests arrive.
func (w *World) pass() {
	soon := len(w.late) > 0 && w.late[0].at.Sub(w.Clock.Now()) < 2*time.Second
	if w.trouble && (w.one(20) || soon && w.one(3)) {
		w.Clock.advance(time.Duration(w.random.IntN(3000)) * time.Millisecond)
	}
	w.arrive()
}

// arrive delivers the late requests whose time has come.
func (w *World) arrive() {
	for len(w.late) > 0 && !w.late[0].at.After(w.Clock.Now()) {
		r := w.late[0]
		w.late = w.late[1:]
		r.Body = io.NopCloser(bytes.NewReader(r.body))
		response, err := r.to.RoundTrip(r.Request)
		if err != nil {
			w.note("late %s %s: %v", r.Method, r.URL.Path, err)
			continue
		}
		_ = response.Body.Close() // cannot fail: the body is in memory
		w.note("late %s %s: %d", r.Method, r.URL.Path, response.StatusCode)
	}
}

// lose loses some requests. A lost request arrives later, or never. lose reports whether it has lost the request.
func (w *World) lose(r *http.Request, to http.RoundTripper) bool {
	if !w.trouble || !w.one(6) {
		return false
	}
	if w.one(3) {
		w.note("lost %s %s", r.Method, r.URL.Path)
		return true
	}
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body) // cannot fail: the body is in memory
	}
	kept := request{r.Clone(context.WithoutCancel(r.Context())), to, body, w.arrival(r, body)}
	w.late = append(w.late, kept)
	slices.SortStableFunc(w.late, func(a, b request) int { return a.at.Compare(b.at) })
	w.note("kept back %s %s until %s", r.Method, r.URL.Path, kept.at.Format("15:04:05.000"))
	return true
}

// arrival draws the time at which a late request arrives.
func (w *World) arrival(r *http.Request, body []byte) time.Time {
	now := w.Clock.Now()
	latest := now.Add(time.Minute)
	if id, creates := w.Creates(r, body); creates {
		latest = w.order(id).Order.BegunAt.Add(couponkit.DefaultCreateTime - time.Millisecond)
	}
	left := max(latest.Sub(now), 1)
	if w.one(2) {
		left = min(left, time.Second)
	}
	return latest.Add(-time.Duration(w.random.Int64N(int64(left))))
}

// Wait lets time pass between the actions.
func (w *World) Wait(d time.Duration) {
	for end := w.Clock.Now().Add(d); w.Clock.Now().Before(end); {
		next := end
		if len(w.late) > 0 && w.late[0].at.Before(end) {
			next = w.late[0].at
		}
		w.Clock.advance(max(next.Sub(w.Clock.Now()), 0))
		w.arrive()
	}
}

// order returns an order from couponkit's store.
func (w *World) order(id string) store.Settled {
	found, err := w.Store.Order(w.Context, store.OrderKey{ID: id})
	if err != nil {
		w.fail("order %s: %v", id, err)
	}
	return found
}

func (w *World) act() {
	ctx := w.Context
	if len(w.late) > 0 && w.one(3) { // sometimes the next step comes just before a late request
		w.Wait(w.late[0].at.Sub(w.Clock.Now()) - time.Duration(w.random.IntN(1000))*time.Millisecond)
	}
	switch n := w.random.IntN(100); {
	case n < 2:
		w.note("coupon: %v", w.shop.Create(ctx, w.Coupon()))
	case n < 32:
		p := w.purchase()
		address, err := w.shop.Checkout(ctx, p)
		w.note("checkout %s: %s %v", p, address, err)
	case n < 57:
		w.customer()
	case n < 75:
		w.webhook()
	case n < 80 && len(w.purchases) > 0:
		if able, is := w.shop.(Canceller); is {
			p := w.recent()
			w.note("cancel %s: %v", p, able.Cancel(ctx, p))
		}
	case n < 88 && len(w.purchases) > 0:
		p, key := w.recent(), fmt.Sprint("back-", w.random.IntN(2))
		w.note("refund %s %s: %v", p, key, w.shop.Refund(ctx, p, key))
	case n < 97:
		w.note("minute: %v", w.shop.EveryMinute(ctx))
		w.Wait(time.Minute)
	default:
		w.Wait(time.Duration(w.random.IntN(45)) * time.Minute)
	}
}

// Coupon returns the next coupon. It has one use.
func (w *World) Coupon() coupon.Draft {
	w.coupons++
	return coupon.Draft{
		Code: code(w.coupons), Name: "Ten off", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "10.00"}, MaxUses: coupon.Set(1),
	}
}

func code(n int) string { return fmt.Sprintf("ONCE%d", n) }

// purchase draws a new order, or a repeated form.
func (w *World) purchase() Purchase {
	if len(w.purchases) > 0 && w.one(2) {
		return w.recent()
	}
	p := Purchase{ID: fmt.Sprintf("order-%d", len(w.purchases)+1), Customer: []string{"ann", "bob"}[w.random.IntN(2)]}
	if w.coupons > 0 && !w.one(4) {
		p.Code = code(max(1, w.coupons-w.random.IntN(2)))
	}
	w.purchases = append(w.purchases, p)
	return p
}

// recent draws one of the last orders.
func (w *World) recent() Purchase {
	return w.purchases[len(w.purchases)-1-w.random.IntN(min(6, len(w.purchases)))]
}

// customer plays an action of a customer at the provider. A payment may be paid even if no customer saw
// its address, as if the provider had sent an invoice.
func (w *World) customer() {
	payments := w.Provider.Payments()
	if len(payments) == 0 {
		return
	}
	p := payments[len(payments)-1-w.random.IntN(min(4, len(payments)))]
	var err error
	switch p.State {
	case Open:
		if w.one(3) {
			err = w.Provider.PayLater(p.ID)
		} else {
			err = w.Provider.Pay(p.ID)
		}
	case Processing:
		err = w.arrived(p)
	case Paid, Voided:
		return
	}
	w.note("customer %s %s: %v", p.Order, p.State, err)
}

func (w *World) arrived(p Payment) error {
	if w.one(3) {
		return w.Provider.Fail(p.ID)
	}
	return w.Provider.Settle(p.ID)
}

// webhook sends, repeats or loses a random webhook.
func (w *World) webhook() {
	waiting := w.Provider.Webhooks()
	if len(waiting) == 0 {
		return
	}
	switch i := w.random.IntN(len(waiting)); {
	case w.one(8):
		w.Provider.Repeat(i)
	case w.one(8):
		w.Provider.Drop(i)
		w.note("webhook %s lost", waiting[i])
	default:
		w.note("webhook %s: %d", waiting[i], w.Provider.Notify(w.Context, i, w))
	}
}

// ServeHTTP lets the shop hear a webhook. A shop that dies has given no answer.
func (w *World) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	w.shop.Webhooks().ServeHTTP(answer, r)
	if answer.Code > 299 {
		w.note("the shop says %s", strings.TrimSpace(answer.Body.String()))
	}
	if w.life.IsDead() {
		answer.Code = http.StatusBadGateway
	}
	out.WriteHeader(answer.Code)
}

// settle ends all faults and lets a month pass.
func (w *World) settle() {
	w.Start()
	for _, p := range w.Provider.Payments() {
		if p.State == Processing {
			if err := w.arrived(p); err != nil {
				w.fail("settle %s: %v", p.ID, err)
			}
		}
	}
	for range 180 {
		w.deliver()
		if err := w.shop.EveryMinute(w.Context); err != nil {
			w.fail("a minute without trouble: %v", err)
		}
		w.onePaymentEach()
		w.Wait(4 * time.Hour)
	}
}

// deliver sends all waiting webhooks. The shop may refuse a few because it took too long.
func (w *World) deliver() {
	for refused := 0; len(w.Provider.Webhooks()) > 0; {
		if status := w.Provider.Notify(w.Context, 0, w); status < 200 || status > 299 {
			refused++
			if refused == 5 {
				w.fail("a webhook without trouble: %d", status)
			}
		}
	}
}
