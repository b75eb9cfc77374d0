-- IDs, keys and codes are VARBINARY: compared byte by byte, trailing spaces
-- included, with keys whose length is known. Instants are microseconds since 1970
-- in UTC. Absent text is '', anything else absent is NULL. To MySQL a CASE is no condition
-- until it is compared.

CREATE TABLE IF NOT EXISTS {coupons} (
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
    UNIQUE KEY {coupons_code_key} (code),
    KEY {coupons_created_at_idx} (created_at, id),
    CONSTRAINT {coupons_code_check} CHECK (code <> ''),
    CONSTRAINT {coupons_discount_check} CHECK (CASE discount_type
        WHEN 'PERCENTAGE' THEN amount_off IS NULL AND percent_off BETWEEN 1 AND 1000000
        WHEN 'FIXED_AMOUNT' THEN percent_off IS NULL AND amount_off >= 1
        ELSE FALSE END = TRUE),
    CONSTRAINT {coupons_scope_check} CHECK (applies_to IN ('ALL', 'SUBSCRIPTION', 'PRODUCT', 'SPECIFIC')),
    CONSTRAINT {coupons_distribution_check} CHECK (CASE distribution
        WHEN 'GENERAL' THEN allowed_emails = 0 AND points_required = 0
        WHEN 'POINTS_REDEEMABLE' THEN allowed_emails = 0 AND points_required >= 1
        WHEN 'USER_SPECIFIC' THEN allowed_emails >= 1 AND points_required = 0
        ELSE FALSE END = TRUE),
    CONSTRAINT {coupons_limits_check} CHECK (max_uses >= 1),
    CONSTRAINT {coupons_user_limits_check} CHECK (max_uses_per_user >= 1),
    CONSTRAINT {coupons_min_purchase_check} CHECK (min_purchase >= 0),
    CONSTRAINT {coupons_window_check} CHECK (starts_at < expires_at),
    CONSTRAINT {coupons_state_check} CHECK (state IN ('pending', 'active', 'inactive', 'deleting')),
    CONSTRAINT {coupons_revision_check} CHECK (revision >= 1)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {coupon_allowed_emails} (
    coupon_id VARBINARY(64) NOT NULL,
    email     VARBINARY(255) NOT NULL,
    position  BIGINT NOT NULL,
    PRIMARY KEY (coupon_id, email)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- How often a coupon is used: the sum over its slots. A customer counts in the slot
-- that their ID hashes to, so that customers of a coupon without a limit over all
-- seldom wait for each other.
CREATE TABLE IF NOT EXISTS {coupon_counts} (
    coupon_id VARBINARY(64) NOT NULL,
    slot      INT NOT NULL,
    completed BIGINT NOT NULL,
    reserved  BIGINT NOT NULL,
    PRIMARY KEY (coupon_id, slot),
    CONSTRAINT {coupon_counts_check} CHECK (completed >= 0 AND reserved >= 0)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS {coupon_redemptions} (
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
    UNIQUE KEY {coupon_redemptions_key_key} (customer_id, idempotency_key),
    UNIQUE KEY {coupon_redemptions_paid_key} (paid_session),
    KEY {coupon_redemptions_session_idx} (session_id),
    KEY {coupon_redemptions_usage_idx} (coupon_id, customer_id, state),
    KEY {coupon_redemptions_due_idx} (state, deadline),
    KEY {coupon_redemptions_refund_idx} (points_state, updated_at),
    KEY {coupon_redemptions_created_at_idx} (created_at, id),
    KEY {coupon_redemptions_coupon_idx} (coupon_id, created_at, id),
    CONSTRAINT {coupon_redemptions_texts_check} CHECK (id <> '' AND idempotency_key <> '' AND coupon_id <> ''),
    CONSTRAINT {coupon_redemptions_state_check} CHECK (CASE state
        WHEN 'reserved' THEN completed_at IS NULL AND released_at IS NULL AND over_limit = 0
        WHEN 'completed' THEN session_id <> '' AND completed_at IS NOT NULL AND released_at IS NULL
            AND deadline IS NULL AND awaiting_payment = 0
        WHEN 'released' THEN released_at IS NOT NULL AND completed_at IS NULL AND over_limit = 0
            AND deadline IS NULL AND awaiting_payment = 0
        ELSE FALSE END = TRUE),
    CONSTRAINT {coupon_redemptions_origin_check} CHECK (CASE origin
        WHEN 'checkout' THEN customer_id <> '' AND order_id <> '' AND points_state = 'none'
        WHEN 'points' THEN customer_id <> '' AND points >= 1 AND points_state IN ('pending', 'debited', 'refund_due', 'refunded')
        WHEN 'payment' THEN points_state = 'none'
        ELSE FALSE END = TRUE)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS {orders} (
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
    UNIQUE KEY {orders_key_key} (customer_id, idempotency_key),
    KEY {orders_session_idx} (session_id),
    KEY {orders_open_idx} (reservation_id, state, deadline),
    CONSTRAINT {orders_texts_check} CHECK (id <> '' AND idempotency_key <> '' AND customer_id <> ''),
    CONSTRAINT {orders_state_check} CHECK (state IN ('open', 'awaiting_payment', 'paid', 'cancelled')),
    CONSTRAINT {orders_reservation_check} CHECK (coupon_id = '' OR reservation_id <> ''),
    CONSTRAINT {orders_discount_check} CHECK (discount_amount >= 0)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
