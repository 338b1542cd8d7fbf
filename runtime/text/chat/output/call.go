package output

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxHeader is the longest text before the arguments of a call.
const maxHeader = 1 << 16

// found is the parsed beginning of a call.
type found struct {
	name string
	id   string // as the model wrote it; "": none
	size int    // bytes before the arguments
	args string // all arguments, if the header had to be parsed to the end of the call
	more bool   // more text is needed
}

// header parses the name of a call. A malformed call, or one that names no tool, is text.
func (p *Parser) header() bool {
	f, ok := p.format.header(p.format, p.held)
	if name := strings.TrimSpace(p.held); f.more && p.last && p.format.Pairs && p.tools[name] != nil { // the model omitted the end
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

// plausible says whether the held text may become the name of a tool. A model that thinks about the markers
// of calls does not write calls.
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

// argument emits JSON text of the arguments.
func (p *Parser) argument(text string) {
	p.call.args.WriteString(text)
	p.emit(Arguments, text)
}

// json emits the arguments up to their closing brace.
func (p *Parser) json() bool {
	n, ended := p.call.scan.next(p.held)
	p.argument(p.take(n))
	if !ended {
		return false
	}
	p.where = inTail
	return true
}

// tail parses what must follow the arguments, with optional white space; models omit some of it. Any other
// text is content.
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

// next is how many bytes of a text belong to the object, and whether the object ends there.
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
		case c == '<': // not JSON: a marker, because a brace is missing
			return i, true
		}
		if s.depth <= 0 {
			return i + 1, true
		}
	}
	return len(text), false
}
