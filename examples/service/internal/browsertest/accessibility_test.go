package browsertest_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// axe is axe-core; its licence lies beside it.
//
//go:embed testdata/axe/axe.min.js
var axe string

// violation is what axe-core reports.
type violation struct {
	ID     string
	Impact string
	Help   string
	Nodes  []string
}

const runAxe = `axe.run(document, %s).then((result) => result.violations.map((each) =>
	({ID: each.id, Impact: each.impact, Help: each.help, Nodes: each.nodes.map((node) => node.html + " " + node.failureSummary)})))`

// Which rules are looked at: all, or those that depend on colours.
const (
	allRules    = `{resultTypes: ["violations"]}`
	colourRules = `{resultTypes: ["violations"], runOnly: ["color-contrast", "link-in-text-block"]}`
)

// accessible fails the test for every violation that is serious or critical.
func (p page) accessible(where, rules string) {
	p.t.Helper()
	var there bool
	if p.eval(`typeof axe === "object"`, &there); !there {
		p.eval(axe+";undefined", nil)
	}
	var found []violation
	p.eval(fmt.Sprintf(runAxe, rules), &found)
	for _, v := range found {
		if v.Impact == "serious" || v.Impact == "critical" {
			p.t.Errorf("%s: %s (%s): %s\n  %s", where, v.ID, v.Impact, v.Help, strings.Join(v.Nodes, "\n  "))
		}
	}
}

// fits fails the test when the page is wider than the window.
func (p page) fits(where string) {
	p.t.Helper()
	p.hold(`document.readyState === "complete"`) // a click leads to a page that shows its text before its style
	var over float64
	p.eval(`document.documentElement.scrollWidth - innerWidth`, &over)
	if over > 0 {
		p.t.Errorf("%s is %v pixels too wide", where, over)
	}
}

// situation is a page in a state that has to be usable by everybody.
type situation struct {
	name  string
	user  string
	reach func(page)
}

