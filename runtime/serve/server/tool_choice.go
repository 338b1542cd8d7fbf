package server

import (
	"encoding/json"
	"slices"
	"strings"

	"mla/runtime/text/chat"
)

// shows says whether a rendering has a text in it.
func shows(r chat.Renderer, messages []chat.Message, opts chat.Options, text string) bool {
	out, err := r.Render(messages, opts)
	return err == nil && strings.Contains(out, text)
}

// showTools leaves tools out that the model's template cannot show, so that an agent has at
// least answers; but a call that is asked for cannot be had.
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

// toolChoice says whether tools may be called, must be, and which ones.
type toolChoice struct {
	none, must bool
	name       string   // of the tool that must be called
	only       []string // tools that may be called; nil: all that are declared
}

// onlyTool is the choice of one tool, of which there may be several calls.
func onlyTool(name string) toolChoice {
	return toolChoice{must: true, name: name, only: []string{name}}
}

// callable are the tools that may be called. The prompt has the others, too: so it begins
// as that of another request with another choice.
func (c *conversation) callable() []raw {
	if c.choice.only == nil {
		return c.tools
	}
	return slices.DeleteFunc(slices.Clone(c.tools), func(t raw) bool { return !c.choice.allows(toolName(t)) })
}

// allows says whether the tool of a name may be called.
func (c *toolChoice) allows(name string) bool { return c.only == nil || slices.Contains(c.only, name) }

// openAIChoice is OpenAI's tool_choice if it is not a word: a tool, or those of which the
// model may choose. The chat API has their fields in an object, the responses API has not.
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

// name is the tool's, in either API.
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
	case choiceWords[q.Type] != "": // as Anthropic has the words
		return chosenWord(choiceWords[q.Type])
	}
	return toolChoice{}, bad("tool_choice", "a tool of type %q runs only at its own service, so no call of it can be asked for; expected auto, none, required, a function, or allowed_tools", clip(q.Type, 50))
}

// choiceWords are words that stand as the type of an object, with OpenAI's word for each.
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

// choice lets the model choose of some tools.
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

// declares fails if a tool is not among the declared ones.
func declares(param string, tools []raw, name string) error {
	if !slices.ContainsFunc(tools, func(t raw) bool { return toolName(t) == name }) {
		return bad(param, "there is no tool %q", clip(name, 100))
	}
	return nil
}

// toolName is the name that a tool is declared with.
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
