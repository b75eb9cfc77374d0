package offers

// A table is a persistent hash table from hashes to positions in a vector. It uses open addressing with
// linear probing. The caller compares the keys, because the table holds only hashes.
type table struct {
	cells vector[uint64] // high half: part of the hash; low half: position + 2, or one of the marks
	live  int
	taken int // live cells and marks of removed entries
}

// These are marks in the low half of a cell.
const (
	free    = 0
	removed = 1
	marks   = 2
)

const leastCells = 16

// putCell adds an entry to cells that are not all taken.
func putCell(cells []uint64, hash uint64, position uint32) {
	at := int(hash) & (len(cells) - 1) //nolint:gosec // only the low bits matter
	for cells[at] != free {
		at = (at + 1) & (len(cells) - 1)
	}
	cells[at] = cell(hash, position)
}

func cell(hash uint64, position uint32) uint64 { return hash&^(1<<32-1) | uint64(position+marks) }

// probe is a search for a hash. The zero position of next ends it.
type probe struct {
	cells *vector[uint64]
	hash  uint64
	at    int
}

func (t *table) probe(hash uint64) probe {
	return probe{&t.cells, hash, int(hash) - 1} //nolint:gosec // only the low bits matter
}

// next returns the next position with the same part of the hash.
func (p *probe) next() (position uint32, ok bool) {
	if p.cells.size == 0 {
		return 0, false
	}
	for {
		p.at = (p.at + 1) & (p.cells.size - 1)
		c := p.cells.at(uint32(p.at)) //nolint:gosec // below the size
		switch low := uint32(c); {    //nolint:gosec // the low half
		case low == free:
			return 0, false
		case low >= marks && (c^p.hash)>>32 == 0:
			return low - marks, true
		}
	}
}

// add adds an entry that is not in the table. hashOf returns the hash of an entry, for a larger table.
func (t table) add(by *edit, hash uint64, position uint32, hashOf func(position uint32) uint64) table {
	if (t.taken+1)*4 > t.cells.size*3 {
		t = t.rebuilt(hashOf)
	}
	at := int(hash) & (t.cells.size - 1)         //nolint:gosec // only the low bits matter
	for uint32(t.cells.at(uint32(at))) != free { //nolint:gosec // below the size
		at = (at + 1) & (t.cells.size - 1)
	}
	t.cells = t.cells.set(by, uint32(at), cell(hash, position)) //nolint:gosec // below the size
	t.live++
	t.taken++
	return t
}

// remove removes the entry that the probe has returned last.
func (t table) remove(by *edit, p *probe) table {
	t.cells = t.cells.set(by, uint32(p.at), removed) //nolint:gosec // below the size
	t.live--
	return t
}

// move gives the entry that the probe has returned last another position.
func (t table) move(by *edit, p *probe, position uint32) table {
	t.cells = t.cells.set(by, uint32(p.at), cell(p.hash, position)) //nolint:gosec // below the size
	return t
}

// rebuilt returns a table with room for as many entries again, without marks.
func (t table) rebuilt(hashOf func(position uint32) uint64) table {
	size := leastCells
	for size*3 < (t.live+1)*8 {
		size *= 2
	}
	cells := make([]uint64, size)
	for i := range t.cells.size {
		if low := uint32(t.cells.at(uint32(i))); low >= marks { //nolint:gosec // below the size
			putCell(cells, hashOf(low-marks), low-marks)
		}
	}
	return table{cells: vectorOf(cells), live: t.live, taken: t.live}
}
