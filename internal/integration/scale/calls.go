package scale

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Call is something that hosts do with a store on a shop of this package.
type Call struct {
	Name string
	// Rows bounds how many rows one scan of the call reads, whatever the size.
	Rows float64
	// Run makes the call once. Every run is about another customer, as far as that
	// makes a difference.
	Run func(ctx context.Context, s store.Store) error
}

// caller makes the calls on a shop of some size.
type caller struct {
	size Size
	runs atomic.Uint64
	base string // begins the customers that it makes
}

// Calls returns everything that the store is asked for while a shop runs. base
// begins the IDs of what the calls write, and is not used twice on a database.
func Calls(size Size, base string) []Call {
	c := &caller{size: size, base: base}
	return append(c.reads(), append(c.lists(), c.writes()...)...)
}

// next returns a number that looks random, another one at every call.
func (c *caller) next() int { return int(mix(c.size.Seed+9, c.runs.Add(1)) >> 1) }

func (c *caller) customer() string { return CustomerID(c.next() % c.size.Customers()) }

func (c *caller) hot(role int) string { return CouponID(c.size.Hot(role)) }

func (c *caller) code(role int) coupon.Code {
	code, err := coupon.ParseCode(Code(c.size.Hot(role)))
	if err != nil {
		panic(err) // as this package writes them
	}
	return code
}

// reads are what customers cause without writing.
func (c *caller) reads() []Call {
	look := func(by func() store.LookUp) func(context.Context, store.Store) error {
		return func(ctx context.Context, s store.Store) error {
			_, err := s.LookUp(ctx, by())
			return err
		}
	}
	return []Call{
		{"look up by code", 10, look(func() store.LookUp {
			return store.LookUp{Code: c.code(HotLimited), CustomerID: c.customer()}
		})},
		{"look up by ID", 10, look(func() store.LookUp {
			return store.LookUp{CouponID: CouponID(c.next() % c.size.Coupons), CustomerID: c.customer()}
		})},
		{"look up, long allow-list", 10, look(func() store.LookUp {
			return store.LookUp{Code: c.code(HotListed), CustomerID: c.customer(), Email: Email(c.next() % c.size.Addresses())}
		})},
		{"redemption by ID", 5, func(ctx context.Context, s store.Store) error { return c.known(ctx, s, "redemption") }},
		{"order by ID", 5, func(ctx context.Context, s store.Store) error { return c.known(ctx, s, "order") }},
		{"order by key", 5, func(ctx context.Context, s store.Store) error { return c.known(ctx, s, "key") }},
	}
}

