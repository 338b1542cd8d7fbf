package jinja

import "slices"

// eval evaluates an expression.
func (s *state) eval(x expr, sc *scope) Value {
	s.spend(1)
	s.enter()
	v := x.eval(s, sc)
	s.leave()
	return v
}

func (x *constant) eval(*state, *scope) Value { return x.value }

func (x *nameExpr) eval(_ *state, sc *scope) Value {
	if v, ok := sc.get(x.name); ok {
		return v
	}
	if f := globals[x.name]; f != nil {
		return f
	}
	return missingName(x.name)
}

func (s *state) evalAll(list []expr, sc *scope) []Value {
	s.charge(times(len(list), 16) + overhead)
	out := make([]Value, len(list))
	for i, x := range list {
		out[i] = s.eval(x, sc)
	}
	return out
}

func (x *listExpr) eval(s *state, sc *scope) Value {
	items := s.evalAll(x.items, sc)
	if x.tuple {
		return &tuple{items: items}
	}
	return &List{items: items}
}

func (x *dictExpr) eval(s *state, sc *scope) Value {
	d := &Dict{}
	for i, key := range x.keys {
		k := s.eval(key, sc)
		s.put(d, k, s.eval(x.values[i], sc))
	}
	return d
}

// put sets a member of a dict that the template may change.
func (s *state) put(d *Dict, key, v Value) {
	s.charge(4 * overhead)
	s.changes(&d.text)
	d.put(s.hash(key), key, v)
}

// changes records that a value whose JSON text is known is about to change.
func (s *state) changes(text *string) {
	if *text != "" {
		*text = ""
		s.asWritten = false
	}
}

func (x *unary) eval(s *state, sc *scope) Value {
	v := s.eval(x.x, sc)
	if x.op == "not" {
		return !truth(v)
	}
	return s.sign(x.op, v)
}

func (x *binary) eval(s *state, sc *scope) Value {
	a := s.eval(x.x, sc)
	return s.operate(x.op, a, s.eval(x.y, sc))
}

func (x *logic) eval(s *state, sc *scope) Value {
	v := s.eval(x.x, sc)
	if truth(v) == x.and {
		return s.eval(x.y, sc)
	}
	return v
}

func (x *conditional) eval(s *state, sc *scope) Value {
	switch {
	case truth(s.eval(x.test, sc)):
		return s.eval(x.yes, sc)
	case x.no != nil:
		return s.eval(x.no, sc)
	}
	return &undefined{"the inline if-expression evaluated to false and no else section was defined."}
}

func (x *comparison) eval(s *state, sc *scope) Value {
	a := s.eval(x.x, sc)
	for _, op := range x.ops {
		b := s.eval(op.x, sc)
		if !s.holds(op.op, a, b) {
			return false
		}
		a = b
	}
	return true
}

func (x *concat) eval(s *state, sc *scope) Value {
	values := s.evalAll(x.parts, sc)
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = s.str(v)
	}
	return s.concat(texts[0], texts[1:]...)
}

func (x *attribute) eval(s *state, sc *scope) Value { return s.attribute(s.eval(x.x, sc), x.name) }

func (x *subscript) eval(s *state, sc *scope) Value {
	v := s.eval(x.x, sc)
	return s.item(v, s.eval(x.key, sc))
}

func (span) eval(*state, *scope) Value {
	fail("a slice cannot stand among other subscripts")
	return nil
}

func (x *call) eval(s *state, sc *scope) Value {
	f := s.eval(x.f, sc)
	return s.call(f, s.arguments(x.args, sc))
}

func (x *filterExpr) eval(s *state, sc *scope) Value {
	return s.filter(x.name, s.eval(x.x, sc), s.arguments(x.args, sc))
}

// filtered applies filters to a value; the innermost filter of x has no operand.
func (s *state) filtered(x expr, v Value, sc *scope) Value {
	f := x.(*filterExpr)
	if f.x != nil {
		v = s.filtered(f.x, v, sc)
	}
	return s.filter(f.name, v, s.arguments(f.args, sc))
}

func (x *testExpr) eval(s *state, sc *scope) Value {
	v := s.eval(x.x, sc)
	return s.test(x.name, v, s.arguments(x.args, sc)) != x.not
}

// attribute is x.name: an attribute, else the member of that name.
func (s *state) attribute(v Value, name string) Value {
	if found, ok := s.own(v, name); ok {
		return found
	}
	if d, ok := v.(*Dict); ok {
		if x, ok := d.find(hash{'s', name}); ok {
			return x
		}
	}
	return missingItem(v, quote(name))
}

// item is x[key]: a member, else the attribute of that name.
func (s *state) item(v, key Value) Value {
	s.refuse(v)
	switch v := v.(type) {
	case *Dict:
		switch key.(type) {
		case *List, *Dict:
		default:
			if x, ok := v.find(s.hash(key)); ok {
				return x
			}
		}
	default:
		if i, ok := intOf(key); ok {
			if x, ok := s.nth(v, i); ok {
				return x
			}
			return missingItem(v, s.repr(key))
		}
	}
	if name, ok := textOf(key); ok {
		if found, ok := s.own(v, name); ok {
			return found
		}
	}
	return missingItem(v, s.repr(key))
}

