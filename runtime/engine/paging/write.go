package paging

import (
	"fmt"

	"mla/runtime/plan"
)

// Reserve reserves capacity for n tokens after Len: n rows that the device may write. It takes all pages that
// this needs, or none and returns *OutOfPages. If the page of the last rows has other holders, the sequence
// gets a copy of it.
func (s *Sequence) Reserve(n int) (Orders, error) {
	if s.closed {
		return Orders{}, ErrClosed
	}
	if n < 0 {
		return Orders{}, fmt.Errorf("capacity for %d tokens", n)
	}
	if n <= s.Capacity() {
		return Orders{}, nil
	}
	p, fresh, shared, available := s.pool, s.missing(n), s.sharesTail(), s.pool.available()
	if s.root.private && shared && s.cachedTail() {
		shared = false // a private tree's page is found by no other sequence
	}
	needed := fresh
	if shared {
		needed++
	}
	switch {
	case needed <= available:
	case shared && fresh == available && s.cachedTail():
		// All cached pages are about to be evicted, so the sequence takes the tail's page from the tree
		// instead of copying it.
		shared = false
		p.evicted++
	default:
		return Orders{}, &OutOfPages{Needed: needed, Available: available, Total: p.total}
	}
	return s.grow(fresh, shared), nil
}

// Capacity is the number of tokens that may be run and appended without a Reserve.
func (s *Sequence) Capacity() int {
	if !s.owned {
		return 0
	}
	return len(s.table)*plan.PageRows - s.Len()
}

// missing is the number of pages that the table lacks for n tokens after Len.
func (s *Sequence) missing(n int) int {
	if have := len(s.table)*plan.PageRows - s.Len(); n > have {
		return (n-have-1)/plan.PageRows + 1
	}
	return 0
}

// sharesTail says whether the tail's page has other holders.
func (s *Sequence) sharesTail() bool {
	return s.rows > 0 && !s.pool.writable(s.table[s.full])
}

// cachedTail says whether the tree is the only other holder of the tail's page.
func (s *Sequence) cachedTail() bool {
	return s.pool.pages[s.table[s.full]].sequences == 1
}

// grow adds pages to the table. It makes the tail's page the sequence's own, by a copy, or by taking it from
// the tree.
func (s *Sequence) grow(fresh int, copied bool) Orders {
	p, first := s.pool, len(s.table)
	for range fresh {
		s.table = append(s.table, p.take())
	}
	s.owned = true
	if !copied {
		if s.rows > 0 && p.pages[s.table[s.full]].node != nil {
			p.unpublish(p.pages[s.table[s.full]].node)
		}
		return entries(s.table, first, len(s.table))
	}
	from, to := s.table[s.full], p.take()
	s.table[s.full] = to
	p.release(from) // not earlier, as it must not be evicted before
	o := entries(s.table, s.full, len(s.table))
	o.Copies = []Copy{{From: from, To: to, Rows: s.rows}}
	return o
}

// Append appends tokens that the device has run, or will run before any later work. They must fit the
// capacity. Pages that they fill belong to the tree from then on. If the tree has a page of the same tokens,
// it replaces the sequence's own in the table.
func (s *Sequence) Append(tokens []int32) (Orders, error) {
	if s.closed {
		return Orders{}, ErrClosed
	}
	if len(tokens) > s.Capacity() {
		return Orders{}, fmt.Errorf("%d tokens with capacity for %d", len(tokens), s.Capacity())
	}
	run := min(s.sought, len(tokens))
	s.sought -= run
	s.pool.misses += int64(run)
	first, end := 0, 0
	for len(tokens) > 0 {
		n := copy(s.tail[s.rows:], tokens)
		tokens = tokens[n:]
		s.rows += n
		if s.rows == plan.PageRows && s.publish() {
			if end == 0 {
				first = s.full - 1
			}
			end = s.full
		}
	}
	return entries(s.table, first, end), nil
}

// publish adds the tail's page, which is full, to the tree, and says whether the table has changed.
func (s *Sequence) publish() bool {
	own := s.table[s.full]
	s.at = s.pool.publish(s.at, &s.tail, own)
	changed := s.at.page != own
	if changed {
		s.pool.retain(s.at.page)
		s.pool.release(own)
		s.table[s.full] = s.at.page
	}
	s.full, s.rows = s.full+1, 0
	return changed
}
