package browsertest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// unfold opens the part of the form that holds an element.
func (p page) unfold(selector string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`document.querySelector(%q).closest("details").open = true`, selector), nil)
}

// choose chooses an option by keyboard and mouse alike.
func (p page) choose(selector, value string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`{ const select = document.querySelector(%q); select.value = %q; select.dispatchEvent(new Event("change", { bubbles: true })); }`, selector, value), nil)
}

// entered fills fields of the form by name.
func (p page) entered(fields map[string]string) {
	p.t.Helper()
	for name, value := range fields {
		p.eval(fmt.Sprintf(`{ const field = document.querySelector("#coupon-form").elements[%q]; field.value = %q; field.dispatchEvent(new Event("input", { bubbles: true })); }`, name, value), nil)
	}
}

// amounts enters amounts in several currencies, in rows of their own.
func (p page) amounts(list string, currenciesAndAmounts ...string) {
	p.t.Helper()
	for i := 0; i < len(currenciesAndAmounts); i += 2 {
		row := fmt.Sprintf("%s[%d]", list, i/2)
		var there bool
		if p.eval(fmt.Sprintf(`document.querySelector("#coupon-form").elements[%q] !== undefined`, row+".amount"), &there); !there {
			p.eval(fmt.Sprintf(`document.querySelector("[data-rows='%s'] + [data-add-row]").click()`, list), nil)
		}
		p.entered(map[string]string{row + ".currency": currenciesAndAmounts[i], row + ".amount": currenciesAndAmounts[i+1]})
	}
}

// selected are the terms of a coupon with these names.
func (w *world) selected(code string, names map[string]any) map[string]any {
	w.t.Helper()
	all, found := terms(w.t, w.coupon(code)), map[string]any{}
	for name := range names {
		found[name] = all[name]
	}
	return found
}

// likeJSON is a value as JSON has it.
func likeJSON(t *testing.T, v any) (like map[string]any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &like))
	return like
}

type object = map[string]any

// One coupon of each type, with every term of the type.
func TestEachTypeOfDiscountIsCreated(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for _, each := range []struct {
			kind string
			fill func()
			want object
		}{
			{"PERCENTAGE", func() {
				p.fill("#f-value", "12,5")
				p.entered(map[string]string{"maxUnits": "3", "maxDiscount": "40"})
				p.amounts("maxDiscounts", "USD", "45.00", "GBP", "35")
				p.choose("#f-lane", "item")
			}, object{"discountValue": "12.5", "maxUnits": 3, "maxDiscount": object{"EUR": "40.00", "USD": "45.00", "GBP": "35.00"}, "lane": "item"}},
			{"FIXED_AMOUNT", func() {
				p.fill("#f-value", "5")
				p.amounts("discountValues", "USD", "6,00")
				p.choose("#f-currency", "GBP")
				p.see("#f-value-unit", "£")
			}, object{"discountValue": object{"GBP": "5.00", "USD": "6.00"}, "currency": "GBP"}},
			{"FIXED_AMOUNT_PER_UNIT", func() { p.fill("#f-value", "2") }, object{"discountValue": "2.00"}},
			{"FIXED_UNIT_PRICE", func() { p.fill("#f-value", "9,90") }, object{"discountValue": "9.90"}},
			{"CHEAPEST_UNITS", func() { p.fill("#f-value", "50"); p.fill("#f-units", "2") }, object{"discountValue": "50", "units": 2, "refundPolicy": "keep"}}, // as usual for this discount
			{"BUY_X_GET_Y", func() {
				p.fill("#f-value", "100")
				p.fill("#f-buy", "2")
				p.fill("#f-get", "1")
				p.fill("#f-max-applications", "4")
				p.choose("#f-refund-policy", "keep")
				p.choose("#f-buys-scope", "SPECIFIC")
				p.pick("#f-buys-devices", "watch", "watch")
				p.pick("#f-buys-excluded-items", "cable", "cable")
				p.entered(map[string]string{"buys.kinds": "device\n"})
			}, object{"discountValue": "100", "buyQuantity": 2, "getQuantity": 1, "maxApplications": 4, "refundPolicy": "keep", "buys": object{
				"appliesTo": "SPECIFIC", "deviceIds": []string{"watch"}, "kinds": []string{"device"}, "excludedItemIds": []string{"cable"},
			}}},
			{"TIERED", func() {
				p.gone("#f-value")
				p.choose("#f-tier-basis", "QUANTITY")
				p.click("[data-rows=tiers] + [data-add-row]")
				p.click("[data-rows=tiers] + [data-add-row]")
				p.entered(map[string]string{"tiers[0].from": "2", "tiers[0].percent": "5", "tiers[1].from": "3", "tiers[1].percent": "7", "tiers[2].from": "5", "tiers[2].amount": "20,50"})
				p.click("[data-rows=tiers] .row:nth-child(2) [data-remove-row]")
			}, object{"tierBasis": "QUANTITY", "tiers": []object{{"from": "2", "percent": "5"}, {"from": "5", "amount": "20.50"}}}},
		} {
			code := "TYPE-" + each.kind
			p.click("#new-coupon")
			p.click(radio("discountType", each.kind))
			p.fill("#f-code", code)
			p.fill("#f-name", "Name of "+code)
			each.fill()
			p.finish(code)
			each.want["discountType"] = each.kind
			if diff := cmp.Diff(likeJSON(w.t, each.want), w.selected(code, each.want)); diff != "" {
				w.t.Errorf("%s (-want +got):\n%s", code, diff)
			}
		}
		p.see(rowOf("TYPE-TIERED"), "2 tiers")
		p.see(rowOf("TYPE-BUY_X_GET_Y"), "Buy 2, get 1")
	})
}

