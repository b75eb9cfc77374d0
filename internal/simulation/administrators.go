package simulation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// codes is a short list, so that the code of a deleted coupon is often used again.
var codes = [...]string{"alpha", "Beta", " gamma ", "été", "delta-5", "EPSILON", "zeta"}

func (w *world) limit() coupon.Optional[int] {
	if n := w.random.Int64N(w.temper.most + 1); n > 0 {
		return coupon.Set(int(n))
	}
	return coupon.Clear[int]()
}

func (w *world) draft() coupon.Draft {
	d := coupon.Draft{
		Code: codes[w.random.IntN(w.temper.codes)], Name: "A coupon",
		DiscountType: pricing.Percentage, Percent: decimal.New(1+w.random.Int64N(1_000_000), -4).String(),
		MaxUses: w.limit(), MaxUsesPerUser: w.limit(),
	}
	if w.odds(12) {
		d.Currency = []string{"JPY", "KWD"}[w.random.IntN(2)]
	}
	if w.odds(3) {
		d.DiscountType, d.Percent, d.Amount = pricing.FixedAmount, "", coupon.Amounts{"": fmt.Sprint(1 + w.random.Int64N(150))}
	}
	if !w.odds(6) {
		d.Group = []string{"a", "b", "c"}[w.random.IntN(3)]
	}
	if d.DiscountType == pricing.Percentage && w.odds(3) {
		d.Lane = pricing.ItemLane
	}
	d.RestoreOnRefund = []coupon.Restore{coupon.RestoreFull, coupon.RestoreAlways, coupon.RestoreNever}[w.random.IntN(3)]
	w.narrow(&d)
	if in, err := pricing.ParseCurrency(cmp.Or(d.Currency, pricing.EUR().Code())); err == nil {
		w.bound(&d, in)
	}
	switch w.random.IntN(9) {
	case 0, 1, 2:
		d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 1+w.random.Int64N(200)
	case 3:
		d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, w.emails()
	}
	w.makeAutomatic(&d)
	return d
}

// narrow adds random conditions to a draft: scope, amount and time.
func (w *world) narrow(d *coupon.Draft) {
	switch w.random.IntN(14) {
	case 0:
		d.AppliesTo = coupon.Subscription
	case 1:
		d.AppliesTo, d.DeviceIDs = coupon.Product, []string{"phone"}
	case 2:
		d.AppliesTo, d.PlanIDs, d.AccessoryIDs = coupon.Specific, []string{"gold"}, []string{"case"}
	}
	if w.odds(10) {
		d.MinPurchase, d.RefundPolicy = coupon.Amounts{"": fmt.Sprint(1 + w.random.Int64N(120))}, []pricing.RefundPolicy{pricing.Keep, pricing.Rebill}[w.random.IntN(2)]
	}
	if w.odds(14) {
		d.StartsAt = calendar.At(w.now.Add(time.Duration(w.random.IntN(180)) * time.Minute))
	}
	if w.odds(9) {
		d.ExpiresAt = calendar.At(w.now.Add(time.Duration(181+w.random.IntN(3_000)) * time.Minute))
	}
}

// bound gives a coupon a cap, a budget, or both. A few of its usual discounts use up the budget.
func (w *world) bound(d *coupon.Draft, in pricing.Currency) {
	usual := int64(60_00)
	if amount, err := in.Parse(d.Amount[""]); err == nil {
		usual = min(usual, amount)
	}
	if w.odds(6) {
		usual = min(usual, 1+w.random.Int64N(40_00))
		d.MaxDiscount = coupon.NewAmounts(pricing.NewMoney(usual, in))
	}
	if w.odds(w.temper.budgets) {
		d.Budget = w.budget(in, usual)
	}
}

// budget draws a budget in a currency, and at times in a second one.
func (w *world) budget(in pricing.Currency, usual int64) coupon.Amounts {
	uses := 1 + w.random.Int64N(w.temper.most)
	amounts := []pricing.Money{pricing.NewMoney(usual*uses+w.random.Int64N(usual), in)}
	if other := w.currency(); other != in {
		amounts = append(amounts, pricing.NewMoney(1+w.random.Int64N(200_00), other))
	}
	return coupon.NewAmounts(amounts...)
}

