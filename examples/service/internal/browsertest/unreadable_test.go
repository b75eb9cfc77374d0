package browsertest_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/app"
)

// A coupon that cannot be read has a line of its own, and the table has all others. Its own page
// says so.
func TestACouponThatCannotBeReadHasALineInTheTable(t *testing.T) {
	t.Parallel()
	file := ""
	w := newWorld(t, stores[0], func(c *app.Config) { file = c.Store })
	id := w.detail("SUMMER10")
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "UPDATE couponkit_coupons SET doc = ? WHERE code = 'SUMMER10'", `{"later":true}`)
	require.NoError(t, err)

	p := w.administer()
	p.see("#count", "14 coupons")
	p.hold(`document.querySelectorAll("#rows tr[data-code]").length === 13`)
	p.see("#rows tr.unreadable", "Cannot be read")
	p.see("#rows tr.unreadable", `does not know its member "later"`)
	p.fill("#search", "SUMMER10")
	p.see("#count", "1 coupon")
	p.see("#rows tr.unreadable", "Cannot be read")
	for _, width := range []int64{1280, 360} {
		for _, dark := range []bool{false, true} {
			p.must(p.Dark(dark))
			p.must(p.Resize(width, 800, 1))
			where := fmt.Sprintf("a coupon that cannot be read, %d pixels wide, dark: %t", width, dark)
			p.accessible(where, allRules)
			p.fits(where)
		}
	}
	p.visit(id)
	p.see("main", "A stored record cannot be read.")
}
