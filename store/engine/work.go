package engine

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/appendjson"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// work has the rows that one transaction has loaded, and the changes by its requests.
type work struct {
	row      int // row for spread counters
	orders   map[string]*orderRow
	keys     map[Key]string    // order ID by key
	sessions map[string]string // order ID by session
	uses     map[string]*useRow
	useKeys  map[Key]string
	coupons  map[string]Coupon
	codes    map[CodeKey]Code
	spread   map[string]bool // counters that are spread, because their coupon has no limit
	counts   map[string]eligibility.Count
	loaded   map[string]bool // counters that Load has searched for
	absent   map[string]bool // loaded counters that do not exist
	moved    map[cell]eligibility.Count
	bounds   map[string]*bound // bounds of counters that may change until Save
	entries  []store.Entry
	data     []byte // memory for the data of entries
}

// bound has the values that a counter may have at Save. Within them, all decisions stay right.
type bound struct{ seen, least, most int64 }

type cell struct {
	counter string
	row     int
}

type orderRow struct {
	order redemption.Order
	uses  []string
	rowState
}

type useRow struct {
	use redemption.Use
	rowState
}

// rowState says how a record differs from the loaded record. grown means its document, adopted its key.
type rowState struct{ added, changed, grown, adopted bool }

func newWork(row int) *work {
	return &work{
		row: row, orders: map[string]*orderRow{}, keys: map[Key]string{}, sessions: map[string]string{},
		uses: map[string]*useRow{}, useKeys: map[Key]string{}, coupons: map[string]Coupon{}, codes: map[CodeKey]Code{}, spread: map[string]bool{},
		counts: map[string]eligibility.Count{}, loaded: map[string]bool{}, absent: map[string]bool{}, moved: map[cell]eligibility.Count{},
		bounds: map[string]*bound{},
	}
}

// add adds loaded rows. Rows that were already loaded keep the changes of this work.
func (w *work) add(n Need, rows Rows) {
	for _, o := range rows.Orders {
		if w.orders[o.ID] == nil {
			w.putOrder(o)
		}
	}
	for _, u := range rows.Uses {
		if w.uses[u.ID] == nil {
			w.putUse(u)
		}
	}
	for _, c := range rows.Codes {
		w.codes[c.CodeKey] = c
	}
	for _, c := range rows.Coupons {
		w.coupons[c.ID] = c
		w.spread[eligibility.CouponUses(c.ID)] = c.Unlimited
	}
	for _, key := range n.Counters {
		if w.loaded[key] {
			continue
		}
		w.loaded[key] = true
		count, found := rows.Counts[key]
		w.counts[key], w.absent[key] = count, !found
		if _, late := slices.BinarySearch(n.Late, key); late && found {
			w.bounds[key] = &bound{seen: count.Taken(), least: math.MinInt64, most: math.MaxInt64}
		}
	}
}

func (w *work) putOrder(o redemption.Order) *orderRow {
	row := &orderRow{order: o}
	w.orders[o.ID] = row
	if o.Key != "" {
		w.keys[Key{o.CustomerID, o.Key}] = o.ID
	}
	if o.SessionID != "" {
		w.sessions[o.SessionID] = o.ID
	}
	return row
}

func (w *work) putUse(u redemption.Use) *useRow {
	row := &useRow{use: u}
	w.uses[u.ID] = row
	if u.Key != "" {
		w.useKeys[Key{u.CustomerID, u.Key}] = u.ID
	}
	if order := w.orders[u.OrderID]; order != nil {
		order.uses = append(order.uses, u.ID)
		slices.SortFunc(order.uses, func(a, b string) int { return compareUses(w.uses[a].use, w.uses[b].use) })
	}
	return row
}

// compareUses sorts the uses of an order by coupon.
func compareUses(a, b redemption.Use) int {
	return cmp.Or(cmp.Compare(a.CouponID, b.CouponID), cmp.Compare(a.ID, b.ID))
}

