package jinja

import (
	"strconv"
	"strings"
)

// getter returns a function that reads an attribute by its path, such as a.b.0. If other is not nil, it
// replaces missing attributes.
func (s *state) getter(path Value, other Value) func(Value) Value {
	keys := []Value{path}
	if text, ok := textOf(path); ok {
		keys = nil
		for _, part := range strings.Split(text, ".") {
			if n, err := strconv.Atoi(part); err == nil && n >= 0 && part[0] != '+' {
				keys = append(keys, n)
			} else {
				keys = append(keys, part)
			}
		}
	}
	return func(v Value) Value {
		for _, key := range keys {
			s.spend(1)
			v = s.item(v, key)
			if _, missing := v.(*undefined); missing && other != nil {
				v = other
			}
		}
		return v
	}
}

// sortKey is the key by which filters compare items: an attribute, in lower case unless case counts.
func (s *state) sortKey(attribute, caseSensitive Value) func(Value) Value {
	get := func(v Value) Value { return v }
	if by := or(attribute, nil); by != nil {
		get = s.getter(by, nil)
	}
	if truth(or(caseSensitive, false)) {
		return get
	}
	return func(v Value) Value { return s.folded(get(v)) }
}

// folded is a text in lower case; any other value is unchanged.
func (s *state) folded(v Value) Value {
	if text, ok := textOf(v); ok {
		s.charge(len(text))
		return lower(text)
	}
	return v
}

func lengthFilter(s *state, v Value, a args) Value {
	s.bind("length", a)
	n, ok := length(v)
	if !ok {
		fail("object of type %s has no len()", quote(typeName(v)))
	}
	if text, ok := textOf(v); ok {
		s.scan(len(text))
	}
	return n
}

func listFilter(s *state, v Value, a args) Value {
	s.bind("list", a)
	return &List{items: s.items(v)}
}

func itemsFilter(s *state, v Value, a args) Value {
	s.bind("items", a)
	switch v := v.(type) {
	case *undefined:
		return s.none()
	case *Dict:
		it := s.iterate(&view{v, "dict_items"})
		return s.generator(it.next)
	}
	fail("Can only get item pairs from a mapping.")
	return nil
}

func (s *state) generator(next func() (Value, bool)) *iterator {
	s.charge(2 * overhead)
	return &iterator{"generator", next}
}

func firstFilter(s *state, v Value, a args) Value {
	s.bind("first", a)
	if x, ok := s.iterate(v).next(); ok {
		return x
	}
	return &undefined{"No first item, sequence was empty."}
}

func lastFilter(s *state, v Value, a args) Value {
	s.bind("last", a)
	if x, ok := s.backwards(v).next(); ok {
		return x
	}
	return &undefined{"No last item, sequence was empty."}
}

// backwards is Python's reversed().
func (s *state) backwards(v Value) *iterator {
	if text, ok := textOf(v); ok {
		return s.backwards(&List{items: s.items(text)})
	}
	if _, once := v.(*iterator); once {
		fail("%s object is not reversible", quote(typeName(v)))
	}
	size, at := s.indexed(v)
	i := size()
	return &iterator{"reversed", func() (Value, bool) {
		s.spend(1)
		i--
		if i < 0 || i >= size() {
			return nil, false
		}
		return at(i), true
	}}
}

func reverseFilter(s *state, v Value, a args) Value {
	s.bind("reverse", a)
	if text, ok := textOf(v); ok {
		n := runes(text)
		return marked(s.sliceText(text, numbers{start: n - 1, step: -1, n: n}), like(v, "") == Value(markup("")))
	}
	if it, once := v.(*iterator); once {
		l := &List{items: s.items(it)}
		listMethods["reverse"](s, l, args{})
		return l
	}
	return s.backwards(v)
}

func dictSortFilter(s *state, v Value, a args) Value {
	b := s.bind("dictsort", a, "case_sensitive=", "by=", "reverse=")
	place := 0
	switch by := s.str(or(b[1], "key")); by {
	case "key":
	case "value":
		place = 1
	default:
		fail("You can only sort by either \"key\" or \"value\"")
	}
	d, ok := v.(*Dict)
	if !ok {
		s.refuse(v)
		fail("dictsort expects a dict, not %s", typeName(v))
	}
	items := s.items(&view{d, "dict_items"})
	key := func(v Value) Value { return v.(*tuple).items[place] }
	if !truth(or(b[0], false)) {
		key = func(v Value) Value { return s.folded(v.(*tuple).items[place]) }
	}
	s.sort(items, key, truth(or(b[2], false)))
	return &List{items: items}
}

func sortFilter(s *state, v Value, a args) Value {
	b := s.bind("sort", a, "reverse=", "case_sensitive=", "attribute=")
	items := s.items(v)
	s.sort(items, s.sortKeys(or(b[2], nil), b[1]), truth(or(b[0], false)))
	return &List{items: items}
}

// sortKeys is sortKey for several attributes separated by commas. Keys are lists, so equal items keep their
// order.
func (s *state) sortKeys(attributes, caseSensitive Value) func(Value) Value {
	var keys []func(Value) Value
	if text, ok := textOf(attributes); ok {
		for _, part := range strings.Split(text, ",") {
			keys = append(keys, s.sortKey(part, caseSensitive))
		}
	} else {
		keys = append(keys, s.sortKey(attributes, caseSensitive))
	}
	return func(v Value) Value {
		s.charge(times(len(keys), 16) + overhead)
		out := make([]Value, len(keys))
		for i, key := range keys {
			out[i] = key(v)
		}
		return &List{items: out}
	}
}

