package browsertest_test

import (
	"fmt"
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// fault waits until a field shows an error.
func (p page) fault(field, text string) {
	p.t.Helper()
	p.see(fmt.Sprintf(`[data-field='%s'] .field-error`, field), text)
}

// leave closes the form and discards what was entered.
func (p page) leave() {
	p.t.Helper()
	p.click("#coupon-dialog .dialog-foot [data-close]")
	p.hold(`!document.querySelector("#coupon-dialog").open || document.querySelector("#discard-dialog").open`)
	var asked bool
	if p.eval(`document.querySelector("#discard-dialog").open`, &asked); asked {
		p.click("#confirm-discard")
	}
	p.gone("#coupon-dialog")
}

// Specification 2.1: fields are shown by scope and distribution.
func TestFieldsAreShownByScopeAndDistribution(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click("#new-coupon")
		p.visible("#f-code")
		p.hold(`document.querySelector("#f-max-per-user").value === "1"`)
		for _, row := range []struct {
			name, value string
			shown       string
		}{
			{"appliesTo", "ALL", ""},
			{"appliesTo", "SUBSCRIPTION", "planIds"},
			{"appliesTo", "PRODUCT", "deviceIds accessoryIds"},
			{"appliesTo", "SPECIFIC", "planIds deviceIds accessoryIds"},
			{"appliesTo", "ALL", ""},
			{"distribution", "POINTS_REDEEMABLE", "pointsRequired"},
			{"distribution", "USER_SPECIFIC", "allowedUserEmails"},
			{"distribution", "GENERAL", ""},
		} {
			p.click(radio(row.name, row.value))
			p.hold(fmt.Sprintf(`[...document.querySelectorAll("[data-scopes], [data-distributions]")].filter((each) => each.checkVisibility())
			.map((each) => each.dataset.field).join(" ") === %q`, row.shown))
		}
	})
}

// Amounts are in the coupon's currency, which is EUR unless it was made otherwise.
func TestTheFormNamesTheCouponsCurrency(t *testing.T) {
	onOneStore(t, func(w *world) {
		var draft coupon.Draft
		require.NoError(w.t, draft.UnmarshalJSON([]byte(
			`{"code":"YEN","name":"Yen","discountType":"FIXED_AMOUNT","discountValue":"500","currency":"JPY","minPurchase":"2000"}`)))
		_, err := w.Service.Create(w.t.Context(), draft)
		require.NoError(w.t, err)
		p := w.administer()
		p.click(rowOf("YEN") + " [data-action=edit]")
		p.see("#f-value-unit", "¥")
		p.see("#f-min-unit", "¥")
		p.see("[data-field=minPurchase] label", "Min Purchase (JPY)")
		p.leave()
		p.click("#new-coupon")
		p.see("#f-min-unit", "€")
		p.see("[data-field=minPurchase] label", "Min Purchase (EUR)")
	})
}

// A comma may be a decimal point, but neither 1,000 nor 1.000 is 1.
func TestThousandsAreNotTakenForDecimals(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("COMMA", "FIXED_AMOUNT", "")
		for _, amounts := range [][2]string{{"1,000", "12,000"}, {"1.000", "12.000"}, {"1.000.000", "1,000,000"}} {
			p.fill("#f-value", amounts[0])
			p.fill("#f-min", amounts[1])
			p.click("#save")
			p.fault("discountValue", "thousands separator")
			p.fault("minPurchase", "thousands separator")
			p.fill("#f-value", "10")
			p.fill("#f-min", "10.0051")
			p.click("#save")
			p.gone("[data-field=discountValue] .field-error")
			p.fault("minPurchase", "decimal")
		}
		p.fill("#f-value", "12,50")
		p.fill("#f-min", "20,5")
		p.finish("COMMA")
		c := w.coupon("COMMA")
		require.EqualValues(w.t, 12_50, c.Discount.Amount().Minor())
		require.Equal(w.t, []pricing.Money{pricing.NewMoney(20_50, c.Currency)}, c.Conditions.MinPurchase.Slice())
	})
}

