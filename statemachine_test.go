package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/host"
	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// machine is the whole service in a world that goes wrong: processes stop between
// any two calls, answers are lost, events come late, twice and in any order,
// customers repeat themselves, administrators interfere, and the clock jumps.
type machine struct {
	now     time.Time
	fuse    *fuse
	store   store.Store // as it really is
	fake    *fakeprocessor.Processor
	ledger  *host.Ledger
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
		ledger: &host.Ledger{}, most: make(map[string]coupon.Limits),
	}
	clock := func() time.Time { return m.now }
	m.store = memstore.New()
	m.fake = fakeprocessor.New(fakeprocessor.Options{
		Now: clock, Tolerance: 10_000 * time.Hour,
		Abilities: processor.Abilities{MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): 50}},
	})
	users := host.Directory{}
	for i := range machineCustomers {
		id := customerID(i)
		users[id] = couponkit.User{ID: id, Email: id + "@example.org"}
		m.ledger.Credit(id, machinePoints)
	}
	var used store.Store = crashingStore(m.store, m.fuse)
	var payments processor.Processor = crashingProcessor(m.fake, m.fuse)
	var points couponkit.Points = crashingPoints(m.ledger, m.fuse)
	if broken.store != nil {
		used = broken.store(used)
	}
	if broken.processor != nil {
		payments = broken.processor(payments)
	}
	if broken.points != nil {
		points = broken.points(points)
	}
	service, err := couponkit.New(used, payments,
		couponkit.WithClock(clock), couponkit.WithUsers(users), couponkit.WithPoints(points),
		couponkit.WithIDs(func(prefix string) string { m.ids++; return fmt.Sprintf("%s%06d", prefix, m.ids) }),
	)
	if err != nil {
		panic(err)
	}
	m.service = service
	return m
}

func customerID(i int) string { return fmt.Sprintf("customer%d", i) }

func drawCustomer(t *rapid.T) eligibility.Customer {
	return eligibility.Customer{ID: customerID(rapid.IntRange(0, machineCustomers-1).Draw(t, "customer"))}
}

// expect fails unless err is one that a caller of the service has to expect.
func expect(err error) {
	var refused *coupon.Rejection
	var invalid *pricing.ValidationError
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
		DiscountType:  rapid.SampledFrom([]pricing.DiscountType{pricing.Percentage, pricing.FixedAmount}).Draw(t, "type"),
		DiscountValue: decimal.NewFromInt(rapid.Int64Range(1, 100).Draw(t, "value")),
		Distribution:  rapid.SampledFrom([]coupon.Distribution{coupon.General, coupon.PointsRedeemable}).Draw(t, "distribution"),
		MaxUses:       drawLimit(t, "maxUses"), MaxUsesPerUser: drawLimit(t, "maxUsesPerUser"),
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
	held, err := m.service.Reservations(context.Background(), c.ID)
	expect(err)
	if len(held) == 0 {
		return
	}
	expect(m.service.CancelExchange(t.Context(), c.ID, rapid.SampledFrom(held).Draw(t, "reservation").ID))
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
		r.Code = m.drawCoupon(t)
	}
	m.pursue(t, r)
}

// pursue checks out, perhaps a second time with the same key after a failure.
func (m *machine) pursue(t *rapid.T, r couponkit.CheckoutRequest) {
	c, err := m.service.Checkout(t.Context(), r)
	expect(err)
	if err == nil && c.Order.Quote.Total != c.Order.Quote.Subtotal-c.Order.DiscountAmount+c.Order.Quote.Shipping {
		panic(fatal(fmt.Sprintf("order %s does not add up", c.Order.ID)))
	}
	if err != nil && m.fuse.blown && rapid.Bool().Draw(t, "again") {
		m.fuse.restart()
		_, err = m.service.Checkout(t.Context(), r)
		expect(err)
	}
}

func (m *machine) repeat(t *rapid.T) {
	r := couponkit.CheckoutRequest{Key: m.drawKey(t), Customer: drawCustomer(t), Cart: machineCart(), Code: m.drawCoupon(t)}
	m.pursue(t, r)
	m.pursue(t, r)
}

