package offers

import (
	"slices"
	"sort"
)

// entry is a coupon in a list.
type entry struct {
	rank
	scope hashedSet // items or categories of the coupon, or wide
}

// rank is the position of an entry in its list: the greatest key first, then the least ID.
type rank struct {
	key  uint32
	slot uint32
	id   uint64 // the beginning of the coupon's ID
}

func (r rank) before(s rank) bool {
	switch {
	case r.key != s.key:
		return r.key > s.key
	case r.id != s.id:
		return r.id < s.id
	}
	return r.slot < s.slot
}

// A node of a persistent B+tree has entries or kids. A node is never changed after it was published.
type node struct {
	entries []entry
	kids    []kid
}

type kid struct {
	first rank
	node  *node
}

const (
	leafSize = 16
	fanout   = 16
	// A tree of sorted entries has nodes with some room, because full nodes are halved soon.
	filled = 12
	// maxHeight is more than the height of a tree of DefaultMaxEntries entries whose nodes are half full.
	maxHeight = 12
)

// treeOf returns a tree of sorted entries and keeps them. The caller must not change the entries.
func treeOf(entries []entry) *node {
	if len(entries) <= leafSize {
		return &node{entries: entries}
	}
	nodes := make([]node, 0, (len(entries)+filled-1)/filled)
	for own := range slices.Chunk(entries, filled) {
		nodes = append(nodes, node{entries: own})
	}
	for len(nodes) > 1 {
		kids := make([]kid, len(nodes))
		for i := range nodes {
			kids[i] = kid{nodes[i].least(), &nodes[i]}
		}
		nodes = make([]node, 0, (len(kids)+filled-1)/filled)
		for own := range slices.Chunk(kids, filled) {
			nodes = append(nodes, node{kids: own})
		}
	}
	return &nodes[0]
}

// put returns the tree with an entry added. A nil tree is empty.
func (n *node) put(e entry) *node {
	if n == nil {
		return &node{entries: []entry{e}}
	}
	left, right := n.insert(e)
	if right == nil {
		return left
	}
	return &node{kids: []kid{{left.least(), left}, {right.least(), right}}}
}

// least returns the rank of the first entry.
func (n *node) least() rank {
	if n.kids != nil {
		return n.kids[0].first
	}
	return n.entries[0].rank
}

// insert is put for a node. If the node is full, insert returns both halves.
func (n *node) insert(e entry) (left, right *node) {
	if n.kids == nil {
		return n.insertEntry(e)
	}
	at := n.child(e.rank)
	l, r := n.kids[at].node.insert(e)
	kids := make([]kid, 0, len(n.kids)+1)
	kids = append(kids, n.kids[:at]...)
	kids = append(kids, kid{l.least(), l})
	if r != nil {
		kids = append(kids, kid{r.least(), r})
	}
	kids = append(kids, n.kids[at+1:]...)
	if len(kids) <= fanout {
		return &node{kids: kids}, nil
	}
	half := len(kids) / 2
	return &node{kids: kids[:half:half]}, &node{kids: kids[half:]}
}

func (n *node) insertEntry(e entry) (left, right *node) {
	at := n.search(e.rank)
	entries := make([]entry, 0, len(n.entries)+1)
	entries = append(append(append(entries, n.entries[:at]...), e), n.entries[at:]...)
	if len(entries) <= leafSize {
		return &node{entries: entries}, nil
	}
	half := len(entries) / 2
	return &node{entries: entries[:half:half]}, &node{entries: entries[half:]}
}

// search returns the position of the first entry that is not before a rank.
func (n *node) search(r rank) int {
	return sort.Search(len(n.entries), func(i int) bool { return !n.entries[i].before(r) })
}

// child returns the position of the kid whose entries may have a rank.
func (n *node) child(r rank) int {
	return max(sort.Search(len(n.kids), func(i int) bool { return r.before(n.kids[i].first) })-1, 0)
}

// A cursor walks through the entries of a tree in order.
type cursor struct {
	leaf   []entry // the rest of the current leaf
	height int
	above  [maxHeight]struct {
		kids []kid // those after the current one
	}
}

// start moves the cursor to the first entry of a tree that is not before a rank.
func (c *cursor) start(n *node, r rank) {
	c.height = 0
	for n.kids != nil {
		at := n.child(r)
		c.above[c.height].kids = n.kids[at+1:]
		c.height++
		n = n.kids[at].node
	}
	c.leaf = n.entries[n.search(r):]
	if len(c.leaf) == 0 {
		c.advance()
	}
}

// begin moves the cursor to the first entry of a tree.
func (c *cursor) begin(n *node) {
	c.height = 0
	c.descend(n)
}

func (c *cursor) descend(n *node) {
	for n.kids != nil {
		c.above[c.height].kids = n.kids[1:]
		c.height++
		n = n.kids[0].node
	}
	c.leaf = n.entries
}

// advance moves to the next leaf. At the end, the leaf is empty.
func (c *cursor) advance() {
	c.leaf = nil
	for c.height > 0 {
		rest := &c.above[c.height-1].kids
		if len(*rest) > 0 {
			n := (*rest)[0].node
			*rest = (*rest)[1:]
			c.descend(n)
			return
		}
		c.height--
	}
}
