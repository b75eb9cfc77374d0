package pgxstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// couponColumns are read in this order by couponRow, from a row c of coupons and
// its summed counters k.
const couponColumns = `c.id, c.code, c.name, c.description, c.discount_type, c.percent_off::text, c.amount_off,
	c.currency, c.applies_to, c.plan_ids, c.device_ids, c.accessory_ids, c.distribution, c.allowed_emails,
	c.points_required, c.max_uses, c.max_uses_per_user, c.min_purchase, c.starts_at, c.expires_at, c.state,
	k.completed, k.reserved, c.processor_coupon_id, c.promotion_code_id,
	c.mirror_revision, c.created_at, c.updated_at, c.revision`

// couponSource is the coupon c with its summed counters k.
const couponSource = `{coupons} c ` + couponCounts

const couponCounts = `CROSS JOIN LATERAL (
	SELECT coalesce(sum(s.completed), 0)::bigint AS completed, coalesce(sum(s.reserved), 0)::bigint AS reserved
	FROM {coupon_counters} s WHERE s.coupon_id = c.id) k`

// selectTerms reads coupons without their addresses, and selectWhole with them.
const (
	selectTerms = `SELECT ` + couponColumns + `, NULL::text[] FROM ` + couponSource
	selectWhole = `SELECT ` + couponColumns + `, ARRAY(SELECT e.email FROM {coupon_allowed_emails} e
		WHERE e.coupon_id = c.id ORDER BY e.position) FROM ` + couponSource
)

// couponRow receives the columns.
type couponRow struct {
	record                      coupon.Coupon
	code, discountType, percent string
	amount                      int64
	currency, appliesTo         string
	plans, devices, accessories []string
	distribution, state         string
	emails                      int
}

func (r *couponRow) targets() []any {
	v := &r.record
	return []any{
		&v.ID, &r.code, &v.Name, &v.Description, &r.discountType, (*zeronull.Text)(&r.percent), (*zeronull.Int8)(&r.amount),
		&r.currency, &r.appliesTo, &r.plans, &r.devices, &r.accessories, &r.distribution, &r.emails,
		&v.PointsRequired, (*zeronull.Int8)(&v.Limits.MaxUses), (*zeronull.Int8)(&v.Limits.MaxUsesPerUser), &v.MinPurchase,
		(*instantColumn)(&v.StartsAt), (*instantColumn)(&v.ExpiresAt), &r.state,
		&v.UsedCount, &v.ReservedCount, &v.Mirror.CouponID, &v.Mirror.PromotionCodeID,
		&v.Mirror.Revision, (*instantColumn)(&v.CreatedAt), (*instantColumn)(&v.UpdatedAt), &v.Revision,
	}
}

// coupon returns the record; its set of addresses is left to the caller.
func (r *couponRow) coupon() (coupon.Coupon, error) {
	v := r.record
	var faults pricing.ValidationError
	var err error
	v.Code, err = coupon.ParseCode(r.code)
	faults.At("code", err)
	v.Currency, err = pricing.ParseCurrency(r.currency)
	faults.At("currency", err)
	v.Discount, err = r.discount(v.Currency)
	faults.At("discount", err)
	v.Scope.AppliesTo, err = coupon.ParseAppliesTo(r.appliesTo)
	faults.At("appliesTo", err)
	v.Distribution, err = coupon.ParseDistribution(r.distribution)
	faults.At("distribution", err)
	v.State, err = coupon.ParseState(r.state)
	faults.At("state", err)
	if err := faults.Err(); err != nil {
		return coupon.Coupon{}, corrupt("coupon", v.ID, err)
	}
	v.Scope.Plans, v.Scope.Devices = coupon.NewItems(r.plans...), coupon.NewItems(r.devices...)
	v.Scope.Accessories = coupon.NewItems(r.accessories...)
	v.StartsAt, v.ExpiresAt = coupon.Instant(v.StartsAt), coupon.Instant(v.ExpiresAt)
	v.CreatedAt, v.UpdatedAt = coupon.Instant(v.CreatedAt), coupon.Instant(v.UpdatedAt)
	return v, nil
}

