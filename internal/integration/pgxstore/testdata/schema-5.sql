--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: couponkit_event; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.couponkit_event AS (
	kind text,
	at timestamp with time zone,
	session_id text,
	order_id text,
	deadline timestamp with time zone,
	no_place boolean
);


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: coupon_redemptions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.coupon_redemptions (
    id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    coupon_id text NOT NULL COLLATE pg_catalog."C",
    customer_id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    origin text NOT NULL COLLATE pg_catalog."C",
    order_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    session_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    points bigint DEFAULT 0 NOT NULL,
    points_state text DEFAULT 'none'::text NOT NULL COLLATE pg_catalog."C",
    awaiting_payment boolean DEFAULT false NOT NULL,
    over_limit boolean DEFAULT false NOT NULL,
    deadline timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    released_at timestamp with time zone,
    customer_turn bigint,
    CONSTRAINT coupon_redemptions_origin_check CHECK (
CASE origin
    WHEN 'checkout'::text THEN ((customer_id <> ''::text) AND (order_id <> ''::text))
    WHEN 'points'::text THEN (customer_id <> ''::text)
    WHEN 'payment'::text THEN true
    ELSE false
END),
    CONSTRAINT coupon_redemptions_points_check CHECK (
CASE points_state
    WHEN 'none'::text THEN ((origin <> 'points'::text) AND (points = 0))
    WHEN 'pending'::text THEN ((origin = 'points'::text) AND (points >= 1))
    WHEN 'debited'::text THEN ((origin = 'points'::text) AND (points >= 1))
    WHEN 'refund_due'::text THEN ((origin = 'points'::text) AND (points >= 1))
    WHEN 'refunded'::text THEN ((origin = 'points'::text) AND (points >= 1))
    ELSE false
END),
    CONSTRAINT coupon_redemptions_state_check CHECK (
CASE state
    WHEN 'reserved'::text THEN ((completed_at IS NULL) AND (released_at IS NULL) AND (NOT over_limit))
    WHEN 'completed'::text THEN ((session_id <> ''::text) AND (completed_at IS NOT NULL) AND (released_at IS NULL) AND (deadline IS NULL) AND (NOT awaiting_payment))
    WHEN 'released'::text THEN ((released_at IS NOT NULL) AND (completed_at IS NULL) AND (NOT over_limit) AND (deadline IS NULL) AND (NOT awaiting_payment))
    ELSE false
END),
    CONSTRAINT coupon_redemptions_texts_check CHECK (((id <> ''::text) AND (octet_length(id) <= 255) AND (key <> ''::text) AND (octet_length(key) <= 255) AND (coupon_id <> ''::text) AND (octet_length(coupon_id) <= 255) AND (octet_length(customer_id) <= 255) AND (octet_length(order_id) <= 255) AND (octet_length(session_id) <= 255)))
);


--
-- Name: couponkit_apply(public.coupon_redemptions, public.couponkit_event); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_apply(r public.coupon_redemptions, e public.couponkit_event, OUT result public.coupon_redemptions, OUT refusal text) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
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
            result := "public"."couponkit_released"(r, e);
        END IF;
    WHEN 'session expired' THEN
        IF NOT r.awaiting_payment AND r.state = 'reserved' AND concerns THEN
            result := "public"."couponkit_released"(r, e);
        END IF;
    WHEN 'cancelled' THEN
        IF r.state = 'released' THEN
            NULL;
        ELSIF r.state <> 'reserved' THEN
            refusal := 'illegal';
        ELSIF r.session_id <> e.session_id THEN
            refusal := 'other_session';
        ELSE
            result := "public"."couponkit_released"(r, e);
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
            result := "public"."couponkit_released"(r, e);
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
$$;


--
-- Name: orders; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.orders (
    id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    fingerprint text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    customer_id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    coupon_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    reservation_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    discount_amount bigint DEFAULT 0 NOT NULL,
    session_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    session_url text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    deadline timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    quote jsonb NOT NULL,
    coupon jsonb,
    metadata jsonb,
    CONSTRAINT orders_coupon_check CHECK ((((coupon_id <> ''::text) OR (coupon IS NULL)) AND ((coupon_id = ''::text) OR (reservation_id <> ''::text)))),
    CONSTRAINT orders_discount_check CHECK ((discount_amount >= 0)),
    CONSTRAINT orders_state_check CHECK ((state = ANY (ARRAY['open'::text, 'awaiting_payment'::text, 'paid'::text, 'cancelled'::text]))),
    CONSTRAINT orders_texts_check CHECK (((id <> ''::text) AND (octet_length(id) <= 255) AND (key <> ''::text) AND (octet_length(key) <= 255) AND (customer_id <> ''::text) AND (octet_length(customer_id) <= 255)))
);


