package app_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// TestEveryRejection: every row of contract section 6 over HTTP, with its status,
// its message and its parameters.
func TestEveryRejection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainRefusals)
	admin := w.as(t, "admin")
	phone := object{"lines": []object{line("device", "phone-s", 1)}, "shippingOptionId": "standard"}
	buys := func(b *browser, code string) answer { // apart from the quote, which carries the refusal
		return b.post("/payment/cart-checkout", with(phone, object{"couponCode": code, "expected": object{
			"subtotal": "349.00", "discount": "0.00", "shipping": "4.90", "total": "353.90",
		}}))
	}
	applies := func(name, code string) func() answer {
		return func() answer { return w.as(t, name).get("/payment/apply-coupon/" + code) }
	}
	tests := map[coupon.RejectionCode]struct {
		refuse func() answer
		status int
		params object
	}{
		coupon.CodeRequired:     {applies("ann", "%20"), 422, object{}},
		coupon.CouponNotFound:   {applies("ann", "NEVER"), 404, object{}},
		coupon.CouponInactive:   {applies("ann", "PAUSED"), 422, object{}},
		coupon.CouponNotStarted: {applies("ann", "soon"), 422, object{"startsAt": "2026-11-27T12:00:00Z"}},
		coupon.CouponExpired:    {applies("ann", "OLD"), 422, object{"expiresAt": "2026-11-19T12:00:00Z"}},
		coupon.ProcessorOutOfSync: {func() answer {
			c, err := w.Service.Get(t.Context(), admin.creates(object{"code": "TAMPERED"}).text("id"))
			require.NoError(t, err)
			require.NoError(t, w.Simulator.Fake().TamperDeactivate(c.Mirror))
			return w.as(t, "ann").get("/payment/apply-coupon/TAMPERED")
		}, 422, object{}},
		coupon.UsageLimitReached: {func() answer {
			cleo := w.as(t, "cleo")
			cleo.pays(cleo.checkout(with(phone, object{"couponCode": "LASTONE"})))
			return w.as(t, "ann").get("/payment/apply-coupon/LASTONE")
		}, 422, object{"maxUses": 1.0}},
		coupon.UserUsageLimitReached: {func() answer {
			cleo := w.as(t, "cleo")
			cleo.pays(cleo.checkout(with(phone, object{"couponCode": "GADGET25"})))
			return cleo.get("/payment/apply-coupon/gadget25")
		}, 422, object{"maxUsesPerUser": 1.0}},
		coupon.MinimumPurchaseNotMet: {func() answer {
			return w.as(t, "ann").post("/payment/cart-checkout", object{
				"lines": []object{line("accessory", "case", 2)}, "shippingOptionId": "pickup", "couponCode": "TENOFF",
				"expected": object{"subtotal": "49.80", "discount": "10", "shipping": "0", "total": "39.80"},
			})
		}, 422, object{"minPurchase": "50.00", "eligibleSubtotal": "49.80", "missing": "0.20"}},
		coupon.OutsideSchedule: {func() answer {
			admin.creates(object{"code": "MONDAYS", "schedule": object{"timeZone": "Europe/Berlin", "hours": []object{{"day": "MONDAY", "from": "09:00", "until": "17:00"}}}})
			return w.as(t, "ann").get("/payment/apply-coupon/MONDAYS")
		}, 422, object{"timeZone": "Europe/Berlin", "opensAt": "2026-11-23T08:00:00Z"}},
		coupon.PeriodLimitReached: {func() answer {
			admin.creates(object{"code": "WEEKLY", "maxUsesPerUser": nil, "periodLimits": []object{{"per": "CUSTOMER", "period": "WEEK", "timeZone": "Europe/Berlin", "maxUses": 1}}})
			cleo := w.as(t, "cleo")
			cleo.pays(cleo.checkout(with(phone, object{"couponCode": "WEEKLY"})))
			return cleo.get("/payment/apply-coupon/WEEKLY")
		}, 422, object{"per": "CUSTOMER", "period": "WEEK", "timeZone": "Europe/Berlin", "maxUses": 1.0, "endsAt": "2026-11-22T23:00:00Z"}},
		coupon.BudgetExhausted: {func() answer {
			admin.creates(object{"code": "BUDGET", "budget": object{"EUR": "10"}})
			return buys(w.as(t, "ann"), "BUDGET")
		}, 422, object{"budget": "10.00", "remaining": "10.00", "missing": "24.90"}},
		coupon.MinimumQuantityNotMet: {func() answer {
			admin.creates(object{"code": "THREE", "minQuantity": 3})
			return buys(w.as(t, "ann"), "THREE")
		}, 422, object{"minQuantity": 3.0, "eligibleQuantity": 1.0, "missingQuantity": 2.0}},
		coupon.MaximumPurchaseExceeded: {func() answer {
			admin.creates(object{"code": "SMALL", "maxPurchase": "24.89"})
			return buys(w.as(t, "ann"), "SMALL")
		}, 422, object{"maxPurchase": "24.89", "eligibleSubtotal": "349.00", "excess": "324.11"}},
		coupon.MaximumQuantityExceeded: {func() answer {
			admin.creates(object{"code": "ONLYONE", "maxQuantity": 1})
			return w.as(t, "ann").post("/payment/cart-checkout", object{
				"lines": []object{line("accessory", "case", 3)}, "shippingOptionId": "pickup", "couponCode": "ONLYONE",
				"expected": object{"subtotal": "74.70", "discount": "10", "shipping": "0", "total": "64.70"},
			})
		}, 422, object{"maxQuantity": 1.0, "eligibleQuantity": 3.0, "excessQuantity": 2.0}},
		coupon.RequiredItemsMissing: {func() answer {
			admin.creates(object{"code": "WITHPLAN", "contains": object{"appliesTo": "SUBSCRIPTION"}})
			return buys(w.as(t, "ann"), "WITHPLAN")
		}, 422, object{"contains": object{"appliesTo": "SUBSCRIPTION", "quantity": 1.0}, "missingQuantity": 1.0}},
		coupon.ExcludedItemsContained: {func() answer {
			admin.creates(object{"code": "NOPHONE", "containsNot": object{"kinds": []string{"device"}}})
			return buys(w.as(t, "ann"), "NOPHONE")
		}, 422, object{"containsNot": object{"appliesTo": "ALL", "kinds": []any{"device"}}, "excludedQuantity": 1.0}},
		coupon.CustomerTagsNotMet: {func() answer {
			admin.creates(object{"code": "STAFF", "customerTags": object{"all": []string{"administrator"}}})
			return w.as(t, "ann").get("/payment/apply-coupon/STAFF")
		}, 422, object{"missingTags": []any{"administrator"}}},
		coupon.NotFirstOrder: {func() answer {
			admin.creates(object{"code": "FIRST", "firstOrder": true})
			return w.as(t, "cleo").get("/payment/apply-coupon/FIRST") // Cleo has paid
		}, 422, object{"orders": 3.0}},
		coupon.UserRequired:      {func() answer { return w.browser(t).get("/payment/apply-coupon/SUMMER10") }, 401, nil}, // before the library is asked
		coupon.UserNotAllowed:    {applies("cleo", "VIP15"), 422, object{}},
		coupon.PointsNotRedeemed: {applies("ann", "POINTS25"), 422, object{"pointsRequired": 500.0}},
		coupon.NoEligibleItems:   {func() answer { return buys(w.as(t, "ann"), "PLAN20") }, 422, object{}},
		coupon.NoDiscount: {func() answer {
			return w.as(t, "ann").post("/payment/cart-checkout", object{
				"lines": []object{line("accessory", "sim-tool", 1)}, "shippingOptionId": "standard", "couponCode": "SUMMER10",
				"expected": object{"subtotal": "0", "discount": "0", "shipping": "4.90", "total": "4.90"},
			})
		}, 422, object{}},
		coupon.CurrencyMismatch: {func() answer {
			admin.creates(object{"code": "DOLLARS", "discountType": "FIXED_AMOUNT", "discountValue": "5", "currency": "USD"})
			return buys(w.as(t, "ann"), "DOLLARS")
		}, 422, object{"couponCurrency": "USD", "cartCurrency": "EUR"}},
		coupon.ChannelNotAllowed: {func() answer {
			admin.creates(object{"code": "STORE", "channels": []string{"store"}})
			return buys(w.as(t, "ann"), "STORE")
		}, 422, object{"channel": "web", "channels": []any{"store"}}},
		coupon.CountryNotAllowed: {func() answer {
			admin.creates(object{"code": "ALPS", "countries": []string{"AT", "CH"}})
			return w.as(t, "ann").checkout(with(phone, object{"couponCode": "ALPS", "country": "DE"}))
		}, 422, object{"country": "DE", "countries": []any{"AT", "CH"}}},
		coupon.NotCombinable: {func() answer {
			admin.creates(object{"code": "AUTUMN", "group": "season"})
			w.clock.advance(time.Second) // so that the IDs are in this order
			admin.creates(object{"code": "WINTER", "group": "season"})
			return w.as(t, "ann").checkout(with(phone, object{"codes": []string{"AUTUMN", "WINTER"}}))
		}, 422, object{"excludedBy": []any{"WINTER"}}},
		coupon.CodeTaken: {func() answer {
			return admin.post("/admin/coupon", object{"code": "summer10", "name": "Again", "discountType": "PERCENTAGE", "discountValue": 5})
		}, 409, object{}},
		coupon.CartTotalsInvalid: {
			func() answer { return buys(w.as(t, "ann"), "SUMMER10") }, 422,
			object{"field": "discount", "submitted": "0.00", "computed": "34.90"},
		},
		coupon.BelowMinimumCharge: {func() answer {
			admin.creates(object{"code": "NEARLY", "discountType": "FIXED_AMOUNT", "discountValue": "12.49"})
			return w.as(t, "ann").post("/payment/cart-checkout", object{
				"lines": []object{line("accessory", "cable", 1)}, "shippingOptionId": "pickup", "couponCode": "NEARLY",
				"expected": object{"subtotal": "12.50", "discount": "12.49", "shipping": "0", "total": "0.01"},
			})
		}, 422, object{"total": "0.01", "minimum": "0.50"}},
	}
	for _, code := range coupon.RejectionCodes() {
		test, known := tests[code]
		if !known {
			t.Errorf("no test of %s", code)
			continue
		}
		a := test.refuse().refused(test.status, code.String())
		if test.params == nil {
			continue
		}
		require.Equal(t, code.Message(), a.text("title"))
		if diff := cmp.Diff(test.params, a.value("params")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", code, diff)
		}
		require.Equal(t, code.String(), a.text("rejections.0.code"))
	}
}

