package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func (t *tool) orderCommands() *cobra.Command {
	return group("order", "Show and refund orders", "", t.orderShow(), t.orderRefund())
}

// orderView is an order with its uses.
type orderView struct {
	Order redemption.Order `json:"order"`
	Uses  []redemption.Use `json:"uses"`
	Flag  couponkit.Flag   `json:"flag,omitempty"`
}

var orderColumns = []column[orderView]{
	{"id", func(v orderView) any { return v.Order.ID }},
	{"customerId", func(v orderView) any { return v.Order.CustomerID }},
	{"state", func(v orderView) any { return v.Order.State }},
	{"subtotal", func(v orderView) any { return v.amount(v.Order.Quote.Subtotal) }},
	{"discount", func(v orderView) any { return v.amount(v.Order.Quote.Discount) }},
	{"shipping", func(v orderView) any { return v.amount(v.Order.Quote.Shipping) }},
	{"total", func(v orderView) any { return v.amount(v.Order.Quote.Total) }},
	{"refunded", func(v orderView) any { return v.amount(v.refunded()) }},
	{"codes", func(v orderView) any { return v.codes() }},
	{"lines", func(v orderView) any { return v.lines() }},
	{"flag", func(v orderView) any { return v.Flag }},
	{"sessionId", func(v orderView) any { return v.Order.SessionID }},
	{"createdAt", func(v orderView) any { return instant(v.Order.CreatedAt) }},
	{"updatedAt", func(v orderView) any { return instant(v.Order.UpdatedAt) }},
}

func (v orderView) amount(minor int64) any {
	return moneyText(pricing.NewMoney(minor, v.Order.Quote.Currency))
}

func (v orderView) refunded() (sum int64) {
	for _, r := range v.Order.Refunds {
		sum += r.Result.Amount
	}
	return sum
}

// codes are those of the uses. A use whose code is unknown has the ID of its coupon.
func (v orderView) codes() string {
	names := make([]string, len(v.Uses))
	for i, u := range v.Uses {
		if names[i] = u.Code.String(); u.Code.IsZero() {
			names[i] = u.CouponID
		}
	}
	return strings.Join(names, " ")
}

// lines are the lines with their indexes, which order refund takes.
func (v orderView) lines() string {
	texts := make([]string, len(v.Order.Quote.Lines))
	for i, line := range v.Order.Quote.Lines {
		texts[i] = strings.TrimSpace(fmt.Sprintf("%d: %d × %s %s", i, line.Quantity, line.ItemID, line.ID))
	}
	return strings.Join(texts, "; ")
}

func (t *tool) orderShow() *cobra.Command {
	return command("show ID", "Show an order", "JSON has all of it.", 1, 1, func(c *cobra.Command, args []string) error {
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			found, err := orderOf(ctx, s, args[0])
			if err != nil {
				return err
			}
			return show(t, orderView{found.Order, found.Uses, couponkit.FlagOf(found)}, orderColumns)
		})
	})
}

func orderOf(ctx context.Context, s *couponkit.Service, id string) (store.Settled, error) {
	found, err := s.Order(ctx, couponkit.OrderRequest{OrderID: id, AnyCustomer: true})
	if err != nil {
		return found, fmt.Errorf("order %s: %w", id, err)
	}
	return found, nil
}

var refundColumns = []column[redemption.Refund]{
	{"id", func(r redemption.Refund) any { return r.ID }},
	{"key", func(r redemption.Refund) any { return r.Key }},
	{"amount", func(r redemption.Refund) any { return moneyText(pricing.NewMoney(r.Amount(), r.Result.Currency)) }},
	{"subtotal", func(r redemption.Refund) any {
		return moneyText(pricing.NewMoney(r.Result.Subtotal, r.Result.Currency))
	}},
	{"shipping", func(r redemption.Refund) any {
		return moneyText(pricing.NewMoney(r.Result.Shipping, r.Result.Currency))
	}},
	{"tax", func(r redemption.Refund) any { return moneyText(pricing.NewMoney(r.Tax, r.Result.Currency)) }},
	{"repayment", func(r redemption.Refund) any { return r.Repayment.State }},
}

