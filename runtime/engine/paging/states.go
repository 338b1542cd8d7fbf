package paging

import (
	"container/list"

	"mla/runtime/plan"
)

// # States
//
// Rows alone do not say how a text goes on where layers have linear attention: these fold all tokens into a state of
// fixed size. A pool with KeepStates has copies of states at ends of pages, each with the node of the page, so a state
// goes when its page does. A sequence then finds pages up to the deepest one with a state, and no further. The states
// that were used longest ago make room for others.

// saved is the states of a pool.
type saved struct {
	budget, used int64      // bytes
	lru          *list.List // the nodes (*node) that have one, that used longest ago first
}

// KeepStates makes the pool one whose sequences have states, and keeps copies of a given number of bytes.
func (p *Pool) KeepStates(budget int64) { p.states = &saved{budget: budget, lru: list.New()} }

// state is a copy of one, of the tokens up to the end of a node's page.
type state struct {
	data []byte
	at   *list.Element
}

// use marks a state as used last.
func (p *Pool) use(n *node) []byte {
	p.states.lru.MoveToBack(n.state.at)
	return n.state.data
}

// dropState forgets a node's state, if it has one.
func (p *Pool) dropState(n *node) {
	if n.state != nil {
		p.states.used -= int64(len(n.state.data))
		p.states.lru.Remove(n.state.at)
		n.state = nil
	}
}

// here is the node at the end of whose page the sequence is; nil: it is at the end of none.
func (s *Sequence) here() *node {
	if s.closed || s.pool.states == nil || s.rows > 0 || s.full == 0 {
		return nil
	}
	return s.at
}

// Saves says whether SaveState would keep a new state of a given number of bytes.
func (s *Sequence) Saves(bytes int) bool {
	n := s.here()
	return n != nil && n.state == nil && int64(bytes) <= s.pool.states.budget
}

// SaveState keeps the state after the sequence's tokens, which must end with a page (Saves). The caller must not change
// it any more.
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

// StateBefore is the deepest position up to n of the sequence's tokens after which there is a state, and that; 0, nil:
// there is none. The caller must not change it.
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

// ForgetState forgets the state after the first n tokens, if there is one.
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

// resumable is the first nodes of a path, up to the last one with a state. Without states these are all.
func (p *Pool) resumable(path []*node) []*node {
	if p.states == nil {
		return path
	}
	for len(path) > 0 && path[len(path)-1].state == nil {
		path = path[:len(path)-1]
	}
	return path
}

// Known is how many leading tokens the last Reuse found pages of: more than Len where there was no state after them.
func (s *Sequence) Known() int { return s.known }

// States is how many copies of states there are, and how many bytes they have.
func (p *Pool) States() (n int, bytes int64) {
	if p.states == nil {
		return 0, 0
	}
	return p.states.lru.Len(), p.states.used
}
