package main

import (
	"errors"

	"mla/runtime/engine"
	"mla/runtime/system/npy"
)

// logits writes the logits at every position as [n, vocab] float32.
func logits(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun logits", "-model F -tokens 3,40,200 -o out.npy [flags]").running().comparing()
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
	width := max(l.flags.width, 1) // token by token unless -width is given
	for i := 0; i < len(tokens); i += width {
		p.count(i, len(tokens))
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.writePiece(w, tokens[i:min(i+width, len(tokens))]); err != nil {
			return err
		}
	}
	return w.Close()
}

// writePiece runs tokens together and writes the logits after each.
func (l *loaded) writePiece(w *npy.Writer, tokens []int32) error {
	rows := make([]engine.Row, len(tokens))
	for i, t := range tokens {
		rows[i] = engine.Row{Session: l.Session, Token: t, Logits: true}
	}
	var failed error
	err := l.model.Step(rows, func(_ int, of [][]float32) {
		for _, logits := range of {
			failed = errors.Join(failed, w.WriteRow(logits))
		}
	})
	return errors.Join(err, failed)
}
