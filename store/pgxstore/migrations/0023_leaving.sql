-- The machine knows of reservations that are about to leave their session
-- (redemption.Leaving): until the instant in leaving_until an expiry of the session does
-- not release them. All else is as in the steps before.
ALTER TABLE {coupon_redemptions} ADD COLUMN leaving_until timestamptz;

CREATE OR REPLACE FUNCTION {couponkit_released}(r {coupon_redemptions}, e {couponkit_event}) RETURNS {coupon_redemptions}
LANGUAGE plpgsql STABLE
AS $couponkit$
BEGIN
    r.state := 'released';
    r.released_at := e.at;
    r.awaiting_payment := false;
    r.deadline := NULL;
    r.leaving_until := NULL;
    IF r.session_id = '' THEN
        r.session_id := e.session_id;
    END IF;
    IF r.points_state IN ('pending', 'debited') THEN
        r.points_state := 'refund_due';
    END IF;
    RETURN r;
END
$couponkit$;

CREATE OR REPLACE FUNCTION {couponkit_apply}(r {coupon_redemptions}, e {couponkit_event},
    OUT result {coupon_redemptions}, OUT refusal text)
LANGUAGE plpgsql STABLE
AS $couponkit$
DECLARE
    concerns boolean := CASE WHEN r.session_id <> '' THEN r.session_id = e.session_id
        ELSE r.order_id = e.order_id AND (e.order_id <> '' OR e.session_id <> '') END;
BEGIN
    result := r;
    CASE e.kind
    WHEN 'points exchanged' THEN
        IF r.points_state = 'debited' THEN
            NULL;
        ELSIF r.state <> 'reserved' OR r.points_state <> 'pending' THEN
            refusal := 'illegal';
        ELSE
            result.points_state := 'debited';
            result.deadline := NULL;
        END IF;
    WHEN 'session attached' THEN
        IF e.session_id = '' THEN
            refusal := 'illegal';
        ELSIF r.session_id = e.session_id THEN
            NULL;
        ELSIF r.session_id <> '' OR r.order_id <> e.order_id THEN
            refusal := 'other_session';
        ELSIF r.state <> 'reserved' THEN
            refusal := 'illegal';
        ELSE
            result.session_id := e.session_id;
            result.deadline := e.deadline;
        END IF;
    WHEN 'taken over' THEN
        IF e.order_id = '' THEN
            refusal := 'illegal';
        ELSIF r.order_id = e.order_id THEN
            NULL;
        ELSIF r.state <> 'reserved' OR r.awaiting_payment OR r.points_state NOT IN ('none', 'debited') THEN
            refusal := 'illegal';
        ELSIF r.session_id <> e.session_id THEN
            refusal := 'other_session';
        ELSE
            result.order_id := e.order_id;
            result.session_id := '';
            result.deadline := e.deadline;
            result.leaving_until := NULL;
        END IF;
    WHEN 'session completed' THEN
        IF e.session_id = '' THEN
            refusal := 'illegal';
        ELSIF NOT concerns THEN
            refusal := 'other_session';
        ELSIF r.state <> 'completed' THEN
            result.over_limit := r.state = 'released' AND e.no_place;
            result.state := 'completed';
            result.session_id := e.session_id;
            result.completed_at := e.at;
            result.awaiting_payment := false;
            result.deadline := NULL;
            result.leaving_until := NULL;
            result.released_at := NULL;
        END IF;
    WHEN 'session completed unpaid' THEN
        IF r.state = 'reserved' AND e.session_id <> '' AND concerns THEN
            result.session_id := e.session_id;
            result.awaiting_payment := true;
            result.leaving_until := NULL;
            IF e.deadline > coalesce(r.deadline, '-infinity') THEN
                result.deadline := e.deadline;
            END IF;
        END IF;
    WHEN 'payment failed' THEN
        IF r.state = 'reserved' AND concerns THEN
            result := {couponkit_released}(r, e);
        END IF;
    WHEN 'session expired' THEN
        IF r.awaiting_payment OR r.state <> 'reserved' OR NOT concerns THEN
            NULL;
        ELSIF e.at < r.leaving_until THEN
            result.deadline := least(r.deadline, r.leaving_until);
        ELSE
            result := {couponkit_released}(r, e);
        END IF;
    WHEN 'cancelled', 'points refused' THEN
        IF r.state = 'released' THEN
            NULL;
        ELSIF r.state <> 'reserved' OR e.kind = 'points refused' AND r.points_state <> 'pending' THEN
            refusal := 'illegal';
        ELSIF r.session_id <> e.session_id THEN
            refusal := 'other_session';
        ELSE
            result := {couponkit_released}(r, e);
        END IF;
    WHEN 'lapsed' THEN
        IF r.state = 'released' THEN
            NULL;
        ELSIF r.state <> 'reserved' THEN
            refusal := 'illegal';
        ELSIF r.session_id <> e.session_id THEN
            refusal := 'other_session';
        ELSIF r.deadline IS NULL OR e.at < r.deadline THEN
            refusal := 'not_lapsed';
        ELSE
            result := {couponkit_released}(r, e);
        END IF;
    WHEN 'leaving' THEN
        IF e.session_id = '' OR r.state <> 'reserved' OR r.awaiting_payment OR r.points_state NOT IN ('none', 'debited') THEN
            refusal := 'illegal';
        ELSIF r.session_id <> e.session_id THEN
            refusal := 'other_session';
        ELSE
            result.leaving_until := e.deadline;
            IF r.deadline < e.deadline THEN
                result.deadline := e.deadline;
            END IF;
        END IF;
    WHEN 'points given back' THEN
        IF r.points_state = 'refund_due' THEN
            result.points_state := 'refunded';
        ELSIF r.points_state <> 'refunded' THEN
            refusal := 'illegal';
        END IF;
    ELSE
        refusal := 'illegal';
    END CASE;
    IF result IS DISTINCT FROM r THEN
        result.updated_at := e.at;
    END IF;
