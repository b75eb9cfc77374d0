package payments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// Points is the host's ledger of points. Package couponkit documents it and the errors.
type Points interface {
	Debit(ctx context.Context, customerID, exchangeID string, points int64) error
	Refund(ctx context.Context, customerID, exchangeID string) error
}

// These errors are documented in package couponkit.
var (
	ErrNoLedger           = errors.New("no points ledger is configured")
	ErrInsufficientPoints = errors.New("insufficient points")
	ErrReservationClosed  = errors.New("reservation closed")
)

// ExchangeRequest asks for a coupon in exchange for points. Its fields are those of couponkit.ExchangeRequest.
type ExchangeRequest struct {
	Key      string
	Coupon   string
	Customer eligibility.Customer
}

// Exchange reserves a use of a coupon, and debits the coupon's price in points.
func (p *Payments) Exchange(ctx context.Context, attempt *settle.Attempt, r ExchangeRequest) (reserved redemption.Use, err error) {
	for range maxAttempts {
		reserved, err = p.exchange(ctx, attempt, r)
		if !errors.Is(err, store.ErrStaleRevision) && !errors.Is(err, store.ErrLimit) {
			return reserved, err
		}
	}
	return redemption.Use{}, fmt.Errorf("%w: %w", store.ErrConflict, err)
}

// exchange makes one attempt of Exchange. The coupon or its counters may change before the use is
// reserved.
func (p *Payments) exchange(ctx context.Context, attempt *settle.Attempt, r ExchangeRequest) (redemption.Use, error) {
	d, err := p.Quoter.Named(ctx, r.Coupon, r.Customer)
	if id := strings.TrimSpace(r.Coupon); errors.Is(err, coupon.ErrNotFound) && coupon.IsID(id) {
		made, err := p.exchangedBefore(ctx, id, r, redemption.Use{}, err)
		attempt.CouponID = made.CouponID
		return made, err
	}
	if err != nil {
		return redemption.Use{}, err
	}
	of := &d.Codes[0]
	attempt.CouponID = of.Coupon.ID
	held := exchangeOf(of.Held, r.Key)
	refused := checkExchange(d, held)
	switch {
	case !held.IsZero() && held.Key == r.Key:
		return p.debit(ctx, held, refused)
	case !held.IsZero(), refused != nil:
		return p.exchangedBefore(ctx, of.Coupon.ID, r, held, refused)
	}
	if r.Key == "" {
		if r.Key, err = p.NewID("key_"); err != nil {
			return redemption.Use{}, err
		}
	}
	id, err := p.NewID(redemption.UseIDPrefix)
	if err != nil {
		return redemption.Use{}, err
	}
	now, c := p.Now(), &of.Coupon
	claimant := eligibility.Claimant{Coupon: c, Code: of.Code, Identities: r.Customer.Identities(), At: now}
	reserved, err := p.Store.Reserve(ctx, store.Reservation{By: p.Actor(ctx), Coupons: []store.CouponAt{of.Seen}, Uses: []redemption.Use{{
		ID: id, ExchangeID: id, Key: r.Key, CouponID: c.ID, Code: c.Code, CustomerID: r.Customer.ID,
		State: redemption.Reserved, Origin: redemption.FromPoints, Points: c.PointsRequired, PointsState: redemption.PointsPending,
		Claims: claimant.Claims(), Deadline: now.Add(p.ExchangeTime), CreatedAt: now,
	}}})
	if err != nil {
		return redemption.Use{}, err
	}
	made, err := p.current(ctx, reserved.Uses[0])
	if err != nil {
		return redemption.Use{}, err
	}
	return p.debit(ctx, made, nil)
}

// exchangeOf returns the exchange that was made with the key. If there is none, it returns the oldest
// exchange that is in no checkout, or the zero value.
func exchangeOf(held []redemption.Use, key string) (free redemption.Use) {
	for _, u := range held {
		switch {
		case u.Origin != redemption.FromPoints || u.OrderID != "":
		case key != "" && u.Key == key:
			return u
		default:
			free = u // the oldest
		}
	}
	return free
}

