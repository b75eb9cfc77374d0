-- What a use of a coupon costs is mostly pages of indexes, each at a place of its
-- own: fewer of them.

-- The uses of one customer. The state is left out: a payment changes nothing here.
DROP INDEX {coupon_redemptions_usage_idx};
CREATE INDEX {coupon_redemptions_customer_idx} ON {coupon_redemptions} (coupon_id, customer_id);
-- One completed redemption for a session, and the look-up by session of all: in one.
DROP INDEX {coupon_redemptions_paid_key};
DROP INDEX {coupon_redemptions_session_idx};
CREATE UNIQUE INDEX {coupon_redemptions_session_key} ON {coupon_redemptions}
    (session_id, (CASE state WHEN 'completed' THEN '' ELSE id END)) WHERE session_id <> '';
