-- couponkit_place writes the gate that it has locked. What it finds a place for is counted in
-- another row, and a transaction of the host at a stricter level than READ COMMITTED learns
-- from a row that was written, not from one that was locked, that its snapshot is too old to
-- count with: PostgreSQL then asks the host to run it again. It gave a place away twice. All
-- else is as in step 13.
CREATE OR REPLACE FUNCTION {couponkit_place}(coupon text, customer text, OUT no_place boolean, OUT turn bigint)
LANGUAGE plpgsql VOLATILE
AS $couponkit$
DECLARE
    limited text[];
    terms   record;
    uses    bigint;
BEGIN
    FOR attempt IN 1 .. 2 LOOP
        BEGIN
            IF attempt = 1 THEN
                limited := {couponkit_lock}(ARRAY[coupon]);
            ELSE
                PERFORM FROM {coupon_counters} s WHERE s.coupon_id = coupon AND s.stripe = 0 FOR UPDATE;
                PERFORM FROM {coupons} c WHERE c.id = coupon FOR UPDATE;
                PERFORM FROM {coupon_counters} s WHERE s.coupon_id = coupon ORDER BY s.stripe FOR UPDATE;
            END IF;
            IF attempt = 2 OR cardinality(limited) > 0 THEN -- the gate is held
                UPDATE {coupon_counters} s SET reserved = s.reserved
                WHERE s.coupon_id = coupon AND s.stripe = 0 AND s.max_uses IS NOT NULL;
            END IF;
            no_place := false;
            turn := NULL;
            SELECT c.max_uses, c.max_uses_per_user, c.used_count + c.reserved_count + k.taken AS taken INTO terms
            FROM {coupons} c CROSS JOIN LATERAL (
                SELECT coalesce(sum(s.completed + s.reserved), 0) AS taken
                FROM {coupon_counters} s WHERE s.coupon_id = c.id) k
            WHERE c.id = coupon;
            IF attempt = 1 AND terms.max_uses IS NOT NULL AND cardinality(limited) = 0 THEN
                RAISE EXCEPTION 'the coupon was given its first limit meanwhile' USING ERRCODE = 'serialization_failure';
            END IF;
            IF terms.max_uses_per_user IS NOT NULL AND customer <> '' THEN
                SELECT count(*) FILTER (WHERE r.state <> 'released'),
                    CASE WHEN terms.max_uses IS NULL THEN coalesce(max(r.customer_turn), 0) + 1 END
                INTO uses, turn
                FROM {coupon_redemptions} r WHERE r.coupon_id = coupon AND r.customer_id = customer;
                no_place := uses >= terms.max_uses_per_user;
            END IF;
            no_place := no_place OR coalesce(terms.taken >= terms.max_uses, false);
            IF no_place AND attempt = 1 THEN
                RAISE SQLSTATE 'CK002';
            END IF;
            EXIT;
        EXCEPTION WHEN SQLSTATE 'CK002' THEN
            NULL; -- the locks are given back
        END;
    END LOOP;
END
$couponkit$;

-- couponkit_claim_many answers an exchange of points with the reservation that the customer
-- holds, also where the ID that is asked for is taken: it may be that of the held reservation. All
-- else is as in step 15.
CREATE OR REPLACE FUNCTION {couponkit_claim_many}(
    coupons text[], demands bigint[], -- every coupon once, sorted, and how many requests it has
    places integer[], -- the request's coupon in coupons
    ids text[], keys text[], customer_ids text[], -- no customer has two
    origins text[], points bigint[],
    points_states text[], order_ids text[], session_ids text[], deadlines timestamptz[], created timestamptz[],
    updated timestamptz[], revisions bigint[],
    fingerprints text[], order_states text[], order_sessions text[], order_urls text[], discounts bigint[],
    order_deadlines timestamptz[], order_created timestamptz[], order_updated timestamptz[],
    quotes text[], snapshots text[], metadata text[],
    cautious boolean,
    holding boolean, -- nothing is stored: they only want to be told why there is no place for them
    OUT outcomes text[], OUT held text[], OUT limits bigint[], OUT limits_per_user bigint[],
    OUT meanwhile bigint) -- places that others took between the look and the gates
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
    hopeful  boolean; -- none is looked for before it is stored
    looked   boolean := false; -- they were looked for
    kept     bigint;
    stored   bigint[] := '{}';
    fallen   bigint[]; -- they are stored and have no place
    beyond   boolean; -- there are more uses than there may be
    judged   record;
    turns    bigint[] := array_fill(NULL::bigint, ARRAY[requests]); -- entry i is of request i
