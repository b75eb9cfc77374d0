package simulation

import (
	"errors"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// Database is what the processes of a world share, and what outlives them.
type Database interface {
	// Open begins a process.
	Open() (Process, error)
	// Crash is the machine losing its power. Every process has been killed; what was
	// committed is there when the next one opens the database.
	Crash() error
	// Close ends the database with its world.
	Close() error
}

// Process is one process's view of the database.
type Process interface {
	// Store returns the store of a shop; the same one each time.
	Store(shop int) store.Store
	// Cut makes a call in which the process stops: after so many statements of its
	// transaction, and before its commit in any case. The call has no effect and its
	// result is of no interest. [Process.Kill] follows.
	Cut(statements int, call func())
	// Kill ends the process without any chance to tidy up.
	Kill()
}

// Memory makes databases in memory. wrap, if not nil, wraps the store of each shop,
// for all processes: what it remembers outlives them.
func Memory(wrap func(s store.Store, pause func()) store.Store) func(int, func()) (Database, error) {
	return func(shops int, pause func()) (Database, error) {
		m := &memory{stores: make([]store.Store, shops)}
		for i := range m.stores {
			if m.stores[i] = memstore.New(); wrap != nil {
				m.stores[i] = wrap(m.stores[i], pause)
			}
		}
		return m, nil
	}
}

// memory is a database and all its processes: there is nothing to tell them apart.
type memory struct{ stores []store.Store }

func (m *memory) Open() (Process, error) { return m, nil }

func (m *memory) Crash() error { return nil }

func (m *memory) Store(shop int) store.Store { return m.stores[shop] }

// Cut has nothing to undo: a call takes effect at once or not at all.
func (m *memory) Cut(int, func()) {}

func (m *memory) Kill() {}

func (m *memory) Close() error {
	var failed error
	for _, s := range m.stores {
		failed = errors.Join(failed, s.Close())
	}
	return failed
}
