package pgxstore

import (
	"fmt"
	"strings"
)

// statements are the SQL texts of a store, with the names of its namespace.
type statements struct {
	createCoupon, used, addEmails, replaceEmails  string
	couponIDByCode, lockCoupon, updateCoupon      string
	confirmMirror, deleteCoupon                   string
	coupon, couponTerms, lookUpByID, lookUpByCode string
	claimAlone, claimSingle                       claimStatements
	reserveBatch                                  string
	takeOver                                      string
	settleEach, settleBatch                       string
	transition, transitionBatch                   string
	attach, attachBatch                           string
	redemption, concerned, due                    string
	createOrder, order, orderByKey, openOrders    string
	firstOfKey                                    string
}

func newStatements(in Namespace) *statements {
	held := columnsOf("r", redemptionColumns)
	e := in.expand
	return &statements{
		createCoupon:   e(insertCoupon()),
		used:           e(`SELECT {couponkit_used}($1)`),
		addEmails:      e(`INSERT INTO {coupon_allowed_emails} (coupon_id, email, position) SELECT $1, e.email, e.n FROM unnest($2::text[]) WITH ORDINALITY AS e (email, n)`),
		replaceEmails:  e(replaceEmails),
		couponIDByCode: e(`SELECT id FROM {coupons} WHERE code = $1`),
		lockCoupon:     e(lockCoupon),
		updateCoupon:   e(updateCoupon()),
		confirmMirror: e(`UPDATE {coupons} SET processor_coupon_id = $3, promotion_code_id = $4, mirror_revision = $2,
			state = CASE state WHEN 'pending' THEN 'active' ELSE state END WHERE id = $1 AND revision = $2`),
		deleteCoupon: e(`DELETE FROM {coupons} WHERE id = $1 AND revision = $2`),
		coupon:       e(selectWhole + ` WHERE c.id = $1`),
		couponTerms:  e(selectTerms + ` WHERE c.id = $1`),
		lookUpByID:   e(lookUp("c.id")),
		lookUpByCode: e(lookUp("c.code")),
		redemption:   e(`SELECT ` + held + ` FROM {coupon_redemptions} r WHERE r.id = $1`),
		concerned: e(`SELECT ` + held + ` FROM {coupon_redemptions} r WHERE r.session_id = $1 AND r.session_id <> ''
			UNION ALL
			SELECT ` + held + ` FROM {coupon_redemptions} r WHERE r.id = $2 AND r.session_id = '' AND r.order_id = $3 LIMIT 1`),
		order:      e(`SELECT ` + orderColumns + ` FROM {orders} WHERE id = $1`),
		orderByKey: e(`SELECT ` + orderColumns + ` FROM {orders} WHERE customer_id = $1 AND key = $2`),
		openOrders: e(`SELECT ` + orderColumns + ` FROM {orders} WHERE state IN ('open', 'awaiting_payment')
			AND reservation_id = '' AND deadline <= $1 ORDER BY created_at, id LIMIT $2`),
		due: e(`SELECT ` + held + ` FROM (
				SELECT * FROM {coupon_redemptions} d WHERE d.state = 'reserved' AND d.deadline <= $1
				UNION ALL
				SELECT * FROM {coupon_redemptions} d WHERE d.points_state = 'refund_due'
			) r ORDER BY r.created_at, r.id LIMIT $2`),
		createOrder: e(`INSERT INTO {orders} (` + orderColumns + `)
			SELECT $1, $2::text, $3, $4::text, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::text::jsonb, $15::text::jsonb, $16::text::jsonb
			WHERE NOT EXISTS (SELECT FROM {coupon_redemptions} r WHERE r.customer_id = $4 AND r.key = $2)
			ON CONFLICT DO NOTHING`),
		claimAlone:      in.claimBy("{couponkit_claim_alone}", claimTypes, false),
		claimSingle:     in.claimBy("{couponkit_claim_single}", claimTypes+" boolean", true),
		reserveBatch:    e(`SELECT * FROM {couponkit_claim_plain}(` + parameters(reserveBatchTypes) + `)`),
		settleEach:      e(settle("{couponkit_settle_each}", settleTypes)),
		settleBatch:     e(settle("{couponkit_settle_batch}", settleBatchTypes)),
		transition:      e(transition("{couponkit_transition}")),
		transitionBatch: e(transition("{couponkit_transition_batch}")),
		takeOver: e(`SELECT f.outcome, ` + columnsOf("(f.redemption)", redemptionColumns) +
			` FROM {couponkit_take_over}(` + parameters(takeOverTypes) + `) f`),
		attach: e(`SELECT f.outcome, ` + columnsOf("(f.ordered)", orderColumns) +
			` FROM {couponkit_attach}(` + parameters(attachTypes) + `) f`),
		attachBatch: e(`SELECT f.n, f.outcome, ` + columnsOf("(f.ordered)", orderColumns) +
			` FROM {couponkit_attach_batch}(` + parameters(attachBatchTypes) + `) f`),
		firstOfKey: e(`SELECT ` + columnsOf("r", redemptionColumns) + `, ` + columnsOf("o", orderColumns) + `
			FROM (SELECT $1::text AS customer, $2::text AS key) k
			LEFT JOIN {orders} o ON o.customer_id = k.customer AND o.key = k.key
			LEFT JOIN {coupon_redemptions} r ON r.id = coalesce(o.reservation_id,
				(SELECT x.id FROM {coupon_redemptions} x WHERE x.customer_id = k.customer AND x.key = k.key))`),
	}
}

