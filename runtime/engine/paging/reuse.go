package paging

import "mla/runtime/plan"

// Reuse looks up the next tokens in the scope's tree, and makes the whole pages that it finds the sequence's
// own; Len counts them afterwards. At least the last token of next is left to be run. Only whole pages are
// found, so that a client cannot learn other texts by trying token after token. Apart from Open, callers are
// sequences that continue with other tokens after Truncate, and prompts that are run in pieces, as another
// sequence may have run the next piece in the meantime. A private sequence finds nothing.
func (s *Sequence) Reuse(next []int32) (Orders, error) {
	if s.closed {
		return Orders{}, ErrClosed
	}
	s.giveUpCapacity()
	s.known = s.Len()
	s.sought = len(next)
	if len(next) < 2 || s.root.private {
		return Orders{}, nil
	}
	tokens := make([]int32, 0, s.rows+len(next)-1)
	tokens = append(append(tokens, s.tail[:s.rows]...), next[:len(next)-1]...)
	path := s.at.follow(tokens)
	s.known = (s.full + len(path)) * plan.PageRows
	path = s.pool.resumable(path)
	if len(path) == 0 {
		return Orders{}, nil
	}
	found := len(path)*plan.PageRows - s.rows
	s.sought -= found
	s.pool.hits += int64(found)
	return s.adopt(path), nil
}

// follow returns the nodes below n that hold the pages of tokens, beginning with the first token.
func (n *node) follow(tokens []int32) (path []*node) {
	for n = n.child(tokens); n != nil; n = n.child(tokens) {
		path, tokens = append(path, n), tokens[plan.PageRows:]
	}
	return path
}

// adopt appends the pages of a path to the sequence's full pages, and drops the tail's page.
func (s *Sequence) adopt(path []*node) Orders {
	for _, n := range path {
		s.pool.retain(n.page)
	}
	first := s.full
	s.drop(first)
	for _, n := range path {
		s.table = append(s.table, n.page)
	}
	s.at, s.full, s.rows = path[len(path)-1], s.full+len(path), 0
	return entries(s.table, first, len(s.table))
}
