-- Settling, attaching and transitions, fast. PostgreSQL reads all CHECK constraints of
-- a table anew for every statement that writes to it: row by row, that and the
-- statements themselves were three quarters of what a settlement took. Here a batch
-- writes each table once.
--
-- Nobody waits in a circle. Whoever needs several rows locks them in this order:
-- redemptions by ID; then what counts the uses of their coupons, coupon by coupon; then
-- orders by ID. A batch locks all redemptions that it is about with one statement and all
-- orders with another, and counts in between. It never needs a place of a coupon: what
-- does is left alone, to be settled by itself in a transaction of its own, and so is what
-- would need a row that another call of the batch changes. A call by itself locks one
-- redemption, then its coupon, then one order. What it stores meets another call that has
-- stored the same session only if the processor names two orders for one session; should
-- they wait for each other, PostgreSQL ends that and the store tries again.
--
-- What is decided is decided on rows that were read as they were locked, and only
-- statements after that, whose snapshots are younger than the locks, look for other rows.

-- couponkit_count is as in step 8. It takes the coupons in their order, and whatever it
-- needs of one before it looks at the next: a counter that nobody holds, or the coupon,
-- to add a counter to it.
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
            SELECT s.stripe FROM {coupon_counters} s WHERE s.coupon_id = w.coupon_id AND s.max_uses IS NULL
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

