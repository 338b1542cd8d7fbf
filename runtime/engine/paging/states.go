package paging

import (
	"container/list"

	"mla/runtime/plan"
)

// # States
//
// With linear attention, rows alone are not enough to continue a text: these layers fold all tokens into a
// state of fixed size. A pool with KeepStates has copies of states at ends of pages. Each copy belongs to the
// node of its page, and is dropped with it. A sequence then finds pages only up to the deepest one with a
// state. The least recently used states are dropped to stay within the budget.

// saved is the states of a pool.
type saved struct {
	budget, used int64      // bytes
	lru          *list.List // the nodes (*node) with a state, least recently used first
}

// KeepStates makes the pool keep copies of states of up to budget bytes.
func (p *Pool) KeepStates(budget int64) { p.states = &saved{budget: budget, lru: list.New()} }

// state is a copy of the state after all tokens up to the end of a node's page.
type state struct {
	data []byte
	at   *list.Element
}

// use marks a state as most recently used, and returns it.
func (p *Pool) use(n *node) []byte {
	p.states.lru.MoveToBack(n.state.at)
	return n.state.data
}

// dropState drops a node's state, if it has one.
func (p *Pool) dropState(n *node) {
	if n.state != nil {
		p.states.used -= int64(len(n.state.data))
		p.states.lru.Remove(n.state.at)
		n.state = nil
	}
}

// here is the node at whose end the sequence is; nil: the sequence does not end with a page.
func (s *Sequence) here() *node {
	if s.closed || s.pool.states == nil || s.rows > 0 || s.full == 0 {
		return nil
	}
	return s.at
}

// Saves says whether SaveState would keep a new state with this number of bytes.
func (s *Sequence) Saves(bytes int) bool {
	n := s.here()
	return n != nil && n.state == nil && int64(bytes) <= s.pool.states.budget
}

// SaveState keeps the state after the sequence's tokens, which must end with a page (Saves). The caller must
// not change data afterwards.
func (s *Sequence) SaveState(data []byte) {
	if !s.Saves(len(data)) {
		return
	}
	p := s.pool.states
	for p.used+int64(len(data)) > p.budget {
		s.pool.dropState(p.lru.Front().Value.(*node))
	}
	p.used += int64(len(data))
	s.at.state = &state{data, p.lru.PushBack(s.at)}
}

// StateBefore returns the deepest position up to n with a saved state, and the state; 0, nil: there is none.
// The caller must not change it.
func (s *Sequence) StateBefore(n int) (at int, data []byte) {
	if s.closed || s.pool.states == nil {
		return 0, nil
	}
	page := s.at
	for full := s.full; full > 0; full, page = full-1, page.parent {
		if full*plan.PageRows <= n && page.state != nil {
			return full * plan.PageRows, s.pool.use(page)
		}
	}
	return 0, nil
}

// ForgetState drops the state after the first n tokens, if there is one.
func (s *Sequence) ForgetState(n int) {
	if s.closed || s.pool.states == nil {
		return
	}
	page := s.at
	for full := s.full; full*plan.PageRows > n; full-- {
		page = page.parent
	}
	if n > 0 && n%plan.PageRows == 0 && n <= s.full*plan.PageRows {
		s.pool.dropState(page)
	}
}

// resumable returns the leading nodes of a path up to the last one with a state. In a pool without states,
// these are all.
func (p *Pool) resumable(path []*node) []*node {
	if p.states == nil {
		return path
	}
	for len(path) > 0 && path[len(path)-1].state == nil {
		path = path[:len(path)-1]
	}
	return path
}

// Known is how many leading tokens the last Reuse found pages of. It exceeds Len if there was no state after
// them.
func (s *Sequence) Known() int { return s.known }

// States is the number of saved states, and their bytes.
func (p *Pool) States() (n int, bytes int64) {
	if p.states == nil {
		return 0, 0
	}
	return p.states.lru.Len(), p.states.used
}
