package chat

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func readFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

type conversation struct {
	Name     string
	Messages []struct {
		Role      string
		Content   string
		Reasoning string `json:"reasoning_content"`
	}
	AddGenerationPrompt bool  `json:"add_generation_prompt"`
	EnableThinking      *bool `json:"enable_thinking"`
}

func (c conversation) args() ([]Message, Options) {
	var messages []Message
	for _, m := range c.Messages {
		messages = append(messages, Message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning})
	}
	return messages, Options{AddGenerationPrompt: c.AddGenerationPrompt, Thinking: c.EnableThinking}
}

func conversations(t testing.TB) map[string]conversation {
	t.Helper()
	var list []conversation
	if err := json.Unmarshal([]byte(readFile(t, "conversations.json")), &list); err != nil {
		t.Fatal(err)
	}
	byName := map[string]conversation{}
	for _, c := range list {
		byName[c.Name] = c
	}
	return byName
}

type golden struct{ Template, Conversation, Text, Error string }

func goldens(t testing.TB) (list []golden) {
	t.Helper()
	if err := json.Unmarshal([]byte(readFile(t, "goldens.json")), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

var testHints = Hints{BOS: "<|bos|>", EOS: "<|eos|>"}

// mustFor returns the renderer of a test template; native says which one it has
// to be.
func mustFor(t testing.TB, template string, native string) Renderer {
	t.Helper()
	r, err := For(template, testHints)
	if err != nil {
		t.Fatal(err)
	}
	if r.Name() != native {
		t.Fatalf("renderer is %s, expected %s", r.Name(), native)
	}
	return r
}

// TestRenderersAgreeWithJinja compares the Go renderers and the template engine
// with what another implementation made of the same templates.
func TestRenderersAgreeWithJinja(t *testing.T) {
	native := map[string]string{"glm-4.7-flash": "glm4", "deepseek-v2": "deepseek-v2"}
	convs := conversations(t)
	compared := 0
	for _, g := range goldens(t) {
		template := readFile(t, g.Template+".jinja")
		engine, err := newJinja(template, testHints)
		if err != nil {
			t.Fatalf("%s: %v", g.Template, err)
		}
		renderers := []Renderer{engine}
		if name := native[g.Template]; name != "" {
			renderers = append(renderers, mustFor(t, template, name))
		} else {
			mustFor(t, template, "jinja")
		}
		for _, r := range renderers {
			messages, opts := convs[g.Conversation].args()
			got, err := r.Render(messages, opts)
			switch {
			case g.Error != "":
				if err == nil || !strings.Contains(err.Error(), g.Error) {
					t.Errorf("%s by %s, %s: error %v, expected %q", g.Template, r.Name(), g.Conversation, err, g.Error)
				}
			case r.Name() == "deepseek-v2" && g.Conversation == "tool results":
				// The template drops these messages without a word; we refuse them.
				if err == nil || !strings.Contains(err.Error(), `message 2 has role "tool"`) {
					t.Errorf("tool role: error %v", err)
				}
			case err != nil || got != g.Text:
				t.Errorf("%s by %s, %s: error %v\n got %q\nwant %q", g.Template, r.Name(), g.Conversation, err, got, g.Text)
			}
			compared++
		}
	}
	if want := 4*len(convs) + 2*len(convs); compared != want {
		t.Errorf("compared %d renderings, expected %d", compared, want)
	}
}

func TestKnownTemplateWithRealLineBreaks(t *testing.T) {
	template := readFile(t, "deepseek-v2.jinja")
	escaped := strings.ReplaceAll(template, "\n\n'", `\n\n'`)
	if escaped == template {
		t.Fatal("both spellings are equal")
	}
	mustFor(t, template, "deepseek-v2")
	mustFor(t, escaped+"\n", "deepseek-v2")
	mustFor(t, strings.Replace(template, "User: ", "Human: ", 1), "jinja")
}

func TestFor(t *testing.T) {
	glm := readFile(t, "glm-4.7-flash.jinja")
	for _, c := range []struct {
		template, name string
		want, err      string
	}{
		{glm, "", "glm4", ""},
		{glm, "youtu", "glm4", ""}, // the file's template decides
		{glm, "none", "glm4", ""},  // a template is nearer to the weights than a name
		{"", "none", "none", ""},
		{"", "glm4", "glm4", ""},
		{" \n", "deepseek-v2", "deepseek-v2", ""},
		{"{{ messages[0].content }}", "youtu", "jinja", ""},
		{"{{ messages[0].content }}", "", "jinja", ""},
		{"", "", "", "has to be named: one of deepseek-v2, glm4, none, youtu"},
		{"", "youtu", "", "tokenizer.chat_template is missing"},
		{"", "chatml", "", `chat format "chatml" is not known`},
		{"{% if %}", "", "", "tokenizer.chat_template is not supported"},
		{"{% frobnicate %}", "glm4", "", "tokenizer.chat_template is not supported"},
		{strings.Repeat("x", 1<<16+1), "", "", "at most 65536 are supported"},
	} {
		r, err := For(c.template, Hints{Name: c.name})
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("For(%.30q, %q): error %v, expected %q", c.template, c.name, err, c.err)
			}
		case err != nil || r.Name() != c.want:
			t.Errorf("For(%.30q, %q) = %v, %v, expected %s", c.template, c.name, r, err, c.want)
		}
	}
}