-- couponkit_settle_each settles one by one, whatever is said. It is what couponkit_settle
-- was, but that it locks no redemption while it holds a coupon or an order.
CREATE FUNCTION {couponkit_settle_each}(
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
                changed := redemption IS DISTINCT FROM r;
                IF changed AND NOT late THEN
                    PERFORM {couponkit_keep}(r, redemption);
                ELSIF changed THEN
                    BEGIN
                        PERFORM {couponkit_keep}(r, redemption);
                        IF {couponkit_turn_left}(r.coupon_id, r.customer_id, place.turn, place.no_place) THEN
                            RAISE unique_violation;
                        END IF;
                    EXCEPTION WHEN unique_violation THEN
                        -- Somebody has taken the customer's turn meanwhile.
                        tries := tries + 1;
                        IF tries = 10 THEN
                            RAISE;
                        END IF;
                        CONTINUE;
                    END;
                END IF;
                ordered_id := {couponkit_order_of}(w.order_id, w.session_id);
                EXIT;
            END IF;
            -- There is none. A payment without a record needs a place, and both it and
            -- the order are looked at under their locks. What was done by those who held
            -- them is looked for once more: then the locks are given back, for a redemption
            -- is locked before them.
            payment := w.kind = 'session completed' AND w.coupon_id <> '';
            BEGIN
                IF payment THEN
                    place := {couponkit_place}(w.coupon_id, w.customer_id);
                END IF;
                ordered_id := {couponkit_order_of}(w.order_id, w.session_id);
                IF ordered_id IS NOT NULL THEN
                    PERFORM FROM {orders} x WHERE x.id = ordered_id FOR UPDATE;
                END IF;
                IF (payment OR ordered_id IS NOT NULL) AND (
                    EXISTS (SELECT FROM {coupon_redemptions} x WHERE x.session_id = w.session_id AND x.session_id <> '')
                    OR EXISTS (SELECT FROM {coupon_redemptions} x
                        WHERE x.id = w.reservation_id AND x.session_id = '' AND x.order_id = w.order_id)) THEN
                    RAISE SQLSTATE 'CK001';
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
                IF redemption.id IS NULL AND EXISTS (SELECT FROM {coupon_redemptions} x WHERE x.id = w.new_id
                    OR x.customer_id = w.customer_id AND x.key = w.new_id) THEN
                    problem := 'conflict';
                    EXIT;
                END IF;
                IF redemption.id IS NULL -- somebody was faster with this session or this customer
                    OR {couponkit_turn_left}(w.coupon_id, w.customer_id, place.turn, place.no_place) THEN
                    RAISE SQLSTATE 'CK001';
                END IF;
                PERFORM {couponkit_count}(ARRAY[w.coupon_id], ARRAY[1::bigint], ARRAY[0::bigint]);
                changed := true;
                EXIT;
            EXCEPTION WHEN SQLSTATE 'CK001' THEN
                redemption := NULL;
            END;
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

-- couponkit_settle_batch settles what is nearly all that happens: a session was paid or
-- not, and its place is still reserved; or that changes nothing; or it has no redemption
-- and needs none. The others are returned with the problem alone, and nothing is done
-- for them. Else it returns what couponkit_settle_each does.
CREATE FUNCTION {couponkit_settle_batch}(
    kinds text[], ats timestamptz[], sessions text[], order_ids text[], deadlines timestamptz[],
    reservation_ids text[], coupon_ids text[])
RETURNS TABLE (n bigint, problem text, changed boolean, redemption {coupon_redemptions}, ordered {orders})
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_column
DECLARE
    -- Entry i of these is of settlement i.
    alone   boolean[]; -- it is left alone
    afters  {coupon_redemptions}[]; -- its redemption after the event, NULL if it has none
    altered boolean[]; -- that is not as before
    found   text[]; -- its order
    orders  {orders}[]; -- that after the event, without its documents
    moved   boolean[]; -- that is not as before

    bare    boolean; -- some have no redemption and need none
    meeting boolean; -- two have found one order meanwhile
BEGIN
    WITH asked AS MATERIALIZED (
        SELECT w.*, s.id AS of_session,
            CASE WHEN s.id IS NULL THEN (
                SELECT x.id FROM {coupon_redemptions} x
                WHERE x.session_id = '' AND x.order_id = w.order_id AND x.id = CASE
                    WHEN w.reservation_id <> '' THEN w.reservation_id
                    -- The session never came to be, and the order names its reservation.
                    WHEN w.session_id = '' THEN (SELECT o.reservation_id FROM {orders} o WHERE o.id = w.order_id)
                END) END AS of_order,
            coalesce((SELECT o.id FROM {orders} o WHERE o.id = w.order_id),
                (SELECT o.id FROM {orders} o WHERE o.session_id = w.session_id AND o.session_id <> ''
                    ORDER BY o.updated_at DESC LIMIT 1)) AS ordered_id
        FROM unnest(kinds, ats, sessions, order_ids, deadlines, reservation_ids, coupon_ids)
            WITH ORDINALITY AS w (kind, at, session_id, order_id, deadline, reservation_id, coupon_id, n)
        LEFT JOIN LATERAL (
            SELECT x.id FROM {coupon_redemptions} x
            WHERE x.session_id = w.session_id AND x.session_id <> '') s ON true
    ), told_apart AS MATERIALIZED (
        SELECT a.*, coalesce(a.of_session, a.of_order) AS redemption_id,
            a.session_id <> '' AND row_number() OVER (PARTITION BY a.session_id ORDER BY a.n) > 1
            OR a.ordered_id IS NOT NULL AND row_number() OVER (PARTITION BY a.ordered_id ORDER BY a.n) > 1
            OR coalesce(a.of_session, a.of_order) IS NOT NULL
                AND row_number() OVER (PARTITION BY coalesce(a.of_session, a.of_order) ORDER BY a.n) > 1 AS repeated
        FROM asked a
    ), held AS MATERIALIZED (
        SELECT d.*, l.x AS r
        FROM (SELECT * FROM told_apart ORDER BY redemption_id) d
        LEFT JOIN LATERAL (
            SELECT x FROM {coupon_redemptions} x WHERE x.id = d.redemption_id AND NOT d.repeated FOR UPDATE) l ON true
    ), judged AS MATERIALIZED (
        SELECT h.n, h.redemption_id, h.r, v.left_alone, CASE WHEN NOT v.left_alone AND h.redemption_id IS NOT NULL THEN
            ({couponkit_apply}(h.r, ROW(h.kind, h.at, h.session_id, h.order_id, h.deadline, false)::{couponkit_event})).result END AS after
        FROM held h CROSS JOIN LATERAL (SELECT h.repeated OR CASE
            WHEN h.redemption_id IS NULL THEN h.kind = 'session completed' AND h.coupon_id <> ''
            -- It must not have changed hands since it was found.
            ELSE CASE WHEN (h.r).session_id = '' THEN h.of_session IS NULL AND (h.r).order_id = h.order_id
                    ELSE (h.r).session_id = h.session_id END IS NOT TRUE
                OR h.kind = 'session completed' AND (h.r).state = 'released' END AS left_alone) v
    )
    SELECT array_agg(j.left_alone), array_agg(j.after), array_agg(j.redemption_id IS NOT NULL AND NOT j.left_alone AND j.after IS DISTINCT FROM j.r),
        bool_or(j.redemption_id IS NULL AND NOT j.left_alone)
    INTO alone, afters, altered, bare
    FROM (SELECT * FROM judged ORDER BY n) j;

    IF true = ANY (altered) THEN
        UPDATE {coupon_redemptions} r SET state = a.state, session_id = a.session_id, points_state = a.points_state,
            awaiting_payment = a.awaiting_payment, deadline = a.deadline, updated_at = a.updated_at,
            completed_at = a.completed_at, released_at = a.released_at
        FROM unnest(afters) WITH ORDINALITY AS a
        WHERE r.id = a.id AND altered[a.ordinality];

        PERFORM {couponkit_count}(array_agg(c.coupon_id), array_agg(c.completed), array_agg(c.reserved))
        FROM (
            SELECT a.coupon_id, count(*) FILTER (WHERE a.state = 'completed') AS completed, -count(*) AS reserved
            FROM unnest(afters) WITH ORDINALITY AS a
            WHERE altered[a.ordinality] AND a.state <> 'reserved'
            GROUP BY a.coupon_id) c;
    END IF;

    WITH asked AS (
        SELECT w.*, CASE WHEN NOT w.alone THEN
            coalesce((SELECT o.id FROM {orders} o WHERE o.id = w.order_id),
                (SELECT o.id FROM {orders} o WHERE o.session_id = w.session_id AND o.session_id <> ''
                    ORDER BY o.updated_at DESC LIMIT 1)) END AS ordered_id
        FROM unnest(kinds, ats, sessions, order_ids, deadlines, alone)
            WITH ORDINALITY AS w (kind, at, session_id, order_id, deadline, alone, n)
    ), held AS MATERIALIZED (
        SELECT a.n, a.ordered_id, o.state, o.session_id, o.deadline, CASE WHEN a.ordered_id IS NOT NULL THEN {couponkit_order_after}(
                ROW(o.id, '', '', '', o.state, '', '', 0, o.session_id, '', o.deadline, o.updated_at, o.updated_at, NULL, NULL, NULL)::{orders},
                ROW(a.kind, a.at, a.session_id, a.order_id, a.deadline, false)::{couponkit_event}) END AS after
        FROM (SELECT * FROM asked ORDER BY ordered_id) a
        LEFT JOIN LATERAL (
            SELECT x.* FROM {orders} x WHERE x.id = a.ordered_id FOR UPDATE) o ON true
    )
    SELECT array_agg(h.ordered_id), array_agg(h.after), array_agg(h.ordered_id IS NOT NULL AND
            ((h.after).state <> h.state OR (h.after).session_id <> h.session_id OR (h.after).deadline IS DISTINCT FROM h.deadline)),
        count(DISTINCT h.ordered_id) < count(h.ordered_id)
    INTO found, orders, moved, meeting
    FROM (SELECT * FROM held ORDER BY n) h;
    IF meeting THEN
        RAISE EXCEPTION 'an order was found by another settlement meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;

    IF bare THEN
        -- What was done by those who held the orders is looked for once more.
        SELECT array_agg(w.alone OR w.ordered_id IS NOT NULL AND (afters[w.n]).id IS NULL AND (
            EXISTS (SELECT FROM {coupon_redemptions} x WHERE x.session_id = w.session_id AND x.session_id <> '')
            OR EXISTS (SELECT FROM {coupon_redemptions} x
                WHERE x.session_id = '' AND x.order_id = w.order_id AND x.id = CASE
                    WHEN w.reservation_id <> '' THEN w.reservation_id
                    WHEN w.session_id = '' THEN (SELECT o.reservation_id FROM {orders} o WHERE o.id = w.order_id) END)))
        INTO alone
        FROM unnest(alone, found, sessions, order_ids, reservation_ids)
            WITH ORDINALITY AS w (alone, ordered_id, session_id, order_id, reservation_id, n);
    END IF;

    IF true = ANY (moved) THEN
        UPDATE {orders} o SET state = a.state, session_id = a.session_id, deadline = a.deadline, updated_at = a.updated_at
        FROM unnest(orders) WITH ORDINALITY AS a
        WHERE o.id = a.id AND moved[a.ordinality] AND NOT alone[a.ordinality];
    END IF;

    RETURN QUERY
    SELECT w.n, CASE WHEN w.alone THEN 'alone' END, NOT w.alone AND (w.altered OR w.moved),
        CASE WHEN NOT w.alone THEN afters[w.n] END,
        CASE WHEN NOT w.alone THEN (SELECT o FROM {orders} o WHERE o.id = w.ordered_id) END
    FROM unnest(alone, altered, moved, found) WITH ORDINALITY AS w (alone, altered, moved, ordered_id, n);
END
$couponkit$;

-- couponkit_settle is what processes call that were built before this step.
CREATE OR REPLACE FUNCTION {couponkit_settle}(
    kinds text[], ats timestamptz[], sessions text[], order_ids text[], deadlines timestamptz[],
    reservation_ids text[], coupon_ids text[], customer_ids text[], new_ids text[])
RETURNS TABLE (n bigint, problem text, changed boolean, redemption {coupon_redemptions}, ordered {orders})
LANGUAGE plpgsql VOLATILE
AS $couponkit$
#variable_conflict use_column
DECLARE
    b    record;
    rest bigint[] := '{}';
BEGIN
    IF cardinality(kinds) = 1 THEN
        rest := '{1}';
    ELSE
        FOR b IN
            SELECT * FROM {couponkit_settle_batch}(kinds, ats, sessions, order_ids, deadlines, reservation_ids, coupon_ids)
        LOOP
            IF b.problem = 'alone' THEN
                rest := rest || b.n;
            ELSE
                n := b.n;
                problem := b.problem;
                changed := b.changed;
                redemption := b.redemption;
                ordered := b.ordered;
                RETURN NEXT;
            END IF;
        END LOOP;
    END IF;
    RETURN QUERY
    SELECT rest[e.n], e.problem, e.changed, e.redemption, e.ordered
    FROM (
        SELECT array_agg(kinds[i]) AS kinds, array_agg(ats[i]) AS ats, array_agg(sessions[i]) AS sessions,
            array_agg(order_ids[i]) AS order_ids, array_agg(deadlines[i]) AS deadlines,
            array_agg(reservation_ids[i]) AS reservation_ids, array_agg(coupon_ids[i]) AS coupon_ids,
            array_agg(customer_ids[i]) AS customer_ids, array_agg(new_ids[i]) AS new_ids
        FROM unnest(rest) AS i HAVING count(*) > 0) w
    CROSS JOIN LATERAL {couponkit_settle_each}(w.kinds, w.ats, w.sessions, w.order_ids, w.deadlines,
        w.reservation_ids, w.coupon_ids, w.customer_ids, w.new_ids) e;
END
$couponkit$;

-- couponkit_transition_batch is couponkit_transition for several redemptions. Of two
-- events of one redemption the second is returned with the refusal alone, and nothing is
-- done for it.
CREATE FUNCTION {couponkit_transition_batch}(
    ids text[], kinds text[], ats timestamptz[], sessions text[], order_ids text[], deadlines timestamptz[])
RETURNS TABLE (n bigint, refusal text, redemption {coupon_redemptions})
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_column
DECLARE
    -- Entry i of these is of event i.
    refusals text[];
    afters   {coupon_redemptions}[]; -- its redemption, NULL if it is missing or left alone
    altered  boolean[]; -- that is not as before
    freed    boolean[]; -- it has given its place back

    orders   {orders}[]; -- those that are cancelled for it, without their documents
BEGIN
    WITH asked AS MATERIALIZED (
        SELECT w.*, row_number() OVER (PARTITION BY w.id ORDER BY w.n) > 1 AS repeated
        FROM unnest(ids, kinds, ats, sessions, order_ids, deadlines)
            WITH ORDINALITY AS w (id, kind, at, session_id, order_id, deadline, n)
    ), held AS MATERIALIZED (
        SELECT a.*, l.x AS r, l.id IS NULL AS missing
        FROM (SELECT * FROM asked ORDER BY id) a
        LEFT JOIN LATERAL (
            SELECT x.id, x FROM {coupon_redemptions} x WHERE x.id = a.id AND NOT a.repeated FOR UPDATE) l ON true
    ), judged AS MATERIALIZED (
        SELECT h.n, h.r, CASE
                WHEN h.repeated THEN 'alone'
                WHEN h.missing THEN 'missing'
                -- It may need a place, and couponkit_settle_each looks for one.
                WHEN h.kind = 'session completed' AND (h.r).state <> 'completed' THEN 'illegal'
                ELSE a.refusal END AS refusal,
            CASE WHEN h.missing OR h.kind = 'session completed' THEN h.r ELSE a.result END AS after
        FROM held h CROSS JOIN LATERAL {couponkit_apply}(h.r,
            ROW(h.kind, h.at, h.session_id, h.order_id, h.deadline, false)::{couponkit_event}) a
    )
    SELECT array_agg(j.refusal), array_agg(j.after), array_agg(j.after IS DISTINCT FROM j.r),
        array_agg((j.r).state = 'reserved' AND (j.after).state = 'released')
    INTO refusals, afters, altered, freed
    FROM (SELECT * FROM judged ORDER BY n) j;

    IF true = ANY (altered) THEN
        UPDATE {coupon_redemptions} r SET state = a.state, order_id = a.order_id, session_id = a.session_id,
            points_state = a.points_state, awaiting_payment = a.awaiting_payment, deadline = a.deadline,
            updated_at = a.updated_at, released_at = a.released_at
        FROM unnest(afters) WITH ORDINALITY AS a
        WHERE r.id = a.id AND altered[a.ordinality];
    END IF;

    IF true = ANY (freed) THEN
        PERFORM {couponkit_count}(array_agg(c.coupon_id), array_agg(0::bigint), array_agg(-c.freed))
        FROM (
            SELECT a.coupon_id, count(*) AS freed
            FROM unnest(afters) WITH ORDINALITY AS a WHERE freed[a.ordinality]
            GROUP BY a.coupon_id) c;

        WITH held AS MATERIALIZED (
            SELECT o.state, o.session_id, o.deadline, {couponkit_order_after}(
                ROW(o.id, '', '', '', o.state, '', '', 0, o.session_id, '', o.deadline, o.updated_at, o.updated_at,
                    NULL, NULL, NULL)::{orders},
                ROW(r.kind, r.at, r.session_id, r.order_id, r.deadline, false)::{couponkit_event}) AS after
            FROM (
                SELECT w.*, (afters[w.n]).order_id AS of_record
                FROM unnest(kinds, ats, sessions, order_ids, deadlines)
                    WITH ORDINALITY AS w (kind, at, session_id, order_id, deadline, n)
                WHERE freed[w.n]
                ORDER BY of_record) r
            CROSS JOIN LATERAL (
                SELECT x.* FROM {orders} x WHERE x.id = r.of_record FOR UPDATE) o
        )
        SELECT array_agg(h.after) INTO orders FROM held h
        WHERE (h.after).state <> h.state OR (h.after).session_id <> h.session_id
            OR (h.after).deadline IS DISTINCT FROM h.deadline;
        UPDATE {orders} o SET state = a.state, session_id = a.session_id, deadline = a.deadline, updated_at = a.updated_at
        FROM unnest(orders) AS a WHERE o.id = a.id;
    END IF;

    RETURN QUERY SELECT w.n, w.refusal, afters[w.n] FROM unnest(refusals) WITH ORDINALITY AS w (refusal, n);
END
$couponkit$;

-- couponkit_attach_batch is couponkit_attach for several orders. What is about an order
-- or a session that one before in the batch is about is returned with the outcome alone,
-- and nothing is done for it.
CREATE FUNCTION {couponkit_attach_batch}(
    order_ids text[], sessions text[], urls text[], deadlines timestamptz[], ats timestamptz[])
RETURNS TABLE (n bigint, outcome text, ordered {orders})
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_column
DECLARE
    -- Entry i of these is of session i.
    outcomes     text[];
    reservations text[]; -- its order's
BEGIN
    WITH asked AS MATERIALIZED (
        SELECT w.*, o.reservation_id
        FROM unnest(order_ids, sessions) WITH ORDINALITY AS w (order_id, session_id, n)
        LEFT JOIN LATERAL (SELECT x.reservation_id FROM {orders} x WHERE x.id = w.order_id) o ON true
    ), told_apart AS MATERIALIZED (
        SELECT a.n, a.reservation_id, CASE
            WHEN a.reservation_id IS NULL THEN 'missing'
            WHEN row_number() OVER (PARTITION BY a.order_id ORDER BY a.n) > 1
                OR a.session_id <> '' AND row_number() OVER (PARTITION BY a.session_id ORDER BY a.n) > 1
                THEN 'alone' ELSE 'attached' END AS outcome
        FROM asked a
    ), held AS MATERIALIZED (
        SELECT d.n, d.outcome, l.id
        FROM (SELECT * FROM told_apart ORDER BY reservation_id) d
        LEFT JOIN LATERAL (
            SELECT x.id FROM {coupon_redemptions} x
            WHERE x.id = d.reservation_id AND d.outcome = 'attached' FOR UPDATE) l ON true
    )
    SELECT array_agg(h.outcome), array_agg(h.id) INTO outcomes, reservations
    FROM (SELECT * FROM held ORDER BY n) h;

    PERFORM FROM (
        SELECT w.order_id FROM unnest(order_ids, outcomes) AS w (order_id, outcome)
        WHERE w.outcome = 'attached' ORDER BY w.order_id) w
    CROSS JOIN LATERAL (SELECT x.id FROM {orders} x WHERE x.id = w.order_id FOR UPDATE) o;

    SELECT array_agg(CASE
        WHEN w.outcome <> 'attached' THEN w.outcome
        WHEN (o.session_id <> w.session_id OR o.state = 'cancelled') AND (o.session_id <> '' OR o.state <> 'open') THEN 'superseded'
        WHEN r.id IS NULL THEN 'attached'
        WHEN ({couponkit_apply}(r, ROW('session attached', w.at, w.session_id, w.order_id, w.deadline, false)::{couponkit_event})).refusal
            IS NOT NULL THEN 'superseded'
        -- It is the session of another redemption.
        WHEN r.session_id <> w.session_id AND EXISTS (SELECT FROM {coupon_redemptions} x
            WHERE x.session_id = w.session_id AND x.session_id <> '' AND x.id <> r.id) THEN 'superseded'
        ELSE 'attached' END ORDER BY w.n)
    INTO outcomes
    FROM unnest(order_ids, sessions, deadlines, ats, outcomes, reservations)
        WITH ORDINALITY AS w (order_id, session_id, deadline, at, outcome, reservation_id, n)
    LEFT JOIN {orders} o ON o.id = w.order_id
    LEFT JOIN {coupon_redemptions} r ON r.id = w.reservation_id;

    IF 'attached' = ANY (outcomes) THEN
        UPDATE {coupon_redemptions} r SET session_id = w.session_id, deadline = w.deadline, updated_at = w.at
        FROM unnest(reservations, sessions, deadlines, ats, outcomes) AS w (reservation_id, session_id, deadline, at, outcome)
        WHERE r.id = w.reservation_id AND w.outcome = 'attached' AND r.session_id <> w.session_id;

        UPDATE {orders} o SET session_id = w.session_id, session_url = w.url,
            deadline = CASE WHEN o.session_id <> w.session_id THEN w.deadline ELSE o.deadline END,
            updated_at = CASE WHEN o.session_id <> w.session_id THEN w.at ELSE o.updated_at END
        FROM unnest(order_ids, sessions, urls, deadlines, ats, outcomes) AS w (order_id, session_id, url, deadline, at, outcome)
        WHERE o.id = w.order_id AND w.outcome = 'attached' AND (o.session_id <> w.session_id OR o.session_url <> w.url);
    END IF;

    RETURN QUERY
    SELECT w.n, w.outcome, CASE WHEN w.outcome = 'attached' THEN (SELECT o FROM {orders} o WHERE o.id = w.order_id) END
    FROM unnest(order_ids, outcomes) WITH ORDINALITY AS w (order_id, outcome, n);
END
$couponkit$;
