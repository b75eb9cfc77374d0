package stripeprocessor_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// TestCreateOrder: look who has the code, coupon, promotion code, and no more.
func TestCreateOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := newCoupon(t, "a", "TEN", func(d *coupon.Draft) { d.MaxUses = coupon.Set(50) })
	c = w.mirrored(c)
	var ops []string
	for _, call := range w.account.Calls() {
		ops = append(ops, call.Op)
	}
	if diff := cmp.Diff([]string{"promotion_codes.list", "coupons.create", "promotion_codes.create"}, ops); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if c.Mirror.CouponID != "ck_cpn_a_r1" {
		t.Errorf("the coupon's ID %q is not derived from ours and the revision", c.Mirror.CouponID)
	}
	form := w.account.Calls()[2].Form
	for name, want := range map[string]string{
		"promotion[type]": "coupon", "promotion[coupon]": "ck_cpn_a_r1", "code": "TEN", "active": "true",
		"metadata[couponId]": "cpn_a", "metadata[app]": "couponkit", "metadata[rev]": "1", "expires_at": "", "coupon": "",
	} {
		if got := form.Get(name); got != want {
			t.Errorf("promotion code: %s is %q, want %q", name, got, want)
		}
	}
	form = w.account.Calls()[1].Form
	for name, want := range map[string]string{
		"amount_off": "1000", "currency": "eur", "duration": "once", "max_redemptions": "50", "redeem_by": "", "percent_off": "",
	} {
		if got := form.Get(name); got != want {
			t.Errorf("coupon: %s is %q, want %q", name, got, want)
		}
	}
}

// TestIDsOfHosts: whatever a host makes of its IDs, those at Stripe are letters, digits,
// dash and underscore, and each coupon has its own.
func TestIDsOfHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[string]bool{}
	for i, id := range []string{"cpn_a/b", "cpn_a b", "cpn_ä", "cpn_a.b", "cpn_a"} {
		c := newCoupon(t, "a", fmt.Sprintf("TEN%d", i))
		c.ID = id
		c = w.mirrored(c)
		if strings.Trim(c.Mirror.CouponID, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || seen[c.Mirror.CouponID] {
			t.Errorf("%q became %q", id, c.Mirror.CouponID)
		}
		seen[c.Mirror.CouponID] = true
	}
}

// TestPercentOnTheWire: what is sent equals what is stored, and what the wire could
// not hold is refused before any call.
func TestPercentOnTheWire(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"12.5": "12.5000", "33.33": "33.3300", "100": "100.0000", "0.01": "0.0100", "7": "7.0000", "99.99": "99.9900",
	} {
		w := newWorld(t)
		w.mirrored(newCoupon(t, "a", "TEN", percentage(value)))
		if got := w.account.Calls()[1].Form.Get("percent_off"); got != want {
			t.Errorf("%s %% is sent as %q, want %q", value, got, want)
		}
	}
	for _, value := range []string{"33.333", "33.3333", "99.9999", "0.001", "0.0001"} {
		w := newWorld(t)
		_, err := w.processor.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN", percentage(value)))
		require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
		requireField(t, err, "discountValue")
		if n := len(w.account.Calls()); n != 0 {
			t.Errorf("%s %%: %d calls before the refusal", value, n)
		}
	}
}

// TestPercentIsAdopted for every percentage that can be mirrored: what Stripe tells of
// it is recognised as equal.
func TestPercentIsAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		hundredths := rapid.IntRange(1, 10_000).Draw(t, "hundredths")
		c := newCoupon(w, fmt.Sprintf("p%d", hundredths), fmt.Sprintf("P%d", hundredths), percentage(fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)))
		first := w.mirrored(c)
		if again := w.mirrored(c); again.Mirror != first.Mirror {
			t.Fatalf("%d: %+v became %+v", hundredths, first.Mirror, again.Mirror)
		}
	})
}

