package eligibility_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/pricing"
)

// The oracle answers a question by the words of the contract, slowly: it walks
// the rejections of section 6 one by one, scans every list and computes in big
// numbers. It was written from the contract and shares no code with the package.

type situation struct {
	coupon   coupon.Coupon
	cart     pricing.Cart
	question eligibility.Question
}

// set is the set of the one coupon.
func (s situation) set() []eligibility.Candidate {
	return []eligibility.Candidate{{Coupon: &s.coupon, Usage: s.question.Usage, MirrorInvalid: s.question.MirrorInvalid}}
}

// rejections returns the codes that apply, by name, in the order of section 6.
// Section 6 has codes that are not for this package: those about finding and
// naming coupons, and those of checkout.
func (s situation) rejections() []string {
	rules := []struct {
		code    string
		applies func() bool
	}{
		{"coupon_inactive", func() bool { return s.coupon.State.String() != "active" }},
		{"coupon_not_started", s.notStarted},
		{"coupon_expired", s.expired},
		{"outside_schedule", s.closed},
		{"channel_not_allowed", s.elsewhere},
		{"country_not_allowed", s.abroad},
		{"processor_out_of_sync", func() bool { return s.question.MirrorInvalid }},
		{"usage_limit_reached", s.usedUp},
		{"user_usage_limit_reached", s.usedUpByCustomer},
		{"period_limit_reached", func() bool { return s.periodsReached() > 0 }},
		{"budget_exhausted", s.overBudget},
		{"minimum_purchase_not_met", s.belowMinimum},
		{"maximum_purchase_exceeded", s.aboveMaximum},
		{"minimum_quantity_not_met", s.tooFew},
		{"maximum_quantity_exceeded", s.tooMany},
		{"required_items_missing", s.lacksItems},
		{"required_items_missing", s.lacksBought},
		{"excluded_items_contained", s.hasExcluded},
		{"user_required", s.lacksUser},
		{"user_not_allowed", s.notAllowed},
		{"customer_tags_not_met", s.otherTags},
		{"not_first_order", s.orderedBefore},
		{"points_not_redeemed", s.pointsNotRedeemed},
		{"no_eligible_items", func() bool { return len(s.eligible()) == 0 }},
		{"no_discount", s.takesNothing},
		{"currency_mismatch", s.otherCurrency},
	}
	var codes []string
	for _, rule := range rules {
		switch {
		case rule.applies() && rule.code == "period_limit_reached":
			codes = append(codes, slices.Repeat([]string{rule.code}, s.periodsReached())...)
		case rule.applies():
			codes = append(codes, rule.code)
		}
	}
	return codes
}

// A schedule goes by the clock on the wall, minute by minute.
func (s situation) closed() bool {
	schedule := s.coupon.Conditions.Schedule
	if schedule.Zone.IsZero() {
		return false
	}
	local := s.question.At.In(schedule.Zone.Location())
	return s.question.At.IsZero() || !slices.ContainsFunc(schedule.Hours, func(h calendar.Hours) bool {
		wall := local.Format("15:04")
		from, until := wallClock(h.From), wallClock(h.Until)
		return local.Weekday() == h.Day && from <= wall && wall < until
	})
}

// A coupon with channels is refused where the sale is in none of them, or where nobody says in which.
func (s situation) elsewhere() bool {
	channels := s.coupon.Conditions.Channels.Slice()
	return channels != nil && !slices.Contains(channels, s.question.Facts.Channel)
}

// The same holds for countries and the country of delivery.
func (s situation) abroad() bool {
	countries := s.coupon.Conditions.Countries.Slice()
	return countries != nil && !slices.Contains(countries, s.question.Facts.Country)
}

