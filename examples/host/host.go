// Package host shows the two small interfaces that a host implements beside a
// store: a ledger of points and a directory of users. Both live in memory here; a
// real host writes them against its own tables, with the same promises. The tests
// and the other examples use them.
package host

import (
	"context"
	"sync"

	"github.com/couponkit/couponkit"
)

// Ledger is a ledger of points in memory. The zero value is ready to use; it is
// safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex
	balances map[string]int64
	entries  map[string]entry // by reservation
}

// entry has the ledger's data of one reservation.
type entry struct {
	debited int64
	closed  bool
}

var _ couponkit.Points = (*Ledger)(nil)

// Credit adds points to the customer's balance.
func (l *Ledger) Credit(customerID string, points int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.balances == nil {
		l.balances = make(map[string]int64)
		l.entries = make(map[string]entry)
	}
	l.balances[customerID] += points
}

// Balance returns the customer's points.
func (l *Ledger) Balance(customerID string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.balances[customerID]
}

// Debit takes points for a reservation, once; see [couponkit.Points].
func (l *Ledger) Debit(ctx context.Context, customerID, reservationID string, points int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch known, again := l.entries[reservationID]; {
	case known.closed:
		return couponkit.ErrReservationClosed
	case again:
		return nil
	case l.balances[customerID] < points:
		return couponkit.ErrInsufficientPoints
	}
	l.balances[customerID] -= points
	l.entries[reservationID] = entry{debited: points}
	return nil
}

// Refund gives the points of a reservation back, once, and closes it; see
// [couponkit.Points].
func (l *Ledger) Refund(ctx context.Context, customerID, reservationID string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries == nil {
		l.balances = make(map[string]int64)
		l.entries = make(map[string]entry)
	}
	known := l.entries[reservationID]
	if !known.closed {
		l.balances[customerID] += known.debited
		l.entries[reservationID] = entry{debited: known.debited, closed: true}
	}
	return nil
}

// Directory is a directory of users in memory, by ID. It must not change while a
// service uses it.
type Directory map[string]couponkit.User

var _ couponkit.Users = Directory(nil)

// User returns the user, or [couponkit.ErrUserNotFound].
func (d Directory) User(_ context.Context, id string) (couponkit.User, error) {
	user, known := d[id]
	if !known {
		return couponkit.User{}, couponkit.ErrUserNotFound
	}
	return user, nil
}
