package server

import (
	"encoding/json"

	"mla/runtime/text/chat/output"
)

// call is a call of a tool.
type call struct{ id, name, arguments string }

// argumentText is the JSON text of a call's arguments. Clients send the text, some of them
// the object itself.
type argumentText string

// UnmarshalJSON implements json.Unmarshaler.
func (a *argumentText) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		*a = argumentText(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

// sure says whether the arguments of a call that begins will be JSON, unless it is cut: they
// are made of pairs, or a grammar sees to it.
func (c *choice) sure() bool {
	return c.parser.Pairs() || c.guided.Calling()
}

// beginCall begins a call, which is passed on with the first of its arguments: a call
// without any would look whole if it were cut.
func (c *choice) beginCall(e output.Event) {
	c.current, c.held, c.said = call{id: c.names.next(e, c.begun), name: e.Text}, !c.sure(), false
	c.args.Reset()
}

// argue passes on arguments, unless the call waits for its end, which may turn it into text.
func (c *choice) argue(e output.Event) {
	c.args.WriteString(e.Text)
	if !c.held {
		c.say()
		c.event(e)
	}
}

// say passes on that a call has begun.
func (c *choice) say() {
	if !c.said {
		c.said = true
		c.event(output.Event{Kind: output.CallBegin, Text: c.current.name})
	}
}

// endCall ends a call. One that waited is passed on now: as text if it is none.
func (c *choice) endCall(e output.Event) {
	c.current.arguments = c.args.String()
	switch {
	case !c.said && !e.Valid:
		c.event(output.Event{Kind: e.Else, Text: e.Text})
		return
	case !c.said:
		c.say()
		c.event(output.Event{Kind: output.Arguments, Text: c.current.arguments})
	}
	c.event(e)
	if !e.Valid {
		c.torn = true
		return
	}
	wrote := written{arguments: c.current.arguments}
	if c.begun == 0 {
		wrote.thoughts = c.reasoning.String()
	}
	c.memory.add(c.key(c.current.id), wrote)
	c.begun++
	c.calls++
	c.closed = c.closed || c.oneCall
}
