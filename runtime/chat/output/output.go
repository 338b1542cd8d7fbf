// Package output takes apart what a model writes in a chat while it writes: thoughts,
// text, and calls of tools with their arguments as they come.
//
// A Parser gets pieces of text and returns events. How the text is cut into pieces makes
// no difference to what the events say together. Text that could be the beginning of a
// marker is held back until it is certain.
//
// What is not a call of a declared tool is text. A call is announced as soon as its name
// is certain and its arguments have begun; from then on it cannot be taken back, so its
// end says whether the arguments have become a JSON object.
package output

import (
	"encoding/json"
	"strings"
)

// Kind is what an Event is about.
type Kind int

// The kinds.
const (
	Content   Kind = iota // text of the answer
	Reasoning             // text of the thoughts before it
	CallBegin             // a call begins; Text is the tool's name
	Arguments             // more of the JSON text of the call's arguments
	CallEnd               // the call ends; Text is all of it, as the model wrote it
)

// Event is something that the model has written.
type Event struct {
	Kind  Kind
	Text  string
	Valid bool // of CallEnd: the arguments are a JSON object
}

// Config says what a Parser looks for.
type Config struct {
	// Format is how calls are written; nil: there are none, and their markers are text.
	Format *Format
	// Tools are those that may be called, each as {"type": "function", "function": …}.
	Tools []json.RawMessage
	// Think is what begins and ends thoughts; empty: <think> and </think>.
	Think [2]string
	// Thinking says that the prompt ends within thoughts.
	Thinking bool
}

// Parser takes one answer apart. It is not safe for concurrent use.
type Parser struct {
	format *Format
	tools  map[string]tool
	think  [2]string
	where  place
	held   string
	begun  bool   // something other than white space has been written
	forced bool   // the thoughts were ended for the model, which may end them once more
	trim   string // white space that does not count before the next text
	events []Event
	call   call
}

// place is where in an answer a parser is.
type place int

const (
	inText place = iota
	inThoughts
	inHeader  // of a call: its name
	inJSON    // its arguments
	inTail    // what must follow them
	inPairs   // of keys and values, which are the arguments
	inLiteral // a value that is passed on as it comes
)

// step does something with what is held, or returns false: it needs more text.
func (p *Parser) step() bool {
	switch p.where {
	case inThoughts:
		return p.thoughts()
	case inHeader:
		return p.header()
	case inJSON:
		return p.json()
	case inTail:
		return p.tail()
	case inPairs:
		return p.pair()
	case inLiteral:
		return p.literal()
	}
	return p.text()
}

// call is the one that is being read.
type call struct {
	tool  tool
	raw   strings.Builder // all of it
	args  strings.Builder // JSON
	scan  scanner
	pairs int // of keys and values
	tail  []string
}

// space is what counts as white space between calls.
const space = " \t\r\n"

// New is a parser at the beginning of an answer.
func New(c Config) *Parser {
	p := &Parser{format: c.Format, think: c.Think}
	if p.think[0] == "" {
		p.think = [2]string{"<think>", "</think>"}
	}
	if p.format != nil {
		p.tools = declared(c.Tools)
	}
	if c.Thinking {
		p.where, p.trim, p.begun = inThoughts, "\n", true
	}
	return p
}

// Push adds text and returns what is certain now.
func (p *Parser) Push(text string) []Event {
	p.held += text
	for p.step() {
	}
	return p.flush()
}

// Close returns what was held back, when no more will come.
func (p *Parser) Close() []Event {
	switch p.where {
	case inText:
		p.emit(Content, strings.TrimLeft(p.held, p.trim))
	case inThoughts:
		p.emit(Reasoning, strings.TrimLeft(p.held, p.trim))
	case inHeader:
		p.emit(Content, p.call.raw.String()+p.held)
	default:
		p.take(len(p.held))
		p.finish()
	}
	p.held, p.where = "", inText
	return p.flush()
}

