package simulation_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// faulty is a sound store of which some calls are done wrongly. What it writes is sound. What
// can be read is what a broken store would have written.
type faulty struct {
	store.Store
	pause   func() // lets something else happen
	reserve func(context.Context, store.Reservation) (store.Reserved, error)
	apply   func(context.Context, store.Settlement) (store.Settled, error)
	save    func(context.Context, store.CouponChange) (coupon.Coupon, error)
	order   func(context.Context, store.OrderKey) (store.Settled, error)
	lookUp  func(context.Context, store.LookUp) (store.LookedUp, error)
	coupons func(context.Context, store.CouponList) (store.CouponPage, error)
	orders  func(context.Context, store.OrderList) (store.OrderPage, error)
	uses    func(context.Context, store.UseList) (store.UsePage, error)
	counts  func(context.Context, []string) ([]eligibility.Count, error)
	journal func(context.Context, int64, int) ([]store.Entry, error)
}

// inStore plants a fault in the store of each shop.
func inStore(fault func(*faulty)) func() simulation.Parts {
	return func() simulation.Parts {
		return simulation.Parts{Database: simulation.Memory(func(s store.Store, pause func()) store.Store {
			f := &faulty{s, pause, s.Reserve, s.Apply, s.SaveCoupon, s.Order, s.LookUp, s.ListCoupons, s.ListOrders, s.ListUses, s.Counts, s.Journal}
			fault(f)
			return f
		})}
	}
}

func (f *faulty) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	return f.reserve(ctx, r)
}

func (f *faulty) Apply(ctx context.Context, s store.Settlement) (store.Settled, error) {
	return f.apply(ctx, s)
}

func (f *faulty) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	return f.save(ctx, c)
}

func (f *faulty) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	return f.order(ctx, by)
}

func (f *faulty) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	return f.lookUp(ctx, by)
}

func (f *faulty) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	return f.coupons(ctx, l)
}

func (f *faulty) ListOrders(ctx context.Context, l store.OrderList) (store.OrderPage, error) {
	return f.orders(ctx, l)
}

func (f *faulty) ListUses(ctx context.Context, l store.UseList) (store.UsePage, error) {
	return f.uses(ctx, l)
}

func (f *faulty) Counts(ctx context.Context, keys []string) ([]eligibility.Count, error) {
	return f.counts(ctx, keys)
}

func (f *faulty) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return f.journal(ctx, after, limit)
}

// requests changes every reservation before the sound store gets it.
func (f *faulty) requests(change func(*store.Reservation)) {
	sound := f.reserve
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		r = r.Normalize()
		change(&r)
		return sound(ctx, r)
	}
}

// events does something before every settlement, and may change it.
func (f *faulty) events(change func(context.Context, *store.Settlement)) {
	sound := f.apply
	f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
		change(ctx, &s)
		return sound(ctx, s)
	}
}

// changes changes every change of a coupon before the sound store gets it.
func (f *faulty) changes(change func(*store.CouponChange)) {
	sound := f.save
	f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
		change(&c)
		return sound(ctx, c)
	}
}

// records changes every order that can be read, with its uses, and every use.
func (f *faulty) records(change func(*redemption.Order, []redemption.Use)) {
	reserve, apply, lookUp, order, orders, uses := f.reserve, f.apply, f.lookUp, f.order, f.orders, f.uses
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		reserved, err := reserve(ctx, r)
		change(&reserved.Order, reserved.Uses)
		return reserved, err
	}
	f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
		settled, err := apply(ctx, s)
		change(&settled.Order, settled.Uses)
		return settled, err
	}
	f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
		found, err := lookUp(ctx, by)
		for i := range found.Coupons {
			if found.Coupons[i] == nil {
				continue // no coupon has the name
			}
			change(&redemption.Order{}, found.Coupons[i].Held)
		}
		for i := range found.Orders {
			change(&found.Orders[i].Order, found.Orders[i].Uses)
		}
		return found, err
	}
	f.order = func(ctx context.Context, by store.OrderKey) (store.Settled, error) {
		settled, err := order(ctx, by)
		change(&settled.Order, settled.Uses)
		return settled, err
	}
	f.orders = func(ctx context.Context, l store.OrderList) (store.OrderPage, error) {
		page, err := orders(ctx, l)
		for i := range page.Items {
			change(&page.Items[i].Order, page.Items[i].Uses)
		}
		return page, err
	}
	f.uses = func(ctx context.Context, l store.UseList) (store.UsePage, error) {
		page, err := uses(ctx, l)
		change(&redemption.Order{}, page.Items)
		return page, err
	}
}