// exchangedBefore returns the exchange of a key, even if the coupon is deleted or refused now. If there
// is none, it returns another exchange or the refusal.
func (p *Payments) exchangedBefore(
	ctx context.Context, couponID string, r ExchangeRequest, another redemption.Use, refused error,
) (redemption.Use, error) {
	if r.Key != "" && r.Customer.ID != "" {
		page, err := p.Store.ListUses(ctx, store.UseList{CustomerID: r.Customer.ID, Key: r.Key, PageSize: 1})
		switch {
		case err != nil:
			return redemption.Use{}, err
		case len(page.Unreadable) > 0: // the key has made this use
			return redemption.Use{}, page.Unreadable[0]
		case len(page.Items) > 0 && page.Items[0].CouponID != couponID:
			return redemption.Use{}, store.ErrKeyReused
		case len(page.Items) > 0:
			if another, err = p.current(ctx, page.Items[0]); err != nil {
				return redemption.Use{}, err
			}
		}
	}
	if another.IsZero() {
		return redemption.Use{}, refused
	}
	return p.debit(ctx, another, refused)
}

// current returns the use that has the points of an exchange now. Several orders may have passed the
// points on.
func (p *Payments) current(ctx context.Context, u redemption.Use) (redemption.Use, error) {
	if u.PointsState != redemption.PointsPassedOn {
		return u, nil
	}
	missing := store.ErrNotFound
	for later, err := range p.Uses(ctx, store.UseList{ExchangeID: u.ExchangeID, PageSize: store.MaxPageSize}) {
		switch {
		case errors.Is(err, store.ErrUnreadable):
			missing = err
		case err != nil || later.PointsState != redemption.PointsPassedOn:
			return later, err
		}
	}
	return redemption.Use{}, fmt.Errorf("exchange %s: %w", u.ExchangeID, missing)
}

// checkExchange returns an error if the coupon cannot be exchanged for points. It does not count the
// exchange that the customer is about to pay. It counts an exchange in a checkout, because the customer
// would get a second exchange.
func checkExchange(d *quote.Decision, paying redemption.Use) error {
	c := &d.Codes[0].Coupon
	if c.Distribution != coupon.PointsRedeemable {
		return validation.New("coupon", validation.NotAllowed, "the coupon is not exchanged for points")
	}
	refused := d.CheckExchange(paying)
	if refused == nil && !paying.IsZero() && paying.Points != c.PointsRequired {
		return fmt.Errorf("exchange %s: the coupon costs %d points and not %d by now: %w",
			paying.ExchangeID, c.PointsRequired, paying.Points, ErrReservationClosed)
	}
	return refused
}

// debit takes the points of a pending exchange and confirms it. If the coupon is refused, debit gives
// the exchange up, because no checkout would accept the coupon.
func (p *Payments) debit(ctx context.Context, u redemption.Use, refused error) (redemption.Use, error) {
	switch {
	case u.PointsState == redemption.PointsDebited:
		return exchanged(u)
	case u.State == redemption.Released:
		return redemption.Use{}, fmt.Errorf("exchange %s: %w", u.ExchangeID, ErrReservationClosed)
	case u.PointsState != redemption.PointsPending:
		return u, nil
	case errors.Is(refused, coupon.ErrCartTotalsInvalid), errors.Is(refused, coupon.ErrProcessorOutOfSync):
		return redemption.Use{}, refused // a later call may succeed
	case refused != nil:
		return p.refuseExchange(ctx, u, refused)
	}
	err := p.Points.Debit(ctx, u.CustomerID, u.ExchangeID, u.Points)
	switch {
	case errors.Is(err, ErrInsufficientPoints):
		return p.refuseExchange(ctx, u, fmt.Errorf("%w: %w", coupon.Reject(
			u.CouponID, coupon.PointsNotRedeemed, coupon.Params{PointsRequired: u.Points}), err))
	case errors.Is(err, ErrReservationClosed):
		return redemption.Use{}, fmt.Errorf("exchange %s: %w", u.ExchangeID, err)
	case err != nil:
		return redemption.Use{}, fmt.Errorf("debit points for exchange %s: %w", u.ExchangeID, err)
	}
	confirmed, err := p.applyToUse(ctx, redemption.PointsExchanged, u)
	if errors.Is(err, redemption.ErrIllegal) {
		return p.tooLate(ctx, u, err)
	}
	return confirmed, err
}

