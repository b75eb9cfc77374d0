package browsertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// The form makes a coupon without a code by an explicit choice. The list and the page of the coupon
// call it by its name.
func TestACouponWithoutACodeIsCreatedByChoice(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		p.click("#new-coupon")
		p.fill("#f-code", "typed")
		p.fill("#f-name", "Spring for members")
		p.fill("#f-value", "15")
		p.click("#f-without-code")
		p.hold(`document.querySelector("#f-code").disabled && document.querySelector("#f-code").value === "" && document.querySelector("#generate").disabled`)
		p.see("#preview-summary", "The coupon takes")
		p.click("#f-without-code")
		p.click("#save")
		p.fault("code", "Enter a code.")
		p.click("#f-without-code")
		p.gone("[data-field=code] .field-error")
		p.click("#save")
		p.see("#toasts", "Spring for members is ready to use.")
		p.see("#rows tr:first-child .cell-code", "No code")
		found, err := w.Service.List(w.t.Context(), store.CouponList{Search: "spring for members"})
		require.NoError(t, err)
		require.Len(t, found.Items, 1)
		require.True(t, found.Items[0].Code.IsZero())

		p.click("#rows tr:first-child [data-action=edit]")
		p.see("#coupon-dialog-title", "Edit Spring for members")
		p.hold(`document.querySelector("#f-without-code").checked && document.querySelector("#f-without-code").disabled && document.querySelector("#f-code").disabled`)
		p.fill("#f-name", "Summer for members")
		p.click("#save")
		p.see("#toasts", "Summer for members was saved.")
		p.click("#rows tr:first-child .cell-code a")
		p.see("h1", "Summer for members")
		p.see("#codes-empty", "No codes yet")
		p.gone("#codes")
		p.sound()
	})
}

// The page of a coupon lists its codes with their state, uses, owner and expiry, a page at a time.
func TestTheCodesOfACouponAreShown(t *testing.T) {
	onOneStore(t, func(w *world) {
		c := w.create(coupon.Draft{Code: "MEMBERS", Name: "Members", DiscountType: pricing.Percentage, Percent: "15"})
		drafts := []coupon.CodeDraft{
			{Code: "A-MAIL", Owner: coupon.OwnerEmail("a.very.long.address.of.somebody@example-of-a-long-domain.org"), MaxUses: coupon.Set(1)},
			{Code: "B-ID", Owner: coupon.OwnerID("ben"), ExpiresAt: calendar.On(2031, time.December, 31)},
			{Code: "C-OFF"},
			{Code: "D-USED", MaxUses: coupon.Set(1)},
		}
		for i := range 21 {
			drafts = append(drafts, coupon.CodeDraft{Code: fmt.Sprintf("Z-%02d", i)})
		}
		_, err := w.Service.AddCodes(t.Context(), c.ID, coupon.Batch{ID: "spring-2027"}, drafts)
		require.NoError(t, err)
		_, err = w.Service.UpdateCode(t.Context(), "c-off", coupon.CodePatch{Active: coupon.Set(false)})
		require.NoError(t, err)
		w.buy(ann, "D-USED")
		p := w.as(ada)
		for _, width := range []int64{1280, 360} {
			p.must(p.Resize(width, 900, 1))
			p.visit(w.detail("MEMBERS"))
			row := func(code, text string) { t.Helper(); p.see("#codes-rows [data-code="+code+"]", text) }
			row("A-MAIL", "a.very.long.address.of.somebody@example-of-a-long-domain.org")
			row("A-MAIL", "0 of 1")
			row("B-ID", "ben")
			row("B-ID", "31 Dec 2031")
			row("C-OFF", "Inactive")
			row("D-USED", "1 of 1")
			row("D-USED", "Used up")
			row("MEMBERS", "As the coupon")
			p.see("#codes-count", "20+ codes")
			p.hold(`document.querySelectorAll("#codes-rows tr").length === 20`)
			p.click("#codes-more")
			p.see("#codes-count", "26 codes")
			p.hold(`document.querySelectorAll("#codes-rows tr").length === 26`)
			p.gone("#codes-more")
			p.fits("the codes of a coupon")
		}
		p.must(p.Cut("/admin/coupon/" + c.ID + "/codes"))
		p.visit(w.detail("MEMBERS"))
		p.see("#codes-failed", "The codes could not be loaded")
		p.visible("#facts")
		p.Release()
		p.click("#codes-failed button")
		p.visible("#codes-rows tr")
	})
}
