-- A gate knows the most that the coupon's other counters may have together, so that whoever
-- comes alone need not sum them up: where its own counts and that leave room, there is room. To
-- sum up costs a tenth of the claim.
--
-- While a coupon has a limit over all customers, its other counters only get less: what takes a
-- place is counted at the gate, what gives one back elsewhere, and a completion moves a count
-- within one counter. Of payments that come when the place was given back, or that have no
-- record, this was not so until now. What was counted while there was no limit is summed up when
-- there is one, and by this step.
LOCK TABLE {coupon_redemptions}, {coupon_counters} IN ACCESS EXCLUSIVE MODE; -- no call is about to count

ALTER TABLE {coupon_counters} ADD COLUMN elsewhere bigint; -- NULL if it is not known, and but in row 0

UPDATE {coupon_counters} s SET elsewhere = (
    SELECT coalesce(sum(k.completed + k.reserved), 0) FROM {coupon_counters} k WHERE k.coupon_id = s.coupon_id AND k.stripe > 0)
WHERE s.stripe = 0 AND s.max_uses IS NOT NULL;

-- couponkit_gate is as in step 8, and sums up when the terms of a limited coupon change. Uses
-- without a limit are counted under a lock of the coupon, which is waited for: whoever gives it
-- its first one by the store holds it alone, others may not. At a stricter level than READ
-- COMMITTED not all of them are seen, and the gate does not know.
CREATE OR REPLACE FUNCTION {couponkit_gate}() RETURNS trigger
LANGUAGE plpgsql
AS $couponkit$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO {coupon_counters} (coupon_id, stripe, completed, reserved, active, revision, max_uses, max_uses_per_user, elsewhere)
        OVERRIDING SYSTEM VALUE
        SELECT c.id, 0, 0, 0, c.state = 'active', c.revision, c.max_uses, c.max_uses_per_user, CASE WHEN c.max_uses IS NOT NULL THEN 0 END
        FROM added c;
        RETURN NULL;
    END IF;
    IF old.max_uses IS NULL AND new.max_uses IS NOT NULL THEN
        PERFORM FROM {coupons} c WHERE c.id = new.id FOR UPDATE;
    END IF;
    UPDATE {coupon_counters} s SET active = new.state = 'active', revision = new.revision,
        max_uses = new.max_uses, max_uses_per_user = new.max_uses_per_user,
        elsewhere = CASE WHEN new.max_uses IS NOT NULL AND NOT {couponkit_strict}() THEN (
            SELECT coalesce(sum(k.completed + k.reserved), 0) FROM {coupon_counters} k WHERE k.coupon_id = new.id AND k.stripe > 0) END
    WHERE s.coupon_id = new.id AND s.stripe = 0;
    RETURN NULL;
END
$couponkit$;

-- couponkit_count is as in step 9, but that what takes a place of a limited coupon is counted at
-- the gate, which comes first and is held by whoever takes one.
CREATE OR REPLACE FUNCTION {couponkit_count}(coupons text[], completed bigint[], reserved bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_column
BEGIN
    WITH change AS MATERIALIZED (
        SELECT w.coupon_id, w.completed, w.reserved, k.stripe, c.id AS added
        FROM (
            SELECT * FROM unnest(coupons, completed, reserved) AS w (coupon_id, completed, reserved)
            WHERE w.completed <> 0 OR w.reserved <> 0 ORDER BY w.coupon_id) w
        LEFT JOIN LATERAL (
            SELECT s.stripe FROM {coupon_counters} s
            WHERE s.coupon_id = w.coupon_id AND (s.max_uses IS NULL OR w.completed + w.reserved > 0)
            ORDER BY s.stripe LIMIT 1 FOR UPDATE SKIP LOCKED) k ON true
        LEFT JOIN LATERAL (
            SELECT c.id FROM {coupons} c WHERE c.id = w.coupon_id AND k.stripe IS NULL FOR KEY SHARE) c ON true
    ), counted AS (
        UPDATE {coupon_counters} s SET completed = s.completed + w.completed, reserved = s.reserved + w.reserved
        FROM change w WHERE s.coupon_id = w.coupon_id AND s.stripe = w.stripe
    )
    INSERT INTO {coupon_counters} (coupon_id, completed, reserved)
    SELECT w.added, w.completed, w.reserved FROM change w WHERE w.added IS NOT NULL;
END
$couponkit$;

-- couponkit_claim_single is as in step 22, but that it looks at the gate alone for room, and
-- sums up only if there is none.
CREATE OR REPLACE FUNCTION {couponkit_claim_single}(
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
    place          tid; -- the gate that was looked at
    seen           xid; -- who wrote it
    room           boolean;
    passed         text;
    holding        boolean := false;
    limit_of_all   bigint;
    limit_per_user bigint;
    judged         record;
    outcome        text;
BEGIN
    SELECT s.ctid, s.xmin, s.max_uses, s.completed + s.reserved + s.elsewhere < s.max_uses
    INTO place, seen, limit_of_all, room FROM {coupon_counters} s
    WHERE s.coupon_id = coupon AND s.stripe = 0 AND s.active AND (coupon_revision = 0 OR s.revision = coupon_revision)
        AND CASE WHEN s.max_uses_per_user IS NOT NULL OR origin = 'points'
            THEN (SELECT r.id FROM {coupon_redemptions} r WHERE r.coupon_id = coupon AND r.customer_id = customer LIMIT 1) IS NULL
            ELSE true END
        AND (quote IS NOT NULL OR (SELECT o.id FROM {orders} o WHERE o.customer_id = customer AND o.key = key) IS NULL);
    IF room IS NOT TRUE AND limit_of_all IS NOT NULL THEN -- but places may have been given back
        room := (SELECT sum(k.completed + k.reserved) FROM {coupon_counters} k WHERE k.coupon_id = coupon) < limit_of_all;
    END IF;
    IF room THEN
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
                    WHERE s.ctid = place AND s.xmin = seen;
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
