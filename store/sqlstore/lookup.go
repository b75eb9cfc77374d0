package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

const (
	selectByID   = `SELECT ` + couponColumns + ` FROM {coupons} WHERE id IN ({in})`
	selectEmails = `SELECT coupon_id, email FROM {coupon_emails} WHERE coupon_id IN ({in}) ORDER BY coupon_id, position`
	selectEmail  = `SELECT coupon_id, email FROM {coupon_emails} WHERE (coupon_id, email) IN ({in})`
	// No index has this order. Otherwise SQLite reads all uses of the coupon.
	selectHeld = `SELECT ` + useColumns + ` FROM {uses} WHERE (customer_id, coupon_id) IN ({in}) AND state = 'reserved'
	ORDER BY created_at + 0 DESC, id DESC`
)

// LookUp implements [store.Coupons].
func (s *Store) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	if err := by.Validate(); err != nil {
		return store.LookedUp{}, err
	}
	var found store.LookedUp
	err := s.view(ctx, "look up coupons", func(ctx context.Context, t *session) (err error) {
		found, err = t.lookUp(ctx, by)
		return err
	})
	return answered(found, err)
}

func (s *session) lookUp(ctx context.Context, by store.LookUp) (found store.LookedUp, err error) {
	codes, coupons, err := s.named(ctx, by.Names)
	if err != nil {
		return found, err
	}
	known := unique(each(coupons.Records, func(c coupon.Coupon) string { return c.ID }))
	if err := s.allowLists(ctx, coupons.Records, by); err != nil {
		return found, err
	}
	counts, err := s.countsOf(ctx, known, by)
	if err != nil {
		return found, err
	}
	of := map[string]*store.Found{}
	for i, c := range coupons.Records {
		setCounts(&c, counts[eligibility.CouponUses(c.ID)])
		of[c.ID] = &store.Found{
			Coupon: c, Unreadable: coupons.Unreadable(i),
			ByCustomer: each(by.Identities, func(identity string) eligibility.Count { return counts[eligibility.CustomerUses(c.ID, identity)] }),
		}
	}
	if err := s.held(ctx, known, by.CustomerID, of); err != nil {
		return found, err
	}
	found.Coupons = each(by.Names, func(n store.Name) *store.Found {
		id, code := n.CouponID, coupon.IssuedCode{}
		if id == "" {
			code = codes[n.Code]
			id = code.CouponID
		}
		known := of[id]
		if known == nil {
			return nil
		}
		f := *known
		f.Code = code
		return &f
	})
	found.Counts = each(by.Counters, func(key string) eligibility.Count { return counts[key] })
	if by.Orders > 0 && findable(by.CustomerID) {
		var open engine.List[store.Settled]
		open, err = s.listOrders(ctx, store.OrderList{CustomerID: by.CustomerID, State: redemption.OrderOpen, PageSize: by.Orders})
		found.Orders, found.Unreadable, _ = open.Page(by.Orders)
	}
	return found, err
}

// named reads the codes among the names. It also reads the coupons of all names, without their counts.
func (s *session) named(ctx context.Context, names []store.Name) (codes map[coupon.Code]coupon.IssuedCode, coupons engine.List[coupon.Coupon], err error) {
	var ids, keys []string
	for _, n := range names {
		switch text := n.Code.String(); {
		case findable(n.CouponID):
			ids = append(ids, n.CouponID)
		case n.CouponID == "" && findable(text):
			keys = append(keys, text)
		}
	}
	if codes, err = s.codesOf(ctx, unique(keys)); err != nil {
		return nil, coupons, err
	}
	for _, c := range codes {
		ids = append(ids, c.CouponID)
	}
	err = s.eachIn(ctx, selectByID, 1, anys(unique(ids)), func(rows *sql.Rows) error {
		stored, err := scanCoupon(rows)
		return coupons.Add(stored.Coupon, err)
	})
	return codes, coupons, err
}

// held reads the customer's reserved uses of each coupon, newest first.
func (s *session) held(ctx context.Context, coupons []string, customerID string, into map[string]*store.Found) error {
	if !findable(customerID) {
		return nil
	}
	keys := slices.Concat(each(coupons, func(id string) []any { return []any{customerID, id} })...)
	return s.eachIn(ctx, selectHeld, 2, keys, func(rows *sql.Rows) error {
		u, err := scanUse(rows)
		found := into[u.CouponID]
		if found == nil || len(found.Held) == store.MaxHeld {
			return err
		}
		found.Held = append(found.Held, u)
		if errors.As(err, &found.Unreadable) {
			return nil
		}
		return err
	})
}

// allowLists reads the entries of allow-lists that the look-up needs.
func (s *session) allowLists(ctx context.Context, coupons []coupon.Coupon, by store.LookUp) error {
	own, domain := email.Entries(by.Email)
	if !by.Whole && (own == "" || !store.IsText(own)) {
		return nil
	}
	statement, width, keys := selectEmails, 1, []any(nil)
	for _, c := range coupons {
		switch {
		case c.AllowedUserEmails.Len() == 0:
		case by.Whole:
			keys = append(keys, c.ID)
		default:
			statement, width, keys = selectEmail, 2, append(keys, c.ID, own, c.ID, domain)
		}
	}
	entries := map[string][]string{}
	if err := s.eachIn(ctx, statement, width, keys, func(rows *sql.Rows) error {
		var id, email string
		err := rows.Scan(&id, &email)
		entries[id] = append(entries[id], email)
		return err
	}); err != nil {
		return err
	}
	for i, c := range coupons {
		switch read := entries[c.ID]; {
		case by.Whole:
			coupons[i].AllowedUserEmails = coupon.StoredEmailSet(read...)
		case slices.Contains(read, own):
			coupons[i].AllowedUserEmails = coupon.NarrowedEmailSet(c.AllowedUserEmails.Len(), own)
		case len(read) > 0:
			coupons[i].AllowedUserEmails = coupon.NarrowedEmailSet(c.AllowedUserEmails.Len(), domain)
		}
	}
	return nil
}

// countsOf reads the counters that the look-up needs: of the coupons, of the customer's uses of each
// coupon, and the requested ones.
func (s *session) countsOf(ctx context.Context, coupons []string, by store.LookUp) (map[string]eligibility.Count, error) {
	keys := slices.Clone(by.Counters)
	for _, id := range coupons {
		keys = append(keys, eligibility.CouponUses(id))
		for _, identity := range by.Identities {
			keys = append(keys, eligibility.CustomerUses(id, identity))
		}
	}
	counts, err := s.counts(ctx, keys)
	of := make(map[string]eligibility.Count, len(keys))
	for i, key := range keys {
		of[key] = counts[i]
	}
	return of, err
}
