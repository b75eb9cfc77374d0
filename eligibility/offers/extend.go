package offers

import (
	"cmp"
	"slices"
)

// ranked is a candidate with an upper bound of what it adds to the value of the chosen candidates.
type ranked struct {
	at   int
	gain int64
}

// climb looks for sets that are better than the best one, and then for equal sets that come before it. It first considers
// the candidates with the greatest gains: so it ends where the greatest gains that are left cannot make a better set.
func (s *Search) climb() {
	b := &s.sets
	b.equal, b.whole = false, !b.exhausted
	s.extend(b.first())
	b.whole = false
	if !b.exhausted {
		b.bound, b.hurried = b.best.Discount, true // equal sets get the nodes that are left
		b.equal = true
		s.extend(b.first())
	}
}

// first returns all candidates, the greatest bound first, and chooses none.
func (b *setSearch) first() []ranked {
	b.chosen, b.byMost = b.chosen[:0], b.byMost[:0]
	b.lines.clear()
	for at := range b.candidates {
		if !b.candidates[at].out {
			b.byMost = append(b.byMost, ranked{at, b.candidates[at].most})
		}
	}
	slices.SortFunc(b.byMost, ranked.compare)
	return b.byMost
}

// compare orders by gain, the greatest first.
func (r ranked) compare(o ranked) int {
	return cmp.Or(cmp.Compare(o.gain, r.gain), cmp.Compare(r.at, o.at))
}

// extend tries the sets of the chosen candidates and some of a pool. The pool has the gains of candidates beside those
// that are chosen, the greatest first. Each set is tried once: its members are in the order of the pool if a set has to
// take more off, and in the order of their IDs if it may be equal.
func (s *Search) extend(pool []ranked) {
	b := &s.sets
	left, value := b.most-len(b.chosen), plus(b.base, b.lines.value)
	order := pool
	if b.equal {
		order = b.sortedByID(pool)
	}
	most := b.greatest(pool, left-1)
	for i, r := range order {
		if b.exhausted {
			return
		}
		bound := plus(value, plus(r.gain, most))
		if len(b.chosen) == 0 && b.whole {
			b.bound = min(b.bound, max(bound, b.best.Discount))
		}
		if bound < b.least() {
			if b.equal {
				continue
			}
			return
		}
		after := pool
		if !b.equal {
			after = pool[i+1:]
		}
		s.extendWith(r.at, after, left-1)
	}
}

// extendWith tries the sets of the chosen candidates, another one and n of a pool.
func (s *Search) extendWith(at int, pool []ranked, n int) {
	b := &s.sets
	if b.hasGroup(b.candidates[at].group) {
		return
	}
	if !s.isUsable(at) || !b.check() {
		return
	}
	b.chosen = append(b.chosen, at)
	b.value()
	value := plus(b.base, b.lines.value)
	if b.mayWin(min(b.reach(n), plus(value, b.greatest(pool, n)))) {
		if value >= b.least() && b.reach(0) >= b.least() && b.spend() {
			s.try()
		}
		if n > 0 {
			s.extend(b.poolAfter(pool, n))
		}
	}
	b.chosen = b.chosen[:len(b.chosen)-1]
}

// least returns the least bound of sets to try.
func (b *setSearch) least() int64 {
	if b.equal {
		return b.best.Discount
	}
	return b.best.Discount + 1
}

// greatest returns the sum of the first n gains of different groups that are not chosen.
func (b *setSearch) greatest(pool []ranked, n int) (sum int64) {
	first := len(b.chosen)
	for _, r := range pool {
		if len(b.chosen) >= first+n {
			break
		}
		if !b.hasGroup(b.candidates[r.at].group) {
			b.chosen = append(b.chosen, r.at)
			sum = plus(sum, r.gain)
		}
	}
	b.chosen = b.chosen[:first]
	return sum
}

// poolAfter returns the candidates of a pool that may make a better set with the chosen candidates and n-1 others, with
// their gains.
func (b *setSearch) poolAfter(pool []ranked, n int) []ranked {
	depth := len(b.chosen)
	for len(b.pools) <= depth {
		b.pools = append(b.pools, nil)
	}
	after, value := b.pools[depth][:0], plus(b.base, b.lines.value)
	most, last, greatest := b.greatest(pool, n-1), b.chosen[depth-1], int64(0)
	for _, r := range pool {
		most = min(most, product(max(r.gain, greatest), int64(n-1)))
		if plus(value, plus(r.gain, most)) < b.least() || !b.checkGain() {
			break
		}
		c := &b.candidates[r.at]
		if c.out || b.equal && r.at <= last || b.hasGroup(c.group) {
			continue
		}
		if gain := min(r.gain, b.lines.gain(c)); plus(value, plus(gain, most)) >= b.least() {
			greatest = max(greatest, gain)
			after = append(after, ranked{r.at, gain})
		}
	}
	slices.SortFunc(after, ranked.compare)
	b.pools[depth] = after
	return after
}

// sortedByID returns a pool in the order of the candidates.
func (b *setSearch) sortedByID(pool []ranked) []ranked {
	depth := len(b.chosen)
	for len(b.orders) <= depth {
		b.orders = append(b.orders, nil)
	}
	b.orders[depth] = append(b.orders[depth][:0], pool...)
	slices.SortFunc(b.orders[depth], func(r, o ranked) int { return cmp.Compare(r.at, o.at) })
	return b.orders[depth]
}

// mayWin reports whether a set that begins with the chosen candidates may be better than the best set, if it takes off
// at most an amount.
func (b *setSearch) mayWin(most int64) bool {
	size := len(b.best.Offers)
	switch {
	case most < b.best.Discount || !b.equal:
		return most > b.best.Discount
	case most > b.best.Discount:
		return true
	case len(b.chosen) > size:
		return false
	case b.compareIDs() <= 0:
		return true
	}
	return len(b.chosen) < size && b.reach(size-1-len(b.chosen)) >= b.best.Discount
}

// check counts a bound that was computed. Many bounds are a node.
func (b *setSearch) check() bool {
	const many = 32
	b.checks++
	return b.checks%many != 0 || b.spend()
}

// checkGain counts a gain that was computed. Many gains are a node.
func (b *setSearch) checkGain() bool {
	const many = 256
	b.gains++
	return b.gains%many != 0 || b.spend()
}
