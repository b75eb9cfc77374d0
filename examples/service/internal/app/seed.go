package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// pausedCode is the demo coupon that is switched off after it was made.
const pausedCode = "PAUSED"

// seedCoupons makes the demo's coupons when the store has none: every kind of
// discount, scope and distribution, and one for each reason to refuse that depends
// on the coupon.
func seedCoupons(ctx context.Context, service *couponkit.Service, now time.Time) error {
	page, err := service.List(ctx, store.CouponList{PageSize: 1})
	if err != nil || page.Total > 0 {
		return err
	}
	for _, draft := range demoCoupons(now) {
		c, err := service.Create(ctx, draft)
		if errors.Is(err, coupon.ErrCodeTaken) {
			continue // another node seeds the same store
		}
		if err != nil {
			return fmt.Errorf("seed coupon %s: %w", draft.Code, err)
		}
		if draft.Code != pausedCode {
			continue
		}
		if _, err := service.SetActive(ctx, c.ID, false); err != nil {
			return fmt.Errorf("pause coupon %s: %w", draft.Code, err)
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
		percentOff("OLD", "Over", 10, "Expired; coupons can be made so, to test."),
		percentOff(pausedCode, "Paused", 10, "Switched off."),
	}
	adjust := map[string]func(*coupon.Draft){
		"SUMMER10": func(d *coupon.Draft) { d.MaxUses, d.MaxUsesPerUser = coupon.Set[int64](1_000), coupon.Clear[int64]() },
		"TENOFF":   func(d *coupon.Draft) { d.MinPurchase, d.MaxUsesPerUser = decimal.NewFromInt(50), coupon.Set[int64](5) },
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
		"LASTONE": func(d *coupon.Draft) { d.MaxUses = coupon.Set[int64](1) },
		"SOON":    func(d *coupon.Draft) { d.StartsAt = coupon.At(now.AddDate(0, 0, 7)) },
		"OLD":     func(d *coupon.Draft) { d.ExpiresAt = coupon.At(now.AddDate(0, 0, -1)) },
	}
	for i := range drafts {
		if change := adjust[drafts[i].Code]; change != nil {
			change(&drafts[i])
		}
	}
	return drafts
}

func percentOff(code, name string, percent int64, description string) coupon.Draft {
	return coupon.Draft{
		Code: code, Name: name, Description: description,
		DiscountType: pricing.Percentage, DiscountValue: decimal.NewFromInt(percent),
	}
}

func amountOff(code, name string, euros int64, description string) coupon.Draft {
	return coupon.Draft{
		Code: code, Name: name, Description: description,
		DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(euros),
	}
}
