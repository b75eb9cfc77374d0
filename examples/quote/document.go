package main

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

var (
	documentFields = []string{"id", "at", "currency", "step", "customer", "facts", "lines", "coupon", "coupons", "conflicts", "usage"}
	customerFields = []string{"id", "email", "tags", "earlierOrders"}
	lineFields     = []string{"id", "kind", "class", "itemId", "categories", "quantity", "unitPrice"}
	usageFields    = []string{"completed", "reserved", "completedByCustomer", "reservedByCustomer", "customerHoldsReservation", "orders", "periods", "spent"}
)

// document is a cart with the question about it. Its memory is reused for the next document.
type document struct {
	id       string
	cart     pricing.Cart
	question eligibility.Question
	set      []eligibility.Candidate // the coupon, or the coupons of the list in its order
	listed   bool                    // the document has a list of coupons
}

// decode reads raw. raw must be valid JSON. A *validation.Error lists all faults. decode sets the ID
// even if there are faults.
func (d *document) decode(raw []byte, now func() time.Time) error {
	*d = document{cart: pricing.Cart{Lines: d.cart.Lines[:0]}, set: d.set[:0]}
	if !utf8.Valid(raw) {
		return errors.New("the text is not UTF-8")
	}
	f, err := split(raw, documentFields)
	if err != nil {
		return err
	}
	d.id = f.text("id")
	d.question = eligibility.Question{At: parsed(&f, "at", parseInstant), AllowAnonymous: true}
	d.question.Conflicts = parsed(&f, "conflicts", eligibility.ParseConflictPolicy)
	d.cart.Currency = parsed(&f, "currency", pricing.ParseCurrency)
	d.cart.Step = f.amount("step", d.cart.Currency)
	f.require("id", "currency", "lines")
	if customer, ok := f.value("customer"); ok {
		f.faults.Merge("customer", d.decodeCustomer(customer))
	}
	if facts, ok := f.value("facts"); ok {
		f.faults.Merge("facts", d.question.Facts.UnmarshalJSON(facts))
	}
	if lines, ok := f.value("lines"); ok {
		d.decodeLines(&f, lines)
	}
	if list, ok := f.value("coupons"); ok {
		d.decodeCoupons(&f, list)
	}
	if usage, ok := f.value("usage"); ok {
		d.decodeUsages(&f, usage)
	}
	if terms, ok := f.value("coupon"); ok {
		c, err := decodeCoupon(terms)
		f.faults.Merge("coupon", err)
		d.checkStep(&f, "coupon.", c)
		d.set = append(d.set, eligibility.Candidate{Coupon: &c, Usage: d.question.Usage})
		if d.listed {
			f.faults.Add("coupons", validation.NotAllowed, "a document has a coupon or coupons, not both")
		}
	}
	if d.question.At.IsZero() {
		d.question.At = now()
	}
	return f.err()
}

// checkStep reports amounts that are not multiples of the cart's step, even if they would not be used.
// Such a coupon cannot apply to this cart.
func (d *document) checkStep(f *fields, path string, c coupon.Coupon) {
	var off *validation.Error
	if !errors.As(c.Discount.FitsCart(d.cart), &off) || off.Fields[0].Code != validation.TooManyDecimals {
		return
	}
	check := func(field string, in pricing.Currency, minor int64) {
		if in == d.cart.Currency && minor%d.cart.Step != 0 {
			f.faults.Add(path+field, off.Fields[0].Code, off.Fields[0].Message)
		}
	}
	terms := c.Discount.Terms()
	check("discountValue", terms.Currency, terms.Amount)
	for _, o := range terms.Others {
		check("discountValue."+o.Currency.Code(), o.Currency, o.Amount)
	}
	for i, tier := range terms.Tiers {
		check(fmt.Sprintf("tiers[%d].amount", i), terms.Currency, tier.Amount)
	}
}

// decodeCoupons reads a list of coupons. Their IDs depend only on their codes, so that the order of the
// list changes no price.
func (d *document) decodeCoupons(f *fields, raw []byte) {
	d.listed = true
	if raw[0] != '[' {
		f.malformed("coupons", "must be a list of coupons")
		return
	}
	for i, element := range elements(raw) {
		if i == pricing.MaxCoupons {
			f.faults.Add("coupons", validation.TooLong, fmt.Sprintf("at most %d coupons are allowed", pricing.MaxCoupons))
			return
		}
		path := fmt.Sprintf("coupons[%d]", i)
		c, err := decodeCoupon(element)
		f.faults.Merge(path, err)
		d.checkStep(f, path+".", c)
		for j := range d.set {
			if known := d.set[j].Coupon.Code; known == c.Code && !known.IsZero() {
				f.faults.Add(path+".code", validation.Mismatch, fmt.Sprintf("the code is also that of coupons[%d]", j))
				break
			}
		}
		d.set = append(d.set, eligibility.Candidate{Coupon: &c})
	}
	d.nameCoupons()
}