BEGIN
    pending := ARRAY(SELECT generate_series(1, requests));
    FOR attempt IN 0 .. 6 LOOP
        -- What its gate says of a coupon's terms holds as long as the gate is held or,
        -- where there is no limit over all customers, the coupon.
        FOR look IN 1 .. 2 LOOP
            IF cardinality(coupons) = 1 THEN -- most often a hot one
                SELECT ARRAY[s.active], ARRAY[s.revision], ARRAY[s.max_uses], ARRAY[s.max_uses_per_user], ARRAY[s.taken],
                    ARRAY[s.max_uses IS NOT NULL], attempt = 0 AND NOT cautious AND coalesce(s.active AND s.taken + requests <= s.max_uses, false)
                INTO active, versions, limits, limits_per_user, taken, limited, hopeful
                FROM (SELECT) always
                LEFT JOIN LATERAL (
                    SELECT g.*, CASE WHEN g.max_uses IS NOT NULL THEN (
                        SELECT sum(k.completed + k.reserved) FROM {coupon_counters} k WHERE k.coupon_id = coupons[1])::bigint END AS taken
                    FROM {coupon_counters} g WHERE g.coupon_id = coupons[1] AND g.stripe = 0 LIMIT 1) s ON true;
            ELSE
                SELECT array_agg(t.active), array_agg(t.revision), array_agg(t.max_uses), array_agg(t.max_uses_per_user), array_agg(t.taken),
                    array_agg(t.max_uses IS NOT NULL),
                    attempt = 0 AND NOT cautious AND bool_and(coalesce(t.active AND t.taken + demands[t.place] <= t.max_uses, false))
                INTO active, versions, limits, limits_per_user, taken, limited, hopeful
                FROM (
                    SELECT d.place, s.active, s.revision, s.max_uses, s.max_uses_per_user, CASE WHEN s.max_uses IS NOT NULL THEN (
                            SELECT sum(k.completed + k.reserved) FROM {coupon_counters} k WHERE k.coupon_id = d.id)::bigint END AS taken
                    FROM unnest(coupons) WITH ORDINALITY AS d (id, place)
                    LEFT JOIN LATERAL (SELECT * FROM {coupon_counters} g WHERE g.coupon_id = d.id AND g.stripe = 0 LIMIT 1) s ON true
                    ORDER BY d.place) t;
            END IF;
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

        IF hopeful THEN
            doubtful := '{}';
        ELSIF NOT looked AND NOT holding THEN
            looked := true;
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
                    WHEN p.outcome IN ('reserved', 'user_used_up', 'conflict') AND p.held IS NOT NULL THEN 'held'
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
            WHERE NOT hopeful OR quotes[n] IS NOT NULL
                OR (SELECT o.id FROM {orders} o WHERE o.customer_id = customer_ids[n] AND o.key = keys[n]) IS NULL
            ORDER BY customer_ids[n]; -- the same for all, lest they wait in a circle
            GET DIAGNOSTICS kept = ROW_COUNT;
            IF kept < cardinality(wanted) THEN
                RAISE unique_violation; -- of a key
            END IF;
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
            CONTINUE WHEN attempt < 5;
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
        fallen := ARRAY(
            SELECT n FROM unnest(stored) AS n
            WHERE active[places[n]] IS NOT TRUE
                OR revisions[n] <> 0 AND revisions[n] <> versions[places[n]]
                OR (limits_per_user[places[n]] IS NOT NULL OR origins[n] = 'points') AND (
                    SELECT r.id FROM {coupon_redemptions} r WHERE r.coupon_id = coupons[places[n]]
                        AND r.customer_id = customer_ids[n] AND r.id <> ids[n] LIMIT 1) IS NOT NULL
            ORDER BY n);
        IF cardinality(fallen) > 0 THEN -- some of them may have more than one use
            fallen := ARRAY(
                SELECT n FROM unnest(fallen) AS n
                WHERE active[places[n]] IS NOT TRUE
                    OR revisions[n] <> 0 AND revisions[n] <> versions[places[n]]
                    OR (SELECT count(*) FILTER (WHERE r.state <> 'released') > limits_per_user[places[n]]
                            OR origins[n] = 'points' AND count(*) FILTER (
                                WHERE r.origin = 'points' AND r.state = 'reserved' AND r.order_id = '') > 1
                        FROM {coupon_redemptions} r WHERE r.coupon_id = coupons[places[n]] AND r.customer_id = customer_ids[n])
                ORDER BY n);
        END IF;
        IF cardinality(coupons) = 1 THEN
            meanwhile := -taken[1];
            taken := ARRAY[CASE WHEN gated[1] THEN (SELECT sum(k.completed + k.reserved)
                FROM {coupon_counters} k WHERE k.coupon_id = coupons[1])::bigint - uses[1] END];
            meanwhile := meanwhile + taken[1];
            beyond := coalesce(taken[1] + uses[1] > limits[1], false);
        ELSE
            SELECT array_agg(t.taken), coalesce(bool_or(t.taken + uses[t.place] > limits[t.place]), false), sum(t.taken - taken[t.place])
            INTO taken, beyond, meanwhile
            FROM (
                SELECT g.place, CASE WHEN g.gate THEN (SELECT sum(k.completed + k.reserved)
                    FROM {coupon_counters} k WHERE k.coupon_id = coupons[g.place])::bigint - uses[g.place] END AS taken
                FROM unnest(gated) WITH ORDINALITY AS g (gate, place) ORDER BY g.place) t;
        END IF;
        IF beyond THEN
            fallen := ARRAY(
                SELECT f.n FROM (
                    SELECT l.n, l.refused, taken[l.place] + count(*) FILTER (WHERE NOT l.refused) OVER (
                        PARTITION BY l.place ORDER BY l.n) > limits[l.place] AS beyond
                    FROM (SELECT n, places[n] AS place, n = ANY (fallen) AS refused FROM unnest(stored) AS n) l) f
                WHERE f.refused OR f.beyond
                ORDER BY f.n);
        END IF;
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
