-- Reserving, fast. Nearly every request is plain: its coupon is open and has places
-- for all of the batch, and its customer has neither used the coupon nor the key.
-- Plain requests are found by one probe of an index each and stored by one
-- statement; only the others are judged one by one. Both happen under the locks of
-- couponkit_lock, in statements of their own, so that the snapshot of each is
-- younger than the locks.
--
-- couponkit_reserve stays for processes that were built before these.

-- couponkit_reserve_batch keeps places. Entry i of the arrays from places on is
-- request i; a request without an order has no quote. No customer has two requests.
-- outcomes is NULL if all are reserved; else it has for each what
-- couponkit_reserve says, or later: the last place went to another request of the
-- batch, and only when that is committed can it be said whether one is left, for
-- places are given back without the lock. held is the reservation that the customer
-- holds already; limits and limits_per_user are those of the coupons.
CREATE FUNCTION {couponkit_reserve_batch}(
    coupons text[], demands bigint[], -- every coupon once, sorted, and how many requests it has
    places integer[], -- the request's coupon in coupons
    ids text[], keys text[], customer_ids text[], origins text[], points bigint[],
    points_states text[], order_ids text[], session_ids text[], deadlines timestamptz[], created timestamptz[],
    updated timestamptz[], revisions bigint[],
    fingerprints text[], order_states text[], order_sessions text[], order_urls text[], discounts bigint[],
    order_deadlines timestamptz[], order_created timestamptz[], order_updated timestamptz[],
    quotes text[], snapshots text[], metadata text[],
    OUT outcomes text[], OUT held text[], OUT limits bigint[], OUT limits_per_user bigint[])
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_variable
DECLARE
    requests  integer := cardinality(places);
    locked    text[];
    counted   boolean := false; -- before it was looked
    term      record;
    limited   bigint; -- how many of the coupons bound all uses
    states    text[]; -- of each coupon, NULL if there is none
    versions  bigint[];
    taken     bigint[]; -- places
    uses      bigint[]; -- places that were taken now
    again     bigint[]; -- the requests that are judged one by one, in their order
    kept      text[]; -- customers whose requests were stored
    judged    bigint[];
    verdicts  text[];
    holds     text[];
    turns     bigint[];
