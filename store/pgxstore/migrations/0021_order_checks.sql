-- One check of orders for four, as step 14 has it for redemptions: PostgreSQL reads the text
-- of every check once in each statement that stores rows, and a check of orders is in every
-- reservation of a checkout, every session and every payment. The check of redemptions has
-- the row for its argument, not fifteen columns, each of which is text to be read; that of
-- orders has not, since a row's quote may be long. Both ask for as little as says the same:
-- every comparison is prepared once in each transaction.
--
-- They are NOT VALID, so that a large table is not read while everybody waits: what is there
-- was checked when it was stored.
CREATE FUNCTION {couponkit_valid_order}(
    id text, key text, customer_id text, state text, coupon_id text, reservation_id text, discount_amount bigint,
    without_terms boolean) -- of its coupon
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $couponkit$
BEGIN
    RETURN '' <> ALL (ARRAY[id, key, customer_id])
        AND greatest(octet_length(id), octet_length(key), octet_length(customer_id)) <= 255
        AND state IN ('open', 'awaiting_payment', 'paid', 'cancelled')
        AND CASE coupon_id WHEN '' THEN without_terms ELSE reservation_id <> '' END
        AND discount_amount >= 0;
END
$couponkit$;

ALTER TABLE {orders}
    DROP CONSTRAINT {=orders_texts_check},
    DROP CONSTRAINT {=orders_state_check},
    DROP CONSTRAINT {=orders_coupon_check},
    DROP CONSTRAINT {=orders_discount_check},
    ADD CONSTRAINT {=orders_check} CHECK ({couponkit_valid_order}(
        id, key, customer_id, state, coupon_id, reservation_id, discount_amount, coupon IS NULL)) NOT VALID;

CREATE FUNCTION {couponkit_valid_redemption}(r {coupon_redemptions})
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $couponkit$
BEGIN
    RETURN '' <> ALL (ARRAY[r.id, r.key, r.coupon_id])
        AND greatest(octet_length(r.id), octet_length(r.key), octet_length(r.coupon_id),
            octet_length(r.customer_id), octet_length(r.order_id), octet_length(r.session_id)) <= 255
        AND CASE r.origin
            WHEN 'checkout' THEN '' <> ALL (ARRAY[r.customer_id, r.order_id])
            WHEN 'points' THEN r.customer_id <> ''
            ELSE r.origin = 'payment' END
        AND CASE r.points_state
            WHEN 'none' THEN r.origin <> 'points' AND r.points = 0
            ELSE r.points_state IN ('pending', 'debited', 'refund_due', 'refunded') AND r.origin = 'points' AND r.points >= 1 END
        AND CASE r.state
            WHEN 'reserved' THEN r.completed_at IS NULL AND r.released_at IS NULL AND NOT r.over_limit
            WHEN 'completed' THEN r.session_id <> '' AND r.completed_at IS NOT NULL AND r.released_at IS NULL
                AND r.deadline IS NULL AND NOT r.awaiting_payment
            WHEN 'released' THEN r.released_at IS NOT NULL AND r.completed_at IS NULL AND NOT r.over_limit
                AND r.deadline IS NULL AND NOT r.awaiting_payment
            ELSE false END;
END
$couponkit$;

ALTER TABLE {coupon_redemptions}
    DROP CONSTRAINT {=coupon_redemptions_check},
    ADD CONSTRAINT {=coupon_redemptions_check} CHECK ({couponkit_valid_redemption}({=coupon_redemptions})) NOT VALID;

DROP FUNCTION {couponkit_valid_redemption}(
    text, text, text, text, text, text, text, text, bigint, text, boolean, boolean, timestamptz, timestamptz, timestamptz);
