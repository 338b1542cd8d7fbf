package main

import (
	"go/scanner"
	"go/token"
	"testing"
)

// TestSample runs the README's first command. The model that ships learnt from
// Go sources, so prompt and continuation must consist of Go tokens. How exact
// the logits are is the business of runtime/engine's TestReference.
func TestSample(t *testing.T) {
	const prompt = "func "
	r := mlarun("", "-model", "../../testdata/tinyglm.gguf", "-p", prompt, "-n", "64", "-temp", "0")
	if r.code != 0 || len(r.out) < 64 {
		t.Fatalf("code %d, %q\n%s", r.code, r.out, r.err)
	}
	for _, illegal := range illegalTokens(prompt + r.out) {
		t.Errorf("%s in %q", illegal, prompt+r.out)
	}
}

// TestIllegalTokens makes sure that TestSample can fail.
func TestIllegalTokens(t *testing.T) {
	for text, illegal := range map[string]bool{
		"func (x *T) f() int {\n\treturn 1 // half a comm": false,
		"func f() { return #":                              true,
		"func f() { \"abc\n":                               true,
		"func \ufffd":                                      true,
	} {
		if got := illegalTokens(text); len(got) > 0 != illegal {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// illegalTokens lists what go/scanner refuses in a text.
func illegalTokens(text string) []string {
	var out []string
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(pos token.Position, msg string) { out = append(out, pos.String()+": "+msg) }, 0)
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return out
		case token.ILLEGAL:
			out = append(out, "illegal token "+lit)
		}
	}
}
