package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Everything is all that a store tells of itself.
type Everything struct {
	// Coupons have their whole allow-lists, sorted by ID.
	Coupons []coupon.Coupon
	// Codes are those of the coupons, sorted by coupon and key.
	Codes []coupon.IssuedCode
	// Batches are those of the coupons, sorted by coupon and ID.
	Batches []coupon.IssuedBatch
	// Orders and Uses are sorted by ID.
	Orders []store.Settled
	Uses   []redemption.Use
	// Counters are those that any record claims.
	Counters map[string]eligibility.Count
	// Journal has its entries in the order of their positions.
	Journal []store.Entry
}

// Read reads the whole store through its public methods. What it returns is consistent if
// nobody writes meanwhile.
func Read(ctx context.Context, s store.Store) (all Everything, err error) {
	if all.Coupons, err = readCoupons(ctx, s); err != nil {
		return all, err
	}
	for _, c := range all.Coupons {
		codes, err := readCodes(ctx, s, store.CodeList{CouponID: c.ID})
		if err != nil {
			return all, err
		}
		all.Codes = append(all.Codes, codes...)
		batches, err := readBatches(ctx, s, store.BatchList{CouponID: c.ID})
		if err != nil {
			return all, err
		}
		all.Batches = append(all.Batches, batches...)
	}
	if all.Orders, err = allPages(ordersOf(ctx, s, store.OrderList{}), store.MaxPageSize); err != nil {
		return all, fmt.Errorf("list of orders: %w", err)
	}
	if all.Uses, err = allPages(usesOf(ctx, s, store.UseList{}), store.MaxPageSize); err != nil {
		return all, fmt.Errorf("list of uses: %w", err)
	}
	slices.SortFunc(all.Orders, func(a, b store.Settled) int { return cmp.Compare(a.Order.ID, b.Order.ID) })
	slices.SortFunc(all.Uses, func(a, b redemption.Use) int { return cmp.Compare(a.ID, b.ID) })
	if all.Journal, err = ReadJournal(ctx, s); err != nil {
		return all, err
	}
	all.Counters, err = readCounters(ctx, s, all)
	return all, err
}

func readCoupons(ctx context.Context, s store.Store) ([]coupon.Coupon, error) {
	coupons, err := allPages(couponsOf(ctx, s, store.CouponList{}), store.MaxPageSize)
	if err != nil {
		return nil, fmt.Errorf("list of coupons: %w", err)
	}
	for i, c := range coupons {
		found, err := store.Find(ctx, s, store.LookUp{Names: store.ByID(c.ID), Whole: true})
		if err != nil {
			return nil, fmt.Errorf("coupon %s: %w", c.ID, err)
		}
		coupons[i] = found.Coupon
	}
	slices.SortFunc(coupons, func(a, b coupon.Coupon) int { return cmp.Compare(a.ID, b.ID) })
	return coupons, nil
}

// readCodes reads all pages of a list.
func readCodes(ctx context.Context, s store.Store, list store.CodeList) (codes []coupon.IssuedCode, err error) {
	for list.PageSize = store.MaxPageSize; ; {
		page, err := s.ListCodes(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("list of codes: %w", err)
		}
		codes = append(codes, page.Items...)
		if list.After = page.Next; page.Next == "" {
			return codes, nil
		}
	}
}

// readBatches reads all pages of a list.
func readBatches(ctx context.Context, s store.Store, list store.BatchList) (batches []coupon.IssuedBatch, err error) {
	for list.PageSize = store.MaxPageSize; ; {
		page, err := s.ListBatches(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("list of batches: %w", err)
		}
		batches = append(batches, page.Items...)
		if list.After = page.Next; page.Next == "" {
			return batches, nil
		}
	}
}

// ReadJournal returns all entries that have positions.
func ReadJournal(ctx context.Context, s store.Journal) ([]store.Entry, error) {
	done := make(chan struct{})
	close(done)
	return Follow(ctx, s, store.MaxJournalLimit, done)
}

