package server

import (
	"encoding/json"

	"mla/runtime/text/chat/output"
)

// call is a call of a tool.
type call struct{ id, name, arguments string }

// argumentText is the JSON text of a call's arguments. Most clients send the text, some of them the object
// itself.
type argumentText string

// UnmarshalJSON implements json.Unmarshaler.
func (a *argumentText) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		*a = argumentText(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

// sure says whether the arguments of a call will be valid JSON unless the call is cut off: the format
// assembles them from pairs, or a grammar ensures it.
func (c *choice) sure() bool {
	return c.parser.Pairs() || c.guided.Calling()
}

// beginCall begins a call. The event is sent with the first arguments: a call without any would look complete
// if it were cut off.
func (c *choice) beginCall(e output.Event) {
	c.current, c.held, c.said = call{id: c.names.next(e, c.begun), name: e.Text}, !c.sure(), false
	c.args.Reset()
}

// argue sends arguments, unless the call is held back until its end, because it might turn out to be text.
func (c *choice) argue(e output.Event) {
	c.args.WriteString(e.Text)
	if !c.held {
		c.say()
		c.event(e)
	}
}

// say sends the beginning of a call.
func (c *choice) say() {
	if !c.said {
		c.said = true
		c.event(output.Event{Kind: output.CallBegin, Text: c.current.name})
	}
}

// endCall ends a call. A call that was held back is sent now; as text if it is not a valid call.
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
