package output

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Format is how a family of models writes calls of tools.
type Format struct {
	Name       string
	Begin, End string // around all calls; may be empty
	Call       string // begins a call
	// Separator stands between the name and the arguments, Tail behind these.
	Separator string
	Tail      []string
	// Pairs says that the arguments are pairs of keys and values, not JSON.
	Pairs bool

	header func(f *Format, text string) (found, bool)
	// clean takes the name out of what stands in its place; nil: all of it.
	clean func(string) string
	// has and lacks are texts in templates of models that write so.
	has   []string
	lacks string
}

// formats are looked through in their order.
var formats = []*Format{
	{ // GLM-4.5 to 4.7
		Name: "glm", Call: "<tool_call>", Pairs: true, header: beforePairs, has: []string{"<tool_call>", keyBegin},
	},
	{ // Kimi-K2
		Name: "kimi-k2", Begin: "<|tool_calls_section_begin|>", End: "<|tool_calls_section_end|>", Call: "<|tool_call_begin|>",
		Separator: "<|tool_call_argument_begin|>", Tail: []string{"<|tool_call_end|>"},
		header: separated, clean: kimiName, has: []string{"<|tool_call_argument_begin|>"},
	},
	{ // DeepSeek-V3.1
		Name: "deepseek-v3.1", Begin: "<｜tool▁calls▁begin｜>", End: "<｜tool▁calls▁end｜>", Call: "<｜tool▁call▁begin｜>",
		Separator: "<｜tool▁sep｜>", Tail: []string{"<｜tool▁call▁end｜>"},
		header: separated, has: []string{"<｜tool▁sep｜>"}, lacks: "```json",
	},
	{ // DeepSeek-V3 and R1
		Name: "deepseek-v3", Begin: "<｜tool▁calls▁begin｜>", End: "<｜tool▁calls▁end｜>", Call: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
		Separator: "\n```json\n", Tail: []string{"```", "<｜tool▁call▁end｜>"},
		header: separated, has: []string{"<｜tool▁sep｜>"},
	},
	{ // Mistral from 2025 on
		Name: "mistral", Call: "[TOOL_CALLS]", Separator: "[ARGS]", header: separated, has: []string{"[TOOL_CALLS]", "[ARGS]"},
	},
	{ // Nous Research's Hermes, Qwen, and many others
		Name: "hermes", Call: "<tool_call>", Separator: ``, Tail: []string{"}", "</tool_call>"},
		header: namedInJSON, has: []string{"<tool_call>"},
	},
}

// FormatOf is how a model writes calls whose template is given; nil if that does not say,
// or says it in a way that is not known.
func FormatOf(template string) *Format {
	for _, f := range formats {
		if f.in(template) {
			return f
		}
	}
	return nil
}

func (f *Format) in(template string) bool {
	for _, text := range f.has {
		if !strings.Contains(template, text) {
			return false
		}
	}
	return f.lacks == "" || !strings.Contains(template, f.lacks)
}

var marker = regexp.MustCompile(`<[^<>\s]+>|\[[A-Z_]+\]`)

// Markers are texts that may be control tokens, which print nothing by themselves.
func (f *Format) Markers() []string {
	list := []string{f.Begin, f.End, f.Call, f.Separator, strings.Join(f.Tail, "")}
	if f.Pairs {
		list = append(list, keyBegin, keyEnd, valueBegin, valueEnd, callEnd)
	}
	return marker.FindAllString(strings.Join(list, ""), -1)
}

// Opening is the beginning of a call, of a tool or of any (""). A prompt that ends with it
// makes the model go on with a call.
func (f *Format) Opening(name string) string {
	switch {
	case name == "":
		return f.Begin + f.Call
	case f.Pairs:
		return f.Begin + f.Call + name
	case f.Separator == "":
		return f.Begin + f.Call + "\n{\"name\": " + quote(name) + ", \"arguments\": "
	}
	if f.clean != nil {
		name = "functions." + name + ":0"
	}
	return f.Begin + f.Call + name + f.Separator
}

// separated is a name, a separator, and a JSON object.
func separated(f *Format, text string) (found, bool) {
	name, rest, ok := strings.Cut(text, f.Separator)
	if !ok {
		return found{more: true}, !strings.ContainsAny(name, "{\"")
	}
	args := strings.TrimLeft(rest, space)
	if args == "" {
		return found{more: true}, true
	}
	if f.clean != nil {
		name = f.clean(name)
	}
	return found{name: strings.TrimSpace(name), size: len(text) - len(args)}, args[0] == '{'
}

// kimiName takes the name out of functions.name:0.
func kimiName(id string) string {
	id = strings.TrimPrefix(strings.TrimSpace(id), "functions.")
	if i := strings.LastIndex(id, ":"); i >= 0 {
		id = id[:i]
	}
	return id
}

// beforePairs is a name up to the first pair or the end of the call.
func beforePairs(_ *Format, text string) (found, bool) {
	at := strings.Index(text, keyBegin)
	if end := strings.Index(text, callEnd); at < 0 || end >= 0 && end < at {
		at = end
	}
	if at < 0 {
		return found{more: true}, true
	}
	return found{name: strings.TrimSpace(text[:at]), size: at}, true
}

var named = regexp.MustCompile(`^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"(?:arguments|parameters)"\s*:\s*\{`)

// namedInJSON is an object with a name and arguments. If the name comes first, the
// arguments can be passed on as they come.
func namedInJSON(_ *Format, text string) (found, bool) {
	if m := named.FindStringSubmatchIndex(text); m != nil {
		var name string
		err := json.Unmarshal([]byte(text[m[2]:m[3]]), &name)
		return found{name: name, size: m[1] - 1}, err == nil
	}
	if start := strings.TrimLeft(text, space); start != "" && start[0] != '{' {
		return found{}, false
	}
	object, rest, ok := strings.Cut(text, callEnd)
	if !ok {
		return found{more: true}, true
	}
	var c struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal([]byte(object), &c) != nil {
		return found{}, false
	}
	args := string(c.Arguments) + string(c.Parameters)
	if args == "" {
		args = "{}"
	}
	return found{name: c.Name, size: len(text) - len(rest), args: args}, args[0] == '{' && json.Valid([]byte(args))
}