// Every term beyond the discount is created and edited. What is not touched stays.
func TestEachFurtherTermIsCreatedAndEdited(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("FURTHER", "PERCENTAGE", "10")
		for _, folded := range []string{"#f-kinds", "#f-tags-any", "#f-zone", "[data-rows=budget]", "[data-rows=periodLimits]", "#f-contains-scope"} {
			p.unfold(folded)
		}
		p.pick("#f-excluded-items", "tab", "tablet")
		p.choose("#f-contains-scope", "PRODUCT")
		p.pick("#f-contains-devices", "watch", "watch")
		p.choose("#f-contains-not-scope", "SUBSCRIPTION")
		p.pick("#f-contains-not-excluded-items", "fam", "family")
		p.click("#f-first-order")
		p.click(`[data-rows="schedule.hours"] + [data-add-row]`)
		p.click(`[data-rows="schedule.hours"] + [data-add-row]`)
		p.click("[data-rows=periodLimits] + [data-add-row]")
		p.entered(map[string]string{
			"kinds": "device\naccessory", "categories": "toys, games\nbooks", "excludedCategories": "gift cards", "group": "summer", "minQuantity": "2",
			"customerTags.any": "customer\nadministrator", "customerTags.all": "vip", "customerTags.none": "staff", "startsAt": "2031-01-01", "expiresAt": "2031-12-31",
			"schedule.timeZone": "Europe/Berlin", "schedule.hours[0].day": "MONDAY", "schedule.hours[0].from": "09:00", "schedule.hours[0].until": "12:30",
			"schedule.hours[1].day": "SUNDAY", "schedule.hours[1].from": "18:00", "schedule.hours[1].until": "24:00",
			"minPurchase": "20", "maxPurchase": "2000,50", "maxQuantity": "9",
			"contains.quantity": "2", "contains.categories": "toys, games", "containsNot.kinds": "plan",
			"periodLimits[0].maxUses": "5", "periodLimits[0].per": "CUSTOMER", "periodLimits[0].period": "WEEK", "periodLimits[0].timeZone": "UTC",
		})
		p.amounts("minPurchases", "USD", "25")
		p.amounts("maxPurchases", "USD", "2500")
		p.amounts("budget", "EUR", "1000", "USD", "1100.50")
		p.amounts("contains.minPurchase", "EUR", "50", "USD", "55")
		p.finish("FURTHER")
		want := object{
			"excludedItemIds": []string{"tablet"}, "firstOrder": true, "kinds": []string{"device", "accessory"}, "categories": []string{"toys, games", "books"},
			"excludedCategories": []string{"gift cards"}, "group": "summer", "minQuantity": 2,
			"customerTags": object{"any": []string{"customer", "administrator"}, "all": []string{"vip"}, "none": []string{"staff"}},
			"startsAt":     "2031-01-01T00:00:00Z", "expiresAt": "2032-01-01T00:00:00Z",
			"schedule": object{"timeZone": "Europe/Berlin", "hours": []object{
				{"day": "MONDAY", "from": "09:00", "until": "12:30"}, {"day": "SUNDAY", "from": "18:00", "until": "24:00"},
			}},
			"maxPurchase": object{"EUR": "2000.50", "USD": "2500.00"}, "maxQuantity": 9,
			"contains":    object{"appliesTo": "PRODUCT", "deviceIds": []string{"watch"}, "categories": []string{"toys, games"}, "quantity": 2, "minPurchase": object{"EUR": "50.00", "USD": "55.00"}},
			"containsNot": object{"appliesTo": "SUBSCRIPTION", "kinds": []string{"plan"}, "excludedItemIds": []string{"family"}},
			"minPurchase": object{"EUR": "20.00", "USD": "25.00"}, "budget": object{"EUR": "1000.00", "USD": "1100.50"},
			"periodLimits": []object{{"per": "CUSTOMER", "period": "WEEK", "timeZone": "UTC", "maxUses": 5}},
		}
		same := func() {
			w.t.Helper()
			if diff := cmp.Diff(likeJSON(w.t, want), w.selected("FURTHER", want)); diff != "" {
				w.t.Errorf("(-want +got):\n%s", diff)
			}
		}
		same()
		p.click(rowOf("FURTHER") + " [data-action=edit]")
		p.hold(`document.querySelector("#f-group").value === "summer" && document.querySelector("#f-kinds").closest("details").open && document.querySelector("#f-contains-quantity").value === "2"`)
		p.finish("FURTHER")
		require.EqualValues(w.t, 1, w.coupon("FURTHER").Revision) // nothing was changed

		p.click(rowOf("FURTHER") + " [data-action=edit]")
		p.visible(`[data-rows="contains.minPurchase"] .row`)
		p.entered(map[string]string{"contains.minPurchase[1].amount": "", "contains.minPurchase[0].amount": "0.5555"})
		p.click("#save")
		p.fault("contains.minPurchase[0].amount", "at most 2 decimals are allowed")
		p.entered(map[string]string{"contains.minPurchase[0].amount": "60"})
		p.finish("FURTHER")
		want["contains"].(object)["minPurchase"] = "60.00"
		same()
		p.click(rowOf("FURTHER") + " [data-action=edit]")
		p.visible(`[data-rows="contains.minPurchase"] .row`)
		p.finish("FURTHER")
		require.EqualValues(w.t, 2, w.coupon("FURTHER").Revision) // nothing was changed

		p.click(rowOf("FURTHER") + " [data-action=edit]")
		p.visible(`[data-rows="schedule.hours"] .row`)
		p.click(`[data-rows="schedule.hours"] .row:first-child [data-remove-row]`)
		p.click("#f-first-order")
		p.entered(map[string]string{"group": "", "customerTags.any": "", "customerTags.all": "", "customerTags.none": "", "budget[0].amount": "", "budget[1].amount": "", "periodLimits[0].maxUses": "7", "startsAt": "", "maxPurchase": "", "maxPurchases[0].amount": "", "maxQuantity": "", "contains.appliesTo": "", "containsNot.kinds": ""})
		p.finish("FURTHER")
		want["schedule"] = object{"timeZone": "Europe/Berlin", "hours": []object{{"day": "SUNDAY", "from": "18:00", "until": "24:00"}}}
		want["periodLimits"] = []object{{"per": "CUSTOMER", "period": "WEEK", "timeZone": "UTC", "maxUses": 7}}
		want["firstOrder"], want["group"], want["customerTags"], want["budget"], want["startsAt"] = nil, nil, nil, nil, nil
		want["maxPurchase"], want["maxQuantity"], want["contains"] = nil, nil, nil
		want["containsNot"] = object{"appliesTo": "SUBSCRIPTION", "excludedItemIds": []string{"family"}}
		same()
	})
}

