package pgxstore

import (
	"fmt"
	"strings"

	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/store/internal/sqlparts"
)

// statements are the SQL texts of a store. Each begins with a comment with its purpose, for
// pg_stat_statements.
type statements struct {
	options Options

	byOrderID, byOrderKey, bySession, lockOrders                    string
	byUseID, byUseKey, byExchange, usesByOrder, usesBySession       string
	lockUses, usesOfOrders, freeUses                                string
	byCouponID, byUse, shareCoupons                                 string
	lockCounters, checkCounters, insertCounters                     string
	addToCounters, addToParts                                       string
	insertOrders, updateOrders, growOrders                          string
	insertUses, updateUses, growUses                                string
	insertEntries, lockJournal, sealJournal, moveHead, readJournal  string
	journalEnd, suspectBuckets, recountClaims, recountCodes         string
	readHistory, sums                                               string
	lockCoupon, codeOwner, counted, counts                          string
	insertCoupon, updateCoupon, deleteCoupon                        string
	deleteEmails, insertEmails, foldCounter                         string
	lookUpByID                                                      string
	named                                                           [7]namedStatements
	liveKeys, liveCodes, batchCodes, batch, batches, readCodes      string
	insertBatch, insertCodes, updateCodes, removeCodes, retireCodes string
	deleteBatches, updateBatch, ownedCodes, freeCodes               string
	lockAttempts, insertAttempts, updateAttempts, forgetAttempts    string
}

const (
	orderList = `o.id, o.customer_id, coalesce(o.key, ''), o.state, o.session_id, o.session_url, o.replaced_by,
	o.deadline, o.created_at, o.updated_at, o.version, o.doc, o.claimed, o.amounts`
	useList = `u.id, u.order_id, u.coupon_id, u.customer_id, u.key, u.exchange_id, u.state, u.points_state,
	u.over_limit, u.deadline, u.created_at, u.updated_at, u.completed_at, u.released_at, u.version, u.doc, u.claimed, u.amounts`
	orderNames = `id, customer_id, key, state, session_id, session_url, replaced_by, deadline, created_at, updated_at, version`
	useNames   = `id, order_id, coupon_id, customer_id, key, exchange_id, state, points_state, over_limit, deadline,
	created_at, updated_at, completed_at, released_at, version`
	counterArrays = `unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS w (counter, part, reserved, completed)`
	heldUse       = `u.state = 'reserved' AND u.exchange_id <> ''`
)

// A use belongs to an order by the order's ID. An order belongs to a session by the session's ID.
// OFFSET 0 makes the planner use look-ups, not joins. Array arguments are written as (SELECT $1). The
// planner then does not count their elements, and does not plan every call again.
const (
	useRef       = `SELECT u.id, u.coupon_id FROM {uses} u WHERE `
	useOfOrder   = useRef + `u.order_id = o.id AND u.order_id <> '' OFFSET 0`
	orderRef     = `SELECT o.id FROM {orders} o WHERE `
	orderSession = orderRef + `o.session_id = w.session_id AND o.session_id <> '' OFFSET 0`
)

// Columns of orders and uses in writes, with the types of their arrays.
const (
	orderTypes = `text text text text text text text bigint bigint bigint bigint`
	useTypes   = `text text text text text text text text boolean bigint bigint bigint bigint bigint bigint`
	// grownNames are the columns that change seldom. An array of arrays is written as an array of texts.
	grownNames = `, doc, claimed, amounts`
	grownTypes = ` text text::text[] text::bigint[]`
	setGrown   = `doc = excluded.doc, claimed = excluded.claimed, amounts = excluded.amounts`
)

// arrays returns a table with one row for each element of the arrays $1, $2 and so on. Only the first
// array is unnested. PostgreSQL allocates 16 kB for each unnested array. With more than seven, it
// returns memory to the operating system after each statement.
func arrays(names, types string) string {
	var columns []string
	for i, name := range strings.Split(names, ",") {
		element, cast, converted := strings.Cut(strings.Fields(types)[i], "::")
		if converted {
			cast = "::" + cast
		}
		columns = append(columns, fmt.Sprintf("($%d::%s[])[n]%s AS %s", i+1, element, cast, strings.TrimSpace(name)))
	}
	return "(SELECT " + strings.Join(columns, ", ") + " FROM (SELECT n::integer FROM unnest($1::text[]) WITH ORDINALITY AS w (first, n)) w) AS w"
}

