package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/storetest"
	"github.com/couponkit/couponkit/validation"
)

// machine is the whole service in a world that goes wrong: processes stop between
// any two calls, answers are lost, events come late, twice and in any order,
// customers repeat themselves, administrators interfere, and the clock jumps.
type machine struct {
	now     time.Time
	fuse    *fuse
	store   store.Store // as it really is
	fake    *fakeprocessor.Processor
	ledger  *ledger
	service *couponkit.Service
	ids     int

	coupons    []string // IDs that were ever handed out
	keys       []string
	deliveries []fakeprocessor.Delivery // taken from the processor, not lost

	// most is the greatest limit that a coupon ever had; a coupon without one is
	// missing.
	most map[string]coupon.Limits
}

const (
	machineCustomers = 3
	machinePoints    = 500
	machineSteps     = 120
)

// parts are what a machine is built from; a test that wants to see it fail breaks
// one of them.
type parts struct {
	store     func(store.Store) store.Store
	processor func(processor.Processor) processor.Processor
	points    func(couponkit.Points) couponkit.Points
}

func newMachine(broken parts) *machine {
	m := &machine{
		now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), fuse: &fuse{},
		ledger: &ledger{}, most: make(map[string]coupon.Limits),
	}
	clock := func() time.Time { return m.now }
	m.store = memstore.New()
	m.fake = fakeprocessor.New(fakeprocessor.Options{
		Now: clock, Tolerance: 10_000 * time.Hour,
		Abilities: processor.Abilities{MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): 50}},
	})
	users := directory{}
	for i := range machineCustomers {
		id := customerID(i)
		users[id] = couponkit.User{ID: id, Email: id + "@example.org"}
		m.ledger.Credit(id, machinePoints)
	}
	used := crashingStore(m.store, m.fuse)
	payments := crashingProcessor(m.fake, m.fuse)
	points := crashingPoints(m.ledger, m.fuse)
	if broken.store != nil {
		used = broken.store(used)
	}
	if broken.processor != nil {
		payments = broken.processor(payments)
	}
	if broken.points != nil {
		points = broken.points(points)
	}
	service, err := couponkit.New(used, couponkit.WithProcessor(payments),
		couponkit.WithClock(clock), couponkit.WithUsers(users), couponkit.WithPoints(points),
		couponkit.WithIDs(func(prefix string) string { m.ids++; return fmt.Sprintf("%s%06d", prefix, m.ids) }),
	)
	if err != nil {
		panic(err)
	}
	m.service = service
	return m
}

func drawCustomer(t *rapid.T) eligibility.Customer {
	return eligibility.Customer{ID: customerID(rapid.IntRange(0, machineCustomers-1).Draw(t, "customer"))}
}

// expect fails unless err is one that a caller of the service has to expect.
func expect(err error) {
	var refused *coupon.Rejection
	var invalid *validation.Error
	switch {
	case err == nil, errors.As(err, &refused), errors.As(err, &invalid):
	case errors.Is(err, errCrash), errors.Is(err, couponkit.ErrUnavailable):
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound), errors.Is(err, redemption.ErrIllegal):
	case errors.Is(err, couponkit.ErrOrderEnded), errors.Is(err, couponkit.ErrReservationClosed):
	default:
		panic(fatal(fmt.Sprintf("unexpected error: %v", err)))
	}
}

// step is something that happens; weight is how often, beside the others.
type step struct {
	name   string
	weight int
	happen func(*rapid.T)
}

func (m *machine) steps() []step {
	return []step{
		{"create", 3, m.create},
		{"edit", 1, m.edit},
		{"switch", 1, m.switchState},
		{"delete", 1, m.remove},
		{"exchange points", 4, m.exchange},
		{"cancel exchange", 1, m.cancelExchange},
		{"check out", 8, m.checkout},
		{"repeat a checkout", 2, m.repeat},
		{"buy a product", 2, m.product},
		{"pay", 6, m.pay},
		{"pay later", 2, m.payLater},
		{"payment arrives", 2, m.arrives},
		{"payment fails", 1, m.fails},
		{"deliver", 6, m.deliver},
		{"time passes", 3, m.pass},
		{"sweep", 3, m.sweep},
		{"reconcile", 2, m.reconcile},
		{"tamper", 1, m.tamper},
		{"stop the process", 4, m.stop},
		{"lose an answer", 2, m.lose},
	}
}