// corrupt hides what would look like the caller's mistake: it is the database that
// holds something else than this package wrote.
func corrupt(record, id string, err error) error {
	return fmt.Errorf("%s %s in the database: %s", record, id, err) //nolint:errorlint // see above
}

// scanCoupon reads a coupon and its addresses, NULL for a set that is narrowed to
// none.
func scanCoupon(rows pgx.Rows) (coupon.Coupon, error) {
	var row couponRow
	var addresses []string
	if err := rows.Scan(append(row.targets(), &addresses)...); err != nil {
		return coupon.Coupon{}, err
	}
	c, err := row.coupon()
	switch {
	case err != nil:
		return coupon.Coupon{}, err
	case addresses == nil:
		c.AllowedUserEmails = coupon.NarrowedEmailSet(row.emails, "")
	default:
		if c.AllowedUserEmails, err = coupon.NewEmailSet(addresses...); err != nil {
			return coupon.Coupon{}, corrupt("coupon", c.ID, err)
		}
	}
	return c, nil
}

func (r *couponRow) discount(c pricing.Currency) (pricing.Discount, error) {
	kind, err := pricing.ParseDiscountType(r.discountType)
	if err != nil {
		return pricing.Discount{}, err
	}
	if kind == pricing.FixedAmount {
		return pricing.AmountOff(pricing.NewMoney(r.amount, c))
	}
	percent, err := pricing.ParsePercent(r.percent)
	return pricing.PercentOff(percent), err
}

// termColumns are the columns that an administrator decides, in the order of
// terms; those before identityColumns never change.
const identityColumns = `id, code, discount_type, percent_off, amount_off, currency, created_at`

const termColumns = `name, description, applies_to, plan_ids, device_ids, accessory_ids, distribution, allowed_emails,
	points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state, processor_coupon_id,
	promotion_code_id, mirror_revision, search_text, updated_at, revision`

func identity(c coupon.Coupon) []any {
	var percent *string
	if c.Discount.Type() == pricing.Percentage {
		value := c.Discount.Value()
		percent = &value
	}
	return []any{
		c.ID, c.Code.String(), c.Discount.Type().String(), percent, zeronull.Int8(c.Discount.Amount().Minor()),
		c.Currency.Code(), instant(c.CreatedAt),
	}
}

func terms(c coupon.Coupon) []any {
	return []any{
		c.Name, c.Description, c.Scope.AppliesTo.String(), items(c.Scope.Plans), items(c.Scope.Devices),
		items(c.Scope.Accessories), c.Distribution.String(), int64(c.AllowedUserEmails.Len()),
		c.PointsRequired, zeronull.Int8(c.Limits.MaxUses), zeronull.Int8(c.Limits.MaxUsesPerUser), c.MinPurchase,
		zeronull.Timestamptz(instant(c.StartsAt)), zeronull.Timestamptz(instant(c.ExpiresAt)), c.State.String(),
		c.Mirror.CouponID, c.Mirror.PromotionCodeID, c.Mirror.Revision, searchText(c), instant(c.UpdatedAt), c.Revision,
	}
}

func instant(t time.Time) time.Time { return coupon.Instant(t) }

// items never is NULL.
func items(set coupon.Items) []string { return append([]string{}, set.Slice()...) }

// fieldSeparator stands between the searched fields; none of them may hold it, so
// that nothing is found across two.
const fieldSeparator = "\x01"

// searchText is what the search looks through.
func searchText(c coupon.Coupon) string {
	return store.Fold(c.Code.String()) + fieldSeparator + store.Fold(c.Name) + fieldSeparator + store.Fold(c.Description)
}

// likePattern finds folded text anywhere, and takes what LIKE gives a meaning literally.
func likePattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}
