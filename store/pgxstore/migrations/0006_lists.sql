-- Lists that take as long whether the tables are small or large.

-- Redemptions, newest first: of one state, and of one coupon and state. A list of
-- all states reads the beginning of each, so that no other index is needed.
DROP INDEX {coupon_redemptions_created_at_idx};
CREATE INDEX {=coupon_redemptions_state_idx} ON {coupon_redemptions} (state, created_at, id);
CREATE INDEX {=coupon_redemptions_coupon_idx} ON {coupon_redemptions} (coupon_id, state, created_at, id);

-- How many coupons there are: the sum over the rows, of which each transaction
-- takes one that nobody holds, as in coupon_counters.
CREATE TABLE {couponkit_totals} (
    stripe  bigint GENERATED ALWAYS AS IDENTITY,
    coupons bigint NOT NULL,
    CONSTRAINT {=couponkit_totals_pkey} PRIMARY KEY (stripe)
) WITH (fillfactor = 50);

LOCK TABLE {coupons} IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO {couponkit_totals} (coupons) SELECT count(*) FROM {coupons};

CREATE FUNCTION {couponkit_total}() RETURNS trigger
LANGUAGE plpgsql
AS $couponkit$
DECLARE
    change bigint;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM {couponkit_totals};
        RETURN NULL;
    END IF;
    SELECT CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END INTO change FROM changed;
    IF change <> 0 THEN
        UPDATE {couponkit_totals} t SET coupons = t.coupons + change
        WHERE t.stripe = (SELECT f.stripe FROM {couponkit_totals} f ORDER BY f.stripe LIMIT 1 FOR UPDATE SKIP LOCKED);
        IF NOT FOUND THEN
            INSERT INTO {couponkit_totals} (coupons) VALUES (change);
        END IF;
    END IF;
    RETURN NULL;
END
$couponkit$;

CREATE TRIGGER {=coupons_total_insert} AFTER INSERT ON {coupons} REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION {couponkit_total}();
CREATE TRIGGER {=coupons_total_delete} AFTER DELETE ON {coupons} REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION {couponkit_total}();
CREATE TRIGGER {=coupons_total_truncate} AFTER TRUNCATE ON {coupons}
    FOR EACH STATEMENT EXECUTE FUNCTION {couponkit_total}();
