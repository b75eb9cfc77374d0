package memstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// The explorer goes through every sequence of steps of a small shop. The coupon has one use. Customer X has
// two tabs, in which the orders A and B are made. Customer Y makes the order C. Each step is one call of the
// ledger or one call of the provider, and a handler may die between any two steps.

const (
	orderA = iota
	orderB
	orderC
	orderCount
)

var (
	explorerIDs       = [orderCount]string{"A", "B", "C"}
	explorerCustomers = [orderCount]string{"x", "x", "y"}
	explorerNoon      = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

// payment is what the provider has of an order.
type payment uint8

const (
	noPayment payment = iota
	openPayment
	pendingPayment
	paidPayment
	voidPayment
)

// handler is how far the handler of a checkout is.
type handler uint8

const (
	idle handler = iota
	reserved
	creating
	created
	done
)

// answer is what a worker has been told by the provider about something that was due.
type answer struct {
	given  bool
	record couponkit.Payment
	asked  int64 // the version of the order at which somebody asked
}

// shopState is a state of the explored shop.
type shopState struct {
	store *memstore.Store
	now   time.Time

	payments  [orderCount]payment
	handlers  [orderCount]handler
	tries     [orderCount]uint8
	inFlight  [orderCount]bool // a create is under way, whether its sender lives or not
	shown     [orderCount]bool
	answers   [orderCount]answer
	wasPend   [orderCount]bool // a webhook may still tell that the payment is on its way
	told      [orderCount]payment
	cancelled bool
	waits     uint8
}

// rules are how the explored shop works.
type rules struct {
	// mailed tells that the provider sends invoices by itself: a payment can be paid once it is made.
	mailed bool
	// delayed tells that payments may be on their way for a time, and fail.
	delayed bool
	// orders are those of the three that exist.
	orders int
	// broken leaves out a rule of the protocol.
	broken broken
}

type broken uint8

const (
	nothingBroken broken = iota
	createsWithoutBegin
	believesNothingFound
	freesWhenCancelled
	doesNotEndPayments
)

type explorer struct {
	t     *testing.T
	rules rules
}

func (x *explorer) service(s *shopState) *couponkit.Service {
	createTime := couponkit.DefaultCreateTime
	if x.rules.broken == believesNothingFound {
		createTime = time.Nanosecond
	}
	service, err := couponkit.New(s.store, couponkit.WithClock(func() time.Time { return s.now }), couponkit.WithCreateTime(createTime))
	require.NoError(x.t, err)
	return service
}

func (x *explorer) order(s *shopState, i int) redemption.Order {
	found, err := s.store.Order(x.t.Context(), store.OrderKey{ID: explorerIDs[i]})
	if err != nil {
		require.ErrorIs(x.t, err, store.ErrNotFound)
	}
	return found.Order
}

func (s *shopState) clone() *shopState {
	next := *s
	next.store = s.store.Clone()
	next.now = next.now.Add(time.Millisecond) // so that versions and times tell states apart
	return &next
}

// known is the payment of an order as the provider tells it.
func (s *shopState) known(i int) couponkit.Payment {
	p := couponkit.Payment{OrderID: explorerIDs[i], ID: "pay_" + explorerIDs[i]}
	switch s.payments[i] {
	case noPayment:
		p.ID, p.Status = "", couponkit.PaymentEnded
	case openPayment:
		p.Status = couponkit.PaymentOpen
	case pendingPayment:
		p.Status = couponkit.PaymentPending
	case paidPayment:
		p.Status, p.Amount = couponkit.PaymentPaid, pricing.NewMoney(9_00, pricing.EUR())
	case voidPayment:
		p.Status = couponkit.PaymentEnded
	}
	return p
}

// step is a step that may follow, or nil if it changes nothing.
type step struct {
	name  string
	state *shopState
}

func (x *explorer) next(s *shopState) (steps []step) {
	add := func(name string, take func(*shopState) bool) {
		next := s.clone()
		if take(next) {
			steps = append(steps, step{name, next})
		}
	}
	for i := range x.rules.orders {
		x.checkoutSteps(s, i, add)
		x.providerSteps(s, i, add)
		x.dueSteps(s, i, add)
	}
	if !s.cancelled && !x.order(s, orderA).IsZero() {
		add("cancel A", func(n *shopState) bool {
			n.cancelled = true
			_, err := x.service(n).Cancel(x.t.Context(), "A")
			if x.rules.broken == freesWhenCancelled && err == nil {
				_, err = n.store.Apply(x.t.Context(), store.Settlement{Event: redemption.Event{
					Kind: redemption.Cancelled, OrderID: "A", SessionID: x.order(n, orderA).SessionID, At: n.now, PaymentOver: true,
				}})
			}
			return err == nil
		})
	}
	if s.waits < 1 && s.inFlight == [orderCount]bool{} { // no create takes as long as that
		add("minutes pass", func(n *shopState) bool { n.waits++; n.now = n.now.Add(3 * time.Minute); return true })
	}
	return steps
}

func (x *explorer) checkoutSteps(s *shopState, i int, add func(string, func(*shopState) bool)) {
	ctx, id := x.t.Context(), explorerIDs[i]
	if most := [orderCount]uint8{2, 2, 1}; s.handlers[i] == idle && s.tries[i] < most[i] {
		add("reserve "+id, func(n *shopState) bool {
			n.tries[i]++
			_, err := x.service(n).Reserve(ctx, couponkit.ReserveRequest{OrderID: id, Hold: 10 * time.Minute, QuoteRequest: couponkit.QuoteRequest{
				Customer: eligibility.Customer{ID: explorerCustomers[i]}, Codes: []string{"ONE"},
				Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 10_00}}},
			}})
			n.handlers[i] = reserved
			return err == nil
		})
	}
	switch s.handlers[i] {
	case reserved:
		add("begin "+id, func(n *shopState) bool {
			n.handlers[i], n.inFlight[i] = creating, true
			if x.rules.broken == createsWithoutBegin {
				return true
			}
			_, err := x.service(n).BeginPayment(ctx, id)
			return err == nil
		})
	case created:
		add("attach "+id, func(n *shopState) bool {
			_, err := x.service(n).AttachPayment(ctx, couponkit.Payment{OrderID: id, ID: "pay_" + id})
			n.handlers[i], n.shown[i] = done, err == nil
			return true
		})
	case idle, creating, done:
	}
	if h := s.handlers[i]; h == reserved || h == creating || h == created {
		add("the handler of "+id+" dies", func(n *shopState) bool { n.handlers[i] = idle; return true })
	}
	if s.inFlight[i] {
		add("the payment of "+id+" is made", func(n *shopState) bool {
			n.inFlight[i] = false
			if n.payments[i] == noPayment { // one payment for each order
				n.payments[i] = openPayment
			}
			if n.handlers[i] == creating {
				n.handlers[i] = created
			}
			return true
		})
	}
}

