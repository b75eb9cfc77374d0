package offers

import "slices"

// A vector is a persistent array: set and add return a changed copy that shares nearly all memory with
// the original. The zero vector is empty.
type vector[T any] struct {
	root  *block[T]
	depth uint8 // number of levels above the values
	size  int
}

// block is a node of a vector. A block at depth 0 has values, another block has kids.
type block[T any] struct {
	owner  *edit
	kids   []*block[T]
	values []T
}

// edit is the owner of blocks that no reader has seen yet. Changes of the same edit overwrite these blocks. Blocks
// of a new index have no owner.
type edit struct{ _ byte } // different edits have different addresses

const (
	blockBits = 5
	blockSize = 1 << blockBits
)

// vectorOf returns the vector of the values and keeps them. The caller must not change the values.
func vectorOf[T any](values []T) vector[T] {
	v := vector[T]{size: len(values)}
	level := make([]block[T], 0, (len(values)+blockSize-1)/blockSize)
	for own := range slices.Chunk(values, blockSize) {
		level = append(level, block[T]{values: own})
	}
	for ; len(level) > 1; v.depth++ {
		kids := make([]*block[T], len(level))
		for i := range level {
			kids[i] = &level[i]
		}
		level = make([]block[T], 0, (len(kids)+blockSize-1)/blockSize)
		for own := range slices.Chunk(kids, blockSize) {
			level = append(level, block[T]{kids: own})
		}
	}
	if len(level) == 1 {
		v.root = &level[0]
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
func (v vector[T]) add(by *edit, value T) (vector[T], uint32) {
	at := v.size
	v.size++
	switch {
	case v.root == nil:
		v.root = &block[T]{}
	case at>>(v.depth*blockBits+blockBits) > 0:
		v.root, v.depth = &block[T]{kids: []*block[T]{v.root}}, v.depth+1
	}
	return v.set(by, uint32(at), value), uint32(at) //nolint:gosec // a position is below MaxCoupons
}

// set replaces the value at a position below the size.
func (v vector[T]) set(by *edit, i uint32, value T) vector[T] {
	v.root = v.root.set(by, i, value, int(v.depth)*blockBits)
	return v
}

// pop removes the last value.
func (v vector[T]) pop(by *edit) vector[T] {
	var none T
	v = v.set(by, uint32(v.size-1), none) //nolint:gosec // a position is below MaxCoupons
	v.size--
	return v
}

func (b *block[T]) set(by *edit, i uint32, value T, shift int) *block[T] {
	at := int(i >> shift & (blockSize - 1))
	if shift == 0 {
		b = b.own(by, 0, at+1)
		b.values[at] = value
		return b
	}
	b = b.own(by, at+1, 0)
	if b.kids[at] == nil {
		b.kids[at] = &block[T]{}
	}
	b.kids[at] = b.kids[at].set(by, i, value, shift-blockBits)
	return b
}

// own returns the block with at least some kids or values, for changes by an edit.
func (b *block[T]) own(by *edit, kids, values int) *block[T] {
	if b.owner == by && len(b.kids) >= kids && len(b.values) >= values {
		return b
	}
	return &block[T]{by, enlarged(b.kids, kids), enlarged(b.values, values)}
}

// enlarged returns a copy with at least a length.
func enlarged[T any](s []T, least int) []T {
	if least == 0 {
		return nil
	}
	c := make([]T, max(len(s), least))
	copy(c, s)
	return c
}
