package pgxstore

import (
	"strconv"

	"github.com/couponkit/couponkit/eligibility"
)

// claimRow has the claims of a record as they are stored; see schema.sql.
type claimRow struct {
	counters []string
	amounts  []int64
}

// list returns the claims. A constraint of the table holds the lengths together.
func (r *claimRow) list() []eligibility.Claim {
	n := len(r.counters)
	if n == 0 {
		return nil
	}
	claims := make([]eligibility.Claim, n)
	for i, counter := range r.counters {
		held, limit, returned := r.amounts[i], r.amounts[n+i], r.amounts[2*n+i]
		claims[i] = eligibility.Claim{Counter: counter, Amount: held + returned, Limit: limit, Returned: returned}
	}
	return claims
}

// appendCounters appends the counters of claims as the text of an array.
func appendCounters(dst []byte, claims []eligibility.Claim) []byte {
	dst = append(dst, '{')
	for i := range claims {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		for _, c := range []byte(claims[i].Counter) {
			if c == '"' || c == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		}
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// appendAmounts appends the numbers of claims as the text of an array.
func appendAmounts(dst []byte, claims []eligibility.Claim) []byte {
	dst = append(dst, '{')
	for _, number := range []func(*eligibility.Claim) int64{
		func(c *eligibility.Claim) int64 { return c.Held() },
		func(c *eligibility.Claim) int64 { return c.Limit },
		func(c *eligibility.Claim) int64 { return c.Returned },
	} {
		for i := range claims {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, number(&claims[i]), 10)
		}
	}
	return append(dst, '}')
}
