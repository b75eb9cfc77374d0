package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/validation"
)

// TestDocumentsComeBack: what a SQL store keeps in documents is read as it was written.
func TestDocumentsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(pricingtest.CartOptions{MaxLines: 5}).Draw(t, "cart")
		c := coupontest.For(cart).Draw(t, "coupon")
		c.AllowedUserEmails = coupon.EmailSet{}
		document, err := engine.EncodeCoupon(c)
		require.NoError(t, err)
		back := coupon.Coupon{
			ID: c.ID, Revision: c.Revision, Terms: coupon.Terms{
				StartsAt: c.StartsAt, ExpiresAt: c.ExpiresAt,
			},
			CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, UsedCount: c.UsedCount, ReservedCount: c.ReservedCount,
		}
		require.NoError(t, engine.ReadCoupon(&back, c.Code.String(), c.State.String(), 0, document))
		require.Empty(t, cmp.Diff(c, back))

		quote, err := pricing.Price(cart, pricing.Terms{})
		require.NoError(t, err)
		o := redemption.Order{
			ID: "ord", State: redemption.OrderOpen, Fingerprint: "f", Replaces: "ord_before", Quote: quote, Coupons: []coupon.Snapshot{c.Snapshot()},
			Metadata: map[string]string{"k": "v"},
		}
		document, err = engine.AppendOrder(nil, &o)
		require.NoError(t, err)
		order := redemption.Order{ID: o.ID}
		require.NoError(t, engine.ReadOrder(&order, "open", document))
		require.Empty(t, cmp.Diff(o, order))
	})
}

