package main

import (
	"math"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// couponFields are the names that a coupon has where the library writes one.
var couponFields = []string{
	"id", "code", "name", "discountType", "discountValue", "currency", "description", "lane", "group",
	"discountValues", "maxDiscount", "maxDiscounts", "maxUnits", "units", "buyQuantity", "getQuantity",
	"maxApplications", "buys", "tierBasis", "tiers", "minPurchases",
	"appliesTo", "planIds", "deviceIds", "accessoryIds", "kinds", "categories",
	"excludedItemIds", "excludedCategories", "distribution", "allowedUserEmails",
	"pointsRequired", "maxUses", "maxUsesPerUser", "minPurchase", "startsAt", "expiresAt",
	"active", "usedCount", "reservedCount", "processorCouponId", "promotionCodeId", "mirrorUnsupported",
	"createdAt", "updatedAt", "revision",
	"minQuantity", "customerTags", "firstOrder", "schedule", "budget", "periodLimits", "group",
	"refundPolicy", "restoreOnRefund",
}

// documentCouponID stands for the ID of the coupon, which no answer shows.
const documentCouponID = coupon.IDPrefix + "document"

// decodeCoupon reads the terms of a coupon and checks them as the library checks
// a new one.
func decodeCoupon(raw []byte) (coupon.Coupon, error) {
	f, err := split(raw, couponFields)
	if err != nil {
		return coupon.Coupon{}, err
	}
	active := f.flag("active", true)
	draft := f.draft()
	f.require("code", "name", "discountType")
	if draft.DiscountType != pricing.Tiered {
		f.require("discountValue")
	}
	made, err := coupon.New(draft, coupon.Creation{ID: documentCouponID})
	f.checkStored()
	f.addNew(err)
	if !active {
		made.State = coupon.Inactive
	}
	return made, f.err()
}

func (f *fields) draft() coupon.Draft {
	d := coupon.Draft{
		DiscountDraft: f.further(), Group: f.text("group"),
		Code: f.text("code"), Name: f.text("name"), Description: f.text("description"),
		DiscountType:  parsed(f, "discountType", pricing.ParseDiscountType),
		DiscountValue: f.decimal("discountValue"), Currency: f.text("currency"),
		AppliesTo:          parsed(f, "appliesTo", coupon.ParseAppliesTo),
		PlanIDs:            f.texts("planIds", coupon.MaxSelectedItems),
		DeviceIDs:          f.texts("deviceIds", coupon.MaxSelectedItems),
		AccessoryIDs:       f.texts("accessoryIds", coupon.MaxSelectedItems),
		Kinds:              f.texts("kinds", coupon.MaxSelectedItems),
		Categories:         f.texts("categories", coupon.MaxSelectedItems),
		ExcludedItemIDs:    f.texts("excludedItemIds", coupon.MaxSelectedItems),
		ExcludedCategories: f.texts("excludedCategories", coupon.MaxSelectedItems),
		Distribution:       parsed(f, "distribution", coupon.ParseDistribution),
		AllowedUserEmails:  f.emails("allowedUserEmails"),
		PointsRequired:     f.integer("pointsRequired"),
		MaxUses:            f.limit("maxUses"), MaxUsesPerUser: f.limit("maxUsesPerUser"),
		MinPurchase:     f.decimal("minPurchase"),
		StartsAt:        parsed(f, "startsAt", coupon.ParseMoment),
		ExpiresAt:       parsed(f, "expiresAt", coupon.ParseMoment),
		MinQuantity:     f.limit("minQuantity"),
		FirstOrder:      f.flag("firstOrder", false),
		RefundPolicy:    parsed(f, "refundPolicy", pricing.ParseRefundPolicy),
		RestoreOnRefund: parsed(f, "restoreOnRefund", coupon.ParseRestore),
	}
	f.decode("customerTags", &d.CustomerTags)
	f.decode("schedule", &d.Schedule)
	f.decode("minPurchases", &d.MinPurchases)
	f.decode("budget", &d.Budget)
	f.decode("periodLimits", &d.PeriodLimits)
	if f.reported("periodLimits") || f.begins("periodLimits[") {
		d.PeriodLimits = nil
	}
	return d
}

// further reads the terms of a discount beyond its type and value.
func (f *fields) further() coupon.DiscountDraft {
	d := coupon.DiscountDraft{
		Lane: parsed(f, "lane", pricing.ParseLane), MaxDiscount: f.decimal("maxDiscount"),
		MaxUnits: f.units("maxUnits"), Units: f.units("units"),
		BuyQuantity: f.units("buyQuantity"), GetQuantity: f.units("getQuantity"),
		MaxApplications: f.units("maxApplications"), TierBasis: parsed(f, "tierBasis", pricing.ParseTierBasis),
	}
	f.decode("discountValues", &d.DiscountValues)
	f.decode("maxDiscounts", &d.MaxDiscounts)
	f.decode("buys", &d.Buys)
	f.decode("tiers", &d.Tiers)
	return d
}

// checkStored looks at the form of what a stored coupon has and no answer
// depends on.
func (f *fields) checkStored() {
	for _, name := range [...]string{"id", "processorCouponId", "promotionCodeId"} {
		f.text(name)
	}
	f.flag("mirrorUnsupported", false)
	for _, name := range [...]string{"usedCount", "reservedCount", "revision"} {
		f.count(name)
	}
	for _, name := range [...]string{"createdAt", "updatedAt"} {
		parsed(f, name, parseInstant)
	}
}

// decimal reads a number whose bounds the library knows; absent is 0.
func (f *fields) decimal(name string) decimal.Decimal {
	n := f.number(name)
	if n == "" {
		return decimal.Decimal{}
	}
	d, err := n.Decimal()
	f.faults.At(name, err)
	return d
}

// limit reads a limit; absent is none.
func (f *fields) limit(name string) coupon.Optional[int] {
	if _, ok := f.value(name); !ok {
		return coupon.Clear[int]()
	}
	return coupon.Set(int(max(min(f.integer(name), math.MaxInt), -1))) // which is refused as any below 1
}

// units reads a number of units; absent is 0, which nobody can give.
func (f *fields) units(name string) int64 {
	n := f.integer(name)
	if _, given := f.value(name); given && n == 0 && !f.reported(name) {
		f.faults.Add(name, pricing.FieldTooSmall, "must be at least 1")
	}
	return n
}

// emails reads a list of addresses, or one text.
func (f *fields) emails(name string) coupon.EmailList {
	if raw, ok := f.value(name); ok && raw[0] == '"' {
		text, _ := f.unquoted(name, raw)
		return coupon.SplitEmails(text)
	}
	return f.texts(name, coupon.MaxAllowedEmails)
}
