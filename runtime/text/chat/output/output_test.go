package output

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var tools = []json.RawMessage{
	json.RawMessage(`{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {
		"city": {"type": "string"}, "days": {"type": "integer"}, "when": {"type": ["string", "null"]}, "factor": {"type": ["number", "string"]}, "any": {}}}}}`),
	json.RawMessage(`{"type": "function", "function": {"name": "now"}}`),
	json.RawMessage(`{"type": "function", "function": {"name": "odd", "parameters": 7}}`),
}

func format(t testing.TB, name string) *Format {
	t.Helper()
	if name == "" {
		return nil
	}
	i := slices.IndexFunc(formats, func(f *Format) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no format %q", name)
	}
	return formats[i]
}

// list writes events in a line each.
func list(events []Event) string {
	var out strings.Builder
	for i, e := range events {
		if i > 0 && e.Kind == events[i-1].Kind && e.Kind != CallBegin {
			out.WriteString(e.Text)
			continue
		}
		if i > 0 {
			out.WriteString("\n")
		}
		switch e.Kind {
		case CallEnd:
			out.WriteString(map[bool]string{true: "end", false: "broken " + e.Text}[e.Valid])
			continue
		default:
			out.WriteString([]string{"text ", "thought ", "call ", "args "}[e.Kind] + e.Text)
		}
	}
	return out.String()
}

// parse cuts a text into pieces of characters; cut says where.
func parse(c Config, text string, cut func(i int) bool) []Event {
	p := New(c)
	var events []Event
	piece := ""
	for i, r := range text {
		if piece != "" && cut(i) {
			events = append(events, p.Push(piece)...)
			piece = ""
		}
		piece += string(r)
	}
	return append(append(events, p.Push(piece)...), p.Close()...)
}

