package main

import (
	"fmt"
	"io"

	"mla/runtime/text/tokenizer"
)

// tokenizerOf builds the tokeniser of the model file, without a bundle.
func (f *flags) tokenizerOf() (_ *tokenizer.Tokenizer, err error) {
	file, err := f.openModel()
	if err != nil {
		return nil, err
	}
	defer closing(file, &err)
	return tokenizer.FromGGUF(file)
}

// tokenize prints the ids of a text in one line.
func tokenize(e *env, args []string) error {
	f := newFlags(e, "mlarun tokenize", "-model F [flags] -p TEXT | -f FILE | -")
	src := f.source("`text` to tokenize")
	var opts tokenizer.EncodeOptions
	f.BoolVar(&opts.AddBOS, "bos", false, "put BOS first, and EOS last, if the model wants them")
	f.BoolVar(&opts.ParseSpecial, "special", false, "read the names of control tokens as tokens")
	stdin, err := f.parseAll(args)
	if err != nil {
		return err
	}
	text, ok, err := src.read(f, stdin)
	if err != nil {
		return err
	}
	if !ok {
		return f.wrong("no text: give -p, -f or -")
	}
	t, err := f.tokenizerOf()
	if err != nil {
		return err
	}
	opts.AddEOS = opts.AddBOS
	_, err = fmt.Fprintln(e.out, formatTokens(t.Encode(text, opts)))
	return err
}

// detokenize prints the text of ids. It adds a line break only if stdout is a terminal.
func detokenize(e *env, args []string) error {
	f := newFlags(e, "mlarun detokenize", "-model F -tokens 3,40,200 | -")
	list := f.String("tokens", "", "token `ids`, separated by commas or spaces")
	stdin, err := f.parseAll(args)
	if err != nil {
		return err
	}
	switch {
	case stdin && f.given("tokens"):
		return f.wrong("-tokens and - cannot be used together")
	case stdin:
		*list, err = readText("stdin", e.in)
	case !f.given("tokens"):
		if *list, stdin, err = f.piped(); err == nil && !stdin {
			return f.wrong("no tokens: give -tokens or -")
		}
	}
	if err != nil {
		return err
	}
	ids, err := parseTokens(*list)
	switch {
	case err != nil && stdin:
		return err
	case err != nil:
		return f.wrong("-tokens: %v", err)
	}
	t, err := f.tokenizerOf()
	if err != nil {
		return err
	}
	for i, id := range ids {
		if int(id) >= t.VocabSize() {
			return fmt.Errorf("token %d is %d; the vocabulary has %d", i, id, t.VocabSize())
		}
	}
	text := t.Decode(ids)
	if _, ok := terminal(e.out); ok {
		text += "\n"
	}
	_, err = io.WriteString(shown(e.out), text)
	return err
}
