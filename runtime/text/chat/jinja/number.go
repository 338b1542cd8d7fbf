package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// whole is an integer in the smallest type that holds it.
func whole(n *big.Int) Value {
	if n.IsInt64() {
		return int(n.Int64())
	}
	return n
}

func bigOf(v Value) *big.Int {
	n, _ := bigInt(v)
	return n
}

// bigInt is an integer of any size.
func bigInt(v Value) (*big.Int, bool) {
	if n, ok := v.(*big.Int); ok {
		return n, true
	}
	n, ok := intOf(v)
	return big.NewInt(int64(n)), ok
}

// wholeFloat is the integer equal to a float, if there is one.
func wholeFloat(x float64) (Value, bool) {
	if x != math.Trunc(x) || math.IsInf(x, 0) {
		return nil, false
	}
	n, _ := big.NewFloat(x).Int(nil)
	return whole(n), true
}

// floatOf is a number as a float; it fails for integers that are too large.
func floatOf(v Value) (float64, bool) {
	if x, ok := v.(float64); ok {
		return x, true
	}
	n, ok := bigInt(v)
	if !ok {
		return 0, false
	}
	x, _ := new(big.Float).SetInt(n).Float64()
	if math.IsInf(x, 0) {
		fail("an integer is too large to be a float")
	}
	return x, true
}

func isNumber(v Value) bool {
	switch v.(type) {
	case bool, int, float64, *big.Int:
		return true
	}
	return false
}

// bounded is an integer, and fails if it has too many bits.
func bounded(n *big.Int) Value {
	if n.BitLen() > maxIntBits {
		fail("an integer has more than %d bits", maxIntBits)
	}
	return whole(n)
}

// sign is -v or +v.
func (s *state) sign(op string, v Value) Value {
	s.refuse(v)
	if x, ok := v.(float64); ok {
		if op == "-" {
			return -x
		}
		return x
	}
	n, ok := bigInt(v)
	if !ok {
		fail("bad operand type for unary %s: %s", op, quote(typeName(v)))
	}
	if op == "-" {
		return whole(new(big.Int).Neg(n))
	}
	return whole(n)
}

// operate is a binary operation.
func (s *state) operate(op string, a, b Value) Value {
	if op == "%" {
		if format, ok := textOf(a); ok {
			_, safe := a.(markup)
			return marked(s.percent(format, b, safe), safe)
		}
	}
	s.refuse(a, b)
	if isNumber(a) && isNumber(b) {
		return s.arithmetic(op, a, b)
	}
	switch op {
	case "+":
		if v := s.add(a, b); v != nil {
			return v
		}
	case "*":
		if _, ok := intOf(a); ok {
			a, b = b, a
		}
		if n, ok := intOf(b); ok {
			if v := s.repeat(a, n); v != nil {
				return v
			}
		}
	}
	fail("unsupported operand types for %s: %s and %s", op, quote(typeName(a)), quote(typeName(b)))
	return nil
}

// add concatenates two texts, lists or tuples; nil: the types do not match.
func (s *state) add(a, b Value) Value {
	x, isText := textOf(a)
	y, ok := textOf(b)
	if isText && ok {
		_, left := a.(markup)
		_, right := b.(markup)
		if left || right {
			x, y = s.escape(a), s.escape(b)
		}
		return marked(s.concat(x, y), left || right)
	}
	p, isList := sequence(a)
	q, ok := sequence(b)
	if !isList || !ok || typeName(a) != typeName(b) {
		return nil
	}
	s.charge(times(len(p)+len(q), 16) + overhead)
	items := append(append(make([]Value, 0, len(p)+len(q)), p...), q...)
	if _, ok := a.(*List); ok {
		return &List{items: items}
	}
	return &tuple{items: items}
}

// repeat is a text, list or tuple repeated n times; nil: v is of another type.
func (s *state) repeat(v Value, n int) Value {
	n = max(n, 0)
	if text, ok := textOf(v); ok {
		s.charge(times(len(text), n))
		_, safe := v.(markup)
		return marked(strings.Repeat(text, min(n, n*len(text))), safe)
	}
	items, ok := sequence(v)
	if !ok {
		return nil
	}
	s.charge(times(times(len(items), 16), n) + overhead)
	out := []Value{}
	for range min(n, n*len(items)) {
		out = append(out, items...)
	}
	if _, ok := v.(*List); ok {
		return &List{items: out}
	}
	return &tuple{items: out}
}

