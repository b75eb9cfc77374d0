package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// CheckInvariants reads the whole store and returns everything that is wrong with it,
// joined, or nil. The store must be quiet meanwhile. These are the invariants:
//
//   - every record is valid and listed once, and read one by one it is the same;
//   - no idempotency key of a customer has two reservations;
//   - no session has two completed redemptions;
//   - an order with a redemption names its coupon, customer and reservation; it is
//     paid when the redemption is completed, and has ended when it is released (paid
//     too, if another session has paid it);
//   - UsedCount and ReservedCount of every coupon are its completed and live
//     redemptions, and LookUp reports the same for every customer;
//   - no coupon has more completed and live redemptions, in all and of one customer,
//     than its limits allow; those flagged as over the limit come on top.
//
// A limit that was lowered may well be exceeded: lowered are the IDs of the coupons
// whose limits are not compared.
func CheckInvariants(ctx context.Context, s store.Store, lowered ...string) error {
	coupons, err := allCoupons(ctx, s)
	if err != nil {
		return fmt.Errorf("list coupons: %w", err)
	}
	redemptions, err := allRedemptions(ctx, s, store.RedemptionList{})
	if err != nil {
		return fmt.Errorf("list redemptions: %w", err)
	}
	a := &audit{s: s}
	a.records(ctx, redemptions)
	for _, c := range coupons {
		a.coupon(ctx, c, redemptions, slices.Contains(lowered, c.ID))
	}
	return errors.Join(a.faults...)
}

// audit collects what is wrong.
type audit struct {
	s      store.Store
	faults []error
}

func (a *audit) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Errorf(format, args...))
}

func (a *audit) records(ctx context.Context, all []redemption.Redemption) {
	ids, sessions, keys := map[string]bool{}, map[string]string{}, map[[2]string]string{}
	for _, r := range all {
		if ids[r.ID] {
			a.fault("redemption %s is listed twice", r.ID)
			continue
		}
		ids[r.ID] = true
		if err := r.Validate(); err != nil {
			a.fault("redemption %s: %w", r.ID, err)
		}
		if one, err := a.s.Redemption(ctx, r.ID); err != nil || !one.Equal(r) {
			a.fault("redemption %s is listed as %+v, and read as %+v with the error %v", r.ID, r, one, err)
		}
		key := [2]string{r.CustomerID, r.Key}
		if other, used := keys[key]; used {
			a.fault("redemptions %s and %s have one key", other, r.ID)
		}
		keys[key] = r.ID
		if r.State == redemption.Completed {
			if other, paid := sessions[r.SessionID]; paid {
				a.fault("session %s has completed both redemptions %s and %s", r.SessionID, other, r.ID)
			}
			sessions[r.SessionID] = r.ID
		}
		a.states(r)
		if r.OrderID != "" {
			a.order(ctx, r)
		}
	}
}

// states checks that the fields of a record fit its state.
func (a *audit) states(r redemption.Redemption) {
	if completed := r.State == redemption.Completed; completed == r.CompletedAt.IsZero() {
		a.fault("redemption %s is %s, and was completed at %v", r.ID, r.State, r.CompletedAt)
	}
	if released := r.State == redemption.Released; released == r.ReleasedAt.IsZero() {
		a.fault("redemption %s is %s, and was released at %v", r.ID, r.State, r.ReleasedAt)
	}
	if r.State != redemption.Reserved && (r.AwaitingPayment || !r.Deadline.IsZero() || !r.LeavingUntil.IsZero()) {
		a.fault("redemption %s is %s, and still waits until %v", r.ID, r.State, r.Deadline)
	}
	if r.OverLimit && r.State != redemption.Completed {
		a.fault("redemption %s is over the limit and %s", r.ID, r.State)
	}
	if r.State == redemption.Released && (r.PointsState == redemption.PointsPending || r.PointsState == redemption.PointsDebited) {
		a.fault("redemption %s is released, and its points are %s", r.ID, r.PointsState)
	}
}

