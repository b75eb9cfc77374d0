-- A checkout is stored with its order, which has the same customer and key and is unique
-- by them: its redemption is in no index of keys, where each lies at a place of its own.
DROP INDEX {coupon_redemptions_key_key};
CREATE UNIQUE INDEX {coupon_redemptions_own_key} ON {coupon_redemptions} (customer_id, idempotency_key) WHERE origin <> 'checkout';