// Channels and countries that the form sets are kept, and the form shows them again.
func TestChannelsAndCountriesAreCreatedAndEdited(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("PLACES", "PERCENTAGE", "10")
		p.entered(map[string]string{"channels": "web\nstore, north", "countries": "DE\nAT"})
		p.finish("PLACES")
		want := object{"channels": []string{"web", "store, north"}, "countries": []string{"DE", "AT"}}
		require.Equal(w.t, likeJSON(w.t, want), w.selected("PLACES", want))
		p.click(rowOf("PLACES") + " [data-action=edit]")
		p.hold(`document.querySelector("#f-channels").value === "web\nstore, north" && document.querySelector("#f-countries").value === "DE\nAT"`)
		p.entered(map[string]string{"channels": "", "countries": "DE\nCH"})
		p.finish("PLACES")
		want = object{"channels": nil, "countries": []string{"DE", "CH"}}
		require.Equal(w.t, likeJSON(w.t, want), w.selected("PLACES", want))
	})
}

// The terms of a discount are shown while a coupon is edited, and are locked. Terms that the
// coupon does not have are left out.
func TestTheTermsOfADiscountAreLocked(t *testing.T) {
	onOneStore(t, func(w *world) {
		var draft coupon.Draft
		require.NoError(w.t, draft.UnmarshalJSON([]byte(`{"code":"STEPS","name":"Steps","discountType":"TIERED","tierBasis":"AMOUNT",
			"tiers":[{"from":"50","percent":"5"},{"from":"100","amount":"15"}],"maxDiscount":"20"}`)))
		w.create(draft)
		p := w.administer()
		p.click(rowOf("STEPS") + " [data-action=edit]")
		p.hold(`["#f-tiers\\[1\\]\\.from", "#f-tiers\\[1\\]\\.amount", "#f-max-discount", "#f-currency", "#f-refund-policy"].map((each) => document.querySelector(each)).map((each) => each.disabled && each.value).join() === "100.00,15.00,20.00,EUR,keep"`)
		p.gone("#f-value")
		p.gone("#f-lane")
		p.gone("[data-field=discountValues]")
		p.gone("[data-field=tiers] button")
		p.see("#preview-summary", "takes €15.00 off")
		p.fill("#f-name", "Renamed")
		p.finish("STEPS")
		p.see(rowOf("STEPS"), "Renamed")
		p.click("#new-coupon")
		p.visible("#f-lane")
		p.hold(`!document.querySelector("#f-currency").disabled`)
	})
}

