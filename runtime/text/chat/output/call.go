package output

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxHeader is how long what comes before the arguments of a call may be.
const maxHeader = 1 << 16

// found is what a format knows of a call's beginning.
type found struct {
	name string
	id   string // that the model has written; "": none
	size int    // bytes up to the arguments
	args string // all of them, if the header had to be read to the end of the call
	more bool   // text is needed
}

// header reads the name of a call. What is none, or names no tool, is text.
func (p *Parser) header() bool {
	f, ok := p.format.header(p.format, p.held)
	if name := strings.TrimSpace(p.held); f.more && p.last && p.format.Pairs && p.tools[name] != nil { // the end is missing
		f = found{name: name, size: len(p.held)}
	}
	if f.more && ok && len(p.held) <= maxHeader && p.plausible() {
		return false
	}
	t, known := p.tools[f.name]
	if f.more || !ok || !known {
		p.emit(p.call.kind, p.call.raw.String())
		p.where, p.trim, p.begun = p.call.after(), "", true
		return true
	}
	p.take(f.size)
	p.call.tool, p.call.tail = t, p.format.Tail
	p.events = append(p.events, Event{Kind: CallBegin, Text: f.name, ID: f.id})
	switch {
	case f.args != "":
		p.argument(f.args)
		p.finish()
	case p.format.Pairs:
		p.where = inPairs
	default:
		p.where = inJSON
	}
	return true
}

// plausible says whether what is held may become the name of a tool. A model that thinks
// about the marks of calls makes none.
func (p *Parser) plausible() bool {
	if p.call.kind == Reasoning && strings.Contains(p.held, p.think[1]) {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimSpace(p.held), "<")
	name = strings.TrimSpace(name)
	for known := range p.tools {
		if strings.HasPrefix(known, name) {
			return true
		}
	}
	return !p.format.Pairs
}

// argument passes on JSON text.
func (p *Parser) argument(text string) {
	p.call.args.WriteString(text)
	p.emit(Arguments, text)
}

// json passes on the arguments up to where their braces are closed.
func (p *Parser) json() bool {
	n, ended := p.call.scan.next(p.held)
	p.argument(p.take(n))
	if !ended {
		return false
	}
	p.where = inTail
	return true
}

// tail reads what must follow the arguments, with white space between; models forget
// some of it. What else follows is text.
func (p *Parser) tail() bool {
	for {
		rest := strings.TrimLeft(p.held, space)
		at := slices.IndexFunc(p.call.tail, func(want string) bool { return strings.HasPrefix(rest, want) })
		if at < 0 {
			if slices.ContainsFunc(p.call.tail, func(want string) bool { return strings.HasPrefix(want, rest) }) {
				return false
			}
			p.finish()
			return true
		}
		p.take(len(p.held) - len(rest) + len(p.call.tail[at]))
		p.call.tail = p.call.tail[at+1:]
	}
}

// finish ends a call.
func (p *Parser) finish() {
	args := p.call.args.String()
	valid := strings.HasPrefix(args, "{") && json.Valid([]byte(args))
	p.events = append(p.events, Event{Kind: CallEnd, Text: p.call.raw.String(), Valid: valid, Else: p.call.kind})
	p.where, p.trim, p.call = p.call.after(), space, call{}
}

// scanner finds the end of a JSON object by its braces.
type scanner struct {
	depth   int
	quoted  bool
	escaped bool
}

// next is how much of a text belongs to the object, and whether that ends there.
func (s *scanner) next(text string) (n int, ended bool) {
	for i := range len(text) {
		c := text[i]
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped = c == '\\'
			s.quoted = c != '"'
		case c == '"':
			s.quoted = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			s.depth--
		case c == '<': // never in JSON: a marker, for want of a brace
			return i, true
		}
		if s.depth <= 0 {
			return i + 1, true
		}
	}
	return len(text), false
}