// The types of the functions' parameters, in their order.
const (
	claimTypes        = "text text text text text bigint text text text timestamptz timestamptz timestamptz bigint"
	orderTypes        = "text text text text bigint timestamptz timestamptz timestamptz text text text"
	reserveBatchTypes = "text[] bigint[] integer[] text[] text[] text[] text[] bigint[] text[] text[] text[] timestamptz[] " +
		"timestamptz[] timestamptz[] bigint[] text[] text[] text[] text[] bigint[] timestamptz[] timestamptz[] timestamptz[] " +
		"text[] text[] text[] boolean"
	settleTypes      = settleBatchTypes + " text[] text[]"
	settleBatchTypes = "text[] timestamptz[] text[] text[] timestamptz[] text[] text[]"
	transitionTypes  = "text[] text[] timestamptz[] text[] text[] timestamptz[]"
	takeOverTypes    = "text text bigint timestamptz timestamptz text text text text text text bigint text text " +
		"timestamptz timestamptz timestamptz text text text"
	attachTypes      = "text text text timestamptz timestamptz"
	attachBatchTypes = "text[] text[] text[] timestamptz[] timestamptz[]"
)

// claimStatements call a function that claims a place for one request.
type claimStatements struct {
	plain, ordered string // without an order and with one
	expects        bool   // the function is told whether others are expected at the gate
}

func (n Namespace) claimBy(function, types string, expects bool) claimStatements {
	call := func(types string) string { return n.expand(`SELECT ` + function + `(` + parameters(types) + `)`) }
	return claimStatements{plain: call(types), ordered: call(types + " " + orderTypes), expects: expects}
}

func settle(function, types string) string {
	return `SELECT f.n, f.problem, f.changed, ` + columnsOf("(f.redemption)", redemptionColumns) + `, ` +
		columnsOf("(f.ordered)", orderColumns) + ` FROM ` + function + `(` + parameters(types) + `) f`
}

func transition(function string) string {
	return `SELECT f.n, f.refusal, ` + columnsOf("(f.redemption)", redemptionColumns) +
		` FROM ` + function + `(` + parameters(transitionTypes) + `) f`
}

