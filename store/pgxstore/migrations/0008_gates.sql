-- Counting without rewriting the coupon. PostgreSQL reads all CHECK constraints of a
-- table anew for every statement that writes to it, and coupons has many, on long
-- rows: of what it took to count a use, three quarters. Row 0 of a coupon in
-- coupon_counters is its gate now: it has the terms that decide whether there is a
-- place, kept by triggers, and is locked in place of the coupon by those who take one
-- of a coupon with a limit over all customers.
--
-- Whoever changes a coupon locks its gate first, then the coupon.
LOCK TABLE {coupons}, {coupon_counters} IN ACCESS EXCLUSIVE MODE;

ALTER TABLE {coupon_counters}
    ADD COLUMN active boolean, -- these are NULL but in row 0
    ADD COLUMN revision bigint,
    ADD COLUMN max_uses bigint,
    ADD COLUMN max_uses_per_user bigint;

INSERT INTO {coupon_counters} (coupon_id, stripe, completed, reserved, active, revision, max_uses, max_uses_per_user)
OVERRIDING SYSTEM VALUE
SELECT c.id, 0, c.used_count, c.reserved_count, c.state = 'active', c.revision, c.max_uses, c.max_uses_per_user FROM {coupons} c;

UPDATE {coupons} SET used_count = 0, reserved_count = 0 WHERE used_count <> 0 OR reserved_count <> 0;
ALTER TABLE {coupons} ADD CONSTRAINT {=coupons_counts_check} CHECK (used_count = 0 AND reserved_count = 0);

CREATE FUNCTION {couponkit_gate}() RETURNS trigger
LANGUAGE plpgsql
AS $couponkit$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO {coupon_counters} (coupon_id, stripe, completed, reserved, active, revision, max_uses, max_uses_per_user)
        OVERRIDING SYSTEM VALUE
        SELECT c.id, 0, 0, 0, c.state = 'active', c.revision, c.max_uses, c.max_uses_per_user FROM added c;
    ELSE
        UPDATE {coupon_counters} s SET active = new.state = 'active', revision = new.revision,
            max_uses = new.max_uses, max_uses_per_user = new.max_uses_per_user
        WHERE s.coupon_id = new.id AND s.stripe = 0;
    END IF;
    RETURN NULL;
END
$couponkit$;

CREATE TRIGGER {=coupons_gate_insert} AFTER INSERT ON {coupons} REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION {couponkit_gate}();
CREATE TRIGGER {=coupons_gate_update} AFTER UPDATE OF state, revision, max_uses, max_uses_per_user ON {coupons}
    FOR EACH ROW EXECUTE FUNCTION {couponkit_gate}();

