package paging

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// Sequence is the tokens whose rows a pool holds for one session, and their pages.
type Sequence struct {
	pool  *Pool
	root  *node                // of the tree that the sequence's full pages belong to
	at    *node                // of the last full page; the root if there is none
	full  int                  // full pages, all of them nodes on the path from the root to at
	tail  [plan.PageRows]int32 // the tokens after the full pages …
	rows  int                  // … and how many those are, fewer than plan.PageRows
	table []uint32             // pages: the full ones, that of the tail, those reserved after

	// owned says that the rows after Len, as far as the table goes, are this
	// sequence's alone. Reserve makes it so.
	owned  bool
	known  int // tokens up to here were found by the last Reuse, if not all were of use without a state
	sought int // tokens of the prompt that were not found and have not been run yet
	closed bool
}

// Open begins a sequence of a scope for a prompt. Its leading pages that the scope's tree
// holds belong to the sequence at once: Len says how many tokens these are. At least the
// prompt's last token is left to be run, since its logits are wanted. Open takes no page
// that is free.
func (p *Pool) Open(scope string, prompt []int32) (*Sequence, Orders) {
	s := p.below(p.root(scope))
	o, _ := s.Reuse(prompt) // fails only after Close
	return s, o
}

// OpenPrivate begins a sequence that finds no pages of others, and none of whose pages
// others find: a tree of its own. What it gives up is free, never cached.
func (p *Pool) OpenPrivate() *Sequence { return p.below(&node{private: true}) }

// below begins a sequence without tokens in a tree.
func (p *Pool) below(root *node) *Sequence {
	s := &Sequence{pool: p, root: root, at: root}
	root.sequences++
	p.open[s] = struct{}{}
	return s
}

// Len is the number of tokens that the sequence holds.
func (s *Sequence) Len() int { return s.full*plan.PageRows + s.rows }

// Table is the pages of the sequence's rows, those of reserved capacity included. The
// caller must not change it; it is valid until the next call.
func (s *Sequence) Table() []uint32 { return s.table }

// Tokens is a copy of the tokens that the sequence holds.
func (s *Sequence) Tokens() []int32 {
	out := make([]int32, s.Len())
	copy(out[s.full*plan.PageRows:], s.tail[:s.rows])
	n := s.at
	for i := s.full - 1; i >= 0; i-- {
		copy(out[i*plan.PageRows:], n.tokens[:])
		n = n.parent
	}
	return out
}

// Truncate forgets the tokens from n on. A page that others hold too, and that n
// now cuts, is copied by the Reserve before the next rows.
func (s *Sequence) Truncate(n int) error {
	if s.closed {
		return ErrClosed
	}
	if n < 0 || n > s.Len() {
		return fmt.Errorf("a sequence of %d tokens cannot be truncated to %d", s.Len(), n)
	}
	full, rows := n/plan.PageRows, n%plan.PageRows
	for s.full > full {
		s.tail = s.at.tokens
		s.at = s.at.parent
		s.full--
	}
	s.rows, s.sought = rows, 0
	s.giveUpCapacity()
	return nil
}

// Fork makes a second sequence of the same tokens. It holds the same pages: of a
// last page that is filled in part, all holders but the last one get a copy when
// they reserve. The orders are the new sequence's table.
func (s *Sequence) Fork() (*Sequence, Orders, error) {
	if s.closed {
		return nil, Orders{}, ErrClosed
	}
	s.giveUpCapacity()
	f := *s
	f.table = slices.Clone(s.table)
	f.sought = 0
	for _, id := range f.table {
		s.pool.retain(id)
	}
	s.pool.open[&f] = struct{}{}
	s.root.sequences++
	return &f, entries(f.table, 0, len(f.table)), nil
}

// Close gives the sequence's pages back. The full ones stay cached until they are
// evicted. Closing twice does nothing.
func (s *Sequence) Close() {
	if s.closed {
		return
	}
	s.drop(0)
	delete(s.pool.open, s)
	s.root.sequences--
	s.pool.forget(s.root)
	*s = Sequence{pool: s.pool, root: s.root, at: s.root, closed: true}
}

// giveUpCapacity releases the pages without a row that counts. Whether the tail's page
// may be written to is decided anew by Reserve.
func (s *Sequence) giveUpCapacity() {
	s.drop(pagesOf(s.Len()))
	s.owned = false
}

// drop releases the table's entries from first on, the last one first.
func (s *Sequence) drop(first int) {
	for i := len(s.table) - 1; i >= first; i-- {
		s.pool.release(s.table[i])
	}
	s.table = s.table[:min(first, len(s.table))]
}

// pagesOf is the number of pages that a number of tokens takes.
func pagesOf(tokens int) int {
	return tokens/plan.PageRows + min(tokens%plan.PageRows, 1)
}
