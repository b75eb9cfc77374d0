package memstore

import (
	"hash/maphash"
	"sync"
)

// stripes is how many parts an index and the customers' locks are split into, so
// that calls seldom meet.
const stripes = 64

// stripe returns the part that a text belongs to.
func stripe(seed maphash.Seed, text string) int {
	return int(maphash.String(seed, text) % stripes)
}

// seed returns the hash seed of a value that is made without a constructor.
func seed(once *sync.Once, s *maphash.Seed) maphash.Seed {
	once.Do(func() { *s = maphash.MakeSeed() })
	return *s
}

// index is a map that many goroutines use. The zero value is empty.
type index[V any] struct {
	once  sync.Once
	seed  maphash.Seed
	parts [stripes]struct {
		mu sync.RWMutex
		m  map[string]V
	}
}

func (x *index[V]) get(key string) (V, bool) {
	part := &x.parts[stripe(seed(&x.once, &x.seed), key)]
	part.mu.RLock()
	defer part.mu.RUnlock()
	v, ok := part.m[key]
	return v, ok
}

func (x *index[V]) put(key string, v V) {
	part := &x.parts[stripe(seed(&x.once, &x.seed), key)]
	part.mu.Lock()
	defer part.mu.Unlock()
	if part.m == nil {
		part.m = make(map[string]V)
	}
	part.m[key] = v
}

// change replaces the value of the key, which is the zero value if it has none. Others may
// be reading what to is given: it changes nothing in it.
func (x *index[V]) change(key string, to func(V) V) {
	part := &x.parts[stripe(seed(&x.once, &x.seed), key)]
	part.mu.Lock()
	defer part.mu.Unlock()
	if part.m == nil {
		part.m = make(map[string]V)
	}
	part.m[key] = to(part.m[key])
}

// add puts the value unless the key has one, and reports whether it did.
func (x *index[V]) add(key string, v V) bool {
	part := &x.parts[stripe(seed(&x.once, &x.seed), key)]
	part.mu.Lock()
	defer part.mu.Unlock()
	if _, known := part.m[key]; known {
		return false
	}
	if part.m == nil {
		part.m = make(map[string]V)
	}
	part.m[key] = v
	return true
}

func (x *index[V]) remove(key string) {
	part := &x.parts[stripe(seed(&x.once, &x.seed), key)]
	part.mu.Lock()
	defer part.mu.Unlock()
	delete(part.m, key)
}

// locks is a set of locks by name. The zero value is ready to use.
type locks struct {
	once  sync.Once
	seed  maphash.Seed
	parts [stripes]sync.Mutex
}

// of returns the lock of a name, and which one it is.
func (l *locks) of(name string) (*sync.Mutex, int) {
	i := stripe(seed(&l.once, &l.seed), name)
	return &l.parts[i], i
}

// keyOf names a customer's idempotency key. IDs have no NUL, so that two pairs
// never have the same name.
func keyOf(customerID, key string) string { return customerID + "\x00" + key }
