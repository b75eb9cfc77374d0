package browsertest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
)

func radio(name, value string) string { return fmt.Sprintf(`input[name=%s][value=%s]`, name, value) }
func rowOf(code string) string        { return fmt.Sprintf(`tr[data-code=%q]`, code) }

// administer opens the table of coupons.
func (w *world) administer() page {
	w.t.Helper()
	p := w.as(ada)
	p.visit("/admin/coupons")
	p.visible("#rows tr[data-id]")
	return p
}

// pick searches an item in a picker and chooses it by keyboard.
func (p page) pick(selector, text, id string) {
	p.t.Helper()
	p.fill(selector, text)
	p.hold(fmt.Sprintf(`document.querySelector(%q)?.getAttribute("data-value") === %q && document.querySelectorAll(%q).length === 1`,
		selector+"-list [aria-selected=true]", id, selector+"-list [data-value]"))
	p.press(kb.Enter)
	p.visible(fmt.Sprintf(`.chip[data-value=%q]`, id))
}

// begin opens the form and fills what every coupon needs.
func (p page) begin(code, discountType, value string) {
	p.t.Helper()
	p.click("#new-coupon")
	p.fill("#f-code", code)
	p.fill("#f-name", "Name of "+code)
	p.click(radio("discountType", discountType))
	p.fill("#f-value", value)
}

// finish sends the form and waits for the table to show the coupon.
func (p page) finish(code string) {
	p.t.Helper()
	p.click("#save")
	p.gone("#coupon-dialog")
	p.visible(rowOf(code))
}

// terms are the fields of a coupon that an administrator sets, by their JSON names.
func terms(t *testing.T, c coupon.Coupon) map[string]any {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	for _, name := range []string{"id", "processorCouponId", "promotionCodeId", "createdAt", "updatedAt", "revision", "usedCount", "reservedCount"} {
		delete(fields, name)
	}
	return fields
}

// Specification 2.1 to 2.3: one coupon of each kind, as the form makes it.
func TestEachKindOfCouponIsCreated(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for _, kind := range []struct {
			code, discountType, value string
			fill                      func()
			shown                     string
			want                      map[string]any
		}{
			{"ALL15", "PERCENTAGE", "15", func() {}, "15 %", map[string]any{"discountValue": "15"}},
			{"FIXED", "FIXED_AMOUNT", "7,50", func() {
				p.fill("#f-description", "With every limit")
				p.fill("#f-max-uses", "100")
				p.fill("#f-max-per-user", "")
				p.fill("#f-min", "20")
				p.eval(`document.querySelector("#f-expires").value = "2031-12-31"`, nil)
			}, "€7.50", map[string]any{
				"discountType": "FIXED_AMOUNT", "discountValue": "7.50", "description": "With every limit", "maxUses": 100.0,
				"maxUsesPerUser": nil, "minPurchase": "20.00", "expiresAt": "2032-01-01T00:00:00Z",
			}},
			{"PLANSONLY", "PERCENTAGE", "12.5", func() {
				p.click(radio("appliesTo", "SUBSCRIPTION"))
				p.pick("#f-plans", "family", "family")
				p.gone("[data-field=deviceIds]")
			}, "Subscriptions", map[string]any{"discountValue": "12.5", "appliesTo": "SUBSCRIPTION", "planIds": []any{"family"}}},
			{"PRODUCTS", "PERCENTAGE", "20", func() {
				p.click(radio("appliesTo", "PRODUCT"))
				p.pick("#f-devices", "phone s", "phone-s")
				p.pick("#f-devices", "tab", "tablet")
				p.pick("#f-accessories", "cable", "cable")
				p.click(`.chip[data-value=tablet] button`)
				p.gone("[data-field=planIds]")
			}, "2 selected", map[string]any{"discountValue": "20", "appliesTo": "PRODUCT", "deviceIds": []any{"phone-s"}, "accessoryIds": []any{"cable"}}},
			{"SPECIALS", "PERCENTAGE", "30", func() {
				p.click(radio("appliesTo", "SPECIFIC"))
				p.pick("#f-plans", "basic", "basic")
				p.pick("#f-accessories", "case", "case")
			}, "Specific items", map[string]any{"discountValue": "30", "appliesTo": "SPECIFIC", "planIds": []any{"basic"}, "accessoryIds": []any{"case"}}},
			{"LOYAL", "PERCENTAGE", "25", func() {
				p.click(radio("distribution", "POINTS_REDEEMABLE"))
				p.fill("#f-points", "750")
			}, "750", map[string]any{"discountValue": "25", "distribution": "POINTS_REDEEMABLE", "pointsRequired": 750.0}},
			{"FRIENDS", "PERCENTAGE", "5", func() {
				p.click(radio("distribution", "USER_SPECIFIC"))
				p.fill("#f-emails", "Ann@Example.org, ben@example.org\nCleo <cleo@example.org>; *@Example.com\tdora@example.org")
			}, "Listed customers", map[string]any{
				"discountValue": "5", "distribution": "USER_SPECIFIC",
				"allowedUserEmails": []any{"ann@example.org", "ben@example.org", "cleo@example.org", "*@example.com", "dora@example.org"},
			}},
		} {
			p.begin(kind.code, kind.discountType, kind.value)
			kind.fill()
			p.finish(kind.code)
			p.see(rowOf(kind.code), kind.shown)
			want := map[string]any{
				"code": kind.code, "name": "Name of " + kind.code, "discountType": "PERCENTAGE", "currency": "EUR", "description": "",
				"appliesTo": "ALL", "planIds": []any{}, "deviceIds": []any{}, "accessoryIds": []any{}, "distribution": "GENERAL",
				"allowedUserEmails": []any{}, "pointsRequired": nil, "maxUses": nil, "maxUsesPerUser": 1.0, "minPurchase": nil,
				"refundPolicy": "keep", "startsAt": nil, "expiresAt": nil, "active": true,
			}
			maps.Copy(want, kind.want)
			if diff := cmp.Diff(want, terms(w.t, w.coupon(kind.code))); diff != "" {
				w.t.Errorf("%s (-want +got):\n%s", kind.code, diff)
			}
		}
	})
}

