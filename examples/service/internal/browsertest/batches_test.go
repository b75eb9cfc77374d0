package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// inMemory runs a test in a world that keeps many codes fast.
func inMemory(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	test(newWorld(t, stores[0], func(c *app.Config) { c.Store = app.Memory }))
}

// batchRow is the row of a batch.
func batchRow(id string) string { return fmt.Sprintf("[data-batch=%q]", id) }

// counts requires the counts of a batch: codes, assigned, used, reserved and inactive.
func (p page) counts(id string, want ...string) {
	p.t.Helper()
	for i, label := range []string{"Codes", "Assigned", "Used", "Reserved", "Inactive"} {
		selector := fmt.Sprintf("%s [data-label=%s]", batchRow(id), label)
		p.hold(fmt.Sprintf(`document.querySelector(%q)?.innerText.split("\n").includes(%q)`, selector, want[i]))
	}
}

// An administrator generates codes part by part, switches them, finds one and removes the unused ones, on a desk and on a
// phone.
func TestACampaign(t *testing.T) {
	inMemory(t, func(w *world) {
		w.create(coupon.Draft{Code: "SPRING", Name: "Spring", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"}})
		id := w.coupon("SPRING").ID
		p := w.as(ada)
		p.visit("/admin/coupons/" + id)
		p.hold(`document.querySelector("#customers-link")?.href === location.origin + "/cart?coupon=SPRING"`)
		p.click("#duplicate")
		p.see("#coupon-dialog-title", "New coupon like SPRING")
		p.address("/admin/coupons")
		p.visit("/admin/coupons?duplicate=cpn_none")
		p.see("#toasts", "does not exist")
		p.visit("/admin/coupons/" + id)
		p.click("#campaign")
		p.see("#batches-empty", "No batches yet")
		for _, screen := range []struct {
			width int64
			batch string
		}{{1280, "mailing"}, {390, `<b>"x"</b> & ../`}} {
			p.must(p.Resize(screen.width, 900, 1))
			p.fits("a campaign")
			p.fill("#b-id", screen.batch)
			p.fill("#b-count", "0")
			p.click("#generate")
			p.see("[data-field=count] .field-error", "1 to 10000000 codes")
			p.hold(`document.activeElement.id === "b-count"`)
			p.fill("#b-count", "3")
			p.fill("#b-prefix", "mail")
			p.click("#generate")
			p.counts(screen.batch, "3", "0", "0", "0", "0")
			p.hold(`document.querySelector("#progress-section").hidden && document.querySelector("#b-id").value === ""`)

			page, err := w.Service.ListCodes(t.Context(), store.CodeList{CouponID: id, Batch: screen.batch, PageSize: 1})
			require.NoError(t, err)
			code := page.Items[0].Key.String()
			p.fill("#find", "none")
			p.click("#find-form button")
			p.see("#not-found", "no such code")
			p.fill("#find", code)
			p.click("#find-form button")
			p.see("#found-rows", code)
			p.see("#found-rows", screen.batch)
			p.fits("a campaign with a code")

			var rows int
			p.eval(fmt.Sprintf(`fetch(document.querySelector(%q).href).then(async (r) => (await r.text()).trim().split("\n").length - 1)`, batchRow(screen.batch)+" a"), &rows)
			require.Equal(t, 3, rows)
			p.click(batchRow(screen.batch) + " [data-action=off]")
			p.counts(screen.batch, "3", "0", "0", "0", "3")
			p.click(batchRow(screen.batch) + " [data-action=on]")
			p.counts(screen.batch, "3", "0", "0", "0", "0")
			p.click(batchRow(screen.batch) + " [data-action=remove]")
			p.see("#remove-text", screen.batch)
			p.click("#remove-dialog [data-close]")
			p.gone("#remove-dialog")
			p.counts(screen.batch, "3", "0", "0", "0", "0")
			p.click(batchRow(screen.batch) + " [data-action=remove]")
			p.click("#confirm-remove")
			p.counts(screen.batch, "0", "0", "0", "0", "0")
			p.hold(`document.querySelectorAll("main b").length === 0`)
		}
	})
}

// A large batch is generated part by part, with its progress. It can be stopped, and goes on after that and after a failure
// of the network: the same values add the missing codes.
func TestALargeBatchIsGeneratedInParts(t *testing.T) {
	inMemory(t, func(w *world) {
		path := w.detail("SUMMER10") + "/batches"
		p := w.as(ada)
		p.visit(path)
		p.visible("#batches-empty")
		p.eval(`window.parts = []; new MutationObserver(() => {
			parts.push(document.querySelector("#progress").value);
			if (parts.length === 1) document.querySelector("#stop").click();
		}).observe(document.querySelector("#progress-text"), { childList: true })`, nil)
		p.fill("#b-id", "mailing")
		p.fill("#b-count", "60000")
		p.click("#generate")
		p.see("#toasts", "Generate again to add the others.")
		p.see(batchRow("mailing"), "missing")
		p.hold(`document.querySelector("#b-id").value === "mailing"`)
		p.must(p.Cut("/admin/coupon/" + w.coupon("SUMMER10").ID + "/batches"))
		p.click("#generate")
		p.see("#batch-error", "no code is made twice")
		p.Release()
		p.click("#generate")
		p.counts("mailing", "60,000", "0", "0", "0", "0")
		p.gone("#batch-error")
		p.hold(`parts.includes(20000) && parts.includes(60000) && document.querySelector("#progress-section").hidden`)
		p.visit("/admin/coupons/cpn_none/batches")
		p.see("#state", "The campaign could not be loaded")
		p.gone("#content")
	})
}
