-- couponkit_order_of finds, of several orders that have a session and were changed at one
-- instant, the newest, as every store does. All else is as in step 4.
CREATE OR REPLACE FUNCTION {couponkit_order_of}(named text, session text) RETURNS text
LANGUAGE plpgsql VOLATILE -- which sees what was committed meanwhile
AS $couponkit$
DECLARE
    found_id text;
BEGIN
    IF named <> '' THEN
        SELECT x.id INTO found_id FROM {orders} x WHERE x.id = named;
    END IF;
    IF found_id IS NULL AND session <> '' THEN
        SELECT x.id INTO found_id FROM {orders} x WHERE x.session_id = session AND x.session_id <> ''
        ORDER BY x.updated_at DESC, x.created_at DESC, x.id DESC LIMIT 1;
    END IF;
    RETURN found_id;
END
$couponkit$;

-- couponkit_settle_batch finds the same order as couponkit_order_of. It answers with orders,
-- each of which may have megabytes: what would make their documents, as they are stored,
-- longer than 16 MiB is left alone, the longest first. All else is as in step 23.
CREATE OR REPLACE FUNCTION {couponkit_settle_batch}(
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
                    ORDER BY o.updated_at DESC, o.created_at DESC, o.id DESC LIMIT 1)) AS ordered_id
        FROM unnest(kinds, ats, sessions, order_ids, deadlines, reservation_ids, coupon_ids)
            WITH ORDINALITY AS w (kind, at, session_id, order_id, deadline, reservation_id, coupon_id, n)
        LEFT JOIN LATERAL (
            SELECT x.id FROM {coupon_redemptions} x
            WHERE x.session_id = w.session_id AND x.session_id <> '') s ON true
    ), told_apart AS MATERIALIZED (
        SELECT a.*, coalesce(a.of_session, a.of_order) AS redemption_id,
            sum(coalesce(o.length, 0)) OVER (ORDER BY o.length, a.n) > 16 << 20
            OR a.session_id <> '' AND row_number() OVER (PARTITION BY a.session_id ORDER BY a.n) > 1
            OR a.ordered_id IS NOT NULL AND row_number() OVER (PARTITION BY a.ordered_id ORDER BY a.n) > 1
            -- Of several orders of a session an event is about the one that changed last, which may
            -- be another one after an earlier event.
            OR a.session_id <> '' AND EXISTS (
                SELECT FROM (SELECT x.id FROM {orders} x
                    WHERE x.session_id = a.session_id AND x.session_id <> '' AND x.id <> a.ordered_id OFFSET 0) x
                WHERE x.id IN (SELECT b.ordered_id FROM asked b WHERE b.n < a.n))
            OR coalesce(a.of_session, a.of_order) IS NOT NULL
                AND row_number() OVER (PARTITION BY coalesce(a.of_session, a.of_order) ORDER BY a.n) > 1 AS left_out
        FROM asked a
        LEFT JOIN LATERAL (
            SELECT pg_column_size(x.quote) + coalesce(pg_column_size(x.coupon), 0) + coalesce(pg_column_size(x.metadata), 0) AS length
            FROM {orders} x WHERE x.id = a.ordered_id) o ON true
    ), held AS MATERIALIZED (
        SELECT d.*, l.x AS r
        FROM (SELECT * FROM told_apart ORDER BY redemption_id) d
        LEFT JOIN LATERAL (
            SELECT x FROM {coupon_redemptions} x WHERE x.id = d.redemption_id AND NOT d.left_out FOR UPDATE) l ON true
    ), judged AS MATERIALIZED (
        SELECT h.n, h.redemption_id, h.r, v.left_alone, CASE WHEN NOT v.left_alone AND h.redemption_id IS NOT NULL THEN
            ({couponkit_apply}(h.r, ROW(h.kind, h.at, h.session_id, h.order_id, h.deadline, false)::{couponkit_event})).result END AS after
        FROM held h CROSS JOIN LATERAL (SELECT h.left_out OR CASE
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
            awaiting_payment = a.awaiting_payment, deadline = a.deadline, leaving_until = a.leaving_until,
            updated_at = a.updated_at, completed_at = a.completed_at, released_at = a.released_at
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
                    ORDER BY o.updated_at DESC, o.created_at DESC, o.id DESC LIMIT 1)) END AS ordered_id
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
            ((h.after).state <> h.state OR (h.after).session_id <> h.session_id OR (h.after).deadline IS DISTINCT FROM h.deadline))
    INTO found, orders, moved
    FROM (SELECT * FROM held ORDER BY n) h;
    IF (SELECT count(DISTINCT o) < count(o) FROM unnest(found) AS o) THEN
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

-- couponkit_attach_batch leaves the same alone. All else is as in step 9.
CREATE OR REPLACE FUNCTION {couponkit_attach_batch}(
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
        SELECT w.*, o.*
        FROM unnest(order_ids, sessions) WITH ORDINALITY AS w (order_id, session_id, n)
        LEFT JOIN LATERAL (
            SELECT x.reservation_id,
                pg_column_size(x.quote) + coalesce(pg_column_size(x.coupon), 0) + coalesce(pg_column_size(x.metadata), 0) AS length
            FROM {orders} x WHERE x.id = w.order_id) o ON true
    ), told_apart AS MATERIALIZED (
        SELECT a.n, a.reservation_id, CASE
            WHEN a.reservation_id IS NULL THEN 'missing'
            WHEN sum(a.length) OVER (ORDER BY a.length, a.n) > 16 << 20
                OR row_number() OVER (PARTITION BY a.order_id ORDER BY a.n) > 1
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
