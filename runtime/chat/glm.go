package chat

import (
	"strings"
	"unicode"
)

// glm is the format of GLM-4.7-Flash, without tool declarations:
//
//	[gMASK]<sop><|system|>S<|user|>U<|assistant|></think>A<|user|>U<|assistant|><think>
//
// There are no line breaks between turns. Reasoning is kept in the assistant's
// turns after the last user's, which are the steps of one answer with tools; in
// earlier turns a lone </think> takes its place.
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
	for i, m := range messages {
		switch m.Role {
		case System:
			out.WriteString("<|system|>" + m.Content)
		case User:
			out.WriteString("<|user|>" + m.Content)
		case Assistant:
			out.WriteString("<|assistant|>" + g.answer(m, i > lastUser))
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
		if opts.Thinking != nil && !*opts.Thinking {
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