func wallClock(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

// Every limit that is reached is a reason of its own; nobody has no limit of their own.
func (s situation) periodsReached() (reached int) {
	for i, l := range s.coupon.Limits.Periods {
		anonymous := s.question.Customer.ID == "" && l.Per.String() == "CUSTOMER"
		if i < len(s.question.Usage.Periods) && !anonymous && s.question.Usage.Periods[i] >= l.MaxUses {
			reached++
		}
	}
	return reached
}

// A discount is granted whole or not at all. A budget that is used up in every currency
// leaves nothing for any cart.
func (s situation) overBudget() bool {
	left := map[string]*big.Int{}
	nothing := !s.coupon.Limits.Budget.IsZero()
	for _, m := range s.coupon.Limits.Budget.Slice() {
		spent, _ := s.question.Usage.Spent.In(m.Currency())
		rest := new(big.Int).Sub(big.NewInt(m.Minor()), big.NewInt(spent))
		left[m.Currency().Code()] = rest
		nothing = nothing && rest.Sign() <= 0
	}
	rest := left[s.cart.Currency.Code()]
	tooMuch := rest != nil && len(s.eligible()) > 0 && !s.otherCurrency() && s.discount().Sign() > 0 && s.discount().Cmp(rest) > 0
	return nothing || tooMuch
}

func (s situation) tooFew() bool {
	return s.units().Cmp(big.NewInt(max(s.coupon.Conditions.MinQuantity, s.discounted()))) < 0
}

// Section 2: the least number of units that a tier, or an offer for units that are bought, discounts.
func (s situation) discounted() int64 {
	terms := s.coupon.Discount.Terms()
	if s.coupon.Buys.AppliesTo == 0 {
		return max(s.firstTier("QUANTITY"), terms.BuyQuantity+terms.GetQuantity)
	}
	return terms.GetQuantity
}

// Units to buy that have a scope of their own are required like those of a condition.
func (s situation) lacksBought() bool {
	return s.coupon.Buys.AppliesTo != 0 && s.unitsOf(s.coupon.Buys).Cmp(big.NewInt(s.coupon.Discount.Terms().BuyQuantity)) < 0
}

func (s situation) tooMany() bool {
	most := s.coupon.Conditions.MaxQuantity
	return most > 0 && s.units().Cmp(big.NewInt(most)) > 0
}

// Section 2: a unit that costs nothing counts for no quantity and for no tier.
func (s situation) units() *big.Int { return s.unitsOf(s.coupon.Scope) }

// What a cart must contain counts alike, in every line.
func (s situation) lacksItems() bool {
	contains := s.coupon.Conditions.Contains
	least, _ := amountIn(s.cart.Currency, contains.MinPurchase)
	tooFew := contains.Quantity > 0 && s.unitsOf(contains.Scope).Cmp(big.NewInt(contains.Quantity)) < 0
	return tooFew || !s.otherCurrency() && s.costOf(contains.Scope).Cmp(big.NewInt(least)) < 0
}

func (s situation) hasExcluded() bool {
	return s.unitsOf(s.coupon.Conditions.ContainsNot).Sign() > 0
}

func (s situation) unitsOf(scope coupon.Scope) *big.Int {
	units := new(big.Int)
	for _, i := range s.within(scope) {
		if l := s.cart.Lines[i]; l.UnitPrice != 0 {
			units.Add(units, big.NewInt(l.Quantity))
		}
	}
	return units
}

// A cart below the first tier is refused as one below a minimum.
func (s situation) firstTier(basis string) int64 {
	terms := s.coupon.Discount.Terms()
	if terms.TierBasis.String() != basis {
		return 0
	}
	return terms.Tiers[0].From
}

func (s situation) otherTags() bool {
	has := map[string]bool{}
	for _, tag := range s.question.Customer.Tags {
		has[tag] = true
	}
	tags, anyOf := s.coupon.Conditions.CustomerTags, 0
	for _, tag := range tags.Any {
		if has[tag] {
			anyOf++
		}
	}
	unmet := len(tags.Any) > 0 && anyOf == 0
	for _, tag := range tags.All {
		unmet = unmet || !has[tag]
	}
	for _, tag := range tags.None {
		unmet = unmet || has[tag]
	}
	return unmet && !s.lacksUser()
}

func (s situation) orderedBefore() bool {
	return s.coupon.Conditions.FirstOrder && s.question.Customer.ID != "" &&
		(s.question.Usage.Orders > 0 || s.question.Customer.EarlierOrders > 0)
}

// Section 4.5: valid in the half-open window [startsAt, expiresAt).
func (s situation) notStarted() bool {
	return s.coupon.StartsAt != time.Time{} && earlier(s.question.At, s.coupon.StartsAt)
}

func (s situation) expired() bool {
	return s.coupon.ExpiresAt != time.Time{} &&
		(s.question.At == time.Time{} || !earlier(s.question.At, s.coupon.ExpiresAt))
}

func earlier(a, b time.Time) bool {
	return a.Unix() < b.Unix() || a.Unix() == b.Unix() && a.Nanosecond() < b.Nanosecond()
}

// Section 1, "place": completed redemptions and live reservations each take one.
// Section 5.2: the caller's own reservation never counts against itself.
func (s situation) usedUp() bool {
	u := s.question.Usage
	return s.noPlace(s.coupon.Limits.MaxUses, u.Completed, u.Reserved)
}

// Section 4.8: per-user limits count by user ID; nobody has none.
func (s situation) usedUpByCustomer() bool {
	u := s.question.Usage
	return s.question.Customer.ID != "" && s.noPlace(s.coupon.Limits.MaxUsesPerUser, u.CompletedByCustomer, u.ReservedByCustomer)
}

func (s situation) noPlace(limit, completed, reserved int64) bool {
	if limit == 0 {
		return false
	}
	taken := new(big.Int).Add(big.NewInt(completed), big.NewInt(reserved))
	if s.question.Customer.ID != "" && s.question.Usage.CustomerHoldsReservation && reserved > 0 {
		taken.Sub(taken, big.NewInt(1))
	}
	return taken.Cmp(big.NewInt(limit)) >= 0
}

// Section 2.7: a minimum purchase is compared with the eligible subtotal, >=.
// Section 2.8: only in the currencies of the coupon.
func (s situation) belowMinimum() bool {
	least, _ := s.minimum()
	return !s.otherCurrency() && s.subtotal().Cmp(big.NewInt(max(least, s.firstTier("AMOUNT")))) < 0
}

// A maximum purchase is compared with the eligible subtotal, <=.
func (s situation) aboveMaximum() bool {
	most, _ := amountIn(s.cart.Currency, s.coupon.Conditions.MaxPurchase)
	return !s.otherCurrency() && most > 0 && s.subtotal().Cmp(big.NewInt(most)) > 0
}

func (s situation) minimum() (least int64, none bool) {
	return amountIn(s.cart.Currency, s.coupon.Conditions.MinPurchase)
}

// amountIn is the minimum or maximum purchase in the currency of the cart. none tells that the coupon has
// one in other currencies only.
func amountIn(cart pricing.Currency, set coupon.MoneySet) (minor int64, none bool) {
	amounts := set.Slice()
	if len(amounts) == 0 {
		return 0, false
	}
	for _, m := range amounts {
		if m.Currency().Code() == cart.Code() {
			return m.Minor(), false
		}
	}
	return 0, true
}

// Section 4.8: a request without a user is user_required. Section 7: a preview
// needs none, except that USER_SPECIFIC and POINTS_REDEEMABLE coupons do.
func (s situation) lacksUser() bool {
	preview := s.question.AllowAnonymous && s.coupon.Distribution.String() == "GENERAL"
	return s.question.Customer.ID == "" && !preview
}

// Spec 2.3: users not listed are rejected. Section 4.4: compared
// case-insensitively, trimmed.
func (s situation) notAllowed() bool {
	return s.question.Customer.ID != "" && s.coupon.Distribution.String() == "USER_SPECIFIC" &&
		!slices.ContainsFunc(s.coupon.AllowedUserEmails.Slice(), func(entry string) bool {
			address := email.Normalize(s.question.Customer.Email)
			return entry == address || strings.HasPrefix(entry, "*@") && strings.HasSuffix(address, entry[1:])
		})
}

// Spec 2.3: the user must already hold a reservation.
func (s situation) pointsNotRedeemed() bool {
	return s.question.Customer.ID != "" && s.coupon.Distribution.String() == "POINTS_REDEEMABLE" &&
		!s.question.Usage.CustomerHoldsReservation
}

// Section 2.9. A cart without eligible lines, one whose currency does not fit, and one with less than the
// discount needs have a reason of their own.
func (s situation) takesNothing() bool {
	below := s.units().Cmp(big.NewInt(s.discounted())) < 0 || s.subtotal().Cmp(big.NewInt(s.firstTier("AMOUNT"))) < 0 || s.lacksBought()
	return len(s.eligible()) > 0 && !s.otherCurrency() && s.discount().Sign() == 0 && !below
}

// Section 2.8: amounts and minimum purchases apply only to carts of their currencies; a coupon
// without amounts works in any.
func (s situation) otherCurrency() bool {
	_, unminimum := s.minimum()
	_, unmaximum := amountIn(s.cart.Currency, s.coupon.Conditions.MaxPurchase)
	_, uncontained := amountIn(s.cart.Currency, s.coupon.Conditions.Contains.MinPurchase)
	budgets := s.coupon.Limits.Budget.Slice()
	unbudgeted := len(budgets) > 0 && !slices.ContainsFunc(budgets, func(m pricing.Money) bool { return m.Currency() == s.cart.Currency })
	amounts := s.coupon.Discount.Currencies()
	unpriced := len(amounts) > 0 && !slices.Contains(amounts, s.cart.Currency)
	return unbudgeted || unminimum || unmaximum || uncontained || unpriced
}

// Section 2.2: base times percent, computed exactly, rounded once, half-up; or the
// amount, at most the base. Section 2.10: to a whole step, where there is one. Package pricing
// has an oracle of its own, from which the discounts with further terms are taken for granted.
func (s situation) discount() *big.Int {
	if !s.coupon.Discount.Simple() {
		return s.elaborateDiscount()
	}
	base := s.subtotal()
	if s.coupon.Discount.Type().String() == "PERCENTAGE" {
		percent, _ := new(big.Rat).SetString(s.coupon.Discount.Value())
		step := max(s.cart.Step, 1)
		exact := percent.Mul(percent, new(big.Rat).SetFrac(base, big.NewInt(100*step)))
		exact.Add(exact, big.NewRat(1, 2))
		steps := new(big.Int).Quo(exact.Num(), exact.Denom())
		return steps.Mul(steps, big.NewInt(step))
	}
	if amount := big.NewInt(s.coupon.Discount.Amount().Minor()); amount.Cmp(base) < 0 {
		return amount
	}
	return base
}

func (s situation) elaborateDiscount() *big.Int {
	if s.otherCurrency() {
		return new(big.Int)
	}
	terms := pricing.Terms{Discount: s.coupon.Discount, Eligible: make([]bool, len(s.cart.Lines))}
	for _, i := range s.eligible() {
		terms.Eligible[i] = true
	}
	if !s.coupon.Buys.IsZero() {
		terms.Bought = make([]bool, len(s.cart.Lines))
		for _, i := range s.within(s.coupon.Buys) {
			terms.Bought[i] = true
		}
	}
	quote, err := pricing.Price(s.cart, terms)
	if err != nil {
		panic(err)
	}
	return big.NewInt(quote.Discount)
}

func (s situation) subtotal() *big.Int { return s.costOf(s.coupon.Scope) }

func (s situation) costOf(scope coupon.Scope) *big.Int {
	sum := new(big.Int)
	for _, i := range s.within(scope) {
		l := s.cart.Lines[i]
		sum.Add(sum, new(big.Int).Mul(big.NewInt(l.UnitPrice), big.NewInt(l.Quantity)))
	}
	return sum
}

// eligible returns the positions of the covered lines.
func (s situation) eligible() []int { return s.within(s.coupon.Scope) }

// within returns the positions of the lines that a scope covers.
func (s situation) within(scope coupon.Scope) []int {
	var covered []int
	for i, l := range s.cart.Lines {
		if slices.Contains(coveredKinds(scope), l.Kind.String()) && selected(scope, l) && !restricted(scope, l) {
			covered = append(covered, i)
		}
	}
	return covered
}

// Section 3.3: kinds and categories restrict every scope, and exclusions take lines out of it.
func restricted(scope coupon.Scope, l pricing.Line) bool {
	kinds, categories := scope.Kinds.Slice(), scope.Categories.Slice()
	has := func(names []string) bool {
		return slices.ContainsFunc(l.Categories.Names(), func(name string) bool { return slices.Contains(names, name) })
	}
	return len(kinds) > 0 && !slices.Contains(kinds, l.Kind.String()) || len(categories) > 0 && !has(categories) ||
		has(scope.ExcludedCategories.Slice()) || slices.Contains(scope.ExcludedItems.Slice(), l.ItemID)
}

// Spec 2.2.
func coveredKinds(scope coupon.Scope) []string {
	return map[string][]string{
		"ALL":          {"plan", "device", "accessory"},
		"SUBSCRIPTION": {"plan"},
		"PRODUCT":      {"device", "accessory"},
		"SPECIFIC":     {"plan", "device", "accessory"},
	}[scope.AppliesTo.String()]
}

// Section 3.1, 3.2: lists are read per kind; empty means all of the kind, except
// with SPECIFIC; ALL takes no selection.
func selected(scope coupon.Scope, l pricing.Line) bool {
	list := map[string][]string{
		"plan":      scope.Plans.Slice(),
		"device":    scope.Devices.Slice(),
		"accessory": scope.Accessories.Slice(),
	}[l.Kind.String()]
	switch scope.AppliesTo.String() {
	case "ALL":
		return true
	case "SPECIFIC":
		return slices.Contains(list, l.ItemID)
	}
	return len(list) == 0 || slices.Contains(list, l.ItemID)
}
