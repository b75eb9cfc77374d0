-- couponkit_claim_single is couponkit_claim_one of step 19 but for how it answers: with one
-- value, which is NULL where a place was reserved and there is nothing more to say. A row of
-- several, for which a function stands in FROM, costs a tenth of the claim. What only an
-- order has stands last and may be left out, as exchanges do.
--
-- Otherwise it answers {outcome, held, limit of all, limit of each customer, passed}; passed
-- is not NULL if the first try was in vain, since somebody has passed the gate meanwhile.
CREATE FUNCTION {couponkit_claim_single}(
    id text, key text, coupon text, customer text, origin text, points bigint, points_state text, order_id text,
    session_id text, deadline timestamptz, created timestamptz, updated timestamptz, coupon_revision bigint,
    crowded boolean,
    fingerprint text DEFAULT '', order_state text DEFAULT '', order_session text DEFAULT '', order_url text DEFAULT '',
    discount bigint DEFAULT 0, order_deadline timestamptz DEFAULT NULL, order_created timestamptz DEFAULT NULL,
    order_updated timestamptz DEFAULT NULL, quote text DEFAULT NULL, snapshot text DEFAULT NULL, metadata text DEFAULT NULL)
RETURNS text[]
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_variable
DECLARE
    seen           xid; -- who wrote the gate that was looked at
    passed         text;
    holding        boolean := false;
    limit_of_all   bigint;
    limit_per_user bigint;
    judged         record;
    outcome        text;
BEGIN
    SELECT s.xmin INTO seen FROM {coupon_counters} s
    WHERE s.coupon_id = coupon AND s.stripe = 0 AND s.active AND (coupon_revision = 0 OR s.revision = coupon_revision)
        AND (SELECT sum(k.completed + k.reserved) FROM {coupon_counters} k WHERE k.coupon_id = coupon) < s.max_uses
        AND CASE WHEN s.max_uses_per_user IS NOT NULL OR origin = 'points'
            THEN (SELECT r.id FROM {coupon_redemptions} r WHERE r.coupon_id = coupon AND r.customer_id = customer LIMIT 1) IS NULL
            ELSE true END
        AND (quote IS NOT NULL OR (SELECT o.id FROM {orders} o WHERE o.customer_id = customer AND o.key = key) IS NULL);
    IF FOUND THEN
        INSERT INTO {coupon_redemptions} (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
            points, points_state, deadline, created_at, updated_at)
        VALUES (id, key, coupon, customer, 'reserved', origin, order_id, session_id,
            points, points_state, deadline, created, updated)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            IF quote IS NOT NULL THEN
                INSERT INTO {orders} (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
                    discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
                VALUES (order_id, key, fingerprint, customer, order_state, coupon, id, discount, order_session, order_url,
                    order_deadline, order_created, order_updated, quote::jsonb, snapshot::jsonb, metadata::jsonb)
                ON CONFLICT DO NOTHING;
            END IF;
            IF FOUND THEN
                IF NOT crowded THEN
                    UPDATE {coupon_counters} s SET reserved = s.reserved + 1
                    WHERE s.coupon_id = coupon AND s.stripe = 0 AND s.xmin = seen;
                    IF FOUND THEN
                        RETURN NULL;
                    END IF;
                    passed := 'passed';
                END IF;
                UPDATE {coupon_counters} s SET reserved = s.reserved + 1
                WHERE s.coupon_id = coupon AND s.stripe = 0 AND s.max_uses IS NOT NULL AND s.active
                    AND (coupon_revision = 0 OR s.revision = coupon_revision)
                RETURNING s.max_uses, s.max_uses_per_user INTO limit_of_all, limit_per_user;
                IF FOUND THEN
                    -- What those who held the gate before have done is seen from here on.
                    IF (SELECT sum(k.completed + k.reserved) FROM {coupon_counters} k WHERE k.coupon_id = coupon) <= limit_of_all
                        AND (CASE
                            WHEN origin = 'points' THEN (SELECT r.id FROM {coupon_redemptions} r
                                WHERE r.coupon_id = coupon AND r.customer_id = customer AND r.id <> id LIMIT 1) IS NULL
                            WHEN limit_per_user IS NOT NULL THEN (SELECT count(*) FROM {coupon_redemptions} r
                                WHERE r.coupon_id = coupon AND r.customer_id = customer AND r.state <> 'released') <= limit_per_user
                            ELSE true END)
                    THEN
                        IF passed IS NULL THEN
                            RETURN NULL;
                        END IF;
                        RETURN ARRAY['reserved', NULL, NULL, NULL, passed];
                    END IF;
                    UPDATE {coupon_counters} s SET reserved = s.reserved - 1 WHERE s.coupon_id = coupon AND s.stripe = 0;
                END IF;
                holding := true;
                DELETE FROM {orders} o WHERE o.id = order_id AND quote IS NOT NULL;
            END IF;
            DELETE FROM {coupon_redemptions} r WHERE r.id = id;
        END IF;
    END IF;
    judged := {couponkit_claim_many}(ARRAY[coupon], ARRAY[1::bigint], ARRAY[1], ARRAY[id], ARRAY[key], ARRAY[customer],
        ARRAY[origin], ARRAY[points], ARRAY[points_state], ARRAY[order_id], ARRAY[session_id], ARRAY[deadline],
        ARRAY[created], ARRAY[updated], ARRAY[coupon_revision], ARRAY[fingerprint], ARRAY[order_state],
        ARRAY[order_session], ARRAY[order_url], ARRAY[discount], ARRAY[order_deadline], ARRAY[order_created],
        ARRAY[order_updated], CASE WHEN quote IS NULL THEN '{}' ELSE ARRAY[quote] END, ARRAY[snapshot], ARRAY[metadata], true, holding);
    outcome := coalesce(judged.outcomes[1], 'reserved');
    limit_of_all := judged.limits[1];
    limit_per_user := judged.limits_per_user[1];
    IF outcome = 'reserved' AND limit_of_all IS NULL AND limit_per_user IS NOT NULL AND {couponkit_strict}() THEN
        PERFORM {couponkit_hold_released}(coupon, customer);
    END IF;
    RETURN ARRAY[outcome, judged.held[1], limit_of_all::text, limit_per_user::text, passed];
END
$couponkit$;

-- couponkit_claim_one stays for processes that were built before this step.
CREATE OR REPLACE FUNCTION {couponkit_claim_one}(
    id text, key text, coupon text, customer text, origin text, points bigint, points_state text, order_id text,
    session_id text, deadline timestamptz, created timestamptz, updated timestamptz, coupon_revision bigint,
    fingerprint text, order_state text, order_session text, order_url text, discount bigint,
    order_deadline timestamptz, order_created timestamptz, order_updated timestamptz,
    quote text, snapshot text, metadata text,
    crowded boolean,
    OUT outcome text, OUT held text, OUT limit_of_all bigint, OUT limit_per_user bigint, OUT passed boolean)
LANGUAGE plpgsql VOLATILE
AS $couponkit$
DECLARE
    answer text[] := {couponkit_claim_single}(id, key, coupon, customer, origin, points, points_state, order_id, session_id,
        deadline, created, updated, coupon_revision, crowded, fingerprint, order_state, order_session, order_url, discount,
        order_deadline, order_created, order_updated, quote, snapshot, metadata);
BEGIN
    outcome := coalesce(answer[1], 'reserved');
    held := answer[2];
    limit_of_all := answer[3];
    limit_per_user := answer[4];
    passed := answer[5] IS NOT NULL;
END
$couponkit$;
