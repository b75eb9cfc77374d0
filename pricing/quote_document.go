package pricing

import "encoding/json"

func readQuoteDocument(data []byte) (quoteDocument, error) {
	o, err := readStored(data, "version", "currency", "step", "subtotal", "eligibleSubtotal", "discount", "shipping", "total", "lines", "coupons")
	if err != nil {
		return quoteDocument{}, err
	}
	var d quoteDocument
	d.Version = o.version()
	d.Currency, _ = o.text("currency")
	for name, target := range map[string]*Number{
		"step": &d.Step, "subtotal": &d.Subtotal, "eligibleSubtotal": &d.EligibleSubtotal,
		"discount": &d.Discount, "shipping": &d.Shipping, "total": &d.Total,
	} {
		*target, _ = o.number(name)
	}
	o.list("lines", MaxLines, func(raw json.RawMessage) error {
		line, err := readLineDocument(raw)
		d.Lines = append(d.Lines, line)
		return err
	})
	o.list("coupons", MaxCoupons, func(raw json.RawMessage) error {
		c, err := readCouponDocument(raw)
		d.Coupons = append(d.Coupons, c)
		return err
	})
	return d, o.faults.Err()
}

func readLineDocument(raw []byte) (d lineDocument, err error) {
	o, err := readStored(raw, "id", "kind", "class", "itemId", "categories", "quantity", "unitPrice", "recurs", "eligible", "subtotal", "discount", "total", "units")
	if err != nil {
		return d, err
	}
	d.ID, _ = o.text("id")
	d.Kind, _ = o.text("kind")
	d.Class, _ = o.text("class")
	d.ItemID, _ = o.text("itemId")
	d.Categories = o.texts("categories", MaxCategories)
	d.Quantity = o.digits("quantity")
	d.UnitPrice, _ = o.number("unitPrice")
	d.Recurs, _ = o.text("recurs")
	d.Eligible = o.boolean("eligible")
	d.Subtotal, _ = o.number("subtotal")
	d.Discount, _ = o.number("discount")
	d.Total, _ = o.number("total")
	o.list("units", maxUnitGroups, func(raw json.RawMessage) error {
		unit, err := readUnitDocument(raw)
		d.Units = append(d.Units, unit)
		return err
	})
	return d, o.faults.Err()
}

func readUnitDocument(raw []byte) (d unitDocument, err error) {
	o, err := readStored(raw, "quantity", "unitPrice", "discounts")
	if err != nil {
		return d, err
	}
	d.Quantity = o.digits("quantity")
	d.UnitPrice, _ = o.number("unitPrice")
	o.list("discounts", MaxCoupons, func(raw json.RawMessage) error {
		var n Number
		err := n.UnmarshalJSON(raw)
		d.Discounts = append(d.Discounts, n)
		return err
	})
	return d, o.faults.Err()
}

func readCouponDocument(raw []byte) (d couponDocument, err error) {
	o, err := readStored(raw, "id", "group", "discount", "eligibleSubtotal", "eligibleQuantity", "terms", "lines", "boughtLines", "refund")
	if err != nil {
		return d, err
	}
	d.ID, _ = o.text("id")
	d.Group, _ = o.text("group")
	d.Discount, _ = o.number("discount")
	d.EligibleSubtotal, _ = o.number("eligibleSubtotal")
	d.EligibleQuantity = o.digits("eligibleQuantity")
	if terms, ok := o.value("terms"); ok {
		o.faults.Merge("terms", d.Terms.UnmarshalJSON(terms))
	}
	d.Lines = o.indexes("lines")
	d.BoughtLines = o.indexes("boughtLines")
	if raw, ok := o.value("refund"); ok {
		of, err := readStored(raw, "policy", "minPurchase", "minQuantity")
		d.Refund = new(refundTerms)
		d.Refund.Policy, _ = of.text("policy")
		d.Refund.MinPurchase, _ = of.number("minPurchase")
		d.Refund.MinQuantity = of.digits("minQuantity")
		of.faults.Merge("", err)
		o.faults.Merge("refund", of.faults.Err())
	}
	return d, o.faults.Err()
}

// indexes reads the lines of a mask; absent is no mask.
func (o *object) indexes(name string) lineIndexes {
	if _, ok := o.value(name); !ok {
		return nil
	}
	indexes := lineIndexes{}
	o.list(name, MaxLines, func(raw json.RawMessage) error {
		entry := object{members: map[string]json.RawMessage{"": raw}}
		entry.required("")
		i, _ := entry.whole("")
		indexes = append(indexes, lineOf(i))
		return entry.faults.Err()
	})
	return indexes
}
