package stripeprocessor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// The metadata of all objects that this package makes at Stripe. It shows which application and coupon
// an object belongs to. It never has personal data.
const (
	metadataApp      = "app"      // Options.App
	metadataCouponID = "couponId" // ID of our coupon
	metadataRevision = "rev"      // revision of our coupon that the object shows
	metadataKind     = "kind"     // kindMirror or kindSession, on coupons

	// On sessions, in addition to the host's metadata.
	metadataRequest    = "couponkitRequest" // value of sessionMark
	metadataSessionApp = "couponkitApp"     // Options.App

	kindMirror  = "mirror"
	kindSession = "session"
)

// expiryHorizon is how far in the future an expiry may be. Stripe allows five years. One day less
// allows for clock differences.
const expiryHorizon = (5*365 - 1) * 24 * time.Hour

// terms has the values that the mirror of a coupon should show, in Stripe's form.
type terms struct {
	coupon    coupon.Coupon
	name      string
	metadata  map[string]string
	percent   int64 // hundredths of a percent, or 0
	amount    int64 // Stripe's minor units, or 0
	currency  string
	uses      int64
	code      string
	active    bool
	expiresAt int64 // of the promotion code; 0 means no expiry
}

// termsOf expects a coupon that has passed CheckCoupon. For other coupons it sets the fields that it
// can. That is enough for calls that only remove objects.
func (p *Processor) termsOf(c coupon.Coupon) terms {
	t := terms{
		coupon: c, metadata: p.couponMetadata(c), uses: c.Limits.MaxUses, code: c.Code.String(),
		active: c.Active() || c.State == coupon.Pending,
	}
	t.name, _ = stripeName(c.Name)
	switch kind := c.Discount.Type(); {
	case kind == pricing.Percentage:
		t.percent = c.Discount.Percent().Decimal().Shift(maxPercentPlaces).IntPart()
	case kind == pricing.FixedAmount:
		if m, err := moneyOf(c.Discount.Amount().Currency()); err == nil {
			t.amount, _ = m.toStripe(c.Discount.Amount().Minor()) // no error after CheckCoupon
			t.currency = m.code()
		}
	}
	if p.options.MirrorExpiry && !c.ExpiresAt.IsZero() {
		switch ahead := c.ExpiresAt.Sub(p.options.Clock()); {
		case ahead <= 0:
			t.active = false // Stripe refuses an expiry in the past
		case ahead < expiryHorizon:
			t.expiresAt = c.ExpiresAt.Unix()
		}
	}
	return t
}

func (p *Processor) couponMetadata(c coupon.Coupon) map[string]string {
	metadata := map[string]string{
		metadataApp: p.options.App, metadataCouponID: c.ID, metadataKind: kindMirror,
		metadataRevision: strconv.FormatInt(c.Revision, 10),
	}
	if _, cut := stripeName(c.Name); cut {
		metadata[nameMetadataField] = c.Name
	}
	return metadata
}

func (t terms) codeMetadata() map[string]string {
	return map[string]string{
		metadataApp: t.metadata[metadataApp], metadataCouponID: t.metadata[metadataCouponID],
		metadataRevision: t.metadata[metadataRevision],
	}
}

// wirePercent formats hundredths of a percent as stripe-go formats the number, such as "12.5000". It
// uses no float.
func wirePercent(hundredths int64) string {
	return fmt.Sprintf("%d.%02d00", hundredths/100, hundredths%100)
}

func (t terms) createParams(id string) *stripe.CouponCreateParams {
	params := &stripe.CouponCreateParams{
		ID: stripe.String(id), Name: stripe.String(t.name), Metadata: t.metadata,
		Duration: stripe.String(string(stripe.CouponDurationOnce)),
	}
	if t.percent > 0 {
		params.AddExtra("percent_off", wirePercent(t.percent))
	} else {
		params.AmountOff, params.Currency = new(t.amount), stripe.String(t.currency)
	}
	if t.uses > 0 {
		params.MaxRedemptions = new(t.uses)
	}
	return params
}

// sameDiscount reports whether the object has the discount of our coupon. The discount of a coupon
// never changes.
func (t terms) sameDiscount(object *stripe.Coupon) bool {
	percent := int64(math.Round(object.PercentOff * 10_000)) // exact for four decimals
	return percent == t.percent*100 && object.AmountOff == t.amount &&
		string(object.Currency) == t.currency && object.Duration == stripe.CouponDurationOnce
}

// fits reports whether the object can continue to mirror the coupon. Its fixed fields must agree, and
// it must be usable.
func (t terms) fits(object *stripe.Coupon) bool {
	return !object.Deleted && object.Valid && t.sameDiscount(object) &&
		object.MaxRedemptions == t.uses && object.RedeemBy == 0
}

// shows reports whether name and metadata of the object are up to date.
func (t terms) shows(object *stripe.Coupon) bool {
	if object.Name != t.name {
		return false
	}
	for key, value := range t.metadata {
		if object.Metadata[key] != value {
			return false
		}
	}
	_, stale := object.Metadata[nameMetadataField]
	_, wanted := t.metadata[nameMetadataField]
	return stale == wanted
}

// updateParams returns an update of name and metadata. An empty value removes a key.
func (t terms) updateParams() *stripe.CouponUpdateParams {
	metadata := map[string]string{nameMetadataField: ""}
	maps.Copy(metadata, t.metadata)
	return &stripe.CouponUpdateParams{Name: stripe.String(t.name), Metadata: metadata}
}

// owns reports whether metadata says that an object mirrors this coupon of ours.
func (p *Processor) owns(metadata map[string]string, couponID string) bool {
	return couponID != "" && metadata[metadataApp] == p.options.App && metadata[metadataCouponID] == couponID
}

// mirrors reports whether an object mirrors any coupon of ours.
func (p *Processor) mirrors(object *stripe.Coupon) bool {
	return p.owns(object.Metadata, object.Metadata[metadataCouponID]) && object.Metadata[metadataKind] == kindMirror
}

// maxTries bounds how many objects of one revision are checked. Each object before the last is unusable
// or has other limits. That happens only if somebody changed it in Stripe's dashboard.
const maxTries = 20

// mirrorID derives the ID of the coupon at Stripe. try counts from 1. It grows when the object with the
// ID exists and cannot be used.
func (p *Processor) mirrorID(couponID string, revision int64, try int) string {
	if !objectName.MatchString(couponID) {
		couponID = "x" + shortHash(couponID)
	}
	id := fmt.Sprintf("%s_%s_r%d", p.options.IDPrefix, couponID, revision)
	if try > 1 {
		id += "-" + strconv.Itoa(try)
	}
	return id
}

func shortHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}