// repayments changes every refund that can be read.
func (f *faulty) repayments(change func(redemption.Order, *redemption.Refund)) {
	f.records(func(o *redemption.Order, _ []redemption.Use) {
		o.Refunds = slices.Clone(o.Refunds)
		for i := range o.Refunds {
			change(*o, &o.Refunds[i])
		}
	})
}

// reports changes what the processor tells of refunds and disputes.
func (f *faulty) reports(change func(*redemption.Report)) {
	f.events(func(_ context.Context, s *store.Settlement) {
		if s.Event.Kind == redemption.Reported {
			change(&s.Event.Report)
		}
	})
}

// eachUse changes every use that can be read.
func (f *faulty) eachUse(change func(*redemption.Use)) {
	f.records(func(_ *redemption.Order, uses []redemption.Use) {
		for i := range uses {
			change(&uses[i])
		}
	})
}

// eachCoupon changes every coupon that can be read.
func (f *faulty) eachCoupon(change func(*coupon.Coupon)) {
	save, lookUp, coupons := f.save, f.lookUp, f.coupons
	f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
		saved, err := save(ctx, c)
		change(&saved)
		return saved, err
	}
	f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
		found, err := lookUp(ctx, by)
		for i := range found.Coupons {
			if found.Coupons[i] == nil {
				continue // no coupon has the name
			}
			change(&found.Coupons[i].Coupon)
		}
		return found, err
	}
	f.coupons = func(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
		page, err := coupons(ctx, l)
		for i := range page.Items {
			change(&page.Items[i])
		}
		return page, err
	}
}

// eachCount changes every counter that can be read, and the counts of coupons.
func (f *faulty) eachCount(change func(counter string, c *eligibility.Count)) {
	sound := f.counts
	f.counts = func(ctx context.Context, keys []string) ([]eligibility.Count, error) {
		counts, err := sound(ctx, keys)
		for i := range counts {
			change(keys[i], &counts[i])
		}
		return counts, err
	}
	lookUp := f.lookUp
	f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
		found, err := lookUp(ctx, by)
		for i := range found.Counts {
			change(by.Counters[i], &found.Counts[i])
		}
		return found, err
	}
	f.eachCoupon(func(c *coupon.Coupon) {
		count := eligibility.Count{Reserved: c.ReservedCount, Completed: c.UsedCount}
		change(eligibility.CouponUses(c.ID), &count)
		c.ReservedCount, c.UsedCount = count.Reserved, count.Completed
	})
}

// withoutLimits lets the sound store know of no limit that the function finds.
func (f *faulty) withoutLimits(of func(counter string) bool) {
	claims := map[string][]eligibility.Claim{}
	f.requests(func(r *store.Reservation) {
		for i := range r.Uses {
			u := &r.Uses[i]
			claims[u.ID] = slices.Clone(u.Claims)
			for j := range u.Claims {
				if of(u.Claims[j].Counter) {
					u.Claims[j].Limit = 0
				}
			}
		}
	})
	f.eachUse(func(u *redemption.Use) {
		if asked, known := claims[u.ID]; known {
			u.Claims = slices.Clone(asked)
		}
	})
}

// checksFirst looks at the counters that the function finds, and takes from them without looking
// again.
func checksFirst(f *faulty, of func(counter string) bool) {
	f.withoutLimits(of)
	sound := f.reserve
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		for _, u := range r.Uses {
			for _, c := range u.Claims {
				counts, err := f.Counts(ctx, []string{c.Counter})
				if err == nil && of(c.Counter) && !c.Fits(counts[0]) {
					return store.Reserved{}, &store.LimitError{Exceeded: []eligibility.Claim{c}}
				}
			}
		}
		f.pause()
		return sound(ctx, r)
	}
}

// checkThenAct looks at all counters first.
func checkThenAct(f *faulty) { checksFirst(f, func(string) bool { return true }) }

