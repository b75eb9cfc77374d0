package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// schema writes the statements of this package for one dialect and prefix.
type schema struct {
	grammar
	prefix string

	expanded sync.Map // statement as written here -> as the database gets it
}

// sql expands a statement once.
func (s *schema) sql(statement string) string {
	if text, ok := s.expanded.Load(statement); ok {
		return text.(string) //nolint:errcheck,forcetypeassert // only strings are stored
	}
	text := s.expand(statement, s.prefix)
	s.expanded.Store(statement, text)
	return text
}

// slot is where a customer's uses are counted.
func (s *schema) slot(customerID string) int64 {
	if s.slots == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(customerID))
	return int64(h.Sum32() % s.slots)
}

// intent is what one method wants to be done in one transaction. It may run more
// than once, each time as if for the first time. An intent that returns an error
// is undone.
type intent func(ctx context.Context, t *tx) error

// tx is a transaction that serves one or, where one writer has the database to
// itself, several intents. What it has locked it remembers; what it counts it
// writes at the end, once for each coupon.
type tx struct {
	*schema
	on      querier
	joined  bool // rows are locked, and the transaction is the host's, of an isolation that is not known
	coupons map[string]*heldCoupon
	counted []use
	dirty   bool // something was written
}

// use is what one intent adds to the counts of a coupon.
type use struct {
	couponID            string
	slot                int64
	completed, reserved int64
}

// heldCoupon is what reserving needs of a coupon, stable until the transaction
// ends.
type heldCoupon struct {
	found    bool
	state    coupon.State
	revision int64
	limits   coupon.Limits
	taken    int64 // completed and reserved, own changes included; only under a limit (see sumUp)
}

func newTx(s *schema, on querier) *tx {
	return &tx{schema: s, on: on, coupons: make(map[string]*heldCoupon)}
}

func (t *tx) query(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	return t.on.query(ctx, t.sql(statement), args...)
}

func (t *tx) row(ctx context.Context, statement string, args ...any) *sql.Row {
	return t.on.queryRow(ctx, t.sql(statement), args...)
}