END
$couponkit$;

CREATE OR REPLACE FUNCTION {couponkit_order_after}(o {orders}, e {couponkit_event}) RETURNS {orders}
LANGUAGE plpgsql STABLE
AS $couponkit$
DECLARE
    before {orders} := o;
    ended  boolean := o.state IN ('paid', 'cancelled');
BEGIN
    IF e.kind = 'leaving' OR o.session_id <> '' AND o.session_id <> e.session_id AND e.kind <> 'session completed' THEN
        RETURN o;
    END IF;
    CASE e.kind
    WHEN 'session completed' THEN
        o.state := 'paid';
        o.deadline := NULL;
    WHEN 'session completed unpaid' THEN
        IF o.state = 'open' THEN
            o.state := 'awaiting_payment';
        END IF;
        IF NOT ended AND e.deadline > coalesce(o.deadline, '-infinity') THEN
            o.deadline := e.deadline;
        END IF;
    WHEN 'session expired' THEN
        IF o.state = 'open' THEN
            o.state := 'cancelled';
            o.deadline := NULL;
        END IF;
    WHEN 'payment failed', 'cancelled', 'lapsed', 'taken over', 'points refused' THEN
        IF NOT ended THEN
            o.state := 'cancelled';
            o.deadline := NULL;
        END IF;
    ELSE
        NULL;
    END CASE;
    IF o.session_id = '' AND o.state <> 'cancelled' THEN
        o.session_id := e.session_id;
    END IF;
    IF o.state <> before.state OR o.session_id <> before.session_id OR o.deadline IS DISTINCT FROM before.deadline THEN
        o.updated_at := e.at;
    END IF;
    RETURN o;
END
$couponkit$;

CREATE OR REPLACE FUNCTION {couponkit_keep}(before {coupon_redemptions}, after {coupon_redemptions}) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $couponkit$
DECLARE
    completed bigint := (after.state = 'completed')::int - (before.state = 'completed')::int;
    reserved  bigint := (after.state = 'reserved')::int - (before.state = 'reserved')::int;
BEGIN
    UPDATE {coupon_redemptions} r SET state = after.state, order_id = after.order_id, session_id = after.session_id,
        points_state = after.points_state, awaiting_payment = after.awaiting_payment, over_limit = after.over_limit,
        deadline = after.deadline, leaving_until = after.leaving_until, updated_at = after.updated_at, completed_at = after.completed_at,
        released_at = after.released_at, customer_turn = after.customer_turn
    WHERE r.id = after.id;
    IF completed <> 0 OR reserved <> 0 THEN
        PERFORM {couponkit_count}(ARRAY[after.coupon_id], ARRAY[completed], ARRAY[reserved]);
    END IF;
END
$couponkit$;

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

CREATE OR REPLACE FUNCTION {couponkit_transition_batch}(
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
            leaving_until = a.leaving_until, updated_at = a.updated_at, released_at = a.released_at
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
