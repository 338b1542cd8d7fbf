package main

import (
	"mla/runtime/npy"
)

// logits writes the logits at every position as [n, vocab] float32.
func logits(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun logits", "-model F -tokens 3,40,200 -o out.npy [flags]").running()
	list := f.String("tokens", "", "token `ids`, separated by commas or spaces")
	path := f.String("o", "", "NumPy `file` to write")
	f.contextFlag()
	if stdin, err := f.parseAll(args); err != nil {
		return err
	} else if stdin {
		return f.wrong("unexpected argument %q", "-")
	}
	tokens, err := f.tokenFlag(*list)
	if err != nil {
		return err
	}
	switch *path {
	case "":
		return f.wrong("-o is missing")
	case "-":
		return f.wrong("-o is -; expected a file")
	}
	m, err := f.load(func(int) int { return max(len(tokens), f.least) })
	if err != nil {
		return err
	}
	defer closing(m, &err)
	return m.writeLogits(tokens, *path)
}

func (l *loaded) writeLogits(tokens []int32, path string) error {
	ctx, stop := interruptible()
	defer stop()
	if err := l.Known(tokens); err != nil {
		return err
	}
	w, err := npy.Create(path, len(tokens), l.engine.Bundle().Model.VocabSize)
	if err != nil {
		return err
	}
	defer w.Abort()
	p := l.flags.progress("logits")
	defer p.clear()
	for i, t := range tokens {
		p.count(i, len(tokens))
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.Append(t); err != nil {
			return err
		}
		if err := w.WriteRow(l.Logits()); err != nil {
			return err
		}
	}
	return w.Close()
}