// nameCoupons sets the ID of each coupon in the list from the rank of its code.
func (d *document) nameCoupons() {
	for i := range d.set {
		rank := 0
		for j := range d.set {
			if d.set[j].Coupon.Code.String() < d.set[i].Coupon.Code.String() {
				rank++
			}
		}
		d.set[i].Coupon.ID = fmt.Sprintf("%s-%02d", documentCouponID, rank)
	}
}

// decodeUsages reads one usage for all coupons, or a list with one usage for each.
func (d *document) decodeUsages(f *fields, raw []byte) {
	if raw[0] != '[' || !d.listed {
		usage, err := decodeUsage(raw)
		f.faults.Merge("usage", err)
		d.question.Usage = usage
		for i := range d.set {
			d.set[i].Usage = usage
		}
		return
	}
	read := 0
	for i, element := range elements(raw) {
		usage, err := decodeUsage(element)
		f.faults.Merge(fmt.Sprintf("usage[%d]", i), err)
		if i < len(d.set) {
			d.set[i].Usage = usage
		}
		read++
	}
	if read != len(d.set) {
		f.faults.Add("usage", validation.Mismatch, fmt.Sprintf("%d entries for %d coupons", read, len(d.set)))
	}
}

func (d *document) decodeCustomer(raw []byte) error {
	f, err := split(raw, customerFields)
	if err != nil {
		return err
	}
	c := eligibility.Customer{ID: f.text("id"), Email: f.text("email"), EarlierOrders: f.count("earlierOrders")}
	f.decode("tags", &c.Tags)
	if !f.reported("tags") && !f.begins("tags[") {
		f.faults.Merge("", c.Validate())
	}
	d.question.Customer = c
	f.require("id")
	return f.err()
}

func decodeUsage(raw []byte) (eligibility.Usage, error) {
	f, err := split(raw, usageFields)
	if err != nil {
		return eligibility.Usage{}, err
	}
	usage := eligibility.Usage{
		Completed: f.count("completed"), Reserved: f.count("reserved"),
		CompletedByCustomer:      f.count("completedByCustomer"),
		ReservedByCustomer:       f.count("reservedByCustomer"),
		CustomerHoldsReservation: f.flag("customerHoldsReservation", false),
		Orders:                   f.count("orders"),
	}
	f.decode("periods", &usage.Periods)
	f.decode("spent", &usage.Spent)
	return usage, f.err()
}

// decodeLines reads the lines and adds the faults of the cart as a whole.
func (d *document) decodeLines(f *fields, raw []byte) {
	if raw[0] != '[' {
		f.malformed("lines", "must be a list of lines")
		return
	}
	for i, element := range elements(raw) {
		if i == pricing.MaxLines {
			f.faults.Add("lines", validation.TooLong, fmt.Sprintf("at most %d lines are allowed", pricing.MaxLines))
			return
		}
		line, err := decodeLine(element, d.cart.Currency)
		if err != nil {
			f.faults.Merge(fmt.Sprintf("lines[%d]", i), err)
		}
		d.cart.Lines = append(d.cart.Lines, line)
	}
	f.addNew(d.cart.Validate())
}

func decodeLine(raw []byte, c pricing.Currency) (pricing.Line, error) {
	f, err := split(raw, lineFields)
	if err != nil {
		return pricing.Line{}, err
	}
	line := pricing.Line{
		ID: f.text("id"), Kind: parsed(&f, "kind", pricing.ParseLineKind),
		Class: parsed(&f, "class", pricing.ParseClass), ItemID: f.text("itemId"), Categories: f.categories(),
		Quantity: f.integer("quantity"), UnitPrice: f.amount("unitPrice", c),
	}
	f.require("id", "kind", "quantity", "unitPrice")
	if line.ClassOf() != pricing.ShippingClass { // no coupon covers shipping
		f.require("itemId")
	}
	return line, f.err()
}

// categories reads the categories of a line. An absent field means no categories.
func (f *fields) categories() pricing.Categories {
	set, err := pricing.NewCategories(f.texts("categories", pricing.MaxCategories)...)
	f.faults.Merge("categories", err)
	return set
}

// amount reads money. An absent field is 0. Without a currency, only the form is checked. The missing
// currency has its own fault.
func (f *fields) amount(name string, c pricing.Currency) int64 {
	n := f.number(name)
	if n == "" {
		return 0
	}
	if c.IsZero() {
		_, err := n.Decimal()
		f.faults.At(name, err)
		return 0
	}
	minor, err := c.Parse(string(n))
	f.faults.At(name, err)
	return minor
}
