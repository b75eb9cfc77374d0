package redemption

import (
	"encoding/json"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// MarshalJSON returns the repayment as JSON. The amount is a string in major units of Currency.
// Without a Currency, it is in minor units.
//
//	{"state":"succeeded","currency":"EUR","attempt":1,"id":"re_1","amount":"45.00"}
func (r Repayment) MarshalJSON() ([]byte, error) {
	type fields Repayment
	return json.Marshal(struct {
		fields
		Amount pricing.Number `json:"amount,omitempty"`
	}{fields(r), r.Currency.OptionalNumber(r.Amount)})
}

// UnmarshalJSON reads the JSON form that [Repayment.MarshalJSON] writes. For a malformed amount,
// UnmarshalJSON returns a [*validation.Error] and leaves its receiver unchanged.
func (r *Repayment) UnmarshalJSON(data []byte) error {
	type fields Repayment
	var d struct {
		fields
		Amount pricing.Number `json:"amount"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	return readAmounts(r, Repayment(d.fields), func(r *Repayment) []storedAmount {
		return []storedAmount{{"amount", d.Amount, r.Currency, &r.Amount}}
	})
}

// MarshalJSON returns the external refund as JSON. The amounts are strings in major units of
// Currency. Without a Currency, they are in minor units.
//
//	{"id":"re_1","currency":"EUR","state":"pending","at":"2026-11-20T12:00:00Z","amount":"45.00","tax":"7.18"}
func (r ExternalRefund) MarshalJSON() ([]byte, error) {
	type fields ExternalRefund
	return json.Marshal(struct {
		fields
		Amount pricing.Number `json:"amount"`
		Tax    pricing.Number `json:"tax,omitempty"`
	}{fields(r), r.Currency.Number(r.Amount), r.Currency.OptionalNumber(r.Tax)})
}

// UnmarshalJSON reads the JSON form that [ExternalRefund.MarshalJSON] writes. For malformed amounts,
// UnmarshalJSON returns a [*validation.Error] and leaves its receiver unchanged.
func (r *ExternalRefund) UnmarshalJSON(data []byte) error {
	type fields ExternalRefund
	var d struct {
		fields
		Amount pricing.Number `json:"amount"`
		Tax    pricing.Number `json:"tax"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	return readAmounts(r, ExternalRefund(d.fields), func(r *ExternalRefund) []storedAmount {
		return []storedAmount{{"amount", d.Amount, r.Currency, &r.Amount}, {"tax", d.Tax, r.Currency, &r.Tax}}
	})
}

// MarshalJSON returns the dispute as JSON. The amount is a string in major units of Currency.
// Without a Currency, it is in minor units.
//
//	{"id":"dp_1","currency":"EUR","state":"open","at":"2026-11-20T12:00:00Z","amount":"45.00"}
func (d Dispute) MarshalJSON() ([]byte, error) {
	type fields Dispute
	return json.Marshal(struct {
		fields
		Amount pricing.Number `json:"amount"`
	}{fields(d), d.Currency.Number(d.Amount)})
}

// UnmarshalJSON reads the JSON form that [Dispute.MarshalJSON] writes. For a malformed amount or a
// missing state, UnmarshalJSON returns a [*validation.Error] and leaves its receiver unchanged.
func (d *Dispute) UnmarshalJSON(data []byte) error {
	type fields Dispute
	var read struct {
		fields
		Amount pricing.Number `json:"amount"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if read.State == 0 {
		var faults validation.Error
		faults.Add("state", validation.Required, "is required")
		return faults.Err()
	}
	return readAmounts(d, Dispute(read.fields), func(d *Dispute) []storedAmount {
		return []storedAmount{{"amount", read.Amount, d.Currency, &d.Amount}}
	})
}

// MarshalJSON returns the payment as JSON. What was returned is a string in major units of the
// charge's currency. If nobody knows the charge, it is in minor units.
func (p Payment) MarshalJSON() ([]byte, error) {
	type fields Payment
	return json.Marshal(struct {
		fields
		Returned pricing.Number `json:"returned,omitempty"`
	}{fields(p), p.Charge.Currency.OptionalNumber(p.Returned)})
}

// UnmarshalJSON reads the JSON form that [Payment.MarshalJSON] writes. For a malformed amount,
// UnmarshalJSON returns a [*validation.Error] and leaves its receiver unchanged.
func (p *Payment) UnmarshalJSON(data []byte) error {
	type fields Payment
	var d struct {
		fields
		Returned pricing.Number `json:"returned"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	return readAmounts(p, Payment(d.fields), func(p *Payment) []storedAmount {
		return []storedAmount{{"returned", d.Returned, p.Charge.Currency, &p.Returned}}
	})
}

// MarshalJSON returns the refund as JSON. The tax is a string in major units of Result.Currency.
func (r Refund) MarshalJSON() ([]byte, error) {
	type fields Refund
	return json.Marshal(struct {
		fields
		Tax pricing.Number `json:"tax,omitempty"`
	}{fields(r), r.Result.Currency.OptionalNumber(r.Tax)})
}

// UnmarshalJSON reads the JSON form that [Refund.MarshalJSON] writes. For malformed amounts,
// UnmarshalJSON returns a [*validation.Error] and leaves its receiver unchanged.
func (r *Refund) UnmarshalJSON(data []byte) error {
	type fields Refund
	var d struct {
		fields
		Tax pricing.Number `json:"tax"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	return readAmounts(r, Refund(d.fields), func(r *Refund) []storedAmount {
		return []storedAmount{{"tax", d.Tax, r.Result.Currency, &r.Tax}}
	})
}

// MarshalJSON returns the use as JSON. The discount and what refunds took back of it are strings in
// major units of Currency. Without a Currency, they are in minor units.
func (u Use) MarshalJSON() ([]byte, error) {
	type fields Use
	return json.Marshal(struct {
		fields
		Discount pricing.Number `json:"discount"`
		Returned pricing.Number `json:"returned,omitempty"`
	}{fields(u), u.Currency.Number(u.Discount), u.Currency.OptionalNumber(u.Returned)})
}

// UnmarshalJSON reads the JSON form that [Use.MarshalJSON] writes. For malformed amounts,
// UnmarshalJSON returns a [*validation.Error] and leaves its receiver unchanged.
func (u *Use) UnmarshalJSON(data []byte) error {
	type fields Use
	var d struct {
		fields
		Discount pricing.Number `json:"discount"`
		Returned pricing.Number `json:"returned"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	return readAmounts(u, Use(d.fields), func(u *Use) []storedAmount {
		return []storedAmount{{"discount", d.Discount, u.Currency, &u.Discount}, {"returned", d.Returned, u.Currency, &u.Returned}}
	})
}

// storedAmount is the text of an amount in JSON, with the target for its minor units.
type storedAmount struct {
	field    string
	text     pricing.Number
	currency pricing.Currency
	minor    *int64
}

// readAmounts converts the amounts of a record and stores it in target. If an amount is malformed, it
// stores nothing.
func readAmounts[T any](target *T, read T, amounts func(*T) []storedAmount) error {
	var faults validation.Error
	for _, a := range amounts(&read) {
		minor, err := a.text.Minor(a.currency)
		faults.Merge(a.field, err)
		*a.minor = minor
	}
	if err := faults.Err(); err != nil {
		return err
	}
	*target = read
	return nil
}
