// Package guided restricts a sampler to tokens that a grammar allows.
package guided

import (
	"mla/runtime/device"
	"mla/runtime/text/grammar"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Guide returns the text's position in its grammar; nil: anything may come next. The receiver of the tokens
// advances the matcher.
type Guide func() *grammar.Matcher

// Sampler is a sampler with a guide. It is an engine.Portable: a device picks in its place if the mask is
// known in time. Otherwise the mask is computed while the device runs, and the host picks by the logits.
type Sampler struct {
	*sample.Sampler
	guide Guide
	err   error
}

// New returns a sampler that follows a guide.
func New(s *sample.Sampler, g Guide) *Sampler { return &Sampler{Sampler: s, guide: g} }

// Next implements engine.Sampler.
func (s *Sampler) Next(logits []float32) int32 {
	var mask []uint32
	if m := s.guide(); m != nil {
		if mask, s.err = m.Mask(); s.err != nil {
			return -1
		}
	}
	s.Allow(mask)
	return s.Sampler.Next(logits)
}

// Sampling implements engine.Portable.
func (s *Sampler) Sampling() *device.Sampling {
	var mask []uint32
	if m := s.guide(); m != nil {
		if mask = m.Known(); mask == nil {
			go func() { _, _ = m.Mask() }() // Next asks again, and gets the error
			return nil
		}
	}
	s.Allow(mask)
	return s.Sampler.Sampling()
}

// Watches implements engine.Watching: the guide depends on tokens that were passed on.
func (s *Sampler) Watches() {}

// Err is the reason for which the guide could not continue; nil: it could.
func (s *Sampler) Err() error { return s.err }

// Vocabulary is the vocabulary of a tokenizer. Tokens that mark parts of a text, such as control tokens,
// stand for nothing else in it; ends says which tokens end a text.
func Vocabulary(t *tokenizer.Tokenizer, ends func(id int32) bool) *grammar.Vocabulary {
	return grammar.NewVocabulary(t.VocabSize(), func(id int32) grammar.Token {
		token := grammar.Token{Bytes: t.TokenBytes(id), Control: t.IsMarker(id), End: ends(id)}
		if token.Control {
			token.Bytes = []byte(t.TokenText(id))
		}
		return token
	})
}
