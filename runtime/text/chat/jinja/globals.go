package jinja

import (
	"math/big"
	"strings"
)

// globals are the functions that every template has.
var globals map[string]*function

func init() {
	globals = map[string]*function{}
	for name, f := range map[string]func(s *state, a args) Value{
		"range": rangeFunction, "dict": dictFunction, "namespace": namespaceFunction, "cycler": cyclerFunction, "joiner": joinerFunction,
		"raise_exception": raise, "strftime_now": strftimeNow, "lipsum": lipsum, "self": self,
	} {
		globals[name] = &function{name, f}
	}
}

// rangeFunction is range([start,] stop[, step]).
func rangeFunction(s *state, a args) Value {
	if len(a.list) < 1 || len(a.list) > 3 || len(a.names) > 0 {
		fail("range takes 1 to 3 numbers")
	}
	n := []*big.Int{new(big.Int), nil, big.NewInt(1)}
	for i, v := range a.list {
		whole, ok := bigInt(v)
		if !ok {
			s.refuse(v)
			fail("range: %s object cannot be interpreted as an integer", quote(typeName(v)))
		}
		n[i] = whole
	}
	if len(a.list) == 1 {
		n[0], n[1] = new(big.Int), n[0]
	}
	start, stop, step := n[0], n[1], n[2]
	if step.Sign() == 0 {
		fail("range() arg 3 must not be zero")
	}
	// The number of steps from start to stop, rounded up.
	count := new(big.Int).Sub(stop, start)
	count.Neg(floorDivision(count.Neg(count), step))
	if count.Cmp(big.NewInt(maxRange)) > 0 {
		fail("range is too big: the limit is %d", maxRange)
	}
	if !start.IsInt64() || !stop.IsInt64() || !step.IsInt64() {
		fail("range: a number has more than 64 bits")
	}
	return &numbers{int(start.Int64()), int(stop.Int64()), int(step.Int64()), int(max(count.Int64(), 0))}
}

func dictFunction(s *state, a args) Value {
	d := &Dict{}
	s.updateFrom(d, "dict", a)
	return d
}

func namespaceFunction(s *state, a args) Value {
	return &namespace{dictFunction(s, a).(*Dict)}
}

// raise is raise_exception(message).
func raise(s *state, a args) Value {
	fail("%s", s.str(s.bind("raise_exception", a, "message")[0]))
	return nil
}

func lipsum(*state, args) Value {
	fail("lipsum is not supported: a prompt has to be the same each time")
	return nil
}

// self would be the template's own blocks, which are not supported.
func self(*state, args) Value {
	fail("self is not supported: there is no inheritance")
	return nil
}

// cycler cycles through a list.
type cycler struct {
	items []Value
	pos   int
}

func cyclerFunction(_ *state, a args) Value {
	if len(a.list) == 0 || len(a.names) > 0 {
		fail("cycler expects at least one item, without names")
	}
	return &cycler{items: a.list}
}

func (c *cycler) attribute(name string) (Value, bool) {
	switch name {
	case "current":
		return c.items[c.pos], true
	case "next":
		return &function{name, func(s *state, a args) Value {
			s.bind(name, a)
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v
		}}, true
	case "reset":
		return &function{name, func(s *state, a args) Value {
			s.bind(name, a)
			c.pos = 0
			return nil
		}}, true
	}
	return nil, false
}

// joinerFunction returns a function that returns a separator from the second call on.
func joinerFunction(s *state, a args) Value {
	sep := or(s.bind("joiner", a, "sep=")[0], ", ")
	used := false
	return &function{"joiner", func(s *state, a args) Value {
		s.bind("joiner", a)
		if !used {
			used = true
			return ""
		}
		return sep
	}}
}

// asciiDigits replaces the digits of other scripts by 0 to 9.
func asciiDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 {
			return r
		}
		if d := digitValue(r); d >= 0 {
			return rune('0' + d)
		}
		return r
	}, text)
}