func TestParser(t *testing.T) {
	for _, c := range []struct {
		name, format, text, want string
		thinking                 bool
	}{
		{name: "text", text: " Hello <thing> \n", want: "text  Hello <thing> \n"},
		{name: "thoughts", text: "\n<think>\nA <b\n\n</think>\n\nB", want: "thought A <b\ntext B"},
		{name: "prompt ends in thoughts", text: "A\n</think>\nB", want: "thought A\ntext B", thinking: true},
		{name: "thoughts without end", text: "A <", want: "thought A <", thinking: true},
		{name: "no thoughts after text", text: "A <think>B</think>", want: "text A <think>B</think>"},
		{name: "no format", text: "<tool_call>now</tool_call>", want: "text <tool_call>now</tool_call>"},
		{name: "glm", format: "glm", text: "I look.\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Zürich \"old\"\n</arg_value><arg_key>days</arg_key><arg_value> 3 </arg_value>\n</tool_call>\n",
			want: "text I look.\ncall weather\nargs {\"city\": \"Zürich \\\"old\\\"\\n\", \"days\": 3}\nend"},
		{name: "glm, two", format: "glm", text: "<think>x</think><tool_call>now</tool_call>\n<tool_call>weather<arg_key>any</arg_key><arg_value>{\"a\":[1,2]}</arg_value></tool_call> done",
			want: "thought x\ncall now\nargs {}\nend\ncall weather\nargs {\"any\": {\"a\":[1,2]}}\nend\ntext done"},
		{name: "glm, types", format: "glm", text: "<tool_call>weather<arg_key>when</arg_key><arg_value>null</arg_value><arg_key>when</arg_key><arg_value>7</arg_value><arg_key>factor</arg_key><arg_value>1</arg_value><arg_key>days</arg_key><arg_value>a few</arg_value><arg_key>city</arg_key><arg_value>12</arg_value><arg_key>any</arg_key><arg_value>\"q\"</arg_value></tool_call>",
			want: `call weather` + "\n" + `args {"when": null, "when": "7", "factor": 1, "days": "a few", "city": "12", "any": "q"}` + "\nend"},
		{name: "glm, not declared", format: "glm", text: "a <tool_call>rm<arg_key>x</arg_key></tool_call> b", want: "text a <tool_call>rm<arg_key>x</arg_key></tool_call> b"},
		{name: "glm, no end of the name", format: "glm", text: "a\n<tool_call>now and", want: "text a\n<tool_call>now and"},
		{name: "glm, broken pair", format: "glm", text: "<tool_call>weather<arg_key>city</arg_key>junk</tool_call>", want: "call weather\nargs {}\nend\ntext <arg_key>city</arg_key>junk</tool_call>"},
		{name: "glm, cut in a value", format: "glm", text: "<tool_call>weather<arg_key>city</arg_key><arg_value>Zü", want: "call weather\nargs {\"city\": \"Zü\nbroken <tool_call>weather<arg_key>city</arg_key><arg_value>Zü"},
		{name: "hermes", format: "hermes", text: "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"a}</tool_call>\\\"\", \"n\": {\"x\": []}}}\n</tool_call>",
			want: "call weather\nargs {\"city\": \"a}</tool_call>\\\"\", \"n\": {\"x\": []}}\nend"},
		{name: "hermes, arguments first", format: "hermes", text: "<tool_call>{\"arguments\": {\"city\": 1}, \"name\": \"weather\"}</tool_call>!", want: "call weather\nargs {\"city\": 1}\nend\ntext !"},
		{name: "hermes, no arguments", format: "hermes", text: "<tool_call>{\"name\": \"now\"}</tool_call>", want: "call now\nargs {}\nend"},
		{name: "hermes, a brace forgotten", format: "hermes", text: "<tool_call>{\"name\": \"now\", \"arguments\": {}</tool_call>x", want: "call now\nargs {}\nend\ntext x"},
		{name: "hermes, two braces forgotten", format: "hermes", text: "<tool_call>{\"name\": \"now\", \"arguments\": {</tool_call>x", want: "call now\nargs {\nbroken <tool_call>{\"name\": \"now\", \"arguments\": {</tool_call>\ntext x"},
		{name: "hermes, no JSON", format: "hermes", text: "<tool_call>now</tool_call>", want: "text <tool_call>now</tool_call>"},
		{name: "hermes, arguments no object", format: "hermes", text: "<tool_call>{\"name\": \"now\", \"arguments\": [1]}</tool_call>", want: "text <tool_call>{\"name\": \"now\", \"arguments\": [1]}</tool_call>"},
		{name: "deepseek-v3", format: "deepseek-v3", text: "ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"a\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
			want: "text ok\ncall weather\nargs {\"city\": \"a\"}\nend\ncall now\nargs {}\nend"},
		{name: "deepseek-v3.1", format: "deepseek-v3.1", text: "x</think>ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", thinking: true,
			want: "thought x\ntext ok\ncall weather\nargs {\"city\": \"a\"}\nend"},
		{name: "kimi-k2", format: "kimi-k2", text: "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>", want: "call now\nargs {}\nend"},
		{name: "mistral", format: "mistral", text: "[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]weather[ARGS]{\"days\": 2}", want: "call now\nargs {}\nend\ncall weather\nargs {\"days\": 2}\nend"},
		{name: "mistral, cut", format: "mistral", text: "[TOOL_CALLS]weather[ARGS]{\"days\"", want: "call weather\nargs {\"days\"\nbroken [TOOL_CALLS]weather[ARGS]{\"days\""},
	} {
		config := Config{Format: format(t, c.format), Tools: tools, Thinking: c.thinking}
		for range 20 {
			for how, cut := range []func(int) bool{func(int) bool { return false }, func(int) bool { return true }, func(int) bool { return rand.IntN(4) == 0 }} {
				if got := list(parse(config, c.text, cut)); got != c.want {
					t.Fatalf("%s, cut %d:\n%s\nexpected\n%s", c.name, how, got, c.want)
				}
			}
		}
	}
}

// TestArgumentsCome: text is passed on as soon as it is certain.
func TestArgumentsCome(t *testing.T) {
	p := New(Config{Format: format(t, "glm"), Tools: tools})
	for _, c := range []struct{ push, want string }{
		{"Hi", "text Hi"}, {" you\n", "text  you"}, {"<tool", ""}, {"_call>wea", ""}, {"ther<arg_key>", "call weather"}, {"city</arg_key><arg_value>", `args {"city": "`},
		{"Zü", "args Zü"}, {"rich</arg", "args rich"}, {"_value>", ""}, {"</tool_call>", "args \"}\nend"},
	} {
		if got := list(p.Push(c.push)); got != c.want {
			t.Errorf("%q gives %q, expected %q", c.push, got, c.want)
		}
	}
}

