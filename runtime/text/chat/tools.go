package chat

import (
	"encoding/json"
	"strings"
)

// ToolCall is a tool call at the end of an assistant's turn.
type ToolCall struct {
	ID   string
	Name string
	// Arguments is a JSON object. Its text is kept unchanged, so that a call that a model has written gets
	// the same tokens again.
	Arguments string
}

// HidesTools says whether a template supports calls but not the declarations of tools, like DeepSeek-V3.1's.
// A model cannot call a tool that it is not told of.
func HidesTools(r Renderer) bool {
	const name = "probe_of_this_template"
	probe := json.RawMessage(`{"type": "function", "function": {"name": "` + name + `", "description": "x", "parameters": {"type": "object", "properties": {}}}}`)
	text, err := r.Render([]Message{{Role: User, Content: "x"}}, Options{AddGenerationPrompt: true, Tools: []json.RawMessage{probe}})
	return err != nil || !strings.Contains(text, name)
}
