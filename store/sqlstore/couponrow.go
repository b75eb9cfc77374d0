package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// couponColumns end with the counts.
const couponColumns = `c.id, c.code, c.name, c.description, c.discount_type, c.percent_off, c.amount_off, c.currency,
	c.applies_to, c.plan_ids, c.device_ids, c.accessory_ids, c.distribution, c.allowed_emails, c.points_required,
	c.max_uses, c.max_uses_per_user, c.min_purchase, c.starts_at, c.expires_at, c.state,
	c.processor_coupon_id, c.promotion_code_id, c.mirror_revision, c.created_at, c.updated_at, c.revision,
	(SELECT COALESCE(SUM(k.completed), 0) FROM {coupon_counts} k WHERE k.coupon_id = c.id),
	(SELECT COALESCE(SUM(k.reserved), 0) FROM {coupon_counts} k WHERE k.coupon_id = c.id)`

const insertCoupon = `INSERT INTO {coupons} (name, description, applies_to, plan_ids, device_ids, accessory_ids, distribution,
	allowed_emails, emails_digest, points_required, max_uses, max_uses_per_user, min_purchase, starts_at, expires_at, state,
	processor_coupon_id, promotion_code_id, mirror_revision, search_text, updated_at, revision,
	id, code, discount_type, percent_off, amount_off, currency, created_at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?){or_nothing}`

const updateCoupon = `UPDATE {coupons} SET name = ?, description = ?, applies_to = ?, plan_ids = ?, device_ids = ?,
	accessory_ids = ?, distribution = ?, allowed_emails = ?, emails_digest = ?, points_required = ?, max_uses = ?,
	max_uses_per_user = ?, min_purchase = ?, starts_at = ?, expires_at = ?, state = ?, processor_coupon_id = ?,
	promotion_code_id = ?, mirror_revision = ?, search_text = ?, updated_at = ?, revision = ? WHERE id = ?`

// couponRow receives couponColumns.
type couponRow struct {
	c                              coupon.Coupon
	code, discountType, currency   string
	percent, amount                optional
	appliesTo, distribution, state string
	plans, devices, accessories    string
	emails                         int64
	most, perUser, starts, expires optional
	created, updated               int64
}

func (row *couponRow) targets() []any {
	c := &row.c
	return []any{
		&c.ID, &row.code, &c.Name, &c.Description, &row.discountType, &row.percent, &row.amount, &row.currency,
		&row.appliesTo, &row.plans, &row.devices, &row.accessories, &row.distribution, &row.emails, &c.PointsRequired,
		&row.most, &row.perUser, &c.MinPurchase, &row.starts, &row.expires, &row.state,
		&c.Mirror.CouponID, &c.Mirror.PromotionCodeID, &c.Mirror.Revision, &row.created, &row.updated, &c.Revision,
		&c.UsedCount, &c.ReservedCount,
	}
}

// coupon returns the coupon without its addresses.
func (row *couponRow) coupon() (coupon.Coupon, error) {
	c := row.c
	err := row.read(&c)
	if err != nil {
		return coupon.Coupon{}, fmt.Errorf("coupon %s: %w", c.ID, corrupt(err))
	}
	c.Limits = coupon.Limits{MaxUses: row.most.V, MaxUsesPerUser: row.perUser.V}
	c.StartsAt, c.ExpiresAt = optionalInstant(row.starts), optionalInstant(row.expires)
	c.CreatedAt, c.UpdatedAt = instant(row.created), instant(row.updated)
	return c, nil
}

func (row *couponRow) read(c *coupon.Coupon) (err error) {
	if c.Code, err = coupon.ParseCode(row.code); err != nil {
		return err
	}
	if c.Currency, err = pricing.ParseCurrency(row.currency); err != nil {
		return err
	}
	if c.Discount, err = row.discount(c.Currency); err != nil {
		return err
	}
	if c.Scope.AppliesTo, err = coupon.ParseAppliesTo(row.appliesTo); err != nil {
		return err
	}
	if c.Distribution, err = coupon.ParseDistribution(row.distribution); err != nil {
		return err
	}
	if c.State, err = coupon.ParseState(row.state); err != nil {
		return err
	}
	for _, list := range [...]struct {
		text string
		into *coupon.Items
	}{{row.plans, &c.Scope.Plans}, {row.devices, &c.Scope.Devices}, {row.accessories, &c.Scope.Accessories}} {
		if list.text == noItems {
			continue
		}
		if err := json.Unmarshal([]byte(list.text), list.into); err != nil {
			return err
		}
	}
	return nil
}

const noItems = "[]"

// percentPlaces: percentages are stored in ten-thousandths.
const percentPlaces = 4

func (row *couponRow) discount(c pricing.Currency) (pricing.Discount, error) {
	if row.amount.Valid {
		return pricing.AmountOff(pricing.NewMoney(row.amount.V, c))
	}
	percent, err := pricing.PercentFromDecimal(decimal.New(row.percent.V, -percentPlaces))
	return pricing.PercentOff(percent), err
}

