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
	ID    string // of CallBegin: as the model wrote it; "": it wrote none
	Valid bool   // of CallEnd: the arguments are a JSON object
	Else  Kind   // of CallEnd: what Text is if it is no call
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
	last   bool   // no more text will come, as the model has ended the answer
	turn   bool   // the turn is over, unless a call follows
	over   bool   // the turn is over
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
	kind Kind // of its text if it is none: Content, or Reasoning within thoughts
	tool tool
	raw  strings.Builder // all of it
	args strings.Builder // JSON
	scan scanner
	keys []string // of the pairs
	tail []string
}

// after is where the parser is after a call.
func (c *call) after() place {
	if c.kind == Reasoning {
		return inThoughts
	}
	return inText
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
	if p.over {
		return nil
	}
	p.held += text
	for p.step() {
	}
	return p.flush()
}

// Close returns what was held back, when the model has ended its answer. A call whose end it
// has forgotten is whole.
func (p *Parser) Close() []Event {
	p.last = true
	for p.step() {
	}
	return p.Cut()
}

// Cut returns what was held back, when the answer was broken off.
func (p *Parser) Cut() []Event {
	switch p.where {
	case inText:
		if !p.turn {
			p.emit(Content, strings.TrimLeft(p.held, p.trim))
		}
	case inThoughts:
		p.emit(Reasoning, strings.TrimLeft(p.held, p.trim))
	case inHeader:
		p.emit(p.call.kind, p.call.raw.String()+p.held)
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
	if p.turn && !p.called() {
		return false
	}
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
		p.turn = p.format.Turn && marker == p.format.Begin
	}
	return true
}

// called says whether a call follows the end of a turn. If not, the turn is over.
func (p *Parser) called() bool {
	if strings.HasPrefix(p.format.Call, p.held) && p.held != p.format.Call {
		return false
	}
	p.turn = false
	if strings.HasPrefix(p.held, p.format.Call) {
		return true
	}
	p.held, p.over = "", true
	return false
}

// Over says whether the model's turn has ended, though it goes on with another one.
func (p *Parser) Over() bool { return p.over }

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
		markers = append(markers, p.format.calls()...)
	}
	if at, marker = first(p.held, markers); at < 0 {
		at = len(p.held)
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

// calls are the markers of a call's beginning, and those around calls.
func (f *Format) calls() []string {
	return append([]string{f.Call, f.Begin, f.End}, f.around...)
}

// first is the first of some markers in a text, and where it is; -1: there is none.
func first(text string, markers []string) (at int, marker string) {
	at = -1
	for _, m := range markers {
		within := text
		if at >= 0 {
			within = text[:min(len(text), at+len(m))]
		}
		if i := strings.Index(within, m); m != "" && i >= 0 && (at < 0 || i < at) {
			at, marker = i, m
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

// thoughts passes on thoughts up to their end, or up to a call: some models call before they
// have ended their thoughts.
func (p *Parser) thoughts() bool {
	p.held = strings.TrimLeft(p.held, p.trim)
	markers := []string{p.think[1]}
	if p.format != nil && !p.format.Quoted {
		markers = append(markers, p.format.calls()...)
	}
	at, marker := first(p.held, markers)
	if marker == "" {
		at = len(p.held) - partial(p.held, markers)
	}
	text := strings.TrimRight(p.held[:at], "\n")
	if text != "" {
		p.trim = ""
		p.emit(Reasoning, text)
	}
	blanks := p.held[len(text):at]
	if marker == "" {
		p.held = p.held[len(text):]
		return false
	}
	p.held = p.held[at+len(marker):]
	switch marker {
	case p.think[1]:
		p.where, p.trim = inText, "\n"
	case p.format.Call:
		p.where, p.call = inHeader, call{kind: Reasoning}
		p.call.raw.WriteString(blanks + marker)
	default:
		p.trim = space
	}
	return true
}

// Thinking says whether the model is at its thoughts.
func (p *Parser) Thinking() bool {
	return p.where == inThoughts || p.where == inHeader && p.call.kind == Reasoning
}

// EndThoughts tells the parser that the end of the thoughts is written for the model. It may
// go on with them and end them itself: that marker is no text.
func (p *Parser) EndThoughts() { p.forced = true }

// Pairs says whether calls are written in pairs, which become JSON whatever is in them.
func (p *Parser) Pairs() bool { return p.format != nil && p.format.Pairs }