func (a *audit) order(ctx context.Context, r redemption.Redemption) {
	o, err := a.s.Order(ctx, r.OrderID)
	switch {
	case errors.Is(err, store.ErrNotFound) && r.Origin == redemption.FromPayment:
		return // the metadata named it, and nothing else knows of it
	case err != nil:
		a.fault("order %s of redemption %s: %w", r.OrderID, r.ID, err)
		return
	}
	if err := o.Validate(); err != nil {
		a.fault("order %s: %w", o.ID, err)
	}
	if r.Origin != redemption.FromPayment && (o.ReservationID != r.ID || o.CouponID != r.CouponID || o.CustomerID != r.CustomerID) {
		a.fault("redemption %s of coupon %s and customer %q has an order of redemption %s, coupon %s and customer %q",
			r.ID, r.CouponID, r.CustomerID, o.ReservationID, o.CouponID, o.CustomerID)
	}
	if r.State == redemption.Completed && o.State != store.OrderPaid || r.State == redemption.Released && !o.Ended() {
		a.fault("redemption %s is %s, and its order %s is %s", r.ID, r.State, o.ID, o.State)
	}
}

// tally is how often a coupon was used.
type tally struct {
	completed, reserved, flagged int64
	held                         []string
}

func (t *tally) add(r redemption.Redemption) {
	completed, reserved := r.Counts()
	t.completed += completed
	t.reserved += reserved
	if r.OverLimit {
		t.flagged += completed
	}
	if r.Live() {
		t.held = append(t.held, r.ID)
	}
}

// over reports whether more places were given out than the limit allows.
func (t *tally) over(limit int64) bool { return limit > 0 && t.completed-t.flagged+t.reserved > limit }

func (a *audit) coupon(ctx context.Context, c coupon.Coupon, all []redemption.Redemption, lowered bool) {
	var sum tally
	customers := map[string]*tally{}
	for _, r := range all {
		if r.CouponID != c.ID {
			continue
		}
		sum.add(r)
		if customers[r.CustomerID] == nil {
			customers[r.CustomerID] = &tally{}
		}
		customers[r.CustomerID].add(r)
	}
	if c.UsedCount != sum.completed || c.ReservedCount != sum.reserved {
		a.fault("coupon %s has UsedCount %d and ReservedCount %d, with %d completed and %d live redemptions",
			c.ID, c.UsedCount, c.ReservedCount, sum.completed, sum.reserved)
	}
	if !lowered && sum.over(c.Limits.MaxUses) {
		a.fault("coupon %s has %d completed (%d flagged) and %d live redemptions, and allows %d",
			c.ID, sum.completed, sum.flagged, sum.reserved, c.Limits.MaxUses)
	}
	for customer, t := range customers {
		if customer == "" {
			continue // payments of nobody that is known
		}
		if !lowered && t.over(c.Limits.MaxUsesPerUser) {
			a.fault("coupon %s has %d completed (%d flagged) and %d live redemptions of customer %q, and allows %d",
				c.ID, t.completed, t.flagged, t.reserved, customer, c.Limits.MaxUsesPerUser)
		}
		a.lookUp(ctx, c.ID, customer, t)
	}
}

func (a *audit) lookUp(ctx context.Context, couponID, customer string, t *tally) {
	found, err := a.s.LookUp(ctx, store.LookUp{CouponID: couponID, CustomerID: customer})
	if err != nil {
		a.fault("look up coupon %s: %w", couponID, err)
		return
	}
	if found.CompletedByCustomer != t.completed || found.ReservedByCustomer != t.reserved {
		a.fault("LookUp of coupon %s counts %d completed and %d live redemptions of customer %q, and there are %d and %d",
			couponID, found.CompletedByCustomer, found.ReservedByCustomer, customer, t.completed, t.reserved)
	}
	switch listed := len(found.Held); {
	case listed > store.MaxHeld:
		a.fault("LookUp of coupon %s lists %d live redemptions of customer %q, and at most %d are to be listed", couponID, listed, customer, store.MaxHeld)
	case listed != min(len(t.held), store.MaxHeld):
		a.fault("LookUp of coupon %s lists %d live redemptions of customer %q, and there are %d", couponID, listed, customer, len(t.held))
	}
	for _, r := range found.Held {
		if !slices.Contains(t.held, r.ID) {
			a.fault("LookUp of coupon %s lists redemption %s as held by customer %q", couponID, r.ID, customer)
		}
	}
}
