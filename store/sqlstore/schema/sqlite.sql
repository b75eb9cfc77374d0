-- Text is compared byte by byte, as is SQLite's default. Instants are microseconds since
-- 1970 in UTC. What is absent is NULL.

CREATE TABLE {coupons} (
    id         TEXT NOT NULL PRIMARY KEY,
    code       TEXT NOT NULL, -- the plain one, as in codes
    discount_type TEXT NOT NULL,
    uses_counter  TEXT NOT NULL, -- the counter of its uses
    state      TEXT NOT NULL,
    revision   INTEGER NOT NULL,
    version    INTEGER NOT NULL, -- changes, for the journal
    unlimited  INTEGER NOT NULL, -- the terms do not limit the coupon's uses
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    starts_at  INTEGER, expires_at INTEGER,
    emails     INTEGER NOT NULL, -- rows in coupon_emails
    max_uses   INTEGER NOT NULL, -- 0 is no limit
    search     TEXT NOT NULL,    -- name, code and description without letter case
    doc        TEXT NOT NULL     -- JSON
) STRICT;

CREATE INDEX {coupons_list} ON {coupons} (created_at, id);
CREATE INDEX {coupons_state} ON {coupons} (state, created_at, id);
CREATE INDEX {coupons_type} ON {coupons} (discount_type, created_at, id);
CREATE INDEX {coupons_starts} ON {coupons} (starts_at);
CREATE INDEX {coupons_expires} ON {coupons} (expires_at);
CREATE INDEX {coupons_limited} ON {coupons} (created_at, id) WHERE max_uses > 0;

-- A code is live until its coupon is deleted. Used codes stay, and are retired then: live is NULL.
CREATE TABLE {codes} (
    coupon_id  TEXT NOT NULL,
    code_key   TEXT NOT NULL,
    live       INTEGER,
    batch      TEXT NOT NULL, -- empty for the plain code
    position   INTEGER NOT NULL,
    counter    TEXT NOT NULL, -- the counter of its uses, empty for the plain code
    max_uses   INTEGER NOT NULL, -- 0 is no limit
    owner      TEXT NOT NULL,
    active     INTEGER NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    PRIMARY KEY (coupon_id, code_key)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX {codes_key} ON {codes} (code_key, live);
CREATE INDEX {codes_batch} ON {codes} (coupon_id, batch, active, owner, position) WHERE batch <> '';

CREATE TABLE {code_batches} (
    coupon_id   TEXT NOT NULL,
    id          TEXT NOT NULL,
    fingerprint TEXT NOT NULL, -- of the request that made it
    size        INTEGER NOT NULL, -- codes for which it was made
    added       INTEGER NOT NULL, removed INTEGER NOT NULL, assigned INTEGER NOT NULL, inactive INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (coupon_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE {coupon_emails} (
    coupon_id TEXT NOT NULL,
    email     TEXT NOT NULL,
    position  INTEGER NOT NULL,
    PRIMARY KEY (coupon_id, email)
) STRICT, WITHOUT ROWID;

CREATE TABLE {orders} (
    id              TEXT NOT NULL PRIMARY KEY,
    customer_id     TEXT NOT NULL,
    idempotency_key TEXT,
    state           TEXT NOT NULL,
    session_id      TEXT,
    session_url     TEXT NOT NULL,
    replaced_by     TEXT NOT NULL,
    deadline        INTEGER,
    created_at      INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    version         INTEGER NOT NULL,
    doc             TEXT NOT NULL, -- JSON
    claims          TEXT NOT NULL  -- JSON
) STRICT;

CREATE UNIQUE INDEX {orders_key} ON {orders} (customer_id, idempotency_key);
CREATE UNIQUE INDEX {orders_session} ON {orders} (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX {orders_due} ON {orders} (deadline) WHERE deadline IS NOT NULL;
-- Records of one instant are few: their IDs are sorted, and stay out of the indexes of lists.
CREATE INDEX {orders_list} ON {orders} (created_at);

CREATE TABLE {uses} (
    id              TEXT NOT NULL PRIMARY KEY,
    order_id        TEXT,
    coupon_id       TEXT NOT NULL,
    customer_id     TEXT NOT NULL,
    idempotency_key TEXT,
    exchange_id     TEXT,
    state           TEXT NOT NULL,
    points_state    TEXT NOT NULL,
    over_limit      INTEGER NOT NULL,
    deadline        INTEGER,
    created_at      INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    completed_at    INTEGER, released_at INTEGER,
    version         INTEGER NOT NULL,
    doc             TEXT NOT NULL, -- JSON
    claims          TEXT NOT NULL  -- JSON
) STRICT;

-- Customers have no index of their uses: an order has those, and another index has points.
CREATE UNIQUE INDEX {uses_key} ON {uses} (customer_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX {uses_order} ON {uses} (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX {uses_exchange} ON {uses} (exchange_id) WHERE exchange_id IS NOT NULL;
CREATE INDEX {uses_held} ON {uses} (customer_id, coupon_id, state);
CREATE INDEX {uses_due} ON {uses} (deadline) WHERE deadline IS NOT NULL;
CREATE INDEX {uses_refund} ON {uses} (points_state) WHERE points_state = 'refund_due';
CREATE INDEX {uses_list} ON {uses} (created_at);
CREATE INDEX {uses_coupon} ON {uses} (coupon_id, created_at);

-- A counter is stored with the last part of its key first, so that the counters of one
-- customer lie together: customer/orders/ann is ann/customer/orders.
CREATE TABLE {counters} (
    counter   TEXT NOT NULL,
    slot      INTEGER NOT NULL, -- always 0: one transaction writes at a time
    reserved  INTEGER NOT NULL, completed INTEGER NOT NULL,
    PRIMARY KEY (counter, slot)
) STRICT, WITHOUT ROWID;

-- Buckets of a rate limiter. One that is full is not needed.
CREATE TABLE {attempts} (
    bucket  TEXT NOT NULL PRIMARY KEY,
    full_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One transaction writes at a time, so that positions have the order of the commits.
-- AUTOINCREMENT gives no position twice, even if the host deletes entries.
CREATE TABLE {journal} (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL, subject TEXT NOT NULL, version INTEGER NOT NULL, at INTEGER NOT NULL,
    made_by  TEXT NOT NULL,
    data     TEXT NOT NULL -- JSON
) STRICT;

CREATE INDEX {journal_coupon} ON {journal} (subject, version)
    WHERE kind IN ('coupon_created', 'coupon_changed', 'coupon_mirrored', 'coupon_deleted', 'codes_added', 'code_changed', 'codes_changed');
