package chat

// ToolCall is a call of a tool that an assistant's turn ends with.
type ToolCall struct {
	ID   string
	Name string
	// Arguments is a JSON object. Its text is kept as it is, so that a call that a
	// model has written is written again with the same tokens.
	Arguments string
}