// countsFirst counts a payment in one step and records it in the next.
func countsFirst(f *faulty) {
	extra := map[string]int64{}
	f.eachCount(func(counter string, c *eligibility.Count) { c.Completed += extra[counter] })
	f.events(func(ctx context.Context, s *store.Settlement) {
		o, err := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID})
		if err == nil && s.Event.Kind == redemption.Paid && o.Order.State == redemption.OrderOpen {
			counter := eligibility.CustomerOrders(o.Order.CustomerID)
			extra[counter]++
			f.pause()
			extra[counter]--
		}
	})
}

// alike is the same change of each counter.
func alike(by eligibility.Count) func(eligibility.Claim) eligibility.Count {
	return func(eligibility.Claim) eligibility.Count { return by }
}

// ofBudget is a change of budgets alone, by what a claim takes or has given back.
func ofBudget(by func(eligibility.Claim) eligibility.Count) func(eligibility.Claim) eligibility.Count {
	return func(c eligibility.Claim) eligibility.Count {
		if !eligibility.IsBudget(c.Counter) {
			return eligibility.Count{}
		}
		return by(c)
	}
}

func releases(c eligibility.Claim) eligibility.Count { return eligibility.Count{Reserved: -c.Amount} }

func keepsIt(c eligibility.Claim) eligibility.Count { return eligibility.Count{Reserved: c.Amount} }

func refunds(c eligibility.Claim) eligibility.Count { return eligibility.Count{Completed: -c.Returned} }

// onceMore changes a counter a second time when an order becomes cancelled, replaced or refunded.
func onceMore(happens func(store.EntryKind, redemption.Order) bool, by func(eligibility.Claim) eligibility.Count) func(*faulty) {
	return func(f *faulty) {
		seen := map[int64]bool{}
		extra := map[string]eligibility.Count{}
		f.eachCount(func(counter string, c *eligibility.Count) {
			entries, _ := f.Store.Journal(context.Background(), 0, store.MaxJournalLimit)
			for _, e := range entries {
				o, err := f.Store.Order(context.Background(), store.OrderKey{ID: e.Subject})
				if seen[e.Position] || err != nil || !happens(e.Kind, o.Order) {
					continue
				}
				seen[e.Position] = true
				for _, u := range o.Uses {
					for _, claim := range u.Claims {
						extra[claim.Counter] = extra[claim.Counter].Plus(by(claim))
					}
				}
			}
			*c = c.Plus(extra[counter])
		})
	}
}

// releasesPaid lets an expiry win over a payment.
func releasesPaid(f *faulty) {
	released := map[string]bool{}
	f.records(func(o *redemption.Order, uses []redemption.Use) {
		if released[o.ID] {
			o.State = redemption.OrderCancelled
		}
		for i := range uses {
			if released[uses[i].OrderID] {
				uses[i].State = redemption.Released
			}
		}
	})
	f.events(func(ctx context.Context, s *store.Settlement) {
		o, err := f.Store.Order(ctx, store.OrderKey{SessionID: s.Event.SessionID})
		if err == nil && s.Event.Kind == redemption.SessionExpired && o.Order.State == redemption.OrderPaid {
			released[o.Order.ID] = true
		}
	})
}

// eachIsAnother takes every event of a payment for a payment of its own.
func eachIsAnother(f *faulty) {
	f.events(func(ctx context.Context, s *store.Settlement) {
		o, err := f.Store.Order(ctx, store.OrderKey{SessionID: s.Event.SessionID})
		if s.Event.Kind == redemption.Paid && err == nil && o.Order.State == redemption.OrderPaid {
			s.Event.OrderID = o.Order.ID + "#" + s.Event.At.Format(time.RFC3339Nano)
			s.Event.SessionID += "#" + s.Event.OrderID
			s.Unknown.Order = redemption.Order{
				ID: s.Event.OrderID, CustomerID: o.Order.CustomerID, State: redemption.OrderPaid,
				SessionID: s.Event.SessionID, CreatedAt: s.Event.At,
			}
		}
	})
	f.records(func(o *redemption.Order, _ []redemption.Use) { o.SessionID, _, _ = strings.Cut(o.SessionID, "#") })
}