// TestALookUpWithoutACode: spec 7, no. 1: "missing" is told as a refusal, whichever
// way the code is missing from the path.
func TestALookUpWithoutACode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/payment/apply-coupon", "/payment/apply-coupon/", "/payment/apply-coupon/%20", "/payment/apply-coupon/%09%20"} {
		b := w.as(t, "ann")
		b.loose = !strings.HasSuffix(path, "%20") // the document has no path parameter that is empty
		a := b.get(path).refused(http.StatusUnprocessableEntity, "code_required")
		require.Equal(t, coupon.CodeRequired.Message(), a.text("title"))
		nobody := w.browser(t)
		nobody.loose = b.loose
		nobody.get(path).refused(http.StatusUnauthorized, "user_required")
	}
}

// TestAQuoteCarriesItsRefusal: a refused coupon leaves the list prices, and every
// reason is told (contract section 7).
func TestAQuoteCarriesItsRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainRefusals)
	w.as(t, "admin").creates(object{"code": "BOTH", "appliesTo": "SUBSCRIPTION", "minPurchase": "50", "distribution": "USER_SPECIFIC", "allowedUserEmails": "x@example.org"})
	cart := object{"lines": []object{line("device", "watch", 2)}, "couponCode": "BOTH"}
	a := w.as(t, "ann").post("/payment/quote", cart).is(http.StatusOK)
	require.Nil(t, a.value("coupon"))
	require.Equal(t, "458.00", a.text("quote.total"))
	var codes []string
	for _, r := range a.list("rejections") {
		codes = append(codes, r.(map[string]any)["code"].(string))
	}
	require.Equal(t, []string{"minimum_purchase_not_met", "user_not_allowed", "no_eligible_items"}, codes)
}