func newStatements(options Options) *statements {
	s := &statements{options: options}
	s.reading()
	s.writing()
	s.catalog()
	s.attempts()
	return s
}

func (s *statements) name(what, text string) string {
	return "/* couponkit: " + what + " */ " + s.options.expand(text)
}

func (s *statements) reading() {
	x := s.options.expand
	s.byOrderID = `SELECT w.id FROM unnest((SELECT ?::text[])) AS w (id)`
	s.byOrderKey = x(`SELECT o.id FROM unnest((SELECT ?::text[]), (SELECT ?::text[])) AS w (customer_id, key)
		CROSS JOIN LATERAL (` + orderRef + `o.customer_id = w.customer_id AND o.key = w.key OFFSET 0) o`)
	s.bySession = x(`SELECT o.id FROM unnest((SELECT ?::text[])) AS w (session_id) CROSS JOIN LATERAL (` + orderSession + `) o`)
	s.lockOrders = s.name("lock orders", `SELECT `+orderList+` FROM (%s) k CROSS JOIN LATERAL (
		SELECT * FROM {orders} o WHERE o.id = k.id FOR UPDATE) o`)

	s.usesByOrder = x(`SELECT u.id, u.coupon_id FROM unnest((SELECT ?::text[])) AS o (id) CROSS JOIN LATERAL (` + useOfOrder + `) u`)
	s.usesBySession = x(`SELECT u.id, u.coupon_id FROM unnest((SELECT ?::text[])) AS w (session_id)
		CROSS JOIN LATERAL (` + orderSession + `) o CROSS JOIN LATERAL (` + useOfOrder + `) u`)
	s.byUseID = x(`SELECT u.id, u.coupon_id FROM unnest((SELECT ?::text[])) AS w (id) CROSS JOIN LATERAL (` + useRef + `u.id = w.id OFFSET 0) u`)
	s.byUseKey = x(`SELECT u.id, u.coupon_id FROM unnest((SELECT ?::text[]), (SELECT ?::text[])) AS w (customer_id, key)
		CROSS JOIN LATERAL (` + useRef + `u.customer_id = w.customer_id AND u.key = w.key AND u.key <> '' OFFSET 0) u`)
	s.byExchange = x(`SELECT u.id, u.coupon_id FROM unnest((SELECT ?::text[])) AS w (exchange_id)
		CROSS JOIN LATERAL (` + useRef + `u.exchange_id = w.exchange_id AND ` + heldUse + ` OFFSET 0) u`)
	s.lockUses = s.name("lock uses", `SELECT `+useList+` FROM (%s) k CROSS JOIN LATERAL (
		SELECT * FROM {uses} u WHERE u.id = k.id FOR UPDATE) u`)
	s.usesOfOrders = s.name("read uses of orders", `SELECT `+useList+` FROM unnest((SELECT $1::text[])) AS o (id)
		CROSS JOIN LATERAL (SELECT * FROM {uses} u WHERE u.order_id = o.id AND u.order_id <> '' OFFSET 0) u`)
	s.freeUses = s.name("read free points reservations", `SELECT `+useList+` FROM unnest((SELECT $1::text[]), (SELECT $2::text[])) AS w (coupon_id, customer_id)
		CROSS JOIN LATERAL (SELECT * FROM {uses} u WHERE u.customer_id = w.customer_id AND u.coupon_id = w.coupon_id
		AND u.order_id = '' AND `+heldUse+` OFFSET 0) u`)

	s.byCouponID = `SELECT w.id FROM unnest((SELECT ?::text[])) AS w (id)`
	s.byUse = `SELECT u.coupon_id FROM (%s) u`
	s.shareCoupons = s.name("share coupons", `SELECT c.id, c.state, c.revision, c.unlimited FROM (%s) k CROSS JOIN LATERAL (
		SELECT * FROM {coupons} c WHERE c.id = k.id FOR SHARE) c`)
	s.lockCounters = s.name("lock counters", `SELECT c.counter, c.reserved, c.completed FROM unnest((SELECT $1::text[])) AS k (counter)
		CROSS JOIN LATERAL (SELECT * FROM {counters} c WHERE c.counter = k.counter AND c.part = 0 FOR UPDATE) c`)
}

