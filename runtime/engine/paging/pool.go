package paging

import (
	"container/list"
	"fmt"

	"mla/runtime/plan"
)

// MaxPages is the greatest size of a pool, as kernels count rows in 32 bits.
const MaxPages = 1 << 32 / plan.PageRows

// Pool is the pages of a latent cache. A Pool and its sequences are not safe for concurrent use.
type Pool struct {
	total int
	pages []page           // those used at least once; all others are free, too
	free  []uint32         // free ones among pages; the last one is taken first
	roots map[string]*node // of the trees, one for each scope; roots have no pages
	lru   *list.List       // the nodes (*node) of cached pages, least recently used first
	open  map[*Sequence]struct{}

	states                *saved // nil: sequences have no states
	shared                int    // pages that at least two sequences hold
	hits, misses, evicted int64
}

// page is the holders of one page.
type page struct {
	sequences int   // number of sequences with the page in their table
	node      *node // the page's node in the tree; nil: none
}

// root returns the root of a scope's tree.
func (p *Pool) root(scope string) *node {
	if p.roots[scope] == nil {
		p.roots[scope] = &node{scope: scope}
	}
	return p.roots[scope]
}

// forget deletes a tree without nodes and sequences.
func (p *Pool) forget(root *node) {
	if root.parent == nil && root.sequences == 0 && len(root.children) == 0 && p.roots[root.scope] == root {
		delete(p.roots, root.scope)
	}
}

// NewPool returns a pool of 1 … MaxPages pages, all of them free. The pool's own memory grows as pages are
// used.
func NewPool(pages int) (*Pool, error) {
	if pages < 1 || pages > MaxPages {
		return nil, fmt.Errorf("%d pages: a pool has 1 to %d", pages, MaxPages)
	}
	return &Pool{total: pages, lru: list.New(), roots: map[string]*node{}, open: map[*Sequence]struct{}{}}, nil
}

// available is the number of pages that take can return. All descendants of a cached page are cached, so all
// cached pages can be evicted.
func (p *Pool) available() int {
	return p.total - len(p.pages) + len(p.free) + p.lru.Len()
}

// take gives a page, free or evicted, to one sequence. One must be available.
func (p *Pool) take() uint32 {
	if len(p.free) == 0 && len(p.pages) == p.total {
		p.evict(p.lru.Front().Value.(*node))
	}
	var id uint32
	if n := len(p.free); n > 0 {
		id = p.free[n-1]
		p.free = p.free[:n-1]
	} else {
		id = uint32(len(p.pages))
		p.pages = append(p.pages, page{})
	}
	p.pages[id].sequences = 1
	return id
}

// retain adds a sequence to the holders of a page, which must have one already.
func (p *Pool) retain(id uint32) {
	g := &p.pages[id]
	g.sequences++
	switch {
	case g.sequences == 2:
		p.shared++
	case g.sequences == 1:
		p.lru.Remove(g.node.cached)
		g.node.cached = nil
	}
}

// release removes a sequence from the holders of a page. Without another sequence the page is cached if the
// tree has it and is not private, else free. Sequences release their last page first, which keeps the list of
// cached pages in order.
func (p *Pool) release(id uint32) {
	g := &p.pages[id]
	g.sequences--
	switch {
	case g.sequences == 1:
		p.shared--
	case g.sequences == 0 && g.node != nil && !g.node.private:
		g.node.cached = p.lru.PushBack(g.node)
	case g.sequences == 0:
		if g.node != nil {
			p.unpublish(g.node)
		}
		p.free = append(p.free, id)
	}
}

// writable says whether a single sequence, and not the tree, holds a page.
func (p *Pool) writable(id uint32) bool {
	g := p.pages[id]
	return g.sequences == 1 && g.node == nil
}
