package replay

import (
	"cmp"
	"math"

	"github.com/couponkit/couponkit/pricing"
)

func compareCodes(a, b pricing.Currency) int { return cmp.Compare(a.Code(), b.Code()) }

// Bucket counts the carts whose total changes by an amount from From to To, both inclusive. A negative amount is
// a cart that costs less. The least amount of a bucket is 1, 2 or 5 times a power of ten, in major units. One bucket
// has only the change 0, and those beside it have the changes below one major unit.
type Bucket struct {
	From  pricing.Money `json:"from"`
	To    pricing.Money `json:"to"`
	Carts int64         `json:"carts"`
}

// bounds is the number of buckets of amounts above 0, up to the greatest int64.
const bounds = 57

// histogram counts carts by their change.
type histogram struct {
	zero        int64
	less, great [bounds]int64
}

func (h *histogram) add(change int64) {
	switch {
	case change == 0:
		h.zero++
	case change < 0:
		h.less[bucketOf(-change)]++
	default:
		h.great[bucketOf(change)]++
	}
}

// bucketOf returns the bucket of an amount of at least 1.
func bucketOf(amount int64) (bucket int) {
	for amount >= 10 {
		amount /= 10
		bucket += 3
	}
	switch {
	case amount >= 5:
		return bucket + 2
	case amount >= 2:
		return bucket + 1
	}
	return bucket
}

// least returns the least amount of a bucket.
func least(bucket int) int64 {
	amount := [...]int64{1, 2, 5}[bucket%3]
	for ; bucket >= 3; bucket -= 3 {
		amount *= 10
	}
	return amount
}

// greatest returns the greatest amount of a bucket.
func greatest(bucket int) int64 {
	if bucket+1 == bounds {
		return math.MaxInt64
	}
	return least(bucket+1) - 1
}

// buckets returns the buckets from the first to the last that is not empty.
func (h *histogram) buckets(in pricing.Currency) []Bucket {
	all := make([]Bucket, 0, 2*bounds+1)
	add := func(from, to, carts int64) {
		all = append(all, Bucket{pricing.NewMoney(from, in), pricing.NewMoney(to, in), carts})
	}
	cents := 3 * in.Exponent() // these buckets are one, of amounts below a major unit
	for i := bounds - 1; i >= cents; i-- {
		add(-greatest(i), -least(i), h.less[i])
	}
	if cents > 0 {
		add(1-least(cents), -1, total(h.less[:cents]))
	}
	add(0, 0, h.zero)
	if cents > 0 {
		add(1, least(cents)-1, total(h.great[:cents]))
	}
	for i := cents; i < bounds; i++ {
		add(least(i), greatest(i), h.great[i])
	}
	for len(all) > 0 && all[0].Carts == 0 {
		all = all[1:]
	}
	for len(all) > 0 && all[len(all)-1].Carts == 0 {
		all = all[:len(all)-1]
	}
	return all
}

func total(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
