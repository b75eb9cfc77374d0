package sqlstore

import (
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// Columns, in the order of arguments and scans.
const (
	orderColumns = "id, customer_id, idempotency_key, state, session_id, session_url, replaced_by, deadline, " +
		"created_at, updated_at, version, doc, claims"
	useColumns = "id, order_id, coupon_id, customer_id, idempotency_key, exchange_id, state, points_state, over_limit, " +
		"deadline, created_at, updated_at, completed_at, released_at, version, doc, claims"
	couponColumns = "id, code, discount_type, uses_counter, state, revision, version, unlimited, created_at, updated_at, " +
		"starts_at, expires_at, emails, max_uses, search, doc"
	entryColumns = "kind, subject, version, at, made_by, data"
)

// of prefixes each column with the alias of a table.
func of(alias, columns string) string {
	return alias + "." + strings.ReplaceAll(columns, ", ", ", "+alias+".")
}

// orNull returns an SQL argument. Empty text is NULL.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// micros returns an SQL argument. The zero time is NULL.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// instant scans an instant or NULL.
type instant struct{ sql.Null[int64] }

func (i instant) time() time.Time {
	if !i.Valid {
		return time.Time{}
	}
	return time.UnixMicro(i.V).UTC()
}

// findable reports whether a stored ID or key can have this text. Databases disagree about NUL and
// malformed text.
func findable(text string) bool {
	return text != "" && len(text) <= eligibility.MaxCounterLength && store.IsText(text)
}

// documents are encoded orders and uses by their IDs. The caller of the store encodes them before the
// writer handles the request.
type documents struct{ orders, uses map[string]document }

// document is the JSON of a record, and the JSON of its claims.
type document struct{ text, claims string }

// add adds the documents of another request. If two requests have the same ID, it drops both documents,
// because only one of the records is stored.
func (d documents) add(more documents) {
	addTo(d.orders, more.orders)
	addTo(d.uses, more.uses)
}

func addTo(docs, more map[string]document) {
	for id, doc := range more {
		if _, twice := docs[id]; twice {
			doc = document{}
		}
		docs[id] = doc
	}
}

// others encodes the written records that have no document yet. It encodes grown records again. The
// engine sets which order a new order waits for. New uses of an adopted order have claims of the payer.
func (d documents) others(w engine.Writes) (documents, error) {
	orders, uses := slices.Clone(w.GrownOrders), slices.Clone(w.GrownUses)
	for _, o := range w.NewOrders {
		if d.orders[o.ID].text == "" || o.Awaits != "" {
			orders = append(orders, o)
		}
	}
	for _, u := range w.NewUses {
		if d.uses[u.ID].text == "" || slices.ContainsFunc(w.AdoptedOrders, func(o *redemption.Order) bool { return o.ID == u.OrderID }) {
			uses = append(uses, u)
		}
	}
	return documentsOf(orders, uses)
}

// requested encodes the records of a request. A points reservation has no order.
func requested(r *store.Reservation) (documents, error) {
	var orders []*redemption.Order
	if !r.Order.IsZero() {
		orders = append(orders, &r.Order)
	}
	uses := make([]*redemption.Use, len(r.Uses))
	for i := range r.Uses {
		uses[i] = &r.Uses[i]
	}
	return documentsOf(orders, uses)
}

func documentsOf(orders []*redemption.Order, uses []*redemption.Use) (docs documents, err error) {
	docs = documents{map[string]document{}, map[string]document{}}
	var buffer []byte
	for _, o := range orders {
		buffer = slices.Grow(buffer[:0], usualDocument)
		if buffer, err = engine.AppendOrder(buffer, o); err != nil {
			return docs, err
		}
		docs.orders[o.ID], buffer = withClaims(buffer, o.Claims)
	}
	for _, u := range uses {
		if buffer, err = engine.AppendUse(buffer[:0], u); err != nil {
			return docs, err
		}
		docs.uses[u.ID], buffer = withClaims(buffer, u.Claims)
	}
	return docs, nil
}

// usualDocument is room for the document and the claims of an order with a few lines and one coupon, in bytes.
const usualDocument = 2048

// withClaims returns the document in the buffer together with claims, and the buffer.
func withClaims(buffer []byte, claims []eligibility.Claim) (document, []byte) {
	n := len(buffer)
	buffer = engine.AppendClaims(buffer, claims)
	text := string(buffer)
	return document{text[:n], text[n:]}, buffer
}

func orderRow(o *redemption.Order, doc document) []any {
	return []any{
		o.ID, o.CustomerID, orNull(o.Key), o.State.String(), orNull(o.SessionID), o.SessionURL, o.ReplacedBy, micros(o.Deadline),
		o.CreatedAt.UnixMicro(), o.UpdatedAt.UnixMicro(), o.Version, doc.text, doc.claims,
	}
}

func scanOrder(rows *sql.Rows) (o redemption.Order, err error) {
	var key, session sql.Null[string]
	var state string
	var deadline, created, updated instant
	var doc, claims sql.RawBytes
	if err := rows.Scan(&o.ID, &o.CustomerID, &key, &state, &session, &o.SessionURL, &o.ReplacedBy, &deadline,
		&created, &updated, &o.Version, &doc, &claims); err != nil {
		return o, err
	}
	o.Key, o.SessionID = key.V, session.V
	o.Deadline, o.CreatedAt, o.UpdatedAt = deadline.time(), created.time(), updated.time()
	if o.Claims, err = engine.DecodeClaims("order", o.ID, claims); err != nil {
		return o, err
	}
	return o, engine.ReadOrder(&o, state, doc)
}

func useRow(u *redemption.Use, doc document) []any {
	return []any{
		u.ID, orNull(u.OrderID), u.CouponID, u.CustomerID, orNull(u.Key), orNull(u.ExchangeID), u.State.String(),
		u.PointsState.String(), flag(u.OverLimit), micros(u.Deadline), u.CreatedAt.UnixMicro(), u.UpdatedAt.UnixMicro(),
		micros(u.CompletedAt), micros(u.ReleasedAt), u.Version, doc.text, doc.claims,
	}
}

func scanUse(rows *sql.Rows) (u redemption.Use, err error) {
	var order, key, exchange sql.Null[string]
	var state, points string
	var deadline, created, updated, completed, released instant
	var doc, claims sql.RawBytes
	if err := rows.Scan(&u.ID, &order, &u.CouponID, &u.CustomerID, &key, &exchange, &state, &points, &u.OverLimit,
		&deadline, &created, &updated, &completed, &released, &u.Version, &doc, &claims); err != nil {
		return u, err
	}
	u.OrderID, u.Key, u.ExchangeID = order.V, key.V, exchange.V
	u.Deadline, u.CreatedAt, u.UpdatedAt = deadline.time(), created.time(), updated.time()
	u.CompletedAt, u.ReleasedAt = completed.time(), released.time()
	if u.Claims, err = engine.DecodeClaims("use", u.ID, claims); err != nil {
		return u, err
	}
	return u, engine.ReadUse(&u, state, points, doc)
}

func (s *session) couponRow(w engine.CouponWrite) ([]any, error) {
	c := w.Coupon
	doc, err := engine.EncodeCoupon(c)
	return []any{
		c.ID, c.Code.String(), c.Discount.Type().String(), s.stored(eligibility.CouponUses(c.ID)),
		c.State.String(), c.Revision, w.Version, flag(w.Unlimited), c.CreatedAt.UnixMicro(), c.UpdatedAt.UnixMicro(),
		micros(c.StartsAt), micros(c.ExpiresAt), int64(c.AllowedUserEmails.Len()), c.Limits.MaxUses, engine.SearchText(c), string(doc),
	}, err
}

// scanCoupon reads the columns of a coupon. The coupon has no counts. Its allow-list has only its
// length.
func scanCoupon(rows *sql.Rows) (stored engine.StoredCoupon, err error) {
	c := &stored.Coupon
	var code, state string
	var created, updated, starts, expires instant
	var emails int
	var unread, doc sql.RawBytes // the columns for filters, which are not needed here
	if err := rows.Scan(
		&c.ID, &code, &unread, &unread, &state, &c.Revision, &stored.Version, &stored.Unlimited, &created, &updated, &starts, &expires,
		&emails, &unread, &unread, &doc,
	); err != nil {
		return stored, err
	}
	c.CreatedAt, c.UpdatedAt, c.StartsAt, c.ExpiresAt = created.time(), updated.time(), starts.time(), expires.time()
	return stored, engine.ReadCoupon(c, code, state, emails, doc)
}

func entryRow(e store.Entry) []any {
	return []any{string(e.Kind), e.Subject, e.Version, e.At.UnixMicro(), e.By, string(e.Data)}
}

// scanEntry reads the position and the columns of a journal entry.
func scanEntry(rows *sql.Rows) (e store.Entry, err error) {
	var at instant
	var data []byte
	err = rows.Scan(&e.Position, &e.Kind, &e.Subject, &e.Version, &at, &e.By, &data)
	e.At, e.Data = at.time(), data
	return e, err
}
