package stripefake

import (
	"cmp"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const fiveYears = 5 * 366 * 24 * 3600

// Stripe's limits. Lengths are in code points.
const (
	maxAmount      = 999_999_999_999 // twelve digits of minor units
	maxRedemptions = 10_000_000_000  // the largest number that Stripe is known to have accepted
	maxQuantity    = 999_999
	maxCouponName  = 40
	maxProductName = 250
	maxEmail       = 512
	maxText        = 5000 // maximum length of IDs and addresses
)

// tooLong refuses a text of more than most characters.
func tooLong(form url.Values, name string, most int) *problem {
	if utf8.RuneCountInString(form.Get(name)) <= most {
		return nil
	}
	return invalid("", name, "Invalid string: must be at most %d characters", most)
}

func (a *Account) opCreateCoupon(_ []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "id", "name", "percent_off", "amount_off", "currency", "duration", "max_redemptions", "redeem_by", "metadata", "expand"); refusal != nil {
		return nil, refusal
	}
	c, refusal := parseCoupon(form, now)
	if refusal != nil {
		return nil, refusal
	}
	made, number := a.nextID("coupon")
	c.ID, c.number, c.Created = cmp.Or(c.ID, made), number, now
	if _, taken := a.coupons[c.ID]; taken {
		return nil, invalid("resource_already_exists", "id", "Coupon already exists.")
	}
	a.coupons[c.ID] = c
	a.announce("coupon.created", a.showCoupon(c, now), now)
	return a.showCoupon(c, now), nil
}

func parseCoupon(form url.Values, now int64) (*Coupon, *problem) {
	c := &Coupon{
		ID: form.Get("id"), Name: form.Get("name"), Currency: strings.ToLower(form.Get("currency")),
		Duration: cmp.Or(form.Get("duration"), "once"),
	}
	for name, most := range map[string]int{"id": maxText, "name": maxCouponName} {
		if refusal := tooLong(form, name, most); refusal != nil {
			return nil, refusal
		}
	}
	if c.Duration != "once" && c.Duration != "forever" {
		return nil, invalid("", "duration", "Invalid duration")
	}
	for name, bounded := range map[string]struct {
		into *int64
		most int64
	}{
		"amount_off":      {&c.AmountOff, maxAmount},
		"max_redemptions": {&c.MaxRedemptions, maxRedemptions},
		"redeem_by":       {&c.RedeemBy, now + fiveYears},
	} {
		n, refusal := integer(form, name)
		if refusal != nil {
			return nil, refusal
		}
		if form.Has(name) && (n < 1 || n > bounded.most) {
			return nil, invalid("parameter_invalid_integer", name, "This value must be between 1 and %d.", bounded.most)
		}
		*bounded.into = n
	}
	if c.RedeemBy != 0 && c.RedeemBy <= now {
		return nil, invalid("", "redeem_by", "redeem_by must be in the future")
	}
	if refusal := parseDiscount(c, form); refusal != nil {
		return nil, refusal
	}
	var refusal *problem
	c.Metadata, refusal = metadata(form, "metadata")
	return c, refusal
}

func parseDiscount(c *Coupon, form url.Values) *problem {
	switch percent, amount := form.Has("percent_off"), form.Has("amount_off"); {
	case percent && amount:
		return invalid("", "", "Received both percent_off and amount_off parameters.")
	case !percent && !amount:
		return invalid("parameter_missing", "", "Must provide percent_off or amount_off.")
	case amount && c.Currency == "":
		return invalid("parameter_missing", "currency", "You must pass currency when passing amount_off")
	case amount:
		return nil
	}
	percent, err := strconv.ParseFloat(form.Get("percent_off"), 64)
	if hundredths := math.Round(percent * 100); err != nil || percent < 0.01 || percent > 100 || hundredths/100 != percent {
		return invalid("", "percent_off", "This value must be between 0.01 and 100, with two decimals (it currently is '%s').", form.Get("percent_off"))
	}
	c.PercentOff, c.Currency = percent, ""
	return nil
}

func (a *Account) opListCoupons(_ []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "limit", "starting_after", "created", "expand"); refusal != nil {
		return nil, refusal
	}
	list := make([]*Coupon, 0, len(a.coupons))
	for _, c := range a.coupons {
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y *Coupon) int { return cmp.Compare(y.number, x.number) })
	return pageOf(form, "/v1/coupons", list, func(c *Coupon) string { return c.ID }, func(c *Coupon) any { return a.showCoupon(c, now) })
}

