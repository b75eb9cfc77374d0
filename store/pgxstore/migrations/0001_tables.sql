-- Text is compared byte by byte: every text column has the collation "C".
-- Absent text is '', an absent number, instant or document is NULL.

CREATE TABLE {coupons} (
    id                text COLLATE "C" NOT NULL,
    code              text COLLATE "C" NOT NULL,
    name              text COLLATE "C" NOT NULL,
    description       text COLLATE "C" NOT NULL DEFAULT '',
    discount_type     text COLLATE "C" NOT NULL,
    percent_off       numeric(7, 4),
    amount_off        bigint, -- minor units of currency
    currency          text COLLATE "C" NOT NULL,
    applies_to        text COLLATE "C" NOT NULL,
    plan_ids          text[] COLLATE "C" NOT NULL DEFAULT '{}',
    device_ids        text[] COLLATE "C" NOT NULL DEFAULT '{}',
    accessory_ids     text[] COLLATE "C" NOT NULL DEFAULT '{}',
    distribution      text COLLATE "C" NOT NULL,
    allowed_emails    integer NOT NULL DEFAULT 0, -- rows in coupon_allowed_emails
    points_required   bigint NOT NULL DEFAULT 0,
    max_uses          bigint, -- NULL is no limit
    max_uses_per_user bigint, -- NULL is no limit
    min_purchase      bigint NOT NULL DEFAULT 0, -- minor units of currency
    starts_at         timestamptz,
    expires_at        timestamptz,
    state             text COLLATE "C" NOT NULL,
    -- The uses counted under the row's lock; coupon_counters has the others.
    used_count        bigint NOT NULL DEFAULT 0,
    reserved_count    bigint NOT NULL DEFAULT 0,
    processor_coupon_id text COLLATE "C" NOT NULL DEFAULT '',
    promotion_code_id text COLLATE "C" NOT NULL DEFAULT '',
    mirror_revision   bigint NOT NULL DEFAULT 0,
    -- Code, name and description in lower case, as the library folds them.
    search_text       text COLLATE "C" NOT NULL,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    revision          bigint NOT NULL,
    CONSTRAINT {=coupons_pkey} PRIMARY KEY (id),
    CONSTRAINT {=coupons_code_key} UNIQUE (code),
    CONSTRAINT {=coupons_id_check} CHECK (id LIKE 'cpn\_%' AND octet_length(id) <= 64),
    CONSTRAINT {=coupons_code_check} CHECK (code <> '' AND char_length(code) <= 255),
    CONSTRAINT {=coupons_name_check} CHECK (name <> '' AND char_length(name) <= 255),
    CONSTRAINT {=coupons_description_check} CHECK (char_length(description) <= 2000),
    CONSTRAINT {=coupons_discount_check} CHECK (CASE discount_type
        WHEN 'PERCENTAGE' THEN amount_off IS NULL AND percent_off > 0 AND percent_off <= 100
        WHEN 'FIXED_AMOUNT' THEN percent_off IS NULL AND amount_off > 0
        ELSE false END),
    CONSTRAINT {=coupons_currency_check} CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT {=coupons_scope_check} CHECK (CASE applies_to
        WHEN 'ALL' THEN cardinality(plan_ids) + cardinality(device_ids) + cardinality(accessory_ids) = 0
        WHEN 'SUBSCRIPTION' THEN cardinality(device_ids) + cardinality(accessory_ids) = 0
        WHEN 'PRODUCT' THEN cardinality(plan_ids) = 0
        WHEN 'SPECIFIC' THEN cardinality(plan_ids) + cardinality(device_ids) + cardinality(accessory_ids) > 0
        ELSE false END),
    CONSTRAINT {=coupons_distribution_check} CHECK (CASE distribution
        WHEN 'GENERAL' THEN allowed_emails = 0 AND points_required = 0
        WHEN 'POINTS_REDEEMABLE' THEN allowed_emails = 0 AND points_required >= 1
        WHEN 'USER_SPECIFIC' THEN allowed_emails >= 1 AND points_required = 0
        ELSE false END),
    CONSTRAINT {=coupons_limits_check} CHECK (max_uses >= 1 AND max_uses_per_user >= 1),
    CONSTRAINT {=coupons_min_purchase_check} CHECK (min_purchase >= 0),
    CONSTRAINT {=coupons_window_check} CHECK (starts_at < expires_at),
    CONSTRAINT {=coupons_state_check} CHECK (state IN ('pending', 'active', 'inactive', 'deleting')),
    CONSTRAINT {=coupons_revision_check} CHECK (revision >= 1)
) WITH (fillfactor = 80);

