package couponkit_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// world is a service with everything around it, and a clock that only tests move.
type world struct {
	*couponkit.Service
	t        *testing.T
	now      time.Time
	store    store.Store
	fake     *fakeprocessor.Processor
	ledger   *ledger
	attempts []couponkit.Attempt
}

var (
	ann = eligibility.Customer{ID: "ann", Email: "ann@example.org"}
	bob = eligibility.Customer{ID: "bob", Email: "bob@example.org"}
)

func newWorld(t *testing.T, options ...couponkit.Option) *world {
	t.Helper()
	return newWorldWith(t, processor.Abilities{MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): 50}}, options...)
}

func newWorldWith(t *testing.T, abilities processor.Abilities, options ...couponkit.Option) *world {
	t.Helper()
	return newWorldOf(t, fakeprocessor.Options{Abilities: abilities}, options...)
}

func newWorldOf(t *testing.T, fake fakeprocessor.Options, options ...couponkit.Option) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), store: memstore.New(), ledger: &ledger{}}
	clock := clockOf(w)
	fake.Now, fake.Tolerance = clock, 1000*time.Hour
	w.fake = fakeprocessor.New(fake)
	w.ledger.Credit(ann.ID, 100)
	service, err := couponkit.New(w.store, append([]couponkit.Option{
		couponkit.WithProcessor(w.fake),
		couponkit.WithClock(clock),
		couponkit.WithPoints(w.ledger),
		couponkit.WithUsers(directory{
			ann.ID: {ID: ann.ID, Email: ann.Email}, bob.ID: {ID: bob.ID, Email: bob.Email},
		}),
		couponkit.WithObserver(couponkit.ObserverFunc(func(_ context.Context, a couponkit.Attempt) {
			w.attempts = append(w.attempts, a)
		})),
	}, options...)...)
	require.NoError(t, err)
	w.Service = service
	return w
}

// clockOf is the world's clock, for another service in it.
func clockOf(w *world) func() time.Time { return func() time.Time { return w.now } }

// pass lets time pass.
func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

// tenOff is a draft of 10 EUR off, for a test to change.
func tenOff() coupon.Draft {
	return coupon.Draft{
		Code: "TEN", Name: "Ten off", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	}
}

func percentOff(percent int64) coupon.Draft {
	return coupon.Draft{
		Code: "PERCENT", Name: "Percent off", DiscountType: pricing.Percentage, Percent: strconv.FormatInt(percent, 10),
	}
}

func (w *world) create(t *testing.T, d coupon.Draft) coupon.Coupon {
	t.Helper()
	c, err := w.Create(t.Context(), d)
	require.NoError(t, err)
	return c
}

// phones is three phones at 10.00 and shipping of 4.90.
func phones() pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
		{ID: "S", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 4_90},
	}}
}

func (w *world) request(code string) couponkit.CheckoutRequest {
	return couponkit.CheckoutRequest{Cart: phones(), Codes: only(code), Customer: ann}
}

func (w *world) checkout(t *testing.T, r couponkit.CheckoutRequest) couponkit.Checkout {
	t.Helper()
	c, err := w.Checkout(t.Context(), r)
	require.NoError(t, err)
	return c
}

// deliver lets the webhook receive what is queued.
func (w *world) deliver(t *testing.T) []couponkit.Outcome {
	t.Helper()
	var outcomes []couponkit.Outcome
	handler := w.fake.Handler(w.Webhook(func(_ context.Context, o couponkit.Outcome) error {
		outcomes = append(outcomes, o)
		return nil
	}))
	require.NoError(t, w.fake.Deliver(t.Context(), fakeprocessor.Serve(handler)))
	return outcomes
}

func (w *world) get(t *testing.T, id string) coupon.Coupon {
	t.Helper()
	found, err := store.Find(t.Context(), w.store, store.LookUp{Names: store.ByID(id), Whole: true})
	require.NoError(t, err)
	return found.Coupon
}

func (w *world) order(t *testing.T, id string) redemption.Order {
	t.Helper()
	o, err := w.store.Order(t.Context(), store.OrderKey{ID: id})
	require.NoError(t, err)
	return o.Order
}

// orderByKey returns the order of ann's key, or store.ErrNotFound.
func (w *world) orderByKey(key string) (redemption.Order, error) {
	o, err := w.store.Order(w.t.Context(), store.OrderKey{CustomerID: ann.ID, Key: key})
	return o.Order, err
}

// useOf is the one use of an order.
func useOf(t *testing.T, uses []redemption.Use) redemption.Use {
	t.Helper()
	require.Len(t, uses, 1)
	return uses[0]
}

// handle is HandleEvent as a webhook's handler has it.
func (w *world) handle(ctx context.Context, e processor.Event) error { return w.Webhook(nil)(ctx, e) }

// faultyFields are the fields that a validation error names, in its order.
func faultyFields(t *testing.T, err error) []string {
	t.Helper()
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid)
	fields := make([]string, len(invalid.Fields))
	for i, f := range invalid.Fields {
		fields[i] = f.Path
	}
	return fields
}

// save changes a coupon in the store alone.
func (w *world) save(kind store.ChangeKind, c coupon.Coupon) (coupon.Coupon, error) {
	return w.store.SaveCoupon(w.t.Context(), store.CouponChange{Kind: kind, Coupon: c, Unlimited: c.Limits.MaxUses == 0, At: w.now})
}

// discard removes a coupon from the store alone.
func (w *world) discard(id string, revision int64) error {
	_, err := w.save(store.DeleteCoupon, coupon.Coupon{ID: id, Revision: revision})
	return err
}

// customerID names one of many customers.
func customerID(i int) string { return fmt.Sprintf("customer%d", i) }

// couponOf is the ID of an order's coupon, empty without one.
func couponOf(o redemption.Order) string {
	if len(o.Coupons) == 0 {
		return ""
	}
	return o.Coupons[0].ID
}

// apply applies an event of a use in the store alone.
func (w *world) apply(kind redemption.EventKind, useID string) error {
	_, err := w.store.Apply(w.t.Context(), store.Settlement{Event: redemption.Event{Kind: kind, At: w.now, UseID: useID}})
	return err
}

// logged gives the world a service that logs to what is returned.
func (w *world) logged(t *testing.T) *messages {
	t.Helper()
	log := &messages{}
	service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)), couponkit.WithLogger(slog.New(log)))
	require.NoError(t, err)
	w.Service = service
	return log
}

// only is a request's list of one code. An empty code is none.
func only(code string) []string {
	if code == "" {
		return nil
	}
	return []string{code}
}

// generatedCode returns a code from a source that repeats a text.
func generatedCode(tb testing.TB, source string, shape coupon.CodeShape) coupon.Code {
	tb.Helper()
	form, err := codes.NewForm(shape)
	require.NoError(tb, err)
	code, err := form.Random(strings.NewReader(strings.Repeat(source, 1000)))
	require.NoError(tb, err)
	return code
}