func (t *tx) write(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	t.dirty = true
	result, err := t.on.exec(ctx, t.sql(statement), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// latest is row, but sees what others have committed also where the host's
// transaction reads an older state.
func (t *tx) latest(ctx context.Context, statement string, args ...any) *sql.Row {
	if t.joined {
		statement += "{for_share}"
	}
	return t.row(ctx, statement, args...)
}

// latestToChange is latest for rows that the transaction goes on to change. Two that had
// shared them would wait for each other.
func (t *tx) latestToChange(ctx context.Context, statement string, args ...any) *sql.Row {
	if t.joined {
		statement += "{for_update}"
	}
	return t.row(ctx, statement, args...)
}

// insert reports whether the row was new. The statement ends in {or_nothing}.
func (t *tx) insert(ctx context.Context, statement string, args ...any) (bool, error) {
	result, err := t.on.exec(ctx, t.sql(statement), args...)
	if err != nil {
		if t.duplicate(err) {
			return false, nil
		}
		t.dirty = true
		return false, err
	}
	n, err := result.RowsAffected()
	t.dirty = t.dirty || n > 0 || err != nil
	return n > 0, err
}

const (
	selectTerms = `SELECT c.state, c.revision, c.max_uses, c.max_uses_per_user, 0 FROM {coupons} c WHERE c.id = ?`
	selectTaken = `SELECT COALESCE(SUM(k.completed + k.reserved), 0) FROM {coupon_counts} k WHERE k.coupon_id = ?`
	// Where a transaction has the database to itself there is no row to lock before the
	// uses are summed up. Without a limit over all customers nobody asks for them.
	selectTermsTaken = `SELECT c.state, c.revision, c.max_uses, c.max_uses_per_user, CASE WHEN c.max_uses > 0
		THEN (SELECT SUM(k.completed + k.reserved) FROM {coupon_counts} k WHERE k.coupon_id = c.id) END
	FROM {coupons} c WHERE c.id = ?`
)

// hold locks the coupon: alone if it has a limit over all customers, else together
// with everybody who does not change its terms.
func (t *tx) hold(ctx context.Context, id string) (*heldCoupon, error) {
	if c := t.coupons[id]; c != nil {
		return c, nil
	}
	read := t.terms
	if t.rowLocks {
		read = t.lockTerms
	}
	c, err := read(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("lock coupon: %w", err)
	}
	if c.limits.MaxUses > 0 {
		c.taken += t.unwritten(id)
	}
	t.coupons[id] = c
	return c, nil
}

// unwritten returns what is counted of a coupon and not written yet.
func (t *tx) unwritten(couponID string) (uses int64) {
	for _, u := range t.counted {
		if u.couponID == couponID {
			uses += u.completed + u.reserved
		}
	}
	return uses
}

func (t *tx) terms(ctx context.Context, id string) (*heldCoupon, error) {
	return t.readTerms(ctx, selectTermsTaken, id)
}

// lockTerms leaves the uses to sumUp.
func (t *tx) lockTerms(ctx context.Context, id string) (*heldCoupon, error) {
	c, err := t.readTerms(ctx, selectTerms, id)
	if err == nil && c.found && c.limits.MaxUses == 0 {
		c, err = t.readTerms(ctx, selectTerms+"{for_share}", id)
	}
	if err == nil && c.found && c.limits.MaxUses > 0 {
		c, err = t.readTerms(ctx, selectTerms+"{for_update}", id)
	}
	return c, err
}

// sumUp counts the uses of a coupon that is held alone, where rows are locked. It comes
// after what is asked of redemptions: who settles one locks it before its count.
func (t *tx) sumUp(ctx context.Context, c *heldCoupon, couponID string) error {
	if !t.rowLocks || c.limits.MaxUses == 0 {
		return nil
	}
	if err := t.latestToChange(ctx, selectTaken, couponID).Scan(&c.taken); err != nil {
		return fmt.Errorf("count uses: %w", err)
	}
	c.taken += t.unwritten(couponID)
	return nil
}

func (t *tx) readTerms(ctx context.Context, statement, id string) (*heldCoupon, error) {
	var (
		c                    = new(heldCoupon)
		state                string
		most, perUser, taken optional
	)
	err := t.row(ctx, statement, id).Scan(&state, &c.revision, &most, &perUser, &taken)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return c, nil
	case err != nil:
		return nil, err
	}
	if c.state, err = coupon.ParseState(state); err != nil {
		return nil, corrupt(err)
	}
	c.found, c.taken, c.limits = true, taken.V, coupon.Limits{MaxUses: most.V, MaxUsesPerUser: perUser.V}
	return c, nil
}

const (
	lockSlot = `INSERT INTO {coupon_counts} (coupon_id, slot, completed, reserved) VALUES (?, ?, 0, 0){or_add_count}`
	// The states are named: where this locks, a range would lock what was released too.
	countByCustomer = `SELECT COUNT(*) FROM {coupon_redemptions} r
	WHERE r.coupon_id = ? AND r.customer_id = ? AND r.state IN ('completed', 'reserved')`
)

// lockCustomer lets only one transaction decide about a customer and a coupon that
// is held. Where counting the customer's uses locks them, that comes first and again: who settles
// one locks it before the slot.
func (t *tx) lockCustomer(ctx context.Context, c *heldCoupon, couponID, customerID string) error {
	if !t.rowLocks || !c.found || c.limits.MaxUses > 0 {
		return nil // the coupon is held alone
	}
	if t.joined {
		if _, err := t.uses(ctx, couponID, customerID); err != nil {
			return err
		}
	}
	_, err := t.write(ctx, lockSlot, couponID, t.slot(customerID))
	return err
}

// uses counts what the customer has used of the coupon and holds.
func (t *tx) uses(ctx context.Context, couponID, customerID string) (taken int64, err error) {
	if err := t.latest(ctx, countByCustomer, couponID, customerID).Scan(&taken); err != nil {
		return 0, fmt.Errorf("count uses of customer: %w", err)
	}
	return taken, nil
}

// room returns nil when one more use fits within the limits of the held coupon. An
// unknown customer has no limit of their own.
func (t *tx) room(ctx context.Context, c *heldCoupon, couponID, customerID string) error {
	var byCustomer int64
	if c.limits.MaxUsesPerUser > 0 && customerID != "" {
		if err := t.lockCustomer(ctx, c, couponID, customerID); err != nil {
			return fmt.Errorf("lock customer: %w", err)
		}
		var err error
		if byCustomer, err = t.uses(ctx, couponID, customerID); err != nil {
			return err
		}
	}
	if err := t.sumUp(ctx, c, couponID); err != nil {
		return err
	}
	return store.WithinLimits(couponID, c.limits, c.taken, byCustomer)
}

// acceptable refuses a coupon that is unknown, not active, or of another revision
// than the given one.
func (c *heldCoupon) acceptable(couponID string, revision int64) error {
	switch {
	case !c.found:
		return coupon.Reject(couponID, coupon.CouponNotFound, coupon.Params{})
	case c.state != coupon.Active:
		return coupon.Reject(couponID, coupon.CouponInactive, coupon.Params{})
	case revision != 0 && revision != c.revision:
		return store.ErrStaleRevision
	}
	return nil
}

// count records what the change of a redemption means for its coupon. A new record
// has no state before.
func (t *tx) count(before, after redemption.Redemption) {
	completed, reserved := after.Counts()
	completedBefore, reservedBefore := before.Counts()
	u := use{
		couponID: after.CouponID, slot: t.slot(after.CustomerID),
		completed: completed - completedBefore, reserved: reserved - reservedBefore,
	}
	if u.completed == 0 && u.reserved == 0 {
		return
	}
	t.counted = append(t.counted, u)
	if c := t.coupons[u.couponID]; c != nil {
		c.taken += u.completed + u.reserved
	}
}

const (
	addCount    = `UPDATE {coupon_counts} SET completed = completed + ?, reserved = reserved + ? WHERE coupon_id = ? AND slot = ?`
	startCount  = `INSERT INTO {coupon_counts} (coupon_id, slot, completed, reserved) VALUES (?, ?, ?, ?){or_add_count}`
	couponThere = `SELECT c.revision FROM {coupons} c WHERE c.id = ?{for_share}`
)

// flush writes the counts, always in the same order. A coupon that was deleted
// counts no more.
func (t *tx) flush(ctx context.Context) error {
	slices.SortStableFunc(t.counted, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.couponID, b.couponID), cmp.Compare(a.slot, b.slot))
	})
	for i := 0; i < len(t.counted); {
		sum := t.counted[i]
		for i++; i < len(t.counted) && t.counted[i].couponID == sum.couponID && t.counted[i].slot == sum.slot; i++ {
			sum.completed += t.counted[i].completed
			sum.reserved += t.counted[i].reserved
		}
		if err := t.add(ctx, sum); err != nil {
			return fmt.Errorf("count uses: %w", err)
		}
	}
	t.counted = t.counted[:0]
	return nil
}

func (t *tx) add(ctx context.Context, u use) error {
	if u.completed == 0 && u.reserved == 0 {
		return nil
	}
	if n, err := t.write(ctx, addCount, u.completed, u.reserved, u.couponID, u.slot); err != nil || n > 0 {
		return err
	}
	var revision int64
	if err := t.row(ctx, couponThere, u.couponID).Scan(&revision); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	_, err := t.write(ctx, startCount, u.couponID, u.slot, u.completed, u.reserved)
	return err
}

// forget drops what was read of coupons, before their terms change, and writes what
// others have counted.
func (t *tx) forget(ctx context.Context) error {
	clear(t.coupons)
	dirty := t.dirty
	err := t.flush(ctx)
	t.dirty = dirty || err != nil
	return err
}

func invalidField(field string, code pricing.FieldCode, message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Field: field, Code: code, Message: message}}}
}
