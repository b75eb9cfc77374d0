-- Text is compared byte by byte, the default collation of SQLite. Instants are
-- microseconds since 1970 in UTC. Absent text is '', anything else absent is NULL.
--
-- What is written with every use is compared with one word after the other: for a list of
-- more than two, SQLite makes a table of its words each time that a statement changes the
-- column, which is a third of what an order's payment costs.

CREATE TABLE {coupons} (
    id                  TEXT NOT NULL PRIMARY KEY CHECK (id LIKE 'cpn!_%' ESCAPE '!' AND length(id) <= 64),
    code                TEXT NOT NULL UNIQUE CHECK (code <> '' AND length(code) <= 255),
    name                TEXT NOT NULL CHECK (name <> '' AND length(name) <= 255),
    description         TEXT NOT NULL CHECK (length(description) <= 2000),
    discount_type       TEXT NOT NULL,
    percent_off         INTEGER, -- ten-thousandths of a percent
    amount_off          INTEGER, -- minor units of currency
    currency            TEXT NOT NULL CHECK (length(currency) = 3),
    applies_to          TEXT NOT NULL CHECK (applies_to IN ('ALL', 'SUBSCRIPTION', 'PRODUCT', 'SPECIFIC')),
    plan_ids            TEXT NOT NULL, -- JSON arrays
    device_ids          TEXT NOT NULL,
    accessory_ids       TEXT NOT NULL,
    distribution        TEXT NOT NULL,
    allowed_emails      INTEGER NOT NULL, -- rows in coupon_allowed_emails
    emails_digest       TEXT NOT NULL, -- of those rows in their order, to see whether they change
    points_required     INTEGER NOT NULL,
    max_uses            INTEGER CHECK (max_uses >= 1), -- NULL is no limit
    max_uses_per_user   INTEGER CHECK (max_uses_per_user >= 1), -- NULL is no limit
    min_purchase        INTEGER NOT NULL CHECK (min_purchase >= 0), -- minor units of currency
    starts_at           INTEGER,
    expires_at          INTEGER,
    state               TEXT NOT NULL CHECK (state IN ('pending', 'active', 'inactive', 'deleting')),
    processor_coupon_id TEXT NOT NULL,
    promotion_code_id   TEXT NOT NULL,
    mirror_revision     INTEGER NOT NULL,
    -- Name, code and description, folded so that letter case does not matter.
    search_text         TEXT NOT NULL,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    revision            INTEGER NOT NULL CHECK (revision >= 1),
    CHECK (CASE discount_type
        WHEN 'PERCENTAGE' THEN amount_off IS NULL AND percent_off BETWEEN 1 AND 1000000
        WHEN 'FIXED_AMOUNT' THEN percent_off IS NULL AND amount_off >= 1
        ELSE 0 END),
    CHECK (CASE distribution
        WHEN 'GENERAL' THEN allowed_emails = 0 AND points_required = 0
        WHEN 'POINTS_REDEEMABLE' THEN allowed_emails = 0 AND points_required >= 1
        WHEN 'USER_SPECIFIC' THEN allowed_emails >= 1 AND points_required = 0
        ELSE 0 END),
    CHECK (starts_at < expires_at)
) STRICT;

-- The admin table: newest first.
CREATE INDEX {coupons_created_at_idx} ON {coupons} (created_at, id);

CREATE TABLE {coupon_allowed_emails} (
    coupon_id TEXT NOT NULL,
    email     TEXT NOT NULL,
    position  INTEGER NOT NULL,
    PRIMARY KEY (coupon_id, email)
) STRICT, WITHOUT ROWID;