// FuzzDocuments: whatever stands in a document, it is read and written the same, or it is a
// failure that is not taken for invalid input of a caller.
func FuzzDocuments(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`[{"counter":"shared/uses/cpn","amount":1,"limit":3}]`))
	f.Add([]byte(`[{"counter":"","amount":1},{}]`))
	f.Add([]byte(`{"metadata":{"k":"v"},"fingerprint":"f"}`))
	f.Add([]byte(`{"metadata":{},"coupons":[],"refunds":[],"externalRefunds":[],"disputes":[],"origin":"points"}`))
	f.Add([]byte(`{"origin":"points","points":5,"discount":-1}`))
	f.Add([]byte(`{"origin":"checkout","currency":"EUR","discount":"45.00","returned":"1e1"}`))
	f.Add([]byte(`{"disputes":[{"id":"dp","currency":"EUR","state":"open","amount":"45.00"}],"externalRefunds":[{"id":"re","state":"pending","amount":"45","tax":"7"}]}`))
	f.Add([]byte(`{"disputes":[{}]}`)) // a dispute without a state
	f.Add([]byte(`{"otherPayments":[{"sessionId":"cs","charge":{"currency":"JPY","amount":"45"},"returned":"45"}]}`))
	f.Add([]byte(`{"name":"Ten","termsVersion":1,"terms":{"discountType":"PERCENTAGE","discountValue":"10","currency":"EUR","appliesTo":"ALL","distribution":"GENERAL","refundPolicy":"keep"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var o, o2 redemption.Order
		var u, u2 redemption.Use
		var c, c2 coupon.Coupon
		again(t, engine.ReadOrder(&o, "open", data), func() ([]byte, error) { return engine.AppendOrder(nil, &o) }, func(d []byte) error { return engine.ReadOrder(&o2, "open", d) }, &o, &o2)
		again(t, engine.ReadUse(&u, "reserved", "none", data), func() ([]byte, error) { return engine.AppendUse(nil, &u) }, func(d []byte) error { return engine.ReadUse(&u2, "reserved", "none", d) }, &u, &u2)
		claims, err := engine.DecodeClaims("use", "use_1", data)
		var claims2 []eligibility.Claim
		again(t, err, func() ([]byte, error) { return engine.AppendClaims(nil, claims), nil }, func(d []byte) (err error) {
			claims2, err = engine.DecodeClaims("use", "use_1", d)
			return err
		}, &claims, &claims2)
		again(t, engine.ReadCoupon(&c, "TEN", "active", 0, data), func() ([]byte, error) { return engine.EncodeCoupon(c) }, func(d []byte) error { return engine.ReadCoupon(&c2, "TEN", "active", 0, d) }, &c, &c2)
	})
}

func again(t *testing.T, err error, encode func() ([]byte, error), decode func([]byte) error, first, second any) {
	t.Helper()
	if err != nil {
		if errors.Is(err, validation.ErrInvalid) {
			t.Errorf("%v matches invalid input", err)
		}
		return
	}
	document, err := encode()
	if err != nil {
		return // the zero value of a currency or a discount cannot be written
	}
	if err := decode(document); err != nil {
		t.Errorf("%s cannot be read: %v", document, err)
		return
	}
	rewritten, err := encode()
	if err != nil || string(rewritten) != string(document) {
		t.Errorf("%s is written as %s, %v", document, rewritten, err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("read again (-first +second):\n%s", diff)
	}
}

// What is stored is read as it stands: another version of the library may have made the key.
func TestStoredKeysAreReadAsTheyStand(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cart := pricingtest.Cart(pricingtest.CartOptions{MaxLines: 2}).Draw(t, "cart")
		c := coupontest.For(cart).Draw(t, "coupon")
		key := rapid.SampledFrom([]string{"SALE\U0001fae9", "\ua7cb10", "lower", "with space", "\u200b", "\u0378", "e\u0301"}).Draw(t, "key")
		document, err := engine.EncodeCoupon(c)
		require.NoError(t, err)
		read := coupon.Coupon{ID: c.ID}
		require.NoError(t, engine.ReadCoupon(&read, key, "active", 0, document))
		require.Equal(t, key, read.Code.String())

		document, err = engine.AppendOrder(nil, &redemption.Order{ID: "ord", Coupons: []coupon.Snapshot{read.Snapshot()}})
		require.NoError(t, err)
		order := redemption.Order{ID: "ord"}
		require.NoError(t, engine.ReadOrder(&order, "open", document))
		require.Equal(t, key, order.Coupons[0].Code.String())
	})
}

// What is empty has one form, however a document writes it and whichever store keeps it.
func TestWhatIsEmptyHasOneForm(t *testing.T) {
	t.Parallel()
	for _, none := range []string{
		`{"origin":"points"`, `{"origin":"points","metadata":{},"coupons":[],"refunds":[],"externalRefunds":[],"disputes":[]`,
		`{"origin":"points","metadata":null,"coupons":null,"refunds":null,"externalRefunds":null,"disputes":null`,
	} {
		var o redemption.Order
		require.NoError(t, engine.ReadOrder(&o, "open", []byte(none+"}")))
		require.Equal(t, redemption.Order{State: redemption.OrderOpen}, o)
		var u redemption.Use
		require.NoError(t, engine.ReadUse(&u, "reserved", "none", []byte(none+"}")))
		require.Equal(t, redemption.Use{State: redemption.Reserved, Origin: redemption.FromPoints}, u)
	}
	empty := redemption.Order{
		Metadata: map[string]string{}, Claims: []eligibility.Claim{}, Coupons: []coupon.Snapshot{}, Refunds: []redemption.Refund{},
		ExternalRefunds: []redemption.ExternalRefund{}, Disputes: []redemption.Dispute{},
	}
	require.Equal(t, redemption.Order{}, empty.Clone())
	require.Equal(t, redemption.Use{}, redemption.Use{Claims: []eligibility.Claim{}}.Clone())

	const terms = `{"name":"Ten","terms":{"discountType":"PERCENTAGE","discountValue":"10","currency":"EUR","appliesTo":"ALL","distribution":"GENERAL","refundPolicy":"keep"`
	var want coupon.Coupon
	require.NoError(t, engine.ReadCoupon(&want, "TEN", "active", 0, []byte(terms+"}}")))
	for _, none := range []string{
		`,"planIds":[],"deviceIds":[],"kinds":[],"categories":[],"periodLimits":[],"customerTags":{"any":[],"all":[],"none":[]}`,
		`,"planIds":null,"deviceIds":null,"kinds":null,"categories":null,"periodLimits":null,"customerTags":null,"budget":null,"minPurchase":null,"schedule":null`,
	} {
		var c coupon.Coupon
		require.NoError(t, engine.ReadCoupon(&c, "TEN", "active", 0, []byte(terms+none+"}}")), none)
		require.Equal(t, want, c, none)
	}
}

// A member that this version does not know refuses the coupon. The error names the version that has
// written the document, if that is a later one.
func TestADocumentOfALaterVersion(t *testing.T) {
	t.Parallel()
	for version, names := range map[int]bool{coupon.TermsVersion: false, coupon.TermsVersion + 1: true} {
		text := fmt.Sprintf(`{"name":"Ten","termsVersion":%d,"terms":{"discountType":"PERCENTAGE","discountValue":"10","currency":"EUR",`+
			`"appliesTo":"ALL","distribution":"GENERAL","refundPolicy":"keep","weather":"rain"},"mirror":{}}`, version)
		c := coupon.Coupon{ID: "cpn_1"}
		err := engine.ReadCoupon(&c, "TEN", "active", 0, []byte(text))
		require.ErrorContains(t, err, "cpn_1")
		require.ErrorContains(t, err, "weather")
		require.NotErrorIs(t, err, validation.ErrInvalid)
		require.Equal(t, names, strings.Contains(err.Error(), fmt.Sprintf("version %d", version)), err)
		require.Equal(t, coupon.Coupon{ID: "cpn_1"}, c)
	}
}