// TestPreflight: every offending field is named, and nothing is sent.
func TestPreflight(t *testing.T) {
	t.Parallel()
	kwd := func(amount string) func(*coupon.Draft) {
		return func(d *coupon.Draft) {
			d.Currency, d.Amount = "KWD", coupon.Amounts{"": amount}
		}
	}
	tests := map[string]struct {
		coupon coupon.Coupon
		field  string
	}{
		"umlaut":               {newCoupon(t, "a", "RÄBATT"), "code"},
		"percent sign":         {newCoupon(t, "a", "50%"), "code"},
		"slash":                {newCoupon(t, "a", "A/B"), "code"},
		"third decimal of KWD": {newCoupon(t, "a", "TEN", kwd("5.124")), "discountValue"},
		"unknown unit": {newCoupon(t, "a", "TEN", func(d *coupon.Draft) {
			d.Currency, d.Amount = "CLF", coupon.Amounts{"": "1.0001"}
		}), "currency"},
		"cents of ariary": {newCoupon(t, "a", "TEN", func(d *coupon.Draft) {
			d.Currency, d.Amount = "MGA", coupon.Amounts{"": "5.20"}
		}), "discountValue"},
		"third decimal of a percentage": {newCoupon(t, "a", "TEN", percentage("33.333")), "discountValue"},
		"thousandth of a percent":       {newCoupon(t, "a", "TEN", percentage("0.001")), "discountValue"},
		"nothing":                       {coupon.Coupon{}, "discountType"},
		"no name":                       {edited(newCoupon(t, "a", "TEN"), func(c *coupon.Coupon) { c.Name = " \t" }), "name"},
		"no ID":                         {edited(newCoupon(t, "a", "TEN"), func(c *coupon.Coupon) { c.ID = "" }), "id"},
		"uses below none":               {edited(newCoupon(t, "a", "TEN"), func(c *coupon.Coupon) { c.Limits.MaxUses = -1 }), "maxUses"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			requireField(t, w.processor.CheckCoupon(test.coupon), test.field)
			requireField(t, w.processor.Abilities().CheckCoupon(test.coupon), test.field)
			_, err := w.processor.EnsureMirror(t.Context(), test.coupon)
			require.ErrorIs(t, err, processor.ErrRejected)
			require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
			requireField(t, err, test.field)
			if n := len(w.account.Calls()); n != 0 {
				t.Errorf("%d calls before the refusal", n)
			}
		})
	}
	w := newWorld(t)
	for _, code := range []string{"A", "A-B_C9", strings.Repeat("X", 255)} {
		require.NoError(t, w.processor.CheckCoupon(newCoupon(t, "a", code)))
	}
}

// TestEveryCharacterOfCodes: letters, digits, dash and underscore, and of all others
// that couponkit lets into a code not one.
func TestEveryCharacterOfCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	tried := 0
	for r := range rune(0x250) {
		code, err := coupon.ParseCode("X" + string(r) + "X")
		if err != nil {
			continue
		}
		tried++
		c := newCoupon(t, "a", code.String())
		if fits := strings.Trim(code.String(), allowed) == ""; fits {
			require.NoError(t, w.processor.CheckCoupon(c), "%U", r)
		} else {
			requireField(t, w.processor.CheckCoupon(c), "code")
		}
	}
	require.Greater(t, tried, 300)
}

// TestAmountsAreExact: minor units of couponkit become those of Stripe.
func TestAmountsAreExact(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		currency, amount, want string
	}{
		{"EUR", "19.99", "1999"},
		{"EUR", "0.29", "29"},
		{"EUR", "1.15", "115"},
		{"JPY", "500", "500"},
		{"ISK", "5", "500"},
		{"UGX", "1000", "100000"},
		{"KWD", "5.120", "5120"},
		{"TND", "0.010", "10"},
		{"HUF", "10.45", "1045"},
		{"TWD", "8.01", "801"},
		{"MGA", "500.00", "500"},
		{"XPF", "7", "7"},
	} {
		w := newWorld(t)
		w.mirrored(newCoupon(t, "a", "TEN", func(d *coupon.Draft) {
			d.Currency, d.Amount = test.currency, coupon.Amounts{"": test.amount}
		}))
		form := w.account.Calls()[1].Form
		if got := form.Get("amount_off"); got != test.want {
			t.Errorf("%s %s is sent as %s, want %s", test.amount, test.currency, got, test.want)
		}
		if got := form.Get("currency"); got != strings.ToLower(test.currency) {
			t.Errorf("%s is sent as %s", test.currency, got)
		}
	}
}

// TestTooFineAmounts are refused, never rounded.
func TestTooFineAmounts(t *testing.T) {
	t.Parallel()
	for currency, amount := range map[string]string{"EUR": "8.165", "JPY": "0.5", "KWD": "1.2345"} {
		_, err := coupon.New(coupon.Draft{
			Code: "TEN", Name: "Ten", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": amount}, Currency: currency,
		}, coupon.Creation{ID: "cpn_a", At: newClock().Now()})
		requireField(t, err, "discountValue")
	}
}

