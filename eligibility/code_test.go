package eligibility_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
)

// A code of a batch is refused by its own state, limit, owner and expiry, whatever its coupon.
func TestRefusalsOfACode(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	key, err := coupon.ParseCode("SPRING-1")
	require.NoError(t, err)
	ann := eligibility.Question{At: at, Customer: eligibility.Customer{ID: "ann", Email: "ann@example.org"}}
	for name, test := range map[string]struct {
		code coupon.IssuedCode
		ask  func(*eligibility.Question)
		want []coupon.RejectionCode
	}{
		"a good code":               {coupon.IssuedCode{Active: true}, nil, nil},
		"off":                       {coupon.IssuedCode{}, nil, []coupon.RejectionCode{coupon.CouponInactive}},
		"the instant of its expiry": {coupon.IssuedCode{Active: true, ExpiresAt: at}, nil, []coupon.RejectionCode{coupon.CouponExpired}},
		"the instant before":        {coupon.IssuedCode{Active: true, ExpiresAt: at.Add(time.Microsecond)}, nil, nil},
		"used up":                   {coupon.IssuedCode{Active: true, MaxUses: 2}, func(q *eligibility.Question) { q.Usage.ByCode = 2 }, []coupon.RejectionCode{coupon.UsageLimitReached}},
		"one use left":              {coupon.IssuedCode{Active: true, MaxUses: 2}, func(q *eligibility.Question) { q.Usage.ByCode = 1 }, nil},
		"its owner by ID":           {coupon.IssuedCode{Active: true, Owner: coupon.OwnerID("ann")}, nil, nil},
		"its owner by address":      {coupon.IssuedCode{Active: true, Owner: coupon.OwnerEmail("Ann@example.org")}, nil, nil},
		"another owner":             {coupon.IssuedCode{Active: true, Owner: coupon.OwnerID("bob")}, nil, []coupon.RejectionCode{coupon.UserNotAllowed}},
		"an owner, and nobody is known": {
			code: coupon.IssuedCode{Active: true, Owner: coupon.OwnerID("ann")},
			ask:  func(q *eligibility.Question) { q.Customer = eligibility.Customer{} },
			want: []coupon.RejectionCode{coupon.UserRequired},
		},
		"everything": {
			code: coupon.IssuedCode{MaxUses: 1, ExpiresAt: at, Owner: coupon.OwnerID("bob")},
			ask:  func(q *eligibility.Question) { q.Usage.ByCode = 1 },
			want: []coupon.RejectionCode{coupon.CouponInactive, coupon.CouponExpired, coupon.UsageLimitReached, coupon.UserNotAllowed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, q := test.code, ann
			code.Code, code.CouponID, code.Batch = key, "cpn_1", "spring"
			if test.ask != nil {
				test.ask(&q)
			}
			var got []coupon.RejectionCode
			for _, r := range eligibility.CheckCode(code, q) {
				got = append(got, r.Code)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	require.Empty(t, eligibility.CheckCode(coupon.IssuedCode{Code: key, CouponID: "cpn_1"}, ann), "the plain code has the state of its coupon")
}

// A code's limit is a claim that counts by coupon and key.
func TestTheLimitOfACode(t *testing.T) {
	t.Parallel()
	key, err := coupon.ParseCode("SPRING-1")
	require.NoError(t, err)
	code := coupon.IssuedCode{Code: key, CouponID: "cpn_1", Batch: "spring", MaxUses: 3, Active: true}
	claimant := eligibility.Claimant{Coupon: &coupon.Coupon{ID: "cpn_1"}, Code: code, Identities: []string{"ann"}, At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	var found bool
	for _, limit := range claimant.Limits() {
		if limit.Counter == eligibility.CodeUses("cpn_1", "SPRING-1") {
			found = true
			require.Equal(t, eligibility.Claim{Counter: limit.Counter, Amount: 1, Limit: 3}, limit.Claim)
			require.Equal(t, coupon.UsageLimitReached, limit.Reason)
		}
	}
	require.True(t, found)
	long := strings.Repeat("X", 200)
	require.Less(t, len(eligibility.CodeUses("cpn_1", long)), 128)
	require.NotEqual(t, eligibility.CodeUses("cpn_1", long), eligibility.CodeUses("cpn_1", long+"X"))
}

func TestClaimsAndCounts(t *testing.T) {
	t.Parallel()
	claim := eligibility.Claim{Counter: eligibility.CodeUses("cpn_1", "A"), Amount: 3, Limit: 5, Returned: 1}
	require.EqualValues(t, 2, claim.Held())
	require.True(t, claim.Fits(eligibility.Count{Reserved: 1, Completed: 1}), "up to the limit")
	require.False(t, claim.Fits(eligibility.Count{Reserved: 1, Completed: 2}), "above the limit")
	require.False(t, claim.Fits(eligibility.Count{Completed: math.MaxInt64 - 1}), "no overflow")
	claim.Limit = 0
	require.True(t, claim.Fits(eligibility.Count{Completed: math.MaxInt64 - 1}), "no limit")
	require.Equal(t, eligibility.Count{Reserved: 4, Completed: 6}, eligibility.Count{Reserved: 1, Completed: 2}.Plus(eligibility.Count{Reserved: 3, Completed: 4}))

	own := eligibility.Claim{Counter: eligibility.CustomerUses("cpn_1", "ann"), Amount: 1}
	other, is := own.OfIdentity("guest/1", "ann")
	require.True(t, is)
	require.Equal(t, eligibility.CustomerUses("cpn_1", "guest/1"), other.Counter)
	_, is = own.OfIdentity("guest/1", "bob")
	require.False(t, is, "of another customer")
	_, is = claim.OfIdentity("guest/1", "ann")
	require.False(t, is, "shared by all customers")
}
