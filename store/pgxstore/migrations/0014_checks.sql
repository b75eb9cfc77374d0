-- One check of redemptions for four. PostgreSQL reads the text of every check once in each
-- statement that stores rows, which took longer than storing one: two thirds of it. The
-- body of a function it reads once in each session.
--
-- The check says what the four said. It is NOT VALID, so that a large table is not read
-- while everybody waits: what is there was checked when it was stored, and what is stored
-- from now on is checked.
CREATE FUNCTION {couponkit_valid_redemption}(
    id text, key text, coupon_id text, customer_id text, state text, origin text, order_id text, session_id text,
    points bigint, points_state text, awaiting_payment boolean, over_limit boolean,
    deadline timestamptz, completed_at timestamptz, released_at timestamptz)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $couponkit$
BEGIN
    RETURN id <> '' AND octet_length(id) <= 255 AND key <> '' AND octet_length(key) <= 255
        AND coupon_id <> '' AND octet_length(coupon_id) <= 255 AND octet_length(customer_id) <= 255
        AND octet_length(order_id) <= 255 AND octet_length(session_id) <= 255
        AND CASE origin
            WHEN 'checkout' THEN customer_id <> '' AND order_id <> ''
            WHEN 'points' THEN customer_id <> ''
            WHEN 'payment' THEN true
            ELSE false END
        AND CASE points_state
            WHEN 'none' THEN origin <> 'points' AND points = 0
            WHEN 'pending' THEN origin = 'points' AND points >= 1
            WHEN 'debited' THEN origin = 'points' AND points >= 1
            WHEN 'refund_due' THEN origin = 'points' AND points >= 1
            WHEN 'refunded' THEN origin = 'points' AND points >= 1
            ELSE false END
        AND CASE state
            WHEN 'reserved' THEN completed_at IS NULL AND released_at IS NULL AND NOT over_limit
            WHEN 'completed' THEN session_id <> '' AND completed_at IS NOT NULL AND released_at IS NULL
                AND deadline IS NULL AND NOT awaiting_payment
            WHEN 'released' THEN released_at IS NOT NULL AND completed_at IS NULL AND NOT over_limit
                AND deadline IS NULL AND NOT awaiting_payment
            ELSE false END;
END
$couponkit$;

ALTER TABLE {coupon_redemptions}
    DROP CONSTRAINT {=coupon_redemptions_texts_check},
    DROP CONSTRAINT {=coupon_redemptions_origin_check},
    DROP CONSTRAINT {=coupon_redemptions_points_check},
    DROP CONSTRAINT {=coupon_redemptions_state_check},
    ADD CONSTRAINT {=coupon_redemptions_check} CHECK ({couponkit_valid_redemption}(
        id, key, coupon_id, customer_id, state, origin, order_id, session_id, points, points_state,
        awaiting_payment, over_limit, deadline, completed_at, released_at)) NOT VALID;
