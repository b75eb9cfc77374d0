package processortest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// probe is a running clause.
type probe struct {
	*testing.T
	Harness

	says string
}

// broken fails the clause.
func (p *probe) broken(format string, args ...any) {
	p.Helper()
	p.Errorf("the contract says: %s\nbut %s", p.says, fmt.Sprintf(format, args...))
}

// stop fails the clause and ends it, because later checks would make no sense.
func (p *probe) stop(format string, args ...any) {
	p.Helper()
	p.broken(format, args...)
	p.FailNow()
}

// ok stops if a call that must succeed has failed.
func (p *probe) ok(err error, call string) {
	p.Helper()
	if err != nil {
		p.stop("%s returned the error: %v", call, err)
	}
}

// hook stops if a hook of the harness has failed.
func (p *probe) hook(err error, name string) {
	p.Helper()
	if err != nil {
		p.Fatalf("the hook %s of the harness failed: %v", name, err)
	}
}

// sentinel is an error of the contract with its name.
type sentinel struct {
	name  string
	error error
}

// kinds returns the sentinels of the contract. Every error matches exactly one of them. Only
// ErrCodeTaken also matches ErrRejected.
func kinds() []sentinel {
	return []sentinel{
		{"ErrUnavailable", processor.ErrUnavailable},
		{"ErrRejected", processor.ErrRejected},
		{"ErrNotFound", processor.ErrNotFound},
		{"ErrForbidden", processor.ErrForbidden},
		{"ErrSignature", processor.ErrSignature},
		{"context.Canceled", context.Canceled},
		{"context.DeadlineExceeded", context.DeadlineExceeded},
	}
}

// fails checks that a call returned this sentinel and no other.
func (p *probe) fails(err, want error, call string) {
	p.Helper()
	if !errors.Is(err, want) {
		p.broken("%s returned %v, want %q", call, errorText(err), want)
	}
	p.oneKind(err, call)
}

// oneKind checks that an error matches exactly one sentinel.
func (p *probe) oneKind(err error, call string) {
	p.Helper()
	var matched []string
	for _, s := range kinds() {
		if errors.Is(err, s.error) {
			matched = append(matched, s.name)
		}
	}
	if err != nil && len(matched) != 1 {
		p.broken("%s returned an error that matches %d sentinels instead of exactly one (%s): %v",
			call, len(matched), strings.Join(matched, ", "), err)
	}
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return fmt.Sprintf("%q", err.Error())
}

// coupon returns a coupon of 10.00 EUR off.
func (p *probe) coupon(id, code string) coupon.Coupon {
	p.Helper()
	return p.draft(id, coupon.Draft{
		Code: code, Name: "Suite " + code,
		DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	})
}

func (p *probe) draft(id string, d coupon.Draft) coupon.Coupon {
	p.Helper()
	c, err := coupon.New(d, coupon.Creation{ID: coupon.IDPrefix + id, At: p.Now()})
	if err != nil {
		p.Fatalf("the suite's coupon is invalid: %v", err)
	}
	return c
}

// edited returns the coupon with a change and the next revision.
func edited(c coupon.Coupon, change func(*coupon.Coupon)) coupon.Coupon {
	change(&c)
	c.Revision++
	return c
}

func renamed(name string) func(*coupon.Coupon) { return func(c *coupon.Coupon) { c.Name = name } }

func limited(uses int64) func(*coupon.Coupon) {
	return func(c *coupon.Coupon) { c.Limits.MaxUses = uses }
}

func switched(s coupon.State) func(*coupon.Coupon) { return func(c *coupon.Coupon) { c.State = s } }

// mirrored creates the coupon's mirror and returns the coupon with it.
func (p *probe) mirrored(c coupon.Coupon) coupon.Coupon {
	p.Helper()
	m, err := p.Processor.EnsureMirror(p.Context(), c)
	p.ok(err, "EnsureMirror")
	return p.accepted(c, m)
}

func (p *probe) updated(c coupon.Coupon) coupon.Coupon {
	p.Helper()
	m, err := p.Processor.UpdateMirror(p.Context(), c)
	p.ok(err, "UpdateMirror")
	return p.accepted(c, m)
}

func (p *probe) activated(c coupon.Coupon) coupon.Coupon {
	p.Helper()
	m, err := p.Processor.SetMirrorActive(p.Context(), c)
	p.ok(err, "SetMirrorActive")
	return p.accepted(c, m)
}

// accepted checks that a returned mirror has both IDs and the revision. If the processor has no
// mirrors, it must be unsupported.
func (p *probe) accepted(c coupon.Coupon, m coupon.Mirror) coupon.Coupon {
	p.Helper()
	if p.NoMirror {
		p.withoutMirror(c, m, "a method of the mirror")
		c.Mirror = m
		return c
	}
	if m.CouponID == "" || (m.PromotionCodeID == "") != c.Code.IsZero() {
		p.stop("the mirror %+v of the coupon with the code %q names no coupon or not one promotion code for the code", m, c.Code)
	}
	if m.Revision != c.Revision {
		p.broken("the mirror has revision %d and the coupon %d", m.Revision, c.Revision)
	}
	c.Mirror = m
	return c
}

// usable returns the expected status of the suite's active coupons.
func (p *probe) usable() processor.MirrorStatus {
	if p.NoMirror {
		return processor.MirrorUnsupported
	}
	return processor.MirrorValid
}

