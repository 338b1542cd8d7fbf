package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"mla/runtime/grammar"
)

// Limits on numbers.
const (
	maxDigits     = 16  // in front of the point, and behind it
	maxRemainders = 256 // of multipleOf
)

// decimal is a number's value; ok is false if that has too many digits.
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

// places is how many digits behind the point a number needs; ok is false if too many.
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

// numbers is the grammar of a number. With limits, it is written without exponent.
func (c *compiler) numbers(s *object, integer bool, path string) (grammar.Expr, error) {
	n := &numeric{c: c}
	values := map[string]*big.Rat{}
	for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if !s.has(k) {
			continue
		}
		text, ok := s.get(k).(json.Number)
		if !ok {
			return nil, fmt.Errorf("%s/%s: expected a number", path, k)
		}
		r, ok := decimal(text)
		p, fits := 0, false
		if ok {
			p, fits = places(r)
		}
		if !fits {
			if err := c.unsupported(path, k, "%s has too many digits", text); err != nil {
				return nil, err
			}
			continue
		}
		values[k], n.places = r, max(n.places, p)
	}
	switch {
	case len(values) == 0 && integer:
		return c.integer(), nil
	case len(values) == 0:
		return c.number(), nil
	case integer:
		n.places = 0
	default:
		n.places = max(n.places, 6)
	}
	if err := n.multiple(values["multipleOf"], integer, path); err != nil {
		return nil, err
	}
	low, high := n.limits(values)
	if low.Cmp(high) > 0 {
		return nil, fmt.Errorf("%s: no number is within the limits", path)
	}
	var all grammar.Alt
	zero := new(big.Int)
	if high.Sign() >= 0 {
		all = append(all, n.between(maxOf(low, zero), high)...)
	}
	if low.Sign() < 0 {
		most := new(big.Int).Neg(low)
		least := maxOf(new(big.Int).Neg(high), big.NewInt(1))
		all = append(all, grammar.Seq{grammar.Literal("-"), n.between(least, most)})
	}
	return c.g.Add(path, all), nil
}

// numeric makes the grammar of numbers in units of the last digit behind the point.
type numeric struct {
	c      *compiler
	places int // digits behind the point
	step   int // what numbers are multiples of, in units
}

// multiple sets the step.
func (n *numeric) multiple(of *big.Rat, integer bool, path string) error {
	n.step = 1
	if of == nil {
		return nil
	}
	if of.Sign() <= 0 {
		return fmt.Errorf("%s/multipleOf: expected a number above 0", path)
	}
	units := new(big.Rat).Mul(of, new(big.Rat).SetInt(power(n.places)))
	if integer { // a multiple that is an integer is one of the numerator
		units = new(big.Rat).SetInt(of.Num())
	} else if p, _ := places(of); p < n.places { // no more digits than it takes
		n.places = p
		units = new(big.Rat).Mul(of, new(big.Rat).SetInt(power(p)))
	}
	if !units.IsInt() || units.Num().Cmp(big.NewInt(maxRemainders)) > 0 {
		return n.c.unsupported(path, "multipleOf", "more than %d units of the last digit", maxRemainders)
	}
	n.step = int(units.Num().Int64())
	return nil
}

// limits are the least and the greatest number, in units.
func (n *numeric) limits(values map[string]*big.Rat) (low, high *big.Int) {
	high = new(big.Int).Sub(power(maxDigits+n.places), big.NewInt(1))
	low = new(big.Int).Neg(high)
	scale := new(big.Rat).SetInt(power(n.places))
	for k, r := range values {
		if k == "multipleOf" {
			continue
		}
		units := new(big.Rat).Mul(r, scale)
		down := new(big.Int).Div(units.Num(), units.Denom()) // towards minus infinity
		up := new(big.Int).Set(down)
		if !units.IsInt() {
			up.Add(up, big.NewInt(1))
		}
		one := big.NewInt(1)
		switch k {
		case "minimum":
			low = maxOf(low, up)
		case "exclusiveMinimum":
			low = maxOf(low, down.Add(down, one))
		case "maximum":
			high = minOf(high, down)
		case "exclusiveMaximum":
			high = minOf(high, up.Sub(up, one))
		}
	}
	return low, high
}

// between is the numbers from low to high, neither negative: for each number of digits in
// front of the point, digit by digit.
func (n *numeric) between(low, high *big.Int) (all grammar.Alt) {
	for digits := 1; digits <= maxDigits; digits++ {
		least, most := new(big.Int), new(big.Int).Sub(power(digits+n.places), big.NewInt(1))
		if digits > 1 {
			least = power(digits - 1 + n.places)
		}
		from, to := maxOf(low, least), minOf(high, most)
		if from.Cmp(to) > 0 {
			continue
		}
		total := digits + n.places
		all = append(all, n.digit(digitState{places: n.places, step: n.step, left: digits, low: padded(from, total), high: padded(to, total)}))
	}
	return all
}

// digitState is how far a number has come.
type digitState struct {
	places, step int
	left         int // digits in front of the point
	behind       int // digits behind it that were written
	remainder    int // of the digits so far, by the step
	// What follows must not be less than low, or more than high; "": it may be anything.
	low, high string
}

// digit is the rule of what follows a state.
func (n *numeric) digit(s digitState) grammar.Ref {
	if r, ok := n.c.digits[s]; ok {
		return r
	}
	r := n.c.g.Add("digits", nil)
	n.c.digits[s] = r
	var all grammar.Alt
	if s.left == 0 && strings.Trim(s.low, "0") == "" && s.rest() == 0 {
		all = append(all, grammar.Seq{})
	}
	if s.left > 0 || s.behind < s.places {
		next := grammar.Expr(n.choices(s))
		if s.left == 0 && s.behind == 0 {
			next = grammar.Seq{grammar.Literal("."), next}
		}
		all = append(all, next)
	}
	n.c.g.Rules[r].Expr = all
	return r
}

// rest is the remainder of a number that ends here.
func (s *digitState) rest() int {
	r := s.remainder
	for range s.places - s.behind {
		r = r * 10 % s.step
	}
	return r
}

// choices are the digits that may come next, with what follows each.
func (n *numeric) choices(s digitState) (all grammar.Alt) {
	from, to := byte('0'), byte('9')
	if s.low != "" {
		from = s.low[0]
	}
	if s.high != "" {
		to = s.high[0]
	}
	for d := from; d <= to; d++ {
		next := s
		next.remainder = (10*s.remainder + int(d-'0')) % s.step
		if s.left > 0 {
			next.left--
		} else {
			next.behind++
		}
		if next.low = ""; s.low != "" && d == from {
			next.low = s.low[1:]
		}
		if next.high = ""; s.high != "" && d == to {
			next.high = s.high[1:]
		}
		all = append(all, grammar.Seq{grammar.Literal([]byte{d}), n.digit(next)})
	}
	return all
}

// padded is a number with so many digits.
func padded(n *big.Int, digits int) string {
	text := n.String()
	return strings.Repeat("0", digits-len(text)) + text
}

// power is 10 to the n.
func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func maxOf(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func minOf(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}
