package pattern

import (
	"unicode"
	"unicode/utf8"

	"mla/runtime/text/grammar"
)

// Classes with a letter of their own.
var (
	digits = grammar.Class{{Lo: '0', Hi: '9'}}
	words  = grammar.Class{{Lo: '0', Hi: '9'}, {Lo: 'A', Hi: 'Z'}, {Lo: '_', Hi: '_'}, {Lo: 'a', Hi: 'z'}}
	// blanks is the white space of all implementations; allBlanks is that of any.
	blanks    = grammar.Class{{Lo: '\t', Hi: '\n'}, {Lo: '\f', Hi: '\r'}, {Lo: ' ', Hi: ' '}}
	allBlanks = grammar.Class{{Lo: '\t', Hi: '\r'}, {Lo: ' ', Hi: ' '}, {Lo: 0x85, Hi: 0x85}, {Lo: 0xa0, Hi: 0xa0}, {Lo: 0x1680, Hi: 0x1680}, {Lo: 0x2000, Hi: 0x200a}, {Lo: 0x2028, Hi: 0x2029}, {Lo: 0x202f, Hi: 0x202f}, {Lo: 0x205f, Hi: 0x205f}, {Lo: 0x3000, Hi: 0x3000}, {Lo: 0xfeff, Hi: 0xfeff}}
)

// controls are characters after a backslash.
var controls = map[rune]rune{'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', 'f': '\f', 'a': '\a', '0': 0}

// escape parses what follows a backslash; one says that it is a single character. without says that it is
// inside a negated class.
func (p *parser) escape(without bool) (class grammar.Class, one bool) {
	single := func(r rune) (grammar.Class, bool) { return grammar.Class{{Lo: r, Hi: r}}, true }
	r := p.next()
	if c, ok := controls[r]; ok {
		return single(c)
	}
	switch r {
	case 'd':
		return digits, false
	case 'D':
		return digits.Not(), false
	case 'w':
		return words, false
	case 'W':
		return words.Not(), false
	case 's', 'S':
		set := blanks
		if without == (r == 's') {
			set = allBlanks
		}
		if r == 'S' {
			set = set.Not()
		}
		return set, false
	case 'p', 'P':
		set := p.property()
		if r == 'P' {
			set = set.Not()
		}
		return set, false
	case 'c':
		return single(p.next() & 0x1f)
	case 'x':
		return single(p.hex(2))
	case 'u':
		return single(p.unit())
	}
	if r >= '1' && r <= '9' || r == 'k' {
		fail("references to groups are not supported")
	}
	if r < utf8.RuneSelf && (unicode.IsLetter(r) || r == '_') {
		fail("\\%c is not supported in patterns", r)
	}
	return single(r)
}

// unit parses the code of a character after \u.
func (p *parser) unit() rune {
	if p.take("{") {
		n := rune(0)
		for !p.take("}") {
			if n = n<<4 | p.hex(1); n > utf8.MaxRune {
				fail("no character has the number %x", n)
			}
		}
		return n
	}
	n := p.hex(4)
	if n >= 0xD800 && n < 0xDC00 && p.take(`\u`) { // a surrogate pair
		n = 0x10000 + (n-0xD800)<<10 + (p.hex(4)-0xDC00)&0x3ff
	}
	return n
}

func (p *parser) hex(digits int) (n rune) {
	for range digits {
		switch r := p.next(); {
		case r >= '0' && r <= '9':
			n = n<<4 | (r - '0')
		case r|0x20 >= 'a' && r|0x20 <= 'f':
			n = n<<4 | (r | 0x20 - 'a' + 10)
		default:
			fail("expected %d hexadecimal digits in the pattern %q", digits, p.text)
		}
	}
	return n
}

// property parses the name of a character property.
func (p *parser) property() (class grammar.Class) {
	name := string(p.next())
	if name == "{" {
		for name = ""; !p.take("}"); {
			name += string(p.next())
		}
	}
	for _, prefix := range []string{"Script=", "sc=", "General_Category=", "gc="} {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			name = name[len(prefix):]
		}
	}
	table := unicode.Categories[name]
	if long, ok := longNames[name]; ok {
		table = unicode.Categories[long]
	}
	if table == nil {
		table = unicode.Scripts[name]
	}
	if table == nil {
		table = unicode.Properties[name]
	}
	if table == nil {
		fail("the property %q of characters is not known", name)
	}
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			class = append(class, grammar.Range{Lo: lo, Hi: hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			class = append(class, grammar.Range{Lo: r, Hi: r})
		}
	}
	for _, r := range table.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	p.spend(len(class))
	return class.Not().Not()
}

// longNames maps long names of categories to short ones.
var longNames = map[string]string{"Letter": "L", "Lowercase_Letter": "Ll", "Uppercase_Letter": "Lu", "Number": "N", "Decimal_Number": "Nd", "Punctuation": "P", "Symbol": "S", "Separator": "Z", "Mark": "M", "Other": "C", "digit": "Nd"}

// class parses a bracket expression.
func (p *parser) class() grammar.Class {
	not := p.take("^")
	var all grammar.Class
	for !p.take("]") {
		p.spend(4)
		first, one := p.member(not)
		if len(p.text)-p.at > 1 && p.text[p.at] == '-' && p.text[p.at+1] != ']' && one {
			p.at++
			last, also := p.member(not)
			if !also || last[0].Lo < first[0].Lo {
				fail("a range without an end in the pattern %q", p.text)
			}
			first = grammar.Class{{Lo: first[0].Lo, Hi: last[0].Lo}}
		}
		all = append(all, p.folded(first)...)
	}
	if not {
		return all.Not()
	}
	return all.Not().Not() // sorted
}

func (p *parser) member(not bool) (grammar.Class, bool) {
	if p.take(`\`) {
		if p.take("b") {
			return grammar.Class{{Lo: '\b', Hi: '\b'}}, true
		}
		return p.escape(not)
	}
	r := p.next()
	return grammar.Class{{Lo: r, Hi: r}}, true
}
