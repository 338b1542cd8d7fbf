package paging

import (
	"fmt"
	"slices"

	"mla/runtime/plan"
)

// Sequence is the tokens of one session whose rows a pool holds, and their pages.
type Sequence struct {
	pool  *Pool
	root  *node                // of the tree that the sequence's full pages belong to
	at    *node                // node of the last full page; the root if there is none
	full  int                  // number of full pages: the nodes on the path from the root to at
	tail  [plan.PageRows]int32 // the tokens after the full pages …
	rows  int                  // … and their number, less than plan.PageRows
	table []uint32             // pages: the full ones, the tail's, and the reserved ones

	// owned says that this sequence may write all rows after Len that its table covers. Reserve makes it so.
	owned  bool
	known  int // tokens up to here were found by the last Reuse, but not all could be used without a state
	sought int // tokens of the prompt that were not found and have not been run yet
	closed bool
}

// Open begins a sequence of a scope for a prompt. The prompt's leading pages that the scope's tree holds
// belong to the sequence at once; Len is their number of tokens. At least the prompt's last token is left to
// be run, as its logits are wanted. Open takes no free page.
func (p *Pool) Open(scope string, prompt []int32) (*Sequence, Orders) {
	s := p.below(p.root(scope))
	o, _ := s.Reuse(prompt) // it fails only after Close
	return s, o
}

// OpenPrivate begins a sequence with a tree of its own, which finds no pages of others, and whose pages
// others do not find. Pages that it releases are free, never cached.
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

// Table is the pages of the sequence, those of reserved capacity included. The caller must not change it; it
// is valid until the next call.
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

// Truncate removes the tokens from n on. If n cuts a page that has other holders, the next Reserve copies the
// page.
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

// Fork returns a second sequence with the same tokens and pages. When holders of a partly filled last page
// reserve capacity, all but the last of them get a copy of the page. The orders are the new sequence's table.
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

// Close releases the sequence's pages. Full pages stay cached until they are evicted. A second Close does
// nothing.
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

// giveUpCapacity releases the pages without valid rows. Whether the tail's page may be written is decided
// again by Reserve.
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

// pagesOf is the number of pages for a number of tokens.
func pagesOf(tokens int) int {
	return tokens/plan.PageRows + min(tokens%plan.PageRows, 1)
}
