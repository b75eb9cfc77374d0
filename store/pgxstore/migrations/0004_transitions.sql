-- Transitions: each function locks the redemption, then its order, and applies the
-- machine to both. Places are given back, and reservations completed, without the
-- coupon's lock: neither takes a place from anybody. A payment that takes a place
-- again does so under the lock.

-- couponkit_keep writes a record that the machine has changed, and counts it.
CREATE FUNCTION {couponkit_keep}(before {coupon_redemptions}, after {coupon_redemptions}) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $couponkit$
DECLARE
    completed bigint := (after.state = 'completed')::int - (before.state = 'completed')::int;
    reserved  bigint := (after.state = 'reserved')::int - (before.state = 'reserved')::int;
BEGIN
    UPDATE {coupon_redemptions} r SET state = after.state, order_id = after.order_id, session_id = after.session_id,
        points_state = after.points_state, awaiting_payment = after.awaiting_payment, over_limit = after.over_limit,
        deadline = after.deadline, updated_at = after.updated_at, completed_at = after.completed_at,
        released_at = after.released_at, customer_turn = after.customer_turn
    WHERE r.id = after.id;
    IF completed <> 0 OR reserved <> 0 THEN
        PERFORM {couponkit_count}(ARRAY[after.coupon_id], ARRAY[completed], ARRAY[reserved]);
    END IF;
END
$couponkit$;

-- couponkit_keep_order writes an order after an event, if that has changed it.
CREATE FUNCTION {couponkit_keep_order}(before {orders}, after {orders}) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $couponkit$
BEGIN
    IF after.state = before.state AND after.session_id = before.session_id
        AND after.session_url = before.session_url AND after.deadline IS NOT DISTINCT FROM before.deadline THEN
        RETURN false;
    END IF;
    UPDATE {orders} o SET state = after.state, session_id = after.session_id, session_url = after.session_url,
        deadline = after.deadline, updated_at = after.updated_at
    WHERE o.id = after.id;
    RETURN true;
END
$couponkit$;

-- couponkit_place locks a coupon for one that needs a place, and tells whether one
-- is left; and the customer's turn, where a coupon bounds only uses per customer. A
-- coupon that was deleted bounds nothing. When no place is left, it looks again with
-- all counters held: nobody gives a place back any more until the payment that is
-- about to be recorded over the limit is committed.
CREATE FUNCTION {couponkit_place}(coupon text, customer text, OUT no_place boolean, OUT turn bigint)
LANGUAGE plpgsql VOLATILE
AS $couponkit$
DECLARE
    limited text[] := {couponkit_lock}(ARRAY[coupon]);
    terms   record;
    uses    bigint;
BEGIN
    FOR attempt IN 1 .. 2 LOOP
        no_place := false;
        SELECT c.max_uses, c.max_uses_per_user, c.used_count + c.reserved_count + k.taken AS taken INTO terms
        FROM {coupons} c CROSS JOIN LATERAL (
            SELECT coalesce(sum(s.completed + s.reserved), 0) AS taken
            FROM {coupon_counters} s WHERE s.coupon_id = c.id) k
        WHERE c.id = coupon;
        IF terms.max_uses IS NOT NULL AND cardinality(limited) = 0 THEN
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
        EXIT WHEN NOT no_place OR attempt = 2;
        PERFORM FROM {coupons} c WHERE c.id = coupon FOR UPDATE;
        PERFORM FROM {coupon_counters} s WHERE s.coupon_id = coupon ORDER BY s.stripe FOR UPDATE;
    END LOOP;
END
$couponkit$;

-- couponkit_order_of finds the order that an event of a session is about: the one
-- that it names, or that which has the session.
CREATE FUNCTION {couponkit_order_of}(named text, session text) RETURNS text
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
        ORDER BY x.updated_at DESC LIMIT 1;
    END IF;
    RETURN found_id;
END
$couponkit$;

-- couponkit_settle applies what the processor says of sessions. Entry i of every
-- array is settlement i. It returns for each the records after it; problem tells
-- that a payment without a record came without a new ID (unnamed), or with one that
-- exists (conflict).
CREATE FUNCTION {couponkit_settle}(
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
                    PERFORM {couponkit_keep}(r, redemption);
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

-- couponkit_transition applies events to redemptions by ID, and cancels the orders
-- of those that are released. refusal is missing for an unknown ID, else as in
-- couponkit_apply; then the record is as it was.
CREATE FUNCTION {couponkit_transition}(
    ids text[], kinds text[], ats timestamptz[], sessions text[], order_ids text[], deadlines timestamptz[])
RETURNS TABLE (n bigint, refusal text, redemption {coupon_redemptions})
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
BEGIN
    FOR w IN
        SELECT * FROM unnest(ids, kinds, ats, sessions, order_ids, deadlines)
            WITH ORDINALITY AS w (id, kind, at, session_id, order_id, deadline, n)
        ORDER BY w.id, w.n -- the same for all, lest they wait in a circle
    LOOP
        n := w.n;
        e := ROW(w.kind, w.at, w.session_id, w.order_id, w.deadline, false);
        SELECT x.* INTO r FROM {coupon_redemptions} x WHERE x.id = w.id FOR UPDATE;
        IF NOT FOUND THEN
            redemption := NULL;
            refusal := 'missing';
            RETURN NEXT;
            CONTINUE;
        END IF;
        applied := {couponkit_apply}(r, e);
        redemption := applied.result;
        refusal := applied.refusal;
        IF w.kind = 'session completed' AND r.state <> 'completed' THEN
            redemption := r; -- it may need a place, and couponkit_settle looks for one
            refusal := 'illegal';
        END IF;
        IF redemption IS DISTINCT FROM r THEN
            PERFORM {couponkit_keep}(r, redemption);
            IF redemption.state = 'released' AND r.state <> 'released' AND r.order_id <> '' THEN
                SELECT x.* INTO o FROM {orders} x WHERE x.id = r.order_id FOR UPDATE;
                IF FOUND THEN
                    PERFORM {couponkit_keep_order}(o, {couponkit_order_after}(o, e));
                END IF;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$couponkit$;