-- The admin table: newest first.
CREATE INDEX {=coupons_created_at_idx} ON {coupons} (created_at, id);

CREATE TABLE {coupon_allowed_emails} (
    coupon_id text COLLATE "C" NOT NULL,
    email     text COLLATE "C" NOT NULL,
    position  integer NOT NULL,
    CONSTRAINT {=coupon_allowed_emails_pkey} PRIMARY KEY (coupon_id, email),
    CONSTRAINT {=coupon_allowed_emails_coupon_fkey} FOREIGN KEY (coupon_id) REFERENCES {coupons} (id) ON DELETE CASCADE
);

-- Uses that are counted without the coupon's lock. A transaction takes any row of
-- the coupon that nobody holds, or adds one: writers never wait for each other.
-- The counts of a coupon are the sums of its rows and its own.
CREATE TABLE {coupon_counters} (
    coupon_id text COLLATE "C" NOT NULL,
    stripe    bigint GENERATED ALWAYS AS IDENTITY,
    completed bigint NOT NULL,
    reserved  bigint NOT NULL,
    CONSTRAINT {=coupon_counters_pkey} PRIMARY KEY (coupon_id, stripe),
    CONSTRAINT {=coupon_counters_coupon_fkey} FOREIGN KEY (coupon_id) REFERENCES {coupons} (id) ON DELETE CASCADE
) WITH (fillfactor = 50);

CREATE TABLE {coupon_redemptions} (
    id               text COLLATE "C" NOT NULL,
    key              text COLLATE "C" NOT NULL,
    coupon_id        text COLLATE "C" NOT NULL, -- stays when the coupon is deleted
    customer_id      text COLLATE "C" NOT NULL,
    state            text COLLATE "C" NOT NULL,
    origin           text COLLATE "C" NOT NULL,
    order_id         text COLLATE "C" NOT NULL DEFAULT '',
    session_id       text COLLATE "C" NOT NULL DEFAULT '',
    points           bigint NOT NULL DEFAULT 0,
    points_state     text COLLATE "C" NOT NULL DEFAULT 'none',
    awaiting_payment boolean NOT NULL DEFAULT false,
    over_limit       boolean NOT NULL DEFAULT false,
    deadline         timestamptz,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    completed_at     timestamptz,
    released_at      timestamptz,
    -- Numbers the uses of one customer where a coupon has no other limit: two that
    -- happen at once take the same number, and the unique index lets one in. NULL
    -- where the coupon's lock or the lack of a limit makes it needless.
    customer_turn    bigint,
    CONSTRAINT {=coupon_redemptions_pkey} PRIMARY KEY (id),
    CONSTRAINT {=coupon_redemptions_key_key} UNIQUE (customer_id, key),
    CONSTRAINT {=coupon_redemptions_texts_check} CHECK (
        id <> '' AND octet_length(id) <= 255 AND key <> '' AND octet_length(key) <= 255
        AND coupon_id <> '' AND octet_length(coupon_id) <= 255 AND octet_length(customer_id) <= 255
        AND octet_length(order_id) <= 255 AND octet_length(session_id) <= 255),
    CONSTRAINT {=coupon_redemptions_origin_check} CHECK (CASE origin
        WHEN 'checkout' THEN customer_id <> '' AND order_id <> ''
        WHEN 'points' THEN customer_id <> ''
        WHEN 'payment' THEN true
        ELSE false END),
    CONSTRAINT {=coupon_redemptions_points_check} CHECK (CASE points_state
        WHEN 'none' THEN origin <> 'points' AND points = 0
        WHEN 'pending' THEN origin = 'points' AND points >= 1
        WHEN 'debited' THEN origin = 'points' AND points >= 1
        WHEN 'refund_due' THEN origin = 'points' AND points >= 1
        WHEN 'refunded' THEN origin = 'points' AND points >= 1
        ELSE false END),
    CONSTRAINT {=coupon_redemptions_state_check} CHECK (CASE state
        WHEN 'reserved' THEN completed_at IS NULL AND released_at IS NULL AND NOT over_limit
        WHEN 'completed' THEN session_id <> '' AND completed_at IS NOT NULL AND released_at IS NULL
            AND deadline IS NULL AND NOT awaiting_payment
        WHEN 'released' THEN released_at IS NOT NULL AND completed_at IS NULL AND NOT over_limit
            AND deadline IS NULL AND NOT awaiting_payment
        ELSE false END)
);

