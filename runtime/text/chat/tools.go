package chat

import (
	"encoding/json"
	"strings"
)

// ToolCall is a call of a tool that an assistant's turn ends with.
type ToolCall struct {
	ID   string
	Name string
	// Arguments is a JSON object. Its text is kept as it is, so that a call that a
	// model has written is written again with the same tokens.
	Arguments string
}

// HidesTools says whether a template leaves out the declarations of tools, as that of
// DeepSeek-V3.1 does, which has calls. A model that is not told of a tool cannot call it.
func HidesTools(r Renderer) bool {
	const name = "probe_of_this_template"
	probe := json.RawMessage(`{"type": "function", "function": {"name": "` + name + `", "description": "x", "parameters": {"type": "object", "properties": {}}}}`)
	text, err := r.Render([]Message{{Role: User, Content: "x"}}, Options{AddGenerationPrompt: true, Tools: []json.RawMessage{probe}})
	return err != nil || !strings.Contains(text, name)
}
