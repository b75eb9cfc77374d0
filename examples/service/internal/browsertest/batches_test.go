package browsertest_test

import (
	"fmt"
	"strings"
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
			code := page.Items[0].Code.String()
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

// choosesFile chooses a CSV file in a control.
func (p page) choosesFile(selector, file string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`{
		const chosen = new DataTransfer();
		chosen.items.add(new File([%q], "codes.csv", { type: "text/csv" }));
		document.querySelector(%q).files = chosen.files;
	}`, file, selector), nil)
}

// downloads fetches a file that a link of the page leads to.
func (p page) downloads(selector string) (file string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`fetch(document.querySelector(%q).href).then((r) => r.text())`, selector), &file)
	return file
}

// An administrator imports a file of codes: each row has a verdict, and the file can be sent again. Customers of a file get a
// code each. The codes that a filter selects can be downloaded. All of it works on a desk and on a phone.
func TestFilesOfACampaign(t *testing.T) {
	inMemory(t, func(w *world) {
		path := w.detail("SUMMER10") + "/batches"
		p := w.as(ada)
		for i, width := range []int64{1280, 390} {
			p.must(p.Resize(width, 900, 1))
			p.visit(path)
			p.visible("#import-form")
			p.eval(`{
				window.verdicts = [];
				const create = URL.createObjectURL;
				URL.createObjectURL = (file) => { file.text().then((text) => verdicts.push(text)); return create.call(URL, file); };
			}`, nil) // pages may not fetch such an address
			p.click("#import-send")
			p.see("#import-form [data-field=id] .field-error", "Name the batch")
			p.see("#import-form [data-field=file] .field-error", "Choose a CSV file")
			p.hold(`document.activeElement.id === "import-id"`)
			p.fits("a form for a file with faults")
			batch := fmt.Sprintf("file/%d", i)
			p.fill("#import-id", batch)
			p.choosesFile("#import-file", "name\nx\n")
			p.click("#import-send")
			p.see("#import-error", "names no column of codes")
			p.hold(`!document.querySelector("#import-form [data-field] .field-error")`)
			file := fmt.Sprintf("code,owner\nNEW-%d,\nTENOFF,\n<b>two words</b>,\n=1+%[1]d,nobody\nOTHER-%[1]d,id:ann\n", i)
			p.choosesFile("#import-file", file)
			p.click("#import-send")
			p.see("#import-text", "5 rows: 2 added, 1 taken, 2 refused")
			p.gone("#import-error")
			p.counts(batch, "2", "1", "0", "0", "0")
			p.see("#import-rows", "Another batch or coupon has this code.")
			p.see("#import-rows", "<b>two words</b>")
			p.hold(`[...document.querySelectorAll("#import-rows [data-label=Row]")].map((each) => each.innerText.trim().split("\n").at(-1)).join() === "3,4,5"`)
			p.hold(`!document.querySelector("#import-text").innerText.includes("Columns")`)
			p.fits("the verdicts of a file")
			for _, line := range []string{`"2","added","NEW-%d"`, `"5","refused","'=1+%d"`} {
				p.hold(fmt.Sprintf(`verdicts.at(-1)?.includes(%q) && document.querySelector("#import-verdicts").href.startsWith("blob:")`, fmt.Sprintf(line, i)))
			}
			p.choosesFile("#import-file", file)
			p.click("#import-send")
			p.see("#import-text", "5 rows: 2 already there, 1 taken, 2 refused")
			p.counts(batch, "2", "1", "0", "0", "0")

			p.choosesFile("#import-file", fmt.Sprintf("code,start_date\nLATE-%d,2026-01-01\n", i))
			p.click("#import-send")
			p.see("#import-rows", "remove the column, or ignore it")
			p.fill("#import-ignore", "start_date")
			p.click("#import-send")
			p.see("#import-text", "1 row: 1 added")
			p.see("#import-text", "Columns that are not read: start_date")
			p.choosesFile("#import-file", fmt.Sprintf("code,Kunde,<b>\nLATE-%d,Ann,x\n", i))
			p.click("#import-send")
			p.see("#import-text", "1 row: 1 already there")
			p.see("#import-text", "Columns that are not read: Kunde, <b>")
			p.fits("a file with unread columns")

			p.fill("#assign-id", batch)
			p.choosesFile("#assign-file", "email\nBob@example.org\nnowhere\n")
			p.click("#assign-send")
			p.see("#assign-text", "2 rows: 1 refused, 1 customers with a code")
			p.counts(batch, "3", "2", "0", "0", "0")
			p.choosesFile("#assign-file", "email\nbob@example.org\ncem@example.org\ndan@example.org\n")
			p.click("#assign-send")
			p.see("#assign-error", "too few free codes for the customers from row 2 on")
			p.counts(batch, "3", "2", "0", "0", "0")
			p.fits("customers without codes")

			p.fill("#export-batch", batch)
			p.fill("#export-owner", "Bob@example.org")
			p.click("#export-form [type=submit]")
			p.hold(`document.querySelector("#export-link").href.includes("owner=email")`)
			owned := p.downloads("#export-link")
			require.Equal(t, 2, strings.Count(owned, "\n"), owned)
			require.Contains(t, owned, "email:bob@example.org")
			p.choose("#export-uses", "used")
			p.click("#export-form [type=submit]")
			p.see("#export-form [data-field=uses] .field-error", "no such codes")
			p.choose("#export-uses", "unused")
			p.click("#export-form [type=submit]")
			p.hold(`document.querySelector("#export-link").href.includes("unused=true")`)
			require.Equal(t, owned, p.downloads("#export-link"))
			p.fill("#export-owner", "id:")
			p.click("#export-form [type=submit]")
			p.visible("#export-form [data-field=owner] .field-error")
			p.fill("#export-owner", "nobody")
			p.click("#export-form [type=submit]")
			p.see("#export-form [data-field=uses] .field-error", "no such codes")
			p.hold(`document.querySelectorAll("main b").length === 0`)
			p.fits("a download")
		}
	})
}

// A large file is imported with its progress. If the network breaks, the page says that the same file may be sent again.
func TestALargeFileIsImported(t *testing.T) {
	inMemory(t, func(w *world) {
		path := w.detail("SUMMER10") + "/batches"
		p := w.as(ada)
		p.visit(path)
		p.visible("#import-form")
		var file strings.Builder
		file.WriteString("code\n")
		for i := range 20_000 {
			fmt.Fprintf(&file, "LARGE-%05d\n", i)
		}
		p.eval(`window.seen = []; new MutationObserver(() => seen.push(document.querySelector("#import-text").innerText)).observe(document.querySelector("#import-text"), { childList: true })`, nil)
		p.fill("#import-id", "large")
		p.choosesFile("#import-file", file.String())
		p.must(p.Cut("/admin/coupon/" + w.coupon("SUMMER10").ID + "/batches/large"))
		p.click("#import-send")
		p.see("#import-error", "Send the same file again")
		p.hold(`document.querySelector("#import-result").hidden`)
		p.Release()
		p.click("#import-send")
		p.see("#import-text", "20,000 rows: 20,000 added")
		p.hold(`seen.some((text) => /^\d+,000 rows: /.test(text) && !text.startsWith("20,000")) && document.querySelector("#import-progress").hidden`)
		p.counts("large", "20,000", "0", "0", "0", "0")
		p.click("#import-send")
		p.see("#import-text", "20,000 rows: 20,000 already there")
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
