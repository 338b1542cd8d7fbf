package jinja

import (
	"math/big"
	"slices"
)

// methods are the methods of types, by the type's name.
var methods map[string]map[string]func(s *state, self Value, a args) Value

func init() {
	methods = map[string]map[string]func(s *state, self Value, a args) Value{
		"str": stringMethods(), "Markup": stringMethods(), "list": listMethods, "tuple": tupleMethods, "range": tupleMethods, "dict": dictMethods,
		"float": {"is_integer": func(_ *state, self Value, _ args) Value {
			_, ok := wholeFloat(self.(float64))
			return ok
		}},
		"int": {"bit_length": func(_ *state, self Value, _ args) Value {
			return new(big.Int).Abs(bigOf(self)).BitLen()
		}},
	}
}

// unsupported is Python's methods that this package does not implement. Treating them as undefined would hide
// an error.
var unsupported = map[string][]string{
	"str": {"encode", "casefold", "translate", "maketrans", "format_map"}, "Markup": {"encode", "casefold", "translate", "maketrans", "format_map", "unescape", "striptags"},
	"dict": {"fromkeys"},
}

// method is a method bound to a value, or nil.
func method(v Value, name string) *function {
	kind := typeName(v)
	f := methods[kind][name]
	if f == nil {
		if slices.Contains(unsupported[kind], name) {
			fail("the method %s of a %s is not supported", name, kind)
		}
		return nil
	}
	return &function{name, func(s *state, a args) Value { return f(s, v, a) }}
}

var tupleMethods = map[string]func(s *state, self Value, a args) Value{
	"count": countItems, "index": indexOfItem,
}

func countItems(s *state, self Value, a args) Value {
	x := s.bind("count", a, "value")[0]
	items := s.items(self)
	n := 0
	for _, v := range items {
		if s.equal(v, x) {
			n++
		}
	}
	return n
}

func indexOfItem(s *state, self Value, a args) Value {
	b := s.bind("index", a, "value", "start=", "stop=")
	items := s.items(self)
	pick := s.span(len(items), or(b[1], nil), or(b[2], nil), nil)
	for i := pick.start; i < pick.start+pick.n; i++ {
		if s.equal(items[i], b[0]) {
			return i
		}
	}
	fail("%s is not in the list", s.repr(b[0]))
	return nil
}

// onList is a method that changes a list.
func onList(f func(s *state, l *List, a args) Value) func(s *state, self Value, a args) Value {
	return func(s *state, self Value, a args) Value {
		l := self.(*List)
		s.changes(&l.text)
		return f(s, l, a)
	}
}

var listMethods = map[string]func(s *state, self Value, a args) Value{
	"count": countItems, "index": indexOfItem,
	"copy": func(s *state, self Value, a args) Value {
		s.bind("copy", a)
		return &List{items: s.items(self)}
	},
	"append": onList(func(s *state, l *List, a args) Value {
		x := s.bind("append", a, "object")[0]
		s.charge(2 * overhead)
		l.items = append(l.items, x)
		return nil
	}),
	"extend": onList(func(s *state, l *List, a args) Value {
		more := s.items(s.bind("extend", a, "iterable")[0])
		s.charge(times(len(more), overhead))
		l.items = append(l.items, more...)
		return nil
	}),
	"insert": onList(func(s *state, l *List, a args) Value {
		b := s.bind("insert", a, "index", "object")
		at := s.span(len(l.items), b[0], nil, nil).start
		s.charge(2 * overhead)
		s.scan(16 * (len(l.items) - at))
		l.items = slices.Insert(l.items, at, b[1])
		return nil
	}),
	"pop": onList(func(s *state, l *List, a args) Value {
		at, ok := place(s.integer("pop", or(s.bind("pop", a, "index=")[0], -1)), len(l.items))
		if !ok {
			fail("pop from a list of %d items: there is no such index", len(l.items))
		}
		x := l.items[at]
		s.scan(16 * (len(l.items) - at))
		l.items = slices.Delete(l.items, at, at+1)
		return x
	}),
	"remove": onList(func(s *state, l *List, a args) Value {
		at := indexOfItem(s, l, args{list: s.bind("remove", a, "value")}).(int)
		s.scan(16 * (len(l.items) - at))
		l.items = slices.Delete(l.items, at, at+1)
		return nil
	}),
	"clear": onList(func(s *state, l *List, a args) Value {
		s.bind("clear", a)
		l.items = nil
		return nil
	}),
	"reverse": onList(func(s *state, l *List, a args) Value {
		s.bind("reverse", a)
		s.spend(len(l.items))
		slices.Reverse(l.items)
		return nil
	}),
	"sort": onList(func(s *state, l *List, a args) Value {
		b := s.bind("sort", args{names: a.names, named: a.named}, "key=", "reverse=")
		if or(b[0], nil) != nil || len(a.list) > 0 {
			fail("sort with a key is not supported; the filter sort takes an attribute")
		}
		items := l.items
		l.items = nil // as in Python, the list is empty while it is being sorted
		s.sort(items, func(v Value) Value { return v }, truth(or(b[1], false)))
		l.items = items
		return nil
	}),
}

