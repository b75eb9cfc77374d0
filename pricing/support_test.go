package pricing_test

import (
	"errors"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// fataler is testing.T, testing.B or rapid.T.
type fataler interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func percent(t fataler, text string) pricing.Percent {
	t.Helper()
	p, err := pricing.ParsePercent(text)
	if err != nil {
		t.Fatalf("ParsePercent(%s): %v", text, err)
	}
	return p
}

func currency(t fataler, code string) pricing.Currency {
	t.Helper()
	c, err := pricing.ParseCurrency(code)
	if err != nil {
		t.Fatalf("ParseCurrency(%s): %v", code, err)
	}
	return c
}

// amountOff is a fixed discount of the text's amount in the currency.
func amountOff(t fataler, text, code string) pricing.Discount {
	t.Helper()
	amount, err := pricing.ParseMoney(text, currency(t, code))
	if err != nil {
		t.Fatalf("ParseMoney(%s): %v", text, err)
	}
	d, err := pricing.AmountOff(amount)
	if err != nil {
		t.Fatalf("AmountOff(%s): %v", amount, err)
	}
	return d
}

// wantField fails unless err is a validation error of exactly that one field.
func wantField(t fataler, err error, field string, code validation.Code) {
	t.Helper()
	var faults *validation.Error
	switch {
	case !errors.As(err, &faults):
		t.Errorf("got error %v, want a validation error %q %s", err, field, code)
	case !errors.Is(err, validation.ErrInvalid):
		t.Errorf("%v does not match ErrInvalid", err)
	case len(faults.Fields) != 1 || faults.Fields[0].Path != field || faults.Fields[0].Code != code:
		t.Errorf("got %v, want one fault %q %s", faults.Fields, field, code)
	case faults.Fields[0].Message == "":
		t.Errorf("%q %s has no message", field, code)
	}
}

// faultsOf returns the codes of a validation error by field.
func faultsOf(err error) map[string]validation.Code {
	codes := make(map[string]validation.Code)
	if faults, ok := errors.AsType[*validation.Error](err); ok {
		for _, f := range faults.Fields {
			codes[f.Path] = f.Code
		}
	}
	return codes
}

// overflows returns the fields of a validation error that overflow.
func overflows(err error) map[string]bool {
	fields := make(map[string]bool)
	for field, code := range faultsOf(err) {
		if code == validation.Overflow {
			fields[field] = true
		}
	}
	return fields
}