// TestNamesAreCut to forty code points between letters as people see them, with the
// whole name in the metadata.
func TestNamesAreCut(t *testing.T) {
	t.Parallel()
	thirtyNine := strings.Repeat("x", 39)
	tests := map[string]struct{ name, want string }{
		"short":             {"Ten off", "Ten off"},
		"forty":             {thirtyNine + "y", thirtyNine + "y"},
		"forty-one":         {thirtyNine + "yz", thirtyNine + "y"},
		"combining":         {thirtyNine + "e\u0301tudes", thirtyNine}, // e and its accent stay together
		"two marks":         {strings.Repeat("x", 38) + "a\u0323\u0302b", strings.Repeat("x", 38)},
		"joined emoji":      {strings.Repeat("x", 38) + "👩\u200d👩", strings.Repeat("x", 38)},
		"skin tone":         {thirtyNine + "👍🏽!", thirtyNine},
		"space at the cut":  {thirtyNine + " and more", thirtyNine},
		"spaces in front":   {"   Ten", "Ten"},
		"only marks follow": {"a" + strings.Repeat("\u0301", 60), "a" + strings.Repeat("\u0301", 39)},
		"four-byte letters": {strings.Repeat("𝔘", 41), strings.Repeat("𝔘", 40)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := newCoupon(t, "a", "TEN")
			c.Name = test.name
			c = w.mirrored(c)
			got := w.account.Coupons()[0]
			if got.Name != test.want {
				t.Errorf("Stripe shows %q, want %q", got.Name, test.want)
			}
			if kept := got.Metadata["name"]; (test.want != test.name) != (kept == test.name) {
				t.Errorf("the metadata keeps %q of %q", kept, test.name)
			}
			c = edited(c, func(c *coupon.Coupon) { c.Name = "Short" })
			_, err := w.processor.UpdateMirror(t.Context(), c)
			require.NoError(t, err)
			if got := w.account.Coupons()[0]; got.Name != "Short" || got.Metadata["name"] != "" || got.Metadata["rev"] != "2" {
				t.Errorf("after renaming: %q, metadata %v", got.Name, got.Metadata)
			}
		})
	}
}

// TestForeignCode: a code that somebody else has active is ErrCodeTaken, whatever
// Stripe's text says, on whatever page the promotion code is; nothing is left behind.
func TestForeignCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) { f.OwnWording = true })
	require.NoError(t, w.account.PlantCoupon("staff", nil))
	taken, err := w.account.PlantCode("staff", "summer-10", true, nil)
	require.NoError(t, err)
	for range 250 { // what was used long ago comes first in the list
		_, err := w.account.PlantCode("staff", "Summer-10", false, nil)
		require.NoError(t, err)
	}
	_, err = w.processor.EnsureMirror(t.Context(), newCoupon(t, "a", "SUMMER-10"))
	if !errors.Is(err, processor.ErrCodeTaken) || !errors.Is(err, processor.ErrRejected) {
		t.Errorf("got %v, want ErrCodeTaken", err)
	}
	if got := w.count("promotion_codes.list"); got != 3 {
		t.Errorf("%d pages were read, want 3", got)
	}
	if n := len(w.account.Coupons()); n != 1 {
		t.Errorf("%d coupons, want the foreign one only", n)
	}
	for _, code := range w.account.PromotionCodes() {
		if code.Active != (code.ID == taken) {
			t.Errorf("promotion code %s was changed", code.ID)
		}
	}
}

// TestCodeTakenInBetween: somebody takes the code after it was looked for. The refusal
// names neither code nor parameter; looking again tells. The coupon is deleted again.
func TestCodeTakenInBetween(t *testing.T) {
	t.Parallel()
	for _, wording := range []bool{false, true} {
		w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) { f.OwnWording = wording })
		require.NoError(t, w.account.PlantCoupon("staff", nil))
		taken := make(chan error, 1)
		w.account.Faults(func(c stripefake.Call) stripefake.Fault {
			if c.Op == "coupons.create" {
				go func() { // the account is locked meanwhile
					_, err := w.account.PlantCode("staff", "ten", true, nil)
					taken <- err
				}()
			}
			if c.Op == "promotion_codes.create" && c.Form.Get("code") == "TEN" && len(taken) == 0 {
				return stripefake.RateLimited // wait until it is taken
			}
			return stripefake.None
		})
		_, err := w.processor.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN"))
		require.ErrorIs(t, err, processor.ErrCodeTaken)
		require.NoError(t, <-taken)
		if coupons := w.account.Coupons(); len(coupons) != 1 || coupons[0].ID != "staff" {
			t.Errorf("coupons left: %+v", coupons)
		}
	}
}

// TestOrphanIsReported: where the coupon cannot be deleted again the error names it.
func TestOrphanIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account.Deny("coupons.delete")
	w.account.Deny("promotion_codes.create")
	_, err := w.processor.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN"))
	require.ErrorIs(t, err, processor.ErrForbidden)
	if n := len(w.account.Coupons()); n != 1 {
		t.Fatalf("%d coupons, want the orphan", n)
	}
	var told *stripeprocessor.Error
	require.ErrorAs(t, err, &told)
	if told.Orphan != "ck_cpn_a_r1" || !strings.Contains(err.Error(), "ck_cpn_a_r1") {
		t.Errorf("the error does not name the orphan: %v", err)
	}
}

