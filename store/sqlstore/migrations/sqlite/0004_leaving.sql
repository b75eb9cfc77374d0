-- Until then an expiry of its session does not release a live reservation
-- (redemption.Leaving).
ALTER TABLE {coupon_redemptions} ADD COLUMN leaving_until INTEGER;
