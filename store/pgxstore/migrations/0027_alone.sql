-- couponkit_claim_alone is the usual case of couponkit_claim_single, for a reservation that is a
-- transaction of its own: a place is left, and nobody passes the gate between the look at it and
-- the place that is taken. Whatever else is met is left to that function, with nothing stored,
-- but for an ID or a session that another redemption has: this is an error here, since to look
-- for them would be two looks more in each claim. Only the key, which comes again and again, is
-- looked for.
--
-- It has no settings, of which a single one costs a twentieth of it. Its plans are generic
-- without: looking for one row costs the same for all values, and to plan costs more. Nor is a
-- plan that was made for small tables one that reads all of their rows later: the planner takes
-- couponkit_by_index, which is asked hardly ever, to be asked of each row that is read, and to
-- be dear. This does for five rows and more; a plan that was made for less is made anew when the
-- table was analyzed next, as autovacuum does when fifty rows have come.
CREATE FUNCTION {couponkit_by_index}(id text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000
AS $couponkit$ BEGIN RETURN true; END $couponkit$;

CREATE FUNCTION {couponkit_claim_alone}(
    id text, key text, coupon text, customer text, origin text, points bigint, points_state text, order_id text,
    session_id text, deadline timestamptz, created timestamptz, updated timestamptz, coupon_revision bigint,
    fingerprint text DEFAULT '', order_state text DEFAULT '', order_session text DEFAULT '', order_url text DEFAULT '',
    discount bigint DEFAULT 0, order_deadline timestamptz DEFAULT NULL, order_created timestamptz DEFAULT NULL,
    order_updated timestamptz DEFAULT NULL, quote text DEFAULT NULL, snapshot text DEFAULT NULL, metadata text DEFAULT NULL)
RETURNS text[]
LANGUAGE plpgsql VOLATILE
AS $couponkit$
#variable_conflict use_variable
DECLARE
    place  tid; -- the gate that was looked at
    seen   xid; -- who wrote it
    room   boolean;
    passed boolean := false;
    answer text[];
BEGIN
    SELECT s.ctid, s.xmin, s.completed + s.reserved + s.elsewhere < s.max_uses
    INTO place, seen, room FROM {coupon_counters} s
    WHERE s.coupon_id = coupon AND s.stripe = 0 AND (s.stripe = 0 OR {couponkit_by_index}(s.coupon_id))
        AND s.active AND (coupon_revision = 0 OR s.revision = coupon_revision)
        AND CASE WHEN s.max_uses_per_user IS NOT NULL OR origin = 'points'
            THEN (SELECT r.id FROM {coupon_redemptions} r
                WHERE r.coupon_id = coupon AND r.customer_id = customer AND {couponkit_by_index}(r.id) LIMIT 1) IS NULL
            ELSE true END
        AND (quote IS NOT NULL OR (SELECT o.id FROM {orders} o
            WHERE o.customer_id = customer AND o.key = key AND {couponkit_by_index}(o.id)) IS NULL);
    IF room THEN
        INSERT INTO {coupon_redemptions} (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
            points, points_state, deadline, created_at, updated_at)
        VALUES (id, key, coupon, customer, 'reserved', origin, order_id, session_id,
            points, points_state, deadline, created, updated)
        ON CONFLICT ON CONSTRAINT {=coupon_redemptions_key_key} DO NOTHING;
        IF FOUND THEN
            IF quote IS NOT NULL THEN
                INSERT INTO {orders} (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
                    discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
                VALUES (order_id, key, fingerprint, customer, order_state, coupon, id, discount, order_session, order_url,
                    order_deadline, order_created, order_updated, quote::jsonb, snapshot::jsonb, metadata::jsonb)
                ON CONFLICT DO NOTHING;
            END IF;
            IF FOUND THEN
                UPDATE {coupon_counters} s SET reserved = s.reserved + 1
                WHERE s.ctid = place AND s.xmin = seen AND (s.stripe = 0 OR {couponkit_by_index}(s.coupon_id));
                IF FOUND THEN
                    RETURN NULL;
                END IF;
                passed := true;
                DELETE FROM {orders} o WHERE o.id = order_id AND quote IS NOT NULL;
            END IF;
            DELETE FROM {coupon_redemptions} r WHERE r.id = id;
        END IF;
    END IF;
    answer := {couponkit_claim_single}(id, key, coupon, customer, origin, points, points_state, order_id, session_id,
        deadline, created, updated, coupon_revision, passed, fingerprint, order_state, order_session, order_url,
        discount, order_deadline, order_created, order_updated, quote, snapshot, metadata);
    IF passed THEN
        answer := coalesce(answer, ARRAY['reserved', NULL, NULL, NULL, NULL]);
        answer[5] := 'passed';
    END IF;
    RETURN answer;
END
$couponkit$;