// TestRefusalKeepsWhatIsOnRecord: only a coupon that nobody else knows of is deleted
// when its promotion code is refused.
func TestRefusalKeepsWhatIsOnRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	require.NoError(t, w.account.KillCode(c.Mirror.PromotionCodeID))
	w.account.Deny("promotion_codes.create")
	_, err := w.processor.SetMirrorActive(t.Context(), c)
	require.ErrorIs(t, err, processor.ErrForbidden)
	require.Len(t, w.account.Coupons(), 1, "the coupon on record is gone")
}

// TestAdoption: an object with our ID is adopted when it is ours and of equal terms,
// and a conflict otherwise.
func TestAdoption(t *testing.T) {
	t.Parallel()
	c := newCoupon(t, "a", "TEN")
	ours := map[string]string{"app": "couponkit", "couponId": "cpn_a", "rev": "1", "kind": "mirror"}
	w := newWorld(t)
	require.NoError(t, w.account.PlantCoupon("ck_cpn_a_r1", nil))
	require.NoError(t, w.account.EditCoupon("ck_cpn_a_r1", func(o *stripefake.Coupon) {
		o.PercentOff, o.AmountOff, o.Currency = 0, 1000, "eur" // equal, and still not ours
	}))
	_, err := w.processor.EnsureMirror(t.Context(), c)
	require.ErrorIs(t, err, stripeprocessor.ErrConflict, "somebody else's object")
	require.ErrorIs(t, err, processor.ErrRejected)

	w = newWorld(t)
	require.NoError(t, w.account.PlantCoupon("ck_cpn_a_r1", ours)) // of 5 %, not of 10.00 EUR
	_, err = w.processor.EnsureMirror(t.Context(), c)
	require.ErrorIs(t, err, stripeprocessor.ErrConflict, "another discount")
	_, err = w.processor.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN", percentage("5.01")))
	require.ErrorIs(t, err, stripeprocessor.ErrConflict, "another percentage")

	w = newWorld(t)
	require.NoError(t, w.account.PlantCoupon("ck_cpn_a_r1", ours))
	for _, other := range []stripefake.Coupon{
		{AmountOff: 1000, Currency: "eur", Duration: "forever"},
		{AmountOff: 1000, Currency: "usd", Duration: "once"},
		{AmountOff: 1001, Currency: "eur", Duration: "once"},
	} {
		require.NoError(t, w.account.EditCoupon("ck_cpn_a_r1", func(o *stripefake.Coupon) {
			o.PercentOff, o.AmountOff, o.Currency, o.Duration = 0, other.AmountOff, other.Currency, other.Duration
		}))
		_, err = w.processor.EnsureMirror(t.Context(), c)
		require.ErrorIs(t, err, stripeprocessor.ErrConflict, "%+v", other)
	}

	require.NoError(t, w.account.EditCoupon("ck_cpn_a_r1", func(o *stripefake.Coupon) { o.AmountOff = 1000 }))
	c = w.mirrored(c)
	w.showsExactly(c, false, "after adoption")

	// One that will end by itself cannot go on mirroring a coupon that does not.
	require.NoError(t, w.account.EditCoupon("ck_cpn_a_r1", func(o *stripefake.Coupon) { o.RedeemBy = w.clock.Now().Unix() + 60 }))
	c = w.mirrored(c)
	require.Equal(t, "ck_cpn_a_r1-2", c.Mirror.CouponID)
	w.showsExactly(c, false, "after a coupon that ends by itself")
}

// TestOffTwice: what is off already is not switched off again.
func TestOffTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := edited(w.mirrored(newCoupon(t, "a", "TEN")), func(c *coupon.Coupon) { c.State = coupon.Inactive })
	for range 3 {
		m, err := w.processor.SetMirrorActive(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, c.Mirror.PromotionCodeID, m.PromotionCodeID)
	}
	require.Equal(t, 1, w.count("promotion_codes.update"))
}

// TestVerifyLooksAtBothReferences: a promotion code of another coupon is no mirror.
func TestVerifyLooksAtBothReferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	c.Mirror.CouponID = "ck_cpn_b_r1"
	status, err := w.processor.VerifyMirror(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, processor.MirrorInvalid, status)
}

// TestExpiryIsNotMirrored unless asked for, so that a coupon can be prolonged.
func TestExpiryIsNotMirrored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := newCoupon(t, "a", "TEN")
	c.ExpiresAt = w.clock.Now().Add(24 * time.Hour)
	c = w.mirrored(c)
	codeID := c.Mirror.PromotionCodeID
	if code := w.account.PromotionCodes()[0]; code.ExpiresAt != 0 {
		t.Errorf("expires_at is %d", code.ExpiresAt)
	}
	w.clock.Advance(48 * time.Hour)
	c = edited(c, func(c *coupon.Coupon) { c.ExpiresAt = w.clock.Now().Add(time.Hour) })
	m, err := w.processor.UpdateMirror(t.Context(), c)
	require.NoError(t, err)
	if m.PromotionCodeID != codeID {
		t.Error("the promotion code was replaced")
	}
}