// known reads a record that is not there: the way to it is as long.
func (c *caller) known(ctx context.Context, s store.Store, what string) (err error) {
	id := fmt.Sprintf("rsv_%016x00000000", c.next())
	switch what {
	case "redemption":
		_, err = s.Redemption(ctx, id)
	case "order":
		_, err = s.Order(ctx, id)
	default:
		_, err = s.OrderByKey(ctx, c.customer(), id)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// lists are what administrators and the sweep read.
func (c *caller) lists() []Call {
	coupons := func(list store.CouponList) func(context.Context, store.Store) error {
		return func(ctx context.Context, s store.Store) error {
			page, err := s.ListCoupons(ctx, list)
			if err == nil && len(page.Items) == 0 {
				return errors.New("the page is empty")
			}
			return err
		}
	}
	redemptions := func(list func() store.RedemptionList) func(context.Context, store.Store) error {
		return func(ctx context.Context, s store.Store) error {
			_, err := s.ListRedemptions(ctx, list())
			return err
		}
	}
	middle := store.Cursor{CreatedAt: Now().Add(-history - 180*24*time.Hour), ID: "cpn_"}.String()
	past := store.Cursor{CreatedAt: Now().Add(-history / 2), ID: "rsv_"}.String()
	hot, whole := c.hot(HotUnlimited), Code(c.size.Coupons/2)
	_, own, _ := strings.Cut(whole, "-")
	return []Call{
		{"first page of coupons", 200, coupons(store.CouponList{})},
		{"page of coupons by cursor", 200, coupons(store.CouponList{After: middle, PageSize: 50})},
		{"page 20 of coupons", 500, coupons(store.CouponList{Page: 20})},
		{"search for a rare word", 200, coupons(store.CouponList{Search: strings.ToLower(RareWord)})},
		{"search for a code's own part", 200, coupons(store.CouponList{Search: own})},
		{"search for a whole code", 200, coupons(store.CouponList{Search: whole})},
		{"search for a frequent word", 20_000, coupons(store.CouponList{Search: FrequentWord})},
		{"first page of redemptions", 10_500, redemptions(func() store.RedemptionList { return store.RedemptionList{} })},
		{"page of redemptions by cursor", 10_500, redemptions(func() store.RedemptionList { return store.RedemptionList{After: past} })},
		{"redemptions of a hot coupon", 10_500, redemptions(func() store.RedemptionList { return store.RedemptionList{CouponID: hot} })},
		{"reserved of a hot coupon", 10_500, redemptions(func() store.RedemptionList {
			return store.RedemptionList{CouponID: hot, State: redemption.Reserved}
		})},
		{"released redemptions", 10_500, redemptions(func() store.RedemptionList {
			return store.RedemptionList{State: redemption.Released}
		})},
		{"redemptions of a customer", 100, redemptions(func() store.RedemptionList {
			return store.RedemptionList{CustomerID: c.customer()}
		})},
		{"due", 500, func(ctx context.Context, s store.Store) error {
			due, err := s.Due(ctx, Now(), 20)
			if err == nil && len(due) != 20 {
				return fmt.Errorf("%d are due", len(due))
			}
			return err
		}},
		{"open orders", 500, func(ctx context.Context, s store.Store) error {
			_, err := s.OpenOrders(ctx, Now(), 20)
			return err
		}},
	}
}

// writes are what customers, the processor and administrators cause.
func (c *caller) writes() []Call {
	reserved := func(then func(context.Context, store.Store, store.Reserved) error) func(context.Context, store.Store) error {
		return func(ctx context.Context, s store.Store) error {
			r, err := c.reserve(ctx, s)
			if err != nil {
				return err
			}
			return then(ctx, s, r)
		}
	}
	return []Call{
		{"reserve", 50, reserved(func(context.Context, store.Store, store.Reserved) error { return nil })},
		{"reserve, pay", 50, reserved(func(ctx context.Context, s store.Store, r store.Reserved) error {
			return c.settle(ctx, s, r, redemption.SessionCompleted)
		})},
		{"reserve, attach, expire", 50, reserved(func(ctx context.Context, s store.Store, r store.Reserved) error {
			if err := c.attach(ctx, s, r); err != nil {
				return err
			}
			return c.settle(ctx, s, r, redemption.SessionExpired)
		})},
		{"pay without a record", 50, func(ctx context.Context, s store.Store) error {
			name := fmt.Sprintf("%s-%012d", c.base, c.runs.Add(1))
			_, err := s.Settle(ctx, store.Settlement{
				Event:    redemption.Event{Kind: redemption.SessionCompleted, At: Now(), SessionID: "cs_" + name},
				CouponID: c.hot(HotOnce), CustomerID: name, NewID: redemption.IDPrefix + name,
			})
			return err
		}},
		{"reserve, take over, cancel", 50, c.takenOver},
		{"create, edit, delete", 50, c.administer},
	}
}

// reserve keeps a place of the coupon that is used most, for a new customer.
func (c *caller) reserve(ctx context.Context, s store.Store) (store.Reserved, error) {
	used, err := draft(percentage(c.size.Hot(HotLimited)))
	if err != nil {
		return store.Reserved{}, err
	}
	used.ID, used.Code = c.hot(HotLimited), c.code(HotLimited)
	quote, err := pricing.Price(cart(), used.Discount, nil)
	if err != nil {
		return store.Reserved{}, err
	}
	name, snapshot := fmt.Sprintf("%s-%012d", c.base, c.runs.Add(1)), used.Snapshot()
	at := Now()
	r := redemption.Redemption{
		ID: redemption.IDPrefix + name, Key: name, CouponID: used.ID, CustomerID: name, State: redemption.Reserved,
		Origin: redemption.FromCheckout, OrderID: store.OrderIDPrefix + name, Deadline: at.Add(time.Hour), CreatedAt: at, UpdatedAt: at,
	}
	return s.Reserve(ctx, store.Reservation{Redemption: r, Order: &store.Order{
		ID: r.OrderID, Key: name, Fingerprint: "fingerprint", CustomerID: name, State: store.OrderOpen, CouponID: used.ID,
		Coupon: &snapshot, ReservationID: r.ID, DiscountAmount: quote.Discount, Quote: quote, Deadline: r.Deadline,
		CreatedAt: at, UpdatedAt: at,
	}})
}

func (c *caller) attach(ctx context.Context, s store.Store, r store.Reserved) error {
	_, err := s.AttachSession(ctx, store.Attachment{
		OrderID: r.Order.ID, SessionID: "cs_" + r.Order.ID, SessionURL: "https://pay.example/" + r.Order.ID,
		Deadline: Now().Add(time.Hour), At: Now(),
	})
	return err
}

func (c *caller) settle(ctx context.Context, s store.Store, r store.Reserved, kind redemption.EventKind) error {
	_, err := s.Settle(ctx, store.Settlement{
		Event:         redemption.Event{Kind: kind, At: Now(), SessionID: "cs_" + r.Order.ID, OrderID: r.Order.ID},
		ReservationID: r.Redemption.ID, CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID,
		NewID: r.Redemption.ID + "-new",
	})
	return err
}

// takenOver is a checkout that is begun again, and then given up.
func (c *caller) takenOver(ctx context.Context, s store.Store) error {
	r, err := c.reserve(ctx, s)
	if err != nil {
		return err
	}
	order := r.Order.Clone()
	order.ID, order.Key = order.ID+"-2", order.Key+"-2"
	if _, err := s.TakeOver(ctx, store.TakeOver{
		ReservationID: r.Redemption.ID, Order: order, Deadline: Now().Add(time.Hour), At: Now(),
	}); err != nil {
		return err
	}
	_, err = s.Transition(ctx, r.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: Now()})
	return err
}

// administer makes a coupon with an allow-list, edits it and deletes it.
func (c *caller) administer(ctx context.Context, s store.Store) error {
	n := c.runs.Add(1)
	made, err := draft(true)
	if err != nil {
		return err
	}
	made.ID = fmt.Sprintf("%s%s-%d", coupon.IDPrefix, c.base, n)
	if made.Code, err = coupon.ParseCode(fmt.Sprintf("NEW-%s-%d", c.base, n)); err != nil {
		return err
	}
	made.Distribution = coupon.UserSpecific
	if made.AllowedUserEmails, err = coupon.NewEmailSet(Email(1), Email(2), Email(3)); err != nil {
		return err
	}
	if err := s.CreateCoupon(ctx, made); err != nil {
		return err
	}
	made.Name = "Edited"
	if made, err = s.UpdateCoupon(ctx, made); err != nil {
		return err
	}
	if _, err := s.ConfirmMirror(ctx, made.ID, coupon.Mirror{CouponID: made.ID, PromotionCodeID: "p", Revision: made.Revision}); err != nil {
		return err
	}
	return s.DeleteCoupon(ctx, made.ID, made.Revision)
}
