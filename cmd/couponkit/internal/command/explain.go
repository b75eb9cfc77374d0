package command

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
)

var explainColumns = []column[couponkit.ExplainedCode]{
	{"code", func(e couponkit.ExplainedCode) any { return e.Code }},
	{"couponId", func(e couponkit.ExplainedCode) any { return e.CouponID }},
	{"applied", func(e couponkit.ExplainedCode) any { return e.Applied }},
	{"discount", func(e couponkit.ExplainedCode) any { return moneyText(e.Discount) }},
	{"reasons", func(e couponkit.ExplainedCode) any {
		texts := make([]string, len(e.Reasons))
		for i, r := range e.Reasons {
			texts[i] = r.Code.String() + ": " + r.Message()
		}
		return strings.Join(texts, "; ")
	}},
}

func (t *tool) explainCommand() *cobra.Command {
	var r couponkit.QuoteRequest
	var file, conflicts string
	var withoutAutomatic bool
	c := command("explain CODE...", "Tell why codes do not apply to a cart", `The cart is a JSON object, such as
  {"currency": "EUR", "lines": [{"kind": "device", "itemId": "phone", "quantity": 1, "unitPrice": "199.00"}]}
Automatic coupons that apply follow the codes, by their IDs. JSON is one object with the quote, whose total is to be paid.
Nothing is reserved.`, 1, 32, func(c *cobra.Command, args []string) error {
		var err error
		if r.Conflicts, err = eligibility.ParseConflictPolicy(conflicts); err != nil {
			return usagef("--conflicts is refuse_all, keep_first or keep_best")
		}
		if err := r.Facts.Validate(); err != nil {
			return usageError{err}
		}
		data, err := t.read(file)
		if err != nil {
			return err
		}
		if err := r.Cart.UnmarshalJSON(data); err != nil {
			return err
		}
		r.Codes = args
		return t.withShop(c.Context(), !withoutAutomatic, func(ctx context.Context, s *couponkit.Service) error {
			e, err := s.Explain(ctx, r)
			if len(e.Codes) == 0 {
				return err
			}
			if err := t.showExplanation(e); err != nil {
				return err
			}
			t.say("to pay: %s %s", e.Quote.Currency.Format(e.Quote.Total), e.Quote.Currency.Code())
			return err
		})
	})
	fileFlag(c, &file, "the cart as JSON")
	c.Flags().StringVar(&r.Customer.ID, "customer", "", "ID of the customer")
	c.Flags().StringVar(&r.Customer.Email, "email", "", "e-mail address of the customer")
	c.Flags().StringSliceVar(&r.Customer.Tags, "tag", nil, "tag of the customer")
	c.Flags().StringVar(&r.Facts.Country, "country", "", "country of delivery, such as DE")
	c.Flags().StringVar(&r.Facts.Channel, "channel", "", "sales channel")
	c.Flags().BoolVar(&r.AllowAnonymous, "anonymous", false, "accept a customer without an ID where everybody may use the coupon")
	c.Flags().StringVar(&conflicts, "conflicts", eligibility.RefuseAll.String(), "of coupons that exclude each other: refuse_all, keep_first or keep_best")
	c.Flags().BoolVar(&withoutAutomatic, "without-automatic", false, "as in a shop that looks for no automatic coupons")
	complete(c, "conflicts", "refuse_all", "keep_first", "keep_best")
	return c
}

// showExplanation prints an explanation: JSON as one object, and otherwise a row for each coupon.
func (t *tool) showExplanation(e couponkit.Explanation) error {
	if t.format.or(tableFormat) == jsonFormat {
		return json.NewEncoder(t.Out).Encode(e)
	}
	return showRows(t, slices.Concat(e.Codes, e.Automatic), explainColumns)
}