func (s *statements) writing() {
	s.insertOrders = s.name("insert orders", guarded(`INSERT INTO {orders} (`+orderNames+grownNames+`)
		SELECT id, customer_id, nullif(key, ''), state, session_id, session_url, replaced_by, deadline, created_at, updated_at, version`+grownNames+`
		FROM `+arrays(orderNames+grownNames, orderTypes+grownTypes)))
	s.updateOrders = s.name("update orders", `INSERT INTO {orders} AS o (`+orderNames+`, doc)
		SELECT w.*, '' FROM `+arrays(orderNames, orderTypes)+`
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, session_id = excluded.session_id, session_url = excluded.session_url,
		replaced_by = excluded.replaced_by, deadline = excluded.deadline, updated_at = excluded.updated_at, version = excluded.version`)
	s.growOrders = s.name("write documents of orders", `INSERT INTO {orders} (`+orderNames+grownNames+`)
		SELECT * FROM `+arrays(orderNames+grownNames, orderTypes+grownTypes)+` ON CONFLICT (id) DO UPDATE SET `+setGrown+`,
		customer_id = excluded.customer_id, key = nullif(excluded.key, '')`)
	s.insertUses = s.name("insert uses", guarded(`INSERT INTO {uses} (`+useNames+grownNames+`)
		SELECT * FROM `+arrays(useNames+grownNames, useTypes+grownTypes)))
	s.updateUses = s.name("update uses", `INSERT INTO {uses} AS u (`+useNames+`, doc)
		SELECT w.*, '' FROM `+arrays(useNames, useTypes)+`
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, points_state = excluded.points_state, over_limit = excluded.over_limit,
		deadline = excluded.deadline, updated_at = excluded.updated_at, completed_at = excluded.completed_at,
		released_at = excluded.released_at, version = excluded.version`)
	s.growUses = s.name("write documents of uses", `INSERT INTO {uses} (`+useNames+grownNames+`)
		SELECT * FROM `+arrays(useNames+grownNames, useTypes+grownTypes)+` ON CONFLICT (id) DO UPDATE SET `+setGrown)
	// Count the rows after all of them are locked.
	s.checkCounters = s.name("lock and check counters", fmt.Sprintf(`SELECT CASE WHEN count(*) FILTER (WHERE l.fits)
		< cardinality($1::text[]) THEN ('%scounters within their bounds: ' || count(*) FILTER (WHERE l.fits))::integer END FROM (
			SELECT coalesce(c.reserved + c.completed, 0) BETWEEN w.least AND w.most AS fits
			FROM unnest((SELECT $1::text[]), (SELECT $2::bigint[]), (SELECT $3::bigint[])) AS w (counter, least, most)
			LEFT JOIN LATERAL (SELECT * FROM {counters} c WHERE c.counter = w.counter AND c.part = 0 FOR UPDATE) c ON true) l`, raced))
	s.insertCounters = s.name("insert counters", guarded(`INSERT INTO {counters} (counter, part, reserved, completed)
		SELECT * FROM `+counterArrays))
	s.addToCounters = s.name("add to counters", `INSERT INTO {counters} AS c (counter, part, reserved, completed)
		SELECT * FROM `+counterArrays+` ON CONFLICT (counter, part)
		DO UPDATE SET reserved = c.reserved + excluded.reserved, completed = c.completed + excluded.completed`)
	// Skip a part that another transaction has locked.
	s.addToParts = s.name("add to parts of counters", `INSERT INTO {counters} AS c (counter, part, reserved, completed)
		SELECT w.counter, coalesce(k.part, w.part), w.reserved, w.completed FROM `+counterArrays+` LEFT JOIN LATERAL (
			SELECT k.part FROM {counters} k WHERE k.counter = w.counter AND k.part > 0 ORDER BY k.part LIMIT 1 FOR UPDATE SKIP LOCKED) k ON true
		ON CONFLICT (counter, part)
		DO UPDATE SET reserved = c.reserved + excluded.reserved, completed = c.completed + excluded.completed`)
	s.insertEntries = s.name("write the journal", `INSERT INTO {journal_pending} (kind, subject, version, at, actor, data)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])`)

	s.lockJournal = s.name("lock the journal", `SELECT position FROM {journal_head} FOR UPDATE`)
	s.sealJournal = s.name("seal the journal", fmt.Sprintf(`WITH sealed AS (
			DELETE FROM {journal_pending} WHERE id IN (SELECT id FROM {journal_pending} ORDER BY id LIMIT %d) RETURNING *)
		INSERT INTO {journal} (position, kind, subject, version, at, actor, data)
		SELECT (SELECT position FROM {journal_head}) + row_number() OVER (ORDER BY s.id), s.kind, s.subject, s.version, s.at, s.actor, s.data
		FROM sealed s`, sealLimit)) // a join with journal_head would look so expensive that PostgreSQL would compile the plan
	s.journalEnd = s.name("read the end of the journal", `SELECT position FROM {journal_head}`)
	s.moveHead = s.name("move the journal's head", `UPDATE {journal_head} h SET position = j.last
		FROM (SELECT max(position) AS last FROM {journal}) j WHERE j.last > h.position`)
	s.counts = s.name("read counters", `SELECT w.counter, c.reserved, c.completed FROM unnest((SELECT $1::text[])) AS w (counter)
		CROSS JOIN LATERAL (SELECT coalesce(sum(k.reserved), 0)::bigint AS reserved, coalesce(sum(k.completed), 0)::bigint AS completed
		FROM {counters} k WHERE k.counter = w.counter AND `+anyPart+`) c`)
	s.readJournal = s.name("read the journal", `SELECT position, kind, subject, version, at, actor, data FROM {journal}
		WHERE position > $1 ORDER BY position LIMIT $2`)
	const history = `kind, subject, version, at, actor, data FROM {journal%s} WHERE subject = $1 AND version < $2 AND kind IN (` + sqlparts.Historical + `)`
	s.readHistory = s.name("read the history of a coupon", fmt.Sprintf(`SELECT position, `+history+` UNION ALL SELECT 0, `+history+`
		ORDER BY version DESC LIMIT $3`, "", "_pending"))
	s.suspectBuckets = s.name("find buckets of counters that differ", recounting(suspectBuckets))
	s.recountClaims = s.name("recount the counters", recounting(recountClaims))
	s.recountCodes = s.name("recount the codes of batches", recountCodes)
	s.sums = s.name("sum up uses", `SELECT (u.created_at - $2) - (u.created_at - $2) % $4, u.state, coalesce(u.d ->> 'currency', ''),
		count(*), count(u.d ->> 'restoredAt'), sum(coalesce(replace(u.d ->> 'discount', '.', '')::bigint, 0)), sum(coalesce(replace(u.d ->> 'returned', '.', '')::bigint, 0))
		FROM (SELECT u.created_at, u.state, u.doc::jsonb AS d FROM {uses} u WHERE u.coupon_id = $1
			AND u.state IN ('reserved', 'completed') AND u.created_at >= $2 AND u.created_at < $3 OFFSET 0) u GROUP BY 1, 2, 3`)
}