// drops lets payments have no effect whose order, as it was before, the function finds.
func drops(finds func(redemption.Order, redemption.Event) bool) func(*faulty) {
	return func(f *faulty) {
		sound := f.apply
		f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
			if o, err := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID}); err == nil && finds(o.Order, s.Event) {
				return o, nil
			}
			return sound(ctx, s)
		}
	}
}

// settlesInTwoSteps ends the session before it records the payment.
func settlesInTwoSteps(f *faulty) {
	f.events(func(ctx context.Context, s *store.Settlement) {
		if s.Event.Kind == redemption.Paid {
			first := *s
			first.Event.Kind, first.Event.Charge, first.Event.Learned = redemption.SessionExpired, redemption.Charge{}, nil
			_, _ = f.Store.Apply(ctx, first)
			f.pause()
		}
	})
}

// answersFirst answers a payment and records it when it has time.
func answersFirst(f *faulty) {
	var queue []store.Settlement
	sound := f.apply
	f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
		for _, waiting := range queue {
			if settled, err := sound(ctx, waiting); err != nil {
				return settled, err
			}
		}
		if queue = nil; s.Event.Kind != redemption.Paid {
			return sound(ctx, s)
		}
		queue = append(queue, s)
		return f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID})
	}
}

// forgetsUses does not tell the sweep of uses that the function finds.
func forgetsUses(finds func(redemption.Use) bool) func(*faulty) {
	return func(f *faulty) {
		sound := f.uses
		f.uses = func(ctx context.Context, l store.UseList) (store.UsePage, error) {
			page, err := sound(ctx, l)
			if !l.DueAt.IsZero() {
				page.Items = slices.DeleteFunc(page.Items, finds)
			}
			return page, err
		}
	}
}

// forgetsOrders tells the sweep of no order.
func forgetsOrders(f *faulty) {
	sound := f.orders
	f.orders = func(ctx context.Context, l store.OrderList) (store.OrderPage, error) {
		if !l.DueAt.IsZero() {
			return store.OrderPage{}, nil
		}
		return sound(ctx, l)
	}
}

// forgetsRepayments tells the sweep of no order that is paid.
func forgetsRepayments(f *faulty) {
	sound := f.orders
	f.orders = func(ctx context.Context, l store.OrderList) (store.OrderPage, error) {
		page, err := sound(ctx, l)
		if !l.DueAt.IsZero() {
			page.Items = slices.DeleteFunc(page.Items, func(s store.Settled) bool { return s.Order.State.Paid() })
		}
		return page, err
	}
}

// sharesKeys looks orders up by key, whoever asks.
func sharesKeys(f *faulty) {
	owner := map[string]string{}
	sound := f.order
	f.order = func(ctx context.Context, by store.OrderKey) (store.Settled, error) {
		if by.Key != "" && owner[by.Key] == "" {
			owner[by.Key] = by.CustomerID
		}
		by.CustomerID = owner[by.Key]
		return sound(ctx, by)
	}
}

// forgetsKeys takes every request for a new one.
func forgetsKeys(f *faulty) {
	sound := f.order
	f.order = func(ctx context.Context, by store.OrderKey) (store.Settled, error) {
		if by.Key != "" {
			return store.Settled{}, store.ErrNotFound
		}
		return sound(ctx, by)
	}
	f.requests(func(r *store.Reservation) {
		if !r.Order.IsZero() {
			r.Order.Key = r.Order.ID
		}
	})
}

// cascades takes uses along with their coupon.
func cascades(f *faulty) {
	gone := map[string]bool{}
	save, uses := f.save, f.uses
	f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
		saved, err := save(ctx, c)
		gone[c.Coupon.ID] = gone[c.Coupon.ID] || err == nil && c.Kind == store.DeleteCoupon
		return saved, err
	}
	f.uses = func(ctx context.Context, l store.UseList) (store.UsePage, error) {
		page, err := uses(ctx, l)
		page.Items = slices.DeleteFunc(page.Items, func(u redemption.Use) bool { return gone[u.CouponID] })
		return page, err
	}
}

// editsOrders shows orders with the name that their coupon has now.
func editsOrders(f *faulty) {
	f.records(func(o *redemption.Order, _ []redemption.Use) {
		for i, k := range o.Coupons {
			if found, err := store.Find(context.Background(), f.Store, store.LookUp{Names: store.ByID(k.ID)}); err == nil {
				o.Coupons[i].Name = found.Coupon.Name
			}
		}
	})
}

