package server

import (
	"encoding/json"
	"slices"
	"strings"

	"mla/runtime/text/chat"
)

// shows says whether a rendered conversation contains a text.
func shows(r chat.Renderer, messages []chat.Message, opts chat.Options, text string) bool {
	out, err := r.Render(messages, opts)
	return err == nil && strings.Contains(out, text)
}

// showTools leaves out tools if the model's template does not support them, so that an agent at least gets
// answers. It fails if a call is required.
func (s *Server) showTools(c *conversation) error {
	why := ""
	switch {
	case len(c.tools) == 0 && c.choice.must:
		return bad("tool_choice", "there are no tools")
	case len(c.tools) == 0:
		return nil
	case s.format == nil:
		why = "says nothing about calls, or in a way that is not known"
	case s.toolless:
		why = "does not show tools to the model"
	default:
		return nil
	}
	if c.choice.must {
		return bad("tools", "the model's chat template %s; one that does can be given with -chat-template", why)
	}
	s.cfg.Log.Warn("tools are left out: the model's chat template "+why+"; one that does can be given with -chat-template", "tools", len(c.tools))
	c.tools, c.choice = nil, toolChoice{}
	return nil
}

// toolChoice says whether tools may be called, must be called, and which ones.
type toolChoice struct {
	none, must bool
	name       string   // of the tool that must be called
	only       []string // tools that may be called; nil: all declared ones
}

// onlyTool is the choice of a single tool, which may be called several times.
func onlyTool(name string) toolChoice {
	return toolChoice{must: true, name: name, only: []string{name}}
}

// callable lists the tools that may be called. The prompt has the other tools, too, so that it begins like
// that of requests with another choice.
func (c *conversation) callable() []raw {
	if c.choice.only == nil {
		return c.tools
	}
	return slices.DeleteFunc(slices.Clone(c.tools), func(t raw) bool { return !c.choice.allows(toolName(t)) })
}

// allows says whether the tool with a name may be called.
func (c *toolChoice) allows(name string) bool { return c.only == nil || slices.Contains(c.only, name) }

// openAIChoice is OpenAI's tool_choice if it is an object: one tool, or the tools to choose from. The chat
// API has the fields in a nested object, the responses API does not.
type openAIChoice struct {
	Type string `json:"type"`
	namedTool
	allowedTools
	Allowed *allowedTools `json:"allowed_tools"`
}

type namedTool struct {
	Kind      string `json:"type"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Function  struct {
		Name string `json:"name"`
	} `json:"function"`
}

type allowedTools struct {
	Mode  string      `json:"mode"`
	Tools []namedTool `json:"tools"`
}

// name is the tool's name, in either API.
func (t *namedTool) name() string {
	set(&t.Name, t.Function.Name)
	return withNamespace(t.Namespace, t.Name)
}

// readChoice reads OpenAI's tool_choice.
func readChoice(text raw, tools []raw) (toolChoice, error) {
	if isNull(text) {
		return toolChoice{}, nil
	}
	var word string
	if json.Unmarshal(text, &word) == nil {
		return chosenWord(word)
	}
	var q openAIChoice
	if json.Unmarshal(text, &q) != nil {
		return toolChoice{}, bad("tool_choice", "expected auto, none, required, a function, or allowed_tools")
	}
	if q.Type == "allowed_tools" {
		if q.Allowed != nil {
			q.allowedTools = *q.Allowed
		}
		return q.allowedTools.choice(tools)
	}
	name := q.name()
	switch {
	case name != "" || q.Type == "function":
		return onlyTool(name), declares("tool_choice", tools, name)
	case choiceWords[q.Type] != "": // Anthropic's form
		return chosenWord(choiceWords[q.Type])
	}
	return toolChoice{}, bad("tool_choice", "a tool of type %q runs only at its own service, so no call of it can be asked for; expected auto, none, required, a function, or allowed_tools", clip(q.Type, 50))
}

// choiceWords maps words in an object's type to OpenAI's words.
var choiceWords = map[string]string{"auto": "auto", "none": "none", "required": "required", "any": "required"}

func chosenWord(word string) (toolChoice, error) {
	switch word {
	case "auto":
		return toolChoice{}, nil
	case "none":
		return toolChoice{none: true}, nil
	case "required":
		return toolChoice{must: true}, nil
	}
	return toolChoice{}, bad("tool_choice", "%q; expected auto, none, required, a function, or allowed_tools", clip(word, 50))
}

// choice lets the model choose among some tools.
func (a *allowedTools) choice(tools []raw) (toolChoice, error) {
	if len(a.Tools) == 0 {
		return toolChoice{}, bad("tool_choice", "allowed_tools has no tools")
	}
	c := toolChoice{}
	for i := range a.Tools {
		name := a.Tools[i].name()
		if name == "" && a.Tools[i].Kind != "" && a.Tools[i].Kind != "function" {
			continue // of a service, and left out
		}
		if err := declares("tool_choice", tools, name); err != nil {
			return c, err
		}
		c.only = append(c.only, name)
	}
	if len(c.only) == 0 {
		return c, bad("tool_choice", "allowed_tools has none that can be called here")
	}
	switch a.Mode {
	case "auto":
	case "required":
		c.must = true
	default:
		return c, bad("tool_choice", "the mode of allowed_tools is %q; expected auto or required", clip(a.Mode, 50))
	}
	return c, nil
}

// declares fails if a tool is not declared.
func declares(param string, tools []raw, name string) error {
	if !slices.ContainsFunc(tools, func(t raw) bool { return toolName(t) == name }) {
		return bad(param, "there is no tool %q", clip(name, 100))
	}
	return nil
}

// toolName is the name with which a tool is declared.
func toolName(text raw) string {
	var t struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(text, &t) != nil {
		return ""
	}
	return t.Function.Name
}
