package jinja

import (
	"math"
	"math/big"
	"strings"
)

// holds reports whether a comparison is true.
func (s *state) holds(op string, a, b Value) bool {
	switch op {
	case "==":
		return s.equal(a, b)
	case "!=":
		return !s.equal(a, b)
	case "in":
		return s.contains(b, a)
	case "not in":
		return !s.contains(b, a)
	}
	order, ordered := s.order(op, a, b)
	switch op {
	case "<":
		return ordered && order < 0
	case "<=":
		return ordered && order <= 0
	case ">":
		return ordered && order > 0
	}
	return ordered && order >= 0
}

// equal is Python's ==.
func (s *state) equal(a, b Value) bool {
	s.spend(1)
	if isNumber(a) && isNumber(b) {
		order, ordered := compareNumbers(a, b)
		return ordered && order == 0
	}
	if x, ok := textOf(a); ok {
		y, ok := textOf(b)
		if ok && len(x) == len(y) {
			s.scan(len(x))
		}
		return ok && x == y
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case *undefined:
		_, ok := b.(*undefined)
		return ok
	case *List, *tuple:
		p, _ := sequence(a)
		q, ok := sequence(b)
		return ok && typeName(a) == typeName(b) && s.equalItems(p, q)
	case *Dict:
		y, ok := b.(*Dict)
		return ok && s.equalDicts(x, y)
	case *numbers:
		y, ok := b.(*numbers)
		return ok && x.n == y.n && (x.n == 0 || x.start == y.start && (x.n == 1 || x.step == y.step))
	case *view:
		y, ok := b.(*view)
		return ok && (x == y || x.kind == y.kind && x.kind != "dict_values" && s.equalDicts(x.dict, y.dict))
	}
	return same(a, b)
}

// same reports whether two values are identical. Texts and numbers are if they are equal.
func same(a, b Value) bool {
	if typeName(a) != typeName(b) {
		return false
	}
	if x, ok := a.(*big.Int); ok {
		return x.Cmp(bigOf(b)) == 0
	}
	return a == b
}

func (s *state) equalItems(p, q []Value) bool {
	if len(p) != len(q) {
		return false
	}
	s.enter()
	defer s.leave()
	for i := range p {
		if !s.equal(p[i], q[i]) {
			return false
		}
	}
	return true
}

func (s *state) equalDicts(x, y *Dict) bool {
	if len(x.keys) != len(y.keys) {
		return false
	}
	s.enter()
	defer s.leave()
	for i, key := range x.keys {
		v, ok := y.find(s.hash(key))
		if !ok || !s.equal(x.values[i], v) {
			return false
		}
	}
	return true
}

// compareNumbers compares exactly; NaN has no order.
func compareNumbers(a, b Value) (order int, ordered bool) {
	x, left := a.(float64)
	y, right := b.(float64)
	if left && math.IsNaN(x) || right && math.IsNaN(y) {
		return 0, false
	}
	if !left && !right {
		return bigOf(a).Cmp(bigOf(b)), true
	}
	return exact(a).Cmp(exact(b)), true
}

func exact(v Value) *big.Float {
	if x, ok := v.(float64); ok {
		return big.NewFloat(x)
	}
	n := bigOf(v)
	return new(big.Float).SetPrec(uint(n.BitLen()) + 64).SetInt(n)
}

// order compares two ordered values.
func (s *state) order(op string, a, b Value) (order int, ordered bool) {
	s.spend(1)
	s.refuse(a, b)
	if isNumber(a) && isNumber(b) {
		return compareNumbers(a, b)
	}
	if x, ok := textOf(a); ok {
		if y, ok := textOf(b); ok {
			s.scan(min(len(x), len(y)))
			return strings.Compare(x, y), true
		}
	}
	p, isList := sequence(a)
	q, ok := sequence(b)
	if !isList || !ok || typeName(a) != typeName(b) {
		fail("%s is not supported between %s and %s", quote(op), quote(typeName(a)), quote(typeName(b)))
	}
	s.enter()
	defer s.leave()
	for i := range min(len(p), len(q)) {
		if !s.equal(p[i], q[i]) {
			return s.order(op, p[i], q[i])
		}
	}
	return compareNumbers(len(p), len(q))
}

// contains is `v in all`.
func (s *state) contains(all, v Value) bool {
	switch all := all.(type) {
	case string, markup:
		text, _ := textOf(all)
		s.scan(len(text))
		part, ok := textOf(v)
		if !ok {
			s.refuse(v)
			fail("'in <string>' requires string as left operand, not %s", typeName(v))
		}
		return strings.Contains(text, part)
	case *Dict:
		_, ok := all.find(s.hash(v))
		return ok
	case *numbers:
		if n, ok := bigInt(v); ok {
			off := new(big.Int).Sub(n, big.NewInt(int64(all.start)))
			i, rest := off.QuoRem(off, big.NewInt(int64(all.step)), new(big.Int))
			return rest.Sign() == 0 && i.IsInt64() && i.Int64() >= 0 && i.Int64() < int64(all.n)
		}
	case *view:
		if all.kind == "dict_keys" {
			return s.contains(all.dict, v)
		}
	}
	for it := s.iterate(all); ; {
		x, ok := it.next()
		if !ok {
			return false
		}
		if s.equal(x, v) {
			return true
		}
	}
}