// verifies checks the result of VerifyMirror.
func (p *probe) verifies(c coupon.Coupon, want processor.MirrorStatus, when string) {
	p.Helper()
	got, err := p.Processor.VerifyMirror(p.Context(), c)
	p.ok(err, "VerifyMirror "+when)
	if got != want {
		p.broken("VerifyMirror %s says %q, want %q", when, got, want)
	}
}

// shows checks the processor's account, not the adapter's answers. Exactly one coupon object and one
// promotion code of the coupon must be in use, with its terms. An inactive coupon must have no active
// code.
func (p *probe) shows(c coupon.Coupon, when string) {
	p.Helper()
	if p.Account.Objects == nil {
		return
	}
	object, ok := p.onlyObject(c, when)
	if !ok {
		return
	}
	if object.ID != c.Mirror.CouponID {
		p.broken("%s the mirror names the coupon %q, and %q is there", when, c.Mirror.CouponID, object.ID)
	}
	if object.Name != c.Name {
		p.broken("%s the name at the processor is %q, want %q", when, object.Name, c.Name)
	}
	if !object.Discount.Equal(c.Discount) {
		p.broken("%s the discount at the processor is %s, want %s", when, object.Discount, c.Discount)
	}
	if object.MaxUses != c.Limits.MaxUses {
		p.broken("%s the maximum uses at the processor are %d, want %d", when, object.MaxUses, c.Limits.MaxUses)
	}
	p.showsCode(c, object, when)
}

func (p *probe) onlyObject(c coupon.Coupon, when string) (object Object, ok bool) {
	p.Helper()
	objects := p.objectsOf(c)
	if len(objects) != 1 {
		p.broken("%s the processor has %d coupons for one of ours, want 1: %+v", when, len(objects), objects)
		return Object{}, false
	}
	return objects[0], true
}

func (p *probe) objectsOf(c coupon.Coupon) []Object {
	var own []Object
	for _, o := range p.Account.Objects() {
		if o.Owner == c.ID {
			own = append(own, o)
		}
	}
	return own
}

// showsCode counts the active codes of a coupon: the codes with its text, and the codes of its object.
func (p *probe) showsCode(c coupon.Coupon, object Object, when string) {
	p.Helper()
	var active []Code
	named := false
	for _, code := range p.Account.Codes() {
		named = named || code.ID == c.Mirror.PromotionCodeID && code.CouponID == object.ID && sameText(code, c)
		if code.Active && (sameText(code, c) || code.CouponID == object.ID) {
			active = append(active, code)
		}
	}
	if !named && !c.Code.IsZero() {
		p.broken("%s the promotion code %q of the mirror is not there, or not for this coupon", when, c.Mirror.PromotionCodeID)
	}
	want := 1
	if !c.Active() && c.State != coupon.Pending || c.Code.IsZero() {
		want = 0
	}
	if len(active) != want {
		p.broken("%s %d promotion codes are active, want %d: %+v", when, len(active), want, active)
	} else if want == 1 && active[0].ID != c.Mirror.PromotionCodeID {
		p.broken("%s the active promotion code is %q, and the mirror names %q", when, active[0].ID, c.Mirror.PromotionCodeID)
	}
}

func sameText(code Code, c coupon.Coupon) bool {
	return !c.Code.IsZero() && coupon.Fold(code.Text) == c.Code.String()
}

// nothingOf checks the processor's account: nothing of the coupon may be in use.
func (p *probe) nothingOf(c coupon.Coupon, when string) {
	p.Helper()
	if p.Account.Objects == nil {
		return
	}
	if objects := p.objectsOf(c); len(objects) > 0 {
		p.broken("%s the processor still has %+v", when, objects)
	}
	foreign := map[string]bool{}
	for _, o := range p.Account.Objects() {
		foreign[o.ID] = o.Owner != c.ID
	}
	for _, code := range p.Account.Codes() {
		if code.Active && sameText(code, c) && !foreign[code.CouponID] {
			p.broken("%s the promotion code %+v is still active", when, code)
		}
	}
}

// foreign creates another application's coupon. It returns a check that this coupon is unchanged.
func (p *probe) foreign(code string) (planted coupon.Mirror, untouched func(when string)) {
	p.Helper()
	planted, err := p.Account.PlantForeign(code)
	p.hook(err, "PlantForeign")
	object, promotion := p.find(planted)
	return planted, func(when string) {
		p.Helper()
		objectNow, promotionNow := p.find(planted)
		if !reflect.DeepEqual(objectNow, object) {
			p.broken("%s somebody else's coupon has changed from %+v to %+v", when, object, objectNow)
		}
		if promotionNow != promotion {
			p.broken("%s somebody else's promotion code has changed from %+v to %+v", when, promotion, promotionNow)
		}
	}
}

func (p *probe) find(m coupon.Mirror) (object Object, code Code) {
	for _, o := range p.Account.Objects() {
		if o.ID == m.CouponID {
			object = o
		}
	}
	for _, c := range p.Account.Codes() {
		if c.ID == m.PromotionCodeID {
			code = c
		}
	}
	return object, code
}

// inTime runs f and stops the clause if f hangs. The limit is far above the time of any sound adapter.
func (p *probe) inTime(call string, f func()) {
	p.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		p.stop("%s did not return", call)
	}
}
