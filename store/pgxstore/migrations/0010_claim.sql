-- Storing before counting. The calls of a hot coupon take turns at its gate, which each
-- holds until what it did there is on disk. Until now a call counted first and stored
-- while it held the gate; here it stores first, so that one call stores while another
-- one's commit is waited for. What finds no place at the gate is removed again in the
-- same transaction, so that nobody ever sees it.
--
-- Coupons are looked at before anything is stored for them, without a lock: most who
-- find no place are told so without a write.
--
-- Nobody waits in a circle, for reservations keep the order of step 9 too: redemptions,
-- then gates. A batch stores in the order of its customers and locks in the order of its
-- coupons, and nobody stores while holding a gate, whatever key others have stored. A
-- transaction of the host's that reserves twice does; should it wait in a circle,
-- PostgreSQL ends that.
--
-- couponkit_reserve_one and couponkit_reserve_batch stay for processes that were built
-- before this step.

-- couponkit_claim_batch reserves places. outcomes is NULL if every request got one; else
-- it has what became of each. Those that are holding the gates only want to be told why
-- there is no place for them: nothing is stored, and whoever might have a place after
-- all is told to ask again later.
CREATE FUNCTION {couponkit_claim_batch}(
    coupons text[], demands bigint[], -- every coupon once, sorted, and how many requests it has
    places integer[], -- the request's coupon in coupons
    ids text[], keys text[], customer_ids text[], -- no customer has two
    origins text[], points bigint[],
    points_states text[], order_ids text[], session_ids text[], deadlines timestamptz[], created timestamptz[],
    updated timestamptz[], revisions bigint[],
    fingerprints text[], order_states text[], order_sessions text[], order_urls text[], discounts bigint[],
    order_deadlines timestamptz[], order_created timestamptz[], order_updated timestamptz[],
    quotes text[], snapshots text[], metadata text[],
    holding boolean,
    OUT outcomes text[], OUT held text[], OUT limits bigint[], OUT limits_per_user bigint[])
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_variable
DECLARE
    requests integer := cardinality(places);
    -- Entry i of these is of coupon i, as are limits and limits_per_user.
    active   boolean[]; -- NULL if there is none
    versions bigint[];
    taken    bigint[]; -- places of a coupon that has a limit over all customers
    limited  boolean[]; -- it has
    gated    boolean[]; -- it had, when first looked at, and is held by its gate; others are held themselves
    uses     bigint[]; -- places that are wanted now
    -- These are numbers of requests, in their order.
    pending  bigint[]; -- they are to be judged
    doubtful bigint[]; -- those of them that must be looked at closely
    wanted   bigint[]; -- they are to be stored
    stored   bigint[] := '{}';
    fallen   bigint[]; -- they are stored and have no place
    -- These are customers.
    crowded  text[]; -- they have more uses than they may
    holders  text[]; -- they hold more than one reservation by points
    judged   record;
    turns    bigint[] := array_fill(NULL::bigint, ARRAY[requests]); -- entry i is of request i
