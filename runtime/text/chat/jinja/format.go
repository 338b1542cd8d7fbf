package jinja

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

var conversion = regexp.MustCompile(`^%(?:\((\w*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?[hlL]?(.)`)

// percent is Python's format % values.
func (s *state) percent(format string, values Value, safe bool) string {
	s.scan(len(format))
	all, isTuple := values.(*tuple)
	list := []Value{values}
	if isTuple {
		list = all.items
	}
	d, _ := values.(*Dict)
	f := &percentFormat{state: s, list: list, dict: d, safe: safe}
	var out strings.Builder
	for {
		text, rest, found := strings.Cut(format, "%")
		s.charge(2 * len(text))
		out.WriteString(text)
		if !found {
			break
		}
		m := conversion.FindStringSubmatch("%" + rest)
		if m == nil {
			fail("incomplete format")
		}
		made := f.convert(m, strings.Contains(m[0], "."))
		s.charge(2 * len(made))
		out.WriteString(made)
		format = rest[len(m[0])-1:]
	}
	// In Python, a subscriptable operand may supply names, which need not all be used.
	_, isText := textOf(values)
	if f.used < len(list) && (isTuple || isText || !isSequence(values)) {
		fail("not all arguments converted during string formatting")
	}
	return out.String()
}

type percentFormat struct {
	state *state
	list  []Value
	dict  *Dict
	used  int
	safe  bool
}

func (f *percentFormat) next() Value {
	if f.used == len(f.list) {
		fail("not enough arguments for format string")
	}
	f.used++
	return f.list[f.used-1]
}

// size is a width or a precision.
func (f *percentFormat) size(text string, none int) int {
	switch text {
	case "":
		return none
	case "*":
		return f.state.integer("%", f.next())
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		fail("the width %.20s is too large", text)
	}
	return n
}

// convert writes one value. m has the name, flags, width, precision and letter.
func (f *percentFormat) convert(m []string, point bool) string {
	spec := formatSpec{fill: " ", precision: -1}
	for _, c := range m[2] {
		switch c {
		case '-':
			spec.align = "<"
		case '+':
			spec.sign = "+"
		case ' ':
			if spec.sign == "" {
				spec.sign = " "
			}
		case '#':
			spec.alternate = true
		case '0':
			spec.zero = true
		}
	}
	spec.width = f.size(m[3], 0)
	if spec.width < 0 {
		spec.width, spec.align = -spec.width, "<"
	}
	if point {
		spec.precision = max(f.size(m[4], 0), 0)
	}
	spec.kind = m[5]
	if spec.kind == "%" {
		return "%"
	}
	var v Value
	if strings.HasPrefix(m[0], "%(") {
		if f.dict == nil {
			fail("format requires a mapping")
		}
		v = f.state.item(f.dict, m[1])
		f.state.refuse(v)
	} else {
		v = f.next()
	}
	return spec.percent(f.state, v, f.safe)
}

// percent writes a value for a letter after %.
func (spec formatSpec) percent(s *state, v Value, safe bool) string {
	if spec.align == "<" {
		spec.zero = false
	}
	switch spec.kind {
	case "s", "r", "a":
		text := s.str(v)
		if spec.kind != "s" {
			text = s.repr(v)
		} else if safe {
			text = s.escape(v)
		}
		spec.zero = false
		return spec.pad(s, spec.cut(text), ">")
	case "c":
		spec.zero = false
		if text, ok := textOf(v); ok && runes(text) == 1 {
			return spec.pad(s, text, ">")
		}
		return spec.pad(s, s.character(v), ">")
	case "d", "i", "u", "x", "X", "o":
		if x, ok := v.(float64); ok && strings.Contains("diu", spec.kind) {
			v = s.truncated(x)
		}
		n, ok := bigInt(v)
		if !ok {
			s.refuse(v)
			fail("%%%s format: a number is required, not %s", spec.kind, typeName(v))
		}
		spec.kind = strings.NewReplacer("i", "d", "u", "d").Replace(spec.kind)
		return spec.integer(s, n)
	case "e", "E", "f", "F", "g", "G":
		x, ok := floatOf(v)
		if !ok {
			s.refuse(v)
			fail("must be real number, not %s", typeName(v))
		}
		return spec.float(s, x)
	}
	fail("unsupported format character %s", quote(spec.kind))
	return ""
}