// live lets a number of steps happen, and checks after each.
func (m *machine) live(t *rapid.T) {
	var steps []step
	for _, s := range m.steps() {
		steps = append(steps, slices.Repeat([]step{s}, s.weight)...)
	}
	choices := rapid.SliceOfN(rapid.IntRange(0, len(steps)-1), machineSteps/2, machineSteps).Draw(t, "steps")
	m.create(t)
	m.create(t)
	for _, i := range choices {
		t.Log(steps[i].name)
		steps[i].happen(t)
		m.check(t)
	}
}

func (m *machine) create(t *rapid.T) {
	d := coupon.Draft{
		Code: rapid.SampledFrom([]string{"alpha", "beta", "gamma"}).Draw(t, "code"), Name: "A coupon",
		DiscountType: rapid.SampledFrom([]pricing.DiscountType{pricing.Percentage, pricing.FixedAmount}).Draw(t, "type"),
		Distribution: rapid.SampledFrom([]coupon.Distribution{coupon.General, coupon.PointsRedeemable}).Draw(t, "distribution"),
		MaxUses:      drawLimit(t, "maxUses"), MaxUsesPerUser: drawLimit(t, "maxUsesPerUser"),
	}
	if value := strconv.Itoa(rapid.IntRange(1, 100).Draw(t, "value")); d.DiscountType == pricing.Percentage {
		d.Percent = value
	} else {
		d.Amount = coupon.Amounts{"": value}
	}
	if d.Distribution == coupon.PointsRedeemable {
		d.PointsRequired = rapid.Int64Range(1, 200).Draw(t, "points")
	}
	c, err := m.service.Create(t.Context(), d)
	expect(err)
	if err == nil {
		m.coupons = append(m.coupons, c.ID)
	}
}

func drawLimit(t *rapid.T, name string) coupon.Optional[int] {
	if n := rapid.IntRange(0, 3).Draw(t, name); n > 0 {
		return coupon.Set(n)
	}
	return coupon.Clear[int]()
}

// drawCoupon returns the ID of a coupon that was made at some time.
func (m *machine) drawCoupon(t *rapid.T) string {
	if len(m.coupons) == 0 {
		return coupon.IDPrefix + "none"
	}
	recent := m.coupons[max(0, len(m.coupons)-4):]
	return rapid.SampledFrom(recent).Draw(t, "coupon")
}

func (m *machine) edit(t *rapid.T) {
	p := coupon.Patch{Name: coupon.Set(rapid.SampledFrom([]string{"One", "Two"}).Draw(t, "name"))}
	if rapid.Bool().Draw(t, "limits") {
		p.MaxUses = drawLimit(t, "maxUses")
	}
	_, err := m.service.Update(t.Context(), m.drawCoupon(t), p)
	expect(err)
}

func (m *machine) switchState(t *rapid.T) {
	_, err := m.service.SetActive(t.Context(), m.drawCoupon(t), rapid.Bool().Draw(t, "active"))
	expect(err)
}

func (m *machine) remove(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		return
	}
	expect(m.service.Delete(t.Context(), m.drawCoupon(t)))
}

func (m *machine) exchange(t *rapid.T) {
	_, err := m.service.ExchangePoints(t.Context(), couponkit.ExchangeRequest{
		Coupon: m.drawCoupon(t), Customer: drawCustomer(t), Key: m.drawKey(t),
	})
	expect(err)
}