// TestExpiryIsMirrored as expires_at of the promotion code, never as redeem_by; a
// change replaces the promotion code, an expiry that has passed ends it.
func TestExpiryIsMirrored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { o.MirrorExpiry = true })
	c := newCoupon(t, "a", "TEN")
	c.ExpiresAt = w.clock.Now().Add(24 * time.Hour)
	c = w.mirrored(c)
	first := c.Mirror
	if got := w.account.PromotionCodes()[0].ExpiresAt; got != c.ExpiresAt.Unix() {
		t.Errorf("expires_at is %d", got)
	}
	if got := w.account.Coupons()[0].RedeemBy; got != 0 {
		t.Errorf("redeem_by is %d", got)
	}
	c = edited(c, func(c *coupon.Coupon) { c.ExpiresAt = c.ExpiresAt.Add(time.Hour) })
	c = w.updated(c)
	if c.Mirror.CouponID != first.CouponID || c.Mirror.PromotionCodeID == first.PromotionCodeID {
		t.Errorf("%+v became %+v: only the promotion code holds the expiry", first, c.Mirror)
	}
	w.oneActive(c.Mirror.PromotionCodeID)

	w.clock.Advance(48 * time.Hour) // dead at Stripe
	c = edited(c, func(c *coupon.Coupon) { c.Name = "Expired" })
	c = w.updated(c)
	w.oneActive("")
	c = edited(c, func(c *coupon.Coupon) { c.ExpiresAt = w.clock.Now().Add(time.Hour) })
	c = w.updated(c)
	w.oneActive(c.Mirror.PromotionCodeID)
	c = edited(c, func(c *coupon.Coupon) { c.ExpiresAt = w.clock.Now().Add(6 * 365 * 24 * time.Hour) })
	c = w.updated(c)
	w.oneActive(c.Mirror.PromotionCodeID)
	for _, code := range w.account.PromotionCodes() {
		if code.Active && code.ExpiresAt != 0 {
			t.Errorf("an expiry beyond Stripe's five years is mirrored as %d", code.ExpiresAt)
		}
	}
}

func (w *world) updated(c coupon.Coupon) coupon.Coupon {
	w.Helper()
	m, err := w.processor.UpdateMirror(w.Context(), c)
	require.NoError(w, err)
	c.Mirror = m
	return c
}

// oneActive checks that one promotion code is active, or with an empty ID none.
func (w *world) oneActive(id string) {
	w.Helper()
	active := ""
	for _, code := range w.account.PromotionCodes() {
		if code.Active {
			active += code.ID
		}
	}
	if active != id {
		w.Errorf("active promotion codes: %q, want %q", active, id)
	}
}

// TestRotationOrder: new coupon, old promotion code off, new promotion code, old
// coupon deleted.
func TestRotationOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	before := len(w.account.Calls())
	c = edited(c, func(c *coupon.Coupon) { c.Limits.MaxUses = 9 })
	c = w.updated(c)
	var ops []string
	for _, call := range w.account.Calls()[before:] {
		ops = append(ops, call.Op)
	}
	want := []string{
		"promotion_codes.list", "coupons.create", "promotion_codes.update", "promotion_codes.create",
		"coupons.retrieve", "coupons.delete", // is there a second coupon of that revision?
	}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if c.Mirror.CouponID != "ck_cpn_a_r2" || c.Mirror.Revision != 2 {
		t.Errorf("the new mirror is %+v", c.Mirror)
	}
	w.showsExactly(c, false, "after rotation")
}

// TestRefusedChanges: code, discount and currency never change; objects that show
// another discount of ours are not edited.
func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	other := newCoupon(t, "a", "TEN", percentage("50"))
	other.Mirror = c.Mirror // of the same revision: somebody has broken the rule
	_, err := w.processor.UpdateMirror(t.Context(), other)
	require.ErrorIs(t, err, stripeprocessor.ErrConflict)
	w.showsExactly(c, false, "after a refused change")
}

