package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// glm is the format of GLM-4.7-Flash:
//
//	[gMASK]<sop><|system|>S<|user|>U<|assistant|></think>A<|user|>U<|assistant|><think>
//
// There are no line breaks between turns. Reasoning is kept in the assistant's
// turns after the last user's, which are the steps of one answer with tools; in
// earlier turns a lone </think> takes its place, unless thinking is to be kept. Tools
// are declared in a system's turn before all others, and calls are written as
//
//	<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value>…</tool_call>
type glm struct{}

func (glm) Name() string { return "glm4" }

// Stops has the tokens that begin the other roles' turns, as GLM ends its own by
// writing one of them.
func (glm) Stops() []string { return []string{"<|endoftext|>", "<|user|>", "<|observation|>"} }

func (g glm) Render(messages []Message, opts Options) (string, error) {
	lastUser := -1
	for i, m := range messages {
		if m.Role == User {
			lastUser = i
		}
	}
	var out strings.Builder
	out.WriteString("[gMASK]<sop>")
	if err := g.declare(&out, opts.Tools); err != nil {
		return "", err
	}
	for i, m := range messages {
		switch m.Role {
		case System:
			out.WriteString("<|system|>" + m.Content)
		case User:
			out.WriteString("<|user|>" + m.Content)
		case Assistant:
			calls, err := g.calls(m.ToolCalls)
			if err != nil {
				return "", fmt.Errorf("message %d: %w", i, err)
			}
			out.WriteString("<|assistant|>" + g.answer(m, i > lastUser || opts.KeepThinking) + calls)
		case Tool:
			if i == 0 || messages[i-1].Role != Tool {
				out.WriteString("<|observation|>")
			}
			out.WriteString("<tool_response>" + m.Content + "</tool_response>")
		default:
			return "", badRole(g.Name(), i, m.Role, System, User, Assistant, Tool)
		}
	}
	if opts.AddGenerationPrompt {
		out.WriteString("<|assistant|>")
		if on := opts.thinks(); on != nil && !*on {
			out.WriteString("</think>")
		} else {
			out.WriteString("<think>")
		}
	}
	return out.String(), nil
}

// answer writes an assistant's turn after its role.
func (glm) answer(m Message, keepReasoning bool) string {
	reasoning, content := m.Reasoning, m.Content
	if reasoning == "" {
		reasoning, content = splitThinking(content)
	}
	if !keepReasoning || reasoning == "" {
		return "</think>" + strip(content)
	}
	return "<think>" + strip(reasoning) + "</think>" + strip(content)
}

// glmTools is what the template says about tools, before and behind their list.
var glmTools = [2]string{`<|system|>
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
`, `</tools>

For each function call, output the function name and arguments within the following XML format:
<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}</arg_value><arg_key>{arg-key-2}</arg_key><arg_value>{arg-value-2}</arg_value>...</tool_call>`}

// Template implements Renderer.
func (glm) Template() string { return glmTools[1] }

// declare writes the tools, one a line.
func (glm) declare(out *strings.Builder, tools []json.RawMessage) error {
	if len(tools) == 0 {
		return nil
	}
	out.WriteString(glmTools[0])
	for i, tool := range tools {
		text, err := PythonJSON(string(tool))
		if err != nil {
			return fmt.Errorf("tool %d: %w", i, err)
		}
		out.WriteString(text + "\n")
	}
	out.WriteString(glmTools[1])
	return nil
}

// calls writes the calls of an assistant's turn. Strings stand as they are, other values
// as JSON.
func (glm) calls(calls []ToolCall) (string, error) {
	var out strings.Builder
	for _, c := range calls {
		args, err := fields(object(c.Arguments))
		if err != nil {
			return "", fmt.Errorf("the arguments of %s: %w", c.Name, err)
		}
		out.WriteString("<tool_call>" + c.Name)
		for _, a := range args {
			value := string(a.raw)
			if value[0] == '"' {
				if err := json.Unmarshal(a.raw, &value); err != nil {
					return "", err
				}
			}
			out.WriteString("<arg_key>" + a.key + "</arg_key><arg_value>" + value + "</arg_value>")
		}
		out.WriteString("</tool_call>")
	}
	return out.String(), nil
}

// splitThinking takes apart an answer that still has its thoughts: they end at
// the first </think> and begin after the last <think> before it; the answer
// begins after the last </think>.
func splitThinking(text string) (reasoning, content string) {
	reasoning, _, found := strings.Cut(text, "</think>")
	if !found {
		return "", text
	}
	reasoning = strings.TrimRight(reasoning, "\n")
	reasoning = reasoning[afterLast(reasoning, "<think>"):]
	content = text[afterLast(text, "</think>"):]
	return strings.TrimLeft(reasoning, "\n"), strings.TrimLeft(content, "\n")
}

// afterLast returns the position after the last occurrence of tag, or 0.
func afterLast(text, tag string) int {
	i := strings.LastIndex(text, tag)
	if i < 0 {
		return 0
	}
	return i + len(tag)
}

// strip is Python's str.strip, which also removes the separators 0x1C to 0x1F.
func strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || 0x1C <= r && r <= 0x1F })
}
