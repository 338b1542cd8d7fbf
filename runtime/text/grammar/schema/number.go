package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"mla/runtime/text/grammar"
)

// Limits on numbers.
const (
	maxDigits     = 16  // before the decimal point, and after it
	maxRemainders = 256 // of multipleOf
)

// decimal is a number's exact value; ok is false if it has too many digits.
func decimal(n json.Number) (r *big.Rat, ok bool) {
	text := strings.ToLower(n.String())
	if len(text) > 64 {
		return nil, false
	}
	if _, exponent, found := strings.Cut(text, "e"); found {
		if exponent = strings.TrimLeft(exponent, "+-"); len(exponent) > 2 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// places is the number of digits after the decimal point; ok is false if too many.
func places(r *big.Rat) (n int, ok bool) {
	scaled, ten := new(big.Rat).Set(r), big.NewRat(10, 1)
	for n = 0; !scaled.IsInt(); n++ {
		if n == maxDigits {
			return 0, false
		}
		scaled.Mul(scaled, ten)
	}
	return n, true
}

type rat = big.Rat

var one = big.NewRat(1, 1)

// numeric is a constraint on numbers.
type numeric struct {
	low, high         *rat // nil: no limit
	lowOpen, highOpen bool // the limit itself is excluded
	multiples, others []*rat
	text              string // of a single possible number, as the schema writes it
}

// meetNumbers is the intersection; nil if it is obviously empty.
func (c *compiler) meetNumbers(a, b *numeric) *numeric {
	out := *a
	if b.low != nil && (a.low == nil || b.low.Cmp(a.low) > 0 || b.low.Cmp(a.low) == 0 && b.lowOpen) {
		out.low, out.lowOpen = b.low, b.lowOpen
	}
	if b.high != nil && (a.high == nil || b.high.Cmp(a.high) < 0 || b.high.Cmp(a.high) == 0 && b.highOpen) {
		out.high, out.highOpen = b.high, b.highOpen
	}
	if out.text == "" {
		out.text = b.text
	}
	out.multiples = append(slices.Clone(a.multiples), b.multiples...)
	out.others = append(slices.Clone(a.others), b.others...)
	if out.low != nil && out.high != nil {
		switch order := out.low.Cmp(out.high); {
		case order > 0 || order == 0 && (out.lowOpen || out.highOpen):
			return nil
		case order == 0 && !out.allows(out.low):
			return nil
		}
	}
	for _, m := range out.multiples { // a multiple of 6 is a multiple of 3
		for _, o := range out.others {
			if new(rat).Quo(m, o).IsInt() {
				return nil
			}
		}
	}
	return &out
}

// allows says whether a number within the limits is a multiple as required.
func (n *numeric) allows(r *rat) bool {
	of := func(m *rat) bool { return new(rat).Quo(r, m).IsInt() }
	return !slices.ContainsFunc(n.multiples, func(m *rat) bool { return !of(m) }) && !slices.ContainsFunc(n.others, of)
}

// not is the complement.
func (n *numeric) not() (list []*numeric) {
	if n.low != nil {
		list = append(list, &numeric{high: n.low, highOpen: !n.lowOpen})
	}
	if n.high != nil {
		list = append(list, &numeric{low: n.high, lowOpen: !n.highOpen})
	}
	for _, m := range n.multiples {
		list = append(list, &numeric{others: []*rat{m}})
	}
	for _, m := range n.others {
		list = append(list, &numeric{multiples: []*rat{m}})
	}
	return list
}

// numbers is the constraint of a schema's keywords on numbers.
func (c *compiler) numbers(s *object, path string) (*numeric, error) {
	n := &numeric{}
	values := map[string]*rat{}
	for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if _, flag := s.get(k).(bool); !s.has(k) || flag && strings.HasPrefix(k, "ex") { // the boolean form of drafts up to 4
			continue
		}
		text, ok := s.get(k).(json.Number)
		if !ok {
			return nil, fmt.Errorf("%s/%s: expected a number", path, k)
		}
		r, ok := decimal(text)
		if ok {
			_, ok = places(r)
		}
		if !ok {
			if err := c.unsupported(path, k, "%s has too many digits", text); err != nil {
				return nil, err
			}
			continue
		}
		values[k] = r
	}
	set := func(k string) bool { return s.get(k) == true }
	if n.low, n.lowOpen = values["minimum"], set("exclusiveMinimum"); n.low == nil || values["exclusiveMinimum"] != nil && values["exclusiveMinimum"].Cmp(n.low) >= 0 {
		n.low, n.lowOpen = values["exclusiveMinimum"], true
	}
	if n.high, n.highOpen = values["maximum"], set("exclusiveMaximum"); n.high == nil || values["exclusiveMaximum"] != nil && values["exclusiveMaximum"].Cmp(n.high) <= 0 {
		n.high, n.highOpen = values["exclusiveMaximum"], true
	}
	if m := values["multipleOf"]; m != nil {
		if m.Sign() <= 0 {
			return nil, fmt.Errorf("%s/multipleOf: expected a number above 0", path)
		}
		n.multiples = []*rat{m}
	}
	if !c.texts {
		return &numeric{}, nil
	}
	if c.meetNumbers(n, &numeric{}) == nil {
		return nil, fmt.Errorf("%s: no number is within the limits", path)
	}
	return n, nil
}

// numberOf is the grammar of a constraint. With limits, numbers are written without an exponent.
func (c *compiler) numberOf(n *numeric) (grammar.Expr, error) {
	integer := n.integer()
	switch {
	case n.low == nil && n.high == nil && len(n.others) == 0 && len(n.multiples) == 0:
		return c.number(), nil
	case n.low == nil && n.high == nil && len(n.others) == 0 && integer && !slices.ContainsFunc(n.multiples, func(m *rat) bool { return m.Cmp(one) != 0 }):
		return c.integer(), nil
	case n.low != nil && n.high != nil && n.low.Cmp(n.high) == 0:
		return n.single(), nil
	}
	w := &writer{c: c}
	if !integer {
		w.places = 6
	}
	for _, r := range slices.Concat([]*rat{n.low, n.high}, n.multiples, n.others) {
		if r == nil || integer {
			continue
		}
		p, ok := places(r)
		if !ok {
			return nil, errDigits
		}
		w.places = max(w.places, p)
	}
	switch {
	case integer:
	case len(n.multiples) > 0: // no more digits than the multiples need
		w.places = maxDigits
		for _, m := range n.multiples {
			p, _ := places(m)
			w.places = min(w.places, p)
		}
	case len(n.others) > 0: // one more digit than the excluded numbers have
		w.places = 0
		for _, m := range n.others {
			p, _ := places(m)
			w.places = max(w.places, p+1)
		}
	}
	if err := w.steps(n); err != nil {
		return nil, err
	}
	low, high := w.limits(n)
	if low.Cmp(high) > 0 {
		if n.beyond() {
			return nil, errBeyond
		}
		return nothing, nil
	}
	var all grammar.Alt
	if high.Sign() >= 0 {
		all = append(all, w.between(maxOf(low, new(big.Int)), high)...)
	}
	if low.Sign() < 0 {
		most := new(big.Int).Neg(low)
		least := maxOf(new(big.Int).Neg(high), big.NewInt(1))
		all = append(all, grammar.Seq{grammar.Literal("-"), w.between(least, most)})
	}
	return all, nil
}

// anyNumber is the grammar of all numbers, or of all integers.
func (c *compiler) anyNumber(integer bool) grammar.Expr {
	if integer {
		return c.integer()
	}
	return c.number()
}

// integer says whether all numbers are integers.
func (n *numeric) integer() bool {
	return slices.ContainsFunc(n.multiples, func(m *rat) bool { return m.IsInt() })
}

// single is the only possible number.
func (n *numeric) single() grammar.Expr {
	p, _ := places(n.low)
	all := grammar.Alt{grammar.Literal(n.low.FloatString(p))}
	if n.text != "" && n.text != n.low.FloatString(p) {
		all = append(all, grammar.Literal(n.text))
	}
	return all
}

// writer makes the grammar of numbers, in units of the last digit.
type writer struct {
	c      *compiler
	places int    // digits after the decimal point
	step   int    // remainders are modulo this, in units
	fits   string // allowed remainders, one byte each
}

var errDigits = &UnsupportedError{"", "multipleOf", "too many digits"}

// steps computes the common step, and which remainders are allowed.
func (w *writer) steps(n *numeric) error {
	step := big.NewInt(1)
	units := func(m *rat) *big.Int {
		u := new(rat).Mul(m, new(rat).SetInt(power(w.places)))
		return u.Num() // if not whole: the least number of units that is a multiple
	}
	for _, m := range slices.Concat(n.multiples, n.others) {
		u := units(m)
		step.Div(new(big.Int).Mul(step, u), new(big.Int).GCD(nil, nil, step, u))
		if step.Cmp(big.NewInt(maxRemainders)) > 0 {
			return errRemainders
		}
	}
	w.step = int(step.Int64())
	fits := make([]byte, w.step)
	for r := range fits {
		of := func(m *rat) bool { return r%int(units(m).Int64()) == 0 }
		if !slices.ContainsFunc(n.multiples, func(m *rat) bool { return !of(m) }) && !slices.ContainsFunc(n.others, of) {
			fits[r] = 1
		}
	}
	w.fits = string(fits)
	return nil
}

var errRemainders = &UnsupportedError{"", "multipleOf", fmt.Sprintf("more than %d units of the last digit", maxRemainders)}

// limits is the least and the greatest number, in units.
func (w *writer) limits(n *numeric) (low, high *big.Int) {
	high = new(big.Int).Sub(power(maxDigits+w.places), big.NewInt(1))
	low = new(big.Int).Neg(high)
	scale := new(rat).SetInt(power(w.places))
	unit := big.NewInt(1)
	if n.low != nil {
		u := new(rat).Mul(n.low, scale)
		up := new(big.Int).Div(u.Num(), u.Denom())
		if !u.IsInt() || n.lowOpen {
			up.Add(up, unit)
		}
		low = maxOf(low, up)
	}
	if n.high != nil {
		u := new(rat).Mul(n.high, scale)
		down := new(big.Int).Div(u.Num(), u.Denom())
		if u.IsInt() && n.highOpen {
			down.Sub(down, unit)
		}
		high = minOf(high, down)
	}
	return low, high
}

// errBeyond is the error for limits that allow only numbers with more digits than a grammar writes.
var errBeyond = &UnsupportedError{"", "minimum", fmt.Sprintf("no number of %d digits in front of the point is within the limits", maxDigits)}

// beyond says whether all numbers have too many digits.
func (n *numeric) beyond() bool {
	most := new(rat).SetInt(power(maxDigits))
	return n.low != nil && n.low.Cmp(new(rat).Sub(most, one)) > 0 || n.high != nil && n.high.Cmp(new(rat).Sub(one, most)) < 0
}

// between is the numbers from low to high, both non-negative: for each number of digits before the decimal
// point, digit by digit.
func (w *writer) between(low, high *big.Int) (all grammar.Alt) {
	for digits := 1; digits <= maxDigits; digits++ {
		least, most := new(big.Int), new(big.Int).Sub(power(digits+w.places), big.NewInt(1))
		if digits > 1 {
			least = power(digits - 1 + w.places)
		}
		from, to := maxOf(low, least), minOf(high, most)
		if from.Cmp(to) > 0 {
			continue
		}
		total := digits + w.places
		all = append(all, w.digit(digitState{places: w.places, step: w.step, fits: w.fits, left: digits, low: padded(from, total), high: padded(to, total)}))
	}
	return all
}