// In a currency with three decimals 1.000 is an amount, and percentages have no thousands.
func TestThreeDecimalsAreNotTakenForThousands(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.create(coupon.Draft{Code: "DINAR", Name: "In dinars", Currency: "KWD", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "2"}})
		p := w.administer()
		p.click(rowOf("DINAR") + " [data-action=edit]")
		p.fill("#f-min", "1.000")
		p.finish("DINAR")
		c := w.coupon("DINAR")
		require.Equal(w.t, []pricing.Money{pricing.NewMoney(1_000, c.Currency)}, c.Conditions.MinPurchase.Slice())
		p.begin("EIGHTH", "PERCENTAGE", "12.500")
		p.finish("EIGHTH")
	})
}

// A coupon that is over before it begins is refused at its field. One that there is ends
// with its expiry.
func TestACouponIsNotMadeExpired(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("PAST", "PERCENTAGE", "10")
		p.eval(`document.querySelector("#f-expires").value = "2020-01-01"`, nil)
		p.click("#save")
		p.fault("expiresAt", "a new coupon expires after its creation")
		p.eval(`document.querySelector("#f-expires").value = ""`, nil)
		p.finish("PAST")
		p.click(rowOf("PAST") + " [data-action=edit]")
		p.visible("#f-expires")
		p.eval(`document.querySelector("#f-expires").value = "2020-01-01"`, nil)
		p.finish("PAST")
		p.see(rowOf("PAST"), "Expired 1 Jan 2020")
	})
}

// Specification 8: percentages above 100 are blocked while typing, and nothing is
// sent.
func TestPercentagesAboveAHundredAreBlocked(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("TOOMUCH", "PERCENTAGE", "100.5")
		p.fault("discountValue", "A percentage is at most 100.")
		p.click("#save")
		p.fault("discountValue", "A percentage is at most 100.")
		p.hold(`document.activeElement.id === "f-value"`)
		p.click(radio("discountType", "FIXED_AMOUNT"))
		p.gone("[data-field=discountValue] .field-error") // 100.50 EUR is fine
		p.click(radio("discountType", "PERCENTAGE"))
		p.fault("discountValue", "A percentage is at most 100.")
		p.fill("#f-value", "100")
		p.finish("TOOMUCH")
	})
}

// What is missing or malformed is said at its field, by the page where it is plain
// and by the server where only it knows.
func TestErrorsAreShownAtTheirFields(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click("#new-coupon")
		p.click("#save")
		p.fault("code", "Enter a code.")
		p.fault("name", "Enter a name.")
		p.fault("discountValue", "Enter a number greater than 0.")
		p.hold(`document.activeElement.id === "f-code"`)
		p.hold(`document.querySelector("#f-code").getAttribute("aria-describedby") === "error-f-code f-code-hint"`)

		p.fill("#f-code", "summer10") // is taken
		p.fill("#f-name", "Again")
		p.fill("#f-value", "5")
		p.click(radio("appliesTo", "SPECIFIC"))
		p.click(radio("distribution", "POINTS_REDEEMABLE"))
		p.fill("#f-max-uses", "0")
		p.fill("#f-min", "much")
		p.click("#save")
		p.fault("appliesTo", "Select at least one plan, device or accessory.")
		p.fault("pointsRequired", "Enter the number of points.")
		p.fault("maxUses", "at least 1")
		p.fault("minPurchase", "Enter an amount in EUR")

		p.click(radio("appliesTo", "ALL"))
		p.click(radio("distribution", "GENERAL"))
		p.fill("#f-max-uses", "")
		p.fill("#f-min", "1.0051") // the server's rule: at most the currency's decimals
		p.click("#save")
		p.visible("[data-field=minPurchase] .field-error")
		p.fill("#f-min", "")
		p.click("#save")
		p.fault("code", "A coupon with this code exists already.") // section 7, no. 9
		p.visible(`[data-field=code] .field-error a[href="/admin/coupons?search=SUMMER10"]`)
		p.fill("#f-code", "white space")
		p.click("#save")
		p.visible("[data-field=code] .field-error")
		p.fill("#f-code", "fine")
		p.finish("FINE")
	})
}

