package checkout

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// ErrNotPrepared is documented in package couponkit.
var ErrNotPrepared = fmt.Errorf("%w: the request must be prepared", store.ErrConflict)

// Findings are what a reservation needs to know from outside of the store. Nil findings know nothing.
type Findings struct {
	codes    []string
	asked    [2]string // ID and address with which the customer was looked up
	customer eligibility.Customer
	mirrors  map[string]mirrors.Answer // by coupon ID
	// automatic are the IDs of the automatic coupons that the decision looked at.
	automatic []string
}

// Automatic returns the IDs of the automatic coupons that were looked at. Nil findings return nil.
func (f *Findings) Automatic() []string {
	if f == nil {
		return nil
	}
	return f.automatic
}

// Prepare asks about the mirrors of the coupons of a request. The customer is the request's customer, as the
// user directory knows them.
func Prepare(ctx context.Context, q quote.Quoter, r quote.Request, customer eligibility.Customer) (*Findings, error) {
	f := &Findings{codes: slices.Clone(r.Codes), asked: [2]string{r.Customer.ID, r.Customer.Email}, customer: customer, mirrors: map[string]mirrors.Answer{}}
	ask := q.Mirror
	q.Mirror = func(ctx context.Context, c coupon.Coupon, at time.Time) (processor.MirrorStatus, error) {
		status, err := ask(ctx, c, at)
		f.mirrors[c.ID] = mirrors.AnswerOf(c, status)
		return status, err
	}
	if err := quote.CheckCodes(r.Codes, r.Conflicts); err != nil {
		return nil, err
	}
	r.Customer = customer
	d, err := q.Foresee(ctx, r)
	if d != nil {
		f.automatic = d.Names()
	}
	return f, err
}

// Know reports whether all of these codes were prepared.
func (f *Findings) Know(codes []string) bool {
	for _, code := range codes {
		if f == nil || !slices.Contains(f.codes, code) {
			return false
		}
	}
	return true
}

// Customer returns the customer of a request, as the user directory knows them, or [ErrNotPrepared].
func (f *Findings) Customer(given eligibility.Customer) (eligibility.Customer, error) {
	if f == nil || f.asked != [2]string{given.ID, given.Email} {
		return eligibility.Customer{}, ErrNotPrepared
	}
	return f.customer, nil
}

// Mirror is a [mirrors.Check] that asks nobody. It returns [ErrNotPrepared] for a coupon that was changed since.
func (f *Findings) Mirror(_ context.Context, c coupon.Coupon, _ time.Time) (processor.MirrorStatus, error) {
	if f != nil {
		if known := f.mirrors[c.ID]; known.IsOf(c) {
			return known.Status, nil
		}
	}
	return 0, ErrNotPrepared
}

// MinHold and MaxHold are documented in package couponkit.
const (
	MinHold = time.Second
	MaxHold = 60 * 24 * time.Hour
)

// checkHold refuses a hold that is too short or too long. A processor's session must end a grace period
// before the hold.
func (c *Reserver) checkHold(hold time.Duration) error {
	var faults validation.Error
	least, most := MinHold, MaxHold
	if c.Sessions {
		least = max(least, c.Quoter.Abilities.MinSessionLifetime+c.Grace)
	}
	if longest := c.Quoter.Abilities.MaxSessionLifetime; longest > 0 {
		most = min(most, longest+c.Grace)
	}
	if hold != 0 && hold < least {
		faults.Add("hold", validation.TooSmall, fmt.Sprintf("is at least %v", least))
	}
	if hold > most {
		faults.Add("hold", validation.TooLarge, fmt.Sprintf("is at most %v", most))
	}
	return faults.Err()
}

// Hold reserves an order whose payment begins later. An order that was known from its payment alone is paid.
// Any other order that cannot be paid comes with settle.ErrOrderEnded or settle.ErrOrderPaid.
func (c *Reserver) Hold(ctx context.Context, r Request) (Reserved, error) {
	given := r.OrderID
	reserved, err := c.Reserve(ctx, &r)
	o := &reserved.Order
	switch {
	case err != nil:
		return reserved, c.taken(ctx, given, err)
	case o.State.Paid() && !reserved.Replayed: // the order was known only from its payment
		return reserved, nil
	case given != "" && o.ID != given:
		return reserved, fmt.Errorf("key of order %s: %w", o.ID, store.ErrKeyReused)
	case settle.Lapsed(*o, calendar.Instant(c.Quoter.Clock())):
		return reserved, fmt.Errorf("%w: %w", settle.ErrOrderEnded, redemption.ErrDeadline)
	}
	return reserved, settle.Payable(*o)
}

// orderID derives the ID of an order from its key. A repeated request after a rollback gets the same
// ID.
func orderID(customerID, key string) string {
	const size = 16                                         // in bytes
	sum := sha256.Sum256([]byte(customerID + "\x00" + key)) // IDs contain no NUL
	return redemption.OrderIDPrefix + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:size]))
}

// taken replaces a conflict by store.ErrKeyReused if another order has the ID. Repeating the request
// would not help.
func (c *Reserver) taken(ctx context.Context, orderID string, err error) error {
	if orderID == "" || !errors.Is(err, store.ErrConflict) || errors.Is(err, ErrNotPrepared) || errors.Is(err, store.ErrKeyReused) {
		return err
	}
	if _, read := c.Store.Order(ctx, store.OrderKey{ID: orderID}); read != nil {
		return err
	}
	return fmt.Errorf("order %s: %w", orderID, store.ErrKeyReused)
}
