package grammar

import (
	"encoding/binary"
	"hash/maphash"
)

// look appends a description of a state: whether its rule may end, and where bytes lead.
func look(key []byte, s *state, class func(edge) uint64) []byte {
	accept := byte(0)
	if s.accept {
		accept = 1
	}
	key = append(key, accept, byte(len(s.edges)))
	for at := 0; at < len(s.edges); {
		e := s.edges[at]
		to := class(e)
		for at++; at < len(s.edges) && s.edges[at].lo == e.hi+1 && class(s.edges[at]) == to; at++ {
			e.hi = s.edges[at].hi
		}
		key = binary.LittleEndian.AppendUint64(append(key, e.lo, e.hi), to)
	}
	return append(key, 2)
}

// rounds is the number of rounds that distinguish states by tokens of up to shortBytes bytes: one for every
// byte, and one for whether the rule may end after the last byte.
const rounds = shortBytes + 1

// likeness says which states allow the same tokens of up to shortBytes bytes. After round n, states of one
// class are equivalent for n bytes (Moore's algorithm, stopped early).
type likeness struct {
	states []state
	first  int32
	moves  []move  // sorted by state, then by round
	begin  []int32 // by state: index of its first move; one more for the end
	keys   map[move]uint64
}

// move says that a state has a class from a round on. Before its first move its class is 0.
type move struct{ round, class int32 }

// seed prevents clients from constructing states that collide.
var seed = maphash.MakeSeed()

// newLikeness returns nil if the computation would take too long.
func newLikeness(states []state, first int32) *likeness {
	p := &partition{states: states, first: first, class: make([]int32, len(states)), size: []int32{int32(len(states))}, looks: []string{""}}
	if !p.refine() {
		return nil
	}
	l := &likeness{states: states, first: first, moves: make([]move, len(p.moves)), begin: make([]int32, len(states)+1), keys: map[move]uint64{}}
	for _, m := range p.moves {
		l.begin[m.state+1]++
	}
	for i := range states {
		l.begin[i+1] += l.begin[i]
	}
	at := append([]int32(nil), l.begin...)
	for _, m := range p.moves {
		l.moves[at[m.state]] = m.move
		at[m.state]++
	}
	return l
}

// class is the class of a state after a round.
func (l *likeness) class(at, round int32) (class int32) {
	for _, m := range l.moves[l.begin[at]:l.begin[at+1]] {
		if m.round > round {
			break
		}
		class = m.class
	}
	return class
}

// key is equal for equivalent states of any grammars.
func (l *likeness) key(at, round int32) uint64 {
	if round == 0 {
		return 0
	}
	class := move{round, l.class(at, round)}
	key, ok := l.keys[class]
	if !ok {
		text := look(nil, &l.states[at], func(e edge) uint64 { return l.key(e.to-l.first, round-1) })
		key = maphash.Bytes(seed, text)
		l.keys[class] = key
	}
	return key
}

// partition divides states into classes.
type partition struct {
	states []state
	first  int32
	class  []int32  // by state
	size   []int32  // by class
	looks  []string // by class: the common look of its states
	moves  []stateMove
}

// stateMove is a move of one state.
type stateMove struct {
	state int32
	move
}

// refine computes the classes of all rounds. A round examines only states with edges to states that changed
// their class in the round before. It returns false if that takes too long.
func (p *partition) refine() bool {
	users := p.users()
	at := make([]int32, len(p.states))
	for i := range at {
		at[i] = int32(i)
	}
	marked := make([]bool, len(p.states))
	left := 8*len(p.states) + 1<<14
	for round := int32(1); len(at) > 0 && round <= rounds; round++ {
		if left -= len(at); left < 0 {
			return false
		}
		var next []int32
		for _, i := range p.split(at) {
			p.moves = append(p.moves, stateMove{i, move{round, p.class[i]}})
			for _, u := range users[i] {
				if !marked[u] {
					marked[u] = true
					next = append(next, u)
				}
			}
		}
		for _, u := range next {
			marked[u] = false
		}
		at = next
	}
	return true
}

// users is, for each state, the states with edges to it.
func (p *partition) users() [][]int32 {
	users := make([][]int32, len(p.states))
	for i := range p.states {
		for _, e := range p.states[i].edges {
			to := e.to - p.first
			if n := len(users[to]); n == 0 || users[to][n-1] != int32(i) {
				users[to] = append(users[to], int32(i))
			}
		}
	}
	return users
}

// split examines states and returns those that leave their class. Of a class, the states that look like the
// unexamined ones stay; if all were examined, the largest group stays.
func (p *partition) split(at []int32) (left []int32) {
	type group struct {
		look   string
		states []int32
	}
	groups := map[int32][]*group{} // by class
	found := map[string]*group{}
	var order []int32
	var key []byte
	for _, i := range at {
		key = binary.LittleEndian.AppendUint32(key[:0], uint32(p.class[i]))
		key = look(key, &p.states[i], func(e edge) uint64 { return uint64(p.class[e.to-p.first]) })
		g := found[string(key)]
		if g == nil {
			g = &group{look: string(key[4:])}
			found[string(key)] = g
			if groups[p.class[i]] == nil {
				order = append(order, p.class[i])
			}
			groups[p.class[i]] = append(groups[p.class[i]], g)
		}
		g.states = append(g.states, i)
	}
	for _, class := range order {
		var stays *group
		all := int32(0)
		for _, g := range groups[class] {
			all += int32(len(g.states))
		}
		for _, g := range groups[class] {
			if all < p.size[class] && g.look == p.looks[class] || all == p.size[class] && (stays == nil || len(g.states) > len(stays.states)) {
				stays = g
			}
		}
		for _, g := range groups[class] {
			if g == stays {
				p.looks[class] = g.look
				continue
			}
			for _, i := range g.states {
				p.class[i] = int32(len(p.size))
			}
			left = append(left, g.states...)
			p.size[class] -= int32(len(g.states))
			p.size, p.looks = append(p.size, int32(len(g.states))), append(p.looks, g.look)
		}
	}
	return left
}
