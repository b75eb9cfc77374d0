package pricing_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
)

// The oracle prices a cart from contract section 2 alone: unit by unit, with rationals, and
// without any function of the package that prices.

// piece is one unit of a line.
type piece struct {
	line  int
	left  *big.Rat         // what it still costs, in steps
	taken map[int]*big.Rat // by the coupon's index, in steps
}

// oracleAllocation is what a coupon takes of one unit, in minor units.
type oracleAllocation struct {
	Coupon string
	Line   int
	Unit   int
	Amount int64
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func sumOf(rats []*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, r := range rats {
		sum.Add(sum, r)
	}
	return sum
}

func minOf(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return new(big.Rat).Set(a)
	}
	return new(big.Rat).Set(b)
}

func roundedHalfUp(r *big.Rat) *big.Rat {
	half := new(big.Rat).Add(r, big.NewRat(1, 2))
	return new(big.Rat).SetInt(new(big.Int).Div(half.Num(), half.Denom()))
}

func floorOf(r *big.Rat) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Div(r.Num(), r.Denom()))
}

// shareOut spreads a whole amount over weights by largest remainder, ties by position.
func shareOut(amount *big.Rat, weights []*big.Rat) []*big.Rat {
	parts, rests := make([]*big.Rat, len(weights)), make([]*big.Rat, len(weights))
	order := make([]int, len(weights))
	total, spare := sumOf(weights), new(big.Rat).Set(amount)
	for i, w := range weights {
		order[i] = i
		parts[i], rests[i] = new(big.Rat), new(big.Rat)
		if total.Sign() > 0 {
			exact := new(big.Rat).Mul(amount, w)
			exact.Quo(exact, total)
			parts[i] = floorOf(exact)
			rests[i] = new(big.Rat).Sub(exact, parts[i])
		}
		spare.Sub(spare, parts[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return rests[b].Cmp(rests[a]) })
	for _, i := range order {
		if spare.Sign() > 0 {
			parts[i].Add(parts[i], rat(1))
			spare.Sub(spare, rat(1))
		}
	}
	return parts
}

type oracle struct {
	cart   pricing.Cart
	step   int64
	pieces []*piece
}

func (o *oracle) covers(mask []bool, line int) bool {
	return o.cart.Lines[line].ClassOf() != pricing.ShippingClass && (mask == nil || mask[line])
}

// cheapestFirst returns the pieces in order of what they cost; ties stay in cart order.
func cheapestFirst(pieces []*piece) []*piece {
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b *piece) int { return a.left.Cmp(b.left) })
	return sorted
}

func firstOf(pieces []*piece, n int64) []*piece {
	return pieces[:min(int64(len(pieces)), n)]
}

// take returns what one coupon takes of each piece from the amounts at the lane's entry.
func (o *oracle) take(t pricing.Terms) map[*piece]*big.Rat {
	terms := t.Discount.Terms()
	amount, most := terms.Amount, terms.MaxDiscount
	for _, other := range terms.Others {
		if other.Currency == o.cart.Currency {
			amount, most = other.Amount, other.MaxDiscount
		}
	}
	value := big.NewRat(amount, o.step)
	percent := new(big.Rat).Quo(terms.Percent.Decimal().Rat(), rat(100))
	var eligible []*piece
	bought := int64(0)
	for _, p := range o.pieces {
		if o.covers(t.Eligible, p.line) {
			eligible = append(eligible, p)
		}
		if t.Bought != nil && o.covers(t.Bought, p.line) && p.left.Sign() > 0 {
			bought++
		}
	}
	gives := func(p *piece) *big.Rat { return p.left }
	percentOff := func(of *big.Rat) *big.Rat { return roundedHalfUp(new(big.Rat).Mul(of, percent)) }
	off := func(sum *big.Rat) *big.Rat { return sum }
	switch terms.Type {
	case pricing.Percentage:
		off = percentOff
	case pricing.FixedAmount:
		off = func(sum *big.Rat) *big.Rat { return minOf(sum, value) }
	case pricing.FixedAmountPerUnit:
		gives = func(p *piece) *big.Rat { return minOf(p.left, value) }
	case pricing.FixedUnitPrice:
		gives = func(p *piece) *big.Rat {
			above := new(big.Rat).Sub(p.left, value)
			if above.Sign() < 0 {
				return new(big.Rat)
			}
			return above
		}
	case pricing.CheapestUnits:
		off = percentOff
	case pricing.BuyXGetY:
		off = percentOff
	case pricing.Tiered:
		tier := o.tier(t, terms)
		if tier == nil {
			return nil
		}
		off = func(sum *big.Rat) *big.Rat { return minOf(sum, big.NewRat(tier.Amount, o.step)) }
		if !tier.Percent.IsZero() {
			percent = new(big.Rat).Quo(tier.Percent.Decimal().Rat(), rat(100))
			off = percentOff
		}
	}
	return o.spread(o.counted(t, terms, eligible, bought, gives), gives, off, most)
}