// Specification 4.3: what can be edited is edited and saved, and code, type and
// value are locked.
func TestACouponIsEdited(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click(rowOf("VIP15") + " [data-action=edit]")
		p.hold(`document.querySelector("#f-emails").value === "ann@example.org\nben@example.org"`)
		for _, locked := range []string{"#f-code", "#f-value", radio("discountType", "PERCENTAGE"), radio("discountType", "FIXED_AMOUNT")} {
			p.hold(fmt.Sprintf(`document.querySelector(%q).disabled`, locked))
		}
		p.gone("#generate")
		p.fill("#f-name", "For members")
		p.click(radio("appliesTo", "PRODUCT"))
		p.pick("#f-devices", "watch", "watch")
		p.click(radio("distribution", "GENERAL"))
		p.fill("#f-max-uses", "50")
		p.fill("#f-max-per-user", "")
		p.fill("#f-min", "30.5")
		p.click("#save")
		p.gone("#coupon-dialog")
		p.see(rowOf("VIP15"), "For members")
		p.see(rowOf("VIP15"), "0 / 50")
		got := w.coupon("VIP15")
		if got.Name != "For members" || got.Scope.AppliesTo != coupon.Product || got.Distribution != coupon.General ||
			got.AllowedUserEmails.Len() != 0 || got.Limits.MaxUses != 50 || got.Limits.MaxUsesPerUser != 0 || !got.Conditions.MinPurchase.Equal(coupon.NewMoneySet(pricing.NewMoney(30_50, pricing.EUR()))) {
			w.t.Errorf("the coupon is %+v", got)
		}
		if got.Revision != 2 {
			w.t.Errorf("the revision is %d", got.Revision)
		}
	})
}

// changedElsewhere lets another administrator change a coupon.
func (w *world) changedElsewhere(code, patch string) {
	w.t.Helper()
	var change coupon.Patch
	require.NoError(w.t, change.UnmarshalJSON([]byte(patch)))
	_, err := w.Service.Update(w.t.Context(), w.coupon(code).ID, change)
	require.NoError(w.t, err)
}

