package jinja

import "slices"

// maxNesting is the deepest nesting of blocks and expressions in a template's text.
const maxNesting = 200

// parser parses statements and expressions from tokens.
type parser struct {
	tokens []token
	pos    int
	depth  int
	loops  int // around the current statement, within the same macro
	soft   int // conditions around it; code under a condition may use unknown names
	// unknown has the errors for filters and tests that do not exist.
	unknown []*Error
}

func (p *parser) current() *token { return &p.tokens[p.pos] }

func (p *parser) look() *token { return &p.tokens[min(p.pos+1, len(p.tokens)-1)] }

func (p *parser) advance() *token {
	t := p.current()
	if t.kind != tokEnd {
		p.pos++
	}
	return t
}

// is reports whether the current token has one of the kinds.
func (p *parser) is(kinds ...string) bool { return slices.Contains(kinds, p.current().kind) }

// isName reports whether the current token is one of the names.
func (p *parser) isName(names ...string) bool {
	return p.current().kind == tokName && slices.Contains(names, p.current().text)
}

func (p *parser) skipIf(kind string) bool {
	if p.is(kind) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.isName(name) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(kind string) *token {
	if !p.is(kind) {
		p.unexpected(kind)
	}
	return p.advance()
}

func (p *parser) expectName(name string) {
	if !p.skipName(name) {
		p.unexpected(name)
	}
}

// unexpected fails at the current token.
func (p *parser) unexpected(expected string) {
	found := p.current().kind
	if text := p.current().text; text != "" && found != tokData {
		found = quote(text)
	}
	p.fail("unexpected %s, expected %s", found, expected)
}

func (p *parser) fail(format string, args ...any) { failAt(p.current().line, format, args...) }

// nest counts a nesting level; unnest must follow.
func (p *parser) nest() {
	p.depth++
	if p.depth > maxNesting {
		p.fail("brackets, operators or blocks are nested more than %d deep", maxNesting)
	}
}

func (p *parser) unnest() { p.depth-- }

func (p *parser) template() []node {
	body := p.statements()
	if !p.is(tokEnd) {
		p.unexpected(tokEnd)
	}
	if len(p.unknown) > 0 {
		panic(p.unknown[0])
	}
	return body
}

// statements parses up to one of the end tags, whose name is then the current token.
func (p *parser) statements(ends ...string) (body []node) {
	p.nest()
	defer p.unnest()
	for {
		switch t := p.current(); t.kind {
		case tokData:
			p.advance()
			body = append(body, &textNode{t.text})
		case tokVarBegin:
			p.advance()
			body = append(body, &printNode{p.tuple(true), t.line})
			p.expect(tokVarEnd)
		case tokTagBegin:
			p.advance()
			if p.isName(ends...) {
				return body
			}
			body = append(body, p.statement(ends)...)
			p.expect(tokTagEnd)
		default:
			if len(ends) > 0 {
				p.fail("the template ends within a block; expected %s", ends[len(ends)-1])
			}
			return body
		}
	}
}

// block parses the body of a block, and the named end.
func (p *parser) block(end string) []node {
	body := p.open(end)
	p.advance()
	return body
}

// open parses the body of a block up to one of the ends.
func (p *parser) open(ends ...string) []node {
	p.skipIf(":")
	p.expect(tokTagEnd)
	return p.statements(ends...)
}

// refused is the statements that read other templates or belong to extensions, with the reason for which they
// are not supported.
var refused = map[string]string{
	"include": "other templates cannot be read", "import": "other templates cannot be read", "from": "other templates cannot be read",
	"extends": "other templates cannot be read", "block": "there is no inheritance", "autoescape": "prompts are no HTML",
	"trans": "nothing is translated", "debug": "it is for developers of templates",
}

// parsers has the parser of each statement, by its first word. It is filled by init, because the functions
// refer to it.
var parsers map[string]func(p *parser, line int) node

func init() {
	parsers = map[string]func(p *parser, line int) node{
		"if": parseIf, "for": parseFor, "set": parseSet, "with": parseWith, "macro": parseMacro, "call": parseCallBlock,
		"filter": parseFilterBlock, "do": parseDo, "generation": parseGeneration, "break": parseBreak, "continue": parseContinue,
	}
}

// statement parses a tag whose {% has been consumed.
func (p *parser) statement(ends []string) []node {
	t := p.expect(tokName)
	if t.text == "print" {
		return p.prints(t.line)
	}
	if parse := parsers[t.text]; parse != nil {
		return []node{parse(p, t.line)}
	}
	if why := refused[t.text]; why != "" {
		failAt(t.line, "the statement %s is not supported: %s", t.text, why)
	}
	if len(ends) > 0 {
		failAt(t.line, "unknown statement %s, expected one that exists or %s", quote(t.text), ends[len(ends)-1])
	}
	failAt(t.line, "unknown statement %s", quote(t.text))
	return nil
}

func (p *parser) prints(line int) (list []node) {
	for len(list) == 0 || p.skipIf(",") {
		list = append(list, &printNode{p.expression(), line})
	}
	return list
}

func parseIf(p *parser, line int) node {
	n := &ifNode{line: line}
	p.soft++
	defer func() { p.soft-- }()
	for {
		n.tests = append(n.tests, p.tuple(false))
		n.bodies = append(n.bodies, p.open("elif", "else", "endif"))
		if word := p.advance().text; word != "elif" {
			if word == "else" {
				n.other = p.block("endif")
			}
			return n
		}
	}
}

func parseFor(p *parser, line int) node {
	n := &forNode{line: line}
	n.to = p.target(true, false)
	p.expectName("in")
	n.over = p.tuple(false, "recursive")
	if p.skipName("if") {
		n.test = p.expression()
	}
	n.recursive = p.skipName("recursive")
	p.loops++
	n.body = p.open("else", "endfor")
	p.loops--
	if p.advance().text == "else" {
		n.other = p.block("endfor")
	}
	return n
}

func parseSet(p *parser, line int) node {
	to := p.target(true, true)
	if p.skipIf("=") {
		return &setNode{to, p.tuple(true), line}
	}
	n := &setBlock{to: to, line: line}
	n.filter = p.filters(nil)
	n.body = p.block("endset")
	return n
}

func parseWith(p *parser, line int) node {
	n := &withNode{line: line}
	for !p.is(tokTagEnd) {
		if len(n.targets) > 0 {
			p.expect(",")
		}
		n.targets = append(n.targets, p.target(true, false))
		p.expect("=")
		n.values = append(n.values, p.expression())
	}
	n.body = p.block("endwith")
	return n
}

func parseMacro(p *parser, line int) node {
	n := &macroNode{name: p.name(), line: line}
	p.signature(n)
	p.macroBody(n, "endmacro")
	return n
}

// macroBody parses the body of a macro or a call block. Surrounding loops do not extend into it.
func (p *parser) macroBody(n *macroNode, end string) {
	loops := p.loops
	p.loops = 0
	n.body = p.block(end)
	p.loops = loops
	used := undeclared(n.body)
	n.caller, n.kwargs, n.varargs = used["caller"], used["kwargs"], used["varargs"]
}

func (p *parser) signature(n *macroNode) {
	p.expect("(")
	for !p.is(")") {
		if len(n.params) > 0 {
			p.expect(",")
		}
		n.params = append(n.params, p.name())
		if p.skipIf("=") {
			n.defaults = append(n.defaults, p.expression())
		} else if len(n.defaults) > 0 {
			p.fail("a parameter without a default follows one with a default")
		}
	}
	p.expect(")")
}

func parseCallBlock(p *parser, line int) node {
	n := &callNode{body: &macroNode{name: "caller", line: line}, line: line}
	if p.is("(") {
		p.signature(n.body)
	}
	made, ok := p.expression().(*call)
	if !ok {
		p.fail("a call block needs a call")
	}
	n.call = made
	p.macroBody(n.body, "endcall")
	return n
}

func parseFilterBlock(p *parser, line int) node {
	filter := p.filters(p.filter(nil))
	return &filterNode{filter, p.block("endfilter"), line}
}

func parseDo(p *parser, line int) node { return &doNode{p.tuple(true), line} }

// parseGeneration parses the markers of an assistant's text for training.
func parseGeneration(p *parser, line int) node {
	n := &macroNode{name: "generation", line: line}
	p.macroBody(n, "endgeneration")
	return &generationNode{n.body, line}
}

func parseBreak(p *parser, line int) node    { return p.jump(toBreak, "break", line) }
func parseContinue(p *parser, line int) node { return p.jump(toContinue, "continue", line) }

func (p *parser) jump(to flow, word string, line int) node {
	if p.loops == 0 {
		failAt(line, "%s outside a loop", word)
	}
	return &jumpNode{to}
}

// constants is names that cannot be assigned to.
var constants = map[string]Value{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

// name parses a name that can be assigned to.
func (p *parser) name() string {
	t := p.expect(tokName)
	if _, ok := constants[t.text]; ok {
		failAt(t.line, "cannot assign to %s", t.text)
	}
	return t.text
}

// target parses the left side of an assignment.
func (p *parser) target(several, namespaces bool) target {
	p.nest()
	defer p.unnest()
	one := func() target {
		if p.skipIf("(") {
			t := p.target(true, namespaces)
			p.expect(")")
			return t
		}
		t := target{name: p.name()}
		if namespaces && p.skipIf(".") {
			t.attr = p.expect(tokName).text
		}
		return t
	}
	first := one()
	if !several || !p.is(",") {
		return first
	}
	list := []target{first}
	for p.skipIf(",") && !p.is(")") {
		list = append(list, one())
	}
	return target{list: list}
}