-- A session belongs to one redemption, which it completes at most once.
CREATE UNIQUE INDEX {=coupon_redemptions_session_key} ON {coupon_redemptions} (session_id) WHERE session_id <> '';
-- The uses of one customer, and their mutual exclusion.
CREATE UNIQUE INDEX {=coupon_redemptions_usage_key} ON {coupon_redemptions} (coupon_id, customer_id, customer_turn);
-- Work for the sweep.
CREATE INDEX {=coupon_redemptions_due_idx} ON {coupon_redemptions} (deadline, id) WHERE state = 'reserved' AND deadline IS NOT NULL;
CREATE INDEX {=coupon_redemptions_refund_idx} ON {coupon_redemptions} (updated_at, id) WHERE points_state = 'refund_due';
-- Lists, newest first.
CREATE INDEX {=coupon_redemptions_created_at_idx} ON {coupon_redemptions} (created_at, id);

CREATE TABLE {orders} (
    id              text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL,
    fingerprint     text COLLATE "C" NOT NULL DEFAULT '',
    customer_id     text COLLATE "C" NOT NULL,
    state           text COLLATE "C" NOT NULL,
    coupon_id       text COLLATE "C" NOT NULL DEFAULT '',
    reservation_id  text COLLATE "C" NOT NULL DEFAULT '',
    discount_amount bigint NOT NULL DEFAULT 0, -- minor units of the quote's currency
    session_id      text COLLATE "C" NOT NULL DEFAULT '',
    session_url     text COLLATE "C" NOT NULL DEFAULT '',
    deadline        timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    quote           jsonb NOT NULL,
    coupon          jsonb, -- the terms of the coupon as they were
    metadata        jsonb,
    CONSTRAINT {=orders_pkey} PRIMARY KEY (id),
    CONSTRAINT {=orders_key_key} UNIQUE (customer_id, key),
    CONSTRAINT {=orders_texts_check} CHECK (
        id <> '' AND octet_length(id) <= 255 AND key <> '' AND octet_length(key) <= 255
        AND customer_id <> '' AND octet_length(customer_id) <= 255),
    CONSTRAINT {=orders_state_check} CHECK (state IN ('open', 'awaiting_payment', 'paid', 'cancelled')),
    CONSTRAINT {=orders_coupon_check} CHECK (
        (coupon_id <> '' OR coupon IS NULL) AND (coupon_id = '' OR reservation_id <> '')),
    CONSTRAINT {=orders_discount_check} CHECK (discount_amount >= 0)
);

CREATE INDEX {=orders_session_idx} ON {orders} (session_id) WHERE session_id <> '';
-- Work for the sweep: orders without a redemption that have not ended.
CREATE INDEX {=orders_open_idx} ON {orders} (deadline, id)
    WHERE state IN ('open', 'awaiting_payment') AND reservation_id = '' AND deadline IS NOT NULL;