// A revision that somebody else has changed is not overwritten, and what was typed is not
// lost: it is saved on top of that change as soon as the administrator knows of it.
func TestAStaleEditIsRefusedAndRecovered(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click(rowOf("SUMMER10") + " [data-action=edit]")
		p.visible("#f-name")
		w.changedElsewhere("SUMMER10", `{"name":"Somebody else's","maxUses":77,"appliesTo":"SUBSCRIPTION","planIds":["family"],"expiresAt":"2031-12-31"}`)
		p.fill("#f-description", "Mine")
		p.fill("#f-min", "12,50")
		p.click(radio("appliesTo", "PRODUCT"))
		p.pick("#f-devices", "watch", "watch")
		p.click("#save")
		p.see("#form-error", "changed by somebody else")
		p.see("#form-error", "Save again")
		if got := w.coupon("SUMMER10"); got.Description == "Mine" {
			w.t.Errorf("the coupon is %+v", got)
		}
		p.hold(`["#f-name", "#f-max-uses", "#f-expires", "#f-description", "#f-min"].map((each) => document.querySelector(each).value).join("|") ===
			"Somebody else's|77|2031-12-31|Mine|12,50"`)
		p.visible(`.chip[data-value=watch]`)
		p.finish("SUMMER10")
		got := terms(w.t, w.coupon("SUMMER10"))
		want := maps.Clone(got)
		maps.Copy(want, map[string]any{
			"name": "Somebody else's", "maxUses": 77.0, "expiresAt": "2032-01-01T00:00:00Z",
			"description": "Mine", "minPurchase": "12.50", "appliesTo": "PRODUCT", "planIds": []any{}, "deviceIds": []any{"watch"},
		})
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Errorf("the coupon (-want +got):\n%s", diff)
		}
	})
}

// What belongs to a scope or a distribution is kept with it.
func TestAStaleEditKeepsWhatBelongsTogether(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click(rowOf("VIP15") + " [data-action=edit]")
		p.hold(`document.querySelector("#f-emails").value === "ann@example.org\nben@example.org"`)
		w.changedElsewhere("VIP15", `{"distribution":"GENERAL","allowedUserEmails":[]}`)
		p.fill("#f-emails", "cleo@example.org")
		p.click("#save")
		p.see("#form-error", "Your entries are kept")
		p.visible("#f-emails")
		p.finish("VIP15")
		got := w.coupon("VIP15")
		if got.Distribution != coupon.UserSpecific || got.AllowedUserEmails.Len() != 1 {
			w.t.Errorf("the coupon is %+v", got)
		}
	})
}

// A coupon that cannot be had at that moment, or any more, says so in the form.
func TestAStaleEditOfADeletedCouponSaysSo(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click(rowOf("SUMMER10") + " [data-action=edit]")
		p.fill("#f-name", "Mine")
		id := w.coupon("SUMMER10").ID
		w.changedElsewhere("SUMMER10", `{"name":"Somebody else's"}`)
		p.eval(fmt.Sprintf(`{ const real = fetch; fetch = (path, init) => real(path === "/admin/coupon/%s" && init.method === "GET" ? "/admin/coupon/none" : path, init) }`, id), nil)
		p.click("#save")
		p.see("#form-error", "does not exist")
		p.hold(`document.querySelector("#f-name").value === "Mine"`)
		p.hold(`document.querySelector("#save").getAttribute("aria-disabled") === "false"`)
	})
}

// Specification 3.1: the list is patched at once and rolled back when the API fails.
func TestTheStatusIsToggledAndRolledBack(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		toggle := rowOf("SUMMER10") + " [data-action=toggle]"
		shows := func(active bool) {
			w.t.Helper()
			p.hold(fmt.Sprintf(`document.querySelector(%q)?.getAttribute("aria-checked") === "%t"`, toggle, active))
		}
		shows(true)
		p.click(toggle)
		shows(false)
		p.hold(fmt.Sprintf(`!document.querySelector(%q).disabled`, toggle))
		if w.coupon("SUMMER10").Active() {
			w.t.Error("the coupon is still active")
		}

		asked, answer := make(chan struct{}), make(chan struct{})
		processor := w.Simulator.Fake()
		processor.Inject(fakeprocessor.Fault{Op: fakeprocessor.SetMirrorActive, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) {
			close(asked)
			<-answer
		}})
		processor.Inject(fakeprocessor.Fault{Op: fakeprocessor.SetMirrorActive, Kind: fakeprocessor.LostBefore, Times: -1})
		p.click(toggle)
		<-asked
		shows(true) // at once, while the API has not answered
		close(answer)
		shows(false)
		p.see("#toasts", "SUMMER10 is still inactive.")
		p.see("#toasts", "The payment processor does not answer at the moment.")
		processor.Heal()
		if w.coupon("SUMMER10").Active() {
			w.t.Error("the coupon is active, which the page does not show")
		}
		p.click(toggle)
		shows(true)
		p.hold(fmt.Sprintf(`!document.querySelector(%q).disabled`, toggle))
		if !w.coupon("SUMMER10").Active() {
			w.t.Error("the coupon is not active")
		}
	})
}

