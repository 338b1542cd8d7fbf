// Package output parses a model's chat output while it is generated: thoughts, text, and tool calls with
// their arguments, as a stream of events.
//
// A Parser gets pieces of text and returns events. The events do not depend on how the text is split. Text
// that could be the beginning of a marker is held back until that is decided.
//
// Anything that is not a call of a declared tool is text. A call is emitted as soon as its name is certain
// and its arguments have begun. It cannot be taken back after that, so its end says whether the arguments are
// a JSON object.
package output

import (
	"encoding/json"
	"strings"
)

// Kind is the kind of an Event.
type Kind int

// Kinds of events.
const (
	Content   Kind = iota // text of the answer
	Reasoning             // text of the thoughts before it
	CallBegin             // a call begins; Text is the tool's name
	Arguments             // more of the JSON text of the call's arguments
	CallEnd               // the call ends; Text is the whole call as the model wrote it
)

// Event is a piece of a model's output.
type Event struct {
	Kind  Kind
	Text  string
	ID    string // for CallBegin: as the model wrote it; "": none
	Valid bool   // for CallEnd: the arguments are a JSON object
	Else  Kind   // for CallEnd: the kind of Text if the call is not valid
}

// Config is what a Parser has to know.
type Config struct {
	// Format is how calls are written; nil: there are no calls, and their markers are text.
	Format *Format
	// Tools are the declared tools, each as {"type": "function", "function": …}.
	Tools []json.RawMessage
	// Think is the markers of thoughts; empty: <think> and </think>.
	Think [2]string
	// Thinking says that the prompt ends within thoughts.
	Thinking bool
}

// Parser parses one answer. It is not safe for concurrent use.
type Parser struct {
	format *Format
	tools  map[string]tool
	think  [2]string
	where  place
	held   string
	begun  bool   // something other than white space has come
	forced bool   // the end of the thoughts was forced; the model may end them once more
	last   bool   // the answer is complete
	turn   bool   // the turn is over, unless a call follows
	over   bool   // the turn is over
	trim   string // white space that is dropped before the next text
	events []Event
	call   call
}

// place is the parser's state.
type place int

const (
	inText place = iota
	inThoughts
	inHeader  // of a call: its name
	inJSON    // of a call: its JSON arguments
	inTail    // of a call: what must follow the arguments
	inPairs   // of a call: its pairs of keys and values
	inLiteral // a string value that is streamed
)

// step consumes some held text, or returns false: it needs more.
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

// call is the current call.
type call struct {
	kind Kind // of its text if it is not a valid call: Content, or Reasoning within thoughts
	tool tool
	raw  strings.Builder // the whole text
	args strings.Builder // as JSON
	scan scanner
	keys []string // of the pairs so far
	tail []string
}

// after is the state after a call.
func (c *call) after() place {
	if c.kind == Reasoning {
		return inThoughts
	}
	return inText
}

// space is the white space between calls.
const space = " \t\r\n"

// New returns a parser for an answer.
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

// Push adds text and returns the events that are certain.
func (p *Parser) Push(text string) []Event {
	if p.over {
		return nil
	}
	p.held += text
	for p.step() {
	}
	return p.flush()
}

// Close returns the events that were held back, after the model has ended its answer. A call without its end
// marker is complete then.
func (p *Parser) Close() []Event {
	p.last = true
	for p.step() {
	}
	return p.Cut()
}

// Cut returns the events that were held back, after the answer was broken off.
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

// emit adds an event, or extends the previous one if it is text of the same kind.
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

// take removes the first n bytes of the held text, which belong to a call.
func (p *Parser) take(n int) string {
	text := p.held[:n]
	p.held = p.held[n:]
	p.call.raw.WriteString(text)
	return text
}

// text emits the text before the next marker.
func (p *Parser) text() bool {
	p.held = strings.TrimLeft(p.held, p.trim)
	if p.turn && !p.called() {
		return false
	}
	at, marker := p.next()
	before := p.held[:at]
	if marker != "" { // line breaks before a call are dropped
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
	default: // markers around calls
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

// Over says whether the model's turn has ended, even if the model continues with another turn.
func (p *Parser) Over() bool { return p.over }

// next finds the first relevant marker. If there is none, at is how much of the text is certain: it excludes
// a possible beginning of a marker, and white space that may be dropped before one.
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
		p.begun = true // thoughts can only come first
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

// calls lists the markers at the beginning of a call and around calls.
func (f *Format) calls() []string {
	return append([]string{f.Call, f.Begin, f.End}, f.around...)
}

// first returns the first occurrence of one of the markers; -1: there is none.
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

// partial is the length of the longest suffix of a text that is the beginning of a marker.
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

// thoughts emits thoughts up to their end, or up to a call: some models call before they end their thoughts.
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

// Thinking says whether the model is writing thoughts.
func (p *Parser) Thinking() bool {
	return p.where == inThoughts || p.where == inHeader && p.call.kind == Reasoning
}

// EndThoughts tells the parser that the end of the thoughts was forced. If the model continues thinking and
// ends its thoughts itself, that marker is dropped.
func (p *Parser) EndThoughts() { p.forced = true }

// Pairs says whether calls are written as pairs, which always become valid JSON.
func (p *Parser) Pairs() bool { return p.format != nil && p.format.Pairs }