// counted returns the units that count, of those that give something.
func (o *oracle) counted(
	t pricing.Terms, terms pricing.DiscountTerms, eligible []*piece, bought int64, gives func(*piece) *big.Rat,
) []*piece {
	giving := slices.DeleteFunc(slices.Clone(eligible), func(p *piece) bool { return gives(p).Sign() == 0 })
	sorted := cheapestFirst(giving)
	switch {
	case terms.MaxUnits > 0:
		return firstOf(sorted, terms.MaxUnits)
	case terms.Type == pricing.CheapestUnits:
		return firstOf(sorted, terms.Units)
	case terms.Type == pricing.BuyXGetY:
		times := int64(0)
		for k := int64(1); terms.MaxApplications == 0 || k <= terms.MaxApplications; k++ {
			if !o.applies(t, terms, sorted, bought, k) {
				break
			}
			times = k
		}
		return firstOf(sorted, times*terms.GetQuantity)
	}
	return giving
}

// applies tells whether k applications fit: the discounted units leave enough that are bought.
func (o *oracle) applies(t pricing.Terms, terms pricing.DiscountTerms, sorted []*piece, bought, k int64) bool {
	if k*terms.GetQuantity > int64(len(sorted)) {
		return false
	}
	if t.Bought == nil {
		return k*(terms.BuyQuantity+terms.GetQuantity) <= int64(len(sorted))
	}
	for _, p := range sorted[:k*terms.GetQuantity] {
		if o.covers(t.Bought, p.line) {
			bought--
		}
	}
	return bought >= k*terms.BuyQuantity
}

// tier goes by list prices. A unit whose list price is 0 is no unit.
func (o *oracle) tier(t pricing.Terms, terms pricing.DiscountTerms) (reached *pricing.Tier) {
	basis := new(big.Rat)
	for i, l := range o.cart.Lines {
		switch {
		case !o.covers(t.Eligible, i):
		case terms.TierBasis == pricing.ByAmount:
			basis.Add(basis, new(big.Rat).Mul(rat(l.UnitPrice), rat(l.Quantity)))
		case l.UnitPrice > 0:
			basis.Add(basis, rat(l.Quantity))
		}
	}
	for _, tier := range terms.Tiers {
		if rat(tier.From).Cmp(basis) <= 0 {
			reached = &tier
		}
	}
	return reached
}

// spread spreads over the lines, and then over the units of each line. Of like units the last
// ones give more.
func (o *oracle) spread(counted []*piece, gives func(*piece) *big.Rat, off func(*big.Rat) *big.Rat, most int64) map[*piece]*big.Rat {
	in := make(map[*piece]bool, len(counted))
	sum := new(big.Rat)
	for _, p := range counted {
		in[p] = true
		sum.Add(sum, gives(p))
	}
	discount := off(sum)
	if most > 0 {
		discount = minOf(discount, floorOf(big.NewRat(most, o.step)))
	}
	var byLine [][]*piece
	var weights []*big.Rat
	at := make(map[*piece]int, len(o.pieces))
	for i, p := range o.pieces { // in cart order
		at[p] = i
		if !in[p] {
			continue
		}
		if n := len(byLine); n == 0 || byLine[n-1][0].line != p.line {
			byLine, weights = append(byLine, nil), append(weights, new(big.Rat))
		}
		byLine[len(byLine)-1] = append(byLine[len(byLine)-1], p)
		weights[len(weights)-1].Add(weights[len(weights)-1], gives(p))
	}
	taken := map[*piece]*big.Rat{}
	for i, part := range shareOut(discount, weights) {
		// Like neighbors of the cart stand in one run; in a run the last units come first.
		line := slices.Clone(byLine[i])
		for from := 0; from < len(line); {
			to := from + 1
			for to < len(line) && at[line[to]] == at[line[to-1]]+1 && alike(line[from], line[to]) {
				to++
			}
			slices.Reverse(line[from:to])
			from = to
		}
		var own []*big.Rat
		for _, p := range line {
			own = append(own, gives(p))
		}
		for j, amount := range shareOut(part, own) {
			taken[line[j]] = amount
		}
	}
	return taken
}

