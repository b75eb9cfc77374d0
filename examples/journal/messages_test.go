package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// everything is a value for every parameter that a message shows.
func everything() coupon.Params {
	amount := func(minor int64) coupon.Amount { return coupon.Amount{Money: pricing.NewMoney(minor, pricing.EUR())} }
	at := time.Date(2026, 11, 23, 8, 30, 0, 0, time.UTC)
	return coupon.Params{
		StartsAt: at, ExpiresAt: at, OpensAt: at, EndsAt: at, MaxUses: 3, MaxUsesPerUser: 2, Orders: 4,
		MinPurchase: amount(50_00), Missing: amount(12_50), Remaining: amount(7_00), Computed: amount(30_00), Total: amount(10), Minimum: amount(50),
		MaxPurchase: amount(200_00), Excess: amount(8_00), MaxQuantity: 4, ExcessQuantity: 2, MinQuantity: 5, MissingQuantity: 1, PointsRequired: 500, CouponCurrency: pricing.EUR(), CartCurrency: pricing.USD(),
		MissingTags: []string{"member"}, ExcludedBy: []string{"ONE", "TWO"}, Field: "discount",
	}
}

// TestEveryRejectionIsTranslated: each code has a message of its own in both languages, and a
// message that names parameters shows them.
func TestEveryRejectionIsTranslated(t *testing.T) {
	t.Parallel()
	seen := map[string]coupon.RejectionCode{}
	for _, code := range coupon.RejectionCodes() {
		for _, params := range []coupon.Params{everything(), {}} {
			refused := coupon.Rejections{coupon.Reject("cpn_1", code, params)}
			english, german := translate("en", refused), translate("de-AT,de;q=0.9,en;q=0.5", refused)
			if english == german || english == code.Message() || german == "" || strings.Contains(english+german, "<no value>") {
				t.Errorf("%s: %q and %q", code, english, german)
			}
			if other, taken := seen[english+german]; taken && other != code {
				t.Errorf("%s has the messages of %s", code, other)
			}
			seen[english+german] = code
		}
	}
}

// What is missing of required items is a number of them, or an amount.
func TestMessagesOfRequiredItems(t *testing.T) {
	t.Parallel()
	amount := everything()
	amount.MissingQuantity = 1
	both := everything()
	both.MissingQuantity = 2
	for params, want := range map[*coupon.Params][]string{
		{MissingQuantity: 2}: {"2 of the required items are missing.", "Es fehlen 2 der nötigen Artikel."},
		&amount:              {"Add 12.50 EUR of the required items to reach 50.00 EUR.", "Es fehlen nötige Artikel für 12,50 EUR bis 50,00 EUR."},
		&both: {
			"Add 12.50 EUR of the required items to reach 50.00 EUR, at least 2 of them.",
			"Es fehlen nötige Artikel für 12,50 EUR bis 50,00 EUR, mindestens 2 Stück.",
		},
	} {
		refused := coupon.Rejections{coupon.Reject("cpn_1", coupon.RequiredItemsMissing, *params)}
		if diff := cmp.Diff(want, []string{translate("en", refused), translate("de", refused)}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestMessagesShowParameters(t *testing.T) {
	t.Parallel()
	refused := coupon.Rejections{
		coupon.Reject("cpn_1", coupon.MinimumPurchaseNotMet, everything()),
		coupon.Reject("cpn_2", coupon.CouponExpired, everything()),
		coupon.Reject("cpn_3", coupon.NotCombinable, everything()),
		coupon.Reject("cpn_4", coupon.BelowMinimumCharge, everything()),
	}
	for accept, want := range map[string]string{
		"de": "Es fehlen 12,50 EUR bis 50,00 EUR.\nAbgelaufen am 23.11.2026, 08:30 UTC.\nNicht kombinierbar mit ONE, TWO.\n" +
			"0,10 EUR ist zu wenig für eine Zahlung. Mindestens: 0,50 EUR.",
		"fr": "Add 12.50 EUR to reach 50.00 EUR.\nExpired on November 23, 2026, 08:30 UTC.\nCannot be combined with ONE, TWO.\n" +
			"0.10 EUR is too little to pay. Least: 0.50 EUR.",
	} {
		if diff := cmp.Diff(want, translate(accept, refused)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", accept, diff)
		}
	}
}