func (x *explorer) providerSteps(s *shopState, i int, add func(string, func(*shopState) bool)) {
	id := explorerIDs[i]
	becomes := func(name string, p payment) {
		add(id+" "+name, func(n *shopState) bool { n.payments[i] = p; return true })
	}
	if s.payments[i] == openPayment && (s.shown[i] || x.rules.mailed) {
		becomes("is paid", paidPayment)
		if x.rules.delayed {
			add(id+" is on its way", func(n *shopState) bool { n.payments[i], n.wasPend[i] = pendingPayment, true; return true })
		}
	}
	if s.payments[i] == pendingPayment {
		becomes("arrives", paidPayment)
		becomes("fails", voidPayment)
	}
	record := func(name string, p couponkit.Payment, told payment) {
		add("webhook: "+id+" "+name, func(n *shopState) bool {
			_, err := x.service(n).Record(x.t.Context(), p)
			require.NoError(x.t, err, "a fact is never refused")
			n.told[i] = told
			return true
		})
	}
	if p := s.payments[i]; s.told[i] != p && (p == paidPayment || p == voidPayment && x.rules.delayed || p == openPayment && x.rules.mailed) {
		record(fmt.Sprint("is ", s.known(i).Status), s.known(i), p)
	}
	if s.wasPend[i] { // also late and again
		late := *s
		late.payments[i] = pendingPayment
		record("is pending", late.known(i), s.told[i])
	}
}

