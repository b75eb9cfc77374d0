package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// finals writes down everything that is there at the end.
func (w *world) finals() {
	note := func(kind string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			w.fail(NoSurprise, "write down %s: %v", kind, err)
		}
		w.final = append(w.final, fmt.Sprintf("%s %s", kind, text))
	}
	for _, s := range w.shops {
		for _, c := range w.allCoupons(s) {
			whole, err := w.coupon(s, c.ID) // a list holds no addresses
			if err != nil {
				w.fail(NoSurprise, "read coupon %s: %v", c.ID, err)
			}
			note("coupon", whole)
		}
		for _, u := range w.allUses(s) {
			note("use", u)
		}
		for _, o := range w.allOrders(s) {
			note("order", o)
		}
		note("journal", s.book.journal)
		for _, session := range s.fake.Sessions() {
			note("session", session)
		}
		for _, id := range slices.Sorted(maps.Keys(s.book.accounts)) {
			note("points of "+id, s.ledger.Balance(id))
		}
	}
}