// sort sorts by keys, stably.
func (s *state) sort(items []Value, key func(Value) Value, reverse bool) {
	s.charge(times(len(items), 3*16))
	type pair struct{ key, v Value }
	pairs := make([]pair, len(items))
	for i, v := range items {
		pairs[i] = pair{key(v), v}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		if reverse {
			a, b = b, a
		}
		order, _ := s.order("<", a.key, b.key)
		return order
	})
	for i, p := range pairs {
		items[i] = p.v
	}
}

var dictMethods = map[string]func(s *state, self Value, a args) Value{
	"keys":   viewMethod("dict_keys"),
	"values": viewMethod("dict_values"),
	"items":  viewMethod("dict_items"),
	"get": func(s *state, self Value, a args) Value {
		b := s.bind("get", a, "key", "default=")
		if v, ok := self.(*Dict).find(s.hash(b[0])); ok {
			return v
		}
		return or(b[1], nil)
	},
	"copy": func(s *state, self Value, a args) Value {
		s.bind("copy", a)
		d := &Dict{}
		s.update(d, self)
		return d
	},
	"setdefault": func(s *state, self Value, a args) Value {
		b := s.bind("setdefault", a, "key", "default=")
		if v, ok := self.(*Dict).find(s.hash(b[0])); ok {
			return v
		}
		s.put(self.(*Dict), b[0], or(b[1], nil))
		return or(b[1], nil)
	},
	"update": func(s *state, self Value, a args) Value {
		s.updateFrom(self.(*Dict), "update", a)
		return nil
	},
	"pop": func(s *state, self Value, a args) Value {
		b := s.bind("pop", a, "key", "default=")
		d, h := self.(*Dict), s.hash(b[0])
		v, ok := d.find(h)
		switch {
		case ok:
			s.take(d, h)
			return v
		case b[1] == absent{}:
			fail("pop: there is no key %s", s.repr(b[0]))
		}
		return b[1]
	},
	"popitem": func(s *state, self Value, a args) Value {
		s.bind("popitem", a)
		d := self.(*Dict)
		n := len(d.keys) - 1
		if n < 0 {
			fail("popitem: the dictionary is empty")
		}
		pair := &tuple{items: []Value{d.keys[n], d.values[n]}}
		s.take(d, s.hash(d.keys[n]))
		return pair
	},
	"clear": func(s *state, self Value, a args) Value {
		s.bind("clear", a)
		d := self.(*Dict)
		s.changes(&d.text)
		*d = Dict{}
		return nil
	},
}

func viewMethod(kind string) func(s *state, self Value, a args) Value {
	return func(s *state, self Value, a args) Value {
		s.bind(kind, a)
		return &view{self.(*Dict), kind}
	}
}

// take removes a member.
func (s *state) take(d *Dict, h hash) {
	s.spend(1 + len(d.keys))
	s.changes(&d.text)
	d.remove(h)
}

// update sets members from another dict or from pairs.
func (s *state) update(d *Dict, from Value) {
	if other, ok := from.(*Dict); ok {
		for i := range len(other.keys) { // which may be d itself
			s.put(d, other.keys[i], other.values[i])
		}
		return
	}
	for _, pair := range s.items(from) {
		both := s.items(pair)
		if len(both) != 2 {
			fail("a dict is made of pairs; one has %d items", len(both))
		}
		s.put(d, both[0], both[1])
	}
}

// updateFrom handles the arguments of dict() and update.
func (s *state) updateFrom(d *Dict, function string, a args) {
	if len(a.list) > 1 {
		fail("%s takes at most 1 argument without a name, not %d", function, len(a.list))
	}
	for _, from := range a.list {
		s.refuse(from)
		s.update(d, from)
	}
	for i, name := range a.names {
		s.put(d, name, a.named[i])
	}
}