func (m *machine) cancelExchange(t *rapid.T) {
	c := drawCustomer(t)
	held, err := m.service.Exchanges(context.Background(), c.ID)
	expect(err)
	if len(held) == 0 {
		return
	}
	expect(m.service.CancelExchange(t.Context(), c.ID, rapid.SampledFrom(held).Draw(t, "exchange").ExchangeID))
}

// drawKey returns a new key, or one that was used before.
func (m *machine) drawKey(t *rapid.T) string {
	if len(m.keys) > 0 && rapid.IntRange(0, 4).Draw(t, "old key") == 0 {
		return rapid.SampledFrom(m.keys).Draw(t, "key")
	}
	m.keys = append(m.keys, fmt.Sprintf("key%d", len(m.keys)))
	return m.keys[len(m.keys)-1]
}

func machineCart() pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 33_33},
		{ID: "2", Kind: pricing.Plan, ItemID: "gold", Quantity: 1, UnitPrice: 9_99, Recurs: pricing.Monthly},
		{ID: "3", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
	}}
}

func (m *machine) checkout(t *rapid.T) {
	r := couponkit.CheckoutRequest{Key: m.drawKey(t), Customer: drawCustomer(t), Cart: machineCart()}
	if rapid.IntRange(0, 9).Draw(t, "with coupon") > 0 {
		r.Codes = only(m.drawCoupon(t))
	}
	m.pursue(t, r)
}

// pursue checks out, perhaps a second time with the same key after a failure.
func (m *machine) pursue(t *rapid.T, r couponkit.CheckoutRequest) {
	c, err := m.service.Checkout(t.Context(), r)
	expect(err)
	if err == nil && c.Order.Quote.Total != c.Order.Quote.Subtotal-c.Order.Quote.Discount+c.Order.Quote.Shipping {
		panic(fatal(fmt.Sprintf("order %s does not add up", c.Order.ID)))
	}
	if err != nil && m.fuse.blown && rapid.Bool().Draw(t, "again") {
		m.fuse.restart()
		_, err = m.service.Checkout(t.Context(), r)
		expect(err)
	}
}

func (m *machine) repeat(t *rapid.T) {
	r := couponkit.CheckoutRequest{Key: m.drawKey(t), Customer: drawCustomer(t), Cart: machineCart(), Codes: only(m.drawCoupon(t))}
	m.pursue(t, r)
	m.pursue(t, r)
}

func (m *machine) product(t *rapid.T) {
	_, err := m.service.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
		Mode: couponkit.ProductLink, Amount: pricing.NewMoney(20_00, pricing.EUR()),
		CheckoutRequest: couponkit.CheckoutRequest{Key: m.drawKey(t), Customer: drawCustomer(t), Codes: only(m.drawCoupon(t))},
	})
	expect(err)
}

// act does something to a session, if it is in a state that allows it.
func (m *machine) act(t *rapid.T, what func(id string) error) {
	sessions := m.fake.Sessions()
	if len(sessions) == 0 {
		return
	}
	recent := sessions[max(0, len(sessions)-4):]
	if err := what(rapid.SampledFrom(recent).Draw(t, "session").ID); err != nil && !errors.Is(err, processor.ErrRejected) {
		panic(fatal(fmt.Sprintf("customer: %v", err)))
	}
}

func (m *machine) pay(t *rapid.T)      { m.act(t, m.fake.Pay) }
func (m *machine) payLater(t *rapid.T) { m.act(t, m.fake.PayLater) }
func (m *machine) arrives(t *rapid.T)  { m.act(t, m.fake.PaymentArrives) }
func (m *machine) fails(t *rapid.T)    { m.act(t, m.fake.PaymentFails) }

// deliver hands one event to the webhook: any of those that were not lost, which
// may be delivered again later.
func (m *machine) deliver(t *rapid.T) {
	m.deliveries = append(m.deliveries, m.fake.Deliveries()...)
	if len(m.deliveries) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.deliveries)-1).Draw(t, "delivery")
	d := m.deliveries[i]
	if rapid.Bool().Draw(t, "last time") {
		m.deliveries = slices.Delete(m.deliveries, i, i+1)
	}
	expect(m.hand(t.Context(), d))
}