// TestOpening: a model that goes on after an opening makes a call.
func TestOpening(t *testing.T) {
	for name, rest := range map[string]string{
		"glm": "<arg_key>city</arg_key><arg_value>a</arg_value></tool_call>", "hermes": "{\"city\": \"a\"}}\n</tool_call>",
		"deepseek-v3": "{\"city\": \"a\"}\n```<｜tool▁call▁end｜>", "deepseek-v3.1": "{\"city\": \"a\"}<｜tool▁call▁end｜>",
		"kimi-k2": "{\"city\": \"a\"}<|tool_call_end|>", "mistral": "{\"city\": \"a\"}",
		"gigachat3": "{\"city\": \"a\"}}", "gigachat3.1": "{\"city\": \"a\"}}",
	} {
		f := format(t, name)
		p := New(Config{Format: f, Tools: tools})
		events := append(p.Push(f.Opening("weather", 0)), p.Push(rest)...)
		if got, want := list(append(events, p.Close()...)), "call weather\nargs {\"city\": \"a\"}\nend"; got != want {
			t.Errorf("%s: %s", name, got)
		}
		if open := f.Opening("", 0); !strings.HasPrefix(f.Opening("weather", 0), open) || open == "" {
			t.Errorf("%s opens with %q", name, open)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for file, want := range map[string]string{"../testdata/glm-4.7-flash.jinja": "glm", "../testdata/tools/hermes.jinja": "hermes", "../testdata/tools/sections.jinja": "deepseek-v3.1"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if f := FormatOf(string(text)); f == nil || f.Name != want {
			t.Errorf("%s is written as %+v, expected %s", file, f, want)
		}
	}
	if f := FormatOf("{{ messages }}"); f != nil {
		t.Errorf("%+v", f)
	}
	if got := format(t, "deepseek-v3").Markers(); !slices.Contains(got, "<｜tool▁sep｜>") || !slices.Contains(got, "<｜tool▁calls▁end｜>") {
		t.Errorf("%q", got)
	}
}

// FuzzParser: however an answer is cut, the events are the same; calls are those of
// declared tools, valid ones have an object, and a text without markers is unchanged.
func FuzzParser(f *testing.F) {
	f.Add("<think>a</think>b<tool_call>now</tool_call>", uint8(0), uint64(1), false)
	f.Add("<tool_call>weather<arg_key>city</arg_key><arg_value>x</arg_value></tool_call>", uint8(0), uint64(2), true)
	f.Add("<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>", uint8(5), uint64(3), false)
	f.Add("[TOOL_CALLS]now[ARGS]{}", uint8(4), uint64(4), false)
	f.Fuzz(func(t *testing.T, text string, which uint8, seed uint64, thinking bool) {
		if !utf8.ValidString(text) || len(text) > 1<<12 {
			return
		}
		c := Config{Tools: tools, Thinking: thinking}
		if i := int(which) % (len(formats) + 1); i < len(formats) {
			c.Format = formats[i]
		}
		whole := parse(c, text, func(int) bool { return false })
		rng := rand.New(rand.NewPCG(seed, 0))
		if cut := parse(c, text, func(int) bool { return rng.IntN(3) == 0 }); list(cut) != list(whole) {
			t.Fatalf("cut:\n%s\nwhole:\n%s", list(cut), list(whole))
		}
		args, calls, ends := "", 0, 0
		for _, e := range whole {
			switch e.Kind {
			case CallBegin:
				calls++
				args = ""
				if _, ok := declared(tools)[e.Text]; !ok {
					t.Fatalf("call of %q", e.Text)
				}
			case Arguments:
				args += e.Text
			case CallEnd:
				ends++
				var object map[string]any
				if err := json.Unmarshal([]byte(args), &object); e.Valid && err != nil && !strings.Contains(err.Error(), "cannot unmarshal number") {
					t.Fatalf("%q: %v", args, err)
				}
			}
		}
		if calls != ends {
			t.Fatalf("%d calls, %d ends", calls, ends)
		}
		if c.Format == nil && !thinking && !strings.Contains(text, "<think>") && text != "" && list(whole) != "text "+text {
			t.Fatalf("%q", list(whole))
		}
	})
}