// TestOwnership: what does not carry our metadata is never changed or removed, even
// where it has our ID or the stored reference names it.
func TestOwnership(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.account.PlantCoupon("staff", map[string]string{"app": "other", "couponId": "cpn_a"}))
	promo, err := w.account.PlantCode("staff", "TEN", true, map[string]string{"app": "other", "couponId": "cpn_a"})
	require.NoError(t, err)
	c := newCoupon(t, "a", "TEN")
	c.Mirror = coupon.Mirror{CouponID: "staff", PromotionCodeID: promo, Revision: 1}
	_, err = w.processor.EnsureMirror(t.Context(), c)
	require.ErrorIs(t, err, processor.ErrCodeTaken)
	c.State = coupon.Inactive
	_, err = w.processor.SetMirrorActive(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, w.processor.RemoveMirror(t.Context(), c))
	require.NoError(t, w.processor.RemoveMirror(t.Context(), coupon.Coupon{ID: "cpn_a", Mirror: c.Mirror}))
	if got := w.account.Coupons(); len(got) != 1 || got[0].ID != "staff" || got[0].Name != "Planted" {
		t.Errorf("the foreign coupon was changed: %+v", got)
	}
	w.oneActive(promo)
}

// TestOwnershipOfTheSameTerms: that somebody else's coupon takes off the same does not
// make it ours, even where the stored reference names it.
func TestOwnershipOfTheSameTerms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.account.PlantCoupon("staff", nil))
	require.NoError(t, w.account.EditCoupon("staff", func(o *stripefake.Coupon) { o.PercentOff, o.AmountOff, o.Currency = 0, 1000, "eur" }))
	c := newCoupon(t, "a", "TEN")
	c.Mirror = coupon.Mirror{CouponID: "staff", PromotionCodeID: "promo_staff", Revision: 1}
	c = w.mirrored(c)
	if c.Mirror.CouponID != "ck_cpn_a_r1" {
		t.Errorf("the mirror is %+v", c.Mirror)
	}
	for _, o := range w.account.Coupons() {
		if o.ID == "staff" && (o.Name != "Planted" || len(o.Metadata) > 0) {
			t.Errorf("the foreign coupon was changed: %+v", o)
		}
	}
}

// TestMetadataHoldsNoPersonalData: the fixed schema and nothing else.
func TestMetadataHoldsNoPersonalData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	emails, err := coupon.NewEmailSet("ann@example.org")
	require.NoError(t, err)
	c := newCoupon(t, "a", "TEN")
	c.Distribution, c.AllowedUserEmails, c.Description = coupon.UserSpecific, emails, "for ann@example.org"
	w.mirrored(c)
	for _, call := range w.account.Calls() {
		for name := range call.Form {
			key, isMetadata := strings.CutPrefix(name, "metadata[")
			if isMetadata && !strings.Contains("app] couponId] rev] kind]", key) {
				t.Errorf("%s sends %s", call.Op, name)
			}
		}
		if strings.Contains(call.Form.Encode()+call.Key, "example.org") {
			t.Errorf("%s sends an address", call.Op)
		}
	}
}

// TestRemovalOrder: promotion code, then coupon; twice is no error.
func TestRemovalOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	session, err := w.processor.CreateSession(t.Context(), w.request("key"))
	require.NoError(t, err)
	before := len(w.account.Calls())
	require.NoError(t, w.processor.RemoveMirror(t.Context(), c))
	var ops []string
	for _, call := range w.account.Calls()[before:] {
		ops = append(ops, call.Op)
	}
	if diff := cmp.Diff([]string{"promotion_codes.list", "promotion_codes.update", "coupons.retrieve", "coupons.delete"}, ops); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	require.NoError(t, w.processor.RemoveMirror(t.Context(), c))
	w.showsExactly(c, true, "after removal")
	require.NoError(t, w.account.Pay(session.ID), "the session is untouched")
}

// TestRemovalFindsWhatACrashHasLeft: a coupon without a promotion code of a revision
// that was never recorded.
func TestRemovalFindsWhatACrashHasLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := newCoupon(t, "a", "TEN")
	w.account.Deny("promotion_codes.create")
	w.account.Deny("coupons.delete")
	_, err := w.processor.EnsureMirror(t.Context(), c)
	require.ErrorIs(t, err, processor.ErrForbidden)
	require.Len(t, w.account.Coupons(), 1)

	healed := newWorldOn(t, w) // with all permissions
	c = edited(edited(c, func(*coupon.Coupon) {}), func(c *coupon.Coupon) { c.Limits.MaxUses = 5 })
	require.NoError(t, healed.RemoveMirror(t.Context(), c))
	require.Empty(t, w.account.Coupons())
	orphan := coupon.Coupon{ID: c.ID, Mirror: coupon.Mirror{CouponID: "ck_cpn_a_r1"}}
	require.NoError(t, healed.RemoveMirror(t.Context(), orphan), "an orphan that is gone already")
}