func TestStops(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"glm-4.7-flash.jinja", "<|endoftext|> <|user|> <|observation|>"},
		{"deepseek-v2.jinja", "<|eos|>"},
		{"reasoning.jinja", "<|eos|>"},
	} {
		r, err := For(readFile(t, c.file), testHints)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Stops(), " "); got != c.want {
			t.Errorf("%s: stops %q, expected %q", c.file, got, c.want)
		}
	}
	r := mustFor(t, "{{ messages[0].content }}<|im_end|>", "jinja")
	if got := strings.Join(r.Stops(), " "); got != "<|eos|> <|im_end|>" {
		t.Errorf("stops %q", got)
	}
}

// TestThinkingWithoutSwitch: what a template cannot switch is as it is.
func TestThinkingWithoutSwitch(t *testing.T) {
	on, off := true, false
	messages := []Message{{Role: User, Content: "x"}}
	for _, template := range []string{readFile(t, "deepseek-v2.jinja"), "{{ messages[0].content }}"} {
		r, err := For(template, testHints)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := r.Render(messages, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{Thinking: &on}, {Thinking: &off}, {Effort: "none"}, {Effort: "high"}, {KeepThinking: true}} {
			if got, err := r.Render(messages, o); err != nil || got != plain {
				t.Errorf("%s, %+v: %q, error %v; expected %q", r.Name(), o, got, err, plain)
			}
		}
	}
}

func TestUnknownRoles(t *testing.T) {
	for _, name := range []string{"glm4", "deepseek-v2", "none"} {
		r, err := For("", Hints{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := r.Render([]Message{{Role: "narrator", Content: "x"}}, Options{}); err == nil {
			t.Errorf("%s renders a narrator: %q", name, text)
		}
	}
}

// TestTemplateErrors has templates that must fail, with what the error says.
func TestTemplateErrors(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{"{{ raise_exception('no way') }}", "no way"},
		{"{{ nothing() }}", "nothing"},
		{"{{ messages | frobnicate }}", "frobnicate"},
		{"{{ messages[0].content.frobnicate() }}", "frobnicate"},
		{"{% include '/etc/passwd' %}", "include"},
		{"{% import '/etc/passwd' as x %}", "import"},
		{"{% extends '/etc/passwd' %}", "extends"},
		{"{% for x in range(10000000000) %}{% endfor %}", "range is too big"},
		{"{% for x in range(1, 2, 0) %}{% endfor %}", "must not be zero"},
		{"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested more than"},
		{"{% macro a(f) %}{{ f(f) }}{% endmacro %}{{ a(a) }}", "nested more than"},
		{"{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}", "nested more than"},
		{"{{ raise_exception | tojson }}", "not JSON serializable"},
		{"{% for m in messages %}", ""},
		{"{{ messages[0].content", ""},
		{"{{ 'x'.center(1000000000) }}", "too much memory"},
		{"{{ 'x' | center(1000000000) }}", "too much memory"},
	} {
		r, err := For(c.template, testHints)
		if err == nil {
			var text string
			text, err = r.Render([]Message{{Role: User, Content: "x"}}, Options{})
			if err == nil {
				t.Errorf("%s renders %q, expected an error", c.template, text)
				continue
			}
		}
		if !strings.Contains(err.Error(), "tokenizer.chat_template") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, expected to contain %q", c.template, err, c.want)
		}
	}
}

