package propertytests_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/propertytests"
	"github.com/couponkit/couponkit/pricing"
)

// TestPropertiesCatchMistakes: each broken guard must be found out by the property
// that is about its mistake.
func TestPropertiesCatchMistakes(t *testing.T) {
	t.Parallel()
	for name, mistake := range map[string]struct {
		quote  quoter
		breaks property
	}{
		"guards nothing": {priced, noUnitBelowItsFloor},
		"looks once, and does not see where a fixed amount moves": {looksOnce, noUnitBelowItsFloor},
		"looks at the dearest unit of a line":                     {looksAtTheDearestUnit, noUnitBelowItsFloor},
		"gives a line its list price and leaves the others":       {undoesLines, pricesAreExact},
		"refuses the coupon for one line":                         {refusesAll, pricesAreExact},
		"rounds floors up to whole tens":                          {roundsFloors, onlyForAReason},
		"applies a coupon that takes nothing off":                 {spendsUses, refusedOrEffective},
		"forgets that the coupon was refused":                     {forgetsRefusal, neverBetterThanTheCoupon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const tries = 20_000
			for seed := range tries {
				s := situations().Example(seed)
				offer, err := mistake.quote(s)
				require.NoError(t, err)
				if mistake.breaks(s, offer) != nil {
					return
				}
			}
			t.Errorf("its property held in %d situations", tries)
		})
	}
}

// priced is the quote of an allowed coupon before any guard, or of a refused one.
func priced(s situation) (propertytests.Offer, error) {
	return propertytests.Guard{}.Quote(s.coupon, s.cart, s.question)
}

func floorOf(s situation, line pricing.QuotedLine) int64 {
	return s.guard.Floors[propertytests.Item{Kind: line.Kind, ID: line.ItemID}]
}

func looksOnce(s situation) (propertytests.Offer, error) {
	offer, err := priced(s)
	if err != nil || offer.Refused != nil {
		return offer, err
	}
	eligible := eligibility.Lines(s.coupon.Scope, s.cart.Lines)
	for i, line := range offer.Quote.Lines {
		if line.Discount > 0 && line.Total/line.Quantity < floorOf(s, line) {
			eligible[i], offer.Guarded[i] = false, true
		}
	}
	err = offer.Quote.Reprice(s.cart, pricing.Terms{Discount: s.coupon.Discount, Eligible: eligible})
	if offer.Quote.Discount == 0 {
		offer.Refused = coupon.ErrNoDiscount
	}
	return offer, err
}

func undoesLines(s situation) (propertytests.Offer, error) {
	offer, err := priced(s)
	if err != nil || offer.Refused != nil {
		return offer, err
	}
	for i := range offer.Quote.Lines {
		line := &offer.Quote.Lines[i]
		if line.Discount > 0 && line.Total/line.Quantity < floorOf(s, *line) {
			line.Discount, line.Total, line.Eligible, offer.Guarded[i] = 0, line.Subtotal, false, true
		}
	}
	return offer, nil
}

func looksAtTheDearestUnit(s situation) (propertytests.Offer, error) {
	offer, err := priced(s)
	if err != nil || offer.Refused != nil {
		return offer, err
	}
	eligible := eligibility.Lines(s.coupon.Scope, s.cart.Lines)
	for again := true; again; {
		again = false
		for i, line := range offer.Quote.Lines {
			if line.Discount > 0 && offer.Quote.Units(i)[0].UnitPrice < floorOf(s, line) {
				eligible[i], offer.Guarded[i], again = false, true, true
			}
		}
		if err := offer.Quote.Reprice(s.cart, pricing.Terms{Discount: s.coupon.Discount, Eligible: eligible}); err != nil {
			return offer, err
		}
	}
	if offer.Quote.Discount == 0 {
		offer.Refused = coupon.ErrNoDiscount
	}
	return offer, nil
}

func refusesAll(s situation) (propertytests.Offer, error) {
	offer, err := priced(s)
	if err != nil || offer.Refused != nil || noUnitBelowItsFloor(s, offer) == nil {
		return offer, err
	}
	offer.Quote, err = pricing.Price(s.cart, pricing.Terms{Eligible: eligibility.Lines(s.coupon.Scope, s.cart.Lines)})
	offer.Refused = coupon.ErrNoDiscount
	return offer, err
}

func roundsFloors(s situation) (propertytests.Offer, error) {
	rounded := make(map[propertytests.Item]int64)
	for item, floor := range s.guard.Floors {
		rounded[item] = floor + (10-floor%10)%10
	}
	guard := propertytests.Guard{Currency: s.guard.Currency, Floors: rounded}
	return guard.Quote(s.coupon, s.cart, s.question)
}

func spendsUses(s situation) (propertytests.Offer, error) {
	offer, err := guarded(s)
	if errors.Is(offer.Refused, coupon.ErrNoDiscount) {
		offer.Refused = nil
	}
	return offer, err
}

func forgetsRefusal(s situation) (propertytests.Offer, error) {
	offer, err := priced(s)
	offer.Refused = nil
	return offer, err
}
