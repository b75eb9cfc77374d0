CREATE TABLE couponkit_migrations (version INTEGER NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL);

-- Text is compared byte by byte, the default collation of SQLite. Instants are
-- microseconds since 1970 in UTC. Absent text is '', anything else absent is NULL.

CREATE TABLE coupons (
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
CREATE INDEX coupons_created_at_idx ON coupons (created_at, id);

CREATE TABLE coupon_allowed_emails (
    coupon_id TEXT NOT NULL,
    email     TEXT NOT NULL,
    position  INTEGER NOT NULL,
    PRIMARY KEY (coupon_id, email)
) STRICT, WITHOUT ROWID;

-- How often a coupon is used: the sum over its slots. They are apart from the
-- coupon, so that counting does not touch its row.
CREATE TABLE coupon_counts (
    coupon_id TEXT NOT NULL,
    slot      INTEGER NOT NULL,
    completed INTEGER NOT NULL CHECK (completed >= 0),
    reserved  INTEGER NOT NULL CHECK (reserved >= 0),
    PRIMARY KEY (coupon_id, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE coupon_redemptions (
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
        WHEN 'points' THEN customer_id <> '' AND points >= 1 AND points_state IN ('pending', 'debited', 'refund_due', 'refunded')
        WHEN 'payment' THEN points_state = 'none'
        ELSE 0 END)
) STRICT;

CREATE UNIQUE INDEX coupon_redemptions_key_key ON coupon_redemptions (customer_id, idempotency_key);

-- One completed redemption for a session, and the look-up by session of all.
CREATE UNIQUE INDEX coupon_redemptions_paid_key ON coupon_redemptions (session_id) WHERE state = 'completed';

CREATE INDEX coupon_redemptions_session_idx ON coupon_redemptions (session_id) WHERE session_id <> '';

-- The uses of one customer.
CREATE INDEX coupon_redemptions_usage_idx ON coupon_redemptions (coupon_id, customer_id, state);

-- Work for the sweep.
CREATE INDEX coupon_redemptions_due_idx ON coupon_redemptions (deadline) WHERE state = 'reserved' AND deadline IS NOT NULL;

CREATE INDEX coupon_redemptions_refund_idx ON coupon_redemptions (updated_at) WHERE points_state = 'refund_due';

-- Lists, newest first.
CREATE INDEX coupon_redemptions_created_at_idx ON coupon_redemptions (created_at, id);

CREATE INDEX coupon_redemptions_coupon_idx ON coupon_redemptions (coupon_id, created_at, id);

CREATE TABLE orders (
    id              TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
    idempotency_key TEXT NOT NULL CHECK (idempotency_key <> ''),
    fingerprint     TEXT NOT NULL,
    customer_id     TEXT NOT NULL CHECK (customer_id <> ''),
    state           TEXT NOT NULL CHECK (state IN ('open', 'awaiting_payment', 'paid', 'cancelled')),
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

CREATE UNIQUE INDEX orders_key_key ON orders (customer_id, idempotency_key);

CREATE INDEX orders_session_idx ON orders (session_id) WHERE session_id <> '';

-- Work for the sweep: orders without a redemption that were never paid.
CREATE INDEX orders_open_idx ON orders (deadline)
    WHERE reservation_id = '' AND state IN ('open', 'awaiting_payment') AND deadline IS NOT NULL;

INSERT INTO couponkit_migrations (version, name) VALUES
  (1, 'tables');

INSERT INTO coupons (id, code, name, description, discount_type, percent_off, amount_off, currency, applies_to, plan_ids, device_ids, accessory_ids, distribution, allowed_emails, emails_digest, points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state, processor_coupon_id, promotion_code_id, mirror_revision, search_text, created_at, updated_at, revision) VALUES
  ('cpn_AMOUNT', 'AMOUNT', 'Coupon AMOUNT', '', 'FIXED_AMOUNT', NULL, 1050, 'EUR', 'SPECIFIC', '["basic"]', '["phone","watch"]', '[]', 'GENERAL', 0, '', 0, NULL, NULL, 0, NULL, NULL, 'inactive', '', '', 0, 'coupon amountamount', 1795176000123456, 1795176000123456, 1);

INSERT INTO coupons (id, code, name, description, discount_type, percent_off, amount_off, currency, applies_to, plan_ids, device_ids, accessory_ids, distribution, allowed_emails, emails_digest, points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state, processor_coupon_id, promotion_code_id, mirror_revision, search_text, created_at, updated_at, revision) VALUES
  ('cpn_LISTED', 'LISTED', 'Coupon LISTED', '', 'PERCENTAGE', 125000, NULL, 'EUR', 'ALL', '[]', '[]', '[]', 'USER_SPECIFIC', 2, '4a1deac3c2ece44740b457f0e7a729469e4281b4cc8eeda787f2730f63379815', 0, NULL, 1, 0, NULL, NULL, 'active', '', '', 0, 'coupon listedlisted', 1795176000123456, 1795176000123456, 1);

INSERT INTO coupons (id, code, name, description, discount_type, percent_off, amount_off, currency, applies_to, plan_ids, device_ids, accessory_ids, distribution, allowed_emails, emails_digest, points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state, processor_coupon_id, promotion_code_id, mirror_revision, search_text, created_at, updated_at, revision) VALUES
  ('cpn_PERCENT', 'PERCENT', 'Coupon PERCENT', 'It''s 100 % – «quoted» \ and_more', 'PERCENTAGE', 125000, NULL, 'EUR', 'ALL', '[]', '[]', '[]', 'GENERAL', 0, '', 0, 100, 2, 1000, 1795172400123456, 1798776000123456, 'active', '', '', 0, 'coupon percentpercentit''s 100 % - «quoted» \ and_more', 1795176000123456, 1795176000123456, 1);

INSERT INTO coupons (id, code, name, description, discount_type, percent_off, amount_off, currency, applies_to, plan_ids, device_ids, accessory_ids, distribution, allowed_emails, emails_digest, points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state, processor_coupon_id, promotion_code_id, mirror_revision, search_text, created_at, updated_at, revision) VALUES
  ('cpn_POINTS', 'POINTS', 'Coupon POINTS', '', 'PERCENTAGE', 125000, NULL, 'EUR', 'ALL', '[]', '[]', '[]', 'POINTS_REDEEMABLE', 0, '', 500, 5, 1, 0, NULL, NULL, 'active', 'co_1', 'promo_1', 1, 'coupon pointspoints', 1795176000123456, 1795176000123456, 1);

INSERT INTO coupon_allowed_emails (coupon_id, email, position) VALUES
  ('cpn_LISTED', 'ann@example.org', 1);

INSERT INTO coupon_allowed_emails (coupon_id, email, position) VALUES
  ('cpn_LISTED', 'zoe@example.org', 0);

INSERT INTO coupon_counts (coupon_id, slot, completed, reserved) VALUES
  ('cpn_PERCENT', 0, 1, 1);

INSERT INTO coupon_counts (coupon_id, slot, completed, reserved) VALUES
  ('cpn_POINTS', 0, 0, 1);

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
  ('ord_plain', 'key-plain', 'cart', 'ann', 'open', '', '', 0, '', '', 1795179600123456, 1795176000123456, 1795176000123456, '{"currency":"EUR","subtotal":"299.97","eligibleSubtotal":"299.97","discount":"0.00","shipping":"4.90","total":"304.87","lines":[{"id":"1","kind":"device","itemId":"phone","quantity":3,"unitPrice":"99.99","eligible":true,"subtotal":"299.97","discount":"0.00","total":"299.97","units":[{"quantity":3,"unitPrice":"99.99"}]},{"id":"2","kind":"shipping","itemId":"post","quantity":1,"unitPrice":"4.90","eligible":false,"subtotal":"4.90","discount":"0.00","total":"4.90","units":[{"quantity":1,"unitPrice":"4.90"}]}]}', NULL, '{"note":"it''s \"quoted\""}');
