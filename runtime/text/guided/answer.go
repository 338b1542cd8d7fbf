package guided

import (
	"errors"
	"fmt"

	"mla/runtime/text/chat/output"
	"mla/runtime/text/grammar"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Rules are grammars for one vocabulary that a text follows. Where one is nil, anything may come.
type Rules struct {
	Text      *grammar.Compiled // of the text, from where the thoughts end
	Calls     *grammar.Compiled // of a call, from its marker on
	AfterCall *grammar.Compiled // of what follows a call
	Thoughts  *grammar.Matcher  // a text that does not end
}

// none says that the rules allow anything.
func (r *Rules) none() bool { return r.Text == nil && r.Calls == nil }

// Answer is where a text is in its rules. A nil Answer has none.
type Answer struct {
	rules     Rules
	tokenizer *tokenizer.Tokenizer
	parser    *output.Parser   // nil: all is text
	at        *grammar.Matcher // nil: anything may come
	text      *grammar.Matcher // what at was before a call
	calling   bool             // the model is at a call
	broken    bool             // the text has left its rules
	sampler   *Sampler
}

// NewAnswer is the beginning of a text, which the parser takes apart. It is nil without rules.
func NewAnswer(t *tokenizer.Tokenizer, p *output.Parser, r Rules) *Answer {
	if r.none() {
		return nil
	}
	a := &Answer{rules: r, tokenizer: t, parser: p}
	if r.Text != nil {
		a.at = r.Text.NewMatcher()
	}
	return a
}

// Sampler picks the tokens of the text as own does, of those that the rules allow.
func (a *Answer) Sampler(own *sample.Sampler) *Sampler {
	a.sampler = New(own, a.Guide)
	return a.sampler
}

// Guide is what the next token follows. Thoughts follow nothing, but they may not end the answer.
func (a *Answer) Guide() *grammar.Matcher {
	if a.at != nil && a.parser != nil && a.parser.Thinking() {
		return a.rules.Thoughts
	}
	return a.at
}

// Token goes on with a token that the parser has been given; false ends the text. thought says
// whether it was picked as one of the thoughts; events, what it added, may be what follows these.
func (a *Answer) Token(id int32, thought bool, events []output.Event) (more bool) {
	switch {
	case a == nil:
		return true
	case id < 0 || a.at == nil:
	case thought:
		a.leave(events)
	case a.at.Accept(id) != nil:
		if a.at.CanEnd() { // where ends of texts are forbidden
			return false
		}
		a.broken = true
	}
	a.Begun()
	return !a.broken && (a.at == nil || a.calling || !a.at.MustEnd())
}

// leave goes on with the text that came with the end of the thoughts.
func (a *Answer) leave(events []output.Event) {
	for _, e := range events {
		if e.Kind == output.Content && a.at.AcceptText([]byte(e.Text)) != nil {
			a.broken = true
		}
	}
}

// Begun looks where the parser is: the rules of a call begin with it, and end with it.
func (a *Answer) Begun() {
	if a == nil || a.parser == nil {
		return
	}
	text, calling := a.parser.Calling()
	switch {
	case calling == a.calling:
		return
	case calling:
		a.text, a.at = a.at, a.call(text)
	case a.parser.Thinking(): // the text is still to come
		a.at = a.text
	case a.rules.AfterCall != nil:
		a.at = a.rules.AfterCall.NewMatcher()
	default:
		a.at = nil
	}
	a.calling = calling
}

// call is a call of which some text is there. One that the format does not know follows
// nothing, as it will be text.
func (a *Answer) call(text string) *grammar.Matcher {
	if a.rules.Calls == nil {
		return nil
	}
	m := a.rules.Calls.NewMatcher()
	for _, id := range a.tokenizer.Encode(text, tokenizer.EncodeOptions{ParseSpecial: true}) {
		if m.Accept(id) != nil {
			return nil
		}
	}
	return m
}

// Calling says whether the model is at a call that follows rules.
func (a *Answer) Calling() bool { return a != nil && a.calling && a.rules.Calls != nil && a.at != nil }

// Err is an error if the text has left its rules, which masks do not allow.
func (a *Answer) Err() error {
	if a == nil || !a.broken {
		return nil
	}
	return errors.New("the answer does not follow its grammar")
}

// Explain is why no token could follow, where none is the error of that.
func (a *Answer) Explain(none error) error {
	switch {
	case a == nil:
		return none
	case a.sampler.Err() != nil:
		return a.sampler.Err()
	}
	return fmt.Errorf("%w: the vocabulary has none that follows the grammar", none)
}
