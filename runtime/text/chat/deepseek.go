package chat

import (
	"cmp"
	"strings"
)

// deepSeek is the format of DeepSeek-V2-Chat and -Lite-Chat:
//
//	<bos>S\n\nUser: U\n\nAssistant: A<eos>User: U\n\nAssistant:
type deepSeek struct{ bos, eos string }

func newDeepSeek(h Hints) deepSeek {
	return deepSeek{
		bos: cmp.Or(h.BOS, "<｜begin▁of▁sentence｜>"),
		eos: cmp.Or(h.EOS, "<｜end▁of▁sentence｜>"),
	}
}

func (deepSeek) Name() string      { return "deepseek-v2" }
func (d deepSeek) Stops() []string { return []string{d.eos} }
func (deepSeek) Template() string  { return "" }

// Render implements Renderer. These models do not think, so Options about thinking are ignored.
func (d deepSeek) Render(messages []Message, opts Options) (string, error) {
	if len(opts.Tools) > 0 {
		return "", noTools(d.Name())
	}
	var out strings.Builder
	out.WriteString(d.bos)
	for i, m := range messages {
		if len(m.ToolCalls) > 0 {
			return "", noTools(d.Name())
		}
		switch m.Role {
		case System:
			out.WriteString(m.Content + "\n\n")
		case User:
			out.WriteString("User: " + m.Content + "\n\n")
		case Assistant:
			out.WriteString("Assistant: " + m.Content + d.eos)
		default:
			return "", badRole(d.Name(), i, m.Role, System, User, Assistant)
		}
	}
	if opts.AddGenerationPrompt {
		out.WriteString("Assistant:")
	}
	return out.String(), nil
}