-- couponkit_count adds to the counts of coupons, without a lock that anybody waits
-- for: gates of limited coupons are left alone. A coupon that was deleted counts no
-- more. A coupon is named at most once.
CREATE OR REPLACE FUNCTION {couponkit_count}(coupons text[], completed bigint[], reserved bigint[]) RETURNS void
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
            SELECT s.stripe FROM {coupon_counters} s WHERE s.coupon_id = c.coupon_id AND s.max_uses IS NULL
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
-- all customers alone, by their gates, the others together with everybody who does
-- not change their terms. It returns the former. coupons is sorted and names each once.
CREATE OR REPLACE FUNCTION {couponkit_lock}(coupons text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE
AS $couponkit$
DECLARE
    limited text[];
BEGIN
    limited := ARRAY(SELECT s.coupon_id FROM {coupon_counters} s
        WHERE s.coupon_id = ANY (coupons) AND s.stripe = 0 AND s.max_uses IS NOT NULL
        ORDER BY s.coupon_id FOR NO KEY UPDATE);
    IF cardinality(limited) < cardinality(coupons) THEN
        PERFORM FROM {coupons} c WHERE c.id = ANY (coupons) AND c.id <> ALL (limited) ORDER BY c.id FOR KEY SHARE;
    END IF;
    RETURN limited;
END
$couponkit$;

-- couponkit_recount changes the counts of reserved places: at the gates of coupons
-- that are held, elsewhere of the others.
CREATE FUNCTION {couponkit_recount}(coupons text[], gates boolean[], changes bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
BEGIN
    UPDATE {coupon_counters} s SET reserved = s.reserved + w.change
    FROM unnest(coupons, gates, changes) AS w (id, gate, change)
    WHERE s.coupon_id = w.id AND s.stripe = 0 AND w.gate AND w.change <> 0;
    IF false = ANY (gates) THEN
        PERFORM {couponkit_count}(array_agg(w.id), array_agg(0::bigint), array_agg(w.change))
        FROM unnest(coupons, gates, changes) AS w (id, gate, change) WHERE NOT w.gate AND w.change <> 0;
    END IF;
END
$couponkit$;

-- In an empty table all indexes that begin with the coupon look alike, and a plan
-- that was made then would count one customer's uses by reading all of the coupon's.
-- The index of lists, which always name a state, begins with that instead.
DROP INDEX {coupon_redemptions_coupon_idx};
CREATE INDEX {=coupon_redemptions_coupon_idx} ON {coupon_redemptions} (state, coupon_id, created_at, id);

-- couponkit_reserve_batch is as in step 7, with gates. What the batch asks for is
-- counted before it is looked: one statement locks and counts, and the next ones see
-- what those who held the locks have done. What is not given is counted back.
CREATE OR REPLACE FUNCTION {couponkit_reserve_batch}(
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
    gates     boolean[]; -- whether the coupon is held by its gate, and was counted there
    whole     boolean := false; -- all of them
    opened    boolean; -- a coupon became limited and active meanwhile
    states    text[]; -- of each coupon, NULL if there is none
    versions  bigint[];
    taken     bigint[]; -- places
    uses      bigint[]; -- places that were taken now
    less      bigint[]; -- places that were counted and are not taken
    again     bigint[]; -- the requests that are judged one by one, in their order
    kept      text[]; -- customers whose requests were stored
    judged    bigint[];
    verdicts  text[];
    holds     text[];
    turns     bigint[];
BEGIN
    IF cardinality(coupons) = 1 THEN -- most often a hot one
        UPDATE {coupon_counters} s SET reserved = s.reserved + requests
        WHERE s.coupon_id = coupons[1] AND s.stripe = 0 AND s.max_uses IS NOT NULL AND s.active
        RETURNING ARRAY[true], ARRAY[s.revision], ARRAY[s.max_uses], ARRAY[s.max_uses_per_user], ARRAY[s.completed + s.reserved - requests]
        INTO gates, versions, limits, limits_per_user, taken;
        whole := FOUND;
        IF NOT whole THEN
            gates := ARRAY[false];
        END IF;
    ELSE
        WITH held AS MATERIALIZED (
            SELECT d.place, d.demand, s.coupon_id
            FROM unnest(coupons, demands) WITH ORDINALITY AS d (id, demand, place)
            JOIN {coupon_counters} s ON s.coupon_id = d.id AND s.stripe = 0
            WHERE s.max_uses IS NOT NULL AND s.active
            ORDER BY d.place FOR NO KEY UPDATE OF s
        ), counted AS (
            UPDATE {coupon_counters} s SET reserved = s.reserved + h.demand
            FROM held h WHERE s.coupon_id = h.coupon_id AND s.stripe = 0
            RETURNING h.place, s.revision, s.max_uses, s.max_uses_per_user, s.completed + s.reserved - h.demand AS taken
        )
        SELECT array_agg(k.place IS NOT NULL), array_agg(k.revision), array_agg(k.max_uses), array_agg(k.max_uses_per_user),
            array_agg(k.taken), count(k.place) = count(*)
        INTO gates, versions, limits, limits_per_user, taken, whole
        FROM (SELECT c.* FROM generate_series(1, cardinality(coupons)) AS p (place)
            LEFT JOIN counted c ON c.place = p.place ORDER BY p.place) k;
    END IF;
    IF whole THEN
        states := array_fill('active'::text, ARRAY[cardinality(coupons)]);
        taken := ARRAY(SELECT t.taken + coalesce((SELECT sum(s.completed + s.reserved) FROM {coupon_counters} s
                WHERE s.coupon_id = coupons[t.place] AND s.stripe > 0), 0)::bigint
            FROM unnest(taken) WITH ORDINALITY AS t (taken, place) ORDER BY t.place);
    ELSE
        PERFORM FROM {coupons} c WHERE c.id = ANY (coupons) ORDER BY c.id FOR KEY SHARE;
    END IF;
    FOR attempt IN 0 .. 4 LOOP
        IF attempt > 0 OR NOT whole THEN
            SELECT array_agg(t.state), array_agg(t.revision), array_agg(t.max_uses), array_agg(t.max_uses_per_user),
                array_agg(t.taken), bool_or(t.max_uses IS NOT NULL AND t.state = 'active' AND NOT gates[t.place])
            INTO states, versions, limits, limits_per_user, taken, opened
            FROM (
                SELECT d.place, c.state, c.revision, c.max_uses, c.max_uses_per_user,
                    coalesce((SELECT sum(s.completed + s.reserved) FROM {coupon_counters} s
                        WHERE s.coupon_id = c.id AND c.max_uses IS NOT NULL), 0)::bigint
                    - CASE WHEN attempt = 0 AND gates[d.place] THEN demands[d.place] ELSE 0 END AS taken
                FROM unnest(coupons) WITH ORDINALITY AS d (id, place) LEFT JOIN {coupons} c ON c.id = d.id
                ORDER BY d.place) t;
            IF opened THEN
                RAISE EXCEPTION 'a coupon was opened, or given its first limit, meanwhile' USING ERRCODE = 'serialization_failure';
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
            uses := demands;
            IF cardinality(again) > 0 THEN
                less := array_fill(0::bigint, ARRAY[cardinality(coupons)]);
                FOR i IN 1 .. cardinality(again) LOOP
                    uses[places[again[i]]] := uses[places[again[i]]] - 1;
                    IF gates[places[again[i]]] THEN
                        less[places[again[i]]] := less[places[again[i]]] - 1;
                    END IF;
                END LOOP;
                PERFORM {couponkit_recount}(coupons, gates, less);
                CONTINUE WHEN cardinality(again) = requests;
            END IF;
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
                -- A late payment leaves the turn that its reservation had: one that was
                -- probed before and is stored after it meets nobody. So it is looked
                -- again who is there.
                IF NOT whole AND EXISTS (
                    SELECT FROM generate_series(1, requests) AS n
                    WHERE n <> ALL (again) AND limits[places[n]] IS NULL
                        AND (limits_per_user[places[n]] IS NOT NULL OR origins[n] = 'points')
                        AND (SELECT r.id FROM {coupon_redemptions} r WHERE r.coupon_id = coupons[places[n]]
                            AND r.customer_id = customer_ids[n] AND r.id <> ids[n] LIMIT 1) IS NOT NULL) THEN
                    RAISE unique_violation;
                END IF;
            EXCEPTION WHEN unique_violation THEN
                -- Somebody was faster, or a key or an ID was used for something else.
                PERFORM {couponkit_recount}(coupons, gates, ARRAY(
                    SELECT CASE WHEN w.gate THEN -w.uses ELSE 0 END FROM unnest(gates, uses) WITH ORDINALITY AS w (gate, uses, place)
                    ORDER BY w.place));
                again := ARRAY(SELECT n FROM generate_series(1, requests) AS n ORDER BY n);
                CONTINUE;
            END;
            IF NOT whole THEN
                PERFORM {couponkit_recount}(coupons, gates, ARRAY(
                    SELECT CASE WHEN w.gate THEN 0 ELSE w.uses END FROM unnest(gates, uses) WITH ORDINALITY AS w (gate, uses, place)
                    ORDER BY w.place));
            END IF;
            EXIT WHEN cardinality(again) = 0;
        ELSE
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
                IF NOT whole AND EXISTS (
                    SELECT FROM unnest(judged, verdicts) AS j (n, verdict)
                    WHERE j.verdict = 'reserved' AND j.n <> ALL (again) AND limits[places[j.n]] IS NULL
                        AND (limits_per_user[places[j.n]] IS NOT NULL AND limits_per_user[places[j.n]] < (
                                SELECT count(*) FROM {coupon_redemptions} r WHERE r.coupon_id = coupons[places[j.n]]
                                    AND r.customer_id = customer_ids[j.n] AND r.state <> 'released')
                            OR origins[j.n] = 'points' AND (
                                SELECT count(*) FROM {coupon_redemptions} r WHERE r.coupon_id = coupons[places[j.n]]
                                    AND r.customer_id = customer_ids[j.n] AND r.origin = 'points'
                                    AND r.state || '' = 'reserved' AND r.order_id = '') > 1)) THEN
                    RAISE unique_violation; -- as above
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
            IF cardinality(kept) > 0 THEN
                PERFORM {couponkit_recount}(coupons, gates, uses);
            END IF;
            EXIT WHEN cardinality(again) = 0;
        END IF;
    END LOOP;
END
$couponkit$;

-- couponkit_reserve is what processes call that were built before step 7.
CREATE OR REPLACE FUNCTION {couponkit_reserve}(
    coupons text[], -- every coupon once, sorted
    ids text[], keys text[], coupon_ids text[], customer_ids text[], origins text[], points bigint[],
    points_states text[], order_ids text[], session_ids text[], deadlines timestamptz[], created timestamptz[],
    updated timestamptz[], revisions bigint[],
    fingerprints text[], order_states text[], order_sessions text[], order_urls text[], discounts bigint[],
    order_deadlines timestamptz[], order_created timestamptz[], order_updated timestamptz[],
    quotes text[], snapshots text[], metadata text[],
    OUT outcomes text[], OUT held text[], OUT max_uses bigint[], OUT max_uses_per_user bigint[])
LANGUAGE plpgsql VOLATILE
AS $couponkit$
DECLARE
    places integer[] := ARRAY(SELECT array_position(coupons, w.id) FROM unnest(coupon_ids) WITH ORDINALITY AS w (id, n) ORDER BY w.n);
    judged record;
BEGIN
    judged := {couponkit_reserve_batch}(coupons,
        ARRAY(SELECT count(*) FROM unnest(places) AS p (place) GROUP BY p.place ORDER BY p.place), places,
        ids, keys, customer_ids, origins, points, points_states, order_ids, session_ids, deadlines, created, updated, revisions,
        fingerprints, order_states, order_sessions, order_urls, discounts, order_deadlines, order_created, order_updated,
        quotes, snapshots, metadata);
    outcomes := coalesce(array_replace(judged.outcomes, 'later', 'used_up'), array_fill('reserved'::text, ARRAY[cardinality(places)]));
    held := coalesce(judged.held, array_fill(NULL::text, ARRAY[cardinality(places)]));
    max_uses := ARRAY(SELECT judged.limits[p.place] FROM unnest(places) WITH ORDINALITY AS p (place, n) ORDER BY p.n);
    max_uses_per_user := ARRAY(SELECT judged.limits_per_user[p.place] FROM unnest(places) WITH ORDINALITY AS p (place, n) ORDER BY p.n);
END
$couponkit$;

-- couponkit_reserve_one is couponkit_reserve_batch for one request.
CREATE OR REPLACE FUNCTION {couponkit_reserve_one}(
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
    UPDATE {coupon_counters} s SET reserved = s.reserved + 1
    WHERE s.coupon_id = coupon AND s.stripe = 0 AND s.max_uses IS NOT NULL AND s.active
        AND (coupon_revision = 0 OR s.revision = coupon_revision)
    RETURNING s.max_uses, s.max_uses_per_user, s.completed + s.reserved
    INTO limit_of_all, limit_per_user, taken;
    IF FOUND THEN
        plain := taken + coalesce((SELECT sum(s.completed + s.reserved) FROM {coupon_counters} s WHERE s.coupon_id = coupon AND s.stripe > 0), 0) <= limit_of_all
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
        UPDATE {coupon_counters} s SET reserved = s.reserved - 1 WHERE s.coupon_id = coupon AND s.stripe = 0;
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

-- couponkit_turn_left reports whether a use that was stored within the limit per
-- customer is beyond it: its turn was found free because a late payment has left it
-- since it was probed.
CREATE FUNCTION {couponkit_turn_left}(coupon text, customer text, turn bigint, no_place boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE -- which sees what was committed meanwhile
AS $couponkit$
BEGIN
    RETURN turn IS NOT NULL AND NOT no_place AND coalesce(
        (SELECT count(*) FROM {coupon_redemptions} r
            WHERE r.coupon_id = coupon AND r.customer_id = customer AND r.state <> 'released')
        > (SELECT c.max_uses_per_user FROM {coupons} c WHERE c.id = coupon), false);
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
                        IF late THEN
                            IF {couponkit_turn_left}(r.coupon_id, r.customer_id, place.turn, place.no_place) THEN
                                RAISE unique_violation;
                            END IF;
                        END IF;
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
            IF redemption.id IS NOT NULL AND {couponkit_turn_left}(w.coupon_id, w.customer_id, place.turn, place.no_place) THEN
                DELETE FROM {coupon_redemptions} x WHERE x.id = w.new_id;
                redemption := NULL;
                placed := false;
                CONTINUE;
            END IF;
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
