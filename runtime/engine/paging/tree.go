package paging

import (
	"container/list"
	"slices"

	"mla/runtime/plan"
)

// node is a full page in the radix tree: the path from the root says which tokens
// its rows depend on. The tree has no partly filled pages, so all its edges are
// PageRows tokens long.
type node struct {
	tokens   [plan.PageRows]int32
	page     uint32
	parent   *node
	children []*node       // sorted by tokens
	private  bool          // of a private sequence
	cached   *list.Element // in Pool.lru, if no sequence holds the page

	state *state // after the page; nil: nobody has kept it

	scope     string // of a root
	sequences int    // open ones of a root's tree
}

// search is where a child of these tokens is, or belongs.
func (n *node) search(tokens []int32) (int, bool) {
	return slices.BinarySearchFunc(n.children, tokens, func(c *node, t []int32) int {
		return slices.Compare(c.tokens[:], t)
	})
}

// child is that of the page of the leading tokens, nil if there is none.
func (n *node) child(tokens []int32) *node {
	if len(tokens) < plan.PageRows {
		return nil
	}
	at, found := n.search(tokens[:plan.PageRows])
	if !found {
		return nil
	}
	return n.children[at]
}

// CommonPrefix is how many leading tokens two texts have in common.
func CommonPrefix(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// publish gives the tree a page that a sequence has filled, below the node of the
// page before. If the tree has a page of these tokens already, it keeps that one.
func (p *Pool) publish(parent *node, tokens *[plan.PageRows]int32, id uint32) *node {
	at, found := parent.search(tokens[:])
	if found {
		return parent.children[at]
	}
	n := &node{tokens: *tokens, page: id, parent: parent, private: parent.private}
	parent.children = slices.Insert(parent.children, at, n)
	p.pages[id].node = n
	return n
}

// evict frees the page of a cached node without children.
func (p *Pool) evict(n *node) {
	p.lru.Remove(n.cached)
	p.unpublish(n)
	p.evicted++
	p.free = append(p.free, n.page)
}

// unpublish takes a node without children from the tree. Its page keeps its other
// holders.
func (p *Pool) unpublish(n *node) {
	p.dropState(n)
	at, _ := n.parent.search(n.tokens[:])
	n.parent.children = slices.Delete(n.parent.children, at, at+1)
	p.pages[n.page].node = nil
	p.forget(n.parent)
}