func (t *tool) orderRefund() *cobra.Command {
	var key string
	var lines []string
	var all, shipping, elsewhere, dryRun bool
	c := command("refund ID --key KEY", "Refund an order, or a part of it", `The key makes the command safe to repeat: a repetition returns the first refund.
--line takes the ID or the index of a line, and perhaps the number of units, as in --line phone=2.
Without STRIPE_SECRET_KEY, the next sweep of the shop returns the money.`, 1, 1, func(c *cobra.Command, args []string) error {
		if all == (len(lines) > 0 || shipping) {
			return usagef("what is returned? Either --all, or --line and --shipping")
		}
		return t.withService(c.Context(), func(ctx context.Context, s *couponkit.Service) error {
			found, err := orderOf(ctx, s, args[0])
			if err != nil {
				return err
			}
			returns := pricing.Returns{All: all, Shipping: shipping}
			for _, text := range lines {
				line, err := lineReturn(found.Order.Quote, text)
				if err != nil {
					return err
				}
				returns.Lines = append(returns.Lines, line)
			}
			return t.refund(ctx, s, found.Order, couponkit.RefundRequest{OrderID: found.Order.ID, Key: key, Returns: returns, Elsewhere: elsewhere}, dryRun)
		})
	})
	c.Flags().StringVar(&key, "key", "", "idempotency key, such as the number of the credit note")
	c.Flags().BoolVar(&all, "all", false, "return everything that is left")
	c.Flags().StringArrayVar(&lines, "line", nil, "return units of a line; without a number, all that are left")
	c.Flags().BoolVar(&shipping, "shipping", false, "return the shipping")
	c.Flags().BoolVar(&elsewhere, "elsewhere", false, "the money is returned by hand")
	dryRunFlag(c, &dryRun)
	return require(c, "key")
}

func (t *tool) refund(ctx context.Context, s *couponkit.Service, o redemption.Order, r couponkit.RefundRequest, dryRun bool) error {
	if !o.State.Paid() {
		return fmt.Errorf("order %s is %s, and only a paid order is refunded: %w", o.ID, o.State, redemption.ErrIllegal)
	}
	if dryRun {
		would, err := o.NewRefund(r.Returns, r.Elsewhere)
		if err != nil {
			return err
		}
		would.Key = r.Key
		t.say("the refund would be recorded")
		return show(t, would, refundColumns)
	}
	result, err := s.Refund(ctx, r)
	if result.Refund.Key == "" {
		return err
	}
	if result.Replayed {
		t.say("the refund was recorded before")
	}
	if printed := show(t, result.Refund, refundColumns); err == nil {
		err = printed
	}
	return err
}

// linesNamed returns the indexes of the lines with an ID.
func linesNamed(q pricing.Quote, id string) (indexes []int) {
	for i, line := range q.Lines {
		if line.ID == id && id != "" {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// lineReturn reads a line and the number of its units. Without a number, all that are left are returned.
func lineReturn(q pricing.Quote, text string) (pricing.LineReturn, error) {
	name, units, counted := strings.Cut(text, "=")
	if same := linesNamed(q, name); len(same) > 1 {
		return pricing.LineReturn{}, usagef("the order has several lines with the ID %q: name one by its index, of %v", name, same)
	}
	line, known := q.LineIndex(name)
	if !known {
		index, err := strconv.Atoi(name)
		if err != nil || index < 0 || index >= len(q.Lines) {
			return pricing.LineReturn{}, fmt.Errorf("the order has no line %q", name)
		}
		line = index
	}
	if !counted {
		return pricing.LineReturn{Line: line, Whole: true}, nil
	}
	n, err := strconv.ParseInt(units, 10, 64)
	if err != nil || n < 1 {
		return pricing.LineReturn{}, usagef("%q is no number of units", units)
	}
	return pricing.LineReturn{Line: line, Quantity: n}, nil
}