func (w *work) usesOf(orderID string) []redemption.Use {
	row := w.orders[orderID]
	if row == nil || len(row.uses) == 0 {
		return nil
	}
	uses := make([]redemption.Use, len(row.uses))
	for i, id := range row.uses {
		uses[i] = w.uses[id].use
	}
	return uses
}

// step is a change of several records that is applied as a whole or not at all.
type step struct {
	before, after holdings
	orders        []redemption.Order
	uses          []redemption.Use
}

type holdings map[string]eligibility.Count

// add adds the counts of more to h. The caller must not use more afterwards.
func (h *holdings) add(more holdings) {
	if *h == nil {
		*h = more
		return
	}
	for key, count := range more {
		(*h)[key] = (*h)[key].Plus(count)
	}
}

// change adds changed records to the step. The stored state is the state before.
func (s *step) change(w *work, o redemption.Order, uses ...redemption.Use) {
	if row := w.orders[o.ID]; row != nil {
		s.before.add(redemption.Holdings(row.order))
	}
	for _, u := range uses {
		if row := w.uses[u.ID]; row != nil {
			s.before.add(redemption.Holdings(redemption.Order{}, row.use))
		}
	}
	s.create(o, uses...)
}

// create adds new records to the step.
func (s *step) create(o redemption.Order, uses ...redemption.Use) {
	s.after.add(redemption.Holdings(o, uses...))
	if !o.IsZero() {
		s.orders = append(s.orders, o)
	}
	if s.uses == nil {
		s.uses = slices.Clip(uses)
		return
	}
	s.uses = append(s.uses, uses...)
}

// exceeded returns the claims whose counter would exceed its limit. Claims that the step does not add
// were made before, and are ignored. So are the uses of a coupon without a limit, because their counter
// is spread over rows.
func (s *step) exceeded(w *work, claims []eligibility.Claim) []eligibility.Claim {
	var exceeded []eligibility.Claim
	for _, c := range claims {
		if c.Limit == 0 || w.spread[c.Counter] {
			continue
		}
		added := s.after[c.Counter].Taken() - s.before[c.Counter].Taken()
		if added <= 0 {
			continue
		}
		fits := (eligibility.Claim{Amount: added, Limit: c.Limit}).Fits(w.counts[c.Counter])
		if !fits {
			exceeded = append(exceeded, c)
		}
		w.rely(c.Counter, fits, c.Limit-added)
	}
	return exceeded
}

// rely records the bounds within which a decision stays right until Save. A claim fits while its
// counter is at most most. A claim exceeds its limit while the counter does not fall.
func (w *work) rely(counter string, fits bool, most int64) {
	b := w.bounds[counter]
	if b == nil {
		return
	}
	if !fits {
		b.least = b.seen
		return
	}
	moved := w.counts[counter].Taken() - b.seen // change by this transaction
	if moved >= 0 || most <= math.MaxInt64+moved {
		b.most = min(b.most, most-moved)
	}
}

// make applies a step to the records and counters.
func (w *work) make(s *step) {
	for _, o := range s.orders {
		row := w.orders[o.ID]
		if row == nil {
			row = w.putOrder(o)
			row.added = true
		}
		row.grown = row.grown || len(o.Claims) != len(row.order.Claims) || !redemption.SameMoney(o, row.order) ||
			!o.BegunAt.Equal(row.order.BegunAt) || o.Asks != row.order.Asks
		if row.order.Key != o.Key {
			row.adopted, row.grown = true, true
			w.keys[Key{o.CustomerID, o.Key}] = o.ID
		}
		if row.order.SessionID != o.SessionID {
			delete(w.sessions, row.order.SessionID)
		}
		row.order, row.changed = o, true
		if o.SessionID != "" {
			w.sessions[o.SessionID] = o.ID
		}
	}
	for _, u := range s.uses {
		row := w.uses[u.ID]
		if row == nil {
			row = w.putUse(u)
			row.added = true
		}
		row.changed = row.changed || u.Version != row.use.Version
		row.grown = row.grown || !slices.Equal(u.Claims, row.use.Claims) || !u.RestoredAt.Equal(row.use.RestoredAt) || u.Returned != row.use.Returned
		row.use = u
	}
	for _, m := range redemption.Moves(s.before, s.after) {
		at := cell{m.Counter, w.rowOf(m.Counter)}
		w.moved[at] = w.moved[at].Plus(m.By)
		w.counts[m.Counter] = w.counts[m.Counter].Plus(m.By)
	}
}

