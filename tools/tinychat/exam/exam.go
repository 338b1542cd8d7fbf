// Package exam evaluates a model on held-out prompts that have one right answer each, and counts the right
// answers. The prompts are in testdata/cases.json, written by tools/tinychat/cases.py.
package exam

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
)

//go:embed testdata/cases.json
var casesJSON []byte

// Call is a call of a tool.
type Call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // a JSON object
}

// Message is a message of a conversation in cases.json.
type Message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	Reasoning string `json:"reasoning"`
	Calls     []Call `json:"calls"`
}

// Case is a prompt with its right answer.
type Case struct {
	Kind         string    `json:"kind"`
	Messages     []Message `json:"messages"`
	Tools        []string  `json:"tools"` // JSON
	Thinking     bool      `json:"thinking"`
	KeepThinking bool      `json:"keep_thinking"`
	Answer       Message   `json:"answer"`
	// Wanted is the complete text that the model should write, with the token that ends its turn.
	Wanted string `json:"wanted"`
	// Checksums by the generator of the training texts, of the prompt followed by Wanted: the CRC-32 of the
	// text, the number of tokens, and the CRC-32 of the tokens as little-endian 16-bit numbers.
	TextCRC   uint32 `json:"text_crc"`
	Tokens    int    `json:"tokens"`
	TokensCRC uint32 `json:"tokens_crc"`
}

// Cases returns all cases. The tests of this package check the cases.
func Cases() ([]Case, error) {
	var list []Case
	if err := json.Unmarshal(casesJSON, &list); err != nil {
		return nil, fmt.Errorf("cases.json: %w", err)
	}
	return list, nil
}

// Prompt returns the text of a case up to the place where the model's answer begins.
func (c *Case) Prompt(r chat.Renderer) (string, error) {
	var messages []chat.Message
	for _, m := range c.Messages {
		out := chat.Message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning}
		for _, call := range m.Calls {
			out.ToolCalls = append(out.ToolCalls, chat.ToolCall{Name: call.Name, Arguments: call.Arguments})
		}
		messages = append(messages, out)
	}
	return r.Render(messages, chat.Options{AddGenerationPrompt: true, Thinking: &c.Thinking, KeepThinking: c.KeepThinking, Tools: c.tools()})
}

func (c *Case) tools() (list []json.RawMessage) {
	for _, t := range c.Tools {
		list = append(list, json.RawMessage(t))
	}
	return list
}

// Right reports whether an answer has the right text and makes the right calls. text is the answer as the
// model wrote it, without the token that ended it. Thoughts are not compared.
func (c *Case) Right(r chat.Renderer, text string) bool {
	p := output.New(output.Config{Format: output.FormatOf(r.Template()), Tools: c.tools(), Thinking: c.Thinking})
	var got Message
	events := p.Push(text)
	if p.Thinking() { // a call inside unfinished thoughts does not count: the model was trained to end its thoughts first
		return false
	}
	for _, e := range append(events, p.Close()...) {
		switch e.Kind {
		case output.Content:
			got.Content += e.Text
		case output.CallBegin:
			got.Calls = append(got.Calls, Call{Name: e.Text})
		case output.Arguments:
			got.Calls[len(got.Calls)-1].Arguments += e.Text
		}
	}
	return strings.TrimSpace(got.Content) == c.Answer.Content && slices.EqualFunc(got.Calls, c.Answer.Calls, equal)
}

// equal compares two calls. The order and the white space of their arguments do not matter.
func equal(a, b Call) bool {
	var x, y map[string]any
	if json.Unmarshal([]byte(a.Arguments), &x) != nil || json.Unmarshal([]byte(b.Arguments), &y) != nil {
		return false
	}
	return a.Name == b.Name && reflect.DeepEqual(x, y)
}

// Answer is a model's answer to a prompt.
type Answer struct {
	Text string // without End
	End  string // the token that ended the answer; empty: the limit of tokens was reached
	// Drafted is the number of drafted tokens, Accepted how many of them the model accepted.
	Drafted, Accepted int
}

// Taker answers prompts with greedy sampling.
type Taker interface {
	Renderer() chat.Renderer
	// Answer continues a prompt by at most most tokens.
	Answer(ctx context.Context, prompt string, most int) (Answer, error)
}

// Row is the result of one kind of cases.
type Row struct {
	Kind     string
	Thinking bool
	Cases    int
	Right    int // answers with the right text and calls
	Whole    int // answers equal to Case.Wanted, with thoughts and the end of the turn
	Drafted  int
	Accepted int
}

// Table is the result of an exam: a row per kind.
type Table []Row

// Take lets the taker answer cases. An answer may be half as long again as the right one, and some tokens
// more. wrong, if not nil, is called for each wrong answer.
func Take(ctx context.Context, t Taker, cases []Case, wrong func(c *Case, a Answer)) (Table, error) {
	var table Table
	for i := range cases {
		c := &cases[i]
		prompt, err := c.Prompt(t.Renderer())
		if err != nil {
			return nil, fmt.Errorf("case %d: %w", i, err)
		}
		a, err := t.Answer(ctx, prompt, len(c.Wanted)*3/2+16)
		if err != nil {
			return nil, fmt.Errorf("case %d: %w", i, err)
		}
		row := table.row(c)
		row.Cases++
		row.Drafted, row.Accepted = row.Drafted+a.Drafted, row.Accepted+a.Accepted
		if a.Text+a.End == c.Wanted {
			row.Whole++
		}
		switch {
		case a.End != "" && c.Right(t.Renderer(), a.Text):
			row.Right++
		case wrong != nil:
			wrong(c, a)
		}
	}
	return table, nil
}

// row returns the row of a case's kind, which is added if it is missing.
func (t *Table) row(c *Case) *Row {
	i := slices.IndexFunc(*t, func(r Row) bool { return r.Kind == c.Kind && r.Thinking == c.Thinking })
	if i < 0 {
		i = len(*t)
		*t = append(*t, Row{Kind: c.Kind, Thinking: c.Thinking})
	}
	return &(*t)[i]
}

// Sum adds the rows of some kinds. Without kinds it adds all rows.
func (t Table) Sum(kinds ...string) Row {
	out := Row{Kind: "all"}
	for _, r := range t {
		if len(kinds) == 0 || slices.Contains(kinds, r.Kind) {
			out.Cases, out.Right, out.Whole = out.Cases+r.Cases, out.Right+r.Right, out.Whole+r.Whole
			out.Drafted, out.Accepted = out.Drafted+r.Drafted, out.Accepted+r.Accepted
		}
	}
	return out
}

// Percent returns the share of right answers in percent, 0 without cases.
func (r Row) Percent() float64 { return percent(r.Right, r.Cases) }

// Acceptance returns the share of accepted drafts in percent, 0 without drafts.
func (r Row) Acceptance() float64 { return percent(r.Accepted, r.Drafted) }

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// String returns the table in Markdown.
func (t Table) String() string {
	var out strings.Builder
	out.WriteString("| kind | thinking | cases | right | % | whole text | guesses | right | % |\n")
	out.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range append(slices.Clone(t), t.Sum()) {
		thinking := map[bool]string{true: "yes", false: "no"}[r.Thinking]
		if r.Kind == "all" {
			thinking = ""
		}
		fmt.Fprintf(&out, "| %s | %s | %d | %d | %.1f | %d | %d | %d | %.1f |\n", r.Kind, thinking, r.Cases, r.Right, r.Percent(), r.Whole, r.Drafted, r.Accepted, r.Acceptance())
	}
	return out.String()
}