func (a *Account) opRetrieveCoupon(ids []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "expand"); refusal != nil {
		return nil, refusal
	}
	c, ok := a.coupons[ids[0]]
	if !ok {
		return nil, missing("coupon", ids[0])
	}
	return a.showCoupon(c, now), nil
}

// opUpdateCoupon changes name and metadata. All other fields are fixed.
func (a *Account) opUpdateCoupon(ids []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "name", "metadata", "expand"); refusal != nil {
		return nil, refusal
	}
	c, ok := a.coupons[ids[0]]
	if !ok {
		return nil, missing("coupon", ids[0])
	}
	update, refusal := metadata(form, "metadata")
	switch {
	case refusal != nil:
		return nil, refusal
	case tooLong(form, "name", maxCouponName) != nil:
		return nil, tooLong(form, "name", maxCouponName)
	}
	merged := merge(c.Metadata, update)
	if len(merged) > 50 {
		return nil, invalid("", "metadata", "Metadata can have up to 50 keys")
	}
	c.Metadata = merged
	if form.Has("name") {
		c.Name = form.Get("name")
	}
	a.announce("coupon.updated", a.showCoupon(c, now), now)
	return a.showCoupon(c, now), nil
}

func (a *Account) opDeleteCoupon(ids []string, _ url.Values, now int64) (any, *problem) {
	if refusal := a.deleteCoupon(ids[0], now); refusal != nil {
		return nil, refusal
	}
	return map[string]any{"id": ids[0], "object": "coupon", "deleted": true}, nil
}

func (a *Account) deleteCoupon(id string, now int64) *problem {
	c, ok := a.coupons[id]
	if !ok {
		return missing("coupon", id)
	}
	c.deleted = true
	delete(a.coupons, id)
	for _, code := range a.codes {
		if code.coupon == c {
			code.Active, code.Dead = false, true
		}
	}
	a.announce("coupon.deleted", a.showCoupon(c, now), now)
	return nil
}

func (a *Account) showCoupon(c *Coupon, now int64) map[string]any {
	return map[string]any{
		"id": c.ID, "object": "coupon", "name": orNull(c.Name), "percent_off": orNull(c.PercentOff),
		"amount_off": orNull(c.AmountOff), "currency": orNull(c.Currency), "duration": c.Duration,
		"max_redemptions": orNull(c.MaxRedemptions), "redeem_by": orNull(c.RedeemBy),
		"times_redeemed": c.TimesRedeemed, "metadata": merge(c.Metadata, nil), "created": c.Created,
		"livemode": false, "valid": a.valid(c, now),
	}
}

func orNull[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

// codeForm is the pattern in Stripe's error message. Stripe's documentation does not mention the
// underscore.
var codeForm = regexp.MustCompile(`\A[a-zA-Z0-9\-_]+\z`)

func (a *Account) opCreateCode(_ []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "promotion", "code", "active", "expires_at", "max_redemptions", "metadata", "expand"); refusal != nil {
		return nil, refusal
	}
	if form.Get("promotion[type]") != "coupon" {
		return nil, invalid("parameter_missing", "promotion", "Missing required param: promotion.")
	}
	expires, refusal := integer(form, "expires_at")
	if refusal != nil {
		return nil, refusal
	}
	if form.Has("expires_at") && (expires <= now || expires > now+fiveYears) {
		return nil, invalid("", "expires_at", "expires_at must be in the future and at most five years ahead")
	}
	data, refusal := metadata(form, "metadata")
	if refusal != nil {
		return nil, refusal
	}
	active := !form.Has("active") || form.Get("active") == "true"
	code, refusal := a.newCode(form.Get("promotion[coupon]"), form.Get("code"), active, expires, data, now)
	if refusal != nil {
		return nil, refusal
	}
	return a.showCode(code, wants(form, "promotion.coupon"), now), nil
}

