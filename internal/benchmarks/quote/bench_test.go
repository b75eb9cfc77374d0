package quote_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/benchmarks/quote"
)

var sizes = []int{1, 10, 100, 1000}

// measured returns a basket for each type of discount: lines of many prices, whose
// shares leave remainders in no order.
func measured(lines int) map[string]quote.Basket {
	b := quote.Basket{Lines: make([]quote.Line, lines)}
	for i := range b.Lines {
		b.Lines[i] = quote.Line{Price: int64(199 + i*7919%20_000), Quantity: int64(1 + i%4)}
	}
	percentage, fixed := b, b
	percentage.Percent, fixed.Amount = 125_000, 777
	if lines == 1 {
		fixed.Amount = 77
	}
	return map[string]quote.Basket{"percentage": percentage, "fixed": fixed}
}

func BenchmarkQuote(b *testing.B) {
	for _, size := range sizes {
		baskets := measured(size)
		for _, discount := range []string{"percentage", "fixed"} {
			for _, w := range quote.Ways() {
				b.Run(fmt.Sprintf("lines=%d/discount=%s/way=%s", size, discount, w.Name), func(b *testing.B) {
					p, err := w.Prepare(baskets[discount])
					require.NoError(b, err)
					b.ReportAllocs()
					for b.Loop() {
						if err := p.Price(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