BEGIN
    IF cardinality(coupons) = 1 THEN
        -- Most often one hot coupon: one statement locks and counts, and the next one
        -- sees what those who held the lock have done.
        UPDATE {coupons} c SET reserved_count = c.reserved_count + requests
        WHERE c.id = coupons[1] AND c.max_uses IS NOT NULL AND c.state = 'active'
        RETURNING c.revision, c.max_uses, c.max_uses_per_user, c.used_count + c.reserved_count - requests AS taken INTO term;
        counted := FOUND;
    END IF;
    IF counted THEN
        locked := coupons;
        states := ARRAY['active'];
        versions := ARRAY[term.revision];
        limits := ARRAY[term.max_uses];
        limits_per_user := ARRAY[term.max_uses_per_user];
        taken := ARRAY[term.taken + coalesce((SELECT sum(s.completed + s.reserved) FROM {coupon_counters} s
            WHERE s.coupon_id = coupons[1]), 0)::bigint];
    ELSE
        locked := {couponkit_lock}(coupons);
    END IF;
    FOR attempt IN 0 .. 4 LOOP
        IF attempt > 0 OR NOT counted THEN
            SELECT array_agg(t.state), array_agg(t.revision), array_agg(t.max_uses), array_agg(t.max_uses_per_user),
                array_agg(t.taken), count(t.max_uses)
            INTO states, versions, limits, limits_per_user, taken, limited
            FROM (
                SELECT c.state, c.revision, c.max_uses, c.max_uses_per_user, c.used_count + c.reserved_count
                    + coalesce((SELECT sum(s.completed + s.reserved) FROM {coupon_counters} s
                        WHERE s.coupon_id = c.id AND c.max_uses IS NOT NULL), 0)::bigint AS taken
                FROM unnest(coupons) WITH ORDINALITY AS d (id, place) LEFT JOIN {coupons} c ON c.id = d.id
                ORDER BY d.place) t;
            IF limited > cardinality(locked) THEN
                RAISE EXCEPTION 'a coupon was given its first limit meanwhile' USING ERRCODE = 'serialization_failure';
            END IF;
        END IF;

        IF attempt = 0 THEN
            again := ARRAY(
                SELECT n FROM generate_series(1, requests) AS n
                WHERE states[places[n]] IS DISTINCT FROM 'active'
                    OR taken[places[n]] + demands[places[n]] > limits[places[n]]
                    OR revisions[n] <> 0 AND revisions[n] <> versions[places[n]]
                    OR CASE WHEN limits_per_user[places[n]] IS NOT NULL OR origins[n] = 'points'
                        THEN (SELECT r.id FROM {coupon_redemptions} r
                            WHERE r.coupon_id = coupons[places[n]] AND r.customer_id = customer_ids[n] LIMIT 1)
                        ELSE (SELECT r.id FROM {coupon_redemptions} r
                            WHERE r.customer_id = customer_ids[n] AND r.key = keys[n]) END IS NOT NULL
                    OR (SELECT o.id FROM {orders} o
                        WHERE o.customer_id = customer_ids[n] AND o.key = keys[n]) IS NOT NULL
                ORDER BY n);
            IF counted AND cardinality(again) > 0 THEN
                UPDATE {coupons} c SET reserved_count = c.reserved_count - cardinality(again) WHERE c.id = coupons[1];
            END IF;
            CONTINUE WHEN cardinality(again) = requests;
            uses := demands;
            FOR i IN 1 .. cardinality(again) LOOP
                uses[places[again[i]]] := uses[places[again[i]]] - 1;
            END LOOP;
            BEGIN
                INSERT INTO {coupon_redemptions} (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
                    points, points_state, deadline, created_at, updated_at, customer_turn)
                SELECT ids[n], keys[n], coupons[places[n]], customer_ids[n], 'reserved', origins[n], order_ids[n],
                    session_ids[n], points[n], points_states[n], deadlines[n], created[n], updated[n],
                    CASE WHEN limits[places[n]] IS NULL
                        AND (limits_per_user[places[n]] IS NOT NULL OR origins[n] = 'points') THEN 1 END
                FROM generate_series(1, requests) AS n WHERE n <> ALL (again)
                ORDER BY customer_ids[n]; -- the same for all, lest they wait in a circle
                IF cardinality(quotes) > 0 THEN
                    INSERT INTO {orders} (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
                        discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
                    SELECT order_ids[n], keys[n], fingerprints[n], customer_ids[n], order_states[n], coupons[places[n]],
                        ids[n], discounts[n], order_sessions[n], order_urls[n], order_deadlines[n], order_created[n],
                        order_updated[n], quotes[n]::jsonb, snapshots[n]::jsonb, metadata[n]::jsonb
                    FROM generate_series(1, requests) AS n WHERE n <> ALL (again) AND quotes[n] IS NOT NULL
                    ORDER BY customer_ids[n];
                END IF;
            EXCEPTION WHEN unique_violation THEN
                -- Somebody was faster, or a key or an ID was used for something else.
                IF counted THEN
                    UPDATE {coupons} c SET reserved_count = c.reserved_count - requests + cardinality(again)
                    WHERE c.id = coupons[1];
                END IF;
                again := ARRAY(SELECT n FROM generate_series(1, requests) AS n ORDER BY n);
                CONTINUE;
            END;
            EXIT WHEN counted AND cardinality(again) = 0;
            CONTINUE WHEN counted;
        ELSE
            WITH probed AS MATERIALIZED (
                SELECT n, places[n] AS place, taken[places[n]] AS taken, limits[places[n]] AS max_uses, u.turn,
                    (SELECT r.id FROM {coupon_redemptions} r
                        WHERE origins[n] = 'points' AND r.coupon_id = coupons[places[n]] AND r.customer_id = customer_ids[n]
                            AND r.origin = 'points' AND r.state = 'reserved' AND r.order_id = ''
                        ORDER BY r.created_at, r.id LIMIT 1) AS held,
                    CASE
                        WHEN (SELECT r.id FROM {coupon_redemptions} r
                            WHERE r.customer_id = customer_ids[n] AND r.key = keys[n]) IS NOT NULL
                        OR (SELECT o.id FROM {orders} o
                            WHERE o.customer_id = customer_ids[n] AND o.key = keys[n]) IS NOT NULL THEN 'known'
                        WHEN states[places[n]] IS NULL THEN 'unknown'
                        WHEN states[places[n]] <> 'active' THEN 'inactive'
                        WHEN revisions[n] <> 0 AND revisions[n] <> versions[places[n]] THEN 'stale'
                        WHEN (SELECT o.id FROM {orders} o WHERE o.id = order_ids[n]) IS NOT NULL THEN 'conflict'
                        WHEN u.uses >= limits_per_user[places[n]] THEN 'user_used_up'
                        ELSE 'reserved'
                    END AS outcome
                FROM unnest(again) AS n
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
            SELECT array_agg(p.n), array_agg(CASE
                    WHEN p.outcome IN ('reserved', 'user_used_up') AND p.held IS NOT NULL THEN 'held'
                    WHEN p.outcome = 'reserved' AND p.taken >= p.max_uses THEN 'used_up'
                    WHEN p.outcome = 'user_used_up' AND p.taken >= p.max_uses THEN 'both_used_up'
                    WHEN p.outcome IN ('reserved', 'user_used_up') AND p.ahead >= p.max_uses THEN 'later'
                    ELSE p.outcome END),
                array_agg(p.held), array_agg(p.turn)
            INTO judged, verdicts, holds, turns FROM placed p;

            IF outcomes IS NULL THEN
                outcomes := array_fill('reserved'::text, ARRAY[requests]);
                held := array_fill(NULL::text, ARRAY[requests]);
            END IF;
            FOR i IN 1 .. cardinality(again) LOOP
                outcomes[again[i]] := 'conflict'; -- unless this attempt or another finds out more
            END LOOP;
            BEGIN
                WITH stored AS (
                    INSERT INTO {coupon_redemptions} (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
                        points, points_state, deadline, created_at, updated_at, customer_turn)
                    SELECT ids[n], keys[n], coupons[places[n]], customer_ids[n], 'reserved', origins[n], order_ids[n],
                        session_ids[n], points[n], points_states[n], deadlines[n], created[n], updated[n], j.turn
                    FROM unnest(judged, verdicts, turns) AS j (n, verdict, turn) WHERE j.verdict = 'reserved'
                    ORDER BY customer_ids[n]
                    ON CONFLICT DO NOTHING
                    RETURNING customer_id
                )
                SELECT coalesce(array_agg(s.customer_id), '{}') INTO kept FROM stored s;
                again := '{}';
                IF cardinality(kept) < cardinality(array_positions(verdicts, 'reserved')) THEN
                    again := ARRAY(
                        SELECT j.n FROM unnest(judged, verdicts) AS j (n, verdict)
                        WHERE j.verdict = 'reserved' AND customer_ids[j.n] <> ALL (kept) ORDER BY j.n);
                END IF;
                IF cardinality(quotes) > 0 AND cardinality(kept) > 0 THEN
                    INSERT INTO {orders} (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
                        discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
                    SELECT order_ids[n], keys[n], fingerprints[n], customer_ids[n], order_states[n], coupons[places[n]],
                        ids[n], discounts[n], order_sessions[n], order_urls[n], order_deadlines[n], order_created[n],
                        order_updated[n], quotes[n]::jsonb, snapshots[n]::jsonb, metadata[n]::jsonb
                    FROM unnest(judged, verdicts) AS j (n, verdict)
                    WHERE j.verdict = 'reserved' AND n <> ALL (again) AND quotes[n] IS NOT NULL
                    ORDER BY customer_ids[n];
                END IF;
            EXCEPTION WHEN unique_violation THEN
                again := judged;
                CONTINUE;
            END;
            uses := array_fill(0::bigint, ARRAY[cardinality(coupons)]);
            FOR i IN 1 .. cardinality(judged) LOOP
                IF verdicts[i] <> 'reserved' OR judged[i] <> ALL (again) THEN
                    outcomes[judged[i]] := verdicts[i];
                    held[judged[i]] := holds[i];
                    IF verdicts[i] = 'reserved' THEN
                        uses[places[judged[i]]] := uses[places[judged[i]]] + 1;
                    END IF;
                END IF;
            END LOOP;
            CONTINUE WHEN cardinality(kept) = 0 AND cardinality(again) > 0;
            EXIT WHEN cardinality(kept) = 0;
        END IF;

        UPDATE {coupons} c SET reserved_count = c.reserved_count + w.uses
        FROM unnest(coupons, uses, limits) AS w (id, uses, max_uses)
        WHERE c.id = w.id AND w.uses > 0 AND w.max_uses IS NOT NULL;
        IF limited < cardinality(coupons) THEN
            PERFORM {couponkit_count}(array_agg(w.id), array_agg(0::bigint), array_agg(w.uses))
            FROM unnest(coupons, uses, limits) AS w (id, uses, max_uses) WHERE w.uses > 0 AND w.max_uses IS NULL;
        END IF;
        EXIT WHEN cardinality(again) = 0;
    END LOOP;
END
$couponkit$;

-- couponkit_reserve_one is couponkit_reserve_batch for one request.
CREATE FUNCTION {couponkit_reserve_one}(
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
    taken bigint;
    plain boolean;
    judged record;
BEGIN
    -- It counts before it looks: one statement locks and counts, and the next one
    -- sees what those who held the lock have done.
    UPDATE {coupons} c SET reserved_count = c.reserved_count + 1
    WHERE c.id = coupon AND c.max_uses IS NOT NULL AND c.state = 'active'
        AND (coupon_revision = 0 OR c.revision = coupon_revision)
    RETURNING c.max_uses, c.max_uses_per_user, c.used_count + c.reserved_count
    INTO limit_of_all, limit_per_user, taken;
    IF FOUND THEN
        plain := taken + coalesce((SELECT sum(s.completed + s.reserved) FROM {coupon_counters} s WHERE s.coupon_id = coupon), 0) <= limit_of_all
            AND CASE WHEN limit_per_user IS NOT NULL OR origin = 'points'
                THEN (SELECT r.id FROM {coupon_redemptions} r WHERE r.coupon_id = coupon AND r.customer_id = customer LIMIT 1)
                ELSE (SELECT r.id FROM {coupon_redemptions} r WHERE r.customer_id = customer AND r.key = key) END IS NULL
            AND (SELECT o.id FROM {orders} o WHERE o.customer_id = customer AND o.key = key) IS NULL;
        IF plain THEN
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
                    outcome := 'reserved';
                    RETURN;
                END IF;
                DELETE FROM {coupon_redemptions} r WHERE r.id = id;
            END IF;
        END IF;
        UPDATE {coupons} c SET reserved_count = c.reserved_count - 1 WHERE c.id = coupon;
    END IF;
    judged := {couponkit_reserve_batch}(ARRAY[coupon], ARRAY[1::bigint], ARRAY[1], ARRAY[id], ARRAY[key], ARRAY[customer],
        ARRAY[origin], ARRAY[points], ARRAY[points_state], ARRAY[order_id], ARRAY[session_id], ARRAY[deadline],
        ARRAY[created], ARRAY[updated], ARRAY[coupon_revision], ARRAY[fingerprint], ARRAY[order_state],
        ARRAY[order_session], ARRAY[order_url], ARRAY[discount], ARRAY[order_deadline], ARRAY[order_created],
        ARRAY[order_updated], CASE WHEN quote IS NULL THEN '{}' ELSE ARRAY[quote] END, ARRAY[snapshot], ARRAY[metadata]);
    outcome := coalesce(judged.outcomes[1], 'reserved');
    held := judged.held[1];
    limit_of_all := judged.limits[1];
    limit_per_user := judged.limits_per_user[1];
END
$couponkit$;

-- couponkit_settle applies what the processor says of sessions. Entry i of every
-- array is settlement i. It returns for each the records after it; problem tells
-- that a payment without a record came without a new ID (unnamed), or with one that
-- exists (conflict). A late payment that meets another call of its customer looks again.
CREATE OR REPLACE FUNCTION {couponkit_settle}(
    kinds text[], ats timestamptz[], sessions text[], order_ids text[], deadlines timestamptz[],
    reservation_ids text[], coupon_ids text[], customer_ids text[], new_ids text[])
RETURNS TABLE (n bigint, problem text, changed boolean, redemption {coupon_redemptions}, ordered {orders})
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_column
DECLARE
    w       record;
    e       {couponkit_event};
    r       {coupon_redemptions};
    o       {orders};
    applied record;
    place   record;
    late    boolean; -- a payment after the place was given back
    placed  boolean; -- place is known, under the coupon's lock
    payment boolean; -- it may need a record of its own
    ordered_id text;
    tries   integer;
BEGIN
    FOR w IN
        SELECT * FROM unnest(kinds, ats, sessions, order_ids, deadlines, reservation_ids, coupon_ids, customer_ids, new_ids)
            WITH ORDINALITY AS w (kind, at, session_id, order_id, deadline, reservation_id, coupon_id, customer_id, new_id, n)
        ORDER BY w.session_id, w.order_id, w.n -- the same for all, lest they wait in a circle
    LOOP
        n := w.n;
        problem := NULL;
        changed := false;
        e := ROW(w.kind, w.at, w.session_id, w.order_id, w.deadline, false);
        ordered_id := NULL;
        redemption := NULL;
        placed := false;
        tries := 0;
        LOOP
            r := NULL;
            IF w.session_id <> '' THEN
                SELECT x.* INTO r FROM {coupon_redemptions} x
                WHERE x.session_id = w.session_id AND x.session_id <> '' FOR UPDATE;
            END IF;
            IF r.id IS NULL AND w.reservation_id = '' AND w.session_id = '' AND w.order_id <> '' THEN
                -- The session never came to be, and the order names its reservation.
                w.reservation_id := coalesce((SELECT x.reservation_id FROM {orders} x WHERE x.id = w.order_id), '');
            END IF;
            IF r.id IS NULL AND w.reservation_id <> '' THEN
                SELECT x.* INTO r FROM {coupon_redemptions} x
                WHERE x.id = w.reservation_id
                    AND (x.session_id = '' AND x.order_id = w.order_id OR x.session_id <> '' AND x.session_id = w.session_id)
                FOR UPDATE;
            END IF;
            IF r.id IS NOT NULL THEN
                late := w.kind = 'session completed' AND r.state = 'released';
                IF late THEN
                    place := {couponkit_place}(r.coupon_id, r.customer_id);
                    e.no_place := place.no_place;
                END IF;
                applied := {couponkit_apply}(r, e);
                redemption := applied.result;
                IF late THEN
                    redemption.customer_turn := coalesce(place.turn, redemption.customer_turn);
                END IF;
                IF redemption IS DISTINCT FROM r THEN
                    BEGIN
                        PERFORM {couponkit_keep}(r, redemption);
                    EXCEPTION WHEN unique_violation THEN
                        -- Somebody has taken the customer's turn meanwhile.
                        tries := tries + 1;
                        IF NOT late OR tries = 10 THEN
                            RAISE;
                        END IF;
                        CONTINUE;
                    END;
                    changed := true;
                END IF;
                ordered_id := {couponkit_order_of}(w.order_id, w.session_id);
                EXIT;
            END IF;
            -- There is none. A payment without a record needs a place, and both it and
            -- the order are looked at under their locks; what was done by those who
            -- held them is looked for once more.
            payment := w.kind = 'session completed' AND w.coupon_id <> '';
            IF payment AND NOT placed THEN
                place := {couponkit_place}(w.coupon_id, w.customer_id);
                placed := true;
                CONTINUE;
            END IF;
            IF ordered_id IS NULL THEN
                ordered_id := {couponkit_order_of}(w.order_id, w.session_id);
                IF ordered_id IS NOT NULL THEN
                    PERFORM FROM {orders} x WHERE x.id = ordered_id FOR UPDATE;
                    CONTINUE;
                END IF;
            END IF;
            EXIT WHEN NOT payment;
            IF w.new_id = '' THEN
                problem := 'unnamed';
                EXIT;
            END IF;
            INSERT INTO {coupon_redemptions} AS x (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
                over_limit, created_at, updated_at, completed_at, customer_turn)
            VALUES (w.new_id, w.new_id, w.coupon_id, w.customer_id, 'completed', 'payment', w.order_id, w.session_id,
                place.no_place, w.at, w.at, w.at, place.turn)
            ON CONFLICT DO NOTHING
            RETURNING x.* INTO redemption;
            IF redemption.id IS NOT NULL THEN
                PERFORM {couponkit_count}(ARRAY[w.coupon_id], ARRAY[1::bigint], ARRAY[0::bigint]);
                changed := true;
                EXIT;
            END IF;
            IF EXISTS (SELECT FROM {coupon_redemptions} x WHERE x.id = w.new_id
                OR x.customer_id = w.customer_id AND x.key = w.new_id) THEN
                problem := 'conflict';
                EXIT;
            END IF;
            placed := false; -- somebody was faster with this session or this customer
        END LOOP;

        o := NULL;
        ordered := NULL;
        IF ordered_id IS NOT NULL THEN
            SELECT x.* INTO o FROM {orders} x WHERE x.id = ordered_id FOR UPDATE;
        END IF;
        IF o.id IS NOT NULL AND problem IS NULL THEN
            ordered := {couponkit_order_after}(o, e);
            changed := {couponkit_keep_order}(o, ordered) OR changed;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$couponkit$;
