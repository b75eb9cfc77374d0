package offers

// A vector is a persistent array: set and add return a changed copy that shares nearly all memory with
// the original. The zero vector is empty. Positions that were never set hold the zero value.
type vector[T any] struct {
	root  *block[T]
	depth uint8 // number of levels above the values
	size  int
}

// block is a node of a vector. A block at depth 0 has values, another block has kids.
type block[T any] struct {
	kids   []*block[T]
	values []T
}

const (
	blockBits = 6
	blockSize = 1 << blockBits
)

// vectorOf returns the vector of the values and keeps them. The caller must not change the values.
func vectorOf[T any](values []T) vector[T] {
	v := vector[T]{size: len(values)}
	level := make([]*block[T], 0, len(values)/blockSize+1)
	for first := 0; first < len(values); first += blockSize {
		level = append(level, &block[T]{values: values[first:min(first+blockSize, len(values)):min(first+blockSize, len(values))]})
	}
	for ; len(level) > 1; v.depth++ {
		above := make([]*block[T], 0, len(level)/blockSize+1)
		for first := 0; first < len(level); first += blockSize {
			above = append(above, &block[T]{kids: level[first:min(first+blockSize, len(level)):min(first+blockSize, len(level))]})
		}
		level = above
	}
	if len(level) == 1 {
		v.root = level[0]
	}
	return v
}

// at returns the value at a position below the size.
func (v *vector[T]) at(i uint32) T { return *v.ref(i) }

// ref returns a reference to the value at a position below the size. The value must not be changed.
func (v *vector[T]) ref(i uint32) *T {
	b := v.root
	for shift := int(v.depth) * blockBits; shift > 0; shift -= blockBits {
		b = b.kids[i>>shift&(blockSize-1)]
	}
	return &b.values[i&(blockSize-1)]
}

// add appends a value. It returns the position of the value.
func (v vector[T]) add(value T) (vector[T], uint32) {
	at := v.size
	v.size++
	switch {
	case v.root == nil:
		v.root = &block[T]{}
	case at>>(v.depth*blockBits+blockBits) > 0:
		v.root, v.depth = &block[T]{kids: []*block[T]{v.root}}, v.depth+1
	}
	v.root = v.root.set(uint32(at), value, int(v.depth)*blockBits) //nolint:gosec // a position is below MaxCoupons
	return v, uint32(at)                                           //nolint:gosec // a position is below MaxCoupons
}

// set replaces the value at a position below the size.
func (v vector[T]) set(i uint32, value T) vector[T] {
	v.root = v.root.set(i, value, int(v.depth)*blockBits)
	return v
}

func (b *block[T]) set(i uint32, value T, shift int) *block[T] {
	at := int(i >> shift & (blockSize - 1))
	if shift == 0 {
		values := make([]T, max(len(b.values), at+1))
		copy(values, b.values)
		values[at] = value
		return &block[T]{values: values}
	}
	kids := make([]*block[T], max(len(b.kids), at+1))
	copy(kids, b.kids)
	if kids[at] == nil {
		kids[at] = &block[T]{}
	}
	kids[at] = kids[at].set(i, value, shift-blockBits)
	return &block[T]{kids: kids}
}