// roundsPercent keeps percentages with two decimals.
func roundsPercent(f *faulty) {
	f.records(func(o *redemption.Order, _ []redemption.Use) {
		for i, k := range o.Coupons {
			t := k.Discount.Terms()
			whole, decimals, has := strings.Cut(t.Percent.String(), ".")
			if !has || len(decimals) <= 2 {
				continue
			}
			t.Percent, _ = pricing.ParsePercent(whole + "." + decimals[:2])
			o.Coupons[i].Discount, _ = pricing.NewDiscount(t)
		}
	})
}

// flagsLate tells of every payment that came after the release that it is over the limit.
func flagsLate(f *faulty) {
	late := map[string]bool{}
	f.eachUse(func(u *redemption.Use) {
		late[u.ID] = late[u.ID] || u.State == redemption.Released
		u.OverLimit = u.OverLimit || late[u.ID] && u.State == redemption.Completed
	})
}

// failsAfterCommit answers that a hand-over was superseded, and has done it.
func failsAfterCommit(f *faulty) {
	sound := f.reserve
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		reserved, err := sound(ctx, r)
		if err == nil && r.Order.Replaces != "" {
			return store.Reserved{}, store.ErrSuperseded
		}
		return reserved, err
	}
}

// twoOfACode lets a second coupon have a code that is taken.
func twoOfACode(f *faulty) {
	codes := map[string]coupon.Code{}
	f.eachCoupon(func(c *coupon.Coupon) {
		if code, taken := codes[c.ID]; taken {
			c.Code = code
		}
	})
	sound := f.save
	f.save = func(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
		saved, err := sound(ctx, c)
		if !errors.Is(err, coupon.ErrCodeTaken) {
			return saved, err
		}
		codes[c.Coupon.ID] = c.Coupon.Code
		if c.Coupon.Code, err = coupon.ParseCode(c.Coupon.ID); err != nil {
			return saved, err
		}
		return sound(ctx, c)
	}
}

// reservesInactive reserves coupons that were switched off.
func reservesInactive(f *faulty) {
	off := map[string]bool{}
	f.eachCoupon(func(c *coupon.Coupon) {
		if off[c.ID] && c.State == coupon.Active {
			c.State = coupon.Inactive
		}
	})
	f.changes(func(c *store.CouponChange) {
		if c.Kind != store.EditCoupon {
			return
		}
		if off[c.Coupon.ID] = c.Coupon.State == coupon.Inactive; off[c.Coupon.ID] {
			c.Coupon.State = coupon.Active
		}
	})
	f.requests(func(r *store.Reservation) {
		for i := range r.Coupons {
			r.Coupons[i].Revision = 0
		}
	})
}

// halvesBudgets halves the budget of a coupon when a customer asks.
func halvesBudgets(f *faulty) {
	f.budgets(func(m pricing.Money) []pricing.Money {
		return []pricing.Money{pricing.NewMoney((m.Minor()+1)/2, m.Currency())}
	})
}

// forgetsBudgets knows of no budget when a customer asks.
func forgetsBudgets(f *faulty) {
	f.budgets(func(pricing.Money) []pricing.Money { return nil })
}

// budgets changes the budget of a coupon when a customer asks.
func (f *faulty) budgets(change func(pricing.Money) []pricing.Money) {
	sound := f.lookUp
	f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
		found, err := sound(ctx, by)
		for i := range found.Coupons {
			if found.Coupons[i] == nil {
				continue // no coupon has the name
			}
			c := &found.Coupons[i].Coupon
			if len(by.Identities) == 0 {
				break
			}
			var amounts []pricing.Money
			for m := range c.Limits.Budget.All() {
				amounts = append(amounts, change(m)...)
			}
			c.Limits.Budget = coupon.NewMoneySet(amounts...)
		}
		return found, err
	}
}

// forgetsFirstBudgets creates coupons without their budgets.
func forgetsFirstBudgets(f *faulty) {
	f.changes(func(c *store.CouponChange) {
		if c.Kind == store.CreateCoupon {
			c.Coupon.Limits.Budget = coupon.MoneySet{}
		}
	})
}

