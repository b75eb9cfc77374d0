package stripeprocessor

import (
	"context"
	"errors"
	"time"
)

// Sweep deletes the coupons for the first period of sessions that have ended, and returns how many it has
// deleted. [Processor.Handler] and [Processor.ExpireSession] delete nearly all of them before; Sweep finds the
// coupons that a lost event or an interrupted call has left. It keeps coupons of sessions that can still be paid,
// and objects of other applications. Concurrent sweeps are safe.
//
// Sweep goes on after a coupon that it cannot delete. The error joins the errors of all such coupons, and an error of
// listing the coupons. The service's Reconcile removes other left objects; see [Processor.Mirrors].
func (p *Processor) Sweep(ctx context.Context) (deleted int, err error) {
	var failures []error
	for object, err := range p.coupons(ctx) {
		if err == nil && (!p.isSessionCoupon(object) || object.RedeemBy == 0 || p.options.Clock().Before(time.Unix(object.RedeemBy, 0))) {
			continue
		}
		if err == nil {
			if err = p.removeSessionCoupon(ctx, object.ID); err == nil {
				deleted++
			}
		}
		failures = append(failures, err)
	}
	return deleted, errors.Join(failures...)
}