func (m *machine) hand(ctx context.Context, d fakeprocessor.Delivery) error {
	e, err := m.fake.ParseEvent(d.Payload, d.Signature)
	if err != nil {
		return err
	}
	_, err = m.service.HandleEvent(ctx, e)
	return err
}

func (m *machine) pass(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
}

func (m *machine) sweep(t *rapid.T) {
	_, err := m.service.Sweep(t.Context(), 0)
	expect(err)
}

func (m *machine) reconcile(t *rapid.T) {
	_, err := m.service.Reconcile(t.Context(), couponkit.ReconcileOptions{DryRun: rapid.Bool().Draw(t, "dry run")})
	expect(err)
}

func (m *machine) tamper(t *rapid.T) {
	found, err := store.Find(context.Background(), m.store, store.LookUp{Names: store.ByID(m.drawCoupon(t))})
	c := found.Coupon
	if err != nil || c.Mirror.IsZero() {
		return
	}
	how := rapid.SampledFrom([]func(coupon.Mirror) error{
		m.fake.TamperActivate, m.fake.TamperDeactivate, m.fake.TamperDelete, m.fake.TamperKill,
	}).Draw(t, "how")
	if err := how(c.Mirror); err != nil && !errors.Is(err, processor.ErrNotFound) && !errors.Is(err, processor.ErrRejected) {
		panic(fatal(fmt.Sprintf("tamper: %v", err)))
	}
}

func (m *machine) stop(t *rapid.T) {
	m.fuse.arm(rapid.IntRange(0, 8).Draw(t, "calls"), rapid.Bool().Draw(t, "after effect"))
}

func (m *machine) lose(t *rapid.T) {
	m.fake.Inject(fakeprocessor.Fault{
		Kind: rapid.SampledFrom([]fakeprocessor.Kind{fakeprocessor.LostBefore, fakeprocessor.LostAfter}).Draw(t, "kind"),
		Step: rapid.SampledFrom([]fakeprocessor.Step{"", fakeprocessor.AnyStep}).Draw(t, "step"),
		Skip: rapid.IntRange(0, 3).Draw(t, "skip"),
	})
}

// check runs after every action. A process that has stopped comes up again.
func (m *machine) check(t *rapid.T) {
	if m.fuse.blown {
		m.fuse.restart()
	}
	if faults := m.faults(); len(faults) > 0 {
		panic(fatal(strings.Join(faults, "\n")))
	}
}

// faults returns what must not be, at any moment.
func (m *machine) faults() []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	all, err := storetest.Read(context.Background(), m.store)
	if err == nil {
		err = all.Check()
	}
	if err != nil {
		fault("%v", err)
	}
	for _, c := range all.Coupons {
		completed, live, kept := counts(all.Uses, c.ID, "")
		if c.UsedCount != completed || c.ReservedCount != live {
			fault("coupon %s counts %d used and %d reserved, its rows %d and %d", c.ID, c.UsedCount, c.ReservedCount, completed, live)
		}
		most := m.greatest(c)
		if most.MaxUses > 0 && kept > most.MaxUses {
			fault("coupon %s: %d uses of at most %d", c.ID, kept, most.MaxUses)
		}
		for i := range machineCustomers {
			if _, _, kept := counts(all.Uses, c.ID, customerID(i)); most.MaxUsesPerUser > 0 && kept > most.MaxUsesPerUser {
				fault("coupon %s: %d uses of %s, at most %d", c.ID, kept, customerID(i), most.MaxUsesPerUser)
			}
		}
	}
	m.faultsOfPayable(all.Orders, fault)
	return faults
}