// keepsFirstBudgets edits coupons and leaves their budgets as they were created.
func keepsFirstBudgets(f *faulty) {
	first := map[string]coupon.MoneySet{}
	f.changes(func(c *store.CouponChange) {
		switch c.Kind {
		case store.CreateCoupon:
			first[c.Coupon.ID] = c.Coupon.Limits.Budget
		case store.EditCoupon:
			c.Coupon.Limits.Budget = first[c.Coupon.ID]
		case store.ConfirmMirror, store.DeleteCoupon:
		}
	})
}

// givesBack shows what claims on budgets have given back otherwise, of paid orders that the
// function finds.
func givesBack(finds func(redemption.Order, redemption.Use) bool, much func(eligibility.Claim) int64) func(*faulty) {
	return func(f *faulty) {
		f.records(func(_ *redemption.Order, uses []redemption.Use) {
			for i, u := range uses {
				o, err := f.Store.Order(context.Background(), store.OrderKey{ID: u.OrderID})
				if err != nil || !finds(o.Order, u) {
					continue
				}
				uses[i].Claims = slices.Clone(u.Claims)
				for j, c := range u.Claims {
					if eligibility.IsBudget(c.Counter) {
						uses[i].Claims[j].Returned = much(c)
					}
				}
			}
		})
	}
}

// countsTwice counts completed uses twice when a customer asks.
func countsTwice(f *faulty) {
	sound := f.lookUp
	f.lookUp = func(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
		found, err := sound(ctx, by)
		for i := range found.Coupons {
			if found.Coupons[i] == nil {
				continue // no coupon has the name
			}
			if len(by.Identities) > 0 {
				found.Coupons[i].Coupon.UsedCount *= 2
			}
		}
		return found, err
	}
}

// leaksErrors shows the error of its driver.
func leaksErrors(f *faulty) {
	sound := f.reserve
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		reserved, err := sound(ctx, r)
		if errors.Is(err, store.ErrSuperseded) {
			err = errors.New("could not serialize access due to concurrent update")
		}
		return reserved, err
	}
}

// handsOverInTwoSteps cancels the old order before it stores the new one.
func handsOverInTwoSteps(f *faulty) {
	replaces := map[string]string{}
	sound := f.reserve
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		old, err := f.Store.Order(ctx, store.OrderKey{ID: r.Order.Replaces})
		if err == nil && old.Order.State == redemption.OrderOpen {
			_, _ = f.Store.Apply(ctx, store.Settlement{Event: redemption.Event{
				Kind: redemption.Cancelled, OrderID: old.Order.ID, SessionID: old.Order.SessionID, At: r.Order.CreatedAt,
			}})
			replaces[r.Order.ID], r.Order.Replaces = old.Order.ID, ""
			f.pause()
		}
		return sound(ctx, r)
	}
	f.records(func(o *redemption.Order, _ []redemption.Use) {
		if old := replaces[o.ID]; old != "" {
			o.Replaces = old
		}
	})
}

// keepsReplaced leaves the uses of an order reserved that another one has replaced.
func keepsReplaced(f *faulty) {
	replaced := map[string]bool{}
	f.records(func(o *redemption.Order, uses []redemption.Use) {
		if o.Replaces != "" {
			replaced[o.Replaces] = true
		}
		for i := range uses {
			if replaced[uses[i].OrderID] && uses[i].State == redemption.Released {
				uses[i].State = redemption.Reserved
			}
		}
	})
}

// endsSuccessor takes the end of a session for the end of the order that has replaced its own.
func endsSuccessor(f *faulty) {
	f.events(func(ctx context.Context, s *store.Settlement) {
		o, err := f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID})
		next, missing := f.Store.Order(ctx, store.OrderKey{ID: o.Order.ReplacedBy})
		if s.Event.Kind == redemption.SessionExpired && err == nil && missing == nil {
			s.Event.Kind, s.Event.OrderID, s.Event.SessionID = redemption.Cancelled, next.Order.ID, next.Order.SessionID
		}
	})
}

// forgetsReplaced does not tell a checkout which order its own has replaced.
func forgetsReplaced(f *faulty) {
	reserve, apply := f.reserve, f.apply
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		reserved, err := reserve(ctx, r)
		reserved.Order.Replaces = ""
		return reserved, err
	}
	f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
		settled, err := apply(ctx, s)
		if s.Event.Kind == redemption.PaymentBegun {
			settled.Order.Replaces = ""
		}
		return settled, err
	}
}

