package guided

import (
	"errors"
	"fmt"

	"mla/runtime/text/chat/output"
	"mla/runtime/text/grammar"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Rules is the grammars for one vocabulary that a text follows. A nil grammar allows anything.
type Rules struct {
	Text      *grammar.Compiled // of the text after the thoughts
	Calls     *grammar.Compiled // of a call, after its marker
	AfterCall *grammar.Compiled // of what follows a call
	Thoughts  *grammar.Matcher  // allows all tokens that do not end the text
}

// none says that the rules allow anything.
func (r *Rules) none() bool { return r.Text == nil && r.Calls == nil }

// Answer is the position of a text in its rules. A nil Answer has no rules.
type Answer struct {
	rules     Rules
	tokenizer *tokenizer.Tokenizer
	parser    *output.Parser   // nil: everything is text
	at        *grammar.Matcher // nil: anything may come
	text      *grammar.Matcher // at, before the current call
	calling   bool             // the model is writing a call
	broken    bool             // the text has left its rules
	sampler   *Sampler
}

// NewAnswer returns the beginning of a text that parser parses. It is nil without rules.
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

// Sampler returns a sampler that picks as own does, among the tokens that the rules allow.
func (a *Answer) Sampler(own *sample.Sampler) *Sampler {
	a.sampler = New(own, a.Guide)
	return a.sampler
}

// Guide returns the grammar of the next token. Thoughts follow no grammar, but must not end the answer.
func (a *Answer) Guide() *grammar.Matcher {
	if a.at != nil && a.parser != nil && a.parser.Thinking() {
		return a.rules.Thoughts
	}
	return a.at
}

// Token advances by a token that the parser has got; false ends the text. thought says whether the token was
// picked as one of the thoughts. events is what the token has added, which may be text after the thoughts.
func (a *Answer) Token(id int32, thought bool, events []output.Event) (more bool) {
	switch {
	case a == nil:
		return true
	case id < 0 || a.at == nil:
	case thought:
		a.leave(events)
	case a.at.Accept(id) != nil:
		if a.at.CanEnd() { // if the grammar allows an end, or ends of texts are forbidden
			return false
		}
		a.broken = true
	}
	a.Begun()
	return !a.broken && (a.at == nil || a.calling || !a.at.MustEnd())
}

// leave advances by the text that came with the end of the thoughts.
func (a *Answer) leave(events []output.Event) {
	for _, e := range events {
		if e.Kind == output.Content && a.at.AcceptText([]byte(e.Text)) != nil {
			a.broken = true
		}
	}
}

// Begun switches to the rules of a call when the parser is at one, and back.
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
	case a.parser.Thinking(): // the text has not begun
		a.at = a.text
	case a.rules.AfterCall != nil:
		a.at = a.rules.AfterCall.NewMatcher()
	default:
		a.at = nil
	}
	a.calling = calling
}

// call is the grammar of a call with some text. A call that the format does not recognise has none, as it
// will become text.
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

// Calling says whether the model is writing a call that follows rules.
func (a *Answer) Calling() bool { return a != nil && a.calling && a.rules.Calls != nil && a.at != nil }

// Err is an error if the text has left its rules, which masks prevent.
func (a *Answer) Err() error {
	if a == nil || !a.broken {
		return nil
	}
	return errors.New("the answer does not follow its grammar")
}

// Explain is the reason for which no token could follow, if none is the error for that.
func (a *Answer) Explain(none error) error {
	switch {
	case a == nil:
		return none
	case a.sampler.Err() != nil:
		return a.sampler.Err()
	}
	return fmt.Errorf("%w: the vocabulary has none that follows the grammar", none)
}
