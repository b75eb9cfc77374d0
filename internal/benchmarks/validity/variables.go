package validity

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/email"
)

// variables are the inputs of the rules in both engines. Integers have type int: it is the fastest in
// expr, and cel-go accepts it.
type variables struct {
	Active              bool                `expr:"active"`
	MirrorInvalid       bool                `expr:"mirrorInvalid"`
	Anonymous           bool                `expr:"anonymous"`
	Holds               bool                `expr:"holds"`
	Now                 int                 `expr:"now"`
	Completed           int                 `expr:"completed"`
	Reserved            int                 `expr:"reserved"`
	CompletedByCustomer int                 `expr:"completedByCustomer"`
	ReservedByCustomer  int                 `expr:"reservedByCustomer"`
	Customer            string              `expr:"customer"`
	Email               string              `expr:"email"`
	Domain              string              `expr:"domain"`
	Currency            string              `expr:"currency"`
	Allowed             map[string]struct{} `expr:"allowed"`
	Lines               []line              `expr:"lines"`
}

// line is a line of the cart in the rules.
type line struct {
	Kind     string `cel:"kind" expr:"kind"`
	Item     string `cel:"item" expr:"item"`
	Price    int    `cel:"price" expr:"price"`
	Quantity int    `cel:"quantity" expr:"quantity"`
}

// build returns the variables for a situation. allowed is the coupon's allow-list. An application would
// keep it with the compiled rule.
func build(s *Situation, allowed map[string]struct{}) variables {
	q := &s.Question
	email, domain := email.Entries(q.Customer.Email)
	v := variables{
		Active: s.Coupon.State == coupon.Active, MirrorInvalid: q.MirrorInvalid, Anonymous: q.AllowAnonymous,
		Holds: q.Customer.ID != "" && q.Usage.CustomerHoldsReservation,
		Now:   int(q.At.UnixMicro()), Completed: int(q.Usage.Completed), Reserved: int(q.Usage.Reserved),
		CompletedByCustomer: int(q.Usage.CompletedByCustomer), ReservedByCustomer: int(q.Usage.ReservedByCustomer),
		Customer: q.Customer.ID, Email: email, Domain: domain, Allowed: allowed,
	}
	if s.Cart == nil {
		return v
	}
	v.Currency, v.Lines = s.Cart.Currency.Code(), make([]line, len(s.Cart.Lines))
	for i := range s.Cart.Lines {
		l := &s.Cart.Lines[i]
		v.Lines[i] = line{Kind: l.Kind.String(), Item: l.ItemID, Price: int(l.UnitPrice), Quantity: int(l.Quantity)}
	}
	return v
}
