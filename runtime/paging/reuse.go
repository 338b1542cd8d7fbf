package paging

import "mla/runtime/plan"

// Reuse looks in the tree for the tokens that are to follow, and makes those that
// are found the sequence's own: Len says how far. At least the last token of next is
// left to be run. Besides Open, it is for a sequence that goes on with other tokens
// after Truncate, and for a prompt that is run in pieces: another sequence may have
// run the next piece in the meantime. A private sequence finds nothing.
func (s *Sequence) Reuse(next []int32) (Orders, error) {
	if s.closed {
		return Orders{}, ErrClosed
	}
	s.giveUpRoom()
	s.sought = len(next)
	if len(next) < 2 || s.root.private {
		return Orders{}, nil
	}
	tokens := make([]int32, 0, s.rows+len(next)-1)
	tokens = append(append(tokens, s.tail[:s.rows]...), next[:len(next)-1]...)
	path, rows := s.at.follow(tokens)
	if found := behind(path, rows) - s.rows; found > 0 {
		s.sought -= found
		s.pool.hits += int64(found)
		return s.adopt(path, rows), nil
	}
	return Orders{}, nil
}

// follow is the nodes below n that hold tokens, from the first on: the last one
// holds the last rows of them, the others PageRows each.
func (n *node) follow(tokens []int32) (path []*node, rows int) {
	for rows = plan.PageRows; rows == plan.PageRows; {
		child, common := n.longest(tokens)
		if child == nil {
			return path, rows
		}
		path, rows, n, tokens = append(path, child), common, child, tokens[common:]
	}
	return path, rows
}

// behind is the number of tokens that follow found.
func behind(path []*node, rows int) int {
	if len(path) == 0 {
		return 0
	}
	return (len(path)-1)*plan.PageRows + rows
}

// adopt puts the pages of a path behind the sequence's full pages, in place of the
// tail's page.
func (s *Sequence) adopt(path []*node, rows int) Orders {
	for _, n := range path {
		s.pool.retain(n.page)
	}
	first := s.full
	s.drop(first)
	for _, n := range path {
		s.table = append(s.table, n.page)
	}
	last := path[len(path)-1]
	s.full += len(path) - 1
	s.at, s.tail, s.rows = last.parent, last.tokens, rows
	if rows == plan.PageRows {
		s.at, s.full, s.rows = last, s.full+1, 0
	}
	return entries(s.table, first, len(s.table))
}
