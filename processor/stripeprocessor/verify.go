package stripeprocessor

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// VerifyMirror implements [processor.Mirror] (specification 4.4, validation 8). It
// makes one call, or none if the result is cached. MirrorValid requires a valid Stripe
// coupon and an active promotion code.
func (p *Processor) VerifyMirror(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
	if err := ctx.Err(); err != nil {
		return 0, ended(opReadCode, err)
	}
	if c.Mirror.CouponID == "" || c.Mirror.PromotionCodeID == "" {
		return processor.MirrorMissing, nil
	}
	if status, ok := p.verified.get(c.Mirror); ok {
		return status, nil
	}
	seen := p.verified.begin()
	status, err := p.verify(ctx, c.Mirror)
	if err != nil {
		return 0, err
	}
	p.verified.put(c.Mirror, status, seen)
	return status, nil
}

func (p *Processor) verify(ctx context.Context, m coupon.Mirror) (processor.MirrorStatus, error) {
	code, err := p.readCode(ctx, m.PromotionCodeID)
	if errors.Is(err, processor.ErrNotFound) {
		return processor.MirrorMissing, nil
	}
	if err != nil {
		return 0, err
	}
	full, id := object(code)
	if full == nil && id != "" {
		// Only the ID has come back, whose fields are all empty: it must not be read as
		// an invalid coupon.
		full, err = p.readCoupon(ctx, id)
		switch {
		case errors.Is(err, processor.ErrNotFound):
			full = nil
		case err != nil:
			return 0, err
		}
	}
	return mirrorStatus(m, code, full), nil
}

func mirrorStatus(m coupon.Mirror, code *stripe.PromotionCode, full *stripe.Coupon) processor.MirrorStatus {
	switch {
	case full == nil || full.Deleted:
		return processor.MirrorMissing
	case full.ID != m.CouponID || !code.Active || !full.Valid:
		return processor.MirrorInvalid
	}
	return processor.MirrorValid
}

// verifyCache keeps results of verifications for some time, the youngest of them
// when there are too many. nil keeps nothing.
type verifyCache struct {
	ttl   time.Duration
	size  int
	clock func() time.Time

	mu      sync.Mutex
	changes uint64 // grows with every drop
	order   *list.List
	entries map[coupon.Mirror]*list.Element
	byID    map[string]map[coupon.Mirror]bool
}

type verifyEntry struct {
	mirror coupon.Mirror
	status processor.MirrorStatus
	until  time.Time
}

func newVerifyCache(ttl time.Duration, size int, clock func() time.Time) *verifyCache {
	if ttl <= 0 {
		return nil
	}
	return &verifyCache{
		ttl: ttl, size: size, clock: clock, order: list.New(),
		entries: map[coupon.Mirror]*list.Element{}, byID: map[string]map[coupon.Mirror]bool{},
	}
}

// cacheKey is the mirror without its revision, which Stripe does not know.
func cacheKey(m coupon.Mirror) coupon.Mirror {
	m.Revision = 0
	return m
}

func (v *verifyCache) get(m coupon.Mirror) (processor.MirrorStatus, bool) {
	if v == nil {
		return 0, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	element, ok := v.entries[cacheKey(m)]
	if !ok {
		return 0, false
	}
	entry, _ := element.Value.(verifyEntry)
	if !v.clock().Before(entry.until) {
		v.remove(element)
		return 0, false
	}
	return entry.status, true
}

// begin returns what put needs to know whether anything was dropped in between.
func (v *verifyCache) begin() uint64 {
	if v == nil {
		return 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changes
}

// put keeps a result, unless something was dropped since begin: the answer may then
// be older than the change.
func (v *verifyCache) put(m coupon.Mirror, status processor.MirrorStatus, seen uint64) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.changes != seen {
		return
	}
	m = cacheKey(m)
	if element, ok := v.entries[m]; ok {
		v.remove(element)
	}
	v.entries[m] = v.order.PushBack(verifyEntry{mirror: m, status: status, until: v.clock().Add(v.ttl)})
	for _, id := range [...]string{m.CouponID, m.PromotionCodeID} {
		if v.byID[id] == nil {
			v.byID[id] = map[coupon.Mirror]bool{}
		}
		v.byID[id][m] = true
	}
	for v.order.Len() > v.size {
		v.remove(v.order.Front())
	}
}

func (v *verifyCache) remove(element *list.Element) {
	entry, _ := v.order.Remove(element).(verifyEntry)
	delete(v.entries, entry.mirror)
	for _, id := range [...]string{entry.mirror.CouponID, entry.mirror.PromotionCodeID} {
		delete(v.byID[id], entry.mirror)
		if len(v.byID[id]) == 0 {
			delete(v.byID, id)
		}
	}
}

// drop forgets everything about these coupons and promotion codes.
func (v *verifyCache) drop(ids ...string) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changes++
	for _, id := range ids {
		for m := range v.byID[id] {
			if element, ok := v.entries[m]; ok {
				v.remove(element)
			}
		}
	}
}