func missingItem(v Value, key string) *undefined {
	if u, ok := v.(*undefined); ok {
		fail("%s", u.message)
	}
	name := quote(typeName(v) + " object")
	if v == nil {
		name = "None"
	}
	return &undefined{name + " has no attribute " + key}
}

// own is an attribute that a value has by its type: what jinja2 finds with getattr.
func (s *state) own(v Value, name string) (Value, bool) {
	s.refuse(v)
	switch v := v.(type) {
	case *loop:
		if get := loopAttributes[name]; get != nil {
			return get(v), true
		}
	case *namespace:
		return v.attrs.find(hash{'s', name})
	case *tuple:
		if i := slices.Index(v.names, name); i >= 0 {
			return v.items[i], true
		}
	case *macro:
		if name == "name" {
			return v.node.name, true
		}
	case *cycler:
		return v.attribute(name)
	}
	f := method(v, name)
	return f, f != nil
}

// nth is the item at an index, counted from the end if negative.
func (s *state) nth(v Value, i int) (Value, bool) {
	if text, ok := textOf(v); ok {
		s.scan(len(text))
		i, ok = place(i, runes(text))
		if !ok {
			return nil, false
		}
		at := runeOffset(text, i)
		return like(v, text[at:at+firstRune(text[at:])]), true
	}
	switch v := v.(type) {
	case *List:
		i, ok := place(i, len(v.items))
		return pick(v.items, i, ok)
	case *tuple:
		i, ok := place(i, len(v.items))
		return pick(v.items, i, ok)
	case *numbers:
		i, ok := place(i, v.n)
		return v.start + i*v.step, ok
	}
	return nil, false
}

func pick(items []Value, i int, ok bool) (Value, bool) {
	if !ok {
		return nil, false
	}
	return items[i], true
}

// place converts an index to one from the beginning, and says whether it is one of n.
func place(i, n int) (int, bool) {
	if i < 0 {
		i += n
	}
	return i, 0 <= i && i < n
}

func (x *sliceExpr) eval(s *state, sc *scope) Value {
	v := s.eval(x.x, sc)
	bound := func(e expr) Value {
		if e == nil {
			return nil
		}
		return s.eval(e, sc)
	}
	start, stop, step := bound(x.start), bound(x.stop), bound(x.step)
	s.refuse(v)
	n, _ := length(v)
	pick := s.span(n, start, stop, step)
	if text, ok := textOf(v); ok {
		_, safe := v.(markup)
		return marked(s.sliceText(text, pick), safe)
	}
	if items, ok := sequence(v); ok {
		s.charge(times(pick.n, 16) + overhead)
		out := make([]Value, pick.n)
		for i := range out {
			out[i] = items[pick.start+i*pick.step]
		}
		if _, ok := v.(*tuple); ok {
			return &tuple{items: out}
		}
		return &List{items: out}
	}
	if r, ok := v.(*numbers); ok {
		return &numbers{r.start + pick.start*r.step, r.start + pick.stop*r.step, pick.step * r.step, pick.n}
	}
	fail("%s object cannot be sliced", quote(typeName(v)))
	return nil
}

// span is the indices that a slice takes of n items.
func (s *state) span(n int, start, stop, step Value) numbers {
	by := 1
	if step != nil {
		by = s.sliceIndex(step)
	}
	if by == 0 {
		fail("slice step cannot be zero")
	}
	low, high := 0, n // bounds of start and stop
	from, to := 0, n
	if by < 0 {
		low, high = -1, n-1
		from, to = n-1, -1
	}
	clamp := func(v Value, i int) int {
		if v == nil {
			return i
		}
		if i = s.sliceIndex(v); i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	from, to = clamp(start, from), clamp(stop, to)
	count := 0
	switch by = min(max(by, -n-1), n+1); { // a longer step also takes one item only
	case by > 0 && from < to:
		count = (to-from-1)/by + 1
	case by < 0 && from > to:
		count = (from-to-1)/-by + 1
	}
	return numbers{from, to, by, count}
}

// sliceIndex is a bound of a slice, clamped to the range that makes a difference.
func (s *state) sliceIndex(v Value) int {
	const far = 1 << 40
	if n, ok := intOf(v); ok {
		return min(max(n, -far), far)
	}
	s.refuse(v)
	if b, ok := bigInt(v); ok {
		return far * b.Sign()
	}
	fail("slice indices must be integers or None, not %s", typeName(v))
	return 0
}

func (s *state) sliceText(text string, pick numbers) string {
	s.scan(len(text))
	if pick.n == 0 {
		return ""
	}
	if pick.step == 1 {
		from := runeOffset(text, pick.start)
		return text[from : from+runeOffset(text[from:], pick.n)]
	}
	s.charge(times(len(text), 5))
	all := []rune(text)
	out := make([]rune, pick.n)
	for i := range out {
		out[i] = all[pick.start+i*pick.step]
	}
	return string(out)
}
