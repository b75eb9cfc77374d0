package pgxstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// TestRowsThatCannotBeRead: what somebody else has written into the tables is a
// failure of the database and never looks like the caller's mistake, or an answer.
func TestRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newTurns(t, 1)
	reserved, err := w.quick.Reserve(t.Context(), checkout(w.coupon, w.quote, "ann", "key", epoch))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		spoil string
		read  func(context.Context) error
	}{
		"a coupon": {`UPDATE coupons SET code = 'two words'`, func(ctx context.Context) error {
			_, err := w.quick.Coupon(ctx, w.coupon.ID)
			return err
		}},
		"a redemption": {`ALTER TABLE coupon_redemptions DROP CONSTRAINT coupon_redemptions_check;
			UPDATE coupon_redemptions SET state = 'gone'`, func(ctx context.Context) error {
			_, err := w.quick.Redemption(ctx, reserved.Redemption.ID)
			return err
		}},
		"an order": {`UPDATE orders SET quote = '{"lines": 1}'`, func(ctx context.Context) error {
			_, err := w.quick.Order(ctx, reserved.Order.ID)
			return err
		}},
	} {
		_, err := w.pool.Exec(t.Context(), c.spoil)
		require.NoError(t, err)
		err = c.read(t.Context())
		if err == nil {
			t.Errorf("%s: read as if nothing were wrong", name)
		}
		for _, answer := range []error{pricing.ErrInvalid, coupon.ErrNotFound, store.ErrNotFound, store.ErrConflict, redemption.ErrIllegal} {
			if errors.Is(err, answer) {
				t.Errorf("%s: %v looks like %v", name, err, answer)
			}
		}
	}
}