// faultsOfPayable looks for sessions that can be paid for claims that nobody holds, or that
// another session can be paid for. Sessions that no order has were shown to nobody.
func (m *machine) faultsOfPayable(orders []store.Settled, fault func(string, ...any)) {
	byID, bySession := map[string]redemption.Order{}, map[string]redemption.Order{}
	for _, o := range orders {
		byID[o.Order.ID], bySession[o.Order.SessionID] = o.Order, o.Order
	}
	holders := map[string]string{}
	for _, session := range m.fake.Sessions() {
		o, attached := bySession[session.ID]
		if session.Status != processor.SessionOpen || !attached {
			continue
		}
		holder := o
		for holder.ReplacedBy != "" && holder.State == redemption.OrderCancelled {
			holder = byID[holder.ReplacedBy]
		}
		if superseded(holder, byID) {
			continue // by a payment for a session that nobody knew; the end of this one may be lost
		}
		if holder.State != redemption.OrderOpen {
			fault("session %s of order %s can be paid, and order %s is %s", session.ID, o.ID, holder.ID, holder.State)
		}
		if other, twice := holders[holder.ID]; twice {
			fault("sessions %s and %s can be paid for the claims of order %s", other, session.ID, holder.ID)
		}
		holders[holder.ID] = session.ID
	}
}

// superseded reports whether an order that this one has replaced is paid.
func superseded(o redemption.Order, byID map[string]redemption.Order) bool {
	for o.Replaces != "" {
		if o = byID[o.Replaces]; o.State == redemption.OrderPaid {
			return true
		}
	}
	return false
}

// greatest remembers the greatest limits of a coupon: lowering one below what is
// used is allowed.
func (m *machine) greatest(c coupon.Coupon) coupon.Limits {
	most, known := m.most[c.ID]
	if !known {
		most = c.Limits
	}
	most.MaxUses = greater(most.MaxUses, c.Limits.MaxUses)
	most.MaxUsesPerUser = greater(most.MaxUsesPerUser, c.Limits.MaxUsesPerUser)
	m.most[c.ID] = most
	return most
}