func uniqueFilter(s *state, v Value, a args) Value {
	b := s.bind("unique", a, "case_sensitive=", "attribute=")
	key := s.sortKey(b[1], b[0])
	seen := map[hash]bool{}
	it := s.iterate(v)
	return s.generator(func() (Value, bool) {
		for {
			x, ok := it.next()
			if !ok {
				return nil, false
			}
			if h := s.hash(key(x)); !seen[h] {
				s.charge(2 * overhead)
				seen[h] = true
				return x, true
			}
		}
	})
}

// extremeFilter is min (-1) or max (1).
func extremeFilter(name string, sign int) filter {
	return func(s *state, v Value, a args) Value {
		b := s.bind(name, a, "case_sensitive=", "attribute=")
		key := s.sortKey(b[1], b[0])
		it := s.iterate(v)
		best, ok := it.next()
		if !ok {
			return &undefined{"No aggregated item, sequence was empty."}
		}
		for at := key(best); ; {
			x, ok := it.next()
			if !ok {
				return best
			}
			k := key(x)
			if order, _ := s.order("<", k, at); order*sign > 0 {
				best, at = x, k
			}
		}
	}
}

func batchFilter(s *state, v Value, a args) Value {
	b := s.bind("batch", a, "linecount", "fill_with=")
	size, fill := s.integer("batch", b[0]), or(b[1], nil)
	it := s.iterate(v)
	var next Value
	more := false
	started := false
	return s.generator(func() (Value, bool) {
		if !started {
			next, more = it.next()
			started = true
		}
		if !more {
			return nil, false
		}
		row := []Value{}
		for more && (len(row) != size || len(row) == 0 && size == 0) {
			s.charge(overhead)
			row = append(row, next)
			next, more = it.next()
			if size == 0 {
				break
			}
		}
		if missing := size - len(row); !more && fill != nil && missing > 0 {
			s.charge(times(missing, overhead))
			for range missing {
				row = append(row, fill)
			}
		}
		return &List{items: row}, true
	})
}

func sliceFilter(s *state, v Value, a args) Value {
	b := s.bind("slice", a, "slices", "fill_with=")
	n, fill := s.integer("slice", b[0]), or(b[1], nil)
	items := s.items(v)
	if n == 0 {
		fail("slice: division by zero")
	}
	i, from := 0, 0
	return s.generator(func() (Value, bool) {
		if i >= n {
			return nil, false
		}
		to := from + len(items)/n
		if i < len(items)%n {
			to++
		}
		row := s.items(&List{items: items[from:to]})
		if fill != nil && i >= len(items)%n {
			row = append(row, fill)
		}
		s.charge(2 * overhead)
		i, from = i+1, to
		return &List{items: row}, true
	})
}

func groupByFilter(s *state, v Value, a args) Value {
	b := s.bind("groupby", a, "attribute", "default=", "case_sensitive=")
	get := s.getter(b[0], or(b[1], nil))
	key := func(v Value) Value { return s.folded(get(v)) }
	if truth(or(b[2], false)) {
		key = get
	}
	items := s.items(v)
	s.sort(items, key, false)
	groups := []Value{}
	var last Value
	for _, x := range items {
		k := key(x)
		if len(groups) == 0 || !s.equal(last, k) {
			s.charge(4 * overhead)
			groups = append(groups, &tuple{items: []Value{get(x), &List{}}, names: []string{"grouper", "list"}})
			last = k
		}
		l := groups[len(groups)-1].(*tuple).items[1].(*List)
		s.charge(overhead)
		l.items = append(l.items, x)
	}
	return &List{items: groups}
}

// none is the result of filters for a false value, even if it cannot be iterated over.
func (s *state) none() *iterator {
	return s.generator(func() (Value, bool) { return nil, false })
}

func mapFilter(s *state, v Value, a args) Value {
	if !truth(v) {
		return s.none()
	}
	it := s.iterate(v)
	var change func(Value) Value
	if len(a.list) == 0 {
		if _, ok := a.named1("attribute"); !ok {
			fail("map requires a filter argument")
		}
		b := s.bind("map", args{names: a.names, named: a.named}, "attribute", "default=")
		change = s.getter(b[0], or(b[1], nil))
	} else {
		name := s.text("map", a.list[0])
		if filters[name] == nil {
			fail("%s", noFilter(name))
		}
		rest := args{a.list[1:], a.names, a.named}
		change = func(v Value) Value { return s.filter(name, v, rest) }
	}
	return s.generator(func() (Value, bool) {
		x, ok := it.next()
		if !ok {
			return nil, false
		}
		return change(x), true
	})
}

// selectFilter keeps the items (or those with an attribute) for which a test has the wanted result.
func selectFilter(name string, attribute, want bool) filter {
	return func(s *state, v Value, a args) Value {
		if !truth(v) {
			return s.none()
		}
		get := func(v Value) Value { return v }
		if attribute {
			if len(a.list) == 0 {
				fail("%s needs the name of an attribute", name)
			}
			get = s.getter(a.list[0], nil)
			a.list = a.list[1:]
		}
		holds := truth
		if len(a.list) > 0 {
			test := s.text(name, a.list[0])
			rest := args{a.list[1:], a.names, a.named}
			if tests[test] == nil {
				fail("%s", noTest(test))
			}
			holds = func(v Value) bool { return s.test(test, v, rest) }
		}
		it := s.iterate(v)
		return s.generator(func() (Value, bool) {
			for {
				x, ok := it.next()
				if !ok {
					return nil, false
				}
				if holds(get(x)) == want {
					return x, true
				}
			}
		})
	}
}
