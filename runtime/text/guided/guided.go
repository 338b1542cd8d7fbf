// Package guided makes a sampler pick only tokens that a grammar allows.
package guided

import (
	"mla/runtime/device"
	"mla/runtime/text/grammar"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Guide is where the text is in its grammar; nil: anything may come next. Whoever gets the
// tokens tells the matcher.
type Guide func() *grammar.Matcher

// Sampler is a sampler with a guide. It is an engine.Portable: a device picks in its place
// when the mask is known in time. When it is not, it is found while the device runs, and
// the host picks by the logits.
type Sampler struct {
	*sample.Sampler
	guide Guide
	err   error
}

// New is a sampler that follows a guide.
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
			go func() { _, _ = m.Mask() }() // Next asks again, and has the error
			return nil
		}
	}
	s.Allow(mask)
	return s.Sampler.Sampling()
}

// Watches implements engine.Watching: the guide has seen only what was handed over.
func (s *Sampler) Watches() {}

// Err is why the guide could not go on; nil if it could.
func (s *Sampler) Err() error { return s.err }

// Vocabulary is that of a tokenizer. Control tokens, and others that mark parts of a text,
// are those that stand for nothing else; ends says which end a text.
func Vocabulary(t *tokenizer.Tokenizer, ends func(id int32) bool) *grammar.Vocabulary {
	return grammar.NewVocabulary(t.VocabSize(), func(id int32) grammar.Token {
		token := grammar.Token{Bytes: t.TokenBytes(id), Control: t.IsMarker(id), End: ends(id)}
		if token.Control {
			token.Bytes = []byte(t.TokenText(id))
		}
		return token
	})
}