// Specification 2.1: addresses by comma or new line, each bad one is named.
func TestEachBadAddressIsNamed(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("LISTED", "PERCENTAGE", "10")
		p.click(radio("distribution", "USER_SPECIFIC"))
		p.click("#save")
		p.fault("allowedUserEmails", "Enter at least one e-mail address.")
		p.fill("#f-emails", "ann@example.org, nobody\nben@example.org\nno body@example.org,@example.org")
		p.click("#save")
		for _, bad := range []string{`"nobody"`, `"no body@example.org"`, `"@example.org"`} {
			p.fault("allowedUserEmails", bad)
		}
		p.fill("#f-emails", "ann@example.org\nben@example.org")
		p.finish("LISTED")
	})
}

// Of thousands of faults in one field the first ones are shown, and how many there are, at
// creation and in a change.
func TestThousandsOfFaultsStaySmall(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("CROWD", "PERCENTAGE", "10")
		p.click(radio("distribution", "USER_SPECIFIC"))
		const crowd = `document.querySelector("#f-emails").value = Array.from({ length: 3000 }, (_, i) => "nobody" + i).join("\n")`
		refused := func() {
			w.t.Helper()
			p.eval(crowd, nil)
			p.click("#save")
			p.fault("allowedUserEmails", `"nobody9"`)
			p.fault("allowedUserEmails", "and 2,990 more")
			p.hold(`document.querySelectorAll("[data-field=allowedUserEmails] .field-error li").length === 11`)
		}
		refused()
		p.fill("#f-emails", "ann@example.org")
		p.finish("CROWD")
		p.click(rowOf("CROWD") + " [data-action=edit]")
		p.hold(`document.querySelector("#f-emails").value === "ann@example.org"`)
		refused()
	})
}

// An item that the catalogue does not have any more is named at its list, together with the
// other faults.
func TestAnItemThatIsNotForSaleIsNamed(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.create(coupon.Draft{
			Code: "GONE", Name: "Gone", DiscountType: pricing.Percentage, Percent: "10",
			AppliesTo: coupon.Subscription, PlanIDs: []string{"retired", "plus"},
		})
		p := w.administer()
		p.click(rowOf("GONE") + " [data-action=edit]")
		p.click(`[data-field=planIds] .chip[data-value=plus] button`)
		p.fill("#f-min", "1.0051")
		p.click("#save")
		p.fault("planIds", "“retired”: the catalogue has no plan of this ID")
		p.fault("minPurchase", "decimal")
		p.fill("#f-min", "")
		p.click(`[data-field=planIds] .chip[data-value=retired] button`)
		p.finish("GONE")
		require.Empty(w.t, w.coupon("GONE").Scope.Plans.Slice())
	})
}

// A code is pasted with dashes that are none, and found with characters that nobody sees;
// the page leaves both to the service, which refuses to make a code of invisible characters.
func TestAPastedCodeIsReadByTheService(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("PAS\u00adTED", "PERCENTAGE", "10")
		p.click("#save")
		p.visible("[data-field=code] .field-error")
		p.fill("#f-code", "PASTED\u201310")
		p.click("#save")
		p.see(rowOf("PASTED-10"), "PASTED-10")
		for _, typed := range []string{"pas\u00adted-10", "\u200bPASTED\u221210\ufeff", "ｐａｓｔｅｄ-10", "ted\u201110"} {
			p.fill("#search", typed)
			p.firstRow("PASTED-10")
			p.see("#count", "1 coupon")
		}
	})
}

// The generator makes codes that nobody can guess.
func TestCodesAreGenerated(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("", "PERCENTAGE", "10")
		seen := map[string]bool{}
		for range 3 {
			before := ""
			p.eval(`document.querySelector("#f-code").value`, &before)
			p.click("#generate")
			p.hold(fmt.Sprintf(`document.querySelector("#f-code").value !== %q`, before))
			var code string
			p.eval(`document.querySelector("#f-code").value`, &code)
			if !regexp.MustCompile(`^[A-Z0-9]{12,}$`).MatchString(code) || seen[code] {
				w.t.Errorf("the code is %q, after %v", code, seen)
			}
			seen[code] = true
		}
		var code string
		p.eval(`document.querySelector("#f-code").value`, &code)
		p.finish(code)
	})
}

