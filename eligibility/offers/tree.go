package offers

import "sort"

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
	leafSize = 32
	fanout   = 32
	// maxHeight is more than the height of a tree of MaxCoupons entries whose nodes are a quarter full.
	maxHeight = 12
)

// treeOf returns a tree of sorted entries and keeps them. The caller must not change the entries.
func treeOf(entries []entry) *node {
	if len(entries) == 0 {
		return nil
	}
	nodes := make([]node, 0, (len(entries)+leafSize-1)/leafSize)
	level := make([]kid, 0, cap(nodes))
	for first := 0; first < len(entries); first += leafSize {
		end := min(first+leafSize, len(entries))
		nodes = append(nodes, node{entries: entries[first:end:end]})
		level = append(level, kid{entries[first].rank, &nodes[len(nodes)-1]})
	}
	for len(level) > 1 {
		nodes, above := make([]node, 0, (len(level)+fanout-1)/fanout), make([]kid, 0, (len(level)+fanout-1)/fanout)
		for first := 0; first < len(level); first += fanout {
			end := min(first+fanout, len(level))
			nodes = append(nodes, node{kids: level[first:end:end]})
			above = append(above, kid{level[first].first, &nodes[len(nodes)-1]})
		}
		level = above
	}
	return level[0].node
}

// put returns the tree with an entry added.
func (n *node) put(e entry) *node {
	if n == nil {
		return &node{entries: []entry{e}}
	}
	left, right := n.insert(e)
	if right == nil {
		return left
	}
	return &node{kids: []kid{{left.first(), left}, {right.first(), right}}}
}

func (n *node) first() rank {
	for n.kids != nil {
		n = n.kids[0].node
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
	kids = append(kids, kid{l.firstOr(n.kids[at].first, e.rank), l})
	if r != nil {
		kids = append(kids, kid{r.first(), r})
	}
	kids = append(kids, n.kids[at+1:]...)
	if len(kids) <= fanout {
		return &node{kids: kids}, nil
	}
	half := len(kids) / 2
	return &node{kids: kids[:half:half]}, &node{kids: kids[half:]}
}

// firstOr returns the first rank of a node after an insertion.
func (n *node) firstOr(before, inserted rank) rank {
	if inserted.before(before) {
		return inserted
	}
	return before
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

// cut returns the tree without the entry of a rank. An empty tree is nil.
func (n *node) cut(r rank) *node {
	if n == nil {
		return nil
	}
	n = n.without(r)
	for n != nil && len(n.kids) == 1 {
		n = n.kids[0].node
	}
	return n
}

// without is cut for a node.
func (n *node) without(r rank) *node {
	if n.kids == nil {
		return n.withoutEntry(r)
	}
	at := n.child(r)
	old := n.kids[at].node
	rest := old.without(r)
	switch {
	case rest == old:
		return n
	case rest == nil && len(n.kids) == 1:
		return nil
	}
	kids := make([]kid, 0, len(n.kids))
	kids = append(kids, n.kids[:at]...)
	if rest != nil {
		kids = append(kids, kid{rest.first(), rest})
	}
	kids = append(kids, n.kids[at+1:]...)
	if rest != nil && len(kids) > 1 && rest.small() {
		kids = balance(kids, min(at, len(kids)-2))
	}
	return &node{kids: kids}
}

func (n *node) withoutEntry(r rank) *node {
	at := n.search(r)
	switch {
	case at == len(n.entries) || n.entries[at].rank != r:
		return n
	case len(n.entries) == 1:
		return nil
	}
	entries := make([]entry, 0, len(n.entries)-1)
	return &node{entries: append(append(entries, n.entries[:at]...), n.entries[at+1:]...)}
}

// small reports whether a node is less than a quarter full. Only the last nodes of a level, as [treeOf]
// makes them, stay small. So the height of a tree grows with the logarithm of its size.
func (n *node) small() bool { return len(n.entries) < leafSize/4 && len(n.kids) < fanout/4 }

// balance merges a kid and the next kid. If they do not fit in one node, it halves them. It overwrites
// the kids.
func balance(kids []kid, at int) []kid {
	l, r := kids[at].node, kids[at+1].node
	whole := node{
		entries: append(append(make([]entry, 0, len(l.entries)+len(r.entries)), l.entries...), r.entries...),
	}
	if l.kids != nil {
		whole = node{kids: append(append(make([]kid, 0, len(l.kids)+len(r.kids)), l.kids...), r.kids...)}
	}
	if len(whole.entries) <= leafSize && len(whole.kids) <= fanout {
		kids[at].node = &whole
		return append(kids[:at+1], kids[at+2:]...)
	}
	half, rest := whole, whole
	if middle := len(whole.entries) / 2; middle > 0 {
		half.entries, rest.entries = whole.entries[:middle:middle], whole.entries[middle:]
	} else {
		middle = len(whole.kids) / 2
		half.kids, rest.kids = whole.kids[:middle:middle], whole.kids[middle:]
	}
	kids[at].node = &half
	kids[at+1] = kid{rest.first(), &rest}
	return kids
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
