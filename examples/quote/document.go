package main

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

var (
	documentFields = []string{"id", "at", "currency", "step", "customer", "lines", "coupon", "usage"}
	customerFields = []string{"id", "email", "tags", "earlierOrders"}
	lineFields     = []string{"id", "kind", "class", "itemId", "categories", "quantity", "unitPrice"}
	usageFields    = []string{"completed", "reserved", "completedByCustomer", "reservedByCustomer", "customerHoldsReservation", "orders", "periods", "spent"}
)

// document is a cart and what is asked about it. Its memory serves one document
// after another.
type document struct {
	id       string
	cart     pricing.Cart
	question eligibility.Question
	coupon   coupon.Coupon
	couponed bool // there is a coupon
}

// decode reads raw, which is valid JSON. Every fault is listed in a
// [*pricing.ValidationError]; the ID is set even then, when there is one.
func (d *document) decode(raw []byte, now func() time.Time) error {
	*d = document{cart: pricing.Cart{Lines: d.cart.Lines[:0]}}
	if !utf8.Valid(raw) {
		return errors.New("the text is not UTF-8")
	}
	f, err := split(raw, documentFields)
	if err != nil {
		return err
	}
	d.id = f.text("id")
	d.question = eligibility.Question{At: parsed(&f, "at", parseInstant), AllowAnonymous: true}
	d.cart.Currency = parsed(&f, "currency", pricing.ParseCurrency)
	d.cart.Step = f.amount("step", d.cart.Currency)
	f.require("id", "currency", "lines")
	if customer, ok := f.value("customer"); ok {
		f.faults.Merge("customer", d.decodeCustomer(customer))
	}
	if lines, ok := f.value("lines"); ok {
		d.decodeLines(&f, lines)
	}
	if usage, ok := f.value("usage"); ok {
		f.faults.Merge("usage", d.decodeUsage(usage))
	}
	if terms, ok := f.value("coupon"); ok {
		d.coupon, err = decodeCoupon(terms)
		d.couponed = true
		f.faults.Merge("coupon", err)
		d.checkStep(&f)
	}
	if d.question.At.IsZero() {
		d.question.At = now()
	}
	return f.err()
}

// checkStep reports a fixed amount that is off the cart's step, whether or not it
// would be taken off: the coupon cannot be one for this cart.
func (d *document) checkStep(f *fields) {
	var off *pricing.ValidationError
	if d.coupon.Discount.Amount().Currency() != d.cart.Currency || !errors.As(d.coupon.Discount.FitsCart(d.cart), &off) {
		return
	}
	for _, fault := range off.Fields {
		f.faults.Add("coupon.discountValue", fault.Code, fault.Message)
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

func (d *document) decodeUsage(raw []byte) error {
	f, err := split(raw, usageFields)
	if err != nil {
		return err
	}
	d.question.Usage = eligibility.Usage{
		Completed: f.count("completed"), Reserved: f.count("reserved"),
		CompletedByCustomer:      f.count("completedByCustomer"),
		ReservedByCustomer:       f.count("reservedByCustomer"),
		CustomerHoldsReservation: f.flag("customerHoldsReservation", false),
		Orders:                   f.count("orders"),
	}
	f.decode("periods", &d.question.Usage.Periods)
	f.decode("spent", &d.question.Usage.Spent)
	return f.err()
}

// decodeLines reads the lines and adds what the cart as a whole gets wrong.
func (d *document) decodeLines(f *fields, raw []byte) {
	if raw[0] != '[' {
		f.malformed("lines", "must be a list of lines")
		return
	}
	for i, element := range elements(raw) {
		if i == pricing.MaxLines {
			f.faults.Add("lines", pricing.FieldTooLong, fmt.Sprintf("at most %d lines are allowed", pricing.MaxLines))
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
	if line.ClassOf() != pricing.ShippingClass { // which no coupon selects
		f.require("itemId")
	}
	return line, f.err()
}

// categories reads the categories of a line; absent is none.
func (f *fields) categories() pricing.Categories {
	set, err := pricing.NewCategories(f.texts("categories", pricing.MaxCategories)...)
	f.faults.Merge("categories", err)
	return set
}

// amount reads money; absent is 0. Without a currency, which is a fault of its
// own, only the form is looked at.
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
