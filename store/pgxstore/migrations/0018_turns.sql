-- Nobody leaves a turn any more. The late payment of a use that was given back took the
-- customer's next turn and left its own, and whoever had looked before found that free. Where
-- a customer may use a coupon twice or more often, a call that was slow to store what it took
-- had the turn that was left, did not meet another one that had the next turn, and neither saw
-- the other: a use too many. At a stricter level than READ COMMITTED a transaction of the host
-- sees nothing of what came after it began to read, and had a use too many with any limit of
-- one customer where it did not meet the others at the coupon's first counter.
--
-- A late payment takes the next turn and goes back to its own now, in one transaction: whoever
-- wants the next turn waits for the end of that. So the turns of a customer have no gap. Who
-- takes one has seen all that was stored for the customer, or meets it.
--
-- What the call has seen may have been paid for since. At READ COMMITTED it is looked again once the
-- turn is taken, as before. A stricter level cannot look again, but fails to lock what has
-- changed: there the uses that the customer has given back are held.

-- couponkit_strict reports whether the transaction goes on seeing what it saw first.
CREATE FUNCTION {couponkit_strict}() RETURNS boolean
LANGUAGE sql STABLE
AS $couponkit$
    SELECT current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
$couponkit$;

-- couponkit_hold_released holds what a customer has given back of a coupon until the
-- transaction ends. It fails when something of it was paid for since the transaction began to
-- read, or may be: it waits for nobody, and so in no circle. It returns true.
CREATE FUNCTION {couponkit_hold_released}(coupon text, customer text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
DECLARE
    seen bigint;
    held bigint;
BEGIN
    SELECT count(*) INTO seen FROM {coupon_redemptions} r
    WHERE r.coupon_id = coupon AND r.customer_id = customer AND r.state || '' = 'released'; -- by customer, not by state
    SELECT count(*) INTO held FROM (
        SELECT FROM {coupon_redemptions} r
        WHERE r.coupon_id = coupon AND r.customer_id = customer AND r.state || '' = 'released'
        FOR NO KEY UPDATE SKIP LOCKED) h;
    IF held < seen THEN
        RAISE EXCEPTION 'what the customer has given back is being changed' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN true;
END
$couponkit$;

-- couponkit_place holds, at a stricter level, what the customer has given back. All else is as
-- in step 17.
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
                IF turn IS NOT NULL AND {couponkit_strict}() THEN
                    PERFORM {couponkit_hold_released}(coupon, customer);
                END IF;
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

-- couponkit_settle_each lets a late payment keep the turn of its reservation. A late payment
-- that has met another call of its customer gives back what it holds of the coupon before it
-- looks again, and at a stricter level, where it would not see the other one, it fails. All
-- else is as in step 9.
CREATE OR REPLACE FUNCTION {couponkit_settle_each}(
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
                    BEGIN
                        place := {couponkit_place}(r.coupon_id, r.customer_id);
                        e.no_place := place.no_place;
                        applied := {couponkit_apply}(r, e);
                        redemption := applied.result;
                        redemption.customer_turn := coalesce(r.customer_turn, place.turn);
                        changed := redemption IS DISTINCT FROM r;
                        IF changed AND r.customer_turn <> place.turn THEN
                            -- It meets whoever takes that turn, and goes back to its own.
                            UPDATE {coupon_redemptions} x SET customer_turn = place.turn WHERE x.id = r.id;
                        END IF;
                        IF changed THEN
                            PERFORM {couponkit_keep}(r, redemption);
                            IF {couponkit_turn_left}(r.coupon_id, r.customer_id, place.turn, place.no_place) THEN
                                RAISE unique_violation;
                            END IF;
                        END IF;
                    EXCEPTION WHEN unique_violation THEN
                        -- Somebody has taken the customer's turn meanwhile. The locks are given back.
                        IF {couponkit_strict}() THEN
                            RAISE EXCEPTION 'the customer has used the coupon meanwhile' USING ERRCODE = 'serialization_failure';
                        END IF;
                        tries := tries + 1;
                        IF tries = 10 THEN
                            RAISE;
                        END IF;
                        CONTINUE;
                    END;
                ELSE
                    applied := {couponkit_apply}(r, e);
                    redemption := applied.result;
                    changed := redemption IS DISTINCT FROM r;
                    IF changed THEN
                        PERFORM {couponkit_keep}(r, redemption);
                    END IF;
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
