package grammar

import "encoding/binary"

// look appends how a state looks: whether its rule may end, and where bytes lead.
func look(key []byte, s *state, class func(edge) uint32) []byte {
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
		key = binary.LittleEndian.AppendUint32(append(key, e.lo, e.hi), to)
	}
	return append(key, 2)
}

// partition puts states into classes.
type partition struct {
	states []state
	first  int32
	class  []int32  // by state
	size   []int32  // by class
	looks  []string // by class: those of its states
}

// compare finds out which states are alike for texts of up to so many bytes: after n rounds,
// the classes tell apart what n bytes can (Moore's algorithm, stopped early). A round looks
// only at states that lead to those that left their class in the round before.
func compare(states []state, first int32, depth int) []int32 {
	p := &partition{states: states, first: first, class: make([]int32, len(states)), size: []int32{int32(len(states))}, looks: []string{""}}
	users := make([][]int32, len(states))
	at := make([]int32, len(states))
	for i := range states {
		at[i] = int32(i)
		for _, e := range states[i].edges {
			to := e.to - first
			if n := len(users[to]); n == 0 || users[to][n-1] != int32(i) {
				users[to] = append(users[to], int32(i))
			}
		}
	}
	marked := make([]bool, len(states))
	for left := 8*len(states) + 1<<14; len(at) > 0 && depth >= 0; depth-- {
		if left -= len(at); left < 0 { // nothing is shared
			for i := range p.class {
				p.class[i] = int32(i)
			}
			break
		}
		var next []int32
		for _, i := range p.split(at) {
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
	return p.class
}

// split looks at states and returns those that leave their class. Of a class, those stay that
// look as the ones that are not looked at, or, if all are, the most that look alike.
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
		key = look(key, &p.states[i], func(e edge) uint32 { return uint32(p.class[e.to-p.first]) })
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