// Whatever closes the form asks first, unless nothing was entered.
func TestTheFormIsNotDiscardedUnasked(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for _, width := range []int64{1280, 390} {
			p.must(p.Resize(width, 800, 1))
			for name, open := range map[string]string{"new": "#new-coupon", "edit": rowOf("TENOFF") + " [data-action=edit]"} {
				p.click(open)
				p.visible("#f-name")
				p.press(kb.Escape)
				p.gone("#coupon-dialog")
				p.click(open)
				p.fill("#f-name", "Typed")
				for _, attempt := range []func(){
					func() { p.press(kb.Escape) },
					func() { p.click("#coupon-dialog .dialog-head [data-close]") },
					func() { p.click("#coupon-dialog .dialog-foot [data-close]") },
				} {
					attempt()
					p.see("#discard-dialog", "Discard your entries?")
					p.fits("the question of the form, " + name)
					p.press(kb.Escape) // which keeps the entries
					p.gone("#discard-dialog")
					p.press(kb.Escape) // and at once again
					p.see("#discard-dialog", "Discard your entries?")
					p.click("#discard-dialog [data-close]")
					p.gone("#discard-dialog")
					p.hold(`document.querySelector("#f-name").value === "Typed"`)
				}
				p.press(kb.Escape)
				p.accessible("the question of the form", allRules)
				p.click("#confirm-discard")
				p.gone("#coupon-dialog")
			}
		}
		p.click("#new-coupon")
		p.click(radio("appliesTo", "PRODUCT"))
		p.fill("#f-devices", "pho")
		p.visible("#f-devices-list")
		p.press(kb.Escape) // closes the list alone
		p.gone("#f-devices-list, #discard-dialog")
		p.visible("#coupon-dialog")
	})
}

// Nothing is wrong before something was typed, and an error goes once the value is right.
func TestErrorsOfTheFormComeAndGoWithTheValues(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click("#new-coupon")
		p.see("#preview-summary", "Enter a discount to see what the coupon takes off.")
		p.hold(`document.querySelectorAll("#coupon-dialog :is(.note, .field-error, [aria-invalid])").length === 0 || !document.querySelector("#coupon-dialog .note").checkVisibility()`)
		p.gone("#preview-notes")
		p.click("#save")
		p.fault("code", "Enter a code.")
		p.fault("name", "Enter a name.")
		p.fill("#f-code", "RIGHT")
		p.gone("[data-field=code] .field-error")
		p.fill("#f-name", "Right")
		p.gone("[data-field=name] .field-error")
		p.fill("#f-value", "200")
		p.fault("discountValue", "at most 100")
		p.fill("#f-value", "20")
		p.gone("[data-field=discountValue] .field-error")
		p.click(radio("appliesTo", "SPECIFIC"))
		p.click("#save")
		p.fault("appliesTo", "Select at least one")
		p.pick("#f-devices", "watch", "watch")
		p.gone("[data-field=appliesTo] .field-error")
		p.unfold("#f-budget\\[0\\]\\.amount")
		p.fill("[name='budget[0].amount']", "1.00005") // which only the server refuses
		p.click("#save")
		p.fault("budget[0].amount", "decimal")
		p.fill("[name='budget[0].amount']", "1.00006")
		p.fault("budget[0].amount", "decimal") // still
		p.fill("[name='budget[0].amount']", "1000")
		p.gone(".field-error, [aria-invalid]")
		p.finish("RIGHT")
		require.Equal(w.t, "1000.00", w.selected("RIGHT", object{"budget": nil})["budget"])
	})
}

