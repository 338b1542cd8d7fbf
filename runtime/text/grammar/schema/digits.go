package schema

import (
	"math/big"
	"strings"

	"mla/runtime/text/grammar"
)

// digitState is the state after some digits of a number.
type digitState struct {
	places, step int
	fits         string
	left         int // digits left before the decimal point
	decimals     int // digits written after it
	remainder    int // of the digits so far, modulo the step
	// The rest must be between low and high; "": no bound.
	low, high string
}

// digit is the rule after a state.
func (w *writer) digit(s digitState) grammar.Ref {
	if r, ok := w.c.digits[s]; ok {
		return r
	}
	r := w.c.g.Add("digits", nil)
	w.c.digits[s] = r
	var all grammar.Alt
	if s.left == 0 && strings.Trim(s.low, "0") == "" && s.fits[s.rest()] == 1 {
		all = append(all, grammar.Seq{})
	}
	if s.left > 0 || s.decimals < s.places {
		next := grammar.Expr(w.choices(s))
		if s.left == 0 && s.decimals == 0 {
			next = grammar.Seq{grammar.Literal("."), next}
		}
		all = append(all, next)
	}
	w.c.g.Rules[r].Expr = all
	return r
}

// rest is the remainder of a number that ends here.
func (s *digitState) rest() int {
	r := s.remainder
	for range s.places - s.decimals {
		r = r * 10 % s.step
	}
	return r
}

// choices is the possible next digits, each with what follows it.
func (w *writer) choices(s digitState) (all grammar.Alt) {
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
			next.decimals++
		}
		if next.low = ""; s.low != "" && d == from {
			next.low = s.low[1:]
		}
		if next.high = ""; s.high != "" && d == to {
			next.high = s.high[1:]
		}
		all = append(all, grammar.Seq{grammar.Literal([]byte{d}), w.digit(next)})
	}
	return all
}

// padded is a number with leading zeros.
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