// TestConventions has what Hugging Face's apply_chat_template promises beyond
// plain Jinja.
func TestConventions(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{"{{ tools is none }} {{ enable_thinking is defined }}", "True False"},
		{"  {% if true %}\nx\n  {% endif %}\ny", "x\ny"},
		{"{{ messages[0].content | tojson }}", `"a<b> & 'c' é\n"`},
		{"{{ messages[0].content }}", "a<b> & 'c' é\n"},
		{"{{ messages[-1]['role'] }}{{ messages[1:] | length }}", "user0"},
		{"{{ messages[-1].content[-1] | length }}{{ 'é'[-1] }}{{ 'a,b'.split(',')[-2] }}{{ messages[-1]['role'][-4] }}", "1éau"},
		{"{{ 3 if 2 in [-1] else [-1] }}{{ messages[ - 1 ].role }}{{ messages[-2] is undefined }} x[-1] {{ 'x[-1]' }}", "[-1]userTrue x[-1] x[-1]"},
		{"é\r\n{{ messages[-1].role }}", "é\nuser"},
		{"{% for x in range(3) %}{{ x }}{% endfor %}{% for x in range(5, 0, -2) %}{{ x }}{% endfor %}", "012531"},
		{"{% for x in [1,2,3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "13"},
		{"{{ missing }}|{{ messages[0].missing is defined }}", "|False"},
		{"x\n", "x"},
	} {
		r := mustFor(t, c.template, "jinja")
		got, err := r.Render([]Message{{Role: User, Content: "a<b> & 'c' é\n"}}, Options{})
		if err != nil || got != c.want {
			t.Errorf("%s\n got %q, %v\nwant %q", c.template, got, err, c.want)
		}
	}
}

func FuzzJinja(f *testing.F) {
	for _, file := range []string{"reasoning.jinja", "alternating.jinja"} {
		f.Add(readFile(f, file))
	}
	f.Add("{% macro m(x) %}{{ x }}{% endmacro %}{{ m(1) }}{% set a = [1, 'b'] %}{{ a[-1:] }}")
	f.Fuzz(func(t *testing.T, template string) {
		if r, err := For(template, testHints); err == nil {
			_, _ = r.Render([]Message{{Role: User, Content: "x"}}, Options{}) // must return
		}
	})
}

// TestConstructs compares with what Python's jinja2 3.1.6 makes of the same template.
func TestConstructs(t *testing.T) {
	template, err := os.ReadFile("testdata/constructs.jinja")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/constructs.golden")
	if err != nil {
		t.Fatal(err)
	}
	r, err := For(string(template), Hints{BOS: "<s>", EOS: "</s>"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Render([]Message{{Role: System, Content: "Be  brief."}, {Role: User, Content: "U"},
		{Role: Assistant, Content: "a</think>b</think>c d  e"}, {Role: User, Content: " V\n w "}}, Options{AddGenerationPrompt: true})
	if err != nil || got != string(want) {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
	if stops := strings.Join(r.Stops(), " "); stops != "</s> <|message_sep|>" {
		t.Errorf("ends of a turn: %s", stops)
	}
}