// Terms that contradict each other are shown at all their fields, which name each other. The errors go
// when one of the fields is changed.
func TestAContradictionIsAtAllItsFields(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("APART", "FIXED_AMOUNT", "50")
		p.click(radio("appliesTo", "SPECIFIC"))
		p.pick("#f-devices", "watch", "watch")
		p.unfold("#f-excluded-items")
		p.pick("#f-excluded-items", "watch", "watch")
		p.unfold("[data-rows=budget]")
		p.fill("[name='budget[0].amount']", "10")
		p.click("#save")
		p.fault("deviceIds", "contradicts Except These Items: every selected item is excluded")
		p.fault("excludedItemIds", "contradicts Select Devices: every selected item is excluded")
		p.fault("discountValue", "contradicts Budget")
		p.fault("budget[0].amount", "contradicts Discount Value: the amount is above the budget")
		p.pick("#f-devices", "tab", "tablet")
		p.gone("[data-field=deviceIds] > .field-error, [data-field=excludedItemIds] > .field-error")
		p.fault("discountValue", "contradicts Budget")
		p.fill("[name='budget[0].amount']", "50")
		p.gone(".field-error, [aria-invalid]")
		p.finish("APART")
	})
}

// Conditions of the cart that contradict others are shown at their fields too, in the part that was folded.
func TestContradictionsOfTheCart(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("NEVER", "PERCENTAGE", "10")
		p.fill("#f-min", "20")
		p.fill("#f-max", "19,99")
		p.click("#save")
		p.fault("minPurchase", "contradicts Max Purchase (EUR): no purchase gets a discount")
		p.fault("maxPurchase", "contradicts Min Purchase (EUR): no purchase gets a discount")
		p.fill("#f-max", "20")
		p.gone(".field-error, [aria-invalid]")
		p.unfold("#f-contains-scope")
		p.choose("#f-contains-scope", "SUBSCRIPTION")
		p.choose("#f-contains-not-scope", "SUBSCRIPTION")
		p.click("#save")
		p.fault("contains", "contradicts Must not contain: everything that is required is excluded")
		p.fault("containsNot", "contradicts Must contain: everything that is required is excluded")
		p.choose("#f-contains-not-scope", "")
		p.gone(".field-error, [aria-invalid]")
		p.finish("NEVER")
	})
}

// A budget is an amount and a currency that customers pay in. It begins with the coupon's.
func TestABudgetIsAnAmountAndACurrency(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for i, width := range []int64{1280, 390} {
			code := fmt.Sprintf("MONEY%d", i)
			p.must(p.Resize(width, 800, 1))
			p.begin(code, "FIXED_AMOUNT", "5")
			p.choose("#f-currency", "GBP")
			p.unfold("[data-rows=budget]")
			const options = `[...document.querySelector("[name='budget[0].currency']").options].map((each) => each.value)`
			p.hold(options + `[0] === "EUR" && ["XXX", "CHE", "UYW", "BOV", "XAD"].every((each) => !` + options + `.includes(each)) && ["USD", "GBP", "CHF", "XOF", "UYU"].every((each) => ` + options + `.includes(each))`)
			p.hold(`document.querySelector("[name='budget[0].currency']").value === "GBP"`)
			p.fill("[name='budget[0].amount']", "1,000")
			p.click("[data-rows=budget] + [data-add-row]")
			p.entered(map[string]string{"budget[1].amount": "2000", "budget[1].currency": "GBP"})
			p.fits("a budget")
			p.click("#save")
			p.fault("budget[0].amount", "thousands separator")
			p.fault("budget[1].amount", "another amount in GBP")
			p.fill("[name='budget[0].amount']", "1000")
			p.entered(map[string]string{"budget[1].currency": "USD"})
			p.gone(".field-error")
			p.finish(code)
			require.Equal(w.t, object{"GBP": "1000.00", "USD": "2000.00"}, w.selected(code, object{"budget": nil})["budget"])
			p.click(rowOf(code) + " [data-action=edit]")
			p.hold(`document.querySelector("[name='budget[1].amount']").value === "2000.00"`)
			p.finish(code)
			require.EqualValues(w.t, 1, w.coupon(code).Revision, "nothing was changed")
		}
	})
}

