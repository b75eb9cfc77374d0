package stripeprocessor

import (
	"context"
	"errors"
	"iter"
	"log/slog"

	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// metadataLine is the metadata entry of a line item that has the ID of the order's line.
const metadataLine = "lineId"

// automaticTax reports whether Stripe may have added tax to a session. The options may have changed
// since the session was made.
func (p *Processor) automaticTax(s *stripe.CheckoutSession) bool {
	return p.options.AutomaticTax || s.AutomaticTax != nil && s.AutomaticTax.Enabled
}

// readLineTaxes adds the tax of each line to a paid session. The session has only the total tax if
// Stripe refuses the lines, or does not give the tax of each.
func (p *Processor) readLineTaxes(ctx context.Context, id string, out *processor.Session) error {
	if out.Tax.Amount == 0 {
		return nil
	}
	m, err := moneyOf(out.Currency)
	if err != nil {
		return nil //nolint:nilerr // it is not one of our sessions
	}
	var items []*stripe.LineItem
	for item, err := range p.lineItems(ctx, id) {
		if refusal(err) || errors.Is(err, processor.ErrForbidden) || errors.Is(err, processor.ErrNotFound) {
			p.options.Logger.WarnContext(ctx, "stripe does not tell the tax by line", slog.String("session", id), slog.Any("error", err))
			return nil
		}
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	out.Tax.Lines = m.lineTaxes(items, out.Tax.Amount)
	return nil
}

// lineTaxes sums the tax of each line over its items. It returns nil if these sums do not add up to the
// whole tax.
func (m money) lineTaxes(items []*stripe.LineItem, whole int64) (taxes []pricing.LineTax) {
	at, sum := make(map[string]int, len(items)), int64(0)
	for _, item := range items {
		added := m.fromStripe(item.AmountTotal) - m.fromStripe(item.AmountSubtotal-item.AmountDiscount)
		id, hasLine := item.Metadata[metadataLine]
		switch i, known := at[id]; {
		case !hasLine && added != 0:
			return nil
		case known:
			taxes[i].Amount += added
		case hasLine:
			at[id] = len(taxes)
			taxes = append(taxes, pricing.LineTax{LineID: id, Amount: added})
		}
		sum += added
	}
	if sum != whole {
		return nil
	}
	return taxes
}

func (p *Processor) lineItems(ctx context.Context, id string) iter.Seq2[*stripe.LineItem, error] {
	return pages(func(after *string) (data []*stripe.LineItem, more bool, err error) {
		err = p.do(ctx, call{op: opListLineItems}, func(ctx context.Context, _ string) (err error) {
			data, more, err = pageOf(p.client.V1CheckoutSessions.ListLineItems(ctx, &stripe.CheckoutSessionListLineItemsParams{
				ListParams: pageAfter(after), Session: stripe.String(id),
			}))
			return err
		})
		return data, more, err
	}, func(i *stripe.LineItem) string { return i.ID })
}
