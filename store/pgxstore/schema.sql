-- The tables of couponkit, version 1. {name} stands for the quoted schema and name.
--
-- IDs, keys and counters are compared byte by byte: their collation is "C".
-- Instants are microseconds since 1970 in UTC. The first instant of the year 1 means none.
-- Documents are JSON, kept as the text that was written.
-- A record with n claims has their counters in claimed, and 3n numbers in amounts: what each
-- claim holds, then the limits, then what refunds have returned.

CREATE TABLE {version} (
    version    integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE {coupons} (
    id         text COLLATE "C" PRIMARY KEY,
    code       text COLLATE "C" NOT NULL, -- the plain one, as in codes
    state      text COLLATE "C" NOT NULL,
    revision   bigint NOT NULL,
    version    bigint NOT NULL,  -- counts the changes
    unlimited  boolean NOT NULL, -- the counter of its uses is spread over several parts
    uses_counter     text COLLATE "C" NOT NULL, -- the counter of its uses
    customer_counter text COLLATE "C" NOT NULL, -- how the counters of its customers' uses begin
    emails     integer NOT NULL, -- rows in coupon_emails
    discount_type    text COLLATE "C" NOT NULL,
    max_uses   bigint NOT NULL,  -- 0 is no limit
    starts_at  bigint NOT NULL,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    search     text COLLATE "C" NOT NULL, -- code, name and description, their case folded
    doc        text NOT NULL
);
CREATE INDEX coupons_list ON {coupons} (created_at, id);
CREATE INDEX coupons_state ON {coupons} (state, created_at, id);
CREATE INDEX coupons_type ON {coupons} (discount_type, created_at, id);
CREATE INDEX coupons_starts ON {coupons} (starts_at);
CREATE INDEX coupons_expires ON {coupons} (expires_at);
CREATE INDEX coupons_limited ON {coupons} (created_at, id) WHERE max_uses > 0;

-- A code is live until its coupon is deleted. Used codes stay, and are retired then: live is NULL.
CREATE TABLE {codes} (
    coupon_id  text COLLATE "C" NOT NULL,
    code_key   text COLLATE "C" NOT NULL,
    live       boolean,
    batch      text COLLATE "C" NOT NULL, -- empty for the plain code
    position   integer NOT NULL,          -- in its batch
    counter    text COLLATE "C" NOT NULL, -- the counter of its uses, empty for the plain code
    max_uses   bigint NOT NULL,           -- 0 is no limit
    owner      text COLLATE "C" NOT NULL,
    active     boolean NOT NULL,
    expires_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    revision   bigint NOT NULL,
    PRIMARY KEY (coupon_id, code_key)
);
CREATE UNIQUE INDEX codes_key ON {codes} (code_key) WHERE live;
CREATE INDEX codes_batch ON {codes} (coupon_id, batch, active, owner, position) WHERE batch <> '';

CREATE TABLE {code_batches} (
    coupon_id   text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL, -- of the request that made it
    counter     text COLLATE "C" NOT NULL, -- the counter of the uses by its codes
    size        bigint NOT NULL,           -- codes for which it was made
    added       bigint NOT NULL,
    removed     bigint NOT NULL,
    assigned    bigint NOT NULL,
    inactive    bigint NOT NULL,
    created_at  bigint NOT NULL,
    PRIMARY KEY (coupon_id, id)
);

CREATE TABLE {coupon_emails} (
    coupon_id text COLLATE "C" NOT NULL,
    email     text COLLATE "C" NOT NULL,
    position  integer NOT NULL,
    PRIMARY KEY (coupon_id, email)
);

CREATE TABLE {orders} (
    id          text COLLATE "C" PRIMARY KEY,
    customer_id text COLLATE "C" NOT NULL,
    key         text COLLATE "C", -- NULL for an order that only a payment has told of
    state       text COLLATE "C" NOT NULL,
    session_id  text COLLATE "C" NOT NULL,
    session_url text NOT NULL,
    replaced_by text COLLATE "C" NOT NULL,
    deadline    bigint NOT NULL,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    version     bigint NOT NULL,
    doc         text NOT NULL,
    claimed     text[] COLLATE "C" NOT NULL DEFAULT '{}',
    amounts     bigint[] NOT NULL DEFAULT '{}',
    CONSTRAINT orders_claims CHECK (cardinality(amounts) = 3 * cardinality(claimed) AND array_position(claimed, NULL) IS NULL AND array_position(amounts, NULL) IS NULL)
);
CREATE UNIQUE INDEX orders_key ON {orders} (customer_id, key);
CREATE UNIQUE INDEX orders_session ON {orders} (session_id) WHERE session_id <> '';
CREATE INDEX orders_list ON {orders} (state, created_at, id);
CREATE INDEX orders_due ON {orders} (created_at, id) -- of those that have ended
    WHERE state IN ('paid', 'cancelled', 'partly_refunded', 'refunded') AND deadline > -62135596800000000;

CREATE TABLE {uses} (
    id           text COLLATE "C" PRIMARY KEY,
    order_id     text COLLATE "C" NOT NULL,
    coupon_id    text COLLATE "C" NOT NULL,
    customer_id  text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    exchange_id  text COLLATE "C" NOT NULL,
    state        text COLLATE "C" NOT NULL,
    points_state text COLLATE "C" NOT NULL,
    over_limit   boolean NOT NULL,
    deadline     bigint NOT NULL,
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,
    completed_at bigint NOT NULL,
    released_at  bigint NOT NULL,
    version      bigint NOT NULL,
    doc          text NOT NULL,
    claimed      text[] COLLATE "C" NOT NULL DEFAULT '{}',
    amounts      bigint[] NOT NULL DEFAULT '{}',
    CONSTRAINT uses_claims CHECK (cardinality(amounts) = 3 * cardinality(claimed) AND array_position(claimed, NULL) IS NULL AND array_position(amounts, NULL) IS NULL)
);
CREATE INDEX uses_order ON {uses} (order_id) WHERE order_id <> '';
CREATE INDEX uses_customer ON {uses} (customer_id, coupon_id, state);
CREATE INDEX uses_coupon ON {uses} (coupon_id, state, created_at, id);
CREATE INDEX uses_list ON {uses} (state, created_at, id);
CREATE INDEX uses_exchange ON {uses} (exchange_id) WHERE exchange_id <> '';
CREATE UNIQUE INDEX uses_key ON {uses} (customer_id, key) WHERE key <> '';
CREATE INDEX uses_due ON {uses} (created_at, id)
    WHERE points_state = 'refund_due' OR state = 'reserved' AND order_id = '' AND deadline > -62135596800000000;

-- A counter that nobody decides by is spread over several parts, as many as transactions were
-- open at once. Part 0 is that of all others.
-- The figures stand in no index, and pages have room: an update stays within its page.
CREATE TABLE {counters} (
    counter   text COLLATE "C" NOT NULL,
    part      integer NOT NULL,
    reserved  bigint NOT NULL,
    completed bigint NOT NULL,
    PRIMARY KEY (counter, part)
) WITH (fillfactor = 50);

-- Buckets of a rate limiter. One that is full is not needed.
CREATE TABLE {attempts} (
    bucket  text COLLATE "C" PRIMARY KEY,
    full_at bigint NOT NULL
) WITH (fillfactor = 50);

-- Entries that have no position in the journal yet. Their IDs tell entries of one subject
-- apart, whose transactions waited for each other, and nothing of others.
CREATE TABLE {journal_pending} (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind    text NOT NULL,
    subject text NOT NULL,
    version bigint NOT NULL,
    at      bigint NOT NULL,
    actor   text NOT NULL,
    data    text NOT NULL
);
CREATE INDEX journal_pending_coupon ON {journal_pending} (subject, version)
    WHERE kind IN ('coupon_created', 'coupon_changed', 'coupon_mirrored', 'coupon_deleted', 'codes_added', 'code_changed', 'codes_changed');

CREATE TABLE {journal} (
    position bigint PRIMARY KEY,
    kind     text NOT NULL,
    subject  text NOT NULL,
    version  bigint NOT NULL,
    at       bigint NOT NULL,
    actor    text NOT NULL,
    data     text NOT NULL
);
CREATE INDEX journal_coupon ON {journal} (subject, version)
    WHERE kind IN ('coupon_created', 'coupon_changed', 'coupon_mirrored', 'coupon_deleted', 'codes_added', 'code_changed', 'codes_changed');

-- The lock under which entries get their positions, and the last position.
CREATE TABLE {journal_head} (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    position bigint NOT NULL
);
INSERT INTO {journal_head} (position) VALUES (0);

INSERT INTO {version} (version) VALUES (1);