// character is chr().
func (s *state) character(v Value) string {
	n := s.integer("%c", v)
	if n < 0 || n > 0x10FFFF {
		fail("%%c arg not in range(0x110000)")
	}
	return string(rune(n))
}

// truncated is int() of a float.
func (s *state) truncated(x float64) Value {
	n, acc := new(big.Int), x == x && x-x == 0
	if !acc {
		fail("cannot convert float %s to integer", floatText(x))
	}
	big.NewFloat(x).Int(n)
	return whole(n)
}

// formatSpec is a parsed format specification.
type formatSpec struct {
	fill, align, sign string
	alternate, zero   bool
	width             int
	group             string // between thousands
	precision         int    // -1: none
	kind              string
}

func (spec formatSpec) cut(text string) string {
	if spec.precision >= 0 {
		return text[:runeOffset(text, spec.precision)]
	}
	return text
}

// pad fills a text up to the width.
func (spec formatSpec) pad(s *state, text, align string) string {
	missing := spec.width - runes(text)
	if missing <= 0 {
		return text
	}
	if spec.align != "" {
		align = spec.align
	}
	s.charge(times(len(spec.fill), missing) + len(text))
	left := missing
	switch align {
	case "<":
		left = 0
	case "^":
		left = missing / 2
	}
	return strings.Repeat(spec.fill, left) + text + strings.Repeat(spec.fill, missing-left)
}

// number pads digits after the sign.
func (spec formatSpec) number(s *state, negative bool, prefix, digits string) string {
	sign := strings.Trim(spec.sign, "-")
	if negative {
		sign = "-"
	}
	sign += prefix
	if spec.align == "" && spec.zero {
		spec.align, spec.fill = "=", "0"
	}
	if spec.align == "=" {
		spec.width, spec.align = spec.width-len(sign), ">"
		return sign + spec.pad(s, digits, ">")
	}
	return spec.pad(s, sign+digits, ">")
}

// bases is the base for each letter, and the prefix of its alternate form.
var bases = map[string]struct {
	base   int
	prefix string
}{"d": {10, ""}, "x": {16, "0x"}, "X": {16, "0X"}, "o": {8, "0o"}, "b": {2, "0b"}}

func (spec formatSpec) integer(s *state, n *big.Int) string {
	b := bases[spec.kind]
	digits := new(big.Int).Abs(n).Text(b.base)
	if b.base == 10 {
		digits = decimal(new(big.Int).Abs(n))
	}
	if spec.kind == "X" {
		digits = strings.ToUpper(digits)
	}
	if missing := spec.precision - len(digits); missing > 0 {
		s.charge(missing)
		digits = strings.Repeat("0", missing) + digits
	}
	if !spec.alternate {
		b.prefix = ""
	}
	return spec.number(s, n.Sign() < 0, b.prefix, grouped(digits, spec.group))
}

func (spec formatSpec) float(s *state, x float64) string {
	precision := spec.precision
	if precision < 0 {
		precision = 6
	}
	s.charge(times(precision, 2))
	kind := strings.ToLower(spec.kind)[0]
	var text string
	switch {
	case x != x || x-x != 0:
		text = floatText(x)
		spec.zero = false
	case kind == 'g':
		text = general(x, max(precision, 1), spec.alternate)
	default:
		text = strconv.FormatFloat(x, kind, precision, 64)
	}
	if spec.kind != strings.ToLower(spec.kind) {
		text = strings.ToUpper(text)
	}
	digits, negative := strings.CutPrefix(text, "-")
	return spec.number(s, negative, "", grouped(digits, spec.group))
}

// general is %g: the shorter of both forms, without zeros at the end.
func general(x float64, precision int, alternate bool) string {
	text := strconv.FormatFloat(x, 'e', precision-1, 64)
	at := strings.IndexByte(text, 'e')
	exponent, _ := strconv.Atoi(text[at+1:])
	digits, tail := text[:at], text[at:]
	if -4 <= exponent && exponent < precision {
		digits, tail = strconv.FormatFloat(x, 'f', precision-1-exponent, 64), ""
	}
	if !alternate && strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits + tail
}

// grouped inserts a mark between thousands.
func grouped(digits, mark string) string {
	if mark == "" {
		return digits
	}
	end := strings.IndexAny(digits, ".e")
	if end < 0 {
		end = len(digits)
	}
	var out strings.Builder
	for i := range end {
		if i > 0 && (end-i)%3 == 0 {
			out.WriteString(mark)
		}
		out.WriteByte(digits[i])
	}
	return out.String() + digits[end:]
}
