package jinja

// loop is the template's variable `loop`.
type loop struct {
	state   *state
	node    *forNode
	outer   *scope
	over    Value // nil if the iterable has no length
	it      *iterator
	index0  int
	size    int // -1: unknown so far
	peeked  bool
	more    bool // there is a next item, valid if peeked
	next    Value
	before  Value
	current Value
	seen    []Value // last arguments of changed
	depth0  int
}

func (n *forNode) exec(s *state, sc *scope) flow {
	s.line = n.line
	return n.loop(s, s.eval(n.over, sc), sc, 0)
}

// loop executes a loop's body for every item, or the else block if there is none.
func (n *forNode) loop(s *state, over Value, sc *scope, depth int) flow {
	l := &loop{state: s, node: n, outer: sc, over: over, it: s.iterate(over), index0: -1, size: -1, depth0: depth}
	if n.test != nil {
		l.filter(s)
	}
	complete := false // as in jinja2, an iteration counts only if it is completed
	for to := goOn; to != toBreak && l.advance(); {
		in := s.inner(sc)
		in.set("loop", l)
		s.assign(n.to, l.current, sc, in)
		to = s.run(n.body, in)
		complete = complete || to == goOn
	}
	if !complete {
		return s.run(n.other, s.inner(sc))
	}
	return goOn
}

// filter drops items that do not satisfy the loop's condition.
func (l *loop) filter(s *state) {
	all := l.it
	l.over = nil
	l.it = &iterator{kind: "generator", next: func() (Value, bool) {
		for {
			v, ok := all.next()
			if !ok {
				return nil, false
			}
			in := s.inner(l.outer)
			s.assign(l.node.to, v, l.outer, in)
			if truth(s.eval(l.node.test, in)) {
				return v, true
			}
		}
	}}
}

// peek says whether there is a next item.
func (l *loop) peek() bool {
	if !l.peeked {
		l.next, l.more = l.it.next()
		l.peeked = true
	}
	return l.more
}

func (l *loop) advance() bool {
	if !l.peek() {
		return false
	}
	l.peeked = false
	l.before, l.current = l.current, l.next
	l.index0++
	return true
}

func (l *loop) length() int {
	if l.size >= 0 {
		return l.size
	}
	if l.over != nil {
		if n, ok := length(l.over); ok {
			l.size = n
			return n
		}
	}
	rest := l.state.items(l.it)
	l.it = l.state.iterate(&List{items: rest})
	l.size = len(rest) + l.index0 + 1
	if l.peeked && l.more {
		l.size++
	}
	return l.size
}

// loopAttributes are the attributes of `loop`.
var loopAttributes = map[string]func(l *loop) Value{
	"index":     func(l *loop) Value { return l.index0 + 1 },
	"index0":    func(l *loop) Value { return l.index0 },
	"revindex":  func(l *loop) Value { return l.length() - l.index0 },
	"revindex0": func(l *loop) Value { return l.length() - l.index0 - 1 },
	"first":     func(l *loop) Value { return l.index0 == 0 },
	"last":      func(l *loop) Value { return !l.peek() },
	"length":    func(l *loop) Value { return l.length() },
	"depth":     func(l *loop) Value { return l.depth0 + 1 },
	"depth0":    func(l *loop) Value { return l.depth0 },
	"cycle":     func(l *loop) Value { return &function{"cycle", l.cycle} },
	"changed":   func(l *loop) Value { return &function{"changed", l.changed} },
	"previtem": func(l *loop) Value {
		if l.index0 <= 0 {
			return &undefined{"there is no previous item"}
		}
		return l.before
	},
	"nextitem": func(l *loop) Value {
		if !l.peek() {
			return &undefined{"there is no next item"}
		}
		return l.next
	},
}

func (l *loop) cycle(_ *state, a args) Value {
	if len(a.list) == 0 {
		fail("no items for cycling given")
	}
	return a.list[l.index0%len(a.list)]
}

func (l *loop) changed(s *state, a args) Value {
	if l.seen != nil && s.equal(&List{items: l.seen}, &List{items: a.list}) {
		return false
	}
	l.seen = append([]Value{}, a.list...)
	return true
}

// call renders the loop's body for other items: a recursive loop.
func (l *loop) call(s *state, a args) Value {
	if !l.node.recursive {
		fail("The loop must have the 'recursive' marker to be called recursively.")
	}
	over := s.bind("loop", a, "iterable")[0]
	return s.capture(func() { l.node.loop(s, over, l.outer, l.depth0+1) })
}

// iterate is Python's iter().
func (s *state) iterate(v Value) *iterator {
	if it, ok := v.(*iterator); ok {
		return it
	}
	if text, ok := textOf(v); ok {
		return &iterator{"str_iterator", func() (Value, bool) {
			s.spend(1)
			if text == "" {
				return nil, false
			}
			n := firstRune(text)
			c := text[:n]
			text = text[n:]
			return c, true
		}}
	}
	size, at := s.indexed(v)
	i := -1
	return &iterator{"list_iterator", func() (Value, bool) {
		s.spend(1)
		i++
		if i >= size() {
			i = 1 << 62 // an iterator that has ended stays so
			return nil, false
		}
		return at(i), true
	}}
}

// indexed returns the number of items and their accessor.
func (s *state) indexed(v Value) (size func() int, at func(i int) Value) {
	switch v := v.(type) {
	case *List:
		return func() int { return len(v.items) }, func(i int) Value { return v.items[i] }
	case *tuple:
		return func() int { return len(v.items) }, func(i int) Value { return v.items[i] }
	case *Dict:
		return s.members(v), func(i int) Value { return v.keys[i] }
	case *view:
		return s.members(v.dict), v.at
	case *numbers:
		return func() int { return v.n }, func(i int) Value { return v.start + i*v.step }
	case *undefined:
		return func() int { return 0 }, nil
	}
	fail("%s object is not iterable", quote(typeName(v)))
	return nil, nil
}

// members returns the size of a dict, which must not change during an iteration.
func (s *state) members(d *Dict) func() int {
	size := len(d.keys)
	return func() int {
		if len(d.keys) != size {
			fail("dictionary changed size during iteration")
		}
		return size
	}
}

// items is Python's list().
func (s *state) items(v Value) []Value {
	if n, ok := length(v); ok {
		s.charge(times(n, 16))
	}
	if list, ok := sequence(v); ok {
		return append([]Value{}, list...)
	}
	list := []Value{}
	for it := s.iterate(v); ; {
		x, ok := it.next()
		if !ok {
			return list
		}
		s.charge(overhead)
		list = append(list, x)
	}
}