// TestChangeFindsWhatACrashHasLeft: a coupon of a revision in between goes with the next
// change.
func TestChangeFindsWhatACrashHasLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	w.account.Deny("promotion_codes.create")
	w.account.Deny("coupons.delete")
	c = edited(c, func(c *coupon.Coupon) { c.Limits.MaxUses = 5 })
	_, err := w.processor.UpdateMirror(t.Context(), c)
	require.ErrorIs(t, err, processor.ErrForbidden)
	require.Len(t, w.account.Coupons(), 2)

	healed := newWorldOn(t, w) // with all permissions
	c = edited(c, func(c *coupon.Coupon) { c.Limits.MaxUses = 6 })
	c.Mirror, err = healed.UpdateMirror(t.Context(), c)
	require.NoError(t, err)
	if left := w.account.Coupons(); len(left) != 1 || left[0].ID != c.Mirror.CouponID {
		t.Errorf("left at Stripe: %+v", left)
	}
}

// TestRepairThatACrashHasCutOff: what it has made for the revision on record, whose objects
// somebody had deleted, goes with the next change and with the coupon.
func TestRepairThatACrashHasCutOff(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		w := newWorld(t)
		c := w.mirrored(newCoupon(t, "a", "TEN"))
		c = edited(c, func(c *coupon.Coupon) { c.Name = "Renamed" })
		var err error
		c.Mirror, err = w.processor.UpdateMirror(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, w.account.DeleteCoupon(c.Mirror.CouponID))
		w.account.Deny("promotion_codes.create")
		w.account.Deny("coupons.delete")
		_, err = w.processor.UpdateMirror(t.Context(), c)
		require.ErrorIs(t, err, processor.ErrForbidden)
		require.Len(t, w.account.Coupons(), 1)

		healed := newWorldOn(t, w) // with all permissions
		c = edited(c, func(c *coupon.Coupon) { c.Limits.MaxUses = 5 })
		if removed {
			require.NoError(t, healed.RemoveMirror(t.Context(), c))
			require.Empty(t, w.account.Coupons())
			continue
		}
		c.Mirror, err = healed.UpdateMirror(t.Context(), c)
		require.NoError(t, err)
		if left := w.account.Coupons(); len(left) != 1 || left[0].ID != c.Mirror.CouponID {
			t.Errorf("left at Stripe: %+v", left)
		}
	}
}

// TestChangeIsNotDoneBefore the coupon that is replaced is gone: the caller repeats it.
func TestChangeIsNotDoneBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	w.account.Faults(func(call stripefake.Call) stripefake.Fault {
		if call.Op == "coupons.delete" {
			return stripefake.FailBefore
		}
		return stripefake.None
	})
	c = edited(c, func(c *coupon.Coupon) { c.Limits.MaxUses = 5 })
	_, err := w.processor.UpdateMirror(t.Context(), c)
	require.ErrorIs(t, err, processor.ErrUnavailable)
	w.account.Faults(nil)
	c.Mirror, err = w.processor.UpdateMirror(t.Context(), c)
	require.NoError(t, err)
	require.Len(t, w.account.Coupons(), 1)
	w.oneActive(c.Mirror.PromotionCodeID)
}

// TestVerify: one call that reads both; only an expanded coupon counts.
func TestVerify(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	verify := func(want processor.MirrorStatus, calls int, when string) {
		t.Helper()
		before := len(w.account.Calls())
		got, err := w.processor.VerifyMirror(t.Context(), c)
		require.NoError(t, err)
		if got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
		if n := len(w.account.Calls()) - before; n != calls {
			t.Errorf("%s: %d calls, want %d", when, n, calls)
		}
	}
	verify(processor.MirrorValid, 1, "fresh")
	require.NoError(t, w.account.EditCoupon(c.Mirror.CouponID, func(o *stripefake.Coupon) { o.RedeemBy = w.clock.Now().Unix() }))
	verify(processor.MirrorInvalid, 1, "a coupon that is over")
	require.NoError(t, w.account.DeleteCoupon(c.Mirror.CouponID))
	verify(processor.MirrorMissing, 1, "a coupon that was deleted")
	w.account.DropCode(c.Mirror.PromotionCodeID)
	verify(processor.MirrorMissing, 1, "a promotion code that is gone")
	c.Mirror.PromotionCodeID = ""
	verify(processor.MirrorMissing, 0, "no promotion code on record")

	w = newWorld(t)
	c = w.mirrored(newCoupon(t, "a", "TEN"))
	w.account.IgnoreExpand()
	verify(processor.MirrorValid, 2, "not expanded")
	require.NoError(t, w.account.DeleteCoupon(c.Mirror.CouponID))
	verify(processor.MirrorMissing, 2, "not expanded and deleted")
	w.account.Faults(always(stripefake.LostBefore))
	status, err := w.processor.VerifyMirror(t.Context(), c)
	require.ErrorIs(t, err, processor.ErrUnavailable)
	require.Zero(t, status, "an unknown mirror has no status")
}

