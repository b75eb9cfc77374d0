package pgxstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// LookUp implements [store.Coupons] in one round trip, whatever the number of names.
func (s *Store) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	if err := by.Validate(); err != nil {
		return store.LookedUp{}, err
	}
	l := &lookUp{store: s, by: by}
	l.names()
	err := s.read(ctx, l.batch)
	if err == nil {
		err = l.failed
	}
	if err != nil {
		return store.LookedUp{}, wrap("look up coupons", err)
	}
	for _, f := range l.found {
		f.Coupon.AllowedUserEmails = l.allowed(f.Coupon.AllowedUserEmails, l.emails[f.Coupon.ID])
	}
	var answer store.LookedUp
	answer.Coupons = each(by.Names, func(n store.Name) *store.Found {
		if n.CouponID != "" {
			n.Code = coupon.Code{}
		}
		return l.found[n]
	})
	answer.Counts = each(by.Counters, func(key string) eligibility.Count { return l.counts[key] })
	answer.Orders, answer.Unreadable, _ = l.orders.Page(by.Orders)
	return answer, nil
}

// lookUp collects the rows of a look-up.
type lookUp struct {
	store  *Store
	by     store.LookUp
	named  namedStatements
	keys   []any // arguments with the IDs and codes
	row    foundRow
	failed error

	found  map[store.Name]*store.Found
	emails map[string][]string // by coupon ID
	counts map[string]eligibility.Count
	orders engine.List[store.Settled]
}

// names selects the statements for the names.
func (l *lookUp) names() {
	var ids, codes []string
	for _, n := range l.by.Names {
		switch text := n.Code.String(); {
		case n.CouponID != "" && store.IsText(n.CouponID):
			ids = append(ids, n.CouponID)
		case n.CouponID == "" && text != "" && store.IsText(text):
			codes = append(codes, text)
		}
	}
	kind := 0
	for of, list := range [...][]string{namesID: ids, namesCode: codes} {
		if len(list) > 0 {
			slices.Sort(list)
			kind |= of
			l.keys = append(l.keys, slices.Compact(list))
		}
	}
	if names := slices.Concat(ids, codes); len(names) == 1 {
		kind |= oneName
		l.keys = []any{names[0]}
	}
	l.named = l.store.sql.named[kind]
}

// batch returns the statements. It clears earlier results, so that the look-up can be repeated.
func (l *lookUp) batch() *pgx.Batch {
	l.found, l.emails = make(map[store.Name]*store.Found, len(l.by.Names)), map[string][]string{}
	l.counts, l.orders = map[string]eligibility.Count{}, engine.List[store.Settled]{}
	b := new(pgx.Batch)
	known := l.by.CustomerID != "" && store.IsText(l.by.CustomerID)
	if len(l.keys) > 0 {
		l.queueCoupons(b, known)
	}
	if counters := slices.DeleteFunc(slices.Clone(l.by.Counters), func(key string) bool { return !store.IsText(key) }); len(counters) > 0 {
		queue(b, scanCount(l.counts), l.store.sql.counts, counters)
	}
	if known && l.by.Orders > 0 {
		statement, arguments, err := l.store.orderList(store.OrderList{
			CustomerID: l.by.CustomerID, State: redemption.OrderOpen, PageSize: l.by.Orders,
		})
		l.failed = err
		queue(b, scanSettled(&l.orders), statement, arguments...)
	}
	return b
}

// queueCoupons adds the statements that read the coupons and the customer's uses of them.
func (l *lookUp) queueCoupons(b *pgx.Batch, known bool) {
	own := []any{each(l.by.Identities, counterEnd), l.entries()}
	queue(b, l.scanCoupon, l.named.coupons, append(own, l.keys...)...)
	add := func(scan func(pgx.Rows) error, statement string, more ...any) {
		queue(b, scan, statement, slices.Concat(l.keys, more)...)
	}
	if known {
		add(l.scanHeld, l.named.held, l.by.CustomerID, store.MaxHeld)
	}
	if l.by.Whole {
		add(l.scanEmail, l.named.emails)
	}
}

// entries returns the entries to search for in allow-lists.
func (l *lookUp) entries() []string {
	own, domain := email.Entries(l.by.Email)
	if l.by.Whole || own == "" || !store.IsText(own) {
		return []string{}
	}
	return []string{own, domain}
}

// foundRow is a row of namedStatements.coupons. All rows of a look-up are read into one foundRow, whose columns are
// listed once.
type foundRow struct {
	coupon  couponRow
	code    codeRow
	own     amountList // counts of the customer's identities
	parts   amountList // counts of the parts of the coupon's counter
	emails  []string
	columns []any
}

func (r *foundRow) scan(row pgx.Rows) error {
	if r.columns == nil {
		r.columns = append(append(r.coupon.columns(), r.code.columns()...), &r.own, &r.parts, &r.emails)
	}
	return row.Scan(r.columns...)
}

func (l *lookUp) scanCoupon(row pgx.Rows) error {
	r, found := &l.row, new(store.Found)
	if err := r.scan(row); err != nil {
		return err
	}
	err := unread(found, r.coupon.into(&found.Coupon))
	if err != nil {
		return err
	}
	id := found.Coupon.ID
	for pair := range slices.Chunk(r.parts, 2) {
		found.Coupon.ReservedCount += pair[0]
		found.Coupon.UsedCount += pair[1]
	}
	found.ByCustomer = slices.Grow(found.ByCustomer, len(l.by.Identities))
	for pair := range slices.Chunk(r.own, 2) {
		found.ByCustomer = append(found.ByCustomer, eligibility.Count{Reserved: pair[0], Completed: pair[1]})
	}
	if len(r.emails) > 0 {
		l.emails[id] = r.emails
	}
	found.Code, err = r.code.code(id)
	name := store.Name{Code: found.Code.Code}
	if name.Code.IsZero() {
		name.CouponID = id
	}
	l.found[name] = found
	return unread(found, err)
}

func (l *lookUp) scanHeld(row pgx.Rows) error {
	use, err := scanUse(row)
	for _, found := range l.found {
		if n := len(found.Held); found.Coupon.ID != use.CouponID || n > 0 && found.Held[n-1].ID == use.ID {
			continue // a use of another coupon, or a use that was already read for another code
		}
		found.Held = append(found.Held, use)
		if other := unread(found, err); other != nil {
			return other
		}
	}
	return nil
}

// unread records that a coupon or its use cannot be read. It returns all other errors.
func unread(found *store.Found, err error) error {
	if errors.As(err, &found.Unreadable) {
		return nil
	}
	return err
}

func (l *lookUp) scanEmail(row pgx.Rows) error {
	var id, email string
	err := row.Scan(&id, &email)
	l.emails[id] = append(l.emails[id], email)
	return err
}

// allowed returns the allow-list with the entries found.
func (l *lookUp) allowed(set coupon.EmailSet, entries []string) coupon.EmailSet {
	switch {
	case l.by.Whole:
		return coupon.StoredEmailSet(entries...)
	case len(entries) == 0:
		return set
	}
	own, domain := email.Entries(l.by.Email)
	if !slices.Contains(entries, own) {
		own = domain
	}
	return coupon.NarrowedEmailSet(set.Len(), own)
}

// counterEnd returns the end of the counter key of a customer's uses.
func counterEnd(identity string) string {
	return strings.TrimPrefix(eligibility.CustomerUses("", identity), eligibility.CustomerUses("", ""))
}
