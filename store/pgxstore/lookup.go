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
	return l.answer(), nil
}

// lookUp collects the rows of a look-up.
type lookUp struct {
	store  *Store
	by     store.LookUp
	named  namedStatements
	keys   []any // their first arguments
	failed error

	coupons map[string]*store.Found
	codes   map[coupon.Code]coupon.IssuedCode
	emails  map[string][]string
	counts  map[string]eligibility.Count
	orders  engine.List[store.Settled]
}

// names chooses the statements for the names.
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

// batch returns the statements. A repeated call begins anew.
func (l *lookUp) batch() *pgx.Batch {
	l.coupons, l.codes = map[string]*store.Found{}, map[coupon.Code]coupon.IssuedCode{}
	l.emails, l.counts, l.orders = map[string][]string{}, map[string]eligibility.Count{}, engine.List[store.Settled]{}
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

// queueCoupons adds the statements about the coupons, and about what the customer has of them.
func (l *lookUp) queueCoupons(b *pgx.Batch, known bool) {
	add := func(scan func(pgx.Rows) error, statement string, more ...any) {
		queue(b, scan, statement, slices.Concat(l.keys, more)...)
	}
	add(l.scanCoupon, l.named.coupons, each(l.by.Identities, counterEnd), l.entries())
	if known {
		add(l.scanHeld, l.named.held, l.by.CustomerID, store.MaxHeld)
	}
	if l.by.Whole {
		add(l.scanEmail, l.named.emails)
	}
}

// entries returns the entries of allow-lists that are looked for one by one.
func (l *lookUp) entries() []string {
	own, domain := email.Entries(l.by.Email)
	if l.by.Whole || own == "" || !store.IsText(own) {
		return []string{}
	}
	return []string{own, domain}
}

func (l *lookUp) scanCoupon(row pgx.Rows) error {
	found := new(store.Found)
	var code codeRow
	var reserved, completed []int64
	var emails []string
	err := unread(found, scanCoupon(&found.Coupon, new(int64), new(bool), append(code.columns(), &reserved, &completed, &emails)...)(row))
	if err != nil {
		return err
	}
	for i := range reserved {
		found.ByCustomer = append(found.ByCustomer, eligibility.Count{Reserved: reserved[i], Completed: completed[i]})
	}
	l.coupons[found.Coupon.ID], l.emails[found.Coupon.ID] = found, emails
	issued, err := code.code(found.Coupon.ID)
	l.codes[issued.Key] = issued
	return unread(found, err)
}

func (l *lookUp) scanHeld(row pgx.Rows) error {
	use, err := scanUse(row)
	if found := l.coupons[use.CouponID]; found != nil {
		found.Held = append(found.Held, use)
		return unread(found, err)
	}
	return err
}

// unread notes that a coupon or a use of it cannot be read. It returns every other error.
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

// answer puts together what was read.
func (l *lookUp) answer() (found store.LookedUp) {
	for id, f := range l.coupons {
		f.Coupon.AllowedUserEmails = l.allowed(f.Coupon.AllowedUserEmails, l.emails[id])
	}
	found.Coupons = make([]store.Found, len(l.by.Names))
	for i, n := range l.by.Names {
		id, code := n.CouponID, coupon.IssuedCode{}
		if id == "" {
			code = l.codes[n.Code]
			id = code.CouponID
		}
		if read := l.coupons[id]; read != nil {
			found.Coupons[i] = *read
			found.Coupons[i].Code = code
		}
	}
	found.Counts = each(l.by.Counters, func(key string) eligibility.Count { return l.counts[key] })
	found.Orders, found.Unreadable, _ = l.orders.Page(l.by.Orders)
	return found
}

// allowed returns the allow-list with the entries that were read.
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

// counterEnd returns how the counter of a customer's uses ends.
func counterEnd(identity string) string {
	return strings.TrimPrefix(eligibility.CustomerUses("", identity), eligibility.CustomerUses("", ""))
}
