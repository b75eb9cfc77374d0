package coupon_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
)

// TestAddressesThatLookAlike: contract section 4.4. Letter case and white space around
// an address mean nothing; everything else does, however alike two addresses look.
func TestAddressesThatLookAlike(t *testing.T) {
	t.Parallel()
	set, err := coupon.NewEmailSet("kim.lee@example.org", "i@example.org")
	require.NoError(t, err)
	for _, same := range []string{"KIM.LEE@EXAMPLE.ORG", " kim.lee@example.org\t", "Kim.Lee@Example.Org"} {
		require.True(t, set.Has(same), "%q", same)
	}
	for name, other := range map[string]string{
		"Kelvin sign":             "\u212aim.lee@example.org",
		"dotted capital I":        "\u0130@example.org",
		"dotless i":               "\u0131@example.org",
		"Cyrillic letter":         "kim.l\u0435e@example.org",
		"full-width letters":      "ｋｉｍ.lee@example.org",
		"full-width at":           "kim.lee＠example.org",
		"sub-address":             "kim.lee+1@example.org",
		"without the dot":         "kimlee@example.org",
		"homograph domain":        "kim.lee@ex\u0430mple.org",
		"its punycode":            "kim.lee@xn--exmple-4nf.org",
		"soft hyphen":             "kim.\u00adlee@example.org",
		"zero-width space":        "kim.lee\u200b@example.org",
		"direction mark":          "\u202ekim.lee@example.org",
		"combining mark":          "kim.le\u0301e@example.org",
		"comment":                 "kim.lee(a)@example.org",
		"quoted":                  `"kim.lee"@example.org`,
		"display name":            "Kim <kim.lee@example.org>",
		"two addresses":           "kim.lee@example.org,i@example.org",
		"a line of its own":       "x@example.org\nkim.lee@example.org",
		"header":                  "kim.lee@example.org\r\nBcc: i@example.org",
		"NUL":                     "kim.lee@example.org\x00",
		"percent route":           "kim.lee%example.org@example.net",
		"a dot at the end":        "kim.lee@example.org.",
		"address literal":         "kim.lee@[127.0.0.1]",
		"byte that is no UTF-8":   "kim.lee\xff@example.org",
		"mathematical sans-serif": "\U0001d5c4im.lee@example.org",
	} {
		require.False(t, set.Has(other), "%s: %q is taken for an address of the list", name, other)
	}
}

// TestCodesThatLookAlike: contract section 4.1. What people type for the same is the
// same code; what only looks the same is another one, and what cannot be seen is none.
func TestCodesThatLookAlike(t *testing.T) {
	t.Parallel()
	ten, err := coupon.ParseCode("TEN")
	require.NoError(t, err)
	for _, same := range []string{"ten", " Ten\n", "ＴＥＮ", "\u3000ten\u3000", "ⓣⓔⓝ"} {
		code, err := coupon.ParseCode(same)
		require.NoError(t, err, "%q", same)
		require.Equal(t, ten, code, "%q", same)
	}
	for _, other := range []string{"T\u0415N", "\u0422EN", "TEN.", "TÉN"} {
		code, err := coupon.ParseCode(other)
		require.NoError(t, err, "%q", other)
		require.NotEqual(t, ten, code, "%q", other)
	}
	for _, none := range []string{"T\u200bEN", "T EN", "TE\x00N", "TEN\u202e", "\ufeff", "TE\nN", "T\u2060EN", "\xff"} {
		_, err := coupon.ParseCode(none)
		require.Error(t, err, "%q", none)
	}
}