// keys is a list of SELECTs of keys. Each ? stands for the next argument.
type keys struct {
	selects   []string
	arguments []any
}

func (k *keys) empty() bool { return len(k.selects) == 0 }

func (k *keys) add(text string, arguments ...any) {
	k.selects = append(k.selects, text)
	k.arguments = append(k.arguments, arguments...)
}

// find adds a SELECT with arrays of equal length. It adds nothing if the arrays are empty.
func (k *keys) find(text string, arrays ...array) {
	if !arrays[0].empty() {
		k.add(text, each(arrays, func(a array) any { return a })...)
	}
}

func (k *keys) union() string { return strings.Join(k.selects, " UNION ALL ") }

// locked returns a statement that visits each key once, in order.
func (k *keys) locked(text string) string {
	return numbered(fmt.Sprintf(text, `SELECT DISTINCT w.id COLLATE "C" AS id FROM (`+k.union()+`) w (id) ORDER BY 1`))
}

// numbered replaces each ? by the number of its argument.
func numbered(text string) string {
	for n := 1; strings.Contains(text, "?"); n++ {
		text = strings.Replace(text, "?", fmt.Sprintf("$%d", n), 1)
	}
	return text
}

// usesOf returns the keys of the uses that the engine needs. It leaves out the uses of orders that were
// requested only by keys.
func (s *statements) usesOf(n engine.Need) (k keys) {
	k.find(s.usesByOrder, texts(n.OrderIDs, itself))
	k.find(s.usesBySession, texts(n.Sessions, itself))
	k.find(s.byUseID, texts(n.UseIDs, itself))
	k.find(s.byUseKey, texts(n.UseKeys, customerOf), texts(n.UseKeys, keyOf))
	k.find(s.byExchange, texts(n.Exchanges, itself))
	return k
}
