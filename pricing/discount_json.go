package pricing

import "encoding/json"

// MarshalJSON returns the discount as JSON in one of two forms:
//
//	{"discountType":"PERCENTAGE","discountValue":"12.5"}
//	{"discountType":"FIXED_AMOUNT","discountValue":"10.00","currency":"EUR"}
//
// For the zero Discount, MarshalJSON returns null.
func (d Discount) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(struct {
		Type     DiscountType `json:"discountType"`
		Value    string       `json:"discountValue"`
		Currency Currency     `json:"currency,omitzero"`
	}{d.kind, d.Value(), d.amount.currency})
}

// UnmarshalJSON reads the JSON form that [Discount.MarshalJSON] writes. The field
// "discountValue" may also be a JSON number. For invalid input, UnmarshalJSON returns a
// [*ValidationError] and leaves its receiver unchanged. The JSON value null leaves the
// discount unchanged.
func (d *Discount) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	o, err := readObject(data, "discountType", "discountValue", "currency")
	if err != nil {
		return err
	}
	var read Discount
	kind, _ := requiredWord(&o, "discountType", ParseDiscountType)
	o.required("discountValue")
	switch kind {
	case Percentage:
		read = o.percentOff()
	case FixedAmount:
		read = o.amountOff()
	default: // which has its fault: the others are judged by their form
		word(&o, "currency", ParseCurrency)
		o.amount("discountValue", Currency{})
	}
	if err := o.faults.Err(); err != nil {
		return err
	}
	*d = read
	return nil
}

func (o *object) percentOff() Discount {
	if _, given := o.value("currency"); given {
		o.faults.Add("currency", FieldNotAllowed, "a percentage has no currency")
	}
	n, ok := o.number("discountValue")
	if !ok {
		return Discount{}
	}
	p, err := ParsePercent(string(n))
	o.faults.At("discountValue", err)
	return PercentOff(p)
}

func (o *object) amountOff() Discount {
	c, known := requiredWord(o, "currency", ParseCurrency)
	minor, ok := o.amount("discountValue", c)
	if !known || !ok {
		return Discount{}
	}
	d, err := AmountOff(NewMoney(minor, c))
	o.faults.At("discountValue", err)
	return d
}
