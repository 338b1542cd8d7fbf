package jinja

// names is the names that a scope sets. For macros, which run later, a name counts if it is set anywhere in
// the scope.
type names struct {
	set, anywhere map[string]bool
	outer         *names
	late          bool // the scope belongs to a macro
}

func (n *names) has(name string) bool {
	late := false
	for ; n != nil; n = n.outer {
		if n.set[name] || late && n.anywhere[name] {
			return true
		}
		late = late || n.late
	}
	return false
}

// reader collects the names that are read without having been set.
type reader struct{ reads map[string]bool }

// undeclared is the names that a body reads and does not set itself.
func undeclared(body []node) map[string]bool {
	r := &reader{map[string]bool{}}
	r.body(body, nil, false)
	return r.reads
}

// body reads statements in a scope of their own.
func (r *reader) body(body []node, outer *names, late bool, bound ...string) {
	n := &names{set: map[string]bool{}, anywhere: map[string]bool{}, outer: outer, late: late}
	for _, name := range bound {
		n.set[name] = true
	}
	assigned(body, n.anywhere)
	r.nodes(body, n)
}

func (r *reader) nodes(body []node, n *names) {
	for _, x := range body {
		r.node(x, n)
	}
}

// assigned collects the names that statements set in their scope.
func assigned(body []node, into map[string]bool) {
	for _, x := range body {
		switch x := x.(type) {
		case *setNode:
			mark(into, x.to.names())
		case *setBlock:
			mark(into, x.to.names())
		case *macroNode:
			into[x.name] = true
		case *ifNode:
			for _, b := range x.bodies {
				assigned(b, into)
			}
			assigned(x.other, into)
		}
	}
}

func mark(set map[string]bool, names []string) {
	for _, name := range names {
		set[name] = true
	}
}

// names is the variables that an assignment sets.
func (t target) names() (list []string) {
	for _, x := range t.list {
		list = append(list, x.names()...)
	}
	if t.name != "" && t.attr == "" {
		list = append(list, t.name)
	}
	return list
}

// target reads the namespaces whose attributes are set.
func (r *reader) target(t target, n *names) {
	for _, x := range t.list {
		r.target(x, n)
	}
	if t.attr != "" {
		r.expr(&nameExpr{t.name}, n)
	}
}

func (r *reader) node(x node, n *names) {
	switch x := x.(type) {
	case *printNode:
		r.expr(x.x, n)
	case *doNode:
		r.expr(x.x, n)
	case *setNode:
		r.expr(x.x, n)
		r.target(x.to, n)
		mark(n.set, x.to.names())
	case *setBlock:
		r.body(x.body, n, false)
		r.expr(x.filter, n)
		r.target(x.to, n)
		mark(n.set, x.to.names())
	case *ifNode:
		r.branches(x, n)
	case *forNode:
		r.expr(x.over, n)
		bound := x.to.names()
		r.body([]node{&doNode{x: x.test}}, n, false, bound...)
		r.body(x.body, n, false, append(bound, "loop")...)
		r.body(x.other, n, false)
	case *withNode:
		var bound []string
		for i, v := range x.values {
			r.expr(v, n)
			bound = append(bound, x.targets[i].names()...)
		}
		r.body(x.body, n, false, bound...)
	case *macroNode:
		n.set[x.name] = true
		r.macro(x, n)
	case *callNode:
		r.expr(x.call, n)
		r.macro(x.body, n)
	case *filterNode:
		r.body(x.body, n, false)
		r.expr(x.filter, n)
	case *generationNode:
		r.body(x.body, n, false)
	}
}

// special is the names that a macro's body has beside its parameters.
var special = []string{"caller", "kwargs", "varargs"}

func (r *reader) macro(m *macroNode, n *names) {
	inner := &names{set: map[string]bool{}, outer: n, late: true}
	for i, p := range m.params {
		if d := i - (len(m.params) - len(m.defaults)); d >= 0 {
			r.expr(m.defaults[d], inner)
		}
		inner.set[p] = true
	}
	r.body(m.body, n, true, append(special, m.params...)...)
}

// branches reads a condition. A name counts as set afterwards if every branch sets it.
func (r *reader) branches(x *ifNode, n *names) {
	common := map[string]int{}
	bodies := append(append([][]node{}, x.bodies...), x.other)
	for i, body := range bodies {
		if i < len(x.tests) {
			r.expr(x.tests[i], n)
		}
		branch := &names{set: map[string]bool{}, anywhere: n.anywhere, outer: n}
		r.nodes(body, branch)
		for name := range branch.set {
			common[name]++
		}
	}
	for name, times := range common {
		if times == len(bodies) {
			n.set[name] = true
		}
	}
}

func (r *reader) exprs(list []expr, n *names) {
	for _, x := range list {
		r.expr(x, n)
	}
}

func (r *reader) args(a arguments, n *names) {
	r.exprs(a.list, n)
	r.exprs(a.named, n)
	r.exprs([]expr{a.star, a.starstar}, n)
}

func (r *reader) expr(x expr, n *names) {
	switch x := x.(type) {
	case *nameExpr:
		if globals[x.name] == nil && !n.has(x.name) {
			r.reads[x.name] = true
		}
	case *listExpr:
		r.exprs(x.items, n)
	case *dictExpr:
		r.exprs(x.keys, n)
		r.exprs(x.values, n)
	case *unary:
		r.expr(x.x, n)
	case *binary:
		r.exprs([]expr{x.x, x.y}, n)
	case *logic:
		r.exprs([]expr{x.x, x.y}, n)
	case *comparison:
		r.expr(x.x, n)
		for _, op := range x.ops {
			r.expr(op.x, n)
		}
	case *concat:
		r.exprs(x.parts, n)
	case *conditional:
		r.exprs([]expr{x.test, x.yes, x.no}, n)
	case *attribute:
		r.expr(x.x, n)
	case *subscript:
		r.exprs([]expr{x.x, x.key}, n)
	case *sliceExpr:
		r.exprs([]expr{x.x, x.start, x.stop, x.step}, n)
	case *call:
		r.expr(x.f, n)
		r.args(x.args, n)
	case *filterExpr:
		r.expr(x.x, n)
		r.args(x.args, n)
	case *testExpr:
		r.expr(x.x, n)
		r.args(x.args, n)
	}
}
