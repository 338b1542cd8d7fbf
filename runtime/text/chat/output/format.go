package output

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Format is how a family of models writes tool calls.
type Format struct {
	Name       string
	Begin, End string // around all calls; may be empty
	Call       string // begins a call
	// Separator is between the name and the arguments, Tail after the arguments.
	Separator string
	Tail      []string
	// Pairs says that the arguments are written as pairs of keys and values instead of JSON.
	Pairs bool
	// Numbered says that a call has the id functions.NAME:N in place of the name. N counts the calls of a
	// conversation from 0.
	Numbered bool
	// IDLength is the number of letters and digits of an id that templates need; 0: any.
	IDLength int
	// Quoted says that a call within thoughts is part of the thoughts.
	Quoted bool
	// Turn says that Begin ends the turn, unless a call follows.
	Turn bool

	header func(f *Format, text string) (found, bool)
	// clean splits the text in the name's place into name and id; nil: it is the name.
	clean func(string) (name, id string)
	// around lists further markers before and after calls.
	around []string
	// lead is the text between Call and an object with the name.
	lead string
	// has and lacks are texts that the templates of such models contain and do not contain.
	has   []string
	lacks string
}

// formats is searched in order.
var formats = []*Format{
	{ // GLM-4.5 to 4.7
		Name: "glm", Call: "<tool_call>", Pairs: true, header: beforePairs, has: []string{"<tool_call>", keyBegin},
	},
	{ // Kimi-K2
		Name: "kimi-k2", Begin: "<|tool_calls_section_begin|>", End: "<|tool_calls_section_end|>", Call: "<|tool_call_begin|>",
		Separator: "<|tool_call_argument_begin|>", Tail: []string{"<|tool_call_end|>"}, Numbered: true,
		around: []string{"<|tool_call_section_begin|>", "<|tool_call_section_end|>"},
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
		Name: "mistral", Call: "[TOOL_CALLS]", Separator: "[ARGS]", IDLength: 9, Quoted: true, header: separated, clean: mistralName, has: []string{"[TOOL_CALLS]", "[ARGS]"},
	},
	{ // GigaChat3
		Name: "gigachat3", Begin: "<|message_sep|>\n\n", Call: "function call<|role_sep|>\n", Tail: []string{"}"}, Turn: true,
		header: namedInJSON, has: []string{"<|role_sep|>", "<|message_sep|>"}, lacks: "<|function_call|>",
	},
	{ // GigaChat3.1
		Name: "gigachat3.1", Call: "<|function_call|>", Tail: []string{"}"}, header: namedInJSON, has: []string{"<|role_sep|>", "<|function_call|>"},
	},
	{ // Nous Research's Hermes, Qwen, and many others
		Name: "hermes", Call: "<tool_call>", Tail: []string{"}", callEnd}, lead: "\n",
		header: namedInJSON, has: []string{"<tool_call>"},
	},
}

// FormatOf is the format of a model with a template; nil: the template describes no known format.
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

var marker = regexp.MustCompile(`<[^<>\s]+>\n*|\[[A-Z_]+\]`)

// Markers lists the texts that may be control tokens, which print nothing. In some vocabularies the line
// breaks after a marker are part of its token.
func (f *Format) Markers() (list []string) {
	texts := append([]string{f.Begin, f.End, f.Call, f.Separator, strings.Join(f.Tail, "")}, f.around...)
	if f.Pairs {
		texts = append(texts, keyBegin, keyEnd, valueBegin, valueEnd, callEnd)
	}
	if f.IDLength > 0 {
		texts = append(texts, callID)
	}
	for _, text := range marker.FindAllString(strings.Join(texts, " "), -1) {
		list = append(list, text)
		if short := strings.TrimRight(text, "\n"); short != text {
			list = append(list, short)
		}
	}
	return list
}

// TurnEnds lists the markers that end a turn, unless a call follows.
func (f *Format) TurnEnds() []string {
	if !f.Turn {
		return nil
	}
	return []string{f.Begin, strings.TrimRight(f.Begin, "\n")}
}

// Opening is the beginning of a call of a tool, or of any tool (""). A prompt that ends with it makes the
// model continue with a call. before is the number of calls in the conversation.
func (f *Format) Opening(name string, before int) string {
	switch {
	case name == "":
		return f.Begin + f.Call
	case f.Pairs:
		return f.Begin + f.Call + name
	case f.Separator == "":
		return f.Begin + f.Call + f.lead + "{\"name\": " + quote(name) + ", \"arguments\": "
	}
	if f.Numbered {
		name = NumberedID(name, before)
	}
	return f.Begin + f.Call + name + f.Separator
}

// NumberedID is the id of a call after before other calls, in a Numbered Format.
func NumberedID(name string, before int) string {
	return "functions." + name + ":" + strconv.Itoa(before)
}

// separated parses a name, a separator, and a JSON object.
func separated(f *Format, text string) (found, bool) {
	name, rest, ok := strings.Cut(text, f.Separator)
	if !ok {
		return found{more: true}, !strings.ContainsAny(name, "{\"")
	}
	args := strings.TrimLeft(rest, space)
	if args == "" {
		return found{more: true}, true
	}
	name, id := strings.TrimSpace(name), ""
	if f.clean != nil {
		name, id = f.clean(name)
	}
	return found{name: name, id: id, size: len(text) - len(args)}, args[0] == '{'
}

var numbered = regexp.MustCompile(`^functions\.[^:]+:[0-9]{1,9}$`)

// kimiName returns NAME of functions.NAME:N, which is also the id if it has that form.
func kimiName(text string) (name, id string) {
	if numbered.MatchString(text) {
		id = text
	}
	name = strings.TrimPrefix(text, "functions.")
	if i := strings.LastIndex(name, ":"); i >= 0 {
		name = name[:i]
	}
	return name, id
}

// callID is what some of Mistral's models write between name and id.
const callID = "[CALL_ID]"

func mistralName(text string) (name, id string) {
	name, id, _ = strings.Cut(text, callID)
	return strings.TrimSpace(name), strings.TrimSpace(id)
}

// beforePairs parses a name up to the first pair, the end of the call, or the next call.
func beforePairs(f *Format, text string) (found, bool) {
	at, _ := first(text, []string{keyBegin, callEnd, f.Call})
	if at < 0 {
		return found{more: true}, true
	}
	return found{name: strings.TrimSpace(text[:at]), size: at}, true
}

var named = regexp.MustCompile(`^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"(?:arguments|parameters)"\s*:\s*\{`)

// namedInJSON parses an object with a name and arguments. If the name comes first, the arguments can be
// streamed.
func namedInJSON(f *Format, text string) (found, bool) {
	if m := named.FindStringSubmatchIndex(text); m != nil {
		var name string
		err := json.Unmarshal([]byte(text[m[2]:m[3]]), &name)
		return found{name: name, size: m[1] - 1}, err == nil
	}
	if start := strings.TrimLeft(text, space); start != "" && start[0] != '{' {
		return found{}, false
	}
	object, rest, ok := strings.Cut(text, callEnd)
	if f.Tail[len(f.Tail)-1] != callEnd {
		var n int
		n, ok = new(scanner).next(strings.TrimLeft(text, space))
		n += len(text) - len(strings.TrimLeft(text, space))
		object, rest = text[:n], text[n:]
	}
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