func readCounters(ctx context.Context, s store.Store, all Everything) (map[string]eligibility.Count, error) {
	keys := map[string]bool{}
	for _, c := range all.Coupons {
		keys[eligibility.CouponUses(c.ID)] = true
	}
	for _, b := range all.Batches {
		keys[eligibility.BatchUses(b.CouponID, b.ID)] = true
	}
	note := func(claims []eligibility.Claim) {
		for _, c := range claims {
			keys[c.Counter] = true
		}
	}
	for _, o := range all.Orders {
		note(o.Order.Claims)
	}
	for _, u := range all.Uses {
		note(u.Claims)
	}
	const many = 500
	counters := map[string]eligibility.Count{}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(keys)), many) {
		counts, err := s.Counts(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("counts: %w", err)
		}
		if len(counts) != len(chunk) {
			return nil, fmt.Errorf("%w: %d counts of %d counters", errContradiction, len(counts), len(chunk))
		}
		for i, key := range chunk {
			counters[key] = counts[i]
		}
	}
	return counters, nil
}

var errContradiction = errors.New("the store contradicts itself")

// Check reads the whole store and returns an error for every invariant that does not hold.
// Nobody may write meanwhile.
//
//   - Each counter holds what its records hold. A [store.Verifier] confirms it.
//   - No counter holds more than a limit that was claimed, but by uses that are flagged.
//   - Each use follows its order and its refunds. IDs, sessions, keys and codes are unique.
//   - At most one use has the points of an exchange.
//   - Positions of the journal increase, and the versions of each record are 1 to the
//     stored one, in order and without a gap.
func Check(ctx context.Context, s store.Store) error {
	all, err := Read(ctx, s)
	if err != nil {
		return err
	}
	c := checker{}
	if err := c.verified(ctx, s); err != nil {
		return err
	}
	return errors.Join(all.Check(), errors.Join(c.faults...))
}

// Check is [Check] of what was read.
func (all Everything) Check() error {
	c := checker{Everything: all}
	c.records()
	c.batches()
	c.counters()
	c.limits()
	c.journal()
	return errors.Join(c.faults...)
}

type checker struct {
	Everything
	faults []error
}

func (c *checker) fault(format string, args ...any) {
	const enough = 20
	if len(c.faults) < enough {
		c.faults = append(c.faults, fmt.Errorf("%w: %s", errContradiction, fmt.Sprintf(format, args...)))
	}
}

// unique checks that no two records have the same name.
func (c *checker) unique(seen map[string]string, what, name, id string) {
	if other, taken := seen[what+" "+name]; taken {
		c.fault("the %s %q is that of %s and %s", what, name, other, id)
	}
	seen[what+" "+name] = id
}

// batches counts the codes of each batch, and compares the uses of each batch with its counter.
func (c *checker) batches() {
	type batch struct{ coupon, id string }
	counted := map[batch]coupon.IssuedBatch{}
	for _, code := range c.Codes {
		b := counted[batch{code.CouponID, code.Batch}]
		b.Added++
		if !code.Owner.IsZero() {
			b.Assigned++
		}
		if !code.Active {
			b.Inactive++
		}
		counted[batch{code.CouponID, code.Batch}] = b
	}
	for _, b := range c.Batches {
		got, uses := counted[batch{b.CouponID, b.ID}], c.Counters[eligibility.BatchUses(b.CouponID, b.ID)]
		if b.Added > b.Size || b.Added-b.Removed != got.Added || b.Assigned != got.Assigned || b.Inactive != got.Inactive {
			c.fault("the batch %s of %s counts %+v, and its codes %+v", b.ID, b.CouponID, b, got)
		}
		if b.UsedCount != uses.Completed || b.ReservedCount != uses.Reserved {
			c.fault("the batch %s of %s counts %d and %d uses, and its counter %+v", b.ID, b.CouponID, b.UsedCount, b.ReservedCount, uses)
		}
	}
}