// dueSteps ask the provider for what is due, in one step, and record its answer in another one.
func (x *explorer) dueSteps(s *shopState, i int, add func(string, func(*shopState) bool)) {
	id := explorerIDs[i]
	if s.answers[i].given {
		add("record the answer about "+id, func(n *shopState) bool {
			_, err := x.service(n).Record(x.t.Context(), n.answers[i].record)
			require.NoError(x.t, err, "an answer is never refused")
			n.answers[i] = answer{}
			return true
		})
		return
	}
	list := x.due(s, couponkit.DueOptions{})
	if !x.order(s, i).IsZero() {
		list = append(list, x.due(s, couponkit.DueOptions{OrderID: id})...)
	}
	for _, d := range list {
		if d.OrderID != id {
			continue
		}
		add(fmt.Sprintf("%s of %s", d.Kind, id), func(n *shopState) bool {
			if d.Kind == redemption.EndPayment && n.payments[i] == openPayment {
				n.payments[i] = voidPayment
			}
			n.answers[i] = answer{given: true, record: d.Answer(n.known(i)), asked: d.OrderVersion}
			return true
		})
		return
	}
}

func (x *explorer) due(s *shopState, by couponkit.DueOptions) (list []couponkit.Due) {
	for d, err := range x.service(s).Due(x.t.Context(), by) {
		require.NoError(x.t, err)
		list = append(list, d)
	}
	return list
}

// key tells states apart, but for times and versions.
func (x *explorer) key(s *shopState) string {
	var b strings.Builder
	for i := range x.rules.orders {
		o := x.order(s, i)
		fmt.Fprintf(&b, "%v %v %v %v %v %v %v %s|", s.payments[i], s.handlers[i], s.tries[i], s.inFlight[i], s.shown[i], s.wasPend[i], s.told[i], o.State)
		if o.IsZero() {
			continue
		}
		found, err := s.store.Order(x.t.Context(), store.OrderKey{ID: o.ID})
		require.NoError(x.t, err)
		young := s.now.Before(o.BegunAt.Add(couponkit.DefaultCreateTime))
		over := !o.Deadline.IsZero() && !s.now.Before(o.Deadline)
		fmt.Fprintf(&b, "%t %t %t %s %s %t %s %t %s", o.BegunAt.IsZero(), young, over, o.Awaits, o.ReplacedBy, o.Asks > 0, o.SessionID, found.Uses[0].OverLimit, found.Uses[0].State)
		if a := s.answers[i]; a.given {
			fmt.Fprintf(&b, " %v %s %t", a.record.Status, a.record.ID, o.Fresh(redemption.Event{AskedAt: a.asked}))
		}
		b.WriteByte('|')
	}
	fmt.Fprintf(&b, "%t %d", s.cancelled, s.waits)
	return b.String()
}

// wrong is what must never be: two payments for one use, or a paid one that nobody hears of.
func (x *explorer) wrong(s *shopState) string {
	payable := 0
	for i := range x.rules.orders {
		switch p := s.payments[i]; {
		case p == paidPayment, p == pendingPayment, p == openPayment && (s.shown[i] || x.rules.mailed):
			payable++
		}
		if o := x.order(s, i); s.told[i] == paidPayment && o.State != redemption.OrderPaid {
			return fmt.Sprintf("%s is paid and recorded, and its order is %s", explorerIDs[i], o.State)
		}
	}
	if payable > 1 {
		return fmt.Sprintf("%d payments of one use can be paid", payable)
	}
	return ""
}

// stays is what stays for ever after a state: an order that never ends, although what is under way arrives,
// what is due is done, and no handler goes on.
func (x *explorer) stays(s *shopState) string {
	n := s.clone()
	n.handlers, n.answers = [orderCount]handler{}, [orderCount]answer{}
	for range 3 {
		n.now = n.now.Add(11 * time.Minute) // longer than a hold
		for i := range x.rules.orders {
			x.settle(n, i)
		}
	}
	for i := range x.rules.orders {
		o := x.order(n, i)
		if o.IsZero() {
			continue
		}
		found, err := n.store.Order(x.t.Context(), store.OrderKey{ID: o.ID})
		require.NoError(x.t, err)
		if !o.State.Ended() || len(o.Due()) > 0 || found.Uses[0].State == redemption.Reserved {
			return fmt.Sprintf("%s stays %s for ever, with a use that is %s, and %v is due", o.ID, o.State, found.Uses[0].State, o.Due())
		}
		if n.payments[i] == openPayment {
			return fmt.Sprintf("%s is over, and can be paid for ever", o.ID)
		}
	}
	return ""
}