func (w *world) emails() coupon.EmailList {
	list := coupon.EmailList{email(fmt.Sprintf("customer%d", w.random.IntN(w.temper.hot)))}
	for range w.random.IntN(3) {
		list = append(list, email(fmt.Sprintf("Customer%d", w.random.IntN(w.config.Customers))))
	}
	return list
}

func (w *world) create() bool {
	s, d := w.shop(), w.draft()
	return w.begin(s, "create", "an administrator creates "+d.Code, func(ctx context.Context, t *task) error {
		c, err := t.service.Create(ctx, d)
		t.then = func() {
			s.coupons = append(s.coupons, c.ID)
			w.log("  %s is %s %s, %s, at most %d uses, %d of each customer%s", c.ID, c.Code, c.Discount, c.Distribution, c.Limits.MaxUses, c.Limits.MaxUsesPerUser, within(c))
			first := s.book.terms[terms{c.ID, 1}]
			w.must(AnswersAreTrue, maps.Equal(coupon.NewAmounts(first.Limits.Budget.Slice()...), d.Budget), "coupon %s was created with the budget %v, and has %v", c.ID, d.Budget, first.Limits.Budget.Slice())
			w.recreated(s, c)
			now, err := w.coupon(s, c.ID)
			w.must(AnswersAreTrue, err == nil && now.State != coupon.Pending && !now.Mirror.IsZero(),
				"coupon %s was created, and is %s with mirror %v (%v)", c.ID, now.State, now.Mirror, err)
		}
		return err
	})
}

// within describes the budget of a coupon for the trace.
func within(c coupon.Coupon) string {
	if c.Limits.Budget.IsZero() {
		return ""
	}
	return fmt.Sprint(", within ", c.Limits.Budget.Slice())
}

// coupon returns the stored coupon, with its allow-list.
func (w *world) coupon(s *shop, id string) (coupon.Coupon, error) {
	found, err := store.Find(background(), s.eyes, store.LookUp{Names: store.ByID(id), Whole: true})
	return found.Coupon, err
}

// recreated counts codes that were used again after a deletion. It notes whether the deleted coupon
// still had open uses.
func (w *world) recreated(s *shop, c coupon.Coupon) {
	again, open := !c.Code.IsZero() && s.deleted[c.Code.String()], false
	for _, u := range s.book.uses {
		gone := s.book.coupons[u.CouponID].ID == ""
		open = open || gone && u.State == redemption.Reserved && s.book.orders[u.OrderID].SessionID != ""
	}
	w.when(again, "step", "code made again", "")
	w.when(again && open, "step", "code made again", "while a session of its former coupon is open")
}

func (w *world) patch() coupon.Patch {
	p := coupon.Patch{Name: coupon.Set([]string{"One", "Two", "Three"}[w.random.IntN(3)])}
	if w.odds(2) {
		p.MaxUses = w.limit()
	}
	if w.odds(4) {
		p.MaxUsesPerUser = w.limit()
	}
	switch w.random.IntN(10) {
	case 5, 6:
		p.Budget = coupon.Set(w.budget(pricing.EUR(), 1+w.random.Int64N(80_00))) // a fault unless the coupon has this currency
	case 7:
		p.Budget = coupon.Clear[coupon.Amounts]()
	case 0:
		p.MinPurchase = coupon.Set(coupon.Amounts{"": fmt.Sprint(w.random.Int64N(120))})
	case 1:
		p.ExpiresAt = coupon.Set(calendar.At(w.now.Add(time.Duration(w.random.IntN(600)) * time.Minute)))
	case 2:
		p.ExpiresAt = coupon.Clear[calendar.Moment]()
	case 3:
		p.Distribution, p.PointsRequired = coupon.Set(coupon.General), coupon.Clear[int64]()
		p.AllowedUserEmails = coupon.Clear[coupon.EmailList]()
	case 4:
		p.AllowedUserEmails = coupon.Set(w.emails()) // a fault unless the coupon is for some users
	}
	if w.parts.Automatic && w.odds(8) {
		p.Automatic = coupon.Set(w.odds(2)) // a fault if the coupon costs points
	}
	return p
}