// rowOf returns the row of a counter. A spread counter may use any row, because no decision reads it.
func (w *work) rowOf(counter string) int {
	if w.spread[counter] {
		return w.row
	}
	return 0
}

// save writes the changes of the work. Without an entry, nothing has changed.
func (w *work) save(ctx context.Context, tx Tx) error {
	if len(w.entries) == 0 {
		return nil
	}
	writes := Writes{
		NewOrders: make([]*redemption.Order, 0, len(w.orders)), NewUses: make([]*redemption.Use, 0, len(w.uses)),
		Counters: w.counterWrites(), Entries: w.entries,
	}
	for _, id := range sortedKeys(w.orders) {
		switch row := w.orders[id]; {
		case row.added:
			writes.NewOrders = append(writes.NewOrders, &row.order)
		case row.changed:
			writes.Orders = append(writes.Orders, &row.order)
			if row.grown {
				writes.GrownOrders = append(writes.GrownOrders, &row.order)
			}
			if row.adopted {
				writes.AdoptedOrders = append(writes.AdoptedOrders, &row.order)
			}
		}
	}
	for _, id := range sortedKeys(w.uses) {
		switch row := w.uses[id]; {
		case row.added:
			writes.NewUses = append(writes.NewUses, &row.use)
		case row.changed:
			writes.Uses = append(writes.Uses, &row.use)
			if row.grown {
				writes.GrownUses = append(writes.GrownUses, &row.use)
			}
		}
	}
	return tx.Save(ctx, writes)
}

// counterWrites returns the changes of counters, and the bounds of counters that decisions relied on.
func (w *work) counterWrites() (writes []CounterWrite) {
	for counter, b := range w.bounds {
		at := cell{counter, 0}
		if _, moved := w.moved[at]; !moved && b.decided() {
			w.moved[at] = eligibility.Count{}
		}
	}
	for at, by := range w.moved {
		write := CounterWrite{
			Counter: at.counter, Row: at.row, By: by, New: at.row == 0 && w.absent[at.counter],
			Least: math.MinInt64, Most: math.MaxInt64, // a single row of a spread counter may be negative
		}
		b := w.bounds[at.counter]
		if at.row == 0 && b != nil {
			write.Least, write.Most = b.least, b.most
		}
		if by == (eligibility.Count{}) && w.loaded[at.counter] && !w.absent[at.counter] && !b.decided() {
			continue
		}
		writes = append(writes, write)
	}
	slices.SortFunc(writes, func(a, b CounterWrite) int {
		return cmp.Or(cmp.Compare(a.Counter, b.Counter), cmp.Compare(a.Row, b.Row))
	})
	return writes
}