// Specification 3.1: delete, with a confirmation that can be declined.
func TestACouponIsDeleted(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click(rowOf("OLD") + " [data-action=delete]")
		p.see("#delete-text", "OLD (Over) stops working at once.")
		p.click("#delete-dialog [data-close]")
		p.visible(rowOf("OLD"))
		p.click(rowOf("OLD") + " [data-action=delete]")
		p.click("#confirm-delete")
		p.gone(rowOf("OLD"))
		p.see("#toasts", "OLD was deleted.")
		list, err := w.Service.List(w.t.Context(), store.CouponList{Search: "OLD", PageSize: store.MaxPageSize})
		require.NoError(w.t, err)
		for _, c := range list.Items {
			if c.Code.String() == "OLD" {
				w.t.Error("the coupon is still there")
			}
		}
	})
}

// Issue: the per-coupon view shows who used it, how, and a chart.
func TestRedemptionsAreShown(t *testing.T) {
	onOneStore(t, func(w *world) {
		w.buy(ann, "SUMMER10")
		w.buy(ben, "SUMMER10")
		p := w.administer()
		p.see(rowOf("SUMMER10"), "2 / 1,000")
		p.hold(fmt.Sprintf(`(({value, max}) => value === 2 && max === 1000)(document.querySelector(%q))`, rowOf("SUMMER10")+" progress"))
		p.hold(`[...document.querySelectorAll("#coupons th")].map((each) => each.innerText.trim()).join() === "Code,Name,Discount,Scope,Usage,Points,Expiry,Status,Actions"`)
		p.click(rowOf("SUMMER10") + " .cell-code a")
		p.see("#facts", "2 of 1,000")
		p.see("#redemptions-count", "2 redemptions")
		p.see("#redemptions-rows tr:first-child", "ben@example.org")
		p.see("#redemptions-rows tr:last-child", "ann@example.org")
		p.hold(`document.querySelector("#chart svg").getAttribute("aria-label") === "2 uses in 30 days"`)
		p.hold(`document.querySelector("#chart g:last-of-type title").textContent.includes("2 completed, 0 reserved")`)
		p.visit("/admin/coupons?search=paused")
		p.click(rowOf("PAUSED") + " .cell-code a")
		p.visible("#redemptions-empty")
	})
}

// A customer whose account has gone is named by their ID.
func TestARedemptionWithoutAnAddressNamesTheCustomer(t *testing.T) {
	onOneStore(t, func(w *world) {
		p, id := w.as(ada), w.coupon("SUMMER10").ID
		p.must(p.Answer("/admin/coupon/"+id+"/redemptions", `{"items":[{"id":"use_1","customerId":"usr_gone","customerEmail":"",`+
			`"state":"completed","origin":"checkout","createdAt":"2026-11-20T12:00:00Z"}],"total":1}`))
		p.visit("/admin/coupons/" + id)
		p.see("#redemptions-rows tr:first-child", "usr_gone")
	})
}

// What is listed is what was searched before: Enter waits for the answer.
func TestEnterChoosesNothingThatWasNotTyped(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click("#new-coupon")
		p.click(radio("appliesTo", "SPECIFIC"))
		p.click("#f-devices")
		p.visible("#f-devices-list [data-value=phone-s]")
		p.must(p.Hold("/admin/catalog/search"))
		p.press("watch")
		p.press(kb.Enter)
		p.Release()
		p.hold(`document.querySelector("#f-devices-list [aria-selected=true]")?.getAttribute("data-value") === "watch"`)
		p.gone(".chip[data-value]")
		p.press(kb.Enter)
		p.visible(".chip[data-value=watch]")
	})
}