// A coupon is duplicated without its code and its uses.
func TestACouponIsDuplicated(t *testing.T) {
	onOneStore(t, func(w *world) {
		var draft coupon.Draft
		require.NoError(w.t, draft.UnmarshalJSON([]byte(`{"code":"MODEL","name":"Model","discountType":"TIERED","tierBasis":"QUANTITY","tiers":[{"from":"2","percent":"5"},{"from":"5","amount":"20"}],
			"appliesTo":"PRODUCT","deviceIds":["watch"],"kinds":["device"],"excludedItemIds":["tablet"],"group":"spring","budget":{"EUR":"500","USD":"600"},"minPurchase":{"EUR":"18","USD":"20"},
			"maxUses":7,"maxUsesPerUser":null,"startsAt":"2026-01-01","expiresAt":"2090-12-31","customerTags":{"any":["customer"]},"firstOrder":true,
			"distribution":"USER_SPECIFIC","allowedUserEmails":["ann@example.org"],"periodLimits":[{"per":"COUPON","period":"DAY","timeZone":"UTC","maxUses":3}]}`)))
		w.create(draft)
		p := w.administer()
		for i, width := range []int64{1280, 390} {
			code := fmt.Sprintf("COPY%d", i)
			p.must(p.Resize(width, 800, 1))
			p.click(rowOf("MODEL") + " [data-action=duplicate]")
			p.see("#coupon-dialog-title", "New coupon like MODEL")
			p.focused("#f-code")
			p.hold(`document.querySelector("#f-code").value === "" && !document.querySelector("#f-code").disabled && document.querySelector("#f-name").value === "Model"`)
			p.see("#preview-summary", "The coupon takes")
			p.fill("#f-code", code)
			p.finish(code)
			want := terms(w.t, w.coupon("MODEL"))
			want["code"] = code
			if diff := cmp.Diff(want, terms(w.t, w.coupon(code))); diff != "" {
				w.t.Errorf("(-model +copy):\n%s", diff)
			}
		}
	})
}

// A price on the sample cart stands beside the list price.
func TestTheSampleCartShowsListPrices(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("LISTS", "PERCENTAGE", "10")
		p.see("[data-line=device-phone-s] s", "€698.00")
		p.see("[data-line=device-phone-s] .line-price", "€628.20")
	})
}

// A form that is closed leaves nothing behind.
func TestACancelledFormCreatesNothing(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("NEVER", "PERCENTAGE", "10")
		p.leave()
		p.gone("#coupon-dialog")
		p.click("#new-coupon")
		p.hold(`document.querySelector("#f-code").value === "" && document.querySelector("#f-value").value === ""`)
		list, err := w.Service.List(w.t.Context(), store.CouponList{Search: "NEVER"})
		require.NoError(w.t, err)
		if list.Total != 0 {
			w.t.Errorf("%d coupons were created", list.Total)
		}
	})
}

// Amounts are shown as the API sends them, also in currencies whose decimals browsers
// leave out.
func TestEachCurrencyIsShownWithItsDecimals(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.as(ada)
		for currency, amount := range map[string]string{"IQD": "1.575", "HUF": "99.50", "KWD": "1.575", "JPY": "500", "EUR": "0.90"} {
			value := coupon.Amounts{"": amount}
			id := w.create(coupon.Draft{
				Code: currency, Name: "In " + currency, Currency: currency, DiscountType: pricing.FixedAmount, Amount: value, MinPurchase: value,
			}).ID
			p.visit("/admin/coupons?search=" + currency)
			p.see(rowOf(currency)+" td:nth-child(3)", amount)
			p.visit("/admin/coupons/" + id)
			p.hold(fmt.Sprintf(`document.querySelector("#facts")?.innerText.split(%q).length === 3`, amount)) // discount and minimum
		}
	})
}

