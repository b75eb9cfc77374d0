-- Counting and reserving. A function decides under locks that it takes first, in
-- statements of their own: at READ COMMITTED, the isolation that it is written for,
-- the statement after them sees all that former holders of the locks have done.
--
-- Plans are generic and by index, and rows are found by subqueries that cannot be
-- turned into joins: a plan that was made while the tables were empty must still
-- be right when they are full.

-- couponkit_count adds to the counts of coupons, without a lock that anybody waits
-- for. A coupon that was deleted counts no more. A coupon is named at most once.
CREATE FUNCTION {couponkit_count}(coupons text[], completed bigint[], reserved bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_column
BEGIN
    WITH change AS MATERIALIZED (
        SELECT w.coupon_id, w.completed, w.reserved
        FROM unnest(coupons, completed, reserved) AS w (coupon_id, completed, reserved)
        WHERE w.completed <> 0 OR w.reserved <> 0
    ), free AS MATERIALIZED (
        SELECT c.coupon_id, k.stripe, c.completed, c.reserved
        FROM change c CROSS JOIN LATERAL (
            SELECT s.stripe FROM {coupon_counters} s WHERE s.coupon_id = c.coupon_id
            ORDER BY s.stripe LIMIT 1 FOR UPDATE SKIP LOCKED) k
    ), counted AS (
        UPDATE {coupon_counters} s SET completed = s.completed + f.completed, reserved = s.reserved + f.reserved
        FROM free f WHERE s.coupon_id = f.coupon_id AND s.stripe = f.stripe
        RETURNING s.coupon_id
    )
    INSERT INTO {coupon_counters} (coupon_id, completed, reserved)
    SELECT c.id, w.completed, w.reserved
    FROM change w JOIN {coupons} c ON c.id = w.coupon_id
    WHERE NOT EXISTS (SELECT FROM counted k WHERE k.coupon_id = w.coupon_id)
    FOR KEY SHARE OF c;
END
$couponkit$;

-- couponkit_lock holds coupons until the transaction ends: those with a limit over
-- all customers alone, the others together with everybody who does not change
-- their terms. It returns the former. coupons is sorted and names each once.
CREATE FUNCTION {couponkit_lock}(coupons text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE
AS $couponkit$
DECLARE
    limited text[];
BEGIN
    limited := ARRAY(SELECT c.id FROM {coupons} c WHERE c.id = ANY (coupons) AND c.max_uses IS NOT NULL
        ORDER BY c.id FOR NO KEY UPDATE);
    IF cardinality(limited) < cardinality(coupons) THEN
        PERFORM FROM {coupons} c WHERE c.id = ANY (coupons) ORDER BY c.id FOR KEY SHARE;
    END IF;
    RETURN limited;
END
$couponkit$;

-- couponkit_reserve keeps places. Entry i of every array but the first is request
-- i; a request without an order has no quote. A customer is named at most once.
-- It returns the outcome of each request:
--
--   reserved      stored, with its order
--   known         the customer used the key before
--   held          the customer holds the reservation by points in held
--   unknown       there is no such coupon
--   inactive      the coupon is not active
--   stale         the coupon has another revision
--   used_up       no place is left over all customers
--   user_used_up  none for this customer
--   both_used_up  neither
--   conflict      the ID of the redemption exists
CREATE FUNCTION {couponkit_reserve}(
    coupons text[], -- every coupon once, sorted
    ids text[], keys text[], coupon_ids text[], customer_ids text[], origins text[], points bigint[],
    points_states text[], order_ids text[], session_ids text[], deadlines timestamptz[], created timestamptz[],
    updated timestamptz[], revisions bigint[],
    fingerprints text[], order_states text[], order_sessions text[], order_urls text[], discounts bigint[],
    order_deadlines timestamptz[], order_created timestamptz[], order_updated timestamptz[],
    quotes text[], snapshots text[], metadata text[],
    OUT outcomes text[], OUT held text[], OUT max_uses bigint[], OUT max_uses_per_user bigint[])
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_column
DECLARE
    limited text[];
    again   bigint[]; -- the requests of a further pass; NULL in the first
    pass    record;
    place   bigint;
BEGIN
    limited := {couponkit_lock}(coupons);
    FOR attempt IN 1 .. 4 LOOP
        WITH terms AS MATERIALIZED (
            SELECT c.id, c.state, c.revision, c.max_uses, c.max_uses_per_user,
                c.used_count + c.reserved_count + k.taken AS taken
            FROM {coupons} c CROSS JOIN LATERAL (
                SELECT coalesce(sum(s.completed + s.reserved), 0) AS taken
                FROM {coupon_counters} s WHERE s.coupon_id = c.id) k
            WHERE c.id = ANY (coupons)
        ), wanted AS MATERIALIZED (
            SELECT * FROM unnest(
                ids, keys, coupon_ids, customer_ids, origins, points, points_states, order_ids, session_ids,
                deadlines, created, updated, revisions, fingerprints, order_states, order_sessions, order_urls,
                discounts, order_deadlines, order_created, order_updated, quotes, snapshots, metadata
            ) WITH ORDINALITY AS w (
                id, key, coupon_id, customer_id, origin, points, points_state, order_id, session_id,
                deadline, created_at, updated_at, revision, fingerprint, order_state, order_session, order_url,
                discount, order_deadline, order_created, order_updated, quote, snapshot, metadata, n)
            WHERE again IS NULL OR w.n = ANY (again)
        ), probed AS MATERIALIZED (
            SELECT w.*, t.max_uses, t.max_uses_per_user, t.taken, u.turn,
                (SELECT r.id FROM {coupon_redemptions} r
                    WHERE w.origin = 'points' AND r.coupon_id = w.coupon_id AND r.customer_id = w.customer_id
                        AND r.origin = 'points' AND r.state = 'reserved' AND r.order_id = ''
                    ORDER BY r.created_at, r.id LIMIT 1) AS held,
                CASE
                    WHEN (SELECT r.id FROM {coupon_redemptions} r
                        WHERE r.customer_id = w.customer_id AND r.key = w.key) IS NOT NULL
                    OR (SELECT o.id FROM {orders} o
                        WHERE o.customer_id = w.customer_id AND o.key = w.key) IS NOT NULL THEN 'known'
                    WHEN t.id IS NULL THEN 'unknown'
                    WHEN t.state <> 'active' THEN 'inactive'
                    WHEN w.revision <> 0 AND w.revision <> t.revision THEN 'stale'
                    WHEN (SELECT o.id FROM {orders} o WHERE o.id = w.order_id) IS NOT NULL THEN 'conflict'
                    WHEN u.uses >= t.max_uses_per_user THEN 'user_used_up'
                    ELSE 'reserved'
                END AS outcome
            FROM wanted w LEFT JOIN terms t ON t.id = w.coupon_id
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE r.state <> 'released') AS uses,
                    CASE WHEN t.max_uses IS NULL AND (t.max_uses_per_user IS NOT NULL OR w.origin = 'points')
                        THEN coalesce(max(r.customer_turn), 0) + 1 END AS turn
                FROM {coupon_redemptions} r
                WHERE r.coupon_id = w.coupon_id AND r.customer_id = w.customer_id
                    AND (t.max_uses_per_user IS NOT NULL OR w.origin = 'points')) u
        ), placed AS MATERIALIZED (
            SELECT p.*, p.taken + count(*) FILTER (WHERE p.outcome = 'reserved' AND p.held IS NULL) OVER (
                PARTITION BY p.coupon_id ORDER BY p.n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead
            FROM probed p
        ), judged AS MATERIALIZED (
            SELECT p.*, CASE
                WHEN p.outcome IN ('reserved', 'user_used_up') AND p.held IS NOT NULL THEN 'held'
                WHEN p.outcome = 'reserved' AND p.ahead >= p.max_uses THEN 'used_up'
                WHEN p.outcome = 'user_used_up' AND p.ahead >= p.max_uses THEN 'both_used_up'
                ELSE p.outcome END AS verdict
            FROM placed p
        ), stored AS (
            INSERT INTO {coupon_redemptions} (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
                points, points_state, deadline, created_at, updated_at, customer_turn)
            SELECT j.id, j.key, j.coupon_id, j.customer_id, 'reserved', j.origin, j.order_id, j.session_id,
                j.points, j.points_state, j.deadline, j.created_at, j.updated_at, j.turn
            FROM judged j WHERE j.verdict = 'reserved'
            ORDER BY j.customer_id, j.coupon_id -- the same for all, lest they wait in a circle
            ON CONFLICT DO NOTHING
            RETURNING id, coupon_id
        ), ordered AS (
            INSERT INTO {orders} (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
                discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
            SELECT j.order_id, j.key, j.fingerprint, j.customer_id, j.order_state, j.coupon_id, j.id,
                j.discount, j.order_session, j.order_url, j.order_deadline, j.order_created, j.order_updated,
                j.quote::jsonb, j.snapshot::jsonb, j.metadata::jsonb
            FROM judged j JOIN stored s ON s.id = j.id WHERE j.quote IS NOT NULL
        )
        SELECT array_agg(j.n ORDER BY j.n) AS n, array_agg(j.verdict ORDER BY j.n) AS outcomes,
            array_agg(j.held ORDER BY j.n) AS held, array_agg(j.max_uses ORDER BY j.n) AS max_uses,
            array_agg(j.max_uses_per_user ORDER BY j.n) AS max_uses_per_user,
            count(*) FILTER (WHERE j.verdict = 'reserved') AS chosen,
            (SELECT array_agg(s.id) FROM stored s) AS stored,
            (SELECT array_agg(g.coupon_id) FROM (SELECT s.coupon_id FROM stored s GROUP BY 1 ORDER BY 1) g) AS counted,
            (SELECT array_agg(g.uses) FROM (SELECT count(*) AS uses FROM stored s GROUP BY s.coupon_id ORDER BY s.coupon_id) g) AS uses,
            (SELECT array_agg(t.id) FROM terms t WHERE t.max_uses IS NOT NULL) AS seen_limited
        INTO pass FROM judged j;

        IF NOT coalesce(pass.seen_limited, '{}') <@ limited THEN
            RAISE EXCEPTION 'a coupon was given its first limit meanwhile' USING ERRCODE = 'serialization_failure';
        END IF;
        IF pass.counted IS NOT NULL THEN
            UPDATE {coupons} c SET reserved_count = c.reserved_count + pass.uses[array_position(pass.counted, c.id)]
            WHERE c.id = ANY (pass.counted) AND c.id = ANY (limited);
            IF NOT pass.counted <@ limited THEN
                PERFORM {couponkit_count}(array_agg(w.id), array_agg(0::bigint), array_agg(w.uses))
                FROM unnest(pass.counted, pass.uses) AS w (id, uses) WHERE NOT w.id = ANY (limited);
            END IF;
        END IF;
        IF again IS NULL THEN
            outcomes := pass.outcomes;
            held := pass.held;
            max_uses := pass.max_uses;
            max_uses_per_user := pass.max_uses_per_user;
        ELSE
            FOR i IN 1 .. cardinality(again) LOOP
                outcomes[again[i]] := pass.outcomes[i];
                held[again[i]] := pass.held[i];
                max_uses[again[i]] := pass.max_uses[i];
                max_uses_per_user[again[i]] := pass.max_uses_per_user[i];
            END LOOP;
        END IF;
        EXIT WHEN pass.chosen = coalesce(cardinality(pass.stored), 0);
        -- Somebody was faster with the same key, the same turn or the same ID.
        again := ARRAY(SELECT w.n FROM unnest(pass.n, pass.outcomes) AS w (n, outcome)
            WHERE w.outcome = 'reserved' AND NOT ids[w.n] = ANY (coalesce(pass.stored, '{}')) ORDER BY w.n);
        FOREACH place IN ARRAY again LOOP
            outcomes[place] := 'conflict';
        END LOOP;
    END LOOP;
END
$couponkit$;