func (c *checker) records() {
	seen, inOrders := map[string]string{}, map[string]redemption.Use{}
	for _, k := range c.Coupons {
		c.unique(seen, "coupon ID", k.ID, k.ID)
		if !k.Code.IsZero() {
			c.unique(seen, "code", k.Code.String(), k.ID)
		}
	}
	for _, code := range c.Codes {
		if !code.Plain() {
			c.unique(seen, "code", code.Code.String(), code.CouponID)
		}
	}
	for _, settled := range c.Orders {
		o := settled.Order
		c.unique(seen, "order ID", o.ID, o.ID)
		if o.SessionID != "" {
			c.unique(seen, "session", o.SessionID, o.ID)
		}
		if o.Key != "" {
			c.unique(seen, "order key", o.CustomerID+" "+o.Key, o.ID)
		}
		back := map[string]int64{}
		for i, sum := range o.Refunded().Discounts {
			back[o.Quote.Coupons[i].ID] = sum
		}
		for i, u := range settled.Uses {
			inOrders[u.ID] = u
			if u.OrderID != o.ID || u.State != holding(o.State) {
				c.fault("the use %s of %s is %s in the order %s, which is %s", u.ID, u.OrderID, u.State, o.ID, o.State)
			}
			if u.Returned != back[u.CouponID] {
				c.fault("the use %s of %s has given %d back, and its refunds %d", u.ID, o.ID, u.Returned, back[u.CouponID])
			}
			if i > 0 && settled.Uses[i-1].CouponID >= u.CouponID {
				c.fault("the uses of %s are not sorted by coupon", o.ID)
			}
		}
	}
	holders := map[string]string{}
	for _, u := range c.Uses {
		c.unique(seen, "use ID", u.ID, u.ID)
		if u.Key != "" {
			c.unique(seen, "use key", u.CustomerID+" "+u.Key, u.ID)
		}
		if u.ExchangeID != "" && u.PointsState != redemption.PointsPassedOn {
			c.unique(holders, "exchange", u.ExchangeID, u.ID)
		}
		inOrder, found := inOrders[u.ID]
		delete(inOrders, u.ID)
		if found != (u.OrderID != "") || found && !sameJSON(inOrder, u) {
			c.fault("the use %s is another in the list and in its order %q", u.ID, u.OrderID)
		}
	}
	for id := range inOrders {
		c.fault("the use %s of an order is in no list", id)
	}
}

func holding(s redemption.OrderState) redemption.State {
	switch {
	case s.Paid():
		return redemption.Completed
	case s == redemption.OrderCancelled:
		return redemption.Released
	}
	return redemption.Reserved
}

func sameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	two, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(one) == string(two)
}

func (c *checker) counters() {
	want := map[string]eligibility.Count{}
	for _, o := range c.Orders {
		for key, count := range redemption.Holdings(o.Order) {
			want[key] = want[key].Plus(count)
		}
	}
	for key, count := range redemption.Holdings(redemption.Order{}, c.Uses...) {
		want[key] = want[key].Plus(count)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Counters)) {
		if got := c.Counters[key]; got != want[key] {
			c.fault("the counter %s holds %+v, and its records hold %+v", key, got, want[key])
		}
	}
	for _, k := range c.Coupons {
		key := eligibility.CouponUses(k.ID)
		if got := (eligibility.Count{Reserved: k.ReservedCount, Completed: k.UsedCount}); got != c.Counters[key] {
			c.fault("the coupon %s tells %+v of its counter, which holds %+v", k.ID, got, c.Counters[key])
		}
	}
}

// limits checks that all claims with a limit fit together at some time. A claim that passed from order
// to order must fit the highest limit that it had.
func (c *checker) limits() {
	chains := newChains(c.Everything)
	within, highest := map[string]int64{}, map[string]int64{}
	for _, o := range c.Orders {
		forced := len(o.Uses) == 0 || slices.ContainsFunc(o.Uses, func(u redemption.Use) bool { return u.OverLimit })
		chains.count(within, highest, o.Order.Claims, !forced && o.Order.State != redemption.OrderCancelled, chains.of[o.Order.ID])
	}
	for _, u := range c.Uses {
		chains.count(within, highest, u.Claims, !u.OverLimit && u.State != redemption.Released, chains.of[u.OrderID], u.ExchangeID)
	}
	for _, key := range slices.Sorted(maps.Keys(within)) {
		if within[key] > highest[key] {
			c.fault("the counter %s holds %d in claims that had to fit %d", key, within[key], highest[key])
		}
	}
}

// chains groups records that took claims over from each other.
type chains struct {
	of        map[string]string  // by order or exchange: the first record of its chain
	unlimited map[[2]string]bool // chain and counter: true if the chain claimed the counter without a limit
	free      map[string]bool    // by counter: true if its coupon was once unlimited
}