func (p *Parser) flush() []Event {
	events := p.events
	p.events = nil
	return events
}

// emit adds an event, to the one before if that is text of the same kind.
func (p *Parser) emit(kind Kind, text string) {
	if text == "" {
		return
	}
	if n := len(p.events); n > 0 && kind != CallBegin && p.events[n-1].Kind == kind {
		p.events[n-1].Text += text
		return
	}
	p.events = append(p.events, Event{Kind: kind, Text: text})
}

// take removes the first n bytes of what is held, which are a call's.
func (p *Parser) take(n int) string {
	text := p.held[:n]
	p.held = p.held[n:]
	p.call.raw.WriteString(text)
	return text
}

// text passes on what lies before the next marker.
func (p *Parser) text() bool {
	p.held = strings.TrimLeft(p.held, p.trim)
	at, marker := p.next()
	before := p.held[:at]
	if marker != "" { // line breaks before a call are no text
		before = strings.TrimRight(before, space)
	}
	if before != "" {
		p.begun, p.trim = true, ""
		p.emit(Content, before)
	}
	if marker == "" {
		p.held = p.held[at:]
		return false
	}
	blanks := p.held[len(before):at]
	p.held = p.held[at+len(marker):]
	switch marker {
	case p.think[1]:
		p.emit(Content, strings.TrimLeft(blanks, p.trim))
		p.forced = false
	case p.think[0]:
		p.where, p.trim, p.begun = inThoughts, "\n", true
	case p.format.Call:
		p.where, p.call = inHeader, call{}
		p.call.raw.WriteString(blanks + marker)
	default: // around calls
		p.trim, p.begun = space, true
	}
	return true
}

// next finds the first marker that counts. Without one, it is how much of the text is
// certain: neither the beginning of a marker nor white space that one may follow.
func (p *Parser) next() (at int, marker string) {
	var markers []string
	if !p.begun {
		markers = append(markers, p.think[0])
	}
	if p.forced {
		markers = append(markers, p.think[1])
	}
	if p.format != nil {
		markers = append(markers, p.format.Call, p.format.Begin, p.format.End)
	}
	at = len(p.held)
	for _, m := range markers {
		if i := strings.Index(p.held[:min(len(p.held), at+len(m))], m); m != "" && i >= 0 && i < at {
			at, marker = i, m
		}
	}
	if marker == p.think[0] && strings.Trim(p.held[:at], space) != "" {
		p.begun = true // thoughts come first, or not at all
		return p.next()
	}
	if marker == "" {
		at -= partial(p.held, markers)
		if len(markers) > 0 {
			at = len(strings.TrimRight(p.held[:at], space))
		}
	}
	return at, marker
}

// partial is the length of the longest end of a text that begins a marker.
func partial(text string, markers []string) (longest int) {
	for _, m := range markers {
		for n := min(len(m)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, m[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// thoughts passes on thoughts up to their end.
func (p *Parser) thoughts() bool {
	p.held = strings.TrimLeft(p.held, p.trim)
	end := []string{p.think[1]}
	at := strings.Index(p.held, end[0])
	found := at >= 0
	if !found {
		at = len(p.held) - partial(p.held, end)
	}
	text := strings.TrimRight(p.held[:at], "\n")
	if text != "" {
		p.trim = ""
		p.emit(Reasoning, text)
	}
	if !found {
		p.held = p.held[len(text):]
		return false
	}
	p.held = p.held[at+len(end[0]):]
	p.where, p.trim = inText, "\n"
	return true
}

// Thinking says whether the model is at its thoughts.
func (p *Parser) Thinking() bool { return p.where == inThoughts }

// EndThoughts tells the parser that the end of the thoughts is written for the model. It may
// go on with them and end them itself: that marker is no text.
func (p *Parser) EndThoughts() { p.forced = true }

// Pairs says whether calls are written in pairs, which become JSON whatever is in them.
func (p *Parser) Pairs() bool { return p.format != nil && p.format.Pairs }
