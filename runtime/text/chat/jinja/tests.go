package jinja

import (
	"math/big"
	"strings"
)

// tests are jinja2's tests.
var tests map[string]func(s *state, v Value, a args) bool

func init() {
	tests = map[string]func(s *state, v Value, a args) bool{
		"boolean":  plainTest(func(v Value) bool { _, ok := v.(bool); return ok }),
		"callable": plainTest(callable),
		"defined":  plainTest(func(v Value) bool { _, ok := v.(*undefined); return !ok }),
		"undefined": plainTest(func(v Value) bool {
			_, ok := v.(*undefined)
			return ok
		}),
		"none":     plainTest(func(v Value) bool { return v == nil }),
		"true":     plainTest(func(v Value) bool { return v == true }),
		"false":    plainTest(func(v Value) bool { return v == false }),
		"float":    plainTest(func(v Value) bool { _, ok := v.(float64); return ok }),
		"integer":  plainTest(isInteger),
		"number":   plainTest(isNumber),
		"string":   plainTest(func(v Value) bool { _, ok := textOf(v); return ok }),
		"mapping":  plainTest(func(v Value) bool { _, ok := v.(*Dict); return ok }),
		"escaped":  plainTest(func(v Value) bool { _, ok := v.(markup); return ok }),
		"iterable": plainTest(iterable),
		"sequence": plainTest(isSequence),
		"lower":    caseTest("islower"),
		"upper":    caseTest("isupper"),
		"odd":      remainderTest(1),
		"even":     remainderTest(0),
		"divisibleby": func(s *state, v Value, a args) bool {
			return s.equal(s.operate("%", v, s.bind("divisibleby", a, "num")[0]), 0)
		},
		"sameas": func(s *state, v Value, a args) bool { return same(v, s.bind("sameas", a, "other")[0]) },
		"in":     func(s *state, v Value, a args) bool { return s.contains(s.bind("in", a, "seq")[0], v) },
		"filter": func(s *state, v Value, a args) bool {
			s.bind("filter", a)
			return filters[s.hash(v).text] != nil
		},
		"test": func(s *state, v Value, a args) bool {
			s.bind("test", a)
			return tests[s.hash(v).text] != nil
		},
	}
	for op, names := range map[string]string{"==": "eq equalto", "!=": "ne", "<": "lt lessthan", "<=": "le", ">": "gt greaterthan", ">=": "ge"} {
		for _, name := range strings.Fields(op + " " + names) {
			tests[name] = func(s *state, v Value, a args) bool { return s.holds(op, v, s.bind(name, a, "other")[0]) }
		}
	}
}

func noTest(name string) string { return "no test named " + quote(name) }

func (s *state) test(name string, v Value, a args) bool {
	f := tests[name]
	if f == nil {
		fail("%s", noTest(name))
	}
	s.spend(1)
	return f(s, v, a)
}

func plainTest(is func(Value) bool) func(s *state, v Value, a args) bool {
	return func(s *state, v Value, a args) bool {
		s.bind("the test", a)
		return is(v)
	}
}

func caseTest(method string) func(s *state, v Value, a args) bool {
	return func(s *state, v Value, a args) bool {
		s.bind("the test", a)
		return characterTests[method](s.str(v))
	}
}

func remainderTest(want int) func(s *state, v Value, a args) bool {
	return func(s *state, v Value, a args) bool {
		s.bind("the test", a)
		return s.equal(s.operate("%", v, 2), want)
	}
}

func isInteger(v Value) bool {
	switch v.(type) {
	case int, *big.Int:
		return true
	}
	return false
}

func iterable(v Value) bool {
	switch v.(type) {
	case string, markup, *List, *tuple, *Dict, *view, *numbers, *iterator, *undefined, *loop:
		return true
	}
	return false
}

func isSequence(v Value) bool {
	switch v.(type) {
	case string, markup, *List, *tuple, *Dict, *numbers, *undefined:
		return true
	}
	return false
}
