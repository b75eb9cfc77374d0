package redemption

import (
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/validation"
)

// MaxLearned is the maximum number of identities that one payment can add to an order.
const MaxLearned = 7

// learn adds claims for the identities that a payment has shown. A new claim has the same kind, period
// and limit as an existing claim of the customer. Counters that are already claimed are skipped.
func (e Event) learn(customerID string, claims []eligibility.Claim) []eligibility.Claim {
	if e.Kind != Paid || customerID == "" {
		return claims
	}
	grown := slices.Clip(claims)
	for _, c := range claims {
		for _, identity := range e.Learned {
			learned, found := c.OfIdentity(identity, customerID)
			if found && !slices.ContainsFunc(grown, func(c eligibility.Claim) bool { return c.Counter == learned.Counter }) {
				grown = append(grown, learned)
			}
		}
	}
	return grown
}

// learnedFaults reports texts that are not hashed identities.
func (e Event) learnedFaults(faults *validation.Error) {
	switch {
	case len(e.Learned) > MaxLearned:
		faults.Add("learned", validation.TooLong, fmt.Sprintf("at most %d identities", MaxLearned))
		return
	case len(e.Learned) > 0 && e.Kind != Paid:
		faults.Add("learned", validation.NotAllowed, "only a payment tells of identities")
	}
	for i, identity := range e.Learned {
		if !eligibility.IsHashed(identity) {
			faults.Add(fmt.Sprintf("learned[%d]", i), validation.Malformed, "must be a hashed identity")
		}
	}
}