func situations() []situation {
	return []situation{
		{"sign-in with an error", "", func(p page) {
			p.visit("/login")
			p.click("[type=submit]")
			p.visible(".field-error")
		}},
		{"plans", ann, func(p page) { p.visit("/plans"); p.visible("[data-item=plus]") }},
		{"plan checkout", ann, func(p page) {
			p.visit("/plans")
			p.click("[data-item=plus] button")
			p.visible("#checkout [data-total=total]")
			p.apply("PLAN20")
			p.visible(".line-discount")
		}},
		{"accessories", ann, func(p page) { p.visit("/accessories"); p.visible("[data-item=cable]") }},
		{"empty cart", ann, func(p page) {
			p.visit("/login")
			p.eval("localStorage.clear()", nil)
			p.visit("/cart")
			p.visible("#state")
		}},
		{"cart with a refused coupon", ann, func(p page) {
			p.fillCart(earbuds(), item{"device", "phone-x", 2})
			p.apply("POINTS25")
			p.visible("#exchange-points")
		}},
		{"cart with a coupon", ann, func(p page) {
			p.fillCart(earbuds(), item{"device", "phone-x", 2})
			p.apply("SUMMER10")
			p.visible(".line-discount")
		}},
		{"payment page", ann, func(p page) {
			p.fillCart(earbuds())
			p.apply("SUMMER10")
			p.applied("SUMMER10", "€9.90", "€89.10")
			p.toPayment("89.10 EUR")
			p.click("#decline")
			p.visible("[role=alert]")
		}},
		{"order", ann, func(p page) { p.pay() }},
		{"coupons", ada, func(p page) { p.visit("/admin/coupons"); p.visible("#rows tr[data-id]") }},
		{"nothing found", ada, func(p page) { p.visit("/admin/coupons?search=nothing%20like%20this"); p.visible("#state") }},
		{"coupon form with errors", ada, func(p page) {
			p.visit("/admin/coupons")
			p.click("#new-coupon")
			p.click("input[name=appliesTo][value=SPECIFIC]")
			p.click("input[name=distribution][value=USER_SPECIFIC]")
			p.fill("#f-devices", "phone")
			p.visible("#f-devices-list [data-value]")
			p.click("#save")
			p.visible(".field-error")
		}},
		{"delete dialog", ada, func(p page) {
			p.visit("/admin/coupons")
			p.click("tr[data-code=OLD] [data-action=delete]")
			p.visible("#delete-dialog")
		}},
		{"coupon form of a coupon", ada, func(p page) {
			p.visit("/admin/coupons")
			p.click(rowOf("VIP15") + " [data-action=edit]")
			p.visible("#f-emails")
		}},
		{"coupon form with every part open", ada, func(p page) {
			p.visit("/admin/coupons")
			p.click("#new-coupon")
			p.click(radio("discountType", "BUY_X_GET_Y"))
			p.choose("#f-buys-scope", "SPECIFIC")
			p.eval(`document.querySelectorAll("#coupon-form details").forEach((each) => { each.open = true; })`, nil)
			p.click(`[data-rows="schedule.hours"] + [data-add-row]`)
			p.click("[data-rows=periodLimits] + [data-add-row]")
			p.entered(map[string]string{"discountValue": "50", "buyQuantity": "1", "getQuantity": "1", "buys.appliesTo": "ALL", "minPurchase": "9000", "periodLimits[0].maxUses": "1", "periodLimits[0].per": "COUPON", "periodLimits[0].period": "DAY"})
			p.click(`[data-rows="schedule.hours"] .row [data-remove-row]`)
			p.visible("#preview-notes .note-danger")
		}},
		{"coupon form with tiers", ada, func(p page) {
			p.click(radio("discountType", "TIERED"))
			p.visible("[data-rows=tiers] .row")
			p.see("#preview-notes", "Tiers")
		}},
		{"campaign", ada, func(p page) {
			p.visit("/admin/coupons?search=vip15")
			p.click("#rows a[href^='/admin/coupons/']")
			p.click("#campaign")
			p.fill("#b-id", "mailing")
			p.fill("#b-count", "2")
			p.click("#generate")
			p.visible(batchRow("mailing"))
			p.click("#toasts .toast button")
			p.fill("#b-count", "0")
			p.click("#generate")
			p.visible("[data-field=count] .field-error")
		}},
		{"campaign with files", ada, func(p page) {
			p.click("#import-send")
			p.fill("#assign-id", "mailing")
			p.choosesFile("#assign-file", "email\nann@example.org\nnowhere\n")
			p.click("#assign-send")
			p.visible("#assign-rows tr")
			p.fill("#export-owner", "id:")
			p.click("#export-form [type=submit]")
			p.visible("[data-field=owner] .field-error")
		}},
		{"orders", ada, func(p page) { p.visit("/admin/orders"); p.visible("#orders a[href^='/admin/orders/']") }},
		{"order with a refund to be made", ada, func(p page) {
			p.click("#orders a[href^='/admin/orders/']")
			p.click("#show-all")
			p.visible("#refund-preview")
		}},
		{"order with refunds", ada, func(p page) {
			p.click("#refund")
			p.see("#refunds", "The payment processor has returned the money.")
		}},
		{"loading", ada, func(p page) {
			p.must(p.Hold("/admin/coupon/all"))
			p.visit("/admin/coupons")
			p.visible("#rows .skeleton")
		}},
		{"failed", ada, func(p page) {
			p.Release()
			p.must(p.Cut("/admin/coupon/all"))
			p.visit("/admin/coupons")
			p.see("#state", "could not be loaded")
			p.Release()
		}},
		{"cart with a notice", ann, func(p page) {
			p.visit("/cart?notice=other_account")
			p.see("#state", "The cart is empty")
			p.visible("#notice")
		}},
		{"error", "", func(p page) { p.visit("/nowhere"); p.see("h1", "There is no such page") }},
		{"description of the interface", "", func(p page) { p.visit("/docs") }},
		{"redemptions", ada, func(p page) {
			p.visit("/admin/coupons?search=summer10")
			p.click("tr[data-code=SUMMER10] .cell-code a")
			p.visible("#chart svg")
		}},
	}
}

// look is an appearance at a width.
type look struct {
	name  string
	width int64
	dark  bool
	rules string
}

// looks are those of the desk and of the phone, in light and dark. Each store's world
// is looked at in two of them, for the pages are the same: every rule at both widths,
// and the rules about colours in all four.
func looks(t *testing.T) []look {
	t.Helper()
	if strings.HasSuffix(t.Name(), "/postgres") {
		return []look{{"wide and dark", 1280, true, colourRules}, {"phone and light", 360, false, colourRules}}
	}
	return []look{{"wide and light", 1280, false, allRules}, {"phone and dark", 360, true, allRules}}
}

