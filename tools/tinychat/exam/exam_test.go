package exam

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"mla/runtime/text/chat"
	"mla/runtime/text/tokenizer"
)

// vocabulary reads the tokenizer of the model.
func vocabulary(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	data, err := os.ReadFile("../vocab.json")
	if err != nil {
		t.Fatal(err)
	}
	var stored struct{ Tokens, Merges []string }
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	v := tokenizer.Vocab{Model: "gpt2", Pre: "glm4", Tokens: stored.Tokens, Merges: stored.Merges, BOS: -1, EOS: -1, EOT: -1, EOM: -1, UNK: -1}
	special := len(stored.Tokens) - 20 // ten control tokens, ten user-defined ones
	for i := range stored.Tokens {
		typ := int32(tokenizer.TypeNormal)
		if i >= special {
			typ = int32(tokenizer.TypeControl)
		}
		if i >= special+10 {
			typ = int32(tokenizer.TypeUserDefined)
		}
		v.Types = append(v.Types, typ)
	}
	tok, err := tokenizer.New(v)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func glm(t *testing.T) chat.Renderer {
	t.Helper()
	template, err := os.ReadFile("../../../runtime/text/chat/testdata/glm-4.7-flash.jinja")
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.For(string(template), chat.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Name() != "glm4" {
		t.Fatalf("GLM's template is rendered by %s", r.Name())
	}
	return r
}

func all(t *testing.T) []Case {
	t.Helper()
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestCases checks that the generator of the training texts writes the same text as this project's renderer
// and splits it into the same tokens, and that its right answers count as right.
func TestCases(t *testing.T) {
	tok, r := vocabulary(t), glm(t)
	kinds := map[string]int{}
	for i, c := range all(t) {
		kinds[c.Kind]++
		prompt, err := c.Prompt(r)
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		text := prompt + c.Wanted
		if sum := crc32.ChecksumIEEE([]byte(text)); sum != c.TextCRC {
			t.Errorf("case %d, %s: the generator rendered another text than %q", i, c.Kind, text)
		}
		var data []byte
		ids := tok.Encode(text, tokenizer.EncodeOptions{ParseSpecial: true})
		for _, id := range ids {
			data = binary.LittleEndian.AppendUint16(data, uint16(id))
		}
		if sum := crc32.ChecksumIEEE(data); len(ids) != c.Tokens || sum != c.TokensCRC {
			t.Errorf("case %d, %s: %d tokens, and the generator has %d others of %q", i, c.Kind, len(ids), c.Tokens, text)
		}
		answer, ended := c.ended()
		if !ended || !c.Right(r, answer) {
			t.Errorf("case %d, %s: %q is not right", i, c.Kind, c.Wanted)
		}
	}
	for kind, n := range map[string]int{"sum": 80, "weather call": 40, "product call": 40, "weather answer": 30, "product answer": 30} {
		if kinds[kind] != n {
			t.Errorf("%d cases of %s; expected %d", kinds[kind], kind, n)
		}
	}
}

// ended is the wanted text without the token that ends it.
func (c *Case) ended() (text string, ok bool) {
	for _, end := range []string{"<|user|>", "<|observation|>"} {
		if text, ok := strings.CutSuffix(c.Wanted, end); ok {
			return text, true
		}
	}
	return "", false
}

// TestRight checks that nearly right answers count as wrong.
func TestRight(t *testing.T) {
	r := glm(t)
	const tool = `{"type":"function","function":{"name":"mul","parameters":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}}}`
	call := Case{Thinking: true, Tools: []string{tool, strings.Replace(tool, "mul", "add", 1)}, Answer: Message{Calls: []Call{{"mul", `{"a": 3, "b": 4}`}}}}
	sum := Case{Thinking: true, Answer: Message{Content: "1 + 2 = 3"}}
	const a, b = "<arg_key>a</arg_key><arg_value>3</arg_value>", "<arg_key>b</arg_key><arg_value>4</arg_value>"
	for _, tt := range []struct {
		c     *Case
		text  string
		right bool
	}{
		{&call, "x</think><tool_call>mul" + a + b + "</tool_call>", true},
		{&call, "</think><tool_call>mul" + b + a + "</tool_call>\n", true},
		{&call, "x</think><tool_call>mul" + a + "</tool_call>", false},
		{&call, "x</think><tool_call>mul" + a + strings.Replace(b, "4", "5", 1) + "</tool_call>", false},
		{&call, "x</think><tool_call>mul" + a + strings.Replace(b, "4", `"4"`, 1) + "</tool_call>", false},
		{&call, "x</think><tool_call>add" + a + b + "</tool_call>", false},
		{&call, "x</think>Yes.<tool_call>mul" + a + b + "</tool_call>", false},
		{&call, "x</think>" + strings.Repeat("<tool_call>mul"+a+b+"</tool_call>", 2), false},
		{&call, "x<tool_call>mul" + a + b + "</tool_call>", false},
		{&call, "x</think>", false},
		{&sum, "x</think>1 + 2 = 3", true},
		{&sum, "1 + 2 = 3", false},
		{&sum, "x</think>1 + 2 = 4", false},
		{&sum, "x</think>1 + 2 = 3.", false},
	} {
		if got := tt.c.Right(r, tt.text); got != tt.right {
			t.Errorf("%q: right is %v", tt.text, got)
		}
	}
}

// writer is a Taker that returns a given answer.
type writer struct {
	renderer chat.Renderer
	answer   func(prompt string, most int) (Answer, error)
}

func (w *writer) Renderer() chat.Renderer { return w.renderer }
func (w *writer) Answer(_ context.Context, prompt string, most int) (Answer, error) {
	return w.answer(prompt, most)
}

// TestTake counts the answers of a taker that makes known mistakes, by kind.
func TestTake(t *testing.T) {
	cases := []Case{
		{Kind: "sum", Thinking: true, Answer: Message{Content: "3"}, Wanted: "x</think>3<|user|>"},
		{Kind: "sum", Thinking: true, Answer: Message{Content: "4"}, Wanted: "x</think>4<|user|>"},
		{Kind: "sum", Answer: Message{Content: "5"}, Wanted: "5<|user|>"},
		{Kind: "count", Answer: Message{Content: "6"}, Wanted: "6<|user|>"},
	}
	answers := []Answer{
		{"x</think>3", "<|user|>", 5, 4},
		{"y</think>4", "<|user|>", 3, 1}, // other thoughts
		{"5", "", 2, 0},                  // without an end
		{"6", "<|user|>", 0, 0},
	}
	at := 0
	w := &writer{glm(t), func(prompt string, most int) (Answer, error) {
		if want := map[bool]string{true: "<think>", false: "</think>"}[cases[at].Thinking]; !strings.HasSuffix(prompt, "<|assistant|>"+want) || most <= len(cases[at].Wanted) {
			t.Errorf("prompt %q, at most %d tokens", prompt, most)
		}
		at++
		return answers[at-1], nil
	}}
	var wrong []string
	table, err := Take(context.Background(), w, cases, func(c *Case, a Answer) { wrong = append(wrong, a.Text) })
	if err != nil {
		t.Fatal(err)
	}
	want := `| kind | thinking | cases | right | % | whole text | guesses | right | % |
|---|---|---|---|---|---|---|---|---|
| sum | yes | 2 | 2 | 100.0 | 1 | 8 | 5 | 62.5 |
| sum | no | 1 | 0 | 0.0 | 0 | 2 | 0 | 0.0 |
| count | no | 1 | 1 | 100.0 | 1 | 0 | 0 | 0.0 |
| all |  | 4 | 3 | 75.0 | 2 | 10 | 5 | 50.0 |
`
	if got := table.String(); got != want || len(wrong) != 1 || wrong[0] != "5" {
		t.Errorf("wrong %q, table\n%s", wrong, got)
	}
	if r := table.Sum("sum"); r.Cases != 3 || r.Right != 2 {
		t.Errorf("sums: %+v", r)
	}
	w.answer = func(string, int) (Answer, error) { return Answer{}, errors.New("broken") }
	if _, err := Take(context.Background(), w, cases, nil); err == nil || err.Error() != "case 0: broken" {
		t.Errorf("error %v", err)
	}
}