// A date of which a part is missing, or which no calendar has, is not taken for none:
// the coupon would never expire.
func TestAHalfTypedExpiryIsRefused(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("HALFDATE", "PERCENTAGE", "10")
		p.click("#f-expires")
		p.press("0231")
		p.hold(`document.querySelector("#f-expires").value === ""`)
		p.click("#save")
		p.fault("expiresAt", "Enter the whole date")
		p.eval(`document.querySelector("#f-expires").value = "2031-02-28"`, nil)
		p.finish("HALFDATE")
		require.Equal(w.t, "2031-03-01", w.coupon("HALFDATE").ExpiresAt.Format(time.DateOnly))
	})
}

// A number that the browser would round is not stored as another one.
func TestANumberThatIsTooLargeIsRefused(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("LARGE", "PERCENTAGE", "10")
		for field, selector := range map[string]string{"maxUses": "#f-max-uses", "maxUsesPerUser": "#f-max-per-user"} {
			p.fill(selector, "9007199254740993")
			p.click("#save")
			p.fault(field, "The number is too large.")
			p.fill(selector, "500")
		}
		p.fill("#f-max-uses", "9007199254740991")
		p.finish("LARGE")
		require.EqualValues(w.t, 9007199254740991, w.coupon("LARGE").Limits.MaxUses)
	})
}

// Limits that a browser would round are shown as they are, and stay so while something else
// is edited. Digits within a text are no numbers.
func TestLimitsBeyondABrowsersNumbersAreKept(t *testing.T) {
	onOneStore(t, func(w *world) {
		const total, each, description = 9_007_199_254_740_993, math.MaxInt64, `No. 12345678901234567890, "9007199254740993" \ 0.12345678901234567890`
		id := w.create(coupon.Draft{
			Code: "HUGE", Name: "Huge", Description: description, DiscountType: pricing.Percentage, Percent: "10",
			MaxUses: coupon.Set(total), MaxUsesPerUser: coupon.Set(each),
		}).ID
		p := w.administer()
		p.see(rowOf("HUGE"), "0 / 9,007,199,254,740,993")
		p.click(rowOf("HUGE") + " [data-action=edit]")
		p.hold(fmt.Sprintf(`["#f-max-uses", "#f-max-per-user", "#f-description"].map((each) => document.querySelector(each).value).join("|") === %q`,
			"9007199254740993|9223372036854775807|"+description))
		p.fill("#f-name", "Renamed")
		p.fill("#f-max-uses", "9007199254740995")
		p.click("#save")
		p.fault("maxUses", "The number is too large.")
		p.fill("#f-max-uses", "9007199254740993")
		p.finish("HUGE")
		p.see(rowOf("HUGE"), "Renamed")
		require.Equal(w.t, coupon.Limits{MaxUses: total, MaxUsesPerUser: each}, w.coupon("HUGE").Limits)

		p.visit("/admin/coupons/" + id)
		p.see("#facts", "0 of 9,007,199,254,740,993")
		p.see("#facts", "9,223,372,036,854,775,807")
	})
}