func (s *state) arithmetic(op string, a, b Value) Value {
	_, left := a.(float64)
	_, right := b.(float64)
	if !left && !right {
		return s.integers(op, a, b)
	}
	x, _ := floatOf(a)
	y, _ := floatOf(b)
	return floatOperation(op, x, y)
}

// small bounds integers whose sums and products fit 64 bits.
const small = 1 << 31

func (s *state) integers(op string, a, b Value) Value {
	x, isSmall := intOf(a)
	y, ok := intOf(b)
	if isSmall && ok && -small < x && x < small && -small < y && y < small {
		switch op {
		case "+":
			return x + y
		case "-":
			return x - y
		case "*":
			return x * y
		}
	}
	p, q := bigOf(a), bigOf(b)
	n := new(big.Int)
	switch op {
	case "+":
		return bounded(n.Add(p, q))
	case "-":
		return bounded(n.Sub(p, q))
	case "*":
		return bounded(n.Mul(p, q))
	case "**":
		return integerPower(p, q)
	}
	if q.Sign() == 0 {
		fail("division by zero")
	}
	switch op {
	case "/":
		x, _ := new(big.Rat).SetFrac(p, q).Float64()
		if math.IsInf(x, 0) {
			fail("integer division result too large for a float")
		}
		return x
	case "//":
		return whole(floorDivision(p, q))
	}
	return whole(n.Sub(p, n.Mul(floorDivision(p, q), q)))
}

// floorDivision rounds down, as Python does.
func floorDivision(p, q *big.Int) *big.Int {
	n, rest := new(big.Int).QuoRem(p, q, new(big.Int))
	if rest.Sign() != 0 && rest.Sign() != q.Sign() {
		n.Sub(n, big.NewInt(1))
	}
	return n
}

func integerPower(p, q *big.Int) Value {
	if q.Sign() < 0 {
		x, _ := floatOf(whole(p))
		y, _ := floatOf(whole(q))
		return floatOperation("**", x, y)
	}
	if p.BitLen() > 1 && (!q.IsInt64() || q.Int64() > maxIntBits || int64(p.BitLen()-1)*q.Int64() > maxIntBits) {
		fail("an integer has more than %d bits", maxIntBits)
	}
	if q.Sign() > 0 && p.BitLen() <= 1 { // powers of -1, 0 and 1 depend only on whether the exponent is odd
		q = big.NewInt(int64(2 - q.Bit(0)))
	}
	return bounded(new(big.Int).Exp(p, q, nil))
}

func floatOperation(op string, x, y float64) Value {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		return floatPower(x, y)
	}
	if y == 0 {
		fail("float division by zero")
	}
	switch op {
	case "/":
		return x / y
	case "//":
		div, _ := floorMod(x, y)
		return div
	}
	_, mod := floorMod(x, y)
	return mod
}

// floorMod is Python's divmod of floats.
func floorMod(x, y float64) (div, mod float64) {
	mod = math.Mod(x, y)
	div = (x - mod) / y
	if mod == 0 {
		mod = math.Copysign(0, y)
	} else if (y < 0) != (mod < 0) {
		mod += y
		div--
	}
	if div == 0 {
		return math.Copysign(0, x/y), mod
	}
	floor := math.Floor(div)
	if div-floor > 0.5 {
		floor++
	}
	return floor, mod
}

func floatPower(x, y float64) Value {
	if x == 0 && y < 0 {
		fail("0.0 cannot be raised to a negative power")
	}
	v := math.Pow(x, y)
	if math.IsNaN(v) && !math.IsNaN(x) && !math.IsNaN(y) {
		fail("a negative number cannot be raised to a fractional power: complex numbers are not supported")
	}
	if math.IsInf(v, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		fail("numerical result out of range")
	}
	return v
}

// floatText is Python's repr of a float: the shortest digits, with ".0" after whole numbers, and an exponent
// from 1e16 up and below 1e-4.
func floatText(x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), "+")
	}
	if abs := math.Abs(x); abs != 0 && (abs >= 1e16 || abs < 1e-4) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
