package fakeprocessor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Coupon is a coupon object at the processor. Only Name and Revision can change.
type Coupon struct {
	ID string
	// Owner is the ID of the couponkit coupon. It is empty for other applications.
	Owner string
	Name  string
	// Discount, Currency and MaxUses never change. A MaxUses of 0 means no limit.
	Discount pricing.Discount
	Currency pricing.Currency
	MaxUses  int64
	// Revision is the coupon's revision at the last write.
	Revision int64
}

// PromotionCode is a promotion code of a coupon object. Active codes are unique in any
// letter case.
type PromotionCode struct {
	ID       string
	CouponID string // ID of the coupon object
	Code     string
	Active   bool
	// Dead means that the code can never be active again. Its coupon object was
	// deleted, or its uses ran out.
	Dead bool
}

// Errors of the account. The methods of the contract translate them.
var (
	errExists = errors.New("exists already")
	errGone   = errors.New("no such object")
	errActive = errors.New("an active promotion code with this text exists")
	errDead   = errors.New("the promotion code cannot be activated again")
)

// account has the processor's objects and simple operations on them. The operations know nothing of
// couponkit. The processor's lock guards it.
type account struct {
	newID func(kind string, n int) string

	coupons  map[string]*Coupon
	byOwner  map[string][]string // IDs of coupon objects, in the order of creation
	codes    map[string]*PromotionCode
	byCoupon map[string][]string // IDs of promotion codes, in the order of creation
	active   map[string]string   // ID of the active promotion code by folded text
	foreign  int
}

func newAccount(newID func(kind string, n int) string) account {
	return account{
		newID:   newID,
		coupons: map[string]*Coupon{}, byOwner: map[string][]string{},
		codes: map[string]*PromotionCode{}, byCoupon: map[string][]string{},
		active: map[string]string{},
	}
}

// couponID derives the ID of the object that mirrors these terms of this coupon. Two calls for one
// mirror therefore never make two objects.
func couponID(c coupon.Coupon) string {
	terms := fmt.Sprintf("%s|%s|%d", c.Discount, c.Currency, c.Limits.MaxUses)
	sum := sha256.Sum256([]byte(terms))
	return "co_" + c.ID + "_" + hex.EncodeToString(sum[:4])
}

// fold returns the form of a code in which the processor compares codes.
func fold(code string) string { return coupon.Fold(code) }

func (a *account) createCoupon(c Coupon) error {
	if _, taken := a.coupons[c.ID]; taken {
		return errExists
	}
	a.coupons[c.ID] = &c
	a.byOwner[c.Owner] = append(a.byOwner[c.Owner], c.ID)
	return nil
}

func (a *account) renameCoupon(id, name string, revision int64) error {
	c, ok := a.coupons[id]
	if !ok {
		return errGone
	}
	c.Name, c.Revision = name, revision
	return nil
}

// deleteCoupon deletes the object. Its promotion codes can never be active again.
func (a *account) deleteCoupon(id string) error {
	c, ok := a.coupons[id]
	if !ok {
		return errGone
	}
	for _, codeID := range a.byCoupon[id] {
		a.kill(a.codes[codeID])
	}
	delete(a.coupons, id)
	delete(a.byCoupon, id) // a later object with the same ID has none of these codes
	a.byOwner[c.Owner] = slices.DeleteFunc(a.byOwner[c.Owner], func(other string) bool { return other == id })
	if len(a.byOwner[c.Owner]) == 0 {
		delete(a.byOwner, c.Owner)
	}
	return nil
}

func (a *account) couponsOf(owner string) []Coupon {
	list := make([]Coupon, 0, 1)
	for _, id := range a.byOwner[owner] {
		list = append(list, *a.coupons[id])
	}
	return list
}

func (a *account) codesOf(couponID string) []PromotionCode {
	list := make([]PromotionCode, 0, 1)
	for _, id := range a.byCoupon[couponID] {
		list = append(list, *a.codes[id])
	}
	return list
}

// activeCode returns the active promotion code with this text and its coupon object.
func (a *account) activeCode(code string) (PromotionCode, Coupon, bool) {
	id, ok := a.active[fold(code)]
	if !ok {
		return PromotionCode{}, Coupon{}, false
	}
	return *a.codes[id], *a.coupons[a.codes[id].CouponID], true
}

func (a *account) createCode(couponID, code string, active bool) (PromotionCode, error) {
	if _, ok := a.coupons[couponID]; !ok {
		return PromotionCode{}, errGone
	}
	made := &PromotionCode{ID: a.newID("promo", len(a.codes)+1), CouponID: couponID, Code: code}
	if active {
		if err := a.activate(made); err != nil {
			return PromotionCode{}, err
		}
	}
	a.codes[made.ID] = made
	a.byCoupon[couponID] = append(a.byCoupon[couponID], made.ID)
	return *made, nil
}

func (a *account) activateCode(id string) error {
	code, ok := a.codes[id]
	if !ok {
		return errGone
	}
	return a.activate(code)
}

func (a *account) activate(code *PromotionCode) error {
	holder, taken := a.active[fold(code.Code)]
	switch {
	case code.Dead:
		return errDead
	case taken && holder != code.ID:
		return errActive
	}
	code.Active = true
	a.active[fold(code.Code)] = code.ID
	return nil
}

func (a *account) deactivateCode(id string) error {
	code, ok := a.codes[id]
	if !ok {
		return errGone
	}
	if code.Active {
		code.Active = false
		delete(a.active, fold(code.Code))
	}
	return nil
}

func (a *account) kill(code *PromotionCode) {
	_ = a.deactivateCode(code.ID) // no error: the code exists
	code.Dead = true
}