func (w *world) edit() bool {
	s, p := w.shop(), w.patch()
	id, stale := w.anyCoupon(s), false
	if revision, looked := s.seen[id]; looked && w.odds(2) {
		p.Revision, stale = coupon.Set(revision), revision != s.book.coupons[id].Revision
	}
	since := s.book.coupons[id].Revision
	return w.begin(s, "edit", "an administrator edits "+id, func(ctx context.Context, t *task) error {
		c, err := t.service.Update(ctx, id, p)
		t.then = func() {
			w.checkEdited(s, p, since, c)
			w.must(AnswersAreTrue, !stale, "%s, which they saw at revision %v, and do not learn that it has changed", t.name, p.Revision)
			if c.Revision%2 == 0 { // some administrators send the revision that they saw
				s.seen[id] = c.Revision
			}
		}
		return err
	})
}

// checkEdited checks that a revision since the start of the call has the budget of the patch. The
// answer is the newest revision. Another administrator may have edited it since.
func (w *world) checkEdited(s *shop, p coupon.Patch, since int64, answer coupon.Coupon) {
	budget, _ := p.Budget.Value()
	has := !p.Budget.Given() || maps.Equal(coupon.NewAmounts(answer.Limits.Budget.Slice()...), budget)
	for ; !has && since < answer.Revision; since++ {
		seen, known := s.book.terms[terms{answer.ID, since}]
		has = known && maps.Equal(coupon.NewAmounts(seen.Limits.Budget.Slice()...), budget)
	}
	w.must(AnswersAreTrue, has, "coupon %s was given the budget %v, and has %v", answer.ID, budget, answer.Limits.Budget.Slice())
}

func (w *world) switchState() bool {
	s, active := w.shop(), !w.odds(3)
	id := w.anyCoupon(s)
	return w.begin(s, "switch", fmt.Sprintf("an administrator switches %s to active: %t", id, active), func(ctx context.Context, t *task) error {
		_, err := t.service.SetActive(ctx, id, active)
		return err
	})
}

func (w *world) remove() bool {
	s := w.shop()
	id := w.anyCoupon(s)
	return w.begin(s, "delete", "an administrator deletes "+id, func(ctx context.Context, t *task) error {
		t.then = func() {
			_, err := w.coupon(s, id)
			w.must(AnswersAreTrue, err != nil, "coupon %s was deleted, and is there", id)
		}
		return t.service.Delete(ctx, id)
	})
}

// tamper changes a mirror at the processor, without the service.
func (w *world) tamper() bool {
	s := w.shop()
	c, there := s.book.coupons[w.anyCoupon(s)]
	if !there || c.Mirror.IsZero() || !w.odds(2) {
		return false
	}
	how := w.random.IntN(4)
	err := [...]func(coupon.Mirror) error{
		s.fake.TamperActivate, s.fake.TamperDeactivate, s.fake.TamperDelete, s.fake.TamperKill,
	}[how](c.Mirror)
	what := [...]string{"activates", "deactivates", "deletes", "kills"}[how]
	w.coverage.count("step", "tamper", what)
	w.log("somebody at the processor %s the mirror of %s: %v", what, c.ID, err)
	return true
}

// sweep starts a sweep or a reconciliation. Hosts call both now and then, on several nodes.
func (w *world) sweep() bool {
	limit := max(0, w.random.IntN(9)-5)
	return w.begin(w.shop(), "sweep", "a sweep", func(ctx context.Context, t *task) error {
		report, err := t.service.Sweep(ctx, limit)
		w.when(len(report.Repaid) > 0, "repayment", "swept", "")
		return err
	})
}

func (w *world) reconcile() bool {
	kind := "reconcile"
	if w.odds(6) {
		kind = "dry reconcile"
	}
	return w.begin(w.shop(), kind, "a "+kind, func(ctx context.Context, t *task) error {
		_, err := t.service.Reconcile(ctx, couponkit.ReconcileOptions{DryRun: t.readOnly()})
		return err
	})
}