// TestMirrorsOverPages: every mirror of ours, over more than a page, while the
// consumer removes what it gets.
func TestMirrorsOverPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.account.PlantCoupon("staff", nil))
	const many = 230
	for i := range many {
		w.mirrored(newCoupon(t, fmt.Sprintf("m%d", i), fmt.Sprintf("M%d", i)))
	}
	_, err := w.processor.CreateSession(t.Context(), w.subscription("key")) // its coupon is no mirror
	require.NoError(t, err)
	seen := 0
	for ref, err := range w.processor.Mirrors(t.Context()) {
		require.NoError(t, err)
		if ref.Mirror.PromotionCodeID == "" || ref.Mirror.Revision != 1 || !strings.HasPrefix(ref.CouponID, "cpn_m") {
			t.Errorf("mirror %+v", ref)
		}
		require.NoError(t, w.processor.RemoveMirror(t.Context(), coupon.Coupon{ID: ref.CouponID, Mirror: ref.Mirror}))
		seen++
	}
	if seen != many {
		t.Errorf("%d mirrors, want %d", seen, many)
	}
	if left := len(w.account.Coupons()); left != 2 {
		t.Errorf("%d coupons are left, want the foreign one and the session's", left)
	}
	for _, code := range w.account.PromotionCodes() {
		if code.Active {
			t.Fatalf("promotion code %s is still active", code.ID)
		}
	}
}

func TestAbilities(t *testing.T) {
	t.Parallel()
	eur, gbp, kwd, mga := pricing.EUR(), currencyOf(t, "GBP"), currencyOf(t, "KWD"), currencyOf(t, "MGA")
	all := newWorld(t).processor.Abilities()
	if all.MinimumCharge[eur] != 50 || all.MinimumCharge[gbp] != 30 || all.MinimumCharge[currencyOf(t, "HUF")] != 17500 ||
		all.MinimumCharge[currencyOf(t, "JPY")] != 50 {
		t.Errorf("minimum charges: %v", all.MinimumCharge)
	}
	if diff := cmp.Diff([]int64{10, 100, 0}, []int64{all.AmountStep[kwd], all.AmountStep[mga], all.AmountStep[currencyOf(t, "ISK")]}); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	settled := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) {
		o.SettlementCurrency, o.MinimumCharge = gbp, map[pricing.Currency]int64{eur: 60}
	}).processor.Abilities()
	want := map[pricing.Currency]int64{gbp: 30, eur: 60}
	if diff := cmp.Diff(want, settled.MinimumCharge); diff != "" {
		t.Errorf("settled in GBP (-want +got):\n%s", diff)
	}
}

// TestObjectsThatAlwaysMove: where somebody is always faster, the call can be repeated
// later, and is no refusal.
func TestObjectsThatAlwaysMove(t *testing.T) {
	t.Parallel()
	var w *world
	ours := map[string]string{"app": "couponkit", "couponId": "cpn_a"}
	w = newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) {
		f.Validator = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.Path == "/v1/promotion_codes" {
				if _, err := w.account.PlantCode("staff", "TEN", true, ours); err != nil {
					t.Error(err)
				}
			}
		})
	})
	require.NoError(t, w.account.PlantCoupon("staff", nil))
	_, err := w.processor.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN"))
	require.ErrorIs(t, err, processor.ErrUnavailable)
	for _, other := range []error{processor.ErrRejected, processor.ErrNotFound, processor.ErrForbidden} {
		if errors.Is(err, other) {
			t.Errorf("the error is %q and matches %q beside ErrUnavailable", err, other)
		}
	}
}

// TestRefusedCodeOfAnother: a promotion code is refused because another call has made it, and
// it is off again when this one looks why. The coupon behind it is the other's mirror.
func TestRefusedCodeOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := newCoupon(t, "a", "TEN")
	stored, lists := c, 0
	create := &meanwhile{method: http.MethodPost, path: "/promotion_codes", do: func() { stored = w.mirrored(c) }}
	slow := w.interrupted(create)
	look := &meanwhile{
		next: create.next, method: http.MethodGet, path: "/promotion_codes", when: func() bool { lists++; return lists == 2 },
		do: func() {
			stored = edited(stored, func(c *coupon.Coupon) { c.State = coupon.Inactive })
			var err error
			stored.Mirror, err = w.processor.SetMirrorActive(t.Context(), stored)
			require.NoError(t, err)
		},
	}
	create.next = look
	_, err := slow.EnsureMirror(t.Context(), c)
	require.NotErrorIs(t, err, processor.ErrRejected)
	require.GreaterOrEqual(t, lists, 2, "it looks why")
	status, err := w.anotherProcess().VerifyMirror(t.Context(), stored)
	require.NoError(t, err)
	require.NotEqual(t, processor.MirrorMissing, status)
}
