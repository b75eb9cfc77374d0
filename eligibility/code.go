package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkCode refuses a code that is inactive, expired, used up or assigned to another customer. The
// parameters are those of the code, unless the coupon is refused for the same reason.
func (d *Decision) checkCode(code *coupon.IssuedCode, q *Question) {
	if code.Plain() {
		return
	}
	if !code.Active {
		d.refuse(coupon.CouponInactive, nil)
	}
	if expired := !code.ExpiresAt.IsZero() && (q.At.IsZero() || !q.At.Before(code.ExpiresAt)); expired && !d.Has(coupon.CouponExpired) {
		d.refuse(coupon.CouponExpired, hasExpired(code.ExpiresAt))
	}
	if full(code.MaxUses, q.Usage.ByCode, 0, 0) && !d.Has(coupon.UsageLimitReached) {
		d.refuse(coupon.UsageLimitReached, usedUp(code.MaxUses))
	}
	switch {
	case code.Owner.IsZero():
	case q.Customer.Guest || !q.Customer.known():
		d.refuse(coupon.UserRequired, nil)
	case !code.Owner.Is(q.Customer.ID, q.Customer.Email):
		d.refuse(coupon.UserNotAllowed, nil)
	}
}

// CheckCode returns the reasons for which a code is refused, whatever its coupon. Of the question,
// At, Customer and Usage.ByCode count.
func CheckCode(code coupon.IssuedCode, q Question) []coupon.Reason {
	var d Decision
	d.checkCode(&code, &q)
	return d.Reasons()
}

// codeLimits returns the limit of a code that is not plain. The plain code has the limits of its coupon.
func (c *Claimant) codeLimits() []Limit {
	if c.Code.Plain() {
		return nil
	}
	return []Limit{{
		Claim:  Claim{Counter: CodeUses(c.Coupon.ID, c.Code.Code.String()), Amount: 1, Limit: c.Code.MaxUses},
		Reason: coupon.UsageLimitReached, usage: func(u *Usage) *int64 { return &u.ByCode },
	}}
}

// CodeUses returns the key of the counter for all uses of a coupon by one of its codes. A long code
// is in the key as its SHA-256 hash.
func CodeUses(couponID, code string) string {
	const longest = 128 // in bytes
	if len(code) > longest {
		code = "long:" + hashed("code", code)
	}
	return SharedCounter("by-code", couponID, code)
}

// batchClaims returns the claim of a use on the counter of its batch. That counter has no limit.
func (c *Claimant) batchClaims() []Claim {
	if c.Code.Plain() {
		return nil
	}
	return []Claim{{Counter: BatchUses(c.Coupon.ID, c.Code.Batch), Amount: 1}}
}

// BatchUses returns the key of the counter for all uses of a coupon by the codes of a batch.
func BatchUses(couponID, batch string) string { return SharedCounter("by-batch", couponID, batch) }