// settle lets the payment of an order come to its end, and does what is due for the order.
func (x *explorer) settle(n *shopState, i int) {
	if n.inFlight[i] && n.payments[i] == noPayment {
		n.payments[i] = openPayment
	}
	n.inFlight[i] = false
	if n.payments[i] == pendingPayment {
		n.payments[i] = voidPayment
	}
	if x.order(n, i).IsZero() {
		return
	}
	if n.payments[i] != noPayment {
		_, err := x.service(n).Record(x.t.Context(), n.known(i))
		require.NoError(x.t, err)
	}
	for _, d := range x.due(n, couponkit.DueOptions{OrderID: explorerIDs[i]}) {
		if x.rules.broken == doesNotEndPayments && d.Kind == redemption.EndPayment {
			continue
		}
		of := slices.Index(explorerIDs[:], d.OrderID)
		if d.Kind == redemption.EndPayment && n.payments[of] == openPayment {
			n.payments[of] = voidPayment
		}
		_, err := x.service(n).Record(x.t.Context(), d.Answer(n.known(of)))
		require.NoError(x.t, err)
	}
}

// explore returns the number of states, and the first path to a state in which something is wrong.
func explore(t *testing.T, r rules) (states int, path []string) {
	t.Helper()
	x := &explorer{t, r}
	start := &shopState{store: memstore.New(), now: explorerNoon}
	_, err := x.service(start).Create(t.Context(), coupon.Draft{
		Code: "ONE", Name: "One use", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "1.00"}, MaxUses: coupon.Set(1), StartsAt: "2026-11-01",
	})
	require.NoError(t, err)
	type origin struct{ from, name string }
	seen := map[string]origin{x.key(start): {}}
	queue := []*shopState{start}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		at := x.key(s)
		wrong := x.wrong(s)
		if wrong == "" && states%testsize.Of(7, 23) == 0 {
			wrong = x.stays(s)
		}
		states++
		if wrong != "" {
			path = []string{wrong}
			for key := at; seen[key].name != ""; key = seen[key].from {
				path = append([]string{seen[key].name}, path...)
			}
			return len(seen), path
		}
		for _, next := range x.next(s) {
			key := x.key(next.state)
			if _, known := seen[key]; !known {
				seen[key] = origin{at, next.name}
				queue = append(queue, next.state)
			}
		}
	}
	return len(seen), nil
}

// TestNoUseHasTwoPayments: in no state of the small shop, two payments of one use can be paid, whoever dies
// where, and whatever is told late and again. After each state, every order ends.
func TestNoUseHasTwoPayments(t *testing.T) {
	t.Parallel()
	shops := map[string]rules{"one customer": {orders: 2}}
	if testsize.Long() {
		shops = map[string]rules{
			"a payment page":            {orders: 3},
			"invoices are mailed":       {orders: 3, mailed: true},
			"delayed payments, one tab": {orders: 2, delayed: true},
		}
	}
	for name, r := range shops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, path := explore(t, r)
			t.Logf("%d states", states)
			require.Empty(t, path)
		})
	}
}

// TestTheExplorerFindsWhatIsLeftOut: without one of the rules, two payments of one use can be paid, or an order
// never ends.
func TestTheExplorerFindsWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]rules{
		"a payment is created without a mark": {orders: 3, mailed: true, broken: createsWithoutBegin},
		"nothing found is believed at once":   {orders: 3, mailed: true, broken: believesNothingFound},
		"a cancelled order frees at once":     {orders: 3, broken: freesWhenCancelled},
		"nobody ends a payment":               {orders: 2, broken: doesNotEndPayments},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, path := explore(t, r)
			require.NotEmpty(t, path)
		})
	}
}
