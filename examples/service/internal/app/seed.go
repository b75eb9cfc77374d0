package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/shop"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// Demo coupons that are changed after their creation.
const (
	pausedCode = "PAUSED" // is deactivated
	oldCode    = "OLD"    // gets an expiry in the past, because a new coupon cannot have one
)

// seed creates the demo in an empty store: first the coupons, then users and catalog in one
// transaction. If it is interrupted, the next start completes it. It does nothing if there are other
// users or coupons.
func (s *Server) seed(ctx context.Context) error {
	drafts := demoCoupons(s.config.Now())
	empty, err := s.Shop.Empty(ctx)
	if err != nil || !empty {
		return err
	}
	if empty, err = onlyDemo(ctx, s.Service, drafts); err != nil || !empty {
		return err
	}
	if err := seedCoupons(ctx, s.Service, drafts); err != nil {
		return err
	}
	users := append(shop.DemoUsers(), shop.DemoCrowd(s.config.Crowd)...)
	return s.Shop.Seed(ctx, users, shop.DemoItems())
}

// onlyDemo reports whether all coupons in the store are demo coupons.
func onlyDemo(ctx context.Context, service *couponkit.Service, drafts []coupon.Draft) (bool, error) {
	page, err := service.List(ctx, store.CouponList{PageSize: store.MaxPageSize})
	if err != nil || page.Total > int64(len(drafts)) {
		return false, err
	}
	for _, c := range page.Items {
		if !slices.ContainsFunc(drafts, func(d coupon.Draft) bool { return d.Code == c.Code.String() }) {
			return false, nil
		}
	}
	return true, nil
}

// seedCoupons creates coupons of every discount type, scope and distribution. It creates one coupon for
// each reason of refusal that depends on the coupon.
func seedCoupons(ctx context.Context, service *couponkit.Service, drafts []coupon.Draft) error {
	for _, draft := range drafts {
		c, err := service.Create(ctx, draft)
		if errors.Is(err, coupon.ErrCodeTaken) {
			continue // created by an interrupted start or another node
		}
		if err != nil {
			return fmt.Errorf("seed coupon %s: %w", draft.Code, err)
		}
		switch draft.Code {
		case pausedCode:
			_, err = service.SetActive(ctx, c.ID, false)
		case oldCode:
			_, err = service.Update(ctx, c.ID, coupon.Patch{ExpiresAt: coupon.Set(calendar.At(c.CreatedAt.AddDate(0, 0, -1)))})
		}
		if err != nil {
			return fmt.Errorf("change coupon %s: %w", draft.Code, err)
		}
	}
	return nil
}

func demoCoupons(now time.Time) []coupon.Draft {
	drafts := []coupon.Draft{
		percentOff("SUMMER10", "Summer sale", 10, "Everything but shipping."),
		amountOff("TENOFF", "Ten off", 10, "From 50 euros on."),
		percentOff("PLAN20", "Plans for less", 20, "All subscription plans."),
		percentOff("FAMILY50", "Family for half", 50, "The family plan only."),
		amountOff("GADGET25", "Gadget bonus", 25, "Devices and accessories."),
		percentOff("PHONES15", "Phone week", 15, "Two phones, and all accessories."),
		percentOff("SELECTED", "Selected items", 30, "One plan, one device, one accessory."),
		percentOff("POINTS25", "For your points", 25, "Costs 500 points."),
		amountOff("VIP15", "For our best", 15, "Ann and Ben."),
		percentOff("LASTONE", "The last one", 40, "One use in all."),
		percentOff("FREEBIE", "On the house", 100, "Only shipping is left."),
		percentOff("SOON", "Not yet", 10, "Begins in a week."),
		percentOff(oldCode, "Over", 10, "Has expired."),
		percentOff(pausedCode, "Paused", 10, "Switched off."),
	}
	adjust := map[string]func(*coupon.Draft){
		"SUMMER10": func(d *coupon.Draft) { d.MaxUses, d.MaxUsesPerUser = coupon.Set(1_000), coupon.Clear[int]() },
		"TENOFF":   func(d *coupon.Draft) { d.MinPurchase, d.MaxUsesPerUser = coupon.Amounts{"": "50"}, coupon.Set(5) },
		"PLAN20":   func(d *coupon.Draft) { d.AppliesTo = coupon.Subscription },
		"FAMILY50": func(d *coupon.Draft) { d.AppliesTo, d.PlanIDs = coupon.Subscription, []string{"family"} },
		"GADGET25": func(d *coupon.Draft) { d.AppliesTo = coupon.Product },
		"PHONES15": func(d *coupon.Draft) { d.AppliesTo, d.DeviceIDs = coupon.Product, []string{"phone-s", "phone-x"} },
		"SELECTED": func(d *coupon.Draft) {
			d.AppliesTo, d.PlanIDs, d.DeviceIDs, d.AccessoryIDs = coupon.Specific, []string{"plus"}, []string{"watch"}, []string{"earbuds"}
		},
		"POINTS25": func(d *coupon.Draft) { d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 500 },
		"VIP15": func(d *coupon.Draft) {
			d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{"ann@example.org", "ben@example.org"}
		},
		"LASTONE": func(d *coupon.Draft) { d.MaxUses = coupon.Set(1) },
		"SOON":    func(d *coupon.Draft) { d.StartsAt = calendar.At(now.AddDate(0, 0, 7)) },
	}
	for i := range drafts {
		if change := adjust[drafts[i].Code]; change != nil {
			change(&drafts[i])
		}
	}
	slices.Reverse(drafts) // so that the first draft is the newest, at the top of the table
	return drafts
}

func percentOff(code, name string, percent int, description string) coupon.Draft {
	return coupon.Draft{
		Code: code, Name: name, Description: description,
		DiscountType: pricing.Percentage, Percent: strconv.Itoa(percent),
	}
}

func amountOff(code, name string, euros int, description string) coupon.Draft {
	return coupon.Draft{
		Code: code, Name: name, Description: description,
		DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": strconv.Itoa(euros)},
	}
}
