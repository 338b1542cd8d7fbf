package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

func intFilter(s *state, v Value, a args) Value {
	b := s.bind("int", a, "default=", "base=")
	s.refuse(v)
	if text, ok := textOf(v); ok {
		if n, ok := parseInt(text, s.integer("int", or(b[1], 10))); ok {
			return bounded(n)
		}
		if x, ok := parseFloat(text); ok {
			if n, ok := wholeFloat(math.Trunc(x)); ok {
				return n
			}
		}
		return or(b[0], 0)
	}
	if x, ok := v.(float64); ok {
		if n, ok := wholeFloat(math.Trunc(x)); ok {
			return n
		}
		return or(b[0], 0)
	}
	if n, ok := bigInt(v); ok {
		return whole(n)
	}
	return or(b[0], 0)
}

// parseInt is int(text, base).
func parseInt(text string, base int) (*big.Int, bool) {
	text = strings.TrimFunc(text, isSpace)
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || len(digits) > 4300 || base < 0 || base == 1 || base > 36 {
		return nil, false
	}
	prefixed := len(digits) > 1 && digits[0] == '0' && strings.ContainsAny(digits[1:2], "xXoObB")
	if prefixed && base != 0 && bases[strings.ToLower(digits[1:2])].base == base {
		digits, prefixed = digits[2:], false
		digits = strings.TrimPrefix(digits, "_")
	}
	if strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") {
		return nil, false
	}
	if base == 0 && !prefixed && strings.HasPrefix(digits, "0") && strings.Trim(digits, "0_") != "" {
		return nil, false
	}
	if base == 0 && !prefixed {
		base = 10
	}
	n, ok := new(big.Int).SetString(strings.ReplaceAll(asciiDigits(digits), "_", ""), base)
	if ok && strings.HasPrefix(text, "-") {
		n.Neg(n)
	}
	return n, ok
}

// parseFloat is float(text).
func parseFloat(text string) (float64, bool) {
	text = strings.TrimFunc(text, isSpace)
	if strings.ContainsAny(text, "xXpP") || strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") || strings.Contains(text, "__") {
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(asciiDigits(text), "_", ""), 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, false
	}
	return x, true
}

func floatFilter(s *state, v Value, a args) Value {
	b := s.bind("float", a, "default=")
	s.refuse(v)
	if text, ok := textOf(v); ok {
		if x, ok := parseFloat(text); ok {
			return x
		}
		return or(b[0], 0.0)
	}
	if x, ok := floatOf(v); ok {
		return x
	}
	return or(b[0], 0.0)
}

func roundFilter(s *state, v Value, a args) Value {
	b := s.bind("round", a, "precision=", "method=")
	digits := s.integer("round", or(b[0], 0))
	method := s.str(or(b[1], "common"))
	if !isNumber(v) {
		s.refuse(v)
		fail("a %s cannot be rounded", typeName(v))
	}
	var to func(float64) float64
	switch method {
	case "ceil":
		to = math.Ceil
	case "floor":
		to = math.Floor
	case "common":
		return round(v, digits)
	default:
		fail("method must be common, ceil or floor")
	}
	scale := s.operate("**", 10, digits)
	x, _ := floatOf(s.operate("*", v, scale))
	n, ok := wholeFloat(to(x))
	if !ok {
		fail("cannot convert float %s to integer", floatText(x))
	}
	return s.operate("/", n, scale)
}

// round is Python's round(v, digits), which rounds halves to even.
func round(v Value, digits int) Value {
	x, isFloat := v.(float64)
	switch {
	case isFloat && (x != x || x-x != 0 || digits > 350):
		return x
	case isFloat && digits >= 0:
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'f', digits, 64), 64)
		return x
	case !isFloat && digits >= 0:
		return whole(bigOf(v))
	case digits < -5000:
		if isFloat {
			return math.Copysign(0, x)
		}
		return 0
	}
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil))
	exact := new(big.Rat)
	if isFloat {
		exact.SetFloat64(x)
	} else {
		exact.SetInt(bigOf(v))
	}
	n := nearest(exact.Quo(exact, unit))
	n.Mul(n, unit.Num())
	if !isFloat {
		return bounded(n)
	}
	rounded, _ := new(big.Float).SetInt(n).Float64()
	return math.Copysign(rounded, x)
}

// nearest is the integer nearest to a fraction; of two, the even one.
func nearest(x *big.Rat) *big.Int {
	twice := new(big.Int).Mul(x.Num(), big.NewInt(2))
	twice.Add(twice, x.Denom())
	double := new(big.Int).Mul(x.Denom(), big.NewInt(2))
	n, rest := new(big.Int).DivMod(twice, double, new(big.Int))
	if rest.Sign() == 0 && n.Bit(0) == 1 {
		n.Sub(n, big.NewInt(1))
	}
	return n
}

func sumFilter(s *state, v Value, a args) Value {
	b := s.bind("sum", a, "attribute=", "start=")
	total := or(b[1], 0)
	if _, ok := textOf(total); ok {
		fail("sum() can't sum strings; the filter join does")
	}
	get := func(x Value) Value { return x }
	if by := or(b[0], nil); by != nil {
		get = s.getter(by, nil)
	}
	for it := s.iterate(v); ; {
		x, ok := it.next()
		if !ok {
			return total
		}
		total = s.operate("+", total, get(x))
	}
}

// digitValue is the value of a decimal digit of any script, or -1. The digits of a script are consecutive,
// from 0 on.
func digitValue(r rune) int {
	if !unicode.IsDigit(r) {
		return -1
	}
	const first, last = 0x1D7CE, 0x1D7FF // five ranges of 0 to 9
	if first <= r && r <= last {
		return int(r-first) % 10
	}
	d := 0
	for d < 9 && unicode.IsDigit(r-1) {
		r--
		d++
	}
	return d
}
