package eligibility_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/validation"
)

// TestBoundsOfACustomer: every field that is out of bounds is named, and the bounds are inclusive.
func TestBoundsOfACustomer(t *testing.T) {
	t.Parallel()
	many := func(n int, text string) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = text
		}
		return list
	}
	longest := eligibility.Customer{
		Aliases: many(eligibility.MaxAliases, strings.Repeat("a", eligibility.MaxAliasLength)),
		Tags:    many(eligibility.MaxTags, strings.Repeat("ä", coupon.MaxTagLength)),
	}
	require.NoError(t, longest.Validate())
	require.NoError(t, eligibility.Customer{}.Validate())
	for name, test := range map[string]struct {
		c    eligibility.Customer
		want map[string]validation.Code
	}{
		"too many": {
			eligibility.Customer{Aliases: many(eligibility.MaxAliases+1, "a"), Tags: many(eligibility.MaxTags+1, "t")},
			map[string]validation.Code{"aliases": validation.TooLong, "tags": validation.TooLong},
		},
		"every fault at once": {
			eligibility.Customer{
				Aliases: []string{"card", "", strings.Repeat("a", eligibility.MaxAliasLength+1)},
				Tags:    []string{"\xff", strings.Repeat("t", coupon.MaxTagLength+1), "gold"}, EarlierOrders: -1,
			},
			map[string]validation.Code{
				"aliases[1]": validation.Required, "aliases[2]": validation.TooLong,
				"tags[0]": validation.Malformed, "tags[1]": validation.TooLong, "earlierOrders": validation.TooSmall,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := (*validation.Error)(nil)
			require.ErrorAs(t, test.c.Validate(), &faults)
			got := map[string]validation.Code{}
			for _, f := range faults.Fields {
				got[f.Path] = f.Code
			}
			require.Empty(t, cmp.Diff(test.want, got))
		})
	}
}

// TestAGuestUsesGeneralCoupons: nobody has verified a guest's address, so that the allow-list and
// points of a customer are not theirs.
func TestAGuestUsesGeneralCoupons(t *testing.T) {
	t.Parallel()
	for distribution, allowed := range map[coupon.Distribution]bool{
		coupon.General: true, coupon.UserSpecific: false, coupon.PointsRedeemable: false,
	} {
		s := sound()
		s.coupon.Distribution, s.question.Customer.Guest = distribution, true
		d := eligibility.Check(&s.coupon, s.question)
		require.Equal(t, !allowed, d.Has(coupon.UserRequired), distribution.String())
		if !allowed {
			require.Equal(t, coupon.UserRequired, d.Headline())
		}
	}
}
