package stripeprocessor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/processor"
)

// sessionCouponGrace is how long the coupon of the first period stays valid after the session ends. The
// customer may pay in the last second.
const sessionCouponGrace = time.Hour

// sessionCouponID derives the ID of the coupon for the first period of an attempt's session. Each
// session has its own coupon: a late event of an ended session must not touch the coupon of its
// replacement. Without an expiry, the same request has several sessions. Their coupons differ by the
// expiry of the session.
func (p *Processor) sessionCouponID(out *plan, tag string) string {
	session := out.identity
	if out.anew() {
		session = shortHash(session, fmt.Sprint(out.expiresAt.Unix()), out.after)
	}
	id := p.options.IDPrefix + "_s_" + session
	if tag != firstAttempt {
		id += "-" + tag
	}
	return id
}

// ensureSessionCoupon makes the coupon for the first period, or adopts the coupon of an earlier call.
// It makes the coupon again if it was removed between two calls. If that fails too, the ID belonged to
// a session that has ended. sendSession then finds that session.
func (p *Processor) ensureSessionCoupon(ctx context.Context, out *plan, tag string) error {
	if out.discount == 0 {
		return nil
	}
	id := p.sessionCouponID(out, tag)
	for range 2 {
		err := p.makeSessionCoupon(ctx, out, id)
		if errors.Is(err, ErrConflict) {
			err = p.checkSessionCoupon(ctx, out, id)
		}
		if !errors.Is(err, processor.ErrNotFound) {
			return err
		}
	}
	return nil
}

// sessionCouponMetadata is the metadata of the coupon for the first period.
func (p *Processor) sessionCouponMetadata(r processor.SessionRequest) map[string]string {
	metadata := map[string]string{metadataApp: p.options.App, metadataKind: kindSession}
	if len(r.Coupons) > 0 {
		metadata[metadataCouponID] = r.Coupons[0].ID
	}
	if r.OrderID != "" {
		metadata[processor.MetadataOrderID] = r.OrderID
	}
	return metadata
}

func (p *Processor) makeSessionCoupon(ctx context.Context, out *plan, id string) error {
	_, err := p.createCoupon(ctx, &stripe.CouponCreateParams{
		ID: stripe.String(id), Name: stripe.String(sessionCouponName(out)), Metadata: p.sessionCouponMetadata(out.request),
		AmountOff: new(out.discount), Currency: stripe.String(out.money.code()),
		Duration: stripe.String(string(stripe.CouponDurationOnce)), MaxRedemptions: stripe.Int64(1),
		RedeemBy: new(out.expiresAt.Add(sessionCouponGrace).Unix()),
	}, func(ctx context.Context) (bool, error) {
		err := p.checkSessionCoupon(ctx, out, id)
		if errors.Is(err, processor.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
	return err
}

// sessionCouponName returns the name on the payment page: the name of a single coupon, or the codes of
// several.
func sessionCouponName(out *plan) string {
	coupons := out.request.Coupons
	if len(coupons) == 1 {
		if name, _ := stripeName(coupons[0].Name); name != "" {
			return name
		}
	}
	codes := make([]string, len(coupons))
	for i := range coupons {
		codes[i] = coupons[i].Code.String()
	}
	name, _ := stripeName(strings.Join(codes, ", "))
	return cmp.Or(name, "Discount")
}

func (p *Processor) checkSessionCoupon(ctx context.Context, out *plan, id string) error {
	there, err := p.readCoupon(ctx, id)
	if err != nil {
		return err
	}
	if !p.isSessionCoupon(there) || there.AmountOff != out.discount || string(there.Currency) != out.money.code() ||
		there.Duration != stripe.CouponDurationOnce {
		return refused(opCreateCoupon, ErrConflict, fmt.Errorf("%s is there and takes something else off", id))
	}
	return nil
}

func (p *Processor) isSessionCoupon(object *stripe.Coupon) bool {
	return object.Metadata[metadataApp] == p.options.App && object.Metadata[metadataKind] == kindSession
}

// EndSession removes the coupon for the first period of a session that has ended.
// [Processor.Handler] and [Processor.ExpireSession] call it. Hosts that use
// [Processor.ParseEvent] directly may call it after a Completed or Expired event. The
// coupon of an open session is kept. [Processor.Sweep] removes remaining coupons.
func (p *Processor) EndSession(ctx context.Context, sessionID string) error {
	s, err := p.readSession(ctx, sessionID, nil)
	if err != nil || !hasEnded(s) {
		return err
	}
	for id := range p.sessionCoupons(s) {
		if err := p.removeSessionCoupon(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// dropSessionCoupons removes the coupons of a session that has ended. It ignores failures, because the
// sweep removes the rest.
func (p *Processor) dropSessionCoupons(ctx context.Context, s *stripe.CheckoutSession) {
	if !hasEnded(s) {
		return
	}
	for id := range p.sessionCoupons(s) {
		p.dropSessionCoupon(ctx, id)
	}
}

func (p *Processor) dropSessionCoupon(ctx context.Context, id string) {
	if err := p.removeSessionCoupon(ctx, id); err != nil {
		p.options.Logger.WarnContext(ctx, "a session's coupon is left to the sweep", slog.String("coupon", id), slog.Any("error", err))
	}
}

// sessionCoupons yields the IDs of the coupons of a session that this package may have made.
func (p *Processor) sessionCoupons(s *stripe.CheckoutSession) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, d := range s.Discounts {
			if d != nil && d.Coupon != nil && p.looksLikeSessionCoupon(d.Coupon.ID) && !yield(d.Coupon.ID) {
				return
			}
		}
	}
}

func (p *Processor) looksLikeSessionCoupon(id string) bool {
	prefix := p.options.IDPrefix + "_s_"
	return len(id) > len(prefix) && id[:len(prefix)] == prefix
}

// removeSessionCoupon deletes a coupon for a first period, after it has checked that the coupon is
// ours.
func (p *Processor) removeSessionCoupon(ctx context.Context, id string) error {
	if !p.looksLikeSessionCoupon(id) {
		return nil
	}
	there, err := p.readCoupon(ctx, id)
	switch {
	case errors.Is(err, processor.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !p.isSessionCoupon(there):
		return nil
	}
	return p.deleteCoupon(ctx, id)
}