// TestNobodyIsToldOfACoupon: spec 5: "coupon validation requires a signed-in user". What a
// cart costs without one is told to everybody.
func TestNobodyIsToldOfACoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cart := object{"lines": []object{line("device", "watch", 2)}}
	nobody := w.browser(t)
	require.Empty(t, nobody.post("/payment/quote", cart).is(http.StatusOK).list("rejections"))
	for _, code := range []string{"SUMMER10", "NOSUCHCODE", "VIP15"} {
		a := nobody.post("/payment/quote", with(cart, object{"couponCode": code})).is(http.StatusOK)
		require.Len(t, a.list("rejections"), 1)
		require.Equal(t, "user_required", a.text("rejections.0.code"), code)
		require.Equal(t, "458.00", a.text("quote.total"))
		require.Nil(t, a.value("coupon"))
	}
}

// TestNobodysCheapCart: both reasons are told, in their order.
func TestNobodysCheapCart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "couponkit.db")
	at := func(c *app.Config) { c.Store = file }
	before := newWorld(t, at)
	require.NoError(t, before.Shop.Seed(t.Context(), nil, []shop.Item{{Kind: pricing.Accessory, ID: "sticker", Name: "Sticker", Price: 30}}))
	require.NoError(t, before.Close(context.WithoutCancel(t.Context())))
	cart := object{"lines": []object{line("accessory", "sticker", 1)}}
	nobody := newWorld(t, at).browser(t)
	require.Equal(t, "below_minimum_charge", nobody.post("/payment/quote", cart).is(http.StatusOK).text("rejections.0.code"))
	a := nobody.post("/payment/quote", with(cart, object{"couponCode": "SUMMER10"})).is(http.StatusOK)
	require.Len(t, a.list("rejections"), 2)
	require.Equal(t, "user_required", a.text("rejections.0.code"))
	require.Equal(t, "below_minimum_charge", a.text("rejections.1.code"))
}

