-- A coupon that is made under the ID of a deleted one, while a payment for that one is
-- recorded, counts it or is refused. Neither transaction saw what the other had not yet
-- committed: the payment was counted nowhere, and the coupon had a use that it did not count.
-- Both hold the ID now, the payment if it finds no coupon of that ID. Then whoever is second
-- looks, and sees what the first has done.

-- couponkit_hold_id holds the ID of a coupon, of which there need be none, until the
-- transaction ends.
CREATE FUNCTION {couponkit_hold_id}(coupon text) RETURNS void
LANGUAGE sql VOLATILE
AS $couponkit$
    SELECT pg_advisory_xact_lock(hashtextextended($name${coupons} $name$ || coupon, 0))
$couponkit$;

-- couponkit_used reports whether there is a redemption of a coupon that this transaction has
-- made.
CREATE FUNCTION {couponkit_used}(coupon text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $couponkit$
BEGIN
    PERFORM {couponkit_hold_id}(coupon);
    RETURN EXISTS (SELECT FROM {coupon_redemptions} r WHERE r.coupon_id = coupon);
END
$couponkit$;

-- couponkit_lock is as in step 8, and holds the IDs of which there is no coupon.
CREATE OR REPLACE FUNCTION {couponkit_lock}(coupons text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE
AS $couponkit$
DECLARE
    limited text[];
    others  text[];
BEGIN
    limited := ARRAY(SELECT s.coupon_id FROM {coupon_counters} s
        WHERE s.coupon_id = ANY (coupons) AND s.stripe = 0 AND s.max_uses IS NOT NULL
        ORDER BY s.coupon_id FOR NO KEY UPDATE);
    IF cardinality(limited) < cardinality(coupons) THEN
        others := ARRAY(SELECT c.id FROM {coupons} c
            WHERE c.id = ANY (coupons) AND c.id <> ALL (limited) ORDER BY c.id FOR KEY SHARE);
        IF cardinality(limited) + cardinality(others) < cardinality(coupons) THEN
            PERFORM {couponkit_hold_id}(m.id) FROM (
                SELECT u.id FROM unnest(coupons) AS u (id) WHERE u.id <> ALL (limited || others) ORDER BY u.id) m;
        END IF;
    END IF;
    RETURN limited;
END
$couponkit$;
