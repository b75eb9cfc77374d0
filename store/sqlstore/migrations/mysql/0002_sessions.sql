-- A session is one redemption's, and the index says so: two that were given one at the same
-- moment both found it free, and both took it. There are no partial indexes here; NULL is
-- what a unique index does not compare.
--
-- Redemptions that share a session from before keep it, all but one of them unindexed, as
-- long as they have that session: shared_session is the one that they may share. Whom it
-- belongs to is not for the database to decide, and its payment completes one of them as
-- before. A session that one of them gets later is compared as any other.
--
-- Each step can be repeated after a crash, and MySQL knows no ADD COLUMN IF NOT EXISTS. The
-- last but one copies the table, and writes wait for it. Should a process of before this step
-- give one session to two redemptions just then, it fails and has done nothing: run it again.

SET @couponkit_step = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = '{coupon_redemptions}' AND column_name = 'shared_session'),
    'DO 0',
    'ALTER TABLE {coupon_redemptions} ADD COLUMN shared_session VARBINARY(255) NOT NULL DEFAULT ''''');

PREPARE couponkit_step FROM @couponkit_step;

EXECUTE couponkit_step;

UPDATE {coupon_redemptions} r
    JOIN (SELECT d.session_id, MIN(d.id) AS kept FROM {coupon_redemptions} d
        WHERE d.session_id <> '' GROUP BY d.session_id HAVING COUNT(*) > 1) s ON s.session_id = r.session_id
    SET r.shared_session = r.session_id
    WHERE r.id <> s.kept;

SET @couponkit_step = IF(EXISTS (SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = '{coupon_redemptions}' AND column_name = 'owned_session'),
    'DO 0',
    'ALTER TABLE {coupon_redemptions}
        ADD COLUMN owned_session VARBINARY(255) GENERATED ALWAYS AS
            (CASE WHEN session_id <> '''' AND session_id <> shared_session THEN session_id END) STORED,
        ADD UNIQUE KEY {coupon_redemptions_owned_key} (owned_session)');

PREPARE couponkit_step FROM @couponkit_step;

EXECUTE couponkit_step;

DEALLOCATE PREPARE couponkit_step;