// Every page, in light and dark, at the width of a desk and of a phone.
func TestPagesAreUsableByEverybody(t *testing.T) {
	onEveryStore(t, func(w *world) {
		tabs := map[string]page{"": w.visitor(), ann: w.as(ann), ada: w.as(ada)}
		for _, s := range situations() {
			p := tabs[s.user]
			s.reach(p)
			for _, l := range looks(w.t) {
				p.must(p.Dark(l.dark))
				p.must(p.Resize(l.width, 800, 1))
				where := fmt.Sprintf("%s (%s)", s.name, l.name)
				p.accessible(where, l.rules)
				p.fits(where)
			}
			p.must(p.Resize(1280, 800, 1))
		}
	})
}

// poor lists texts whose contrast to what is behind them is below 4.5, also those of controls that are
// disabled, which axe-core leaves out.
const poor = `(() => {
	const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
	const over = ([r, g, b, a = 1], below) => [r, g, b].map((each, i) => each * a + below[i] * (1 - a));
	const behind = (element) => element === null ? [255, 255, 255] : over(parse(getComputedStyle(element).backgroundColor), behind(element.parentElement));
	const light = (colour) => colour.map((each) => each / 255).map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4).reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
	const clear = (element) => element === null ? 1 : Number(getComputedStyle(element).opacity) * clear(element.parentElement);
	const text = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "") || element.value;
	return [...document.querySelectorAll("body *")].filter((each) => each.checkVisibility() && text(each) && !each.matches("option, [type=radio], [type=checkbox], .visually-hidden, .visually-hidden *")).flatMap((each) => {
		const ground = behind(each), [r, g, b, a = 1] = parse(getComputedStyle(each).color);
		const lights = [light(over([r, g, b, a * clear(each)], ground)), light(ground)].sort((x, y) => y - x);
		const contrast = (lights[0] + 0.05) / (lights[1] + 0.05);
		return contrast < 4.5 ? [contrast.toFixed(2) + " " + each.outerHTML.slice(0, 120)] : [];
	});
})()`

// Whatever can be read has a contrast of 4.5, also while it is disabled or waits.
func TestDisabledControlsCanBeRead(t *testing.T) {
	onOneStore(t, func(w *world) {
		customer, administrator := w.as(ann), w.administer()
		legible := func(p page, where string) {
			w.t.Helper()
			for _, width := range []int64{1280, 390} {
				for _, dark := range []bool{false, true} {
					p.must(p.Resize(width, 800, 1))
					p.must(p.Dark(dark))
					var found []string
					p.eval(poor, &found)
					require.Empty(w.t, found, "%s, %d pixels wide, dark: %t", where, width, dark)
				}
			}
		}
		customer.fillCart(earbuds())
		customer.apply("SUMMER10")
		customer.applied("SUMMER10", "€9.90", "€89.10")
		legible(customer, "a cart")
		customer.must(customer.Hold("/payment/quote"))
		customer.eval(`document.querySelector('[data-focus^="One more"]').click()`, nil)
		customer.hold(`document.querySelector("#pay-now").disabled`)
		legible(customer, "a cart that waits for its price")
		customer.Release()
		legible(administrator, "the table")
		administrator.must(administrator.Resize(1280, 800, 1))
		administrator.click(rowOf("TENOFF") + " [data-action=edit]")
		administrator.hold(`document.querySelector("#f-code").disabled`)
		legible(administrator, "the form of a coupon")
	})
}

// The appearance can be chosen against the system's, and is remembered.
func TestTheAppearanceCanBeChosen(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.visitor()
		p.visit("/plans")
		p.visible("[data-item=plus]")
		var before, after string
		const ground = `getComputedStyle(document.body).backgroundColor`
		p.eval(ground, &before)
		p.click("#theme-toggle")
		p.hold(`document.querySelector("#theme-toggle").getAttribute("aria-pressed") === "true"`)
		p.eval(ground, &after)
		if before == after {
			w.t.Errorf("the ground stays %s", before)
		}
		p.visit("/accessories")
		p.hold(`document.documentElement.dataset.theme === "dark"`)
	})
}

