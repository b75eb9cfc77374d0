CREATE TABLE couponkit_migrations (version INTEGER NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL);

-- IDs, keys and codes are VARBINARY: compared byte by byte, trailing spaces
-- included, with keys whose length is known. Instants are microseconds since 1970
-- in UTC. Absent text is '', anything else absent is NULL.

CREATE TABLE IF NOT EXISTS coupons (
    id                  VARBINARY(64) NOT NULL,
    code                VARBINARY(1020) NOT NULL,
    name                TEXT NOT NULL,
    description         TEXT NOT NULL,
    discount_type       VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    percent_off         BIGINT, -- ten-thousandths of a percent
    amount_off          BIGINT, -- minor units of currency
    currency            CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    applies_to          VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    plan_ids            LONGTEXT NOT NULL, -- JSON arrays
    device_ids          LONGTEXT NOT NULL,
    accessory_ids       LONGTEXT NOT NULL,
    distribution        VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    allowed_emails      BIGINT NOT NULL, -- rows in coupon_allowed_emails
    emails_digest       VARBINARY(64) NOT NULL, -- of those rows in their order, to see whether they change
    points_required     BIGINT NOT NULL,
    max_uses            BIGINT, -- NULL is no limit
    max_uses_per_user   BIGINT, -- NULL is no limit
    min_purchase        BIGINT NOT NULL, -- minor units of currency
    starts_at           BIGINT,
    expires_at          BIGINT,
    state               VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    processor_coupon_id TEXT NOT NULL,
    promotion_code_id   TEXT NOT NULL,
    mirror_revision     BIGINT NOT NULL,
    -- Name, code and description, folded so that letter case does not matter.
    search_text         BLOB NOT NULL,
    created_at          BIGINT NOT NULL,
    updated_at          BIGINT NOT NULL,
    revision            BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY coupons_code_key (code),
    KEY coupons_created_at_idx (created_at, id),
    CONSTRAINT coupons_code_check CHECK (code <> ''),
    CONSTRAINT coupons_discount_check CHECK (CASE discount_type
        WHEN 'PERCENTAGE' THEN amount_off IS NULL AND percent_off BETWEEN 1 AND 1000000
        WHEN 'FIXED_AMOUNT' THEN percent_off IS NULL AND amount_off >= 1
        ELSE 0 END),
    CONSTRAINT coupons_scope_check CHECK (applies_to IN ('ALL', 'SUBSCRIPTION', 'PRODUCT', 'SPECIFIC')),
    CONSTRAINT coupons_distribution_check CHECK (CASE distribution
        WHEN 'GENERAL' THEN allowed_emails = 0 AND points_required = 0
        WHEN 'POINTS_REDEEMABLE' THEN allowed_emails = 0 AND points_required >= 1
        WHEN 'USER_SPECIFIC' THEN allowed_emails >= 1 AND points_required = 0
        ELSE 0 END),
    CONSTRAINT coupons_limits_check CHECK (max_uses >= 1),
    CONSTRAINT coupons_user_limits_check CHECK (max_uses_per_user >= 1),
    CONSTRAINT coupons_min_purchase_check CHECK (min_purchase >= 0),
    CONSTRAINT coupons_window_check CHECK (starts_at < expires_at),
    CONSTRAINT coupons_state_check CHECK (state IN ('pending', 'active', 'inactive', 'deleting')),
    CONSTRAINT coupons_revision_check CHECK (revision >= 1)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS coupon_allowed_emails (
    coupon_id VARBINARY(64) NOT NULL,
    email     VARBINARY(255) NOT NULL,
    position  BIGINT NOT NULL,
    PRIMARY KEY (coupon_id, email)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- How often a coupon is used: the sum over its slots. A customer counts in the slot
-- that their ID hashes to, so that customers of a coupon without a limit over all
-- seldom wait for each other.
CREATE TABLE IF NOT EXISTS coupon_counts (
    coupon_id VARBINARY(64) NOT NULL,
    slot      INT NOT NULL,
    completed BIGINT NOT NULL,
    reserved  BIGINT NOT NULL,
    PRIMARY KEY (coupon_id, slot),
    CONSTRAINT coupon_counts_check CHECK (completed >= 0 AND reserved >= 0)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS coupon_redemptions (
    id               VARBINARY(255) NOT NULL,
    idempotency_key  VARBINARY(255) NOT NULL,
    coupon_id        VARBINARY(255) NOT NULL, -- stays when the coupon is deleted
    customer_id      VARBINARY(255) NOT NULL,
    state            VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    origin           VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    order_id         VARBINARY(255) NOT NULL,
    session_id       VARBINARY(255) NOT NULL,
    -- One completed redemption for a session.
    paid_session     VARBINARY(255) GENERATED ALWAYS AS (CASE WHEN completed_at IS NOT NULL THEN session_id END) STORED,
    points           BIGINT NOT NULL,
    points_state     VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    awaiting_payment TINYINT NOT NULL,
    over_limit       TINYINT NOT NULL,
    deadline         BIGINT,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    completed_at     BIGINT,
    released_at      BIGINT,
    PRIMARY KEY (id),
    UNIQUE KEY coupon_redemptions_key_key (customer_id, idempotency_key),
    UNIQUE KEY coupon_redemptions_paid_key (paid_session),
    KEY coupon_redemptions_session_idx (session_id),
    KEY coupon_redemptions_usage_idx (coupon_id, customer_id, state),
    KEY coupon_redemptions_due_idx (state, deadline),
    KEY coupon_redemptions_refund_idx (points_state, updated_at),
    KEY coupon_redemptions_created_at_idx (created_at, id),
    KEY coupon_redemptions_coupon_idx (coupon_id, created_at, id),
    CONSTRAINT coupon_redemptions_texts_check CHECK (id <> '' AND idempotency_key <> '' AND coupon_id <> ''),
    CONSTRAINT coupon_redemptions_state_check CHECK (CASE state
        WHEN 'reserved' THEN completed_at IS NULL AND released_at IS NULL AND over_limit = 0
        WHEN 'completed' THEN session_id <> '' AND completed_at IS NOT NULL AND released_at IS NULL
            AND deadline IS NULL AND awaiting_payment = 0
        WHEN 'released' THEN released_at IS NOT NULL AND completed_at IS NULL AND over_limit = 0
            AND deadline IS NULL AND awaiting_payment = 0
        ELSE 0 END),
    CONSTRAINT coupon_redemptions_origin_check CHECK (CASE origin
        WHEN 'checkout' THEN customer_id <> '' AND order_id <> '' AND points_state = 'none'
        WHEN 'points' THEN customer_id <> '' AND points >= 1 AND points_state IN ('pending', 'debited', 'refund_due', 'refunded')
        WHEN 'payment' THEN points_state = 'none'
        ELSE 0 END)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS orders (
    id              VARBINARY(255) NOT NULL,
    idempotency_key VARBINARY(255) NOT NULL,
    fingerprint     VARBINARY(255) NOT NULL,
    customer_id     VARBINARY(255) NOT NULL,
    state           VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    coupon_id       VARBINARY(255) NOT NULL,
    reservation_id  VARBINARY(255) NOT NULL,
    discount_amount BIGINT NOT NULL, -- minor units of the quote's currency
    session_id      VARBINARY(255) NOT NULL,
    session_url     LONGTEXT NOT NULL,
    deadline        BIGINT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    quote           LONGTEXT NOT NULL, -- JSON
    coupon          LONGTEXT, -- JSON: the terms of the coupon as they were
    metadata        LONGTEXT, -- JSON
    PRIMARY KEY (id),
    UNIQUE KEY orders_key_key (customer_id, idempotency_key),
    KEY orders_session_idx (session_id),
    KEY orders_open_idx (reservation_id, state, deadline),
    CONSTRAINT orders_texts_check CHECK (id <> '' AND idempotency_key <> '' AND customer_id <> ''),
    CONSTRAINT orders_state_check CHECK (state IN ('open', 'awaiting_payment', 'paid', 'cancelled')),
    CONSTRAINT orders_reservation_check CHECK (coupon_id = '' OR reservation_id <> ''),
    CONSTRAINT orders_discount_check CHECK (discount_amount >= 0)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT INTO couponkit_migrations (version, name) VALUES
  (1, 'tables');

INSERT INTO coupons (id, code, name, description, discount_type, percent_off, amount_off, currency, applies_to, plan_ids, device_ids, accessory_ids, distribution, allowed_emails, emails_digest, points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state, processor_coupon_id, promotion_code_id, mirror_revision, search_text, created_at, updated_at, revision) VALUES
  ('cpn_AMOUNT', 'AMOUNT', 'Coupon AMOUNT', '', 'FIXED_AMOUNT', NULL, 1050, 'EUR', 'SPECIFIC', '["basic"]', '["phone","watch"]', '[]', 'GENERAL', 0, '', 0, NULL, NULL, 0, NULL, NULL, 'inactive', '', '', 0, 'COUPON AMOUNTAMOUNT', 1795176000123456, 1795176000123456, 1);

INSERT INTO coupons (id, code, name, description, discount_type, percent_off, amount_off, currency, applies_to, plan_ids, device_ids, accessory_ids, distribution, allowed_emails, emails_digest, points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state, processor_coupon_id, promotion_code_id, mirror_revision, search_text, created_at, updated_at, revision) VALUES
  ('cpn_LISTED', 'LISTED', 'Coupon LISTED', '', 'PERCENTAGE', 125000, NULL, 'EUR', 'ALL', '[]', '[]', '[]', 'USER_SPECIFIC', 2, '4a1deac3c2ece44740b457f0e7a729469e4281b4cc8eeda787f2730f63379815', 0, NULL, 1, 0, NULL, NULL, 'active', '', '', 0, 'COUPON LISTEDLISTED', 1795176000123456, 1795176000123456, 1);

INSERT INTO coupons (id, code, name, description, discount_type, percent_off, amount_off, currency, applies_to, plan_ids, device_ids, accessory_ids, distribution, allowed_emails, emails_digest, points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state, processor_coupon_id, promotion_code_id, mirror_revision, search_text, created_at, updated_at, revision) VALUES
  ('cpn_PERCENT', 'PERCENT', 'Coupon PERCENT', X'4974277320313030202520e2809320c2ab71756f746564c2bb205c20616e645f6d6f7265', 'PERCENTAGE', 125000, NULL, 'EUR', 'ALL', '[]', '[]', '[]', 'GENERAL', 0, '', 0, 100, 2, 1000, 1795172400123456, 1798776000123456, 'active', '', '', 0, X'636f75706f6e2070657263656e741f70657263656e741f69742773203130302025202d20c2ab71756f746564c2bb205c20616e645f6d6f7265', 1795176000123456, 1795176000123456, 1);

INSERT INTO coupons (id, code, name, description, discount_type, percent_off, amount_off, currency, applies_to, plan_ids, device_ids, accessory_ids, distribution, allowed_emails, emails_digest, points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state, processor_coupon_id, promotion_code_id, mirror_revision, search_text, created_at, updated_at, revision) VALUES
  ('cpn_POINTS', 'POINTS', 'Coupon POINTS', '', 'PERCENTAGE', 125000, NULL, 'EUR', 'ALL', '[]', '[]', '[]', 'POINTS_REDEEMABLE', 0, '', 500, 5, 1, 0, NULL, NULL, 'active', 'co_1', 'promo_1', 1, 'COUPON POINTSPOINTS', 1795176000123456, 1795176000123456, 1);

INSERT INTO coupon_allowed_emails (coupon_id, email, position) VALUES
  ('cpn_LISTED', 'ann@example.org', 1);

INSERT INTO coupon_allowed_emails (coupon_id, email, position) VALUES
  ('cpn_LISTED', 'zoe@example.org', 0);

INSERT INTO coupon_counts (coupon_id, slot, completed, reserved) VALUES
  ('cpn_PERCENT', 2, 0, 1);

INSERT INTO coupon_counts (coupon_id, slot, completed, reserved) VALUES
  ('cpn_PERCENT', 5, 0, 0);

INSERT INTO coupon_counts (coupon_id, slot, completed, reserved) VALUES
  ('cpn_PERCENT', 8, 1, 0);

INSERT INTO coupon_counts (coupon_id, slot, completed, reserved) VALUES
  ('cpn_POINTS', 8, 0, 1);

INSERT INTO coupon_redemptions (id, idempotency_key, coupon_id, customer_id, state, origin, order_id, session_id, points, points_state, awaiting_payment, over_limit, deadline, created_at, updated_at, completed_at, released_at) VALUES
  ('rsv_gone', 'key-gone', 'cpn_PERCENT', 'customer of gone', 'released', 'checkout', 'ord_gone', 'cs_gone', 0, 'none', 0, 0, NULL, 1795176000123456, 1795176060123456, NULL, 1795176060123456);

INSERT INTO coupon_redemptions (id, idempotency_key, coupon_id, customer_id, state, origin, order_id, session_id, points, points_state, awaiting_payment, over_limit, deadline, created_at, updated_at, completed_at, released_at) VALUES
  ('rsv_open', 'key-open', 'cpn_PERCENT', 'customer of open', 'reserved', 'checkout', 'ord_open', 'cs_open', 0, 'none', 0, 0, 1795183200123456, 1795176000123456, 1795176000123456, NULL, NULL);

INSERT INTO coupon_redemptions (id, idempotency_key, coupon_id, customer_id, state, origin, order_id, session_id, points, points_state, awaiting_payment, over_limit, deadline, created_at, updated_at, completed_at, released_at) VALUES
  ('rsv_paid', 'key-paid', 'cpn_PERCENT', 'customer of paid', 'completed', 'checkout', 'ord_paid', 'cs_paid', 0, 'none', 0, 0, NULL, 1795176000123456, 1795176060123456, 1795176060123456, NULL);

INSERT INTO coupon_redemptions (id, idempotency_key, coupon_id, customer_id, state, origin, order_id, session_id, points, points_state, awaiting_payment, over_limit, deadline, created_at, updated_at, completed_at, released_at) VALUES
  ('rsv_points', 'key-points', 'cpn_POINTS', 'ann', 'reserved', 'points', '', '', 500, 'pending', 0, 0, 1795176060123456, 1795176000123456, 1795176000123456, NULL, NULL);

INSERT INTO orders (id, idempotency_key, fingerprint, customer_id, state, coupon_id, reservation_id, discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata) VALUES
  ('ord_gone', 'key-gone', 'cart', 'customer of gone', 'cancelled', 'cpn_PERCENT', 'rsv_gone', 3750, 'cs_gone', 'https://pay.example/gone', NULL, 1795176000123456, 1795176060123456, '{"currency":"EUR","subtotal":"299.97","eligibleSubtotal":"299.97","discount":"37.50","shipping":"4.90","total":"267.37","lines":[{"id":"1","kind":"device","itemId":"phone","quantity":3,"unitPrice":"99.99","eligible":true,"subtotal":"299.97","discount":"37.50","total":"262.47","units":[{"quantity":3,"unitPrice":"87.49"}]},{"id":"2","kind":"shipping","itemId":"post","quantity":1,"unitPrice":"4.90","eligible":false,"subtotal":"4.90","discount":"0.00","total":"4.90","units":[{"quantity":1,"unitPrice":"4.90"}]}]}', '{"id":"cpn_PERCENT","code":"PERCENT","name":"Coupon PERCENT","discountType":"PERCENTAGE","discountValue":"12.5","currency":"EUR","appliesTo":"ALL","planIds":[],"deviceIds":[],"accessoryIds":[],"distribution":"GENERAL","minPurchase":"10.00","startsAt":"2026-11-20T11:00:00.123456Z","expiresAt":"2027-01-01T04:00:00.123456Z","revision":1}', NULL);

INSERT INTO orders (id, idempotency_key, fingerprint, customer_id, state, coupon_id, reservation_id, discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata) VALUES
  ('ord_open', 'key-open', 'cart', 'customer of open', 'open', 'cpn_PERCENT', 'rsv_open', 3750, 'cs_open', 'https://pay.example/open', 1795183200123456, 1795176000123456, 1795176000123456, '{"currency":"EUR","subtotal":"299.97","eligibleSubtotal":"299.97","discount":"37.50","shipping":"4.90","total":"267.37","lines":[{"id":"1","kind":"device","itemId":"phone","quantity":3,"unitPrice":"99.99","eligible":true,"subtotal":"299.97","discount":"37.50","total":"262.47","units":[{"quantity":3,"unitPrice":"87.49"}]},{"id":"2","kind":"shipping","itemId":"post","quantity":1,"unitPrice":"4.90","eligible":false,"subtotal":"4.90","discount":"0.00","total":"4.90","units":[{"quantity":1,"unitPrice":"4.90"}]}]}', '{"id":"cpn_PERCENT","code":"PERCENT","name":"Coupon PERCENT","discountType":"PERCENTAGE","discountValue":"12.5","currency":"EUR","appliesTo":"ALL","planIds":[],"deviceIds":[],"accessoryIds":[],"distribution":"GENERAL","minPurchase":"10.00","startsAt":"2026-11-20T11:00:00.123456Z","expiresAt":"2027-01-01T04:00:00.123456Z","revision":1}', NULL);

INSERT INTO orders (id, idempotency_key, fingerprint, customer_id, state, coupon_id, reservation_id, discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata) VALUES
  ('ord_paid', 'key-paid', 'cart', 'customer of paid', 'paid', 'cpn_PERCENT', 'rsv_paid', 3750, 'cs_paid', 'https://pay.example/paid', NULL, 1795176000123456, 1795176060123456, '{"currency":"EUR","subtotal":"299.97","eligibleSubtotal":"299.97","discount":"37.50","shipping":"4.90","total":"267.37","lines":[{"id":"1","kind":"device","itemId":"phone","quantity":3,"unitPrice":"99.99","eligible":true,"subtotal":"299.97","discount":"37.50","total":"262.47","units":[{"quantity":3,"unitPrice":"87.49"}]},{"id":"2","kind":"shipping","itemId":"post","quantity":1,"unitPrice":"4.90","eligible":false,"subtotal":"4.90","discount":"0.00","total":"4.90","units":[{"quantity":1,"unitPrice":"4.90"}]}]}', '{"id":"cpn_PERCENT","code":"PERCENT","name":"Coupon PERCENT","discountType":"PERCENTAGE","discountValue":"12.5","currency":"EUR","appliesTo":"ALL","planIds":[],"deviceIds":[],"accessoryIds":[],"distribution":"GENERAL","minPurchase":"10.00","startsAt":"2026-11-20T11:00:00.123456Z","expiresAt":"2027-01-01T04:00:00.123456Z","revision":1}', NULL);

INSERT INTO orders (id, idempotency_key, fingerprint, customer_id, state, coupon_id, reservation_id, discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata) VALUES
  ('ord_plain', 'key-plain', 'cart', 'ann', 'open', '', '', 0, '', '', 1795179600123456, 1795176000123456, 1795176000123456, '{"currency":"EUR","subtotal":"299.97","eligibleSubtotal":"299.97","discount":"0.00","shipping":"4.90","total":"304.87","lines":[{"id":"1","kind":"device","itemId":"phone","quantity":3,"unitPrice":"99.99","eligible":true,"subtotal":"299.97","discount":"0.00","total":"299.97","units":[{"quantity":3,"unitPrice":"99.99"}]},{"id":"2","kind":"shipping","itemId":"post","quantity":1,"unitPrice":"4.90","eligible":false,"subtotal":"4.90","discount":"0.00","total":"4.90","units":[{"quantity":1,"unitPrice":"4.90"}]}]}', NULL, X'7b226e6f7465223a2269742773205c2271756f7465645c22227d');