// An expiry that is an instant is not shown as a whole day. It stays what it is until the
// administrator chooses a day, which may be its own.
func TestAnExpiryWithinADayIsShownAndReplaced(t *testing.T) {
	onOneStore(t, func(w *world) {
		id := w.create(coupon.Draft{
			Code: "NOON", Name: "At noon", DiscountType: pricing.Percentage, Percent: "10",
			StartsAt: calendar.At(time.Date(2031, 2, 1, 6, 30, 0, 0, time.UTC)), ExpiresAt: calendar.At(time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC)),
		}).ID
		p := w.administer()
		p.must(p.Zone("Pacific/Auckland"))
		p.visit("/admin/coupons/" + id)
		p.see("#facts", "1 Feb 2031, 06:30 UTC")
		p.see("#facts", "1 Mar 2031, 12:00 UTC")
		p.visit("/admin/coupons")
		const instant, day = "Valid until 1 Mar 2031, 12:00 UTC.", "Valid through the end of this day, in UTC."
		edit := func(hint string) {
			w.t.Helper()
			cell := rowOf("NOON") + " td:nth-child(7)"
			p.see(cell, "1 Mar 2031")
			p.hold(fmt.Sprintf(`document.querySelector(%q).innerText.includes("12:00 UTC") === %t`, cell, hint == instant))
			p.click(rowOf("NOON") + " [data-action=edit]")
			p.see("#f-expires-hint", hint)
			p.hold(fmt.Sprintf(`document.querySelector("#f-expires-day").checkVisibility() === %t`, hint == instant))
		}
		stored := func(want string) {
			w.t.Helper()
			p.finish("NOON")
			p.gone("#coupon-dialog")
			require.Equal(w.t, want, w.coupon("NOON").ExpiresAt.Format(time.RFC3339))
			require.Equal(w.t, "2031-02-01T06:30:00Z", w.coupon("NOON").StartsAt.Format(time.RFC3339), "the start stays")
		}
		p.see(rowOf("NOON"), "06:30 UTC")
		edit(instant)
		p.fill("#f-name", "Renamed")
		stored("2031-03-01T12:00:00Z")

		edit(instant)
		p.click("#f-expires-day")
		p.see("#f-expires-hint", day)
		p.gone("#f-expires-day")
		p.focused("#f-expires")
		w.changedElsewhere("NOON", `{"expiresAt":"2031-03-01T13:00:00Z"}`)
		p.click("#save")
		p.see("#form-error", "Your entries are kept")
		p.see("#f-expires-hint", day)
		stored("2031-03-02T00:00:00Z")

		edit(day)
		p.leave()
		w.changedElsewhere("NOON", `{"expiresAt":"2031-03-01T12:00:00Z"}`)
		p.visit("/admin/coupons")
		edit(instant)
		p.eval(`document.querySelector("#f-expires").value = "2031-03-05"`, nil)
		p.eval(`document.querySelector("#f-expires").dispatchEvent(new Event("change", { bubbles: true }))`, nil)
		p.see("#f-expires-hint", day)
		stored("2031-03-06T00:00:00Z")
	})
}

// described is what an element is described by, as text.
const described = `(element) => (element.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.innerText ?? id).join(" / ")`

// Every hint belongs to its field for those who hear the form, also beside a fault and
// after it.
func TestEveryHintBelongsToItsField(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click("#new-coupon")
		p.visible("#f-code")
		hinted := `[...document.querySelectorAll("#coupon-form .hint")].filter((hint) =>
			!hint.closest("[data-field]").matches("[aria-describedby~=" + hint.id + "]") &&
			!hint.closest("[data-field]").querySelector("[aria-describedby~=" + hint.id + "]")).length === 0`
		p.hold(hinted)
		p.click("#save")
		p.fault("discountValue", "Enter a number")
		p.hold(hinted)
		p.hold(fmt.Sprintf(`(%s)(document.querySelector("#f-value")) === "Enter a number greater than 0. / More than 0, at most 100."`, described))
		p.fill("#f-value", "10")
		p.gone("[data-field=discountValue] .field-error")
		p.hold(fmt.Sprintf(`(%s)(document.querySelector("#f-value")) === "More than 0, at most 100."`, described))
		p.hold(hinted)
	})
}

// A fault of a choice is at the choice that was made, which the next key must not change.
func TestAFaultOfAChoiceIsAtWhatWasChosen(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.begin("CHOSEN", "PERCENTAGE", "10")
		p.click(radio("appliesTo", "SPECIFIC"))
		p.click("#save")
		p.fault("appliesTo", "Select at least one plan, device or accessory.")
		p.focused(radio("appliesTo", "SPECIFIC"))
		p.hold(fmt.Sprintf(`(%s)(document.activeElement) === "Select at least one plan, device or accessory."`, described))
		p.press(" ")
		p.visible("[data-field=planIds]")
		p.hold(`document.querySelector("[name=appliesTo]:checked").value === "SPECIFIC"`)
		p.click(radio("appliesTo", "ALL"))
		p.finish("CHOSEN")
		p.click("#new-coupon")
		p.hold(`document.querySelectorAll("#coupon-form [aria-invalid]").length === 0`)
	})
}
