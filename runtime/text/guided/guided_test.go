package guided_test

import (
	"testing"

	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/text/grammar"
	"mla/runtime/text/guided"
	"mla/runtime/text/sample"
)

// follow is a matcher of a grammar for the test model's vocabulary.
func follow(t *testing.T, source string) (*grammar.Matcher, *grammar.Vocabulary) {
	t.Helper()
	tok, err := completiontest.Tokenizer("")
	if err != nil {
		t.Fatal(err)
	}
	v := guided.Vocabulary(tok, tok.IsEOG)
	g, err := grammar.ParseGBNF(source)
	if err != nil {
		t.Fatal(err)
	}
	c, err := grammar.Compile(t.Context(), g, v)
	if err != nil {
		t.Fatal(err)
	}
	return c.NewMatcher(), v
}

// TestSampler: while a mask is not known the host has to pick; then a device can, and both
// pick the same.
func TestSampler(t *testing.T) {
	m, _ := follow(t, `root ::= [b-d] "x"`)
	own, err := sample.New(sample.Off())
	if err != nil {
		t.Fatal(err)
	}
	guide := m
	s := guided.New(own, func() *grammar.Matcher { return guide })
	logits := make([]float32, 300)
	logits['a'] = 5
	logits['c'] = 3
	logits['b'] = 2
	if state := s.Sampling(); state != nil {
		t.Errorf("a mask that nobody has looked for is known: %+v", state)
	}
	if got := s.Next(logits); got != 'c' {
		t.Errorf("token %d; expected that of c", got)
	}
	state := s.Sampling()
	if state == nil || state.After('c') != nil {
		t.Fatalf("%+v", state)
	}
	pick, err := state.Pick(0, len(logits))
	if err != nil || sample.Picked(&pick, logits) != 'c' {
		t.Errorf("%+v, %v", pick, err)
	}
	if state.Repeats() {
		t.Error("a device continues by itself with a mask")
	}
	guide = nil
	if got := s.Next(logits); got != 'a' {
		t.Errorf("without a grammar: token %d", got)
	}
	if state := s.Sampling(); state == nil || state.Mask != nil {
		t.Errorf("without a grammar: %+v", state)
	}
}

// TestVocabulary: control tokens, and user-defined ones in brackets, are only themselves.
func TestVocabulary(t *testing.T) {
	m, v := follow(t, "root ::= .* <tool_call>")
	tok, err := completiontest.Tokenizer("")
	if err != nil {
		t.Fatal(err)
	}
	mask, err := m.Mask()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "<": true, "<tool_call>": true, "</tool_call>": false, "<think>": false, "<|user|>": false, "<|endoftext|>": false} {
		id, ok := tok.TokenID(name)
		if !ok || grammar.Allows(mask, id) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	any := v.Unending()
	mask, err = any.Mask()
	if end, _ := tok.TokenID("<|endoftext|>"); err != nil || grammar.Allows(mask, end) || !grammar.Allows(mask, 0) || any.Known() == nil {
		t.Errorf("a text that does not end: %v", err)
	}
}