// greater compares limits, of which 0 is none and so the greatest.
func greater(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// counts returns completed and reserved uses, and those that limits bound: uses that were
// recorded over the limit are not among them.
func counts(uses []redemption.Use, couponID, customerID string) (completed, reserved, kept int64) {
	for _, u := range uses {
		if u.CouponID != couponID || customerID != "" && u.CustomerID != customerID || u.State == redemption.Released {
			continue
		}
		if u.State == redemption.Completed {
			completed++
		} else {
			reserved++
		}
		if !u.OverLimit {
			kept++
		}
	}
	return completed, reserved, kept
}

// comeToRest lets everything end well: faults are gone, delayed payments are
// decided, every event arrives twice, and enough time passes for the sweeps.
func (m *machine) comeToRest(ctx context.Context) error {
	m.fuse.restart()
	m.fake.Heal()
	for _, s := range m.fake.Sessions() {
		if s.Status == processor.SessionComplete && s.PaymentStatus == processor.Unpaid && !s.PaymentFailed {
			if err := m.fake.PaymentArrives(s.ID); err != nil {
				return err
			}
		}
	}
	m.fake.Deliveries()
	var failures []error
	for range 2 {
		for _, d := range m.fake.Redeliveries() {
			failures = append(failures, m.hand(ctx, d))
		}
		m.now = m.now.Add(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace + couponkit.DefaultPaymentWait)
		_, err := m.service.Sweep(ctx, 0)
		failures = append(failures, err)
		_, err = m.service.Reconcile(ctx, couponkit.ReconcileOptions{})
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// faultsAtRest returns what must not be once everything has ended.
func (m *machine) faultsAtRest() []string {
	faults := m.faults()
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	all, err := storetest.Read(context.Background(), m.store)
	if err != nil {
		return append(faults, err.Error())
	}
	debited := make(map[string]int64)
	for _, u := range all.Uses {
		if u.State == redemption.Reserved && (u.OrderID != "" || u.PointsState != redemption.PointsDebited) {
			fault("use %s is reserved for ever: %+v", u.ID, u)
		}
		switch u.PointsState {
		case redemption.PointsDebited:
			debited[u.CustomerID] += u.Points
		case redemption.PointsPending, redemption.PointsRefundDue:
			fault("points of %s are still %s", u.ID, u.PointsState)
		case redemption.NoPoints, redemption.PointsRefunded, redemption.PointsPassedOn:
		}
	}
	m.faultsOfSessions(all, fault)
	for i := range machineCustomers {
		id := customerID(i)
		if sum := m.ledger.Balance(id) + debited[id]; sum != machinePoints {
			fault("%s: balance and debited points are %d, not %d", id, sum, machinePoints)
		}
	}
	m.faultsOfMirror(all.Coupons, fault)
	return faults
}

// faultsOfSessions compares sessions with orders: each session that was paid has a paid order
// of its total, with its use completed, and nothing else has.
func (m *machine) faultsOfSessions(all storetest.Everything, fault func(string, ...any)) {
	orders := map[string]store.Settled{}
	completed := 0
	for _, o := range all.Orders {
		orders[o.Order.ID] = o
		for _, p := range o.Order.OtherPayments {
			fault("order %s was paid in session %s, and no order has two sessions", o.Order.ID, p.SessionID)
		}
		for _, u := range o.Uses {
			if u.State == redemption.Completed {
				completed++
			}
		}
	}
	paid := 0
	for _, s := range m.fake.Sessions() {
		settled := s.Status == processor.SessionComplete && s.PaymentStatus.Settled()
		o, found := orders[s.Metadata[processor.MetadataOrderID]]
		switch {
		case !found:
			fault("session %s has no order", s.ID)
		case o.Order.Quote.Total != s.Total:
			fault("session %s charges %d, its order %d", s.ID, s.Total, o.Order.Quote.Total)
		case settled != (o.Order.State == redemption.OrderPaid):
			fault("session %s is settled: %t, its order is %s", s.ID, settled, o.Order.State)
		}
		couponID := s.Metadata[processor.MetadataCouponID]
		if !settled || couponID == "" {
			continue
		}
		paid++
		if len(o.Uses) != 1 || o.Uses[0].State != redemption.Completed || o.Uses[0].CouponID != couponID {
			fault("paid session %s has the uses %+v", s.ID, o.Uses)
		}
	}
	if paid != completed {
		fault("%d paid sessions with a coupon, %d completed uses", paid, completed)
	}
}

// faultsOfMirror compares the processor with the store.
func (m *machine) faultsOfMirror(stored []coupon.Coupon, fault func(string, ...any)) {
	active := make(map[string]int)
	for _, code := range m.fake.PromotionCodes() {
		if code.Active {
			active[code.Code]++
		}
	}
	owners := make(map[string]int)
	objects := make(map[string]fakeprocessor.Coupon)
	for _, c := range m.fake.Coupons() {
		owners[c.Owner]++
		objects[c.Owner] = c
	}
	for _, c := range stored {
		want := 0
		if c.Active() {
			want = 1
		}
		status, err := m.fake.VerifyMirror(context.Background(), c)
		if err != nil || (status == processor.MirrorValid) != c.Active() || !c.Mirrored() || owners[c.ID] != 1 || active[c.Code.String()] != want {
			fault("mirror of %s coupon %s is %s (%v), mirrored %t, %d objects, %d active codes",
				c.State, c.ID, status, err, c.Mirrored(), owners[c.ID], active[c.Code.String()])
		}
	}
	for _, c := range stored {
		if object := objects[c.ID]; object.Name != c.Name || object.MaxUses != c.Limits.MaxUses || !object.Discount.Equal(c.Discount) {
			fault("mirror of coupon %s is %+v, not %q with at most %d uses", c.ID, object, c.Name, c.Limits.MaxUses)
		}
	}
	if len(owners) != len(stored) {
		fault("%d mirrors for %d coupons", len(owners), len(stored))
	}
}

// fatal ends the life of a machine with a fault.
type fatal string

// run is one life of a machine, from the first step to its rest. It returns the
// fault that it ended with, or "".
func run(t *rapid.T, broken parts) (fault string) {
	defer func() {
		switch ended := recover().(type) {
		case nil:
		case fatal:
			fault = string(ended)
		default:
			panic(ended) // rapid's own
		}
	}()
	m := newMachine(broken)
	m.live(t)
	if err := m.comeToRest(context.Background()); err != nil {
		return "come to rest: " + err.Error()
	}
	return strings.Join(m.faultsAtRest(), "\n")
}

// TestStateMachine holds contract section 5 and the design's list of what must be
// impossible, for the whole service.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if fault := run(t, parts{}); fault != "" {
			t.Fatal(fault)
		}
	})
}

