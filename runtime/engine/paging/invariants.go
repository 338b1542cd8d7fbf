package paging

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// Invariants walks the tree, all open sequences and the lists, and reports contradictions. It is for tests:
// it takes time proportional to all tables.
func (p *Pool) Invariants() error {
	w := walk{pool: p, sequences: make([]int, len(p.pages)), nodes: make([]*node, len(p.pages))}
	for scope, root := range p.roots {
		w.expect(root.scope == scope, "the tree of scope %q says that it is %q's", scope, root.scope)
		w.expect(root.sequences > 0 || len(root.children) > 0, "the tree of scope %q has nothing", scope)
		w.tree(root)
	}
	private := map[*node]bool{}
	for s := range p.open {
		if s.root.private && !private[s.root] {
			private[s.root] = true
			w.tree(s.root)
		}
	}
	open := map[*node]int{}
	for s := range p.open {
		w.sequence(s)
		open[s.root]++
	}
	for root, n := range open {
		w.expect(root.sequences == n, "a tree counts %d sequences of %d", root.sequences, n)
	}
	w.lists()
	w.pages()
	w.states()
	return errors.Join(w.errs...)
}

// walk is the findings of Invariants.
type walk struct {
	pool      *Pool
	sequences []int   // by page: number of tables with it
	nodes     []*node // by page: its node in the tree
	errs      []error
}

func (w *walk) expect(ok bool, format string, args ...any) {
	if !ok {
		w.errs = append(w.errs, fmt.Errorf(format, args...))
	}
}

// tree records the nodes below n.
func (w *walk) tree(n *node) {
	for i, c := range n.children {
		w.expect(c.parent == n, "page %d: its node has another parent", c.page)
		w.expect(i == 0 || slices.Compare(n.children[i-1].tokens[:], c.tokens[:]) < 0, "page %d: out of order", c.page)
		w.expect(w.nodes[c.page] == nil, "page %d: two nodes", c.page)
		w.nodes[c.page] = c
		w.tree(c)
	}
}

// sequence counts the pages of a table and compares them with the tree.
func (w *walk) sequence(s *Sequence) {
	used := pagesOf(s.Len())
	w.expect(s.rows >= 0 && s.rows < plan.PageRows, "a tail of %d rows", s.rows)
	w.expect(len(s.table) == used || s.owned && len(s.table) > used, "%d pages for %d tokens", len(s.table), s.Len())
	for _, id := range s.table {
		w.sequences[id]++
	}
	n := s.at
	for i := s.full - 1; i >= 0; i-- {
		if n.parent == nil {
			w.expect(false, "%d full pages, but %d fewer in the tree", s.full, i+1)
			return
		}
		w.expect(n.page == s.table[i], "table entry %d is page %d, the tree's is %d", i, s.table[i], n.page)
		w.expect(w.nodes[n.page] == n, "page %d: its node is not in the tree", n.page)
		n = n.parent
	}
	w.expect(n == s.root, "the full pages do not begin at the root")
	for i := s.full; s.owned && i < len(s.table); i++ {
		w.expect(w.pool.writable(s.table[i]), "page %d can be written to, but has other holders", s.table[i])
	}
}

// lists compares the lists with the pages.
func (w *walk) lists() {
	p := w.pool
	idle := make([]bool, len(p.pages))
	for _, id := range p.free {
		w.expect(!idle[id] && w.sequences[id] == 0 && w.nodes[id] == nil, "page %d is free, but held or free twice", id)
		idle[id] = true
	}
	for e := p.lru.Front(); e != nil; e = e.Next() {
		n := e.Value.(*node)
		w.expect(n.cached == e && w.nodes[n.page] == n, "page %d is cached, but not in the tree", n.page)
		w.expect(!idle[n.page] && w.sequences[n.page] == 0, "page %d is cached, but held, free or cached twice", n.page)
		w.expect(!n.private, "page %d is cached, but private", n.page)
		idle[n.page] = true
		for _, c := range n.children {
			w.expect(idle[c.page], "page %d would be evicted before page %d below it", n.page, c.page)
		}
	}
	for id := range p.pages {
		w.expect(idle[id] == (w.sequences[id] == 0), "page %d is lost: no sequence and no list has it", id)
	}
}

// states compares the saved states with their nodes.
func (w *walk) states() {
	kept, bytes := 0, int64(0)
	for _, n := range w.nodes {
		if n != nil && n.state != nil {
			kept, bytes = kept+1, bytes+int64(len(n.state.data))
			w.expect(n.state.at.Value == n, "page %d has the state of another one", n.page)
		}
	}
	if s := w.pool.states; s != nil {
		w.expect(s.lru.Len() == kept && s.used == bytes && bytes <= s.budget, "%d states of %d bytes in all are counted, of at most %d; the tree has %d of %d", s.lru.Len(), s.used, s.budget, kept, bytes)
	}
}

// pages compares the pool's counts with those of the walk.
func (w *walk) pages() {
	p, shared := w.pool, 0
	for id, g := range p.pages {
		w.expect(g.sequences == w.sequences[id], "page %d: %d sequences are counted, %d hold it", id, g.sequences, w.sequences[id])
		w.expect(g.node == w.nodes[id], "page %d: it and the tree disagree about its node", id)
		if w.sequences[id] > 1 {
			shared++
		}
		if n := w.nodes[id]; n != nil && n.parent.parent != nil {
			w.expect(w.sequences[id] <= w.sequences[n.parent.page], "page %d has more holders than page %d above it", id, n.parent.page)
		}
	}
	w.expect(len(p.pages) <= p.total, "%d pages of %d", len(p.pages), p.total)
	w.expect(p.shared == shared, "%d shared pages are counted, %d found", p.shared, shared)
}