// TestAReservationOutlivesItsCoupon: what was reserved in time is completed although
// the coupon expires before the payment arrives (contract section 4.5).
func TestAReservationOutlivesItsCoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.as(t, "admin").creates(object{"code": "BRIEF", "expiresAt": noon().Add(10 * time.Minute)})
	ann := w.as(t, "ann")
	bought := ann.checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": "BRIEF"}).is(http.StatusCreated)
	w.clock.advance(20 * time.Minute)
	ann.get("/payment/apply-coupon/BRIEF").refused(http.StatusUnprocessableEntity, "coupon_expired")
	ann.pays(bought)
	require.Equal(t, 1, w.as(t, "admin").get("/admin/coupon/"+c.text("id")).number("usedCount"))
}

// TestACheckoutIsFinishedWhenTheProcessorIsBack: after a 503 the same key goes on
// where it stopped.
func TestACheckoutIsFinishedWhenTheProcessorIsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.as(t, "ann").withKey("attempt-1")
	body := object{
		"lines": []object{line("plan", "basic", 1)}, "couponCode": "LASTONE",
		"expected": object{"subtotal": "9.99", "discount": "4.00", "shipping": "0", "total": "5.99"},
	}
	w.Simulator.Fake().Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
	ann.post("/payment/cart-checkout", body).refused(http.StatusServiceUnavailable, "processor_unavailable")
	again := ann.post("/payment/cart-checkout", body).is(http.StatusCreated)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Len(t, w.Simulator.Fake().Sessions(), 1)
	ann.pays(again)
}
