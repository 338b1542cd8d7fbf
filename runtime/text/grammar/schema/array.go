package schema

import (
	"fmt"
	"slices"

	"mla/runtime/text/grammar"
)

// array is a constraint on arrays.
type array struct {
	front       []*condition // of the first items
	rest        *condition   // of all further items
	least, most int          // number of items; most < 0: no limit
	counts      []count
	unique      bool
	seen        seenItems
}

// count bounds how many items satisfy a condition.
type count struct {
	of          *condition
	least, most int // most < 0: no limit
	from        int // first item that counts
}

// seenItems is the items that keywords have evaluated.
type seenItems struct {
	all   bool
	first int
	met   []*condition // items that satisfy any of these are evaluated
}

// at is the condition of an item.
func (a *array) at(i int) *condition {
	if i < len(a.front) {
		return a.front[i]
	}
	return a.rest
}

// meetArrays is the intersection of two constraints; nil if it is obviously empty.
func (c *compiler) meetArrays(a, b *array) *array {
	if c.Spend(64+32*(len(a.front)+len(b.front))) != nil {
		return nil // met has recorded it
	}
	out := &array{least: max(a.least, b.least), most: a.most, unique: a.unique || b.unique, rest: c.each(a.rest, b.rest), counts: slices.Concat(a.counts, b.counts)}
	if a.most < 0 || b.most >= 0 && b.most < a.most {
		out.most = b.most
	}
	for i := range max(len(a.front), len(b.front)) {
		out.front = append(out.front, c.each(a.at(i), b.at(i)))
	}
	if i := slices.Index(out.front, noValue); i >= 0 {
		out.cut(i)
	}
	if out.rest == noValue {
		out.cut(len(out.front))
	}
	if out.most >= 0 && out.least > out.most {
		return nil
	}
	out.seen = seenItems{a.seen.all || b.seen.all, max(a.seen.first, b.seen.first), slices.Concat(a.seen.met, b.seen.met)}
	return out
}

// cut limits the array to n items.
func (a *array) cut(n int) {
	if a.most < 0 || n < a.most {
		a.most = n
	}
}

// notArray is the complement.
func (c *compiler) notArray(a *array) (list []*array, err error) {
	add := func(one *array) { list = append(list, one) }
	if a.unique {
		return nil, &UnsupportedError{"", "uniqueItems", "within not, if or oneOf"}
	}
	if a.least > 0 {
		add(&array{most: a.least - 1, rest: anyValue})
	}
	if a.most >= 0 {
		add(&array{least: a.most + 1, most: -1, rest: anyValue})
	}
	for i, p := range a.front {
		if p == anyValue || a.most >= 0 && i >= a.most {
			continue
		}
		one := &array{least: i + 1, most: -1, rest: anyValue}
		for range i {
			one.front = append(one.front, anyValue)
		}
		one.front = append(one.front, c.not(p))
		add(one)
	}
	if a.rest != anyValue && a.rest != noValue {
		add(&array{most: -1, rest: anyValue, counts: []count{{c.not(a.rest), 1, -1, len(a.front)}}})
	}
	for _, n := range a.counts {
		if n.least > 0 {
			add(&array{most: -1, rest: anyValue, counts: []count{{n.of, 0, n.least - 1, n.from}}})
		}
		if n.most >= 0 {
			add(&array{most: -1, rest: anyValue, counts: []count{{n.of, n.most + 1, -1, n.from}}})
		}
	}
	return list, nil
}

// emptyArray says whether no array is possible, if that is certain.
func (c *compiler) emptyArray(a *array) bool {
	for i := range min(a.least, len(a.front)+1) {
		if c.empty(a.at(i)) {
			return true
		}
	}
	return slices.ContainsFunc(a.counts, func(n count) bool { return n.least > 0 && c.empty(n.of) })
}

// arrays is the constraint of a schema's keywords on arrays.
func (c *compiler) arrays(p place) (a *array, spoken bool, err error) {
	s, path := p.schema, p.path
	a = &array{rest: anyValue}
	if a.least, a.most, err = bounds(s, "minItems", "maxItems", path); err != nil {
		return nil, false, err
	}
	front, rest := "prefixItems", "items"
	if _, tuple := s.get("items").([]any); tuple {
		front, rest = "items", "additionalItems"
	}
	if l, ok := s.get(front).([]any); ok {
		for i, v := range l {
			one, err := c.child(p, v, fmt.Sprintf("%s/%s/%d", path, front, i))
			if err != nil {
				return nil, false, err
			}
			a.front = append(a.front, one)
		}
		a.seen.first = len(l)
	} else if s.has(front) {
		return nil, false, fmt.Errorf("%s/%s: expected a list of schemas", path, front)
	}
	if s.has(rest) {
		if a.rest, err = c.child(p, s.get(rest), path+"/"+rest); err != nil {
			return nil, false, err
		}
		a.seen.all = true
	}
	a.unique = s.get("uniqueItems") == true
	if err := c.contains(a, p); err != nil {
		return nil, false, err
	}
	return c.meetArrays(a, &array{most: -1, rest: anyValue}), true, nil
}