--
-- Name: couponkit_attach(text, text, text, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_attach(order_id text, session text, url text, new_deadline timestamp with time zone, at timestamp with time zone, OUT outcome text, OUT ordered public.orders) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_variable
DECLARE
    r       "public"."coupon_redemptions";
    o       "public"."orders";
    applied record;
BEGIN
    SELECT x.* INTO o FROM "public"."orders" x WHERE x.id = order_id;
    IF NOT FOUND THEN
        outcome := 'missing';
        RETURN;
    END IF;
    -- The redemption before its order, as everywhere.
    SELECT x.* INTO r FROM "public"."coupon_redemptions" x WHERE x.id = o.reservation_id FOR UPDATE;
    SELECT x.* INTO o FROM "public"."orders" x WHERE x.id = order_id FOR UPDATE;
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
        applied := "public"."couponkit_apply"(r, ROW('session attached', at, session, order_id, new_deadline, false)::"public"."couponkit_event");
        IF applied.refusal IS NOT NULL THEN
            RETURN;
        END IF;
        IF applied.result IS DISTINCT FROM r THEN
            IF EXISTS (SELECT FROM "public"."coupon_redemptions" x WHERE x.session_id = session AND x.session_id <> '' AND x.id <> r.id) THEN
                RETURN; -- it is the session of another redemption
            END IF;
            PERFORM "public"."couponkit_keep"(r, applied.result);
        END IF;
    END IF;
    PERFORM "public"."couponkit_keep_order"(o, ordered);
    outcome := 'attached';
END
$$;


--
-- Name: couponkit_count(text[], bigint[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_count(coupons text[], completed bigint[], reserved bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
BEGIN
    WITH change AS MATERIALIZED (
        SELECT w.coupon_id, w.completed, w.reserved
        FROM unnest(coupons, completed, reserved) AS w (coupon_id, completed, reserved)
        WHERE w.completed <> 0 OR w.reserved <> 0
    ), free AS MATERIALIZED (
        SELECT c.coupon_id, k.stripe, c.completed, c.reserved
        FROM change c CROSS JOIN LATERAL (
            SELECT s.stripe FROM "public"."coupon_counters" s WHERE s.coupon_id = c.coupon_id
            ORDER BY s.stripe LIMIT 1 FOR UPDATE SKIP LOCKED) k
    ), counted AS (
        UPDATE "public"."coupon_counters" s SET completed = s.completed + f.completed, reserved = s.reserved + f.reserved
        FROM free f WHERE s.coupon_id = f.coupon_id AND s.stripe = f.stripe
        RETURNING s.coupon_id
    )
    INSERT INTO "public"."coupon_counters" (coupon_id, completed, reserved)
    SELECT c.id, w.completed, w.reserved
    FROM change w JOIN "public"."coupons" c ON c.id = w.coupon_id
    WHERE NOT EXISTS (SELECT FROM counted k WHERE k.coupon_id = w.coupon_id)
    FOR KEY SHARE OF c;
END
$$;


--
-- Name: couponkit_keep(public.coupon_redemptions, public.coupon_redemptions); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_keep(before public.coupon_redemptions, after public.coupon_redemptions) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    completed bigint := (after.state = 'completed')::int - (before.state = 'completed')::int;
    reserved  bigint := (after.state = 'reserved')::int - (before.state = 'reserved')::int;
BEGIN
    UPDATE "public"."coupon_redemptions" r SET state = after.state, order_id = after.order_id, session_id = after.session_id,
        points_state = after.points_state, awaiting_payment = after.awaiting_payment, over_limit = after.over_limit,
        deadline = after.deadline, updated_at = after.updated_at, completed_at = after.completed_at,
        released_at = after.released_at, customer_turn = after.customer_turn
    WHERE r.id = after.id;
    IF completed <> 0 OR reserved <> 0 THEN
        PERFORM "public"."couponkit_count"(ARRAY[after.coupon_id], ARRAY[completed], ARRAY[reserved]);
    END IF;
END
$$;


--
-- Name: couponkit_keep_order(public.orders, public.orders); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_keep_order(before public.orders, after public.orders) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF after.state = before.state AND after.session_id = before.session_id
        AND after.session_url = before.session_url AND after.deadline IS NOT DISTINCT FROM before.deadline THEN
        RETURN false;
    END IF;
    UPDATE "public"."orders" o SET state = after.state, session_id = after.session_id, session_url = after.session_url,
        deadline = after.deadline, updated_at = after.updated_at
    WHERE o.id = after.id;
    RETURN true;
END
$$;


--
-- Name: couponkit_lock(text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_lock(coupons text[]) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    limited text[];
BEGIN
    limited := ARRAY(SELECT c.id FROM "public"."coupons" c WHERE c.id = ANY (coupons) AND c.max_uses IS NOT NULL
        ORDER BY c.id FOR NO KEY UPDATE);
    IF cardinality(limited) < cardinality(coupons) THEN
        PERFORM FROM "public"."coupons" c WHERE c.id = ANY (coupons) ORDER BY c.id FOR KEY SHARE;
    END IF;
    RETURN limited;
END
$$;


--
-- Name: couponkit_order_after(public.orders, public.couponkit_event); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_order_after(o public.orders, e public.couponkit_event) RETURNS public.orders
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    before "public"."orders" := o;
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
    WHEN 'payment failed', 'cancelled', 'lapsed', 'taken over' THEN
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
$$;


--
-- Name: couponkit_order_of(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_order_of(named text, session text) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    found_id text;
BEGIN
    IF named <> '' THEN
        SELECT x.id INTO found_id FROM "public"."orders" x WHERE x.id = named;
    END IF;
    IF found_id IS NULL AND session <> '' THEN
        SELECT x.id INTO found_id FROM "public"."orders" x WHERE x.session_id = session AND x.session_id <> ''
        ORDER BY x.updated_at DESC LIMIT 1;
    END IF;
    RETURN found_id;
END
$$;


--
-- Name: couponkit_place(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_place(coupon text, customer text, OUT no_place boolean, OUT turn bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    limited text[] := "public"."couponkit_lock"(ARRAY[coupon]);
    terms   record;
    uses    bigint;
BEGIN
    FOR attempt IN 1 .. 2 LOOP
        no_place := false;
        SELECT c.max_uses, c.max_uses_per_user, c.used_count + c.reserved_count + k.taken AS taken INTO terms
        FROM "public"."coupons" c CROSS JOIN LATERAL (
            SELECT coalesce(sum(s.completed + s.reserved), 0) AS taken
            FROM "public"."coupon_counters" s WHERE s.coupon_id = c.id) k
        WHERE c.id = coupon;
        IF terms.max_uses IS NOT NULL AND cardinality(limited) = 0 THEN
            RAISE EXCEPTION 'the coupon was given its first limit meanwhile' USING ERRCODE = 'serialization_failure';
        END IF;
        IF terms.max_uses_per_user IS NOT NULL AND customer <> '' THEN
            SELECT count(*) FILTER (WHERE r.state <> 'released'),
                CASE WHEN terms.max_uses IS NULL THEN coalesce(max(r.customer_turn), 0) + 1 END
            INTO uses, turn
            FROM "public"."coupon_redemptions" r WHERE r.coupon_id = coupon AND r.customer_id = customer;
            no_place := uses >= terms.max_uses_per_user;
        END IF;
        no_place := no_place OR coalesce(terms.taken >= terms.max_uses, false);
        EXIT WHEN NOT no_place OR attempt = 2;
        PERFORM FROM "public"."coupons" c WHERE c.id = coupon FOR UPDATE;
        PERFORM FROM "public"."coupon_counters" s WHERE s.coupon_id = coupon ORDER BY s.stripe FOR UPDATE;
    END LOOP;
END
$$;


--
-- Name: couponkit_released(public.coupon_redemptions, public.couponkit_event); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_released(r public.coupon_redemptions, e public.couponkit_event) RETURNS public.coupon_redemptions
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    r.state := 'released';
    r.released_at := e.at;
    r.awaiting_payment := false;
    r.deadline := NULL;
    IF r.session_id = '' THEN
        r.session_id := e.session_id;
    END IF;
    IF r.points_state IN ('pending', 'debited') THEN
        r.points_state := 'refund_due';
    END IF;
    RETURN r;
END
$$;


--
-- Name: couponkit_reserve(text[], text[], text[], text[], text[], text[], bigint[], text[], text[], text[], timestamp with time zone[], timestamp with time zone[], timestamp with time zone[], bigint[], text[], text[], text[], text[], bigint[], timestamp with time zone[], timestamp with time zone[], timestamp with time zone[], text[], text[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_reserve(coupons text[], ids text[], keys text[], coupon_ids text[], customer_ids text[], origins text[], points bigint[], points_states text[], order_ids text[], session_ids text[], deadlines timestamp with time zone[], created timestamp with time zone[], updated timestamp with time zone[], revisions bigint[], fingerprints text[], order_states text[], order_sessions text[], order_urls text[], discounts bigint[], order_deadlines timestamp with time zone[], order_created timestamp with time zone[], order_updated timestamp with time zone[], quotes text[], snapshots text[], metadata text[], OUT outcomes text[], OUT held text[], OUT max_uses bigint[], OUT max_uses_per_user bigint[]) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    limited text[];
    again   bigint[]; -- the requests of a further pass; NULL in the first
    pass    record;
    place   bigint;
BEGIN
    limited := "public"."couponkit_lock"(coupons);
    FOR attempt IN 1 .. 4 LOOP
        WITH terms AS MATERIALIZED (
            SELECT c.id, c.state, c.revision, c.max_uses, c.max_uses_per_user,
                c.used_count + c.reserved_count + k.taken AS taken
            FROM "public"."coupons" c CROSS JOIN LATERAL (
                SELECT coalesce(sum(s.completed + s.reserved), 0) AS taken
                FROM "public"."coupon_counters" s WHERE s.coupon_id = c.id) k
            WHERE c.id = ANY (coupons)
        ), wanted AS MATERIALIZED (
            SELECT * FROM unnest(
                ids, keys, coupon_ids, customer_ids, origins, points, points_states, order_ids, session_ids,
                deadlines, created, updated, revisions, fingerprints, order_states, order_sessions, order_urls,
                discounts, order_deadlines, order_created, order_updated, quotes, snapshots, metadata
            ) WITH ORDINALITY AS w (
                id, key, coupon_id, customer_id, origin, points, points_state, order_id, session_id,
                deadline, created_at, updated_at, revision, fingerprint, order_state, order_session, order_url,
                discount, order_deadline, order_created, order_updated, quote, snapshot, metadata, n)
            WHERE again IS NULL OR w.n = ANY (again)
        ), probed AS MATERIALIZED (
            SELECT w.*, t.max_uses, t.max_uses_per_user, t.taken, u.turn,
                (SELECT r.id FROM "public"."coupon_redemptions" r
                    WHERE w.origin = 'points' AND r.coupon_id = w.coupon_id AND r.customer_id = w.customer_id
                        AND r.origin = 'points' AND r.state = 'reserved' AND r.order_id = ''
                    ORDER BY r.created_at, r.id LIMIT 1) AS held,
                CASE
                    WHEN (SELECT r.id FROM "public"."coupon_redemptions" r
                        WHERE r.customer_id = w.customer_id AND r.key = w.key) IS NOT NULL
                    OR (SELECT o.id FROM "public"."orders" o
                        WHERE o.customer_id = w.customer_id AND o.key = w.key) IS NOT NULL THEN 'known'
                    WHEN t.id IS NULL THEN 'unknown'
                    WHEN t.state <> 'active' THEN 'inactive'
                    WHEN w.revision <> 0 AND w.revision <> t.revision THEN 'stale'
                    WHEN (SELECT o.id FROM "public"."orders" o WHERE o.id = w.order_id) IS NOT NULL THEN 'conflict'
                    WHEN u.uses >= t.max_uses_per_user THEN 'user_used_up'
                    ELSE 'reserved'
                END AS outcome
            FROM wanted w LEFT JOIN terms t ON t.id = w.coupon_id
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE r.state <> 'released') AS uses,
                    CASE WHEN t.max_uses IS NULL AND (t.max_uses_per_user IS NOT NULL OR w.origin = 'points')
                        THEN coalesce(max(r.customer_turn), 0) + 1 END AS turn
                FROM "public"."coupon_redemptions" r
                WHERE r.coupon_id = w.coupon_id AND r.customer_id = w.customer_id
                    AND (t.max_uses_per_user IS NOT NULL OR w.origin = 'points')) u
        ), placed AS MATERIALIZED (
            SELECT p.*, p.taken + count(*) FILTER (WHERE p.outcome = 'reserved' AND p.held IS NULL) OVER (
                PARTITION BY p.coupon_id ORDER BY p.n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead
            FROM probed p
        ), judged AS MATERIALIZED (
            SELECT p.*, CASE
                WHEN p.outcome IN ('reserved', 'user_used_up') AND p.held IS NOT NULL THEN 'held'
                WHEN p.outcome = 'reserved' AND p.ahead >= p.max_uses THEN 'used_up'
                WHEN p.outcome = 'user_used_up' AND p.ahead >= p.max_uses THEN 'both_used_up'
                ELSE p.outcome END AS verdict
            FROM placed p
        ), stored AS (
            INSERT INTO "public"."coupon_redemptions" (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
                points, points_state, deadline, created_at, updated_at, customer_turn)
            SELECT j.id, j.key, j.coupon_id, j.customer_id, 'reserved', j.origin, j.order_id, j.session_id,
                j.points, j.points_state, j.deadline, j.created_at, j.updated_at, j.turn
            FROM judged j WHERE j.verdict = 'reserved'
            ORDER BY j.customer_id, j.coupon_id -- the same for all, lest they wait in a circle
            ON CONFLICT DO NOTHING
            RETURNING id, coupon_id
        ), ordered AS (
            INSERT INTO "public"."orders" (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
                discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
            SELECT j.order_id, j.key, j.fingerprint, j.customer_id, j.order_state, j.coupon_id, j.id,
                j.discount, j.order_session, j.order_url, j.order_deadline, j.order_created, j.order_updated,
                j.quote::jsonb, j.snapshot::jsonb, j.metadata::jsonb
            FROM judged j JOIN stored s ON s.id = j.id WHERE j.quote IS NOT NULL
        )
        SELECT array_agg(j.n ORDER BY j.n) AS n, array_agg(j.verdict ORDER BY j.n) AS outcomes,
            array_agg(j.held ORDER BY j.n) AS held, array_agg(j.max_uses ORDER BY j.n) AS max_uses,
            array_agg(j.max_uses_per_user ORDER BY j.n) AS max_uses_per_user,
            count(*) FILTER (WHERE j.verdict = 'reserved') AS chosen,
            (SELECT array_agg(s.id) FROM stored s) AS stored,
            (SELECT array_agg(g.coupon_id) FROM (SELECT s.coupon_id FROM stored s GROUP BY 1 ORDER BY 1) g) AS counted,
            (SELECT array_agg(g.uses) FROM (SELECT count(*) AS uses FROM stored s GROUP BY s.coupon_id ORDER BY s.coupon_id) g) AS uses,
            (SELECT array_agg(t.id) FROM terms t WHERE t.max_uses IS NOT NULL) AS seen_limited
        INTO pass FROM judged j;

        IF NOT coalesce(pass.seen_limited, '{}') <@ limited THEN
            RAISE EXCEPTION 'a coupon was given its first limit meanwhile' USING ERRCODE = 'serialization_failure';
        END IF;
        IF pass.counted IS NOT NULL THEN
            UPDATE "public"."coupons" c SET reserved_count = c.reserved_count + pass.uses[array_position(pass.counted, c.id)]
            WHERE c.id = ANY (pass.counted) AND c.id = ANY (limited);
            IF NOT pass.counted <@ limited THEN
                PERFORM "public"."couponkit_count"(array_agg(w.id), array_agg(0::bigint), array_agg(w.uses))
                FROM unnest(pass.counted, pass.uses) AS w (id, uses) WHERE NOT w.id = ANY (limited);
            END IF;
        END IF;
        IF again IS NULL THEN
            outcomes := pass.outcomes;
            held := pass.held;
            max_uses := pass.max_uses;
            max_uses_per_user := pass.max_uses_per_user;
        ELSE
            FOR i IN 1 .. cardinality(again) LOOP
                outcomes[again[i]] := pass.outcomes[i];
                held[again[i]] := pass.held[i];
                max_uses[again[i]] := pass.max_uses[i];
                max_uses_per_user[again[i]] := pass.max_uses_per_user[i];
            END LOOP;
        END IF;
        EXIT WHEN pass.chosen = coalesce(cardinality(pass.stored), 0);
        -- Somebody was faster with the same key, the same turn or the same ID.
        again := ARRAY(SELECT w.n FROM unnest(pass.n, pass.outcomes) AS w (n, outcome)
            WHERE w.outcome = 'reserved' AND NOT ids[w.n] = ANY (coalesce(pass.stored, '{}')) ORDER BY w.n);
        FOREACH place IN ARRAY again LOOP
            outcomes[place] := 'conflict';
        END LOOP;
    END LOOP;
END
$$;


--
-- Name: couponkit_settle(text[], timestamp with time zone[], text[], text[], timestamp with time zone[], text[], text[], text[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_settle(kinds text[], ats timestamp with time zone[], sessions text[], order_ids text[], deadlines timestamp with time zone[], reservation_ids text[], coupon_ids text[], customer_ids text[], new_ids text[]) RETURNS TABLE(n bigint, problem text, changed boolean, redemption public.coupon_redemptions, ordered public.orders)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    w       record;
    e       "public"."couponkit_event";
    r       "public"."coupon_redemptions";
    o       "public"."orders";
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
                SELECT x.* INTO r FROM "public"."coupon_redemptions" x
                WHERE x.session_id = w.session_id AND x.session_id <> '' FOR UPDATE;
            END IF;
            IF r.id IS NULL AND w.reservation_id = '' AND w.session_id = '' AND w.order_id <> '' THEN
                -- The session never came to be, and the order names its reservation.
                w.reservation_id := coalesce((SELECT x.reservation_id FROM "public"."orders" x WHERE x.id = w.order_id), '');
            END IF;
            IF r.id IS NULL AND w.reservation_id <> '' THEN
                SELECT x.* INTO r FROM "public"."coupon_redemptions" x
                WHERE x.id = w.reservation_id
                    AND (x.session_id = '' AND x.order_id = w.order_id OR x.session_id <> '' AND x.session_id = w.session_id)
                FOR UPDATE;
            END IF;
            IF r.id IS NOT NULL THEN
                late := w.kind = 'session completed' AND r.state = 'released';
                IF late THEN
                    place := "public"."couponkit_place"(r.coupon_id, r.customer_id);
                    e.no_place := place.no_place;
                END IF;
                applied := "public"."couponkit_apply"(r, e);
                redemption := applied.result;
                IF late THEN
                    redemption.customer_turn := coalesce(place.turn, redemption.customer_turn);
                END IF;
                IF redemption IS DISTINCT FROM r THEN
                    PERFORM "public"."couponkit_keep"(r, redemption);
                    changed := true;
                END IF;
                ordered_id := "public"."couponkit_order_of"(w.order_id, w.session_id);
                EXIT;
            END IF;
            -- There is none. A payment without a record needs a place, and both it and
            -- the order are looked at under their locks; what was done by those who
            -- held them is looked for once more.
            payment := w.kind = 'session completed' AND w.coupon_id <> '';
            IF payment AND NOT placed THEN
                place := "public"."couponkit_place"(w.coupon_id, w.customer_id);
                placed := true;
                CONTINUE;
            END IF;
            IF ordered_id IS NULL THEN
                ordered_id := "public"."couponkit_order_of"(w.order_id, w.session_id);
                IF ordered_id IS NOT NULL THEN
                    PERFORM FROM "public"."orders" x WHERE x.id = ordered_id FOR UPDATE;
                    CONTINUE;
                END IF;
            END IF;
            EXIT WHEN NOT payment;
            IF w.new_id = '' THEN
                problem := 'unnamed';
                EXIT;
            END IF;
            INSERT INTO "public"."coupon_redemptions" AS x (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
                over_limit, created_at, updated_at, completed_at, customer_turn)
            VALUES (w.new_id, w.new_id, w.coupon_id, w.customer_id, 'completed', 'payment', w.order_id, w.session_id,
                place.no_place, w.at, w.at, w.at, place.turn)
            ON CONFLICT DO NOTHING
            RETURNING x.* INTO redemption;
            IF redemption.id IS NOT NULL THEN
                PERFORM "public"."couponkit_count"(ARRAY[w.coupon_id], ARRAY[1::bigint], ARRAY[0::bigint]);
                changed := true;
                EXIT;
            END IF;
            IF EXISTS (SELECT FROM "public"."coupon_redemptions" x WHERE x.id = w.new_id
                OR x.customer_id = w.customer_id AND x.key = w.new_id) THEN
                problem := 'conflict';
                EXIT;
            END IF;
            placed := false; -- somebody was faster with this session or this customer
        END LOOP;

        o := NULL;
        ordered := NULL;
        IF ordered_id IS NOT NULL THEN
            SELECT x.* INTO o FROM "public"."orders" x WHERE x.id = ordered_id FOR UPDATE;
        END IF;
        IF o.id IS NOT NULL AND problem IS NULL THEN
            ordered := "public"."couponkit_order_after"(o, e);
            changed := "public"."couponkit_keep_order"(o, ordered) OR changed;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;


--
-- Name: couponkit_take_over(text, text, bigint, timestamp with time zone, timestamp with time zone, text, text, text, text, text, text, bigint, text, text, timestamp with time zone, timestamp with time zone, timestamp with time zone, text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_take_over(reservation text, from_session text, coupon_revision bigint, new_deadline timestamp with time zone, at timestamp with time zone, order_id text, order_key text, fingerprint text, customer text, order_state text, coupon text, discount bigint, order_session text, order_url text, order_deadline timestamp with time zone, order_created timestamp with time zone, order_updated timestamp with time zone, quote text, snapshot text, metadata text, OUT outcome text, OUT redemption public.coupon_redemptions) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_variable
DECLARE
    e       "public"."couponkit_event";
    r       "public"."coupon_redemptions";
    o       "public"."orders";
    applied record;
    stored  bigint;
BEGIN
    SELECT x.* INTO r FROM "public"."coupon_redemptions" x WHERE x.id = reservation FOR UPDATE;
    -- After the lock: whoever used the key for this reservation has finished.
    IF EXISTS (SELECT FROM "public"."orders" x WHERE x.customer_id = customer AND x.key = order_key)
        OR EXISTS (SELECT FROM "public"."coupon_redemptions" x WHERE x.customer_id = customer AND x.key = order_key) THEN
        outcome := 'known';
        RETURN;
    END IF;
    IF r.id IS NULL OR r.customer_id <> customer OR r.coupon_id <> coupon THEN
        outcome := 'missing';
        RETURN;
    END IF;
    SELECT CASE WHEN c.state <> 'active' THEN 'inactive'
        WHEN coupon_revision <> 0 AND coupon_revision <> c.revision THEN 'stale' END INTO outcome
    FROM "public"."coupons" c WHERE c.id = r.coupon_id FOR KEY SHARE;
    IF NOT FOUND THEN
        outcome := 'unknown';
    ELSIF outcome IS NULL AND EXISTS (SELECT FROM "public"."orders" x WHERE x.id = order_id) THEN
        outcome := 'conflict';
    END IF;
    IF outcome IS NOT NULL THEN
        RETURN;
    END IF;
    e := ROW('taken over', at, from_session, order_id, new_deadline, false);
    applied := "public"."couponkit_apply"(r, e);
    IF applied.refusal IS NOT NULL THEN
        outcome := 'superseded';
        RETURN;
    END IF;
    redemption := applied.result;
    INSERT INTO "public"."orders" AS x (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
        discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
    VALUES (order_id, order_key, fingerprint, customer, order_state, coupon, reservation,
        discount, order_session, order_url, order_deadline, order_created, order_updated,
        quote::jsonb, snapshot::jsonb, metadata::jsonb)
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF stored = 0 THEN
        outcome := CASE WHEN EXISTS (SELECT FROM "public"."orders" x WHERE x.customer_id = customer AND x.key = order_key)
            THEN 'known' ELSE 'conflict' END;
        redemption := NULL;
        RETURN;
    END IF;
    PERFORM "public"."couponkit_keep"(r, redemption);
    IF r.order_id <> '' THEN
        SELECT x.* INTO o FROM "public"."orders" x WHERE x.id = r.order_id FOR UPDATE;
        IF FOUND THEN
            PERFORM "public"."couponkit_keep_order"(o, "public"."couponkit_order_after"(o, e));
        END IF;
    END IF;
    outcome := 'taken';
END
$$;


--
-- Name: couponkit_transition(text[], text[], timestamp with time zone[], text[], text[], timestamp with time zone[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.couponkit_transition(ids text[], kinds text[], ats timestamp with time zone[], sessions text[], order_ids text[], deadlines timestamp with time zone[]) RETURNS TABLE(n bigint, refusal text, redemption public.coupon_redemptions)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
DECLARE
    w       record;
    e       "public"."couponkit_event";
    r       "public"."coupon_redemptions";
    o       "public"."orders";
    applied record;
BEGIN
    FOR w IN
        SELECT * FROM unnest(ids, kinds, ats, sessions, order_ids, deadlines)
            WITH ORDINALITY AS w (id, kind, at, session_id, order_id, deadline, n)
        ORDER BY w.id, w.n -- the same for all, lest they wait in a circle
    LOOP
        n := w.n;
        e := ROW(w.kind, w.at, w.session_id, w.order_id, w.deadline, false);
        SELECT x.* INTO r FROM "public"."coupon_redemptions" x WHERE x.id = w.id FOR UPDATE;
        IF NOT FOUND THEN
            redemption := NULL;
            refusal := 'missing';
            RETURN NEXT;
            CONTINUE;
        END IF;
        applied := "public"."couponkit_apply"(r, e);
        redemption := applied.result;
        refusal := applied.refusal;
        IF w.kind = 'session completed' AND r.state <> 'completed' THEN
            redemption := r; -- it may need a place, and couponkit_settle looks for one
            refusal := 'illegal';
        END IF;
        IF redemption IS DISTINCT FROM r THEN
            PERFORM "public"."couponkit_keep"(r, redemption);
            IF redemption.state = 'released' AND r.state <> 'released' AND r.order_id <> '' THEN
                SELECT x.* INTO o FROM "public"."orders" x WHERE x.id = r.order_id FOR UPDATE;
                IF FOUND THEN
                    PERFORM "public"."couponkit_keep_order"(o, "public"."couponkit_order_after"(o, e));
                END IF;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;


--
-- Name: coupon_allowed_emails; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.coupon_allowed_emails (
    coupon_id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL
);


--
-- Name: coupon_counters; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.coupon_counters (
    coupon_id text NOT NULL COLLATE pg_catalog."C",
    stripe bigint NOT NULL,
    completed bigint NOT NULL,
    reserved bigint NOT NULL
)
WITH (fillfactor='50');


--
-- Name: coupon_counters_stripe_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.coupon_counters ALTER COLUMN stripe ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.coupon_counters_stripe_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: couponkit_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.couponkit_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: coupons; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.coupons (
    id text NOT NULL COLLATE pg_catalog."C",
    code text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    description text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    discount_type text NOT NULL COLLATE pg_catalog."C",
    percent_off numeric(7,4),
    amount_off bigint,
    currency text NOT NULL COLLATE pg_catalog."C",
    applies_to text NOT NULL COLLATE pg_catalog."C",
    plan_ids text[] DEFAULT '{}'::text[] NOT NULL COLLATE pg_catalog."C",
    device_ids text[] DEFAULT '{}'::text[] NOT NULL COLLATE pg_catalog."C",
    accessory_ids text[] DEFAULT '{}'::text[] NOT NULL COLLATE pg_catalog."C",
    distribution text NOT NULL COLLATE pg_catalog."C",
    allowed_emails integer DEFAULT 0 NOT NULL,
    points_required bigint DEFAULT 0 NOT NULL,
    max_uses bigint,
    max_uses_per_user bigint,
    min_purchase bigint DEFAULT 0 NOT NULL,
    starts_at timestamp with time zone,
    expires_at timestamp with time zone,
    state text NOT NULL COLLATE pg_catalog."C",
    used_count bigint DEFAULT 0 NOT NULL,
    reserved_count bigint DEFAULT 0 NOT NULL,
    processor_coupon_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    promotion_code_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    mirror_revision bigint DEFAULT 0 NOT NULL,
    search_text text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT coupons_code_check CHECK (((code <> ''::text) AND (char_length(code) <= 255))),
    CONSTRAINT coupons_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
    CONSTRAINT coupons_description_check CHECK ((char_length(description) <= 2000)),
    CONSTRAINT coupons_discount_check CHECK (
CASE discount_type
    WHEN 'PERCENTAGE'::text THEN ((amount_off IS NULL) AND (percent_off > (0)::numeric) AND (percent_off <= (100)::numeric))
    WHEN 'FIXED_AMOUNT'::text THEN ((percent_off IS NULL) AND (amount_off > 0))
    ELSE false
END),
    CONSTRAINT coupons_distribution_check CHECK (
CASE distribution
    WHEN 'GENERAL'::text THEN ((allowed_emails = 0) AND (points_required = 0))
    WHEN 'POINTS_REDEEMABLE'::text THEN ((allowed_emails = 0) AND (points_required >= 1))
    WHEN 'USER_SPECIFIC'::text THEN ((allowed_emails >= 1) AND (points_required = 0))
    ELSE false
END),
    CONSTRAINT coupons_id_check CHECK (((id ~~ 'cpn\_%'::text) AND (octet_length(id) <= 64))),
    CONSTRAINT coupons_limits_check CHECK (((max_uses >= 1) AND (max_uses_per_user >= 1))),
    CONSTRAINT coupons_min_purchase_check CHECK ((min_purchase >= 0)),
    CONSTRAINT coupons_name_check CHECK (((name <> ''::text) AND (char_length(name) <= 255))),
    CONSTRAINT coupons_revision_check CHECK ((revision >= 1)),
    CONSTRAINT coupons_scope_check CHECK (
CASE applies_to
    WHEN 'ALL'::text THEN (((cardinality(plan_ids) + cardinality(device_ids)) + cardinality(accessory_ids)) = 0)
    WHEN 'SUBSCRIPTION'::text THEN ((cardinality(device_ids) + cardinality(accessory_ids)) = 0)
    WHEN 'PRODUCT'::text THEN (cardinality(plan_ids) = 0)
    WHEN 'SPECIFIC'::text THEN (((cardinality(plan_ids) + cardinality(device_ids)) + cardinality(accessory_ids)) > 0)
    ELSE false
END),
    CONSTRAINT coupons_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'active'::text, 'inactive'::text, 'deleting'::text]))),
    CONSTRAINT coupons_window_check CHECK ((starts_at < expires_at))
)
WITH (fillfactor='80');


--
-- Data for Name: coupon_allowed_emails; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.coupon_allowed_emails VALUES ('cpn_LISTED', 'zoe@example.org', 1);
INSERT INTO public.coupon_allowed_emails VALUES ('cpn_LISTED', 'ann@example.org', 2);


--
-- Data for Name: coupon_counters; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.coupon_counters OVERRIDING SYSTEM VALUE VALUES ('cpn_UNLIMITED', 1, 1, 0);
INSERT INTO public.coupon_counters OVERRIDING SYSTEM VALUE VALUES ('cpn_PERCENT', 2, 0, -3);
INSERT INTO public.coupon_counters OVERRIDING SYSTEM VALUE VALUES ('cpn_LISTED', 3, 0, 1);
INSERT INTO public.coupon_counters OVERRIDING SYSTEM VALUE VALUES ('cpn_POINTS', 4, 0, 2);
INSERT INTO public.coupon_counters OVERRIDING SYSTEM VALUE VALUES ('cpn_ONE', 5, 3, -2);


--
-- Data for Name: coupon_redemptions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.coupon_redemptions VALUES ('rsv_open-PERCENT', 'PERCENT', 'cpn_PERCENT', 'open', 'reserved', 'checkout', 'ord_open-PERCENT', '', 0, 'none', false, false, '2026-11-20 13:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', NULL, NULL, NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_attached-PERCENT', 'PERCENT', 'cpn_PERCENT', 'attached', 'reserved', 'checkout', 'ord_attached-PERCENT', 'cs_ord_attached-PERCENT', 0, 'none', false, false, '2026-11-20 14:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:01+00', NULL, NULL, NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_unpaid-PERCENT', 'PERCENT', 'cpn_PERCENT', 'unpaid', 'reserved', 'checkout', 'ord_unpaid-PERCENT', 'cs_ord_unpaid-PERCENT', 0, 'none', true, false, '2026-11-23 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', NULL, NULL, NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_paid-UNLIMITED', 'UNLIMITED', 'cpn_UNLIMITED', 'paid', 'completed', 'checkout', 'ord_paid-UNLIMITED', 'cs_ord_paid-UNLIMITED', 0, 'none', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '2026-11-20 12:01:00+00', NULL, NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_failed-PERCENT', 'PERCENT', 'cpn_PERCENT', 'failed', 'released', 'checkout', 'ord_failed-PERCENT', 'cs_ord_failed-PERCENT', 0, 'none', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', NULL, '2026-11-20 12:01:00+00', NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_expired-LISTED', 'LISTED', 'cpn_LISTED', 'expired', 'released', 'checkout', 'ord_expired-LISTED', 'cs_ord_expired-LISTED', 0, 'none', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', NULL, '2026-11-20 12:01:00+00', 1);
INSERT INTO public.coupon_redemptions VALUES ('rsv_cancelled-PERCENT', 'PERCENT', 'cpn_PERCENT', 'cancelled', 'released', 'checkout', 'ord_cancelled-PERCENT', '', 0, 'none', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 13:00:00+00', NULL, '2026-11-20 13:00:00+00', NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_lapsed-PERCENT', 'PERCENT', 'cpn_PERCENT', 'lapsed', 'released', 'checkout', 'ord_lapsed-PERCENT', '', 0, 'none', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 15:00:00+00', NULL, '2026-11-20 15:00:00+00', NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_taken-LISTED', 'LISTED', 'cpn_LISTED', 'taken', 'reserved', 'checkout', 'ord_second', '', 0, 'none', false, false, '2026-11-20 14:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', NULL, NULL, 1);
INSERT INTO public.coupon_redemptions VALUES ('rsv_points_ann', 'points', 'cpn_POINTS', 'ann', 'reserved', 'points', '', '', 500, 'pending', false, false, '2026-11-20 12:01:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', NULL, NULL, 1);
INSERT INTO public.coupon_redemptions VALUES ('rsv_points_bea', 'points', 'cpn_POINTS', 'bea', 'reserved', 'points', '', '', 500, 'debited', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 13:00:00+00', NULL, NULL, 1);
INSERT INTO public.coupon_redemptions VALUES ('rsv_points_cleo', 'points', 'cpn_POINTS', 'cleo', 'released', 'points', '', '', 500, 'refund_due', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 13:00:00+00', NULL, '2026-11-20 13:00:00+00', 1);
INSERT INTO public.coupon_redemptions VALUES ('rsv_points_dora', 'points', 'cpn_POINTS', 'dora', 'released', 'points', '', '', 500, 'refunded', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 13:00:00+00', NULL, '2026-11-20 13:00:00+00', 1);
INSERT INTO public.coupon_redemptions VALUES ('rsv_ann-ONE', 'ONE', 'cpn_ONE', 'ann', 'completed', 'checkout', 'ord_ann-ONE', 'cs_ord_ann-ONE', 0, 'none', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '2026-11-20 12:01:00+00', NULL, NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_late-ONE', 'ONE', 'cpn_ONE', 'late', 'completed', 'checkout', 'ord_late-ONE', 'cs_ord_late-ONE', 0, 'none', false, true, NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '2026-11-20 12:01:00+00', NULL, NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_unknown', 'rsv_unknown', 'cpn_ONE', 'bea', 'completed', 'payment', '', 'cs_unknown', 0, 'none', false, true, NULL, '2026-11-20 13:00:00+00', '2026-11-20 13:00:00+00', '2026-11-20 13:00:00+00', NULL, NULL);
INSERT INTO public.coupon_redemptions VALUES ('rsv_paid-DELETED', 'DELETED', 'cpn_DELETED', 'paid', 'completed', 'checkout', 'ord_paid-DELETED', 'cs_ord_paid-DELETED', 0, 'none', false, false, NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '2026-11-20 12:01:00+00', NULL, NULL);


--
-- Data for Name: couponkit_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.couponkit_migrations VALUES (1, 'tables', '2026-11-21 18:22:27.280835+00');
INSERT INTO public.couponkit_migrations VALUES (2, 'reserve', '2026-11-21 18:22:27.280835+00');
INSERT INTO public.couponkit_migrations VALUES (3, 'machine', '2026-11-21 18:22:27.280835+00');
INSERT INTO public.couponkit_migrations VALUES (4, 'transitions', '2026-11-21 18:22:27.280835+00');
INSERT INTO public.couponkit_migrations VALUES (5, 'orders', '2026-11-21 18:22:27.280835+00');


--
-- Data for Name: coupons; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.coupons VALUES ('cpn_LISTED', 'LISTED', 'Coupon LISTED', '', 'PERCENTAGE', 10.0000, NULL, 'EUR', 'ALL', '{}', '{}', '{}', 'USER_SPECIFIC', 2, 0, NULL, 1, 0, NULL, NULL, 'active', 0, 0, '', '', 0, 'listedcoupon listed', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 1);
INSERT INTO public.coupons VALUES ('cpn_UNLIMITED', 'UNLIMITED', 'Coupon UNLIMITED', '', 'PERCENTAGE', 10.0000, NULL, 'EUR', 'ALL', '{}', '{}', '{}', 'GENERAL', 0, 0, NULL, NULL, 0, NULL, NULL, 'active', 0, 0, '', '', 0, 'unlimitedcoupon unlimited', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 1);
INSERT INTO public.coupons VALUES ('cpn_DELETING', 'DELETING', 'Coupon DELETING', '', 'PERCENTAGE', 10.0000, NULL, 'EUR', 'ALL', '{}', '{}', '{}', 'GENERAL', 0, 0, NULL, NULL, 0, NULL, NULL, 'deleting', 0, 0, '', '', 0, 'deletingcoupon deleting', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 1);
INSERT INTO public.coupons VALUES ('cpn_POINTS', 'POINTS', 'Coupon POINTS', '', 'PERCENTAGE', 10.0000, NULL, 'EUR', 'ALL', '{}', '{}', '{}', 'POINTS_REDEEMABLE', 0, 500, NULL, NULL, 0, NULL, NULL, 'active', 0, 0, 'co_1', 'promo_1', 1, 'pointscoupon points', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 1);
INSERT INTO public.coupons VALUES ('cpn_AMOUNT', 'AMOUNT', 'Edited', '', 'FIXED_AMOUNT', NULL, 1050, 'EUR', 'SPECIFIC', '{basic}', '{phone,watch}', '{}', 'GENERAL', 0, 0, NULL, NULL, 0, NULL, NULL, 'inactive', 0, 0, '', '', 0, 'amountedited', '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', 2);
INSERT INTO public.coupons VALUES ('cpn_PERCENT', 'PERCENT', 'Coupon PERCENT', 'It''s 100 % – «quoted» \ and_more', 'PERCENTAGE', 10.0000, NULL, 'EUR', 'ALL', '{}', '{}', '{}', 'GENERAL', 0, 0, 100, 5, 100, '2026-11-20 11:00:00+00', '2027-01-01 04:00:00+00', 'active', 0, 6, '', '', 0, 'percentcoupon percentit''s 100 % – «quoted» \ and_more', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 1);
INSERT INTO public.coupons VALUES ('cpn_ONE', 'ONE', 'Coupon ONE', '', 'PERCENTAGE', 10.0000, NULL, 'EUR', 'ALL', '{}', '{}', '{}', 'GENERAL', 0, 0, 1, NULL, 0, NULL, NULL, 'active', 0, 2, '', '', 0, 'onecoupon one', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', 1);


--
-- Data for Name: orders; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.orders VALUES ('ord_open-PERCENT', 'PERCENT', 'f', 'open', 'open', 'cpn_PERCENT', 'rsv_open-PERCENT', 100, '', '', '2026-11-20 13:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_PERCENT", "code": "PERCENT", "name": "Coupon PERCENT", "planIds": [], "currency": "EUR", "revision": 1, "startsAt": "2026-11-20T11:00:00Z", "appliesTo": "ALL", "deviceIds": [], "expiresAt": "2027-01-01T04:00:00Z", "minPurchase": "1.00", "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_attached-PERCENT', 'PERCENT', 'f', 'attached', 'open', 'cpn_PERCENT', 'rsv_attached-PERCENT', 100, 'cs_ord_attached-PERCENT', 'https://pay.example/cs_ord_attached-PERCENT', '2026-11-20 14:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:01+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_PERCENT", "code": "PERCENT", "name": "Coupon PERCENT", "planIds": [], "currency": "EUR", "revision": 1, "startsAt": "2026-11-20T11:00:00Z", "appliesTo": "ALL", "deviceIds": [], "expiresAt": "2027-01-01T04:00:00Z", "minPurchase": "1.00", "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_unpaid-PERCENT', 'PERCENT', 'f', 'unpaid', 'awaiting_payment', 'cpn_PERCENT', 'rsv_unpaid-PERCENT', 100, 'cs_ord_unpaid-PERCENT', 'https://pay.example/cs_ord_unpaid-PERCENT', '2026-11-23 12:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_PERCENT", "code": "PERCENT", "name": "Coupon PERCENT", "planIds": [], "currency": "EUR", "revision": 1, "startsAt": "2026-11-20T11:00:00Z", "appliesTo": "ALL", "deviceIds": [], "expiresAt": "2027-01-01T04:00:00Z", "minPurchase": "1.00", "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_paid-UNLIMITED', 'UNLIMITED', 'f', 'paid', 'paid', 'cpn_UNLIMITED', 'rsv_paid-UNLIMITED', 100, 'cs_ord_paid-UNLIMITED', 'https://pay.example/cs_ord_paid-UNLIMITED', NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_UNLIMITED", "code": "UNLIMITED", "name": "Coupon UNLIMITED", "planIds": [], "currency": "EUR", "revision": 1, "appliesTo": "ALL", "deviceIds": [], "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_failed-PERCENT', 'PERCENT', 'f', 'failed', 'cancelled', 'cpn_PERCENT', 'rsv_failed-PERCENT', 100, 'cs_ord_failed-PERCENT', 'https://pay.example/cs_ord_failed-PERCENT', NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_PERCENT", "code": "PERCENT", "name": "Coupon PERCENT", "planIds": [], "currency": "EUR", "revision": 1, "startsAt": "2026-11-20T11:00:00Z", "appliesTo": "ALL", "deviceIds": [], "expiresAt": "2027-01-01T04:00:00Z", "minPurchase": "1.00", "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_expired-LISTED', 'LISTED', 'f', 'expired', 'cancelled', 'cpn_LISTED', 'rsv_expired-LISTED', 100, 'cs_ord_expired-LISTED', 'https://pay.example/cs_ord_expired-LISTED', NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_LISTED", "code": "LISTED", "name": "Coupon LISTED", "planIds": [], "currency": "EUR", "revision": 1, "appliesTo": "ALL", "deviceIds": [], "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "USER_SPECIFIC", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_cancelled-PERCENT', 'PERCENT', 'f', 'cancelled', 'cancelled', 'cpn_PERCENT', 'rsv_cancelled-PERCENT', 100, '', '', NULL, '2026-11-20 12:00:00+00', '2026-11-20 13:00:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_PERCENT", "code": "PERCENT", "name": "Coupon PERCENT", "planIds": [], "currency": "EUR", "revision": 1, "startsAt": "2026-11-20T11:00:00Z", "appliesTo": "ALL", "deviceIds": [], "expiresAt": "2027-01-01T04:00:00Z", "minPurchase": "1.00", "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_lapsed-PERCENT', 'PERCENT', 'f', 'lapsed', 'cancelled', 'cpn_PERCENT', 'rsv_lapsed-PERCENT', 100, '', '', NULL, '2026-11-20 12:00:00+00', '2026-11-20 15:00:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_PERCENT", "code": "PERCENT", "name": "Coupon PERCENT", "planIds": [], "currency": "EUR", "revision": 1, "startsAt": "2026-11-20T11:00:00Z", "appliesTo": "ALL", "deviceIds": [], "expiresAt": "2027-01-01T04:00:00Z", "minPurchase": "1.00", "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_taken-LISTED', 'LISTED', 'f', 'taken', 'cancelled', 'cpn_LISTED', 'rsv_taken-LISTED', 100, '', '', NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_LISTED", "code": "LISTED", "name": "Coupon LISTED", "planIds": [], "currency": "EUR", "revision": 1, "appliesTo": "ALL", "deviceIds": [], "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "USER_SPECIFIC", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_second', 'second', 'f', 'taken', 'open', 'cpn_LISTED', 'rsv_taken-LISTED', 100, '', '', '2026-11-20 13:00:00+00', '2026-11-20 12:01:00+00', '2026-11-20 12:01:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_LISTED", "code": "LISTED", "name": "Coupon LISTED", "planIds": [], "currency": "EUR", "revision": 1, "appliesTo": "ALL", "deviceIds": [], "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "USER_SPECIFIC", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_ann-ONE', 'ONE', 'f', 'ann', 'paid', 'cpn_ONE', 'rsv_ann-ONE', 100, 'cs_ord_ann-ONE', 'https://pay.example/cs_ord_ann-ONE', NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_ONE", "code": "ONE", "name": "Coupon ONE", "planIds": [], "currency": "EUR", "revision": 1, "appliesTo": "ALL", "deviceIds": [], "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_late-ONE', 'ONE', 'f', 'late', 'paid', 'cpn_ONE', 'rsv_late-ONE', 100, 'cs_ord_late-ONE', 'https://pay.example/cs_ord_late-ONE', NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_ONE", "code": "ONE", "name": "Coupon ONE", "planIds": [], "currency": "EUR", "revision": 1, "appliesTo": "ALL", "deviceIds": [], "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_paid-DELETED', 'DELETED', 'f', 'paid', 'paid', 'cpn_DELETED', 'rsv_paid-DELETED', 100, 'cs_ord_paid-DELETED', 'https://pay.example/cs_ord_paid-DELETED', NULL, '2026-11-20 12:00:00+00', '2026-11-20 12:01:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "9.00", "units": [{"quantity": 1, "unitPrice": "9.00"}], "itemId": "phone", "discount": "1.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "9.00", "currency": "EUR", "discount": "1.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', '{"id": "cpn_DELETED", "code": "DELETED", "name": "Coupon DELETED", "planIds": [], "currency": "EUR", "revision": 1, "appliesTo": "ALL", "deviceIds": [], "accessoryIds": [], "discountType": "PERCENTAGE", "distribution": "GENERAL", "discountValue": "10"}', '{"channel": "test"}');
INSERT INTO public.orders VALUES ('ord_plain', 'plain', '', 'ann', 'open', '', '', 0, '', '', '2026-11-20 13:00:00+00', '2026-11-20 12:00:00+00', '2026-11-20 12:00:00+00', '{"lines": [{"id": "A", "kind": "device", "total": "10.00", "units": [{"quantity": 1, "unitPrice": "10.00"}], "itemId": "phone", "discount": "0.00", "eligible": true, "quantity": 1, "subtotal": "10.00", "unitPrice": "10.00"}], "total": "10.00", "currency": "EUR", "discount": "0.00", "shipping": "0.00", "subtotal": "10.00", "eligibleSubtotal": "10.00"}', NULL, '{"note": "it''s \"quoted\""}');


--
-- Name: coupon_counters_stripe_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.coupon_counters_stripe_seq', 6, true);


--
-- Name: coupon_allowed_emails coupon_allowed_emails_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.coupon_allowed_emails
    ADD CONSTRAINT coupon_allowed_emails_pkey PRIMARY KEY (coupon_id, email);


--
-- Name: coupon_counters coupon_counters_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.coupon_counters
    ADD CONSTRAINT coupon_counters_pkey PRIMARY KEY (coupon_id, stripe);


--
-- Name: coupon_redemptions coupon_redemptions_key_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.coupon_redemptions
    ADD CONSTRAINT coupon_redemptions_key_key UNIQUE (customer_id, key);


--
-- Name: coupon_redemptions coupon_redemptions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.coupon_redemptions
    ADD CONSTRAINT coupon_redemptions_pkey PRIMARY KEY (id);


--
-- Name: couponkit_migrations couponkit_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.couponkit_migrations
    ADD CONSTRAINT couponkit_migrations_pkey PRIMARY KEY (version);


--
-- Name: coupons coupons_code_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.coupons
    ADD CONSTRAINT coupons_code_key UNIQUE (code);


--
-- Name: coupons coupons_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.coupons
    ADD CONSTRAINT coupons_pkey PRIMARY KEY (id);


--
-- Name: orders orders_key_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_key_key UNIQUE (customer_id, key);


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);


--
-- Name: coupon_redemptions_created_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX coupon_redemptions_created_at_idx ON public.coupon_redemptions USING btree (created_at, id);


--
-- Name: coupon_redemptions_due_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX coupon_redemptions_due_idx ON public.coupon_redemptions USING btree (deadline, id) WHERE ((state = 'reserved'::text) AND (deadline IS NOT NULL));


--
-- Name: coupon_redemptions_refund_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX coupon_redemptions_refund_idx ON public.coupon_redemptions USING btree (updated_at, id) WHERE (points_state = 'refund_due'::text);


--
-- Name: coupon_redemptions_session_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX coupon_redemptions_session_key ON public.coupon_redemptions USING btree (session_id) WHERE (session_id <> ''::text);


--
-- Name: coupon_redemptions_usage_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX coupon_redemptions_usage_key ON public.coupon_redemptions USING btree (coupon_id, customer_id, customer_turn);


--
-- Name: coupons_created_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX coupons_created_at_idx ON public.coupons USING btree (created_at, id);


--
-- Name: orders_open_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX orders_open_idx ON public.orders USING btree (deadline, id) WHERE ((state = ANY (ARRAY['open'::text, 'awaiting_payment'::text])) AND (reservation_id = ''::text) AND (deadline IS NOT NULL));


--
-- Name: orders_session_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX orders_session_idx ON public.orders USING btree (session_id) WHERE (session_id <> ''::text);


--
-- Name: coupon_allowed_emails coupon_allowed_emails_coupon_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.coupon_allowed_emails
    ADD CONSTRAINT coupon_allowed_emails_coupon_fkey FOREIGN KEY (coupon_id) REFERENCES public.coupons(id) ON DELETE CASCADE;


--
-- Name: coupon_counters coupon_counters_coupon_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.coupon_counters
    ADD CONSTRAINT coupon_counters_coupon_fkey FOREIGN KEY (coupon_id) REFERENCES public.coupons(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