func newChains(all Everything) chains {
	ch := chains{of: map[string]string{}, unlimited: map[[2]string]bool{}, free: everUnlimited(all.Journal)}
	parents := map[string]string{}
	for _, o := range all.Orders {
		ch.of[o.Order.ID], parents[o.Order.ID] = o.Order.ID, o.Order.Replaces
	}
	for id := range parents {
		for range parents { // no chain is longer
			before := parents[ch.of[id]]
			if _, known := parents[before]; !known {
				break
			}
			ch.of[id] = before
		}
	}
	for _, o := range all.Orders {
		ch.note(ch.of[o.Order.ID], o.Order.Claims)
	}
	for _, u := range all.Uses {
		ch.note(ch.of[u.OrderID], u.Claims)
		ch.note(u.ExchangeID, u.Claims)
	}
	return ch
}

func (ch chains) note(chain string, claims []eligibility.Claim) {
	for _, cl := range claims {
		if cl.Limit == 0 && chain != "" {
			ch.unlimited[[2]string{chain, cl.Counter}] = true
		}
	}
}

// count adds up the claims that had to fit, and the highest limit of each counter.
func (ch chains) count(within, highest map[string]int64, claims []eligibility.Claim, counts bool, chains ...string) {
	for _, cl := range claims {
		highest[cl.Counter] = max(highest[cl.Counter], cl.Limit)
		unlimited := cl.Limit == 0 || ch.free[cl.Counter]
		for _, chain := range chains {
			unlimited = unlimited || ch.unlimited[[2]string{chain, cl.Counter}]
		}
		if counts && !unlimited {
			within[cl.Counter] += cl.Held()
		}
	}
}

// everUnlimited returns the counters of coupons that once had no limit. Claims from that time need not
// fit, even if they are paid later.
func everUnlimited(journal []store.Entry) map[string]bool {
	type limited struct{ MaxUses *int64 }
	free := map[string]bool{}
	for _, e := range journal {
		if e.Kind != store.CouponCreated && e.Kind != store.CouponChanged {
			continue // the data of this entry has no limits of a coupon
		}
		var data struct{ Before, After *limited }
		if json.Unmarshal(e.Data, &data) != nil {
			continue
		}
		for _, k := range []*limited{data.Before, data.After} {
			if k != nil && k.MaxUses == nil {
				free[eligibility.CouponUses(e.Subject)] = true
			}
		}
	}
	return free
}

func (c *checker) journal() {
	position, versions, uses := int64(0), map[string]int64{}, map[string]int64{}
	for _, e := range c.Journal {
		if e.Position <= position {
			c.fault("the position %d of the journal comes after %d", e.Position, position)
		}
		position = e.Position
		if e.Kind == store.PointsReserved || e.Kind == store.PointsChanged || e.Kind == store.PointsGivenBack {
			c.follows(uses, e, e.Subject, e.Version)
			continue
		}
		subject := e.Subject
		if e.Kind == store.CouponCreated { // the ID of a deleted coupon may be used again
			delete(versions, subject)
		}
		if e.Version != versions[subject]+1 {
			c.fault("the journal has version %d of %s after version %d", e.Version, subject, versions[subject])
		}
		versions[subject] = e.Version
		var data struct {
			Uses []struct {
				ID      string
				Version int64
			}
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			c.fault("the data of entry %d is no JSON: %v", e.Position, err)
		}
		for _, u := range data.Uses {
			if uses[u.ID] != u.Version {
				c.follows(uses, e, u.ID, u.Version)
			}
		}
	}
	for _, o := range c.Orders {
		if versions[o.Order.ID] != o.Order.Version {
			c.fault("the order %s has version %d, and the journal ends at %d", o.Order.ID, o.Order.Version, versions[o.Order.ID])
		}
	}
	for _, u := range c.Uses {
		if uses[u.ID] != u.Version {
			c.fault("the use %s has version %d, and the journal ends at %d", u.ID, u.Version, uses[u.ID])
		}
	}
	for _, k := range c.Coupons {
		if versions[k.ID] < k.Revision {
			c.fault("the coupon %s has revision %d, and the journal ends at version %d", k.ID, k.Revision, versions[k.ID])
		}
	}
}

func (c *checker) follows(seen map[string]int64, e store.Entry, id string, version int64) {
	if version != seen[id]+1 {
		c.fault("entry %d of the journal has version %d of %s after version %d", e.Position, version, id, seen[id])
	}
	seen[id] = version
}