func (a *Account) newCode(couponID, text string, active bool, expires int64, data map[string]string, now int64) (*PromotionCode, *problem) {
	c, ok := a.coupons[couponID]
	switch {
	case !ok:
		e := missing("coupon", couponID)
		e.Status, e.Param = 400, "promotion[coupon]"
		return nil, e
	case !a.valid(c, now):
		return nil, invalid("", "", "This coupon is not valid any more.")
	case !codeForm.MatchString(text):
		return nil, invalid("", "code", "The code does not match %s", codeForm)
	case utf8.RuneCountInString(text) > 500:
		return nil, invalid("", "code", "The code is too long")
	case c.RedeemBy != 0 && expires > c.RedeemBy:
		return nil, invalid("", "expires_at", "expires_at is after the coupon's redeem_by")
	case active && a.activeCode(text) != nil:
		// Stripe has been seen to send this error without code and param.
		return nil, invalid("", "", "An active promotion code with `code: %s` already exists.", text)
	}
	id, _ := a.nextID("promo")
	if expires == 0 {
		expires = c.RedeemBy
	}
	code := &PromotionCode{
		ID: id, Code: text, CouponID: couponID, Active: active, ExpiresAt: expires, Metadata: data, Created: now,
		coupon: c,
	}
	a.codes = append(a.codes, code)
	a.announce("promotion_code.created", a.showCode(code, false, now), now)
	return code, nil
}

func (a *Account) opListCodes(_ []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "limit", "starting_after", "code", "coupon", "active", "created", "expand"); refusal != nil {
		return nil, refusal
	}
	if id := form.Get("coupon"); id != "" && a.coupons[id] == nil {
		e := missing("coupon", id)
		e.Status = 400
		return nil, e
	}
	var list []*PromotionCode
	for _, code := range slices.Backward(a.codes) {
		if form.Has("code") && !strings.EqualFold(code.Code, form.Get("code")) ||
			form.Has("coupon") && code.CouponID != form.Get("coupon") ||
			form.Has("active") && strconv.FormatBool(code.Active) != form.Get("active") {
			continue
		}
		list = append(list, code)
	}
	expand := wants(form, "data.promotion.coupon")
	return pageOf(form, "/v1/promotion_codes", list, func(code *PromotionCode) string { return code.ID },
		func(code *PromotionCode) any { return a.showCode(code, expand, now) })
}

func (a *Account) opRetrieveCode(ids []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "expand"); refusal != nil {
		return nil, refusal
	}
	code := a.code(ids[0])
	if code == nil {
		return nil, missing("promotion_code", ids[0])
	}
	return a.showCode(code, wants(form, "promotion.coupon"), now), nil
}

func (a *Account) opUpdateCode(ids []string, form url.Values, now int64) (any, *problem) {
	if refusal := only(form, "active", "metadata", "expand"); refusal != nil {
		return nil, refusal
	}
	code := a.code(ids[0])
	if code == nil {
		return nil, missing("promotion_code", ids[0])
	}
	update, refusal := metadata(form, "metadata")
	if refusal != nil {
		return nil, refusal
	}
	if form.Has("active") {
		if code, refusal = a.switchCode(ids[0], form.Get("active") == "true", now); refusal != nil {
			return nil, refusal
		}
	}
	code.Metadata = merge(code.Metadata, update)
	return a.showCode(code, wants(form, "promotion.coupon"), now), nil
}

func (a *Account) switchCode(id string, active bool, now int64) (*PromotionCode, *problem) {
	code := a.code(id)
	if code == nil {
		return nil, missing("promotion_code", id)
	}
	if active && !code.Active {
		if code.Dead {
			return nil, invalid("", "", "This promotion code cannot be reactivated.")
		}
		if a.activeCode(code.Code) != nil {
			return nil, invalid("", "", "An active promotion code with `code: %s` already exists.", code.Code)
		}
	}
	if code.Active != active {
		code.Active = active
		a.announce("promotion_code.updated", a.showCode(code, false, now), now)
	}
	return code, nil
}

func (a *Account) showCode(code *PromotionCode, expand bool, now int64) map[string]any {
	var behind any = code.CouponID
	if expand && !a.unexpand {
		behind = a.showCoupon(code.coupon, now)
		if code.coupon.deleted {
			behind = map[string]any{"id": code.CouponID, "object": "coupon", "deleted": true}
		}
	}
	return map[string]any{
		"id": code.ID, "object": "promotion_code", "code": code.Code, "active": code.Active,
		"promotion":  map[string]any{"type": "coupon", "coupon": behind},
		"expires_at": orNull(code.ExpiresAt), "max_redemptions": nil, "metadata": merge(code.Metadata, nil),
		"created": code.Created, "livemode": false, "times_redeemed": 0, "customer": nil,
	}
}
