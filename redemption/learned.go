package redemption

import (
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/validation"
)

// MaxLearned is the maximum number of identities that one payment can add to an order.
const MaxLearned = 7

// learn returns the claims of an order or a use together with the claims of the identities that
// a payment has told of. A new claim counts another identity of the customer in the same way, in
// the same period and with the same limit. Counters that are claimed already are left out.
func (e Event) learn(customerID string, claims []Claim) []Claim {
	if e.Kind != Paid || customerID == "" {
		return claims
	}
	grown := slices.Clip(claims)
	for _, c := range claims {
		for _, identity := range e.Learned {
			counter, found := counterFor(identity, c.Counter, customerID)
			if found && !slices.ContainsFunc(grown, func(c Claim) bool { return c.Counter == counter }) {
				grown = append(grown, Claim{Counter: counter, Amount: c.Amount, Limit: c.Limit, Returned: c.Returned})
			}
		}
	}
	return grown
}

// counterFor returns the key of a customer's counter for another identity of the customer.
func counterFor(identity, counter, customerID string) (string, bool) {
	key, own := strings.CutPrefix(counter, customerPrefix)
	parts := strings.Split(key, "/")
	at := identityPart(parts[0])
	if !own || at == 0 || at >= len(parts) || parts[at] != escaped(customerID) {
		return "", false
	}
	parts[at] = escaped(identity)
	return customerPrefix + strings.Join(parts, "/"), true
}

// identityPart returns which part of a customer's counter is the identity, or 0.
func identityPart(kind string) int {
	switch kind {
	case customerOrders:
		return 1
	case customerUses, customerPeriod:
		return 2
	}
	return 0
}

func escaped(part string) string {
	var text strings.Builder
	writeEscaped(&text, part)
	return text.String()
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
		if !IsHashed(identity) {
			faults.Add(fmt.Sprintf("learned[%d]", i), validation.Malformed, "must be a hashed identity")
		}
	}
}
