-- couponkit_take_over gives a reservation to another order of its customer. It
-- returns taken, known (the customer used the key before), missing, superseded,
-- conflict (the order's ID exists), or why the coupon is not open: unknown, inactive
-- or stale.
CREATE FUNCTION {couponkit_take_over}(
    reservation text, from_session text, coupon_revision bigint, new_deadline timestamptz, at timestamptz,
    order_id text, order_key text, fingerprint text, customer text, order_state text, coupon text,
    discount bigint, order_session text, order_url text, order_deadline timestamptz,
    order_created timestamptz, order_updated timestamptz, quote text, snapshot text, metadata text,
    OUT outcome text, OUT redemption {coupon_redemptions})
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_variable
DECLARE
    e       {couponkit_event};
    r       {coupon_redemptions};
    o       {orders};
    applied record;
    stored  bigint;
BEGIN
    SELECT x.* INTO r FROM {coupon_redemptions} x WHERE x.id = reservation FOR UPDATE;
    -- After the lock: whoever used the key for this reservation has finished.
    IF EXISTS (SELECT FROM {orders} x WHERE x.customer_id = customer AND x.key = order_key)
        OR EXISTS (SELECT FROM {coupon_redemptions} x WHERE x.customer_id = customer AND x.key = order_key) THEN
        outcome := 'known';
        RETURN;
    END IF;
    IF r.id IS NULL OR r.customer_id <> customer OR r.coupon_id <> coupon THEN
        outcome := 'missing';
        RETURN;
    END IF;
    SELECT CASE WHEN c.state <> 'active' THEN 'inactive'
        WHEN coupon_revision <> 0 AND coupon_revision <> c.revision THEN 'stale' END INTO outcome
    FROM {coupons} c WHERE c.id = r.coupon_id FOR KEY SHARE;
    IF NOT FOUND THEN
        outcome := 'unknown';
    ELSIF outcome IS NULL AND EXISTS (SELECT FROM {orders} x WHERE x.id = order_id) THEN
        outcome := 'conflict';
    END IF;
    IF outcome IS NOT NULL THEN
        RETURN;
    END IF;
    e := ROW('taken over', at, from_session, order_id, new_deadline, false);
    applied := {couponkit_apply}(r, e);
    IF applied.refusal IS NOT NULL THEN
        outcome := 'superseded';
        RETURN;
    END IF;
    redemption := applied.result;
    INSERT INTO {orders} AS x (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
        discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
    VALUES (order_id, order_key, fingerprint, customer, order_state, coupon, reservation,
        discount, order_session, order_url, order_deadline, order_created, order_updated,
        quote::jsonb, snapshot::jsonb, metadata::jsonb)
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF stored = 0 THEN
        outcome := CASE WHEN EXISTS (SELECT FROM {orders} x WHERE x.customer_id = customer AND x.key = order_key)
            THEN 'known' ELSE 'conflict' END;
        redemption := NULL;
        RETURN;
    END IF;
    PERFORM {couponkit_keep}(r, redemption);
    IF r.order_id <> '' THEN
        SELECT x.* INTO o FROM {orders} x WHERE x.id = r.order_id FOR UPDATE;
        IF FOUND THEN
            PERFORM {couponkit_keep_order}(o, {couponkit_order_after}(o, e));
        END IF;
    END IF;
    outcome := 'taken';
END
$couponkit$;

-- couponkit_attach records a session in an order and in its reservation. It
-- returns attached, missing or superseded.
CREATE FUNCTION {couponkit_attach}(order_id text, session text, url text, new_deadline timestamptz, at timestamptz,
    OUT outcome text, OUT ordered {orders})
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_variable
DECLARE
    r       {coupon_redemptions};
    o       {orders};
    applied record;
BEGIN
    SELECT x.* INTO o FROM {orders} x WHERE x.id = order_id;
    IF NOT FOUND THEN
        outcome := 'missing';
        RETURN;
    END IF;
    -- The redemption before its order, as everywhere.
    SELECT x.* INTO r FROM {coupon_redemptions} x WHERE x.id = o.reservation_id FOR UPDATE;
    SELECT x.* INTO o FROM {orders} x WHERE x.id = order_id FOR UPDATE;
    ordered := o;
    outcome := 'superseded';
    IF o.session_id = session AND o.state <> 'cancelled' THEN
        ordered.session_url := url;
    ELSIF o.session_id <> '' OR o.state <> 'open' THEN
        RETURN;
    ELSE
        ordered.session_id := session;
        ordered.session_url := url;
        ordered.deadline := new_deadline;
        ordered.updated_at := at;
    END IF;
    IF r.id IS NOT NULL THEN
        applied := {couponkit_apply}(r, ROW('session attached', at, session, order_id, new_deadline, false)::{couponkit_event});
        IF applied.refusal IS NOT NULL THEN
            RETURN;
        END IF;
        IF applied.result IS DISTINCT FROM r THEN
            IF EXISTS (SELECT FROM {coupon_redemptions} x WHERE x.session_id = session AND x.session_id <> '' AND x.id <> r.id) THEN
                RETURN; -- it is the session of another redemption
            END IF;
            PERFORM {couponkit_keep}(r, applied.result);
        END IF;
    END IF;
    PERFORM {couponkit_keep_order}(o, ordered);
    outcome := 'attached';
END
$couponkit$;
