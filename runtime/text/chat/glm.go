package chat

import (
	"cmp"
	_ "embed" // the template
)

// glmTemplate is GLM-4.7-Flash's published template, for files without one:
//
//	[gMASK]<sop><|system|>S<|user|>U<|assistant|></think>A<|user|>U<|assistant|><think>
//
//go:embed testdata/glm-4.7-flash.jinja
var glmTemplate string

// glm is the format of GLM-4.7-Flash. Its template silently drops messages with unknown roles; Render refuses
// them.
type glm struct{ *jinja }

func newGLM(template string, h Hints) (Renderer, error) {
	h.EOS = cmp.Or(h.EOS, "<|endoftext|>")
	j, err := newJinja(cmp.Or(template, glmTemplate), h)
	if err != nil {
		return nil, err
	}
	return glm{j}, nil
}

func (glm) Name() string { return "glm4" }

// Stops lists the tokens that begin other roles' turns, because GLM ends its own turn with one of them.
func (glm) Stops() []string { return []string{"<|endoftext|>", "<|user|>", "<|observation|>"} }

func (g glm) Render(messages []Message, opts Options) (string, error) {
	for i, m := range messages {
		switch m.Role {
		case System, User, Assistant, Tool:
		default:
			return "", badRole(g.Name(), i, m.Role, System, User, Assistant, Tool)
		}
	}
	return g.jinja.Render(messages, opts)
}
