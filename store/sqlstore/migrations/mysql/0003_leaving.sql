-- Until then an expiry of its session does not release a live reservation
-- (redemption.Leaving). The step can be repeated after a crash, as the one before.

SET @couponkit_step = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = '{coupon_redemptions}' AND column_name = 'leaving_until'),
    'DO 0',
    'ALTER TABLE {coupon_redemptions} ADD COLUMN leaving_until BIGINT');

PREPARE couponkit_step FROM @couponkit_step;

EXECUTE couponkit_step;

DEALLOCATE PREPARE couponkit_step;
