package jinja

// scope has the variables of a block. Lookups continue in the surrounding scopes.
type scope struct {
	names  []string
	values []Value
	outer  *scope
}

func (sc *scope) set(name string, v Value) {
	for i, n := range sc.names {
		if n == name {
			sc.values[i] = v
			return
		}
	}
	sc.names, sc.values = append(sc.names, name), append(sc.values, v)
}

func (sc *scope) get(name string) (Value, bool) {
	for ; sc != nil; sc = sc.outer {
		for i, n := range sc.names {
			if n == name {
				return sc.values[i], true
			}
		}
	}
	return nil, false
}

// run executes statements until one changes the flow.
func (s *state) run(body []node, sc *scope) flow {
	s.enter()
	defer s.leave()
	for _, n := range body {
		s.spend(1)
		if to := n.exec(s, sc); to != goOn {
			return to
		}
	}
	return goOn
}

// inner returns a scope within sc.
func (s *state) inner(sc *scope) *scope {
	s.charge(overhead)
	return &scope{outer: sc}
}

func (n *textNode) exec(s *state, _ *scope) flow {
	s.write(n.text)
	return goOn
}

func (n *printNode) exec(s *state, sc *scope) flow {
	s.line = n.line
	s.write(s.str(s.eval(n.x, sc)))
	return goOn
}

func (n *doNode) exec(s *state, sc *scope) flow {
	s.line = n.line
	s.eval(n.x, sc)
	return goOn
}

func (n *jumpNode) exec(*state, *scope) flow { return n.to }

func (n *setNode) exec(s *state, sc *scope) flow {
	s.line = n.line
	s.assign(n.to, s.eval(n.x, sc), sc, sc)
	return goOn
}

func (n *setBlock) exec(s *state, sc *scope) flow {
	s.line = n.line
	to := goOn
	var v Value = s.capture(func() { to = s.run(n.body, s.inner(sc)) })
	if to != goOn {
		return to
	}
	if n.filter != nil {
		v = s.filtered(n.filter, v, sc)
	}
	s.assign(n.to, v, sc, sc)
	return goOn
}

// assign sets a target's names in the scope to, and looks up namespaces in the scope from.
func (s *state) assign(t target, v Value, from, to *scope) {
	s.spend(1)
	switch {
	case t.list != nil:
		items := s.items(v)
		if len(items) != len(t.list) {
			fail("%d values cannot be assigned to %d targets", len(items), len(t.list))
		}
		for i, x := range t.list {
			s.assign(x, items[i], from, to)
		}
	case t.attr != "":
		found, _ := from.get(t.name)
		ns, ok := found.(*namespace)
		if !ok {
			fail("cannot assign the attribute %s of %s: it is no namespace", t.attr, t.name)
		}
		s.put(ns.attrs, t.attr, v)
	default:
		s.charge(overhead)
		to.set(t.name, v)
	}
}

func (n *ifNode) exec(s *state, sc *scope) flow {
	for i, test := range n.tests {
		s.line = n.line
		if truth(s.eval(test, sc)) {
			return s.run(n.bodies[i], sc)
		}
	}
	return s.run(n.other, sc)
}

func (n *withNode) exec(s *state, sc *scope) flow {
	s.line = n.line
	in := s.inner(sc)
	for i, x := range n.values {
		s.assign(n.targets[i], s.eval(x, sc), sc, in)
	}
	return s.run(n.body, in)
}

func (n *filterNode) exec(s *state, sc *scope) flow {
	s.line = n.line
	to := goOn
	text := s.capture(func() { to = s.run(n.body, s.inner(sc)) })
	if to == goOn {
		s.write(s.str(s.filtered(n.filter, text, sc)))
	}
	return to
}

func (n *generationNode) exec(s *state, sc *scope) flow { return s.run(n.body, s.inner(sc)) }

func (n *macroNode) exec(s *state, sc *scope) flow {
	s.charge(overhead)
	sc.set(n.name, &macro{n, sc})
	return goOn
}

func (n *callNode) exec(s *state, sc *scope) flow {
	s.line = n.line
	f := s.eval(n.call.f, sc)
	a := s.arguments(n.call.args, sc)
	a.names, a.named = append(a.names, "caller"), append(a.named, &macro{n.body, sc})
	s.write(s.str(s.call(f, a)))
	return goOn
}

// macro is a macro with the scope in which it was defined.
type macro struct {
	node *macroNode
	sc   *scope
}

// call returns the output of the macro.
func (m *macro) call(s *state, a args) Value {
	s.enter()
	defer s.leave()
	in := s.inner(m.sc)
	n := m.node
	given := min(len(a.list), len(n.params))
	for i, name := range n.params {
		var v Value
		switch at, ok := a.named1(name); {
		case i < given:
			v = a.list[i]
		case ok:
			v = a.named[at]
			a = a.without(at)
		case i >= len(n.params)-len(n.defaults):
			v = s.eval(n.defaults[i-(len(n.params)-len(n.defaults))], in)
		default:
			v = &undefined{"parameter " + quote(name) + " was not provided"}
		}
		in.set(name, v)
	}
	m.rest(s, a, given, in)
	line := s.line
	text := s.capture(func() { s.run(n.body, in) })
	s.line = line
	return text
}

// rest sets the names for arguments without a parameter, or refuses such arguments.
func (m *macro) rest(s *state, a args, given int, in *scope) {
	n := m.node
	if n.caller {
		if at, ok := a.named1("caller"); ok {
			in.set("caller", a.named[at])
			a = a.without(at)
		} else if _, bound := in.own("caller"); !bound {
			in.set("caller", &undefined{"No caller defined"})
		}
	}
	switch {
	case n.kwargs:
		d := &Dict{}
		for i, name := range a.names {
			s.put(d, name, a.named[i])
		}
		in.set("kwargs", d)
	case len(a.names) > 0:
		fail("macro %s takes no keyword argument %s", quote(n.name), quote(a.names[0]))
	}
	switch {
	case n.varargs:
		in.set("varargs", &tuple{items: a.list[given:]})
	case len(a.list) > given:
		fail("macro %s takes not more than %d argument(s)", quote(n.name), len(n.params))
	}
}

// own returns a variable of this scope only.
func (sc *scope) own(name string) (Value, bool) {
	one := scope{names: sc.names, values: sc.values}
	return one.get(name)
}