func discountValues(d pricing.Discount) (percent, amount any) {
	if d.Type() == pricing.FixedAmount {
		return nil, d.Amount().Minor()
	}
	return d.Percent().Decimal().Shift(percentPlaces).IntPart(), nil
}

// newCoupon is a coupon to be written.
type newCoupon struct {
	coupon.Coupon
	editable, frozen []any
}

// prepareCoupon checks the coupon as it will be kept, for a window may have no length in
// microseconds, and makes the arguments of the statements, before any lock is taken.
func prepareCoupon(c coupon.Coupon, digest string) (newCoupon, error) {
	c.StartsAt, c.ExpiresAt = coupon.Instant(c.StartsAt), coupon.Instant(c.ExpiresAt)
	c.CreatedAt, c.UpdatedAt = coupon.Instant(c.CreatedAt), coupon.Instant(c.UpdatedAt)
	if err := c.Validate(); err != nil {
		return newCoupon{}, err
	}
	lists := [3]string{}
	for i, items := range [...]coupon.Items{c.Scope.Plans, c.Scope.Devices, c.Scope.Accessories} {
		var err error
		if lists[i], err = document([...]string{"planIds", "deviceIds", "accessoryIds"}[i], items); err != nil {
			return newCoupon{}, err
		}
	}
	percent, amount := discountValues(c.Discount)
	return newCoupon{
		Coupon: c,
		editable: []any{
			c.Name, c.Description, c.Scope.AppliesTo.String(), lists[0], lists[1], lists[2], c.Distribution.String(),
			c.AllowedUserEmails.Len(), digest, c.PointsRequired, orNull(c.Limits.MaxUses), orNull(c.Limits.MaxUsesPerUser),
			c.MinPurchase, optionalMicros(c.StartsAt), optionalMicros(c.ExpiresAt), c.State.String(),
			c.Mirror.CouponID, c.Mirror.PromotionCodeID, c.Mirror.Revision, searchText(c), micros(c.UpdatedAt), c.Revision,
		},
		frozen: []any{
			c.ID, c.Code.String(), c.Discount.Type().String(), percent, amount, c.Currency.Code(), micros(c.CreatedAt),
		},
	}, nil
}

// emailsDigest tells two lists apart without reading the stored one; no addresses
// have the empty digest.
func emailsDigest(s coupon.EmailSet) string {
	if s.Len() == 0 {
		return ""
	}
	h := sha256.New()
	for address := range s.All() {
		_, _ = h.Write([]byte(address))
		_, _ = h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

const (
	deleteEmails = `DELETE FROM {coupon_allowed_emails} WHERE coupon_id = ?`
	selectEmails = `SELECT e.email FROM {coupon_allowed_emails} e WHERE e.coupon_id = ? ORDER BY e.position`
	insertEmails = `INSERT INTO {coupon_allowed_emails} (coupon_id, email, position) VALUES `
)

// emailsPerStatement keeps statements below the number of arguments that every
// database takes.
const emailsPerStatement = 200

func (t *tx) replaceEmails(ctx context.Context, c coupon.Coupon) error {
	if _, err := t.write(ctx, deleteEmails, c.ID); err != nil {
		return err
	}
	return t.writeEmails(ctx, c)
}

func (t *tx) writeEmails(ctx context.Context, c coupon.Coupon) error {
	args, n := make([]any, 0, 3*emailsPerStatement), 0
	for address := range c.AllowedUserEmails.All() {
		args = append(args, c.ID, address, n)
		if n++; len(args) == cap(args) || n == c.AllowedUserEmails.Len() {
			if _, err := t.write(ctx, insertEmails+rowsOfThree(len(args)/3), args...); err != nil {
				return fmt.Errorf("write addresses: %w", err)
			}
			args = args[:0]
		}
	}
	return nil
}

func rowsOfThree(n int) string {
	rows := make([]byte, 0, n*len("(?,?,?),"))
	for range n {
		rows = append(rows, "(?,?,?),"...)
	}
	return string(rows[:len(rows)-1])
}

// readEmails completes a coupon that was read from a row.
func (t *tx) readEmails(ctx context.Context, count int64, c *coupon.Coupon) error {
	if count == 0 {
		return nil
	}
	rows, err := t.query(ctx, selectEmails, c.ID)
	if err != nil {
		return fmt.Errorf("read addresses: %w", err)
	}
	defer rows.Close()
	addresses := make([]string, 0, count)
	for rows.Next() {
		var address string
		if err := rows.Scan(&address); err != nil {
			return err
		}
		addresses = append(addresses, address)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read addresses: %w", err)
	}
	if c.AllowedUserEmails, err = coupon.NewEmailSet(addresses...); err != nil {
		return corrupt(err)
	}
	return nil
}