// alike reports whether two units cost the same and were treated alike by every coupon so far.
func alike(a, b *piece) bool {
	if a.left.Cmp(b.left) != 0 || len(a.taken) != len(b.taken) {
		return false
	}
	for c, amount := range a.taken {
		if b.taken[c] == nil || amount.Cmp(b.taken[c]) != 0 {
			return false
		}
	}
	return true
}

// oracleAllocations prices the cart and returns what each coupon takes of each unit.
func oracleAllocations(cart pricing.Cart, terms []pricing.Terms) []oracleAllocation {
	o := oracle{cart: cart, step: max(cart.Step, 1)}
	for i, l := range cart.Lines {
		for range l.Quantity {
			o.pieces = append(o.pieces, &piece{line: i, left: big.NewRat(l.UnitPrice, o.step), taken: map[int]*big.Rat{}})
		}
	}
	for _, lane := range []pricing.Lane{pricing.ItemLane, pricing.OrderLane} {
		var in []int
		for i, t := range terms {
			if t.Discount.Lane() == lane {
				in = append(in, i)
			}
		}
		slices.SortFunc(in, func(a, b int) int { return cmpText(terms[a].ID, terms[b].ID) })
		takes := make([]map[*piece]*big.Rat, len(in))
		for i, c := range in {
			takes[i] = o.take(terms[c])
		}
		for _, p := range o.pieces {
			wants := make([]*big.Rat, len(in))
			for i := range in {
				if wants[i] = takes[i][p]; wants[i] == nil {
					wants[i] = new(big.Rat)
				}
			}
			if sumOf(wants).Cmp(p.left) > 0 {
				wants = shareOut(p.left, wants)
			}
			for i, c := range in {
				p.taken[c] = wants[i]
				p.left = new(big.Rat).Sub(p.left, wants[i])
			}
		}
	}
	return o.allocations(terms)
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (o *oracle) allocations(terms []pricing.Terms) []oracleAllocation {
	var all []oracleAllocation
	unit, line := 0, -1
	for _, p := range o.pieces {
		if p.line != line {
			unit, line = 0, p.line
		}
		for c, amount := range p.taken {
			if minor := new(big.Rat).Mul(amount, rat(o.step)); minor.Sign() > 0 {
				all = append(all, oracleAllocation{terms[c].ID, p.line, unit, minor.Num().Int64()})
			}
		}
		unit++
	}
	sortAllocations(all)
	return all
}

func sortAllocations(all []oracleAllocation) {
	slices.SortFunc(all, func(a, b oracleAllocation) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Unit != b.Unit {
			return a.Unit - b.Unit
		}
		return cmpText(a.Coupon, b.Coupon)
	})
}

// unitAllocations are the allocations of a quote, unit by unit.
func unitAllocations(q pricing.Quote) []oracleAllocation {
	var all []oracleAllocation
	for _, a := range q.Allocations() {
		for unit := range a.Quantity {
			all = append(all, oracleAllocation{q.Coupons[a.Coupon].ID, a.Line, int(a.Unit + unit), a.Amount})
		}
	}
	sortAllocations(all)
	return all
}