func (m *machine) product(t *rapid.T) {
	_, err := m.service.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
		Mode: couponkit.ProductLink, Amount: pricing.NewMoney(20_00, pricing.EUR()),
		CheckoutRequest: couponkit.CheckoutRequest{Key: m.drawKey(t), Customer: drawCustomer(t), Code: m.drawCoupon(t)},
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
	c, err := m.store.Coupon(context.Background(), m.drawCoupon(t))
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
	rows := m.redemptions()
	for _, c := range m.allCoupons() {
		completed, live, kept := counts(rows, c.ID, "")
		if c.UsedCount != completed || c.ReservedCount != live {
			fault("coupon %s counts %d used and %d reserved, its rows %d and %d", c.ID, c.UsedCount, c.ReservedCount, completed, live)
		}
		most := m.greatest(c)
		if most.MaxUses > 0 && kept > most.MaxUses {
			fault("coupon %s: %d places of at most %d", c.ID, kept, most.MaxUses)
		}
		for i := range machineCustomers {
			if _, _, kept := counts(rows, c.ID, customerID(i)); most.MaxUsesPerUser > 0 && kept > most.MaxUsesPerUser {
				fault("coupon %s: %d places of %s, at most %d", c.ID, kept, customerID(i), most.MaxUsesPerUser)
			}
		}
	}
	sessions := make(map[string]string)
	for _, r := range rows {
		if other, twice := sessions[r.SessionID]; twice && r.State == redemption.Completed {
			fault("session %s has two redemptions, %s and %s", r.SessionID, other, r.ID)
		}
		if r.State == redemption.Completed {
			sessions[r.SessionID] = r.ID
		}
	}
	return faults
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

// counts returns completed and live redemptions, and the places that they take
// within the limits: those that were recorded over the limit take none.
func counts(rows []redemption.Redemption, couponID, customerID string) (completed, live, kept int64) {
	for _, r := range rows {
		if r.CouponID != couponID || customerID != "" && r.CustomerID != customerID {
			continue
		}
		c, l := r.Counts()
		completed, live = completed+c, live+l
		if !r.OverLimit {
			kept += c + l
		}
	}
	return completed, live, kept
}

func (m *machine) allCoupons() []coupon.Coupon {
	var all []coupon.Coupon
	list := store.CouponList{PageSize: store.MaxPageSize}
	for {
		page, err := m.store.ListCoupons(context.Background(), list)
		if err != nil {
			panic(err)
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		list.After = page.Next
	}
}

func (m *machine) redemptions() []redemption.Redemption {
	var all []redemption.Redemption
	list := store.RedemptionList{PageSize: store.MaxPageSize}
	for {
		page, err := m.store.ListRedemptions(context.Background(), list)
		if err != nil {
			panic(err)
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		list.After = page.Next
	}
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
	rows := m.redemptions()
	bySession := make(map[string]redemption.Redemption)
	debited := make(map[string]int64)
	for _, r := range rows {
		if r.State == redemption.Completed {
			bySession[r.SessionID] = r
		}
		if r.State == redemption.Reserved && (r.OrderID != "" || r.PointsState != redemption.PointsDebited) {
			fault("reservation %s lives for ever: %+v", r.ID, r)
		}
		switch r.PointsState {
		case redemption.PointsDebited:
			debited[r.CustomerID] += r.Points
		case redemption.PointsPending, redemption.PointsRefundDue:
			fault("points of %s are still %s", r.ID, r.PointsState)
		case redemption.NoPoints, redemption.PointsRefunded:
		}
	}
	m.faultsOfSessions(bySession, fault)
	for i := range machineCustomers {
		id := customerID(i)
		if sum := m.ledger.Balance(id) + debited[id]; sum != machinePoints {
			fault("%s: balance and debited points are %d, not %d", id, sum, machinePoints)
		}
	}
	m.faultsOfMirror(fault)
	return faults
}

// faultsOfSessions compares sessions with redemptions: each that was paid and has a
// coupon has one, and nothing else has.
func (m *machine) faultsOfSessions(completed map[string]redemption.Redemption, fault func(string, ...any)) {
	paid := 0
	for _, s := range m.fake.Sessions() {
		settled := s.Status == processor.SessionComplete && s.PaymentStatus.Settled()
		order, err := m.store.Order(context.Background(), s.Metadata[processor.MetadataOrderID])
		switch {
		case err != nil:
			fault("session %s: %v", s.ID, err)
		case order.Quote.Total != s.Total:
			fault("session %s charges %d, its order %d", s.ID, s.Total, order.Quote.Total)
		case settled != (order.State == store.OrderPaid):
			fault("session %s is settled: %t, its order is %s", s.ID, settled, order.State)
		}
		if !settled || s.Metadata[processor.MetadataCouponID] == "" {
			continue
		}
		paid++
		if r, counted := completed[s.ID]; !counted || r.CouponID != s.Metadata[processor.MetadataCouponID] {
			fault("paid session %s has no redemption", s.ID)
		}
	}
	if paid != len(completed) {
		fault("%d paid sessions with a coupon, %d completed redemptions", paid, len(completed))
	}
}

// faultsOfMirror compares the processor with the store.
func (m *machine) faultsOfMirror(fault func(string, ...any)) {
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
	stored := m.allCoupons()
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
		if object := objects[c.ID]; object.Name != c.Name || object.MaxUses != c.Limits.MaxUses || object.Discount != c.Discount {
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

func (l againLedger) Refund(ctx context.Context, customerID, reservationID string) error {
	err := l.Points.Refund(ctx, customerID, reservationID)
	if ledger, ok := l.Points.(simulation.Points); ok && err == nil {
		if inner, ok := ledger.Inner.(*host.Ledger); ok {
			inner.Credit(customerID, 1)
		}
	}
	return err
}

// forgetfulStore does not tell the sweep of refunds that are due.
type forgetfulStore struct{ store.Store }

func (s forgetfulStore) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	due, err := s.Store.Due(ctx, at, limit)
	return slices.DeleteFunc(due, redemption.Redemption.RefundDue), err
}

// countingStore takes every event of a session for a session of its own.
type countingStore struct {
	store.Store
	events int
}

func (s *countingStore) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.Event.Kind == redemption.SessionCompleted {
		s.events++
		t.Event.SessionID = fmt.Sprintf("%s#%d", t.Event.SessionID, s.events)
	}
	return s.Store.Settle(ctx, t)
}

// untidyProcessor removes nothing.
type untidyProcessor struct{ processor.Processor }

func (untidyProcessor) RemoveMirror(context.Context, coupon.Coupon) error { return nil }

// deafProcessor leaves promotion codes as they are.
type deafProcessor struct{ processor.Processor }

func (deafProcessor) SetMirrorActive(_ context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return c.Mirror, nil
}
