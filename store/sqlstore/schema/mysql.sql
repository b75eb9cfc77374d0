-- IDs and keys are bytes. Instants are microseconds since 1970 in UTC. What is absent is
-- NULL. Each statement can be repeated, and be run by several processes at once.

CREATE TABLE IF NOT EXISTS {coupons} (
    id         VARBINARY(64) NOT NULL,
    code       VARBINARY(1020) NOT NULL, -- the plain one, as in codes
    discount_type VARBINARY(32) NOT NULL,
    uses_counter  VARBINARY(1024) NOT NULL, -- the counter of its uses
    state      VARBINARY(16) NOT NULL,
    revision   BIGINT NOT NULL,
    version    BIGINT NOT NULL, -- changes, for the journal
    unlimited  TINYINT NOT NULL, -- the terms do not limit the coupon's uses
    created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
    starts_at  BIGINT, expires_at BIGINT,
    emails     BIGINT NOT NULL, -- rows in coupon_emails
    max_uses   BIGINT NOT NULL, -- 0 is no limit
    search     LONGTEXT NOT NULL, -- name, code and description without letter case
    doc        LONGTEXT NOT NULL, -- JSON
    PRIMARY KEY (id),
    KEY {coupons_list} (created_at, id),
    KEY {coupons_state} (state, created_at, id),
    KEY {coupons_type} (discount_type, created_at, id),
    KEY {coupons_starts} (starts_at),
    KEY {coupons_expires} (expires_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A code is live until its coupon is deleted. Used codes stay, and are retired then: live is NULL.
CREATE TABLE IF NOT EXISTS {codes} (
    coupon_id  VARBINARY(64) NOT NULL,
    code_key   VARBINARY(1020) NOT NULL,
    live       TINYINT,
    batch      VARBINARY(64) NOT NULL, -- empty for the plain code
    position   BIGINT NOT NULL,
    counter    VARBINARY(1024) NOT NULL, -- the counter of its uses, empty for the plain code
    max_uses   BIGINT NOT NULL, -- 0 is no limit
    owner      VARBINARY(512) NOT NULL,
    active     TINYINT NOT NULL,
    expires_at BIGINT,
    created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    PRIMARY KEY (coupon_id, code_key),
    UNIQUE KEY {codes_key} (code_key, live),
    KEY {codes_batch} (coupon_id, batch, active, owner, position)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS {code_batches} (
    coupon_id   VARBINARY(64) NOT NULL,
    id          VARBINARY(64) NOT NULL,
    fingerprint VARBINARY(255) NOT NULL, -- of the request that made it
    size        BIGINT NOT NULL, -- codes for which it was made
    added       BIGINT NOT NULL, removed BIGINT NOT NULL, assigned BIGINT NOT NULL, inactive BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (coupon_id, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS {coupon_emails} (
    coupon_id VARBINARY(64) NOT NULL,
    email     VARBINARY(255) NOT NULL,
    position  BIGINT NOT NULL,
    PRIMARY KEY (coupon_id, email)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS {orders} (
    id              VARBINARY(255) NOT NULL,
    customer_id     VARBINARY(255) NOT NULL,
    idempotency_key VARBINARY(255),
    state           VARBINARY(16) NOT NULL,
    session_id      VARBINARY(255),
    session_url     LONGTEXT NOT NULL,
    replaced_by     VARBINARY(255) NOT NULL,
    deadline        BIGINT,
    created_at      BIGINT NOT NULL, updated_at BIGINT NOT NULL,
    version         BIGINT NOT NULL,
    doc             LONGTEXT NOT NULL, -- JSON
    claims          LONGTEXT NOT NULL, -- JSON
    PRIMARY KEY (id),
    UNIQUE KEY {orders_key} (customer_id, idempotency_key),
    UNIQUE KEY {orders_session} (session_id),
    KEY {orders_due} (deadline),
    KEY {orders_list} (created_at, id),
    KEY {orders_customer} (customer_id, created_at, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {uses} (
    id              VARBINARY(255) NOT NULL,
    order_id        VARBINARY(255),
    coupon_id       VARBINARY(255) NOT NULL,
    customer_id     VARBINARY(255) NOT NULL,
    idempotency_key VARBINARY(255),
    exchange_id     VARBINARY(255),
    state           VARBINARY(16) NOT NULL,
    points_state    VARBINARY(16) NOT NULL,
    over_limit      TINYINT NOT NULL,
    deadline        BIGINT,
    created_at      BIGINT NOT NULL, updated_at BIGINT NOT NULL,
    completed_at    BIGINT, released_at BIGINT,
    version         BIGINT NOT NULL,
    doc             LONGTEXT NOT NULL, -- JSON
    claims          LONGTEXT NOT NULL, -- JSON
    -- NULL but for points reservations, which so are few in an index.
    holder          VARBINARY(255) GENERATED ALWAYS AS (CASE WHEN exchange_id IS NOT NULL THEN customer_id END) STORED,
    PRIMARY KEY (id),
    UNIQUE KEY {uses_key} (customer_id, idempotency_key),
    KEY {uses_order} (order_id),
    KEY {uses_exchange} (exchange_id),
    KEY {uses_held} (holder, coupon_id),
    KEY {uses_due} (deadline),
    KEY {uses_refund} (points_state),
    KEY {uses_list} (created_at, id),
    KEY {uses_coupon} (coupon_id, created_at, id),
    KEY {uses_customer} (customer_id, created_at, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {counters} (
    counter   VARBINARY(1024) NOT NULL,
    slot      TINYINT NOT NULL,
    reserved  BIGINT NOT NULL, completed BIGINT NOT NULL,
    PRIMARY KEY (counter, slot)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Buckets of a rate limiter. One that is full is not needed.
CREATE TABLE IF NOT EXISTS {attempts} (
    bucket  VARBINARY(64) NOT NULL,
    full_at BIGINT NOT NULL,
    PRIMARY KEY (bucket)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Entries wait here until the sealer gives them positions.
CREATE TABLE IF NOT EXISTS {journal_pending} (
    id      BIGINT NOT NULL AUTO_INCREMENT,
    kind VARBINARY(64) NOT NULL, subject VARBINARY(255) NOT NULL, version BIGINT NOT NULL, at BIGINT NOT NULL,
    made_by VARBINARY(255) NOT NULL,
    data    LONGTEXT NOT NULL, -- JSON
    -- NULL but for entries about coupons.
    coupon  VARBINARY(255) GENERATED ALWAYS AS (CASE WHEN kind IN ('coupon_created', 'coupon_changed', 'coupon_mirrored', 'coupon_deleted', 'codes_added', 'code_changed', 'codes_changed') THEN subject END) STORED,
    PRIMARY KEY (id),
    KEY {journal_pending_coupon} (coupon)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {journal} (
    position BIGINT NOT NULL,
    kind VARBINARY(64) NOT NULL, subject VARBINARY(255) NOT NULL, version BIGINT NOT NULL, at BIGINT NOT NULL,
    made_by  VARBINARY(255) NOT NULL,
    data     LONGTEXT NOT NULL, -- JSON
    -- NULL but for entries about coupons.
    coupon  VARBINARY(255) GENERATED ALWAYS AS (CASE WHEN kind IN ('coupon_created', 'coupon_changed', 'coupon_mirrored', 'coupon_deleted', 'codes_added', 'code_changed', 'codes_changed') THEN subject END) STORED,
    PRIMARY KEY (position),
    KEY {journal_coupon} (coupon)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row, which the sealer locks: the last position.
CREATE TABLE IF NOT EXISTS {journal_head} (
    id       TINYINT NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;

INSERT IGNORE INTO {journal_head} (id, position) VALUES (1, 0);
