package coupon

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/internal/unicode15"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// These constants are inclusive upper bounds for the fields of a coupon.
const (
	MaxNameLength        = 255                       // code points
	MaxDescriptionLength = 2_000                     // code points
	MaxItemIDLength      = 255                       // code points of a plan, device or accessory ID
	MaxSelectedItems     = 10_000                    // entries of each list of a scope
	MaxIDLength          = 64                        // bytes of a coupon ID
	MaxMirrorIDLength    = 255                       // code points of an ID at the payment processor
	MaxBudget            = 1_000_000_000_000_000_000 // minor units of one currency
	MaxPointsRequired    = 1_000_000_000_000         // points
	MaxMinPurchase       = MaxBudget                 // minor units, also of a maximum purchase
)

// IDPrefix is the beginning of every coupon ID. A coupon ID is never a normalized code, because normalized codes
// contain no lower-case ASCII letters.
const IDPrefix = "cpn_"

// Coupon holds the terms, the state and the counts of a coupon (specification 2.1). Stores may set all fields of a
// Coupon directly and then call [Coupon.Validate]. The zero Coupon is not valid.
type Coupon struct {
	// ID begins with [IDPrefix] and never changes.
	ID string
	// Code is the plain code, which never changes. No two existing coupons have the same Code. The Code is zero if
	// customers reach the coupon only by the codes of batches.
	Code Code
	// Name is for administrators and for the payment processor. Description is for administrators. A search for coupons
	// covers both.
	Name        string
	Description string
	Terms
	State State
	// UsedCount is the number of completed redemptions. ReservedCount is the number of live reservations. The store
	// maintains both, and saving a coupon does not change them.
	UsedCount     int64
	ReservedCount int64
	Mirror        Mirror
	// CreatedAt and UpdatedAt are instants in UTC with microsecond precision.
	CreatedAt time.Time
	UpdatedAt time.Time
	// Revision is 1 after creation. Every change by an administrator increases Revision by 1.
	Revision int64
}

// Limits restricts how often a coupon can be used. A limit of 0 means no limit. Every completed redemption and every
// live reservation counts as a use.
type Limits struct {
	// MaxUses is the maximum number of uses by all customers together, and MaxUsesPerUser by one customer.
	MaxUses        int64
	MaxUsesPerUser int64
	// Budget is the maximum sum of all discounts in each currency. Orders that are paid or still open count. A budget
	// needs an amount in the coupon's Currency. A coupon with a budget cannot be used in a currency without an amount.
	// The maximum of one discount is at most the budget.
	Budget MoneySet
	// Periods restricts the number of uses in a day, a week or a month. Periods must not be modified.
	Periods []PeriodLimit
}

// Equal reports whether l and m are the same limits.
func (l Limits) Equal(m Limits) bool {
	return l.MaxUses == m.MaxUses && l.MaxUsesPerUser == m.MaxUsesPerUser && l.Budget.Equal(m.Budget) &&
		slices.EqualFunc(l.Periods, m.Periods, PeriodLimit.Equal)
}

// Mirror holds the IDs and the revision of a coupon's mirror. A mirror is the payment processor's own copy of a coupon.
type Mirror struct {
	// CouponID and PromotionCodeID are the IDs of the mirror at the payment processor, both empty before it is created.
	// PromotionCodeID stays empty if the coupon has no plain code.
	CouponID        string `json:"couponId"`
	PromotionCodeID string `json:"promotionCodeId"`
	// Revision is the revision of the coupon that the mirror shows. If the coupon has another revision, the mirror is
	// outdated, and the Reconcile method of couponkit.Service updates it.
	Revision int64 `json:"revision"`
	// Unsupported is true if the payment processor cannot express the coupon. Both IDs are then empty. The coupon can
	// be used like any other coupon.
	Unsupported bool `json:"unsupported,omitzero"`
}