func (b *bound) decided() bool {
	return b != nil && (b.least > math.MinInt64 || b.most < math.MaxInt64)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// note adds a journal entry about a record.
func (w *work) note(kind store.EntryKind, subject string, version int64, at time.Time, by string, data []byte) {
	w.entries = append(w.entries, store.Entry{Kind: kind, Subject: subject, Version: version, At: at, By: by, Data: data})
}

// orderEntry is the data of an entry about an order.
type orderEntry struct {
	Cause string
	moneyEntry
}

// moneyEntry has the fields that are empty in most entries about an order.
type moneyEntry struct {
	Refund *redemption.Refund `json:"refund,omitempty"`

	Repayments      map[string]redemption.Repayment `json:"repayments,omitempty"` // by refund ID
	ExternalRefunds []redemption.ExternalRefund     `json:"externalRefunds,omitempty"`
	Disputes        []redemption.Dispute            `json:"disputes,omitempty"`
	OtherPayments   []redemption.Payment            `json:"otherPayments,omitempty"`
}

// appendOrder appends the JSON of an order's entry.
func (w *work) appendOrder(dst []byte, e *orderEntry, o *redemption.Order) ([]byte, error) {
	dst = appendjson.TextMember(append(dst, '{'), "cause", e.Cause)
	dst = appendjson.TextMember(dst, "state", o.State.String())
	dst = appendjson.OptionalText(dst, "customerId", o.CustomerID)
	dst = appendjson.OptionalText(dst, "sessionId", o.SessionID)
	dst = appendjson.OptionalText(dst, "replaces", o.Replaces)
	dst = appendjson.OptionalText(dst, "replacedBy", o.ReplacedBy)
	if row := w.orders[o.ID]; row != nil && len(row.uses) > 0 {
		dst = append(appendjson.Name(dst, "uses"), '[')
		for _, id := range row.uses {
			dst = append(appendUse(append(appendjson.Next(dst), '{'), &w.uses[id].use), '}')
		}
		dst = append(dst, ']')
	}
	var err error
	if m := &e.moneyEntry; m.Refund != nil || len(m.Repayments)+len(m.ExternalRefunds)+len(m.Disputes)+len(m.OtherPayments) > 0 {
		dst, err = appendjson.Members(dst, *m)
	}
	return append(dst, '}'), err
}

// appendUse appends the JSON fields of a use. An entry about an order lists all of its uses. So each
// version of a use is in an entry of its own or in an entry of its order.
func appendUse(dst []byte, u *redemption.Use) []byte {
	dst = appendjson.TextMember(dst, "id", u.ID)
	dst = appendjson.IntMember(dst, "version", u.Version)
	dst = appendjson.TextMember(dst, "couponId", u.CouponID)
	dst = appendjson.OptionalText(dst, "exchangeId", u.ExchangeID)
	dst = appendjson.TextMember(dst, "state", u.State.String())
	dst = appendjson.TextMember(dst, "pointsState", u.PointsState.String())
	if u.OverLimit {
		dst = append(appendjson.Name(dst, "overLimit"), "true"...)
	}
	if !u.RestoredAt.IsZero() {
		dst = append(appendjson.Name(dst, "restored"), "true"...)
	}
	return dst
}

func (w *work) noteOrder(cause string, o redemption.Order, by string) {
	kind := store.OrderChanged
	switch {
	case o.Version == 1 && o.State == redemption.OrderOpen:
		kind = store.OrderOpened
	case cause == redemption.Refunded.String():
		kind = store.OrderRefunded
	case cause == redemption.Reported.String() || cause == repeatedCause || cause == secondCause:
		kind = store.OrderRepaid
	case o.State == redemption.OrderPaid && (cause == redemption.Paid.String() || cause == unknownCause || cause == adoptedCause):
		kind = store.OrderPaid
	case o.State == redemption.OrderCancelled:
		kind = store.OrderCancelled
	}
	data := orderEntry{Cause: cause, moneyEntry: moneyEntry{OtherPayments: o.OtherPayments}}
	switch kind { //nolint:exhaustive // the others tell nothing of money
	case store.OrderRefunded:
		data.Refund = &o.Refunds[len(o.Refunds)-1]
	case store.OrderRepaid:
		data.ExternalRefunds, data.Disputes, data.Repayments = o.ExternalRefunds, o.Disputes, make(map[string]redemption.Repayment)
		for i := range o.Refunds {
			data.Repayments[o.Refunds[i].ID] = o.Refunds[i].Repayment
		}
	}
	begin := len(w.data)
	text, err := w.appendOrder(w.data, &data, &o)
	if err != nil {
		text = w.data // cannot fail: the engine's own structs have only values that JSON can encode
	}
	w.data = text
	w.note(kind, o.ID, o.Version, o.UpdatedAt, by, text[begin:len(text):len(text)])
}

// noteUse adds an entry about the points of a use.
func (w *work) noteUse(kind store.EntryKind, cause string, u redemption.Use, by string) {
	text := appendjson.TextMember([]byte{'{'}, "cause", cause)
	text = appendjson.TextMember(text, "customerId", u.CustomerID)
	w.note(kind, u.ID, u.Version, u.UpdatedAt, by, append(appendUse(text, &u), '}'))
}
