package paging

import (
	"container/list"
	"fmt"

	"mla/runtime/plan"
)

// MaxPages is the greatest size of a pool: kernels count rows in 32 bits.
const MaxPages = 1 << 32 / plan.PageRows

// Pool is the pages of a latent cache. A Pool and its sequences are not safe for
// concurrent use.
type Pool struct {
	total int
	pages []page           // those that were handed out at least once; the others are free too
	free  []uint32         // of pages; the last one is taken first
	roots map[string]*node // of the trees, one for each scope; they have no pages
	lru   *list.List       // the nodes (*node) of cached pages, the one used longest ago first
	open  map[*Sequence]struct{}

	states                *saved // nil: rows are all that there is
	shared                int    // pages that at least two sequences hold
	hits, misses, evicted int64
}

// page is one page's holders.
type page struct {
	sequences int   // how many sequences have it in their table
	node      *node // the tree's hold; nil if there is none
}

// root is that of a scope's tree.
func (p *Pool) root(scope string) *node {
	if p.roots[scope] == nil {
		p.roots[scope] = &node{scope: scope}
	}
	return p.roots[scope]
}

// forget drops a tree that has nothing any more.
func (p *Pool) forget(root *node) {
	if root.parent == nil && root.sequences == 0 && len(root.children) == 0 && p.roots[root.scope] == root {
		delete(p.roots, root.scope)
	}
}

// NewPool makes a pool of 1 … MaxPages pages, all of them free. Memory is taken as
// pages are.
func NewPool(pages int) (*Pool, error) {
	if pages < 1 || pages > MaxPages {
		return nil, fmt.Errorf("%d pages: a pool has 1 to %d", pages, MaxPages)
	}
	return &Pool{total: pages, lru: list.New(), roots: map[string]*node{}, open: map[*Sequence]struct{}{}}, nil
}

// available is the number of pages that take can give: a cached page has only cached
// pages below it in the tree, so all of them can be evicted.
func (p *Pool) available() int {
	return p.total - len(p.pages) + len(p.free) + p.lru.Len()
}

// take gives a page, free or evicted, to one sequence. There must be one available.
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

// retain adds a sequence to the holders of a page that has some.
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

// release takes a sequence from the holders of a page. Without another sequence the
// page is cached if the tree has it, else free; so is one of a private tree. Sequences release the pages after
// before those in front, which keeps the list of cached pages in order.
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