// parameters returns "$1::text, $2::bigint, ...": with their types, a function is
// found in every mode of sending statements.
func parameters(types string) string {
	list := strings.Fields(types)
	for i, name := range list {
		list[i] = fmt.Sprintf("$%d::%s", i+1, name)
	}
	return strings.Join(list, ", ")
}

// placeholders returns "$first, ..., $last".
func placeholders(first, count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", first+i)
	}
	return strings.Join(list, ", ")
}

func insertCoupon() string {
	columns := len(strings.Split(identityColumns+","+termColumns, ","))
	values := strings.Replace(placeholders(1, columns), "$4", "$4::text::numeric", 1)
	return `INSERT INTO {coupons} (` + identityColumns + `, ` + termColumns + `) SELECT ` + values + `
		WHERE NOT EXISTS (SELECT FROM {coupon_redemptions} r WHERE r.coupon_id = $1) ON CONFLICT DO NOTHING`
}

// lockCoupon locks coupon $1 against everybody: its gate, at which places are taken,
// before the coupon.
const lockCoupon = `WITH gate AS MATERIALIZED (
		SELECT s.stripe FROM {coupon_counters} s WHERE s.coupon_id = $1 AND s.stripe = 0 FOR UPDATE
	)
	SELECT c.revision FROM gate, {coupons} c WHERE c.id = $1 FOR UPDATE OF c`

// updateCoupon sets the terms of coupon $1.
func updateCoupon() string {
	columns := strings.Split(termColumns, ",")
	for i, column := range columns {
		columns[i] = fmt.Sprintf("%s = $%d", strings.TrimSpace(column), i+2)
	}
	return `UPDATE {coupons} SET ` + strings.Join(columns, ", ") + ` WHERE id = $1`
}

// replaceEmails touches only what differs: most edits leave a list of a hundred
// thousand addresses as it is.
const replaceEmails = `WITH wanted AS MATERIALIZED (
		SELECT e.email, e.n FROM unnest($2::text[]) WITH ORDINALITY AS e (email, n)
	), gone AS (
		DELETE FROM {coupon_allowed_emails} m WHERE m.coupon_id = $1
			AND NOT EXISTS (SELECT FROM wanted w WHERE w.email = m.email)
	)
	INSERT INTO {coupon_allowed_emails} AS m (coupon_id, email, position) SELECT $1, w.email, w.n FROM wanted w
	ON CONFLICT (coupon_id, email) DO UPDATE SET position = excluded.position WHERE m.position <> excluded.position`

// lookUp finds a coupon by one column, with its counts, the entry of its allow-list that is the
// address $3 or else the domain $5, and the uses of the customer $2, in one snapshot. The result
// has a row for each reservation that the customer holds, at most $4, or one row without.
// Two lookups of single entries go by the index. The planner may read the whole allow-list for IN.
func lookUp(column string) string {
	return `SELECT ` + couponColumns + `,
		coalesce((SELECT e.email FROM {coupon_allowed_emails} e WHERE e.coupon_id = c.id AND e.email = $3),
			(SELECT e.email FROM {coupon_allowed_emails} e WHERE e.coupon_id = c.id AND e.email = $5)),
		u.completed, u.reserved, ` + columnsOf("h", redemptionColumns) + `
	FROM ` + couponSource + `
	CROSS JOIN LATERAL (
		SELECT count(*) FILTER (WHERE r.state = 'completed') AS completed,
			count(*) FILTER (WHERE r.state = 'reserved') AS reserved
		FROM {coupon_redemptions} r WHERE r.coupon_id = c.id AND r.customer_id = $2 AND $2 <> '') u
	LEFT JOIN LATERAL (
		SELECT * FROM {coupon_redemptions} r
		WHERE u.reserved > 0 AND r.coupon_id = c.id AND r.customer_id = $2 AND r.state = 'reserved'
		ORDER BY r.created_at, r.id LIMIT $4) h ON true
	WHERE ` + column + ` = $1
	ORDER BY h.created_at, h.id`
}