// exchanged returns a use whose points are debited. A released use keeps them for a late payment of its order,
// which was replaced: the error is then store.ErrPaymentOpen.
func exchanged(u redemption.Use) (redemption.Use, error) {
	if u.State == redemption.Released {
		return redemption.Use{}, fmt.Errorf("exchange %s: %w", u.ExchangeID, store.ErrPaymentOpen)
	}
	return u, nil
}

// applyToUse applies an event to a points reservation.
func (p *Payments) applyToUse(ctx context.Context, kind redemption.EventKind, u redemption.Use) (redemption.Use, error) {
	settled, err := p.Store.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: kind, At: p.Now(), UseID: u.ID}, By: p.Actor(ctx)})
	if err != nil {
		return redemption.Use{}, err
	}
	return settled.Uses[0], nil
}

// newest returns the current state of an exchange.
func (p *Payments) newest(ctx context.Context, exchangeID string) (redemption.Use, error) {
	if exchangeID == "" {
		return redemption.Use{}, store.ErrNotFound // an empty ID would list the exchanges of all customers
	}
	return p.current(ctx, redemption.Use{ExchangeID: exchangeID, PointsState: redemption.PointsPassedOn})
}

// refuseExchange gives up an exchange whose points were not taken. If another call has taken the points
// meanwhile, the exchange has succeeded, and refuseExchange returns it. After a failure, the sweep
// gives the exchange up.
func (p *Payments) refuseExchange(ctx context.Context, u redemption.Use, refused error) (redemption.Use, error) {
	released, err := p.applyToUse(ctx, redemption.PointsRefused, u)
	switch {
	case err == nil && released.PointsState == redemption.PointsRefundDue:
		_, err = p.refundPoints(ctx, released)
	case errors.Is(err, redemption.ErrIllegal), released.PointsState == redemption.PointsPassedOn:
		var now redemption.Use
		if now, err = p.newest(ctx, u.ExchangeID); err == nil && now.PointsState == redemption.PointsDebited {
			return exchanged(now)
		}
	}
	p.warn(ctx, "an exchange that was refused is left to the sweep", "exchange", u.ExchangeID, err)
	return redemption.Use{}, refused
}

// tooLate returns points that were taken after the sweep had given the exchange up. If another call has
// confirmed the exchange and a checkout has taken it since, tooLate returns it.
func (p *Payments) tooLate(ctx context.Context, u redemption.Use, cause error) (redemption.Use, error) {
	now, err := p.newest(ctx, u.ExchangeID)
	switch {
	case err != nil:
		return redemption.Use{}, err
	case now.PointsState == redemption.PointsDebited:
		return exchanged(now)
	case now.PointsState == redemption.PointsRefundDue:
		if _, err := p.refundPoints(ctx, now); err != nil {
			return redemption.Use{}, err
		}
	}
	return redemption.Use{}, fmt.Errorf("%w: %w", ErrReservationClosed, cause)
}

