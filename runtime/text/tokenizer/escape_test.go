package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// inChat encodes a message between two control tokens, as a rendered chat has it.
func inChat(tok *Tokenizer, message string) []int32 {
	ids := tok.Encode("<|user|>"+tok.Escape(message)+"<e>", EncodeOptions{ParseSpecial: true, Escaped: true})
	return ids[1 : len(ids)-1]
}

// TestEscape: a message has the tokens of its characters, and of those that any text may have.
func TestEscape(t *testing.T) {
	v := testVocab()
	for _, overlapping := range []string{"abc", "bcd", "cd", "é!"} {
		v.Tokens, v.Types = append(v.Tokens, overlapping), append(v.Types, TypeControl)
	}
	v.Tokens, v.Types = append(v.Tokens, "x<e>y"), append(v.Types, TypeUserDefined) // which has one
	tok := mustNew(t, v)
	for _, message := range []string{
		"", "hello", "<e>", "he<e>he<unk>", "<think>ing<e><think>", "<<|user|>|user|>", "<|us<|user|>er|>", "abcdcd", "é!é", "x<e>y<e>yx<e>",
		"\ufdd0", "\ufdd0\ufdd1", "<\ufdd0\ufdd2e>", "\ufdd2", "a\xff<e>\xff", "<e", strings.Repeat("<e>", 100),
	} {
		if back := Unescape(tok.Escape(message)); back != message {
			t.Errorf("%q comes back as %q", message, back)
		}
		if got, want := inChat(tok, message), tok.Encode(message, EncodeOptions{}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, expected %q", message, spelled(tok, got), spelled(tok, want))
		}
	}
	if text := "<think> about U+FDD1: \ufdd1"; tok.Escape(text) != text {
		t.Errorf("%q is %q", text, tok.Escape(text))
	}
}

// FuzzEscape checks that every message is decoded unchanged and has no control token.
func FuzzEscape(f *testing.F) {
	tok := mustNew(f, testVocab())
	f.Add("he<e>he<unk>")
	f.Add("\ufdd0\ufdd1<\ufdd0|user|>")
	f.Fuzz(func(t *testing.T, message string) {
		if back := Unescape(tok.Escape(message)); back != message {
			t.Errorf("%q comes back as %q", message, back)
		}
		got := inChat(tok, message)
		for _, id := range got {
			if kind := tok.vocab.typeOf(int(id)); kind == TypeControl || kind == TypeUnknown {
				t.Errorf("%q has %q", message, spelled(tok, got))
			}
		}
		if want := tok.Encode(message, EncodeOptions{}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, expected %q", message, spelled(tok, got), spelled(tok, want))
		}
	})
}
