package pattern

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mla/runtime/text/grammar"
)

// Limits on a regular expression.
const (
	maxText    = 1 << 12
	maxNesting = 100
	maxTimes   = 1 << 14
)

// parser parses a regular expression.
type parser struct {
	*Work
	text  string
	at    int
	depth int
	fold  bool // case-insensitive
	dot   bool // . matches line breaks, too
}

func (w *Work) parse(text string) *tree {
	if len(text) > maxText {
		fail("a pattern of %d bytes; at most %d are possible", len(text), maxText)
	}
	if !utf8.ValidString(text) {
		fail("a pattern that is not UTF-8")
	}
	p := &parser{Work: w, text: text}
	t := p.alternatives()
	if p.at < len(text) {
		fail("an unexpected ) in the pattern %q", text)
	}
	return t
}

func (p *parser) take(text string) bool {
	if strings.HasPrefix(p.text[p.at:], text) {
		p.at += len(text)
		return true
	}
	return false
}

func (p *parser) end() bool { return p.at == len(p.text) }

// next consumes a character.
func (p *parser) next() rune {
	if p.end() {
		fail("the pattern %q ends too early", p.text)
	}
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	return r
}

func (p *parser) alternatives() *tree {
	if p.depth++; p.depth > maxNesting {
		fail("more than %d groups within each other", maxNesting)
	}
	defer func() { p.depth-- }()
	list := []*tree{p.sequence()}
	for p.take("|") {
		list = append(list, p.sequence())
	}
	if len(list) == 1 {
		return list[0]
	}
	return &tree{op: opAlt, sub: list}
}

func (p *parser) sequence() *tree {
	t := &tree{op: opSeq}
	for !p.end() && p.text[p.at] != '|' && p.text[p.at] != ')' {
		p.spend(4)
		one := p.atom()
		if one == nil {
			continue
		}
		t.sub = append(t.sub, p.repeated(one))
	}
	return t
}

// atom parses an operand of a repetition; nil: it was flags.
func (p *parser) atom() *tree {
	switch r := p.next(); r {
	case '^':
		return &tree{op: opAssert, assert: atBegin}
	case '$':
		return &tree{op: opAssert, assert: atEnd}
	case '(':
		return p.group()
	case '[':
		return &tree{op: opClass, class: p.class()}
	case '.':
		if p.dot {
			return &tree{op: opClass, class: Anything}
		}
		return &tree{op: opClass, class: grammar.Class{{Lo: '\n', Hi: '\n'}, {Lo: '\r', Hi: '\r'}, {Lo: 0x2028, Hi: 0x2029}}.Not()}
	case '\\':
		switch {
		case p.take("b"):
			return &tree{op: opAssert, assert: atWord}
		case p.take("B"):
			return &tree{op: opAssert, assert: notAtWord}
		case p.take("A"):
			return &tree{op: opAssert, assert: atBegin}
		case p.take("z"), p.take("Z"):
			return &tree{op: opAssert, assert: atEnd}
		}
		class, _ := p.escape(false)
		return &tree{op: opClass, class: p.folded(class)}
	case '*', '+', '?':
		fail("nothing stands in front of %c in the pattern %q", r, p.text)
		return nil
	default:
		return &tree{op: opClass, class: p.folded(grammar.Class{{Lo: r, Hi: r}})}
	}
}

func (p *parser) group() *tree {
	op := opSeq
	fold, dot := p.fold, p.dot
	switch {
	case p.take("?:"):
	case p.take("?="):
		op = opAhead
	case p.take("?!"):
		op = opNotAhead
	case strings.HasPrefix(p.text[p.at:], "?<=") || strings.HasPrefix(p.text[p.at:], "?<!"):
		fail("lookbehinds are not supported")
	case p.take("?<"), p.take("?P<"):
		for p.next() != '>' {
		}
	case p.take("?"):
		if p.flags() {
			return nil // for the rest of this group
		}
	}
	t := p.alternatives()
	if !p.take(")") {
		fail("a group has no end in the pattern %q", p.text)
	}
	p.fold, p.dot = fold, dot
	if op == opSeq {
		return t
	}
	return &tree{op: op, sub: []*tree{t}}
}

// flags parses i and s; alone says whether they end with the group.
func (p *parser) flags() (alone bool) {
	for {
		switch r := p.next(); r {
		case 'i':
			p.fold = true
		case 's':
			p.dot = true
		case ':':
			return false
		case ')':
			return true
		default:
			fail("the flag %c is not supported in patterns", r)
		}
	}
}

// repeated parses the repetition of an operand.
func (p *parser) repeated(t *tree) *tree {
	for n := 0; ; n++ {
		r := &tree{op: opRepeat, sub: []*tree{t}, max: -1}
		switch {
		case p.take("*"):
		case p.take("+"):
			r.min = 1
		case p.take("?"):
			r.max = 1
		default:
			if !p.times(r) {
				return t
			}
		}
		if n > 0 {
			fail("a repetition of a repetition in the pattern %q", p.text)
		}
		p.take("?") // lazy: the language is the same
		t = r
	}
}

// times parses {n}, {n,} or {n,m}; other text in braces is literal.
func (p *parser) times(r *tree) bool {
	start := p.at
	number := func() (n int, ok bool) {
		for ; !p.end() && p.text[p.at] >= '0' && p.text[p.at] <= '9'; p.at++ {
			n = min(10*n+int(p.text[p.at]-'0'), maxTimes+1)
			ok = true
		}
		return n, ok
	}
	ok := p.take("{")
	if ok {
		r.min, ok = number()
		r.max = r.min
		if ok && p.take(",") {
			var limited bool
			if r.max, limited = number(); !limited {
				r.max = -1
			}
		}
		ok = ok && p.take("}")
	}
	if !ok {
		p.at = start
		return false
	}
	if max(r.min, r.max) > maxTimes {
		fail("more than %d repetitions", maxTimes)
	}
	if r.max >= 0 && r.max < r.min {
		fail("at least %d times and at most %d", r.min, r.max)
	}
	return true
}

// folded is a class with the other case of its letters, if case is ignored.
func (p *parser) folded(c grammar.Class) grammar.Class {
	if !p.fold {
		return c
	}
	out := slices.Clone(c)
	for _, r := range c {
		for char := r.Lo; char <= min(r.Hi, r.Lo+1<<11); char++ {
			p.spend(1)
			for f := unicode.SimpleFold(char); f != char; f = unicode.SimpleFold(f) {
				out = append(out, grammar.Range{Lo: f, Hi: f})
			}
		}
	}
	return out.Not().Not()
}