// IsZero reports whether both IDs of the mirror are empty, so that there is no mirror.
func (m Mirror) IsZero() bool { return m.CouponID == "" && m.PromotionCodeID == "" }

// Validate returns a [*validation.Error] that lists every invalid ID. A valid ID is UTF-8 text without control
// characters, at most [MaxMirrorIDLength] code points long, or empty. An unsupported mirror has no IDs.
func (m Mirror) Validate() error {
	var faults validation.Error
	textFaults(&faults, "processorCouponId", m.CouponID, MaxMirrorIDLength, false)
	textFaults(&faults, "promotionCodeId", m.PromotionCodeID, MaxMirrorIDLength, false)
	if m.Unsupported && !m.IsZero() {
		faults.Add("mirrorUnsupported", validation.Mismatch, "a coupon that the processor cannot express has no copy there")
	}
	return faults.Err()
}

// IsID reports whether text has the form of a coupon ID: [IDPrefix] and at least one more character, at most
// [MaxIDLength] altogether, all printable ASCII and no spaces.
func IsID(text string) bool {
	if len(text) <= len(IDPrefix) || len(text) > MaxIDLength || !strings.HasPrefix(text, IDPrefix) {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Active reports whether the coupon is switched on.
func (c Coupon) Active() bool { return c.State == Active }

// Mirrored reports whether the mirror shows the coupon's current revision, or the processor has said that it cannot
// express that revision.
func (c Coupon) Mirrored() bool {
	return (c.Mirror.Unsupported || !c.Mirror.IsZero()) && c.Mirror.Revision == c.Revision
}

// Validate checks the rules for a stored coupon. The error is a [*validation.Error] that lists every broken rule. A
// narrowed allow-list is valid; see [EmailSet]. The code and the entries of the allow-list are not normalized again;
// see [StoredCode].
func (c *Coupon) Validate() error {
	var faults validation.Error
	if !IsID(c.ID) {
		faults.Add("id", validation.Malformed, fmt.Sprintf("an ID begins with %q and has at most %d characters, printable ASCII without space", IDPrefix, MaxIDLength))
	}
	if !c.Code.IsZero() {
		c.Code.faults(&faults)
	}
	if c.State.String() == "" {
		faults.Add("state", validation.Unknown, states.Rule())
	}
	if c.Revision < 1 {
		faults.Add("revision", validation.TooSmall, "a revision is at least 1")
	}
	faults.At("createdAt", calendar.CheckInstant(c.CreatedAt))
	faults.At("updatedAt", calendar.CheckInstant(c.UpdatedAt))
	if c.UsedCount < 0 {
		faults.Add("usedCount", validation.TooSmall, "a count is not negative")
	}
	if c.ReservedCount < 0 {
		faults.Add("reservedCount", validation.TooSmall, "a count is not negative")
	}
	faults.Merge("", c.Mirror.Validate())
	wordFaults(&faults, c.Name, c.Description)
	c.Terms.faults(&faults)
	return faults.Err()
}

// faults checks the terms that an administrator sets.
func (t *Terms) faults(faults *validation.Error) {
	t.discountFaults(faults)
	t.Scope.faults("", faults)
	t.distributionFaults(faults)
	t.Limits.faults(t.Currency, faults)
	t.conditionFaults(faults)
	t.combiningFaults(faults)
	t.refundFaults(faults)
	faults.At("startsAt", calendar.CheckInstant(t.StartsAt))
	faults.At("expiresAt", calendar.CheckInstant(t.ExpiresAt))
}

const refundPolicyMessage = "must be keep or rebill"

func (t *Terms) refundFaults(faults *validation.Error) {
	switch t.RefundPolicy {
	case pricing.Keep, pricing.Rebill:
	case 0:
		faults.Add("refundPolicy", validation.Required, refundPolicyMessage)
	default:
		faults.Add("refundPolicy", validation.Unknown, refundPolicyMessage)
	}
	if t.RestoreOnRefund.String() == "" {
		faults.Add("restoreOnRefund", validation.Unknown, restores.Rule())
	}
}

// wordFaults checks the name and the description.
func wordFaults(faults *validation.Error, name, description string) {
	if unicode15.TrimSpace(name) == "" {
		faults.Add("name", validation.Required, "a name is required")
	} else {
		textFaults(faults, "name", name, MaxNameLength, false)
	}
	textFaults(faults, "description", description, MaxDescriptionLength, true)
}

func (t *Terms) discountFaults(faults *validation.Error) {
	if t.Currency.IsZero() {
		faults.Add("currency", validation.Required, "a coupon needs a currency")
	}
	if t.Discount.IsZero() {
		faults.Add("discountValue", validation.Required, "a coupon needs a discount")
	}
	if in := t.Discount.Currencies(); len(in) > 0 && in[0] != t.Currency {
		faults.Add("currency", validation.Mismatch, "the amounts of a discount are in the coupon's currency")
	}
}

func (l Limits) faults(own pricing.Currency, faults *validation.Error) {
	if l.MaxUses < 0 {
		faults.Add("maxUses", validation.TooSmall, "a limit is at least 1")
	}
	if l.MaxUsesPerUser < 0 {
		faults.Add("maxUsesPerUser", validation.TooSmall, "a limit is at least 1")
	}
	l.Budget.faults(faults, "budget", own, MaxBudget)
	periodFaults(faults, l.Periods)
}

func (t *Terms) distributionFaults(faults *validation.Error) {
	known := t.Distribution.String() != ""
	if !known {
		faults.Add("distribution", validation.Unknown, distributions.Rule())
	}
	if t.Automatic && t.Distribution == PointsRedeemable {
		faults.Add("automatic", validation.NotAllowed, "customers exchange points for a POINTS_REDEEMABLE coupon by its code")
	}
	switch listed := t.AllowedUserEmails.Len(); {
	case t.Distribution == UserSpecific && listed == 0:
		faults.Add("allowedUserEmails", validation.Required, "a USER_SPECIFIC coupon needs at least one address or domain")
	case t.Distribution != UserSpecific && known && listed > 0:
		faults.Add("allowedUserEmails", validation.NotAllowed, fmt.Sprintf("a %s coupon takes no addresses", t.Distribution))
	case listed > MaxAllowedEmails:
		faults.Add("allowedUserEmails", validation.TooLong, tooManyEmails())
	}
	switch {
	case t.Distribution == PointsRedeemable && t.PointsRequired < 1:
		faults.Add("pointsRequired", validation.Required, "a POINTS_REDEEMABLE coupon costs at least 1 point")
	case t.Distribution != PointsRedeemable && known && t.PointsRequired != 0:
		faults.Add("pointsRequired", validation.NotAllowed, fmt.Sprintf("a %s coupon costs no points", t.Distribution))
	case t.PointsRequired < 0:
		faults.Add("pointsRequired", validation.TooSmall, "points are not negative")
	case t.PointsRequired > MaxPointsRequired:
		faults.Add("pointsRequired", validation.TooLarge, fmt.Sprintf("at most %d points", int64(MaxPointsRequired)))
	}
}

// textFaults refuses text that a database or a page could not reproduce: invalid UTF-8 and control
// characters. If lines is true, line breaks and tabs are allowed.
func textFaults(faults *validation.Error, field, text string, most int, lines bool) {
	if !utf8.ValidString(text) {
		faults.Add(field, validation.Malformed, "must be valid UTF-8 text")
		return
	}
	if utf8.RuneCountInString(text) > most {
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d characters", most))
	}
	for _, r := range text {
		if unicode.IsControl(r) && !(lines && (r == '\n' || r == '\r' || r == '\t')) {
			faults.Add(field, validation.Malformed, fmt.Sprintf("no control characters such as %U", r))
			return
		}
	}
}