// Only the fields of the type are shown.
func TestFieldsAreShownByType(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click("#new-coupon")
		for kind, shown := range map[string]string{
			"PERCENTAGE": "discountValue maxUnits lane", "FIXED_AMOUNT": "discountValue maxUnits discountValues", "FIXED_AMOUNT_PER_UNIT": "discountValue maxUnits discountValues",
			"FIXED_UNIT_PRICE": "discountValue maxUnits discountValues", "CHEAPEST_UNITS": "discountValue units",
			"BUY_X_GET_Y": "discountValue buyQuantity getQuantity maxApplications buys", "TIERED": "tierBasis tiers",
		} {
			p.click(radio("discountType", kind))
			p.eval(`document.querySelectorAll("#coupon-form details").forEach((each) => { each.open = true; })`, nil)
			p.hold(fmt.Sprintf(`[...document.querySelectorAll("[data-field][data-types]")].filter((each) => each.checkVisibility()).map((each) => each.dataset.field).join(" ") === %q`, shown))
		}
	})
}

// Each fault of a further term is at its field, also in a part that was folded, and in the row
// of a list.
func TestFaultsOfFurtherTermsAreAtTheirFields(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click("#new-coupon")
		p.click(radio("discountType", "TIERED"))
		p.fill("#f-code", "FAULTY")
		p.fill("#f-name", "Faulty")
		p.click("[data-rows=tiers] + [data-add-row]")
		p.entered(map[string]string{
			"tiers[0].from": "10", "tiers[0].percent": "5", "tiers[1].from": "5", "tiers[1].percent": "10", "customerTags.any": "a\n" + strings.Repeat("x", 65),
			"budget[0].amount": "1.00005", "schedule.timeZone": "Mars/Olympus", "minQuantity": "many", "group": strings.Repeat("x", 65),
		})
		p.click("#save")
		p.fault("tiers[1].from", "ascending order")
		p.fault("customerTags.any", "entry 2: ")
		p.fault("budget[0].amount", "decimal")
		p.fault("schedule.timeZone", "IANA time zone")
		p.fault("minQuantity", "whole number")
		p.fault("group", "64")
		p.visible("[data-field=budget] [data-field] .field-error")
		p.focused(`[name="tiers[1].from"]`)
		p.entered(map[string]string{"tiers[1].from": "20", "customerTags.any": "", "budget[0].amount": "", "schedule.timeZone": "", "minQuantity": "", "group": ""})
		p.finish("FAULTY")
	})
}

// The preview follows the form.
func TestTheFormShowsWhatACouponDoes(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.create(coupon.Draft{Code: "PLAIN", Name: "Plain", DiscountType: pricing.Percentage, Percent: "10"})
		p := w.administer()
		p.click("#new-coupon")
		p.see("#preview-summary", "Enter a discount")
		p.fill("#f-name", "Something")
		p.see("#preview-notes .note-plain", "Discount Value: a discount value is required")
		p.fill("#f-value", "10")
		p.see("#preview-summary", "The coupon takes €83.76 off.")
		p.see("[data-line=device-phone-s]", "−€69.80")
		p.see("[data-preview=total]", "€758.73")
		p.click(radio("appliesTo", "PRODUCT"))
		p.pick("#f-accessories", "earbuds", "earbuds")
		p.see("[data-line=accessory-earbuds]", "−€19.80")
		p.fill("#preview-units", "3")
		p.see("[data-line=accessory-earbuds]", "−€29.70")
		p.fill("#f-min", "5000")
		p.see("#preview-notes [data-of=minimum_purchase_not_met]", "needs a purchase of 5000.00 EUR")
		p.see("#preview-summary", "cannot be used")
		p.fill("#f-min", "")
		p.click(radio("discountType", "BUY_X_GET_Y"))
		p.see("#preview-notes [data-of=buyQuantity]", "Buy: a number from 1 to 1000000 is required")
		p.leave()
		p.click(rowOf("PLAIN") + " [data-action=edit]")
		p.see("#preview-summary", "The coupon takes €83.76 off.")
	})
}
