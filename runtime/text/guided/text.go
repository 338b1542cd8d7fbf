package guided

import (
	"context"
	"fmt"

	"mla/runtime/text/grammar"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Text is one that follows a grammar, from its beginning or from where thoughts end. A nil Text
// follows none.
type Text struct {
	sampler        *Sampler
	text, thoughts *grammar.Matcher
	thoughtsEnd    int32 // the token; negative: there are no thoughts, or they have ended
}

// NewText is the text behind a prompt. own is the sampler without the grammar; ends says which
// tokens end the text, and think are the markers of thoughts.
func NewText(own *sample.Sampler, rules *grammar.Grammar, t *tokenizer.Tokenizer, prompt []int32, ends func(int32) bool, think [2]string) (*Text, error) {
	v := Vocabulary(t, ends)
	compiled, err := grammar.Compile(context.Background(), rules, v)
	if err != nil {
		return nil, err
	}
	x := &Text{text: compiled.NewMatcher(), thoughts: v.Unending(), thoughtsEnd: -1}
	if begin, ok := t.TokenID(think[0]); ok && len(prompt) > 0 && prompt[len(prompt)-1] == begin {
		if end, ok := t.TokenID(think[1]); ok {
			x.thoughtsEnd = end
		}
	}
	x.sampler = New(own, x.guide)
	return x, nil
}

// Sampler picks the tokens of the text.
func (x *Text) Sampler() *Sampler { return x.sampler }

func (x *Text) guide() *grammar.Matcher {
	if x.thoughtsEnd >= 0 {
		return x.thoughts
	}
	return x.text
}

// Token goes on with a token; false ends the text.
func (x *Text) Token(id int32) bool {
	switch {
	case x == nil:
		return true
	case x.thoughtsEnd >= 0:
		if id == x.thoughtsEnd {
			x.thoughtsEnd = -1
		}
		return true
	}
	return x.text.Accept(id) == nil && !x.text.MustEnd()
}

// Explain is why no token could follow, where none is the error of that.
func (x *Text) Explain(none error) error {
	switch {
	case x == nil:
		return none
	case x.sampler.Err() != nil:
		return x.sampler.Err()
	}
	return fmt.Errorf("%w: the vocabulary has none that follows the grammar", none)
}