-- How often a coupon is used: the sum over its slots. They are apart from the
-- coupon, so that counting does not touch its row.
CREATE TABLE {coupon_counts} (
    coupon_id TEXT NOT NULL,
    slot      INTEGER NOT NULL,
    completed INTEGER NOT NULL CHECK (completed >= 0),
    reserved  INTEGER NOT NULL CHECK (reserved >= 0),
    PRIMARY KEY (coupon_id, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE {coupon_redemptions} (
    id               TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
    idempotency_key  TEXT NOT NULL CHECK (idempotency_key <> ''),
    coupon_id        TEXT NOT NULL CHECK (coupon_id <> ''), -- stays when the coupon is deleted
    customer_id      TEXT NOT NULL,
    state            TEXT NOT NULL,
    origin           TEXT NOT NULL,
    order_id         TEXT NOT NULL,
    session_id       TEXT NOT NULL,
    points           INTEGER NOT NULL,
    points_state     TEXT NOT NULL,
    awaiting_payment INTEGER NOT NULL CHECK (awaiting_payment IN (0, 1)),
    over_limit       INTEGER NOT NULL CHECK (over_limit IN (0, 1)),
    deadline         INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    completed_at     INTEGER,
    released_at      INTEGER,
    CHECK (CASE state
        WHEN 'reserved' THEN completed_at IS NULL AND released_at IS NULL AND over_limit = 0
        WHEN 'completed' THEN session_id <> '' AND completed_at IS NOT NULL AND released_at IS NULL
            AND deadline IS NULL AND awaiting_payment = 0
        WHEN 'released' THEN released_at IS NOT NULL AND completed_at IS NULL AND over_limit = 0
            AND deadline IS NULL AND awaiting_payment = 0
        ELSE 0 END),
    CHECK (CASE origin
        WHEN 'checkout' THEN customer_id <> '' AND order_id <> '' AND points_state = 'none'
        WHEN 'points' THEN customer_id <> '' AND points >= 1
            AND (points_state = 'pending' OR points_state = 'debited' OR points_state = 'refund_due' OR points_state = 'refunded')
        WHEN 'payment' THEN points_state = 'none'
        ELSE 0 END)
) STRICT;

CREATE UNIQUE INDEX {coupon_redemptions_key_key} ON {coupon_redemptions} (customer_id, idempotency_key);
-- One completed redemption for a session, and the look-up by session of all.
CREATE UNIQUE INDEX {coupon_redemptions_paid_key} ON {coupon_redemptions} (session_id) WHERE state = 'completed';
CREATE INDEX {coupon_redemptions_session_idx} ON {coupon_redemptions} (session_id) WHERE session_id <> '';
-- The uses of one customer.
CREATE INDEX {coupon_redemptions_usage_idx} ON {coupon_redemptions} (coupon_id, customer_id, state);
-- Work for the sweep.
CREATE INDEX {coupon_redemptions_due_idx} ON {coupon_redemptions} (deadline) WHERE state = 'reserved' AND deadline IS NOT NULL;
CREATE INDEX {coupon_redemptions_refund_idx} ON {coupon_redemptions} (updated_at) WHERE points_state = 'refund_due';
-- Lists, newest first.
CREATE INDEX {coupon_redemptions_created_at_idx} ON {coupon_redemptions} (created_at, id);
CREATE INDEX {coupon_redemptions_coupon_idx} ON {coupon_redemptions} (coupon_id, created_at, id);

CREATE TABLE {orders} (
    id              TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
    idempotency_key TEXT NOT NULL CHECK (idempotency_key <> ''),
    fingerprint     TEXT NOT NULL,
    customer_id     TEXT NOT NULL CHECK (customer_id <> ''),
    state           TEXT NOT NULL CHECK (state = 'open' OR state = 'awaiting_payment' OR state = 'paid' OR state = 'cancelled'),
    coupon_id       TEXT NOT NULL,
    reservation_id  TEXT NOT NULL CHECK (coupon_id = '' OR reservation_id <> ''),
    discount_amount INTEGER NOT NULL CHECK (discount_amount >= 0), -- minor units of the quote's currency
    session_id      TEXT NOT NULL,
    session_url     TEXT NOT NULL,
    deadline        INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    quote           TEXT NOT NULL, -- JSON
    coupon          TEXT CHECK (coupon IS NULL OR coupon_id <> ''), -- JSON: the terms of the coupon as they were
    metadata        TEXT -- JSON
) STRICT;

CREATE UNIQUE INDEX {orders_key_key} ON {orders} (customer_id, idempotency_key);
CREATE INDEX {orders_session_idx} ON {orders} (session_id) WHERE session_id <> '';
-- Work for the sweep: orders without a redemption that were never paid.
CREATE INDEX {orders_open_idx} ON {orders} (deadline)
    WHERE reservation_id = '' AND state IN ('open', 'awaiting_payment') AND deadline IS NOT NULL;