func (c *compiler) contains(a *array, p place) error {
	if !p.schema.has("contains") {
		return nil
	}
	of, err := c.child(p, p.schema.get("contains"), p.path+"/contains")
	if err != nil {
		return err
	}
	least, most, err := bounds(p.schema, "minContains", "maxContains", p.path)
	if !p.schema.has("minContains") {
		least = 1
	}
	if err != nil {
		return err
	}
	a.counts = append(a.counts, count{of, least, most, 0})
	a.seen.met = append(a.seen.met, of)
	return nil
}

// unseenItems is an array whose items satisfy p unless a keyword has evaluated them.
func (c *compiler) unseenItems(a *array, p *condition) *array {
	if a.seen.all {
		return a
	}
	other := &array{most: -1, rest: c.some(append(slices.Clone(a.seen.met), p)...)}
	for range a.seen.first {
		other.front = append(other.front, anyValue)
	}
	out := c.meetArrays(a, other)
	if out != nil {
		out.seen.all = true
	}
	return out
}

// maxCounts is the most conditions of an array that are counted.
const maxCounts = 3

// arrayOf is the grammar of an array.
func (c *compiler) arrayOf(a *array) (grammar.Expr, error) {
	switch {
	case a.unique:
		return c.uniqueArray(a)
	case len(a.counts) > maxCounts:
		return nil, &UnsupportedError{"", "contains", fmt.Sprintf("of more than %d schemas", maxCounts)}
	case len(a.counts) == 0 && len(a.front) == 0:
		item, err := c.rule(a.rest)
		return c.list(item, a.least, a.most), err
	case len(a.counts) == 0 && a.least <= len(a.front)+8 && (a.most < 0 || a.most <= len(a.front)+8):
	case a.least > maxStates || a.most > maxStates:
		return nil, &UnsupportedError{"", "minItems", fmt.Sprintf("or maxItems above %d, beside contains or prefixItems", maxStates)}
	}
	w := &items{compiler: c, array: a, known: map[string]grammar.Ref{}, name: fmt.Sprintf("items %d", len(c.g.Rules))}
	rest, err := w.from(0, make([]int, len(a.counts)))
	return grammar.Seq{grammar.Literal("["), c.space(), rest}, err
}

// maxStates is the most items of an array that are counted one by one.
const maxStates = 256

// list is an array of equal items; most < 0: any number.
func (c *compiler) list(item grammar.Expr, least, most int) grammar.Expr {
	open, end := grammar.Seq{grammar.Literal("["), c.space()}, grammar.Literal("]")
	if most == 0 {
		return grammar.Seq{open, end}
	}
	rest := c.times(grammar.Seq{grammar.Literal(","), c.space(), item}, max(least-1, 0), max(most, 0)-1)
	all := grammar.Expr(grammar.Seq{item, rest, c.space()})
	if least == 0 {
		all = grammar.Optional(all)
	}
	return grammar.Seq{open, all, end}
}

// items makes a rule for each number of items and each combination of counts.
type items struct {
	*compiler
	*array
	name  string
	known map[string]grammar.Ref
}

// from is the grammar after i items.
func (w *items) from(i int, counted []int) (grammar.Expr, error) {
	at := i
	if last := max(len(w.front), w.least, w.fromMost()); w.most < 0 {
		at = min(i, last+1) // from last+1 on the rest is the same
	}
	key := fmt.Sprint(at, counted)
	if r, ok := w.known[key]; ok {
		return r, nil
	}
	if len(w.g.Rules) > maxRules {
		return nil, errTooLarge
	}
	r := w.g.Add(w.name, nil)
	w.known[key] = r
	var all grammar.Alt
	if i >= w.least && w.enough(counted) {
		all = append(all, grammar.Seq{w.space(), grammar.Literal("]")})
		if i == 0 {
			all[0] = grammar.Literal("]")
		}
	}
	if w.most < 0 || i < w.most {
		for choice := range 1 << len(w.counts) {
			item, next, err := w.item(i, choice, counted)
			if err != nil || item == nil {
				if err != nil {
					return nil, err
				}
				continue
			}
			rest, err := w.from(i+1, next)
			if err != nil {
				return nil, err
			}
			one := grammar.Seq{item, rest}
			if i > 0 {
				one = grammar.Seq{grammar.Literal(","), w.space(), item, rest}
			}
			all = append(all, one)
		}
	}
	w.g.Rules[r].Expr = all
	return r, nil
}

func (w *items) fromMost() (n int) {
	for _, c := range w.counts {
		n = max(n, c.from)
	}
	return n
}

func (w *items) enough(counted []int) bool {
	for n, c := range w.counts {
		if counted[n] < c.least {
			return false
		}
	}
	return true
}

// item is the i-th item, which satisfies the conditions of a choice, and the new counts; nil: impossible.
func (w *items) item(i, choice int, counted []int) (grammar.Expr, []int, error) {
	next := slices.Clone(counted)
	list := []*condition{w.at(i)}
	for n, c := range w.counts {
		counts := choice>>n&1 == 1
		switch {
		case i < c.from:
			if counts {
				return nil, nil, nil
			}
		case counts:
			if c.most < 0 && counted[n] >= c.least || c.most >= 0 && counted[n] >= c.most {
				return nil, nil, nil
			}
			next[n]++
			list = append(list, c.of)
		case c.most >= 0:
			list = append(list, w.not(c.of))
		}
	}
	p := w.each(list...)
	if p == noValue || w.empty(p) {
		return nil, nil, nil
	}
	e, err := w.rule(p)
	return e, next, err
}