// beginsTooEarly tells nobody for which order another one waits, and lets its payment begin.
func beginsTooEarly(f *faulty) {
	reserve, apply := f.reserve, f.apply
	f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
		reserved, err := reserve(ctx, r)
		reserved.Order.Awaits = ""
		return reserved, err
	}
	f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
		settled, err := apply(ctx, s)
		if s.Event.Kind == redemption.PaymentBegun && errors.Is(err, store.ErrPaymentOpen) {
			return f.Store.Order(ctx, store.OrderKey{ID: s.Event.OrderID})
		}
		return settled, err
	}
}

// forgetsBegun lets the payment of an order end with its hand-over.
func forgetsBegun(f *faulty) {
	f.requests(func(r *store.Reservation) {
		old, err := f.Store.Order(context.Background(), store.OrderKey{ID: r.Order.Replaces})
		if err == nil && old.Order.State == redemption.OrderOpen {
			_, _ = f.Store.Apply(context.Background(), store.Settlement{Event: redemption.Event{
				Kind: redemption.PaymentEnded, OrderID: old.Order.ID, SessionID: old.Order.SessionID, At: r.Order.CreatedAt, BegunBy: old.Order.BegunAt,
			}})
		}
	})
}

// answers takes payments that are on their way for fresh answers, if the function finds when somebody has
// asked.
func (f *faulty) answers(finds func(askedAt int64) bool) {
	f.events(func(_ context.Context, s *store.Settlement) {
		if s.Event.Kind == redemption.PaymentPending && finds(s.Event.AskedAt) {
			s.Event.AskedAt = math.MaxInt64
		}
	})
}

// takesBackUnasked tells no process that an order was replaced, so that it does not ask about the payment.
// The checks see it.
func takesBackUnasked(f *faulty) {
	f.answers(func(askedAt int64) bool { return askedAt == 0 })
	sound := f.order
	f.order = func(ctx context.Context, by store.OrderKey) (store.Settled, error) {
		settled, err := sound(ctx, by)
		if ctx != context.Background() {
			settled.Order.ReplacedBy = ""
		}
		return settled, err
	}
}

// entries changes what is read of the journal.
func (f *faulty) entries(change func(after int64, limit int, entries []store.Entry) []store.Entry) {
	sound := f.journal
	f.journal = func(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
		entries, err := sound(ctx, after, limit)
		return change(after, limit, entries), err
	}
}

func losesEntries(f *faulty) {
	f.entries(func(_ int64, _ int, entries []store.Entry) []store.Entry {
		return slices.DeleteFunc(entries, func(e store.Entry) bool { return e.Kind == store.OrderCancelled })
	})
}

func repeatsEntries(f *faulty) {
	f.entries(func(after int64, _ int, entries []store.Entry) []store.Entry {
		for i, e := range entries {
			if e.Kind == store.OrderPaid && i == 0 {
				entries = append(entries[:1:1], entries...)
				break
			}
		}
		for i := range entries {
			entries[i].Position = after + int64(i) + 1
		}
		return entries
	})
}

// skipsEntries misses an entry where a reader goes on after a page that was full.
func skipsEntries(f *faulty) {
	full := map[int64]bool{}
	f.entries(func(after int64, limit int, entries []store.Entry) []store.Entry {
		if len(entries) > 0 && len(entries) == limit {
			full[entries[len(entries)-1].Position] = true
		}
		if limit < store.MaxJournalLimit && full[after] && len(entries) > 0 {
			return entries[1:]
		}
		return entries
	})
}

// writesLater writes the entry of a payment in a transaction of its own.
func writesLater(f *faulty) {
	hidden := int64(0)
	f.entries(func(_ int64, _ int, entries []store.Entry) []store.Entry {
		return slices.DeleteFunc(entries, func(e store.Entry) bool { return hidden > 0 && e.Position > hidden })
	})
	sound := f.apply
	f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
		settled, err := sound(ctx, s)
		if err == nil && settled.Changed && s.Event.Kind == redemption.Paid {
			entries, _ := f.Store.Journal(ctx, 0, store.MaxJournalLimit)
			hidden = int64(len(entries)) - 1
			f.pause()
			hidden = 0
		}
		return settled, err
	}
}