// manyCoupons makes coupons BULK01, BULK02 and so on.
func (w *world) manyCoupons(count int) {
	w.t.Helper()
	for i := range count {
		w.create(coupon.Draft{
			Code: fmt.Sprintf("BULK%02d", i+1), Name: "Bulk", Description: fmt.Sprintf("needle-%02d 100%%_", i+1),
			DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": strconv.Itoa(i + 1)},
		})
	}
}

// editBesideASwitch opens the form of a coupon while a switch of it is under way, which fails
// once answer is closed.
func (w *world) editBesideASwitch(p page) (answer chan<- struct{}) {
	w.t.Helper()
	asked, answered := make(chan struct{}), make(chan struct{})
	processor := w.Simulator.Fake()
	processor.Inject(fakeprocessor.Fault{Op: fakeprocessor.SetMirrorActive, Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) {
		close(asked)
		<-answered
	}})
	processor.Inject(fakeprocessor.Fault{Op: fakeprocessor.SetMirrorActive, Kind: fakeprocessor.LostBefore, Times: -1})
	p.click(rowOf("SUMMER10") + " [data-action=toggle]")
	<-asked
	p.click(rowOf("SUMMER10") + " [data-action=edit]")
	return answered
}

// What was edited while a switch waited for the processor stays in the table when the
// switch fails, with the status that is stored.
func TestASwitchThatFailsKeepsWhatWasEdited(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		answer := w.editBesideASwitch(p)
		p.fill("#f-name", "Edited meanwhile")
		p.click("#save")
		p.gone("#coupon-dialog")
		p.see(rowOf("SUMMER10"), "Edited meanwhile")
		close(answer)
		p.see("#toasts", "The payment processor does not answer at the moment.")
		p.see(rowOf("SUMMER10"), "Edited meanwhile")
		stored := w.coupon("SUMMER10")
		require.Equal(w.t, "Edited meanwhile", stored.Name)
		p.hold(fmt.Sprintf(`document.querySelector(%q).getAttribute("aria-checked") === "%t"`, rowOf("SUMMER10")+" [data-action=toggle]", stored.Active()))
	})
}

// A form that was opened while a switch was under way shows what it was about to be. Saving
// nothing shows what the coupon is; and the message above the form can be reached.
func TestSavingNothingShowsWhatIsStored(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		answer := w.editBesideASwitch(p)
		p.visible("#save")
		close(answer)
		p.see("#toasts", "The payment processor does not answer at the moment.")
		p.hold(`(() => {
			const { x, y, width, height } = document.querySelector("#toasts button").getBoundingClientRect();
			return Boolean(document.elementFromPoint(x + width / 2, y + height / 2)?.closest("#toasts button"));
		})()`)
		p.click("#save")
		p.gone("#coupon-dialog")
		p.see("#toasts", "The payment processor does not answer at the moment.")
		require.True(w.t, w.coupon("SUMMER10").Active())
		p.hold(fmt.Sprintf(`document.querySelector(%q).getAttribute("aria-checked") === "true"`, rowOf("SUMMER10")+" [data-action=toggle]"))
	})
}

// A coupon whose deletion has begun cannot be used any more, which the table shows at
// once, and it can be deleted to the end.
func TestADeletionThatFailsIsShownAndFinished(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		processor, toggle := w.Simulator.Fake(), rowOf("SUMMER10")+" [data-action=toggle]"
		processor.Inject(fakeprocessor.Fault{Op: fakeprocessor.RemoveMirror, Kind: fakeprocessor.LostBefore, Times: -1})
		p.click(rowOf("SUMMER10") + " [data-action=delete]")
		p.click("#confirm-delete")
		p.see("#toasts", "SUMMER10 was not deleted. The payment processor does not answer at the moment.")
		p.hold(fmt.Sprintf(`document.querySelector(%q)?.getAttribute("aria-checked") === "false"`, toggle))
		for _, action := range []string{"toggle", "edit"} {
			p.eval(`document.querySelectorAll("#toasts .toast button").forEach((each) => each.click())`, nil)
			p.click(rowOf("SUMMER10") + " [data-action=" + action + "]")
			p.see("#toasts", "SUMMER10 is being deleted.")
		}
		processor.Heal()
		p.click(rowOf("SUMMER10") + " [data-action=delete]")
		p.click("#confirm-delete")
		p.see("#toasts", "SUMMER10 was deleted.")
		p.gone(rowOf("SUMMER10"))
	})
}
