package stripeprocessor_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
)

// TestLive runs against a real Stripe account in test mode, whose key STRIPE_TEST_KEY
// holds; it needs the permissions that the README names. It removes what it makes.
func TestLive(t *testing.T) {
	t.Parallel()
	key := os.Getenv("STRIPE_TEST_KEY")
	if key == "" {
		t.Skip("STRIPE_TEST_KEY is not set: set it to a test-mode key to run against a Stripe account")
	}
	if !strings.HasPrefix(key, "sk_test_") && !strings.HasPrefix(key, "rk_test_") {
		t.Fatal("STRIPE_TEST_KEY is not a test-mode key (sk_test_… or rk_test_…)")
	}
	run := fmt.Sprintf("%x", time.Now().UnixNano())
	p, err := stripeprocessor.New(key, stripeprocessor.Options{App: "couponkit-live-test", IDPrefix: "cklt"})
	require.NoError(t, err)
	liveMirror(t, p, run)
	liveSessions(t, p, run)
}

func liveMirror(t *testing.T, p *stripeprocessor.Processor, run string) {
	t.Helper()
	for name, draft := range map[string]coupon.Draft{
		"percent": {DiscountType: pricing.Percentage, Percent: "33.33"},
		"amount":  {DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "19.99"}, MaxUses: coupon.Set(5)},
	} {
		draft.Code, draft.Name = "CKLT-"+run+"-"+name, "couponkit live test, a name of more than forty characters"
		c, err := coupon.New(draft, coupon.Creation{ID: coupon.IDPrefix + run + name, At: time.Now()})
		require.NoError(t, err)
		t.Cleanup(func() {
			if err := p.RemoveMirror(t.Context(), c); err != nil {
				t.Errorf("left at Stripe: %+v: %v", c.Mirror, err)
			}
		})
		for _, step := range []struct {
			name   string
			change func(*coupon.Coupon)
			want   processor.MirrorStatus
		}{
			{"create", func(*coupon.Coupon) {}, processor.MirrorValid},
			{"again", func(c *coupon.Coupon) { c.Mirror = coupon.Mirror{} }, processor.MirrorValid},
			{"rename", func(c *coupon.Coupon) { c.Name = "Renamed" }, processor.MirrorValid},
			{"rotate", func(c *coupon.Coupon) { c.Limits.MaxUses, c.Revision = 9, c.Revision+1 }, processor.MirrorValid},
			{"off", func(c *coupon.Coupon) { c.State = coupon.Inactive }, processor.MirrorInvalid},
			{"on", func(c *coupon.Coupon) { c.State = coupon.Active }, processor.MirrorValid},
		} {
			step.change(&c)
			c.Mirror, err = p.UpdateMirror(t.Context(), c)
			require.NoError(t, err, step.name)
			status, err := p.VerifyMirror(t.Context(), c)
			require.NoError(t, err, step.name)
			require.Equal(t, step.want, status, step.name)
		}
		other := c
		other.ID, other.Mirror = c.ID+"x", coupon.Mirror{}
		_, err = p.EnsureMirror(t.Context(), other)
		require.ErrorIs(t, err, processor.ErrCodeTaken)
		require.NoError(t, p.RemoveMirror(t.Context(), c))
		status, err := p.VerifyMirror(t.Context(), c)
		require.NoError(t, err)
		require.NotEqual(t, processor.MirrorValid, status)
	}
}

func liveSessions(t *testing.T, p *stripeprocessor.Processor, run string) {
	t.Helper()
	w := &world{T: t, clock: newClock()}
	for _, r := range []processor.SessionRequest{w.request(run), w.subscription(run + "s")} {
		r.OrderID, r.ExpiresAt = "ord_"+run, time.Now().Add(time.Hour).Truncate(time.Second)
		first, err := p.CreateSession(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, r.Total, first.Total)
		again, err := p.CreateSession(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, first.ID, again.ID)
		ended, err := p.ExpireSession(t.Context(), first.ID)
		require.NoError(t, err)
		require.Equal(t, processor.SessionExpired, ended.Status)
	}
}
