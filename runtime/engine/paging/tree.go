package paging

import (
	"container/list"
	"slices"

	"mla/runtime/plan"
)

// node is a full page in the radix tree. The path from the root has the tokens on which its rows depend. The
// tree has no partly filled pages, so every edge is PageRows tokens.
type node struct {
	tokens   [plan.PageRows]int32
	page     uint32
	parent   *node
	children []*node       // sorted by tokens
	private  bool          // of a private sequence's tree
	cached   *list.Element // in Pool.lru, while no sequence holds the page

	state *state // after the page; nil: not saved

	scope     string // of a root
	sequences int    // of a root: open sequences of its tree
}

// search returns the place of the child with these tokens, and whether it exists.
func (n *node) search(tokens []int32) (int, bool) {
	return slices.BinarySearchFunc(n.children, tokens, func(c *node, t []int32) int {
		return slices.Compare(c.tokens[:], t)
	})
}

// child returns the child whose page has the leading tokens; nil: there is none.
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

// CommonPrefix is the number of leading tokens that two texts share.
func CommonPrefix(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// publish adds a page that a sequence has filled to the tree, below the node of the previous page. If the
// tree has a page of these tokens already, it keeps that one. publish returns the node.
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

// unpublish removes a node without children from the tree. Its page keeps its other holders.
func (p *Pool) unpublish(n *node) {
	p.dropState(n)
	at, _ := n.parent.search(n.tokens[:])
	n.parent.children = slices.Delete(n.parent.children, at, at+1)
	p.pages[n.page].node = nil
	p.forget(n.parent)
}