// randomCase is a small cart with a set of coupons that can be combined. Prices are small, so
// that ties, cuts and caps are common.
func randomCase(r *rand.Rand) (pricing.Cart, []pricing.Terms) {
	eur := pricing.EUR()
	cart := pricing.Cart{Currency: eur, Step: []int64{0, 0, 0, 1, 5}[r.IntN(5)]}
	step := max(cart.Step, 1)
	kinds := []pricing.LineKind{"book", pricing.Plan, pricing.Device, pricing.Shipping}
	for i := range r.IntN(6) {
		price := r.Int64N(30)
		switch r.IntN(8) {
		case 0, 1:
			price = r.Int64N(3000)
		case 2:
			price = 0 // a gift or a sample
		case 3:
			if i > 0 {
				price = cart.Lines[i-1].UnitPrice / step
			}
		}
		cart.Lines = append(cart.Lines, pricing.Line{
			ID: fmt.Sprint(i), Kind: kinds[r.IntN(len(kinds))], Quantity: 1 + r.Int64N(4), UnitPrice: price * step,
		})
	}
	var terms []pricing.Terms
	for i := range r.IntN(5) {
		t := pricing.Terms{ID: fmt.Sprintf("c%d", i), Group: fmt.Sprintf("g%d", i), Eligible: randomMask(r, len(cart.Lines))}
		d := randomTerms(r, step)
		if d.Type == pricing.BuyXGetY {
			t.Bought = randomMask(r, len(cart.Lines))
		}
		discount, err := pricing.NewDiscount(d)
		if err != nil {
			panic(err)
		}
		t.Discount = discount
		terms = append(terms, t)
	}
	r.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
	return cart, terms
}

func randomMask(r *rand.Rand, lines int) []bool {
	if r.IntN(3) == 0 {
		return nil
	}
	mask := make([]bool, lines)
	for i := range mask {
		mask[i] = r.IntN(3) > 0
	}
	return mask
}

func randomPercent(r *rand.Rand) pricing.Percent {
	text := []string{"100", "50", "33.3333", "10", "0.5", "66.67"}[r.IntN(6)]
	percent, err := pricing.ParsePercent(text)
	if err != nil {
		panic(err)
	}
	return percent
}

func randomTerms(r *rand.Rand, step int64) pricing.DiscountTerms {
	d := pricing.DiscountTerms{Type: pricing.Percentage + pricing.DiscountType(r.IntN(int(pricing.Tiered)))}
	amount := func() int64 { return (1 + r.Int64N(20)) * step }
	switch d.Type {
	case pricing.Percentage:
		d.Percent = randomPercent(r)
		d.Lane = pricing.Lane(r.IntN(3))
	case pricing.FixedAmount, pricing.FixedAmountPerUnit, pricing.FixedUnitPrice:
		d.Amount, d.Currency = amount(), pricing.EUR()
	case pricing.CheapestUnits:
		d.Percent, d.Units = randomPercent(r), 1+r.Int64N(6)
	case pricing.BuyXGetY:
		d.Percent, d.BuyQuantity, d.GetQuantity, d.MaxApplications = randomPercent(r), 1+r.Int64N(3), 1+r.Int64N(3), r.Int64N(3)
	case pricing.Tiered:
		d.TierBasis = pricing.ByAmount + pricing.TierBasis(r.IntN(2))
		d.Currency = pricing.EUR()
		from := r.Int64N(5)
		for range 1 + r.IntN(3) {
			tier := pricing.Tier{From: from}
			if r.IntN(2) == 0 {
				tier.Percent = randomPercent(r)
			} else {
				tier.Amount = amount()
			}
			d.Tiers, from = append(d.Tiers, tier), from+1+r.Int64N(6)
		}
	}
	if d.Type <= pricing.FixedUnitPrice && r.IntN(3) == 0 {
		d.MaxUnits = 1 + r.Int64N(6)
	}
	if r.IntN(4) == 0 {
		d.MaxDiscount, d.Currency = 1+r.Int64N(30), pricing.EUR()
	}
	return d
}

// TestOracle: random carts and sets of coupons, 100,000 in the long form, cost what the slow implementation of the
// contract says, unit by unit and coupon by coupon.
func TestOracle(t *testing.T) {
	t.Parallel()
	const shards = 4
	cases := testsize.Of(5_000, 100_000)
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			var q pricing.Quote
			for seed := shard; seed < cases; seed += shards {
				checkAgainstOracle(t, &q, seed)
			}
		})
	}
}

func checkAgainstOracle(t *testing.T, q *pricing.Quote, seed int) {
	t.Helper()
	cart, terms := randomCase(rand.New(rand.NewPCG(uint64(seed), 41)))
	if err := q.Reprice(cart, terms...); err != nil {
		t.Fatalf("case %d is refused: %v", seed, err)
	}
	if want, got := oracleAllocations(cart, terms), unitAllocations(*q); !slices.Equal(want, got) {
		t.Fatalf("case %d, %+v of %+v (-oracle +got):\n%s", seed, terms, cart, cmp.Diff(want, got))
	}
}
