-- couponkit_settle_batch asks by itself whether two settlements have found one order.
-- Where a query counts distinct values, PostgreSQL 16 and later read its rows in the order
-- of those, whatever order a subquery gives them, and what else it aggregates has that
-- order too: settlements of one batch changed and returned each other's orders. All else
-- is as in step 9.
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

-- couponkit_place gives what it has locked back before it looks again with all counters
-- held: two who shared a coupon without a limit over all customers, and both found no
-- place left, waited for each other. It locks the gate first then, as whoever changes the
-- coupon does. All else is as in step 4.
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