// CancelExchange gives up an exchange and refunds its points.
func (p *Payments) CancelExchange(ctx context.Context, attempt *settle.Attempt, customerID, exchangeID string) error {
	for range maxAttempts {
		u, err := p.newest(ctx, exchangeID)
		if err != nil {
			return err
		}
		if u.CustomerID != customerID {
			return store.ErrNotFound
		}
		attempt.CouponID, attempt.OrderID = u.CouponID, u.OrderID
		err = p.cancelUse(ctx, u)
		if errors.Is(err, store.ErrPaymentOpen) || !errors.Is(err, redemption.ErrOtherSession) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("cancel exchange %s: %w", exchangeID, store.ErrConflict)
}

// cancelUse cancels the use of an exchange, or the order that has the use, and refunds the points. It
// returns store.ErrConflict if the use has changed meanwhile.
func (p *Payments) cancelUse(ctx context.Context, u redemption.Use) error {
	if u.OrderID == "" || u.State != redemption.Reserved {
		return p.cancelFreeUse(ctx, u)
	}
	o, err := p.Store.Order(ctx, store.OrderKey{ID: u.OrderID})
	if err != nil {
		return err
	}
	switch finished, err := p.endUnpaid(ctx, o.Order); {
	case err != nil:
		return err
	case finished.Order.State == redemption.OrderAwaitingPayment:
		return fmt.Errorf("exchange %s: a payment is on its way: %w", u.ExchangeID, redemption.ErrIllegal)
	case !finished.Order.IsZero():
		return store.ErrConflict
	}
	settled, err := p.settle(ctx, store.Settlement{Event: redemption.Event{
		Kind: redemption.Cancelled, At: p.Now(), OrderID: u.OrderID, SessionID: o.Order.SessionID, PaymentOver: true, BegunBy: o.Order.BegunAt,
	}})
	passedOn := slices.ContainsFunc(settled.Uses, func(v redemption.Use) bool { return v.PointsState == redemption.PointsPassedOn })
	if err == nil && (passedOn || settled.Order.State == redemption.OrderEnding) { // the order was replaced, or its payment has begun
		return store.ErrConflict
	}
	return err
}

// cancelFreeUse cancels a use that was in no order when it was read, or whose order has ended.
func (p *Payments) cancelFreeUse(ctx context.Context, u redemption.Use) error {
	released, err := p.applyToUse(ctx, redemption.Cancelled, u)
	switch {
	case err != nil:
		return fmt.Errorf("cancel exchange %s: %w", u.ExchangeID, err)
	case released.PointsState == redemption.PointsPassedOn:
		return store.ErrConflict
	case released.PointsState == redemption.PointsDebited: // for the late payment of an order that was replaced
		return fmt.Errorf("cancel exchange %s: %w", u.ExchangeID, store.ErrPaymentOpen)
	case released.PointsState == redemption.PointsRefundDue:
		_, err = p.refundPoints(ctx, released)
	}
	return err
}

// refundPoints returns the points of a released use and records that. Both steps may run again.
func (p *Payments) refundPoints(ctx context.Context, u redemption.Use) (redemption.Use, error) {
	if p.Points == nil {
		return u, ErrNoLedger
	}
	if err := p.Points.Refund(ctx, u.CustomerID, u.ExchangeID); err != nil {
		return u, fmt.Errorf("refund points of exchange %s: %w", u.ExchangeID, err)
	}
	return p.applyToUse(ctx, redemption.PointsGivenBack, u)
}

// returnPoints returns the due points. In a transaction of the host it does nothing, because a rollback
// would lose the record. The points stay due.
func (p *Payments) returnPoints(ctx context.Context, settled store.Settled) store.Settled {
	for i, u := range settled.Uses {
		if u.PointsState != redemption.PointsRefundDue || p.InTransaction {
			continue
		}
		refunded, err := p.refundPoints(ctx, u)
		p.warn(ctx, "a refund of points is left to the sweep", "use", u.ID, err)
		if err == nil {
			settled.Uses[i] = refunded
		}
	}
	return settled
}

// Exchanges returns the customer's reserved uses that were bought with points, newest first, at most a page.
func (p *Payments) Exchanges(ctx context.Context, customerID string) (held []redemption.Use, _ error) {
	var failures []error
	if customerID == "" {
		return nil, nil // an empty ID would list the exchanges of all customers
	}
	list := store.UseList{CustomerID: customerID, State: redemption.Reserved, PageSize: store.MaxPageSize}
	for u, err := range p.Uses(ctx, list) {
		switch {
		case errors.Is(err, store.ErrUnreadable):
			failures = append(failures, err)
		case err != nil:
			return nil, err
		case u.Origin == redemption.FromPoints:
			held = append(held, u)
		}
		if len(held) == store.MaxPageSize {
			break
		}
	}
	return held, errors.Join(failures...)
}