// What is chosen looks otherwise than what is not, also in the colours of the system.
func TestChoicesAreSeenInForcedColours(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.must(p.Forced())
		p.hold(`matchMedia("(forced-colors: active)").matches`)
		differ := func(chosen, other string) {
			w.t.Helper()
			p.visible(chosen)
			var looks [2]string
			for i, selector := range []string{chosen, other} {
				p.eval(fmt.Sprintf(`(({ color, backgroundColor, borderTopColor, borderTopWidth }) =>
					[color, backgroundColor.replace(/rgba\((.*), 0\)/, "rgb($1)"), borderTopColor, borderTopWidth].join())(getComputedStyle(document.querySelector(%q)))`, selector), &looks[i])
			}
			if looks[0] == looks[1] {
				w.t.Errorf("%s and %s are both %s", chosen, other, looks[0])
			}
		}
		differ(".nav a[aria-current=page]", ".nav a:not([aria-current])")
		p.click("#new-coupon")
		p.click(radio("appliesTo", "PRODUCT"))
		differ(radio("appliesTo", "PRODUCT")+" + span", radio("appliesTo", "ALL")+" + span")
		p.click("#f-devices")
		p.visible("#f-devices-list [data-value=phone-s]")
		differ("#f-devices-list [aria-selected=true]", "#f-devices-list [aria-selected=false]")
	})
}

// A message is heard: its place is there, and seen, before its text comes into it.
func TestMessagesAreHeard(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		listen := func() {
			w.t.Helper()
			p.eval(`{
				window.heard = [];
				const places = new Set();
				new MutationObserver((changes) => {
					for (const { target } of changes) if (places.has(target.closest("[role=status], [role=alert]"))) heard.push(target.innerText);
					for (const place of document.querySelectorAll("[role=status], [role=alert]")) if (place.checkVisibility()) places.add(place);
				}).observe(document.body, { childList: true, subtree: true });
			}`, nil)
		}
		listen()
		p.click(rowOf("OLD") + " [data-action=delete]")
		p.click("#confirm-delete")
		p.see("#toasts", "OLD was deleted.")
		p.hold(`heard.some((text) => text.includes("OLD was deleted."))`)
		p.must(p.Cut("/admin/coupon/"))
		p.click(rowOf("SUMMER10") + " [data-action=toggle]")
		p.hold(`heard.some((text) => text.includes("SUMMER10 may be active or inactive."))`)
		p.Release()
		p.visit("/accessories")
		p.visible("[data-item=watch]")
		listen()
		p.click("[data-item=watch] [data-action=add]")
		p.hold(`heard.some((text) => text.includes("Watch is in the cart."))`)
	})
}

// A code or a name as long as it may be, without a space, breaks no page: nothing is
// beside the window, and no button is out of reach.
func TestLongWordsFit(t *testing.T) {
	onOneStore(t, func(w *world) {
		code, name := strings.Repeat("W", coupon.MaxCodeLength), strings.Repeat("Ж", coupon.MaxNameLength)
		id := w.create(coupon.Draft{
			Code: code, Name: name, Description: strings.Repeat("Щ", coupon.MaxDescriptionLength),
			DiscountType: pricing.Percentage, Percent: "10",
		}).ID
		p := w.as(ann)
		p.must(p.Resize(360, 800, 1))
		p.fillCart(earbuds())
		p.apply(code)
		p.applied(code, "€9.90", "€89.10")
		p.fits("the cart")
		p.toPayment("89.10 EUR")
		p.fits("the payment page")
		p.pay()
		p.fits("the order")

		p = w.as(ada)
		row := rowOf(code)
		for _, width := range []int64{360, 1280} {
			p.must(p.Resize(width, 800, 1))
			p.visit("/admin/coupons/" + id)
			p.visible("#chart svg")
			p.fits("the coupon")
			p.visit("/admin/coupons")
			p.visible(row)
			p.fits("the table")
			p.click(row + " [data-action=edit]")
			p.click("#coupon-dialog .dialog-head [data-close]")
			p.gone("#coupon-dialog")
			p.click(row + " [data-action=delete]")
			p.hold(`(({scrollWidth, clientWidth}) => clientWidth > 0 && scrollWidth <= clientWidth)(document.querySelector("#delete-dialog .dialog-body"))`)
			p.click("#delete-dialog [data-close]")
			p.gone("#delete-dialog")
			p.click(row + " [data-action=edit]")
			p.fill("#f-description", "short")
			p.click("#save")
			p.click("#toasts .toast button")
			p.gone("#toasts .toast")
		}
	})
}