// TestStateMachineFindsFaults: a machine with a broken part does not pass, or the
// test above would prove nothing.
func TestStateMachineFindsFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]parts{
		"a ledger that refunds again and again": {points: func(p couponkit.Points) couponkit.Points { return againLedger{p} }},
		"a sweep that forgets refunds":          {store: func(s store.Store) store.Store { return forgetfulStore{s} }},
		"a payment that counts with each event": {store: func(s store.Store) store.Store { return &countingStore{Store: s} }},
		"an end that leaves the session":        {processor: func(p processor.Processor) processor.Processor { return lazyProcessor{p} }},
		"a removal that leaves the mirror":      {processor: func(p processor.Processor) processor.Processor { return untidyProcessor{p} }},
		"a switch that switches nothing":        {processor: func(p processor.Processor) processor.Processor { return deafProcessor{p} }},
	}
	for name, broken := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault := ""
			life := rapid.Custom(func(t *rapid.T) string { return run(t, broken) })
			for seed := 0; seed < 400 && fault == ""; seed++ {
				fault = life.Example(seed)
			}
			if fault == "" {
				t.Fatal("no life of the machine has shown the fault")
			}
			t.Log(fault)
		})
	}
}

// againLedger gives back what it has given back.
type againLedger struct{ couponkit.Points }

func (l againLedger) Refund(ctx context.Context, customerID, exchangeID string) error {
	err := l.Points.Refund(ctx, customerID, exchangeID)
	if behind, ok := l.Points.(gatedPoints); ok && err == nil {
		if inner, ok := behind.Points.(*ledger); ok {
			inner.Credit(customerID, 1)
		}
	}
	return err
}

// forgetfulStore does not tell the sweep of refunds that are due.
type forgetfulStore struct{ store.Store }

func (s forgetfulStore) ListUses(ctx context.Context, l store.UseList) (store.UsePage, error) {
	page, err := s.Store.ListUses(ctx, l)
	if !l.DueAt.IsZero() {
		page.Items = slices.DeleteFunc(page.Items, func(u redemption.Use) bool { return u.PointsState == redemption.PointsRefundDue })
	}
	return page, err
}

// countingStore takes every payment for that of a session of its own.
type countingStore struct {
	store.Store
	payments int
}

func (s *countingStore) Apply(ctx context.Context, e store.Settlement) (store.Settled, error) {
	if e.Event.Kind == redemption.Paid {
		s.payments++
		e.Event.SessionID = fmt.Sprintf("%s#%d", e.Event.SessionID, s.payments)
		e.Unknown.Order.SessionID = e.Event.SessionID
	}
	return s.Store.Apply(ctx, e)
}

// lazyProcessor ends no session, and says that it has.
type lazyProcessor struct{ processor.Processor }

func (p lazyProcessor) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	s, err := p.Processor.Session(ctx, id)
	if s.Status == processor.SessionOpen {
		s.Status = processor.SessionExpired
	}
	return s, err
}

// untidyProcessor removes nothing.
type untidyProcessor struct{ processor.Processor }

func (untidyProcessor) RemoveMirror(context.Context, coupon.Coupon) error { return nil }

// deafProcessor leaves promotion codes as they are.
type deafProcessor struct{ processor.Processor }

func (deafProcessor) SetMirrorActive(_ context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return c.Mirror, nil
}
