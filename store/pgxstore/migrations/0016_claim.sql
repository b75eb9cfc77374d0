-- couponkit_claim_plain reserves places as couponkit_claim_many does, by three statements
-- where that takes six or more. Nearly every batch is plain: each of its coupons has a limit
-- over all customers and room for everybody, none of its requests was stored before, and no
-- customer goes beyond a limit. Of a batch that turns out not to be, what was stored is undone
-- and couponkit_claim_many asked. Who has reason to expect that is cautious, and asks it at
-- once.
CREATE FUNCTION {couponkit_claim_plain}(
    coupons text[], demands bigint[], -- every coupon once, sorted, and how many requests it has
    places integer[], -- the request's coupon in coupons
    ids text[], keys text[], customer_ids text[], -- no customer has two
    origins text[], points bigint[],
    points_states text[], order_ids text[], session_ids text[], deadlines timestamptz[], created timestamptz[],
    updated timestamptz[], revisions bigint[],
    fingerprints text[], order_states text[], order_sessions text[], order_urls text[], discounts bigint[],
    order_deadlines timestamptz[], order_created timestamptz[], order_updated timestamptz[],
    quotes text[], snapshots text[], metadata text[],
    cautious boolean,
    OUT outcomes text[], OUT held text[], OUT limits bigint[], OUT limits_per_user bigint[],
    OUT meanwhile bigint) -- places that others took between the look and the gates
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan
AS $couponkit$
#variable_conflict use_variable
DECLARE
    requests bigint := cardinality(places);
    before   bigint; -- places that were taken when it was looked
    stored   bigint; -- requests that were stored; NULL if there is not room for all
    versions bigint[]; -- entry i is of coupon i
    plain    boolean;
    doubtful boolean; -- a customer has another use, or wants the coupon as it was
