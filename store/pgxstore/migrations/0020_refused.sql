-- The machine knows of points that the ledger has refused: redemption.PointsRefused gives up
-- a reservation whose points are still pending, and no other. All else is as in step 3.

-- couponkit_apply is redemption.Apply: the record after the event, or why it is
-- refused: illegal, other_session or not_lapsed.
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
            result.released_at := NULL;
        END IF;
    WHEN 'session completed unpaid' THEN
        IF r.state = 'reserved' AND e.session_id <> '' AND concerns THEN
            result.session_id := e.session_id;
            result.awaiting_payment := true;
            IF e.deadline > coalesce(r.deadline, '-infinity') THEN
                result.deadline := e.deadline;
            END IF;
        END IF;
    WHEN 'payment failed' THEN
        IF r.state = 'reserved' AND concerns THEN
            result := {couponkit_released}(r, e);
        END IF;
    WHEN 'session expired' THEN
        IF NOT r.awaiting_payment AND r.state = 'reserved' AND concerns THEN
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

-- couponkit_order_after is store.Order.After.
CREATE OR REPLACE FUNCTION {couponkit_order_after}(o {orders}, e {couponkit_event}) RETURNS {orders}
LANGUAGE plpgsql STABLE
AS $couponkit$
DECLARE
    before {orders} := o;
    ended  boolean := o.state IN ('paid', 'cancelled');
BEGIN
    IF o.session_id <> '' AND o.session_id <> e.session_id AND e.kind <> 'session completed' THEN
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