BEGIN
    pending := ARRAY(SELECT generate_series(1, requests));
    FOR attempt IN 0 .. 5 LOOP
        -- What its gate says of a coupon's terms holds as long as the gate is held or,
        -- where there is no limit over all customers, the coupon.
        FOR look IN 1 .. 2 LOOP
            SELECT array_agg(t.active), array_agg(t.revision), array_agg(t.max_uses), array_agg(t.max_uses_per_user), array_agg(t.taken),
                array_agg(t.max_uses IS NOT NULL)
            INTO active, versions, limits, limits_per_user, taken, limited
            FROM (
                SELECT s.active, s.revision, s.max_uses, s.max_uses_per_user, CASE WHEN s.max_uses IS NOT NULL THEN (
                        SELECT sum(k.completed + k.reserved) FROM {coupon_counters} k WHERE k.coupon_id = d.id)::bigint END AS taken
                FROM unnest(coupons) WITH ORDINALITY AS d (id, place)
                LEFT JOIN LATERAL (SELECT * FROM {coupon_counters} g WHERE g.coupon_id = d.id AND g.stripe = 0 LIMIT 1) s ON true
                ORDER BY d.place) t;
            EXIT WHEN gated IS NOT NULL;
            gated := limited;
            EXIT WHEN holding OR true = ALL (gated);
            PERFORM FROM {coupons} c
            WHERE c.id = ANY (ARRAY(SELECT coupons[g.place] FROM unnest(gated) WITH ORDINALITY AS g (gate, place) WHERE NOT g.gate))
            ORDER BY c.id FOR KEY SHARE;
        END LOOP;
        IF limited <> gated AND NOT holding THEN
            RAISE EXCEPTION 'a coupon got its first limit, or lost it, meanwhile' USING ERRCODE = 'serialization_failure';
        END IF;

        IF attempt = 0 AND NOT holding THEN
            doubtful := ARRAY(
                SELECT n FROM unnest(pending) AS n
                WHERE active[places[n]] IS NOT TRUE
                    OR taken[places[n]] + demands[places[n]] > limits[places[n]]
                    OR revisions[n] <> 0 AND revisions[n] <> versions[places[n]]
                    OR CASE WHEN NOT gated[places[n]] AND (limits_per_user[places[n]] IS NOT NULL OR origins[n] = 'points')
                        THEN (SELECT r.id FROM {coupon_redemptions} r
                            WHERE r.coupon_id = coupons[places[n]] AND r.customer_id = customer_ids[n] LIMIT 1)
                        ELSE (SELECT r.id FROM {coupon_redemptions} r
                            WHERE r.customer_id = customer_ids[n] AND r.key = keys[n]) END IS NOT NULL
                    -- Nothing of it would meet an order that has its key.
                    OR quotes[n] IS NULL AND (SELECT o.id FROM {orders} o
                        WHERE o.customer_id = customer_ids[n] AND o.key = keys[n]) IS NOT NULL
                ORDER BY n);
        ELSE
            doubtful := pending;
        END IF;
        wanted := pending;
        IF cardinality(doubtful) > 0 THEN
            IF outcomes IS NULL THEN
                outcomes := array_fill('reserved'::text, ARRAY[requests]);
                held := array_fill(NULL::text, ARRAY[requests]);
            END IF;
            wanted := ARRAY(SELECT n FROM unnest(pending) AS n WHERE n <> ALL (doubtful) ORDER BY n);
            FOR judged IN
                WITH probed AS MATERIALIZED (
                    SELECT n, places[n] AS place, taken[places[n]] AS taken, limits[places[n]] AS max_uses, u.turn,
                        (SELECT r.id FROM {coupon_redemptions} r
                            WHERE origins[n] = 'points' AND r.coupon_id = coupons[places[n]] AND r.customer_id = customer_ids[n]
                                AND r.origin = 'points' AND r.state || '' = 'reserved' AND r.order_id = '' -- by customer, not by state
                            ORDER BY r.created_at, r.id LIMIT 1) AS held,
                        CASE
                            WHEN (SELECT r.id FROM {coupon_redemptions} r
                                WHERE r.customer_id = customer_ids[n] AND r.key = keys[n]) IS NOT NULL
                            OR (SELECT o.id FROM {orders} o
                                WHERE o.customer_id = customer_ids[n] AND o.key = keys[n]) IS NOT NULL THEN 'known'
                            WHEN active[places[n]] IS NULL THEN 'unknown'
                            WHEN NOT active[places[n]] THEN 'inactive'
                            WHEN revisions[n] <> 0 AND revisions[n] <> versions[places[n]] THEN 'stale'
                            WHEN (SELECT r.id FROM {coupon_redemptions} r WHERE r.id = ids[n]) IS NOT NULL
                            OR (SELECT r.id FROM {coupon_redemptions} r
                                WHERE r.session_id = session_ids[n] AND r.session_id <> '') IS NOT NULL
                            OR (SELECT o.id FROM {orders} o WHERE o.id = order_ids[n]) IS NOT NULL THEN 'conflict'
                            WHEN u.uses >= limits_per_user[places[n]] THEN 'user_used_up'
                            ELSE 'reserved'
                        END AS outcome
                    FROM unnest(doubtful) AS n
                    CROSS JOIN LATERAL (
                        SELECT count(*) FILTER (WHERE r.state <> 'released') AS uses,
                            CASE WHEN limits[places[n]] IS NULL AND (limits_per_user[places[n]] IS NOT NULL OR origins[n] = 'points')
                                THEN coalesce(max(r.customer_turn), 0) + 1 END AS turn
                        FROM {coupon_redemptions} r
                        WHERE r.coupon_id = coupons[places[n]] AND r.customer_id = customer_ids[n]
                            AND (limits_per_user[places[n]] IS NOT NULL OR origins[n] = 'points')) u
                ), placed AS (
                    SELECT p.*, p.taken + count(*) FILTER (WHERE p.outcome = 'reserved' AND p.held IS NULL) OVER (
                        PARTITION BY p.place ORDER BY p.n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead
                    FROM probed p
                )
                SELECT p.n, p.held, p.turn, CASE
                    WHEN p.outcome IN ('reserved', 'user_used_up') AND p.held IS NOT NULL THEN 'held'
                    WHEN p.outcome = 'reserved' AND p.taken >= p.max_uses THEN 'used_up'
                    WHEN p.outcome = 'user_used_up' AND p.taken >= p.max_uses THEN 'both_used_up'
                    WHEN p.outcome IN ('reserved', 'user_used_up') AND p.ahead >= p.max_uses THEN 'later'
                    WHEN p.outcome = 'reserved' AND holding THEN 'later'
                    ELSE p.outcome END AS outcome
                FROM placed p ORDER BY p.n
            LOOP
                outcomes[judged.n] := judged.outcome;
                held[judged.n] := judged.held;
                IF judged.outcome = 'reserved' THEN
                    wanted := wanted || judged.n;
                    turns[judged.n] := judged.turn;
                END IF;
            END LOOP;
        END IF;
        EXIT WHEN holding OR cardinality(wanted) = 0;

        BEGIN
            INSERT INTO {coupon_redemptions} (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
                points, points_state, deadline, created_at, updated_at, customer_turn)
            SELECT ids[n], keys[n], coupons[places[n]], customer_ids[n], 'reserved', origins[n], order_ids[n],
                session_ids[n], points[n], points_states[n], deadlines[n], created[n], updated[n],
                CASE WHEN limits[places[n]] IS NULL
                    AND (limits_per_user[places[n]] IS NOT NULL OR origins[n] = 'points') THEN coalesce(turns[n], 1) END
            FROM unnest(wanted) AS n
            ORDER BY customer_ids[n]; -- the same for all, lest they wait in a circle
            IF cardinality(quotes) > 0 THEN
                INSERT INTO {orders} (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
                    discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
                SELECT order_ids[n], keys[n], fingerprints[n], customer_ids[n], order_states[n], coupons[places[n]],
                    ids[n], discounts[n], order_sessions[n], order_urls[n], order_deadlines[n], order_created[n],
                    order_updated[n], quotes[n]::jsonb, snapshots[n]::jsonb, metadata[n]::jsonb
                FROM unnest(wanted) AS n WHERE quotes[n] IS NOT NULL
                ORDER BY customer_ids[n];
            END IF;
        EXCEPTION WHEN unique_violation THEN
            -- Somebody was faster, and is seen when it is looked again. Two requests of
            -- one batch may be in each other's way each time: they are asked again apart.
            pending := wanted;
            CONTINUE WHEN attempt < 4;
            IF requests > 1 THEN
                RAISE;
            END IF;
            outcomes := ARRAY['conflict'];
            held := ARRAY[NULL::text];
            EXIT;
        END;
        stored := wanted;

        uses := demands;
        IF cardinality(stored) < requests THEN
            uses := array_fill(0::bigint, ARRAY[cardinality(coupons)]);
            FOR i IN 1 .. cardinality(stored) LOOP
                uses[places[stored[i]]] := uses[places[stored[i]]] + 1;
            END LOOP;
        END IF;
        IF cardinality(coupons) = 1 AND gated[1] THEN -- most often a hot one
            UPDATE {coupon_counters} s SET reserved = s.reserved + uses[1]
            WHERE s.coupon_id = coupons[1] AND s.stripe = 0 AND s.max_uses IS NOT NULL AND s.active
            RETURNING ARRAY[true], ARRAY[s.revision], ARRAY[s.max_uses], ARRAY[s.max_uses_per_user]
            INTO active, versions, limits, limits_per_user;
        ELSIF true = ANY (gated) THEN
            WITH held AS MATERIALIZED (
                SELECT d.place, d.uses, s.coupon_id
                FROM (SELECT * FROM unnest(coupons, uses, gated) WITH ORDINALITY AS d (id, uses, gate, place) ORDER BY place) d
                CROSS JOIN LATERAL (
                    SELECT g.coupon_id FROM {coupon_counters} g
                    WHERE g.coupon_id = d.id AND g.stripe = 0 AND d.gate AND d.uses > 0 AND g.max_uses IS NOT NULL AND g.active
                    FOR NO KEY UPDATE) s
            ), counted AS (
                UPDATE {coupon_counters} s SET reserved = s.reserved + h.uses
                FROM held h WHERE s.coupon_id = h.coupon_id AND s.stripe = 0
                RETURNING h.place, s.revision, s.max_uses, s.max_uses_per_user
            )
            SELECT array_agg(CASE WHEN g.gate THEN k.place IS NOT NULL ELSE active[g.place] END),
                array_agg(coalesce(k.revision, versions[g.place])), array_agg(coalesce(k.max_uses, limits[g.place])),
                array_agg(CASE WHEN k.place IS NULL THEN limits_per_user[g.place] ELSE k.max_uses_per_user END)
            INTO active, versions, limits, limits_per_user
            FROM (SELECT * FROM unnest(gated) WITH ORDINALITY AS g (gate, place) ORDER BY place) g LEFT JOIN counted k ON k.place = g.place;
        END IF;
        -- What those who held the gates before have done is seen from here on.
        taken := ARRAY(SELECT CASE WHEN g.gate THEN (SELECT sum(k.completed + k.reserved)
                FROM {coupon_counters} k WHERE k.coupon_id = coupons[g.place])::bigint - uses[g.place] END
            FROM unnest(gated) WITH ORDINALITY AS g (gate, place) ORDER BY g.place);
        IF cardinality(coupons) = 1 THEN
            SELECT array_agg(u.customer_id) FILTER (WHERE u.uses > limits_per_user[1]), array_agg(u.customer_id) FILTER (WHERE u.points > 1)
            INTO crowded, holders
            FROM (
                SELECT r.customer_id, count(*) FILTER (WHERE r.state <> 'released') AS uses,
                    count(*) FILTER (WHERE r.origin = 'points' AND r.state = 'reserved' AND r.order_id = '') AS points
                FROM {coupon_redemptions} r WHERE r.coupon_id = coupons[1] AND r.customer_id = ANY (customer_ids)
                    AND (limits_per_user[1] IS NOT NULL OR 'points' = ANY (origins))
                GROUP BY r.customer_id) u;
        ELSE
            SELECT array_agg(u.customer_id) FILTER (WHERE u.uses > u.max_uses), array_agg(u.customer_id) FILTER (WHERE u.points > 1)
            INTO crowded, holders
            FROM (
                SELECT customer_ids[n] AS customer_id, limits_per_user[places[n]] AS max_uses, c.uses, c.points
                FROM unnest(stored) AS n
                CROSS JOIN LATERAL (
                    SELECT count(*) FILTER (WHERE r.state <> 'released') AS uses,
                        count(*) FILTER (WHERE r.origin = 'points' AND r.state = 'reserved' AND r.order_id = '') AS points
                    FROM {coupon_redemptions} r WHERE r.coupon_id = coupons[places[n]] AND r.customer_id = customer_ids[n]
                        AND (limits_per_user[places[n]] IS NOT NULL OR origins[n] = 'points')) c) u;
        END IF;
        fallen := ARRAY(
            SELECT f.n FROM (
                SELECT l.n, l.refused, taken[l.place] + count(*) FILTER (WHERE NOT l.refused) OVER (
                    PARTITION BY l.place ORDER BY l.n) > limits[l.place] AS beyond
                FROM (
                    SELECT n, places[n] AS place, active[places[n]] IS NOT TRUE
                        OR revisions[n] <> 0 AND revisions[n] <> versions[places[n]]
                        OR crowded IS NOT NULL AND customer_ids[n] = ANY (crowded)
                        OR holders IS NOT NULL AND origins[n] = 'points' AND customer_ids[n] = ANY (holders) AS refused
                    FROM unnest(stored) AS n) l) f
            WHERE f.refused OR f.beyond
            ORDER BY f.n);
        IF cardinality(fallen) > 0 THEN
            DELETE FROM {orders} o
            WHERE o.id = ANY (ARRAY(SELECT order_ids[n] FROM unnest(fallen) AS n WHERE quotes[n] IS NOT NULL));
            DELETE FROM {coupon_redemptions} r WHERE r.id = ANY (ARRAY(SELECT ids[n] FROM unnest(fallen) AS n));
            UPDATE {coupon_counters} s SET reserved = s.reserved - w.uses
            FROM (SELECT places[n] AS place, count(*) AS uses FROM unnest(fallen) AS n GROUP BY places[n]) w
            WHERE s.coupon_id = coupons[w.place] AND s.stripe = 0 AND gated[w.place] AND active[w.place];
            stored := ARRAY(SELECT n FROM unnest(stored) AS n WHERE n <> ALL (fallen));
        END IF;
        IF false = ANY (gated) THEN
            PERFORM {couponkit_count}(array_agg(coupons[w.place]), array_agg(0::bigint), array_agg(w.uses))
            FROM (SELECT places[n] AS place, count(*) AS uses FROM unnest(stored) AS n
                WHERE NOT gated[places[n]] GROUP BY places[n]) w;
        END IF;
        EXIT WHEN cardinality(fallen) = 0;
        pending := fallen;
        holding := true;
    END LOOP;
END
$couponkit$;

-- couponkit_claim is couponkit_claim_batch for one request. That its reservation was
-- stored and found no place is said like this: nothing more is stored while the gate is
-- held.
CREATE FUNCTION {couponkit_claim}(
    id text, key text, coupon text, customer text, origin text, points bigint, points_state text, order_id text,
    session_id text, deadline timestamptz, created timestamptz, updated timestamptz, coupon_revision bigint,
    fingerprint text, order_state text, order_session text, order_url text, discount bigint,
    order_deadline timestamptz, order_created timestamptz, order_updated timestamptz,
    quote text, snapshot text, metadata text,
    OUT outcome text, OUT held text, OUT limit_of_all bigint, OUT limit_per_user bigint)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_variable
DECLARE
    holding boolean := false;
    judged  record;
BEGIN
    PERFORM FROM {coupon_counters} s
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
                        outcome := 'reserved';
                        RETURN;
                    END IF;
                    UPDATE {coupon_counters} s SET reserved = s.reserved - 1 WHERE s.coupon_id = coupon AND s.stripe = 0;
                END IF;
                holding := true;
                DELETE FROM {orders} o WHERE o.id = order_id AND quote IS NOT NULL;
            END IF;
            DELETE FROM {coupon_redemptions} r WHERE r.id = id;
        END IF;
    END IF;
    judged := {couponkit_claim_batch}(ARRAY[coupon], ARRAY[1::bigint], ARRAY[1], ARRAY[id], ARRAY[key], ARRAY[customer],
        ARRAY[origin], ARRAY[points], ARRAY[points_state], ARRAY[order_id], ARRAY[session_id], ARRAY[deadline],
        ARRAY[created], ARRAY[updated], ARRAY[coupon_revision], ARRAY[fingerprint], ARRAY[order_state],
        ARRAY[order_session], ARRAY[order_url], ARRAY[discount], ARRAY[order_deadline], ARRAY[order_created],
        ARRAY[order_updated], CASE WHEN quote IS NULL THEN '{}' ELSE ARRAY[quote] END, ARRAY[snapshot], ARRAY[metadata], holding);
    outcome := coalesce(judged.outcomes[1], 'reserved');
    held := judged.held[1];
    limit_of_all := judged.limits[1];
    limit_per_user := judged.limits_per_user[1];
END
$couponkit$;
