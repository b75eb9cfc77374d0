package validity

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// Situation is what is decided: may the customer of the question use the coupon?
type Situation struct {
	Coupon   coupon.Coupon
	Question eligibility.Question
	// Cart is what the customer wants to buy; nil is the question before there is a cart.
	Cart *pricing.Cart
}

// Decider decides one situation as often as it is asked.
type Decider interface {
	// Allowed does the work that is timed.
	Allowed() (bool, error)
}

// Way is one way of deciding.
type Way struct {
	// Name is what results are reported under.
	Name string
	// Prepare compiles the rule of the coupon and takes the situation into the form
	// that the way reads.
	Prepare func(Situation) (Decider, error)
}

// Ways returns all of them, this repository's first.
func Ways() []Way {
	return []Way{
		{Name: "couponkit", Prepare: newOurs},
		{Name: "by-hand", Prepare: newByHand},
		{Name: "cel-go", Prepare: newCEL},
		{Name: "expr", Prepare: newExpr},
	}
}

// ours measures package eligibility.
type ours struct {
	situation Situation
	set       []eligibility.Candidate
	result    eligibility.SetResult
}

func newOurs(s Situation) (Decider, error) {
	if s.Cart == nil {
		return beforeCart(s), nil
	}
	return &ours{situation: s, set: []eligibility.Candidate{
		{Coupon: &s.Coupon, Usage: s.Question.Usage, MirrorInvalid: s.Question.MirrorInvalid},
	}}, nil
}

// Allowed decides and prices.
func (o *ours) Allowed() (bool, error) {
	err := o.result.Reevaluate(o.set, *o.situation.Cart, o.situation.Question)
	return err == nil && o.result.Err() == nil, err
}

type beforeCart Situation

func (b beforeCart) Allowed() (bool, error) {
	return eligibility.Check(&b.Coupon, b.Question).Allowed(), nil
}
