package server

import "mla/runtime/chat/output"

// call is a call of a tool.
type call struct{ id, name, arguments string }

// sure says whether the arguments of a call that begins will be JSON, unless it is cut: they
// are made of pairs, or a grammar sees to it.
func (c *choice) sure() bool {
	return c.parser.Pairs() || c.calling && c.tools != nil && c.matcher != nil
}

// endCall ends a call. One that waited is passed on now: as text if it is none.
func (c *choice) endCall(e output.Event) {
	c.current.arguments = c.args.String()
	switch {
	case c.held && !e.Valid:
		c.event(output.Event{Kind: output.Content, Text: e.Text})
		return
	case c.held:
		c.event(output.Event{Kind: output.CallBegin, Text: c.current.name})
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
	c.memory.add(c.current.id, wrote)
	c.begun++
	c.calls++
	c.closed = c.closed || c.oneCall
}