BEGIN
    IF NOT cautious THEN
        BEGIN
            WITH room AS MATERIALIZED (
                SELECT sum(t.taken)::bigint AS taken
                FROM unnest(coupons, demands) AS d (id, uses)
                CROSS JOIN LATERAL (
                    SELECT sum(k.completed + k.reserved) AS taken FROM {coupon_counters} k WHERE k.coupon_id = d.id
                    HAVING sum(k.completed + k.reserved) + d.uses <= max(k.max_uses) FILTER (WHERE k.stripe = 0 AND k.active)) t
                HAVING count(*) = cardinality(coupons)
            ), added AS (
                INSERT INTO {coupon_redemptions} (id, key, coupon_id, customer_id, state, origin, order_id, session_id,
                    points, points_state, deadline, created_at, updated_at)
                SELECT ids[n], keys[n], coupons[places[n]], customer_ids[n], 'reserved', origins[n], order_ids[n],
                    session_ids[n], points[n], points_states[n], deadlines[n], created[n], updated[n]
                FROM room, (
                    SELECT n FROM generate_series(1, requests) AS n
                    ORDER BY customer_ids[n]) AS w (n) -- the same for all, lest they wait in a circle
                WHERE quotes[w.n] IS NOT NULL
                    OR (SELECT o.id FROM {orders} o WHERE o.customer_id = customer_ids[w.n] AND o.key = keys[w.n]) IS NULL
                RETURNING 1
            )
            SELECT r.taken, (SELECT count(*) FROM added) INTO before, stored FROM room r;
            IF stored = requests THEN
                IF cardinality(quotes) > 0 THEN
                    INSERT INTO {orders} (id, key, fingerprint, customer_id, state, coupon_id, reservation_id,
                        discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata)
                    SELECT order_ids[n], keys[n], fingerprints[n], customer_ids[n], order_states[n], coupons[places[n]],
                        ids[n], discounts[n], order_sessions[n], order_urls[n], order_deadlines[n], order_created[n],
                        order_updated[n], quotes[n]::jsonb, snapshots[n]::jsonb, metadata[n]::jsonb
                    FROM generate_series(1, requests) AS n WHERE quotes[n] IS NOT NULL
                    ORDER BY customer_ids[n];
                END IF;
                IF cardinality(coupons) = 1 THEN -- most often a hot one
                    UPDATE {coupon_counters} s SET reserved = s.reserved + requests
                    WHERE s.coupon_id = coupons[1] AND s.stripe = 0 AND s.max_uses IS NOT NULL AND s.active
                    RETURNING ARRAY[s.revision], ARRAY[s.max_uses], ARRAY[s.max_uses_per_user]
                    INTO versions, limits, limits_per_user;
                ELSE
                    WITH counted AS (
                        UPDATE {coupon_counters} s SET reserved = s.reserved + d.uses
                        FROM unnest(coupons, demands) WITH ORDINALITY AS d (id, uses, place)
                        WHERE s.coupon_id = d.id AND s.stripe = 0 AND s.max_uses IS NOT NULL AND s.active
                        RETURNING d.place, s.revision, s.max_uses, s.max_uses_per_user
                    )
                    SELECT array_agg(c.revision ORDER BY c.place), array_agg(c.max_uses ORDER BY c.place),
                        array_agg(c.max_uses_per_user ORDER BY c.place)
                    INTO versions, limits, limits_per_user FROM counted c;
                END IF;
                -- What those who held the gates before have done is seen from here on.
                IF cardinality(versions) = cardinality(coupons) THEN
                    SELECT sum(t.taken) - requests - before, bool_and(t.taken <= limits[d.place]), EXISTS (
                        SELECT FROM unnest(places) WITH ORDINALITY AS p (place, n)
                        WHERE revisions[p.n] <> 0 AND revisions[p.n] <> versions[p.place]
                            OR (limits_per_user[p.place] IS NOT NULL OR origins[p.n] = 'points') AND (
                                SELECT r.id FROM {coupon_redemptions} r WHERE r.coupon_id = coupons[p.place]
                                    AND r.customer_id = customer_ids[p.n] AND r.id <> ids[p.n] LIMIT 1) IS NOT NULL)
                    INTO meanwhile, plain, doubtful
                    FROM unnest(coupons) WITH ORDINALITY AS d (id, place)
                    CROSS JOIN LATERAL (
                        SELECT sum(k.completed + k.reserved)::bigint AS taken FROM {coupon_counters} k WHERE k.coupon_id = d.id) t;
                    IF plain AND doubtful THEN
                        plain := NOT EXISTS (
                            SELECT FROM unnest(places) WITH ORDINALITY AS p (place, n)
                            WHERE revisions[p.n] <> 0 AND revisions[p.n] <> versions[p.place]
                                OR (SELECT count(*) FILTER (WHERE r.state <> 'released') > limits_per_user[p.place]
                                        OR origins[p.n] = 'points' AND count(*) FILTER (
                                            WHERE r.origin = 'points' AND r.state = 'reserved' AND r.order_id = '') > 1
                                    FROM {coupon_redemptions} r
                                    WHERE r.coupon_id = coupons[p.place] AND r.customer_id = customer_ids[p.n]));
                    END IF;
                    IF plain THEN
                        RETURN;
                    END IF;
                END IF;
            END IF;
            IF stored > 0 THEN
                RAISE unique_violation; -- as of a key: all of it is undone
            END IF;
        EXCEPTION WHEN unique_violation THEN
            cautious := true;
        END;
    END IF;
    SELECT * INTO outcomes, held, limits, limits_per_user, meanwhile
    FROM {couponkit_claim_many}(coupons, demands, places, ids, keys, customer_ids, origins, points, points_states,
        order_ids, session_ids, deadlines, created, updated, revisions, fingerprints, order_states, order_sessions,
        order_urls, discounts, order_deadlines, order_created, order_updated, quotes, snapshots, metadata, cautious, false);
END
$couponkit$;
