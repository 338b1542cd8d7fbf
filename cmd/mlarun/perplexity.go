package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"mla/runtime/doctor/quality"
	"mla/runtime/text/tokenizer"
)

// measured is a run of the perplexity command.
type measured struct {
	*loaded
	text  *quality.Text
	saved *quality.Saved // nil: logits are not saved
	base  *quality.Base  // nil: no comparison
	meter *quality.Meter
}

// perplexityContext is the default length of a chunk, the same as llama.cpp's.
const perplexityContext = 512

// perplexity measures how well the model predicts a text.
func perplexity(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun perplexity", "-model F -f TEXT [-c 512] [-save-logits FILE | -compare FILE] [flags]",
		"As llama.cpp's perplexity tool counts: the text is cut into chunks of -c tokens, each is",
		"run by itself (its first token is BOS if texts of the model begin with it), and the tokens",
		"of its second half count. ± is the standard error. -save-logits and -compare do what its",
		"KL base file is for, in a format of their own: 16 bits per logit, checksummed, and only",
		"for the same model (weights of other types are) and the same text in the same chunks.").running().comparing()
	src := f.source("`text` to predict")
	chunk := f.Int("c", perplexityContext, "`tokens` of a chunk")
	chunks := f.Int("chunks", 0, "`chunks` to run at most; 0: all")
	save := f.String("save-logits", "", "`file` to write, with the logits of all tokens that count (2 bytes each)")
	against := f.String("compare", "", "`file` that -save-logits wrote: print the Kullback-Leibler divergence from it, how often the most likely token is the same, and a histogram")
	stdin, err := f.parseAll(args)
	if err != nil {
		return err
	}
	text, given, err := src.read(f, stdin)
	switch {
	case err != nil:
		return err
	case !given:
		return f.wrong("no text: give -f, -p or -")
	case *chunk < quality.MinContext:
		return f.wrong("-c is %d; expected %d or more", *chunk, quality.MinContext)
	case *chunks < 0:
		return f.wrong("-chunks is %d; expected 0 or more", *chunks)
	}
	l, err := f.load(func(int) int { return *chunk })
	if err != nil {
		return err
	}
	defer closing(l, &err)
	if err := l.private(); err != nil {
		return err
	}
	m := &measured{loaded: l}
	if err := m.read(text, *chunk, *chunks); err != nil {
		return err
	}
	if err := m.open(*save, *against); err != nil {
		return err
	}
	defer m.close(&err)
	if err := m.run(); err != nil {
		return err
	}
	return m.print(e.out)
}

// read cuts a text into chunks of tokens.
func (m *measured) read(text string, chunk, most int) error {
	t, err := m.engine.Tokenizer()
	if err != nil {
		return err
	}
	bos := int32(-1)
	if t.AddsBOS() {
		bos = t.BOS()
	}
	m.text, err = quality.NewText(t.Encode(text, tokenizer.EncodeOptions{AddBOS: true}), chunk, most, bos)
	return err
}

// open opens the files of logits.
func (m *measured) open(save, against string) error {
	if save == "" && against == "" {
		return nil
	}
	key, err := m.engine.ModelKey()
	if err != nil {
		return err
	}
	b := m.engine.Bundle()
	made := fmt.Sprintf("%s with bundle %s (%s), %s cache, on %s", filepath.Base(m.flags.model), b.Name, m.flags.kindOf(b), m.flags.kv, m.engine.Device().Name())
	h := quality.NewHeader(key, made, b.Model.VocabSize, m.text)
	if against != "" {
		if m.base, err = quality.OpenBase(against, h); err != nil {
			return err
		}
	}
	if save != "" {
		if m.saved, err = quality.Save(save, h); err != nil {
			m.close(&err)
		}
	}
	return err
}

func (m *measured) close(err *error) {
	if m.saved != nil {
		m.saved.Abort()
	}
	if m.base != nil {
		closing(m.base, err)
	}
}

func (m *measured) run() error {
	ctx, stop := interruptible()
	defer stop()
	p := m.flags.progress("perplexity")
	defer p.clear()
	m.meter = quality.NewMeter(m.engine.Bundle().Model.VocabSize, m.saved, m.base)
	err := m.text.Run(ctx, m.model, m.Session, func(done, total int) {
		if m.meter.Count() > 0 {
			p.what = fmt.Sprintf("perplexity %.3f so far,", m.meter.Value())
		}
		p.count(done, total)
	}, m.meter.Add)
	if err == nil {
		err = m.meter.Flush()
	}
	if err != nil || m.saved == nil {
		return err
	}
	return m.saved.Commit()
}

// print prints the results.
func (m *measured) print(w io.Writer) error {
	low, high := m.meter.Interval()
	text := fmt.Sprintf("perplexity %.5f ± %.5f (95 %%: %.4f to %.4f), %d tokens of %d chunks of %d\n",
		m.meter.Value(), m.meter.Err(), low, high, m.meter.Count(), m.text.Chunks(), m.text.Context)
	if b := m.base; b != nil {
		text += fmt.Sprintf("base: perplexity %.5f ± %.5f, %s\n", b.Base.Value(), b.Base.Err(), b.Made)
		text += fmt.Sprintf("ratio to the base: %.6f ± %.6f\n", math.Exp(b.Ratio.Value()), math.Exp(b.Ratio.Value())*b.Ratio.Err())
		text += fmt.Sprintf("divergence from the base (KL, nats): mean %.3g ± %.2g, median %.3g, 99 %% %.3g, max %.3g\n",
			b.KL.Value(), b.KL.Err(), b.Quantile(0.5), b.Quantile(0.99), b.Quantile(1))
		text += fmt.Sprintf("same most likely token: %.3f %% ± %.3f %%\n", 100*b.Same.Value(), 100*b.Same.Err())
		text += histogram(b.Histogram())
	}
	_, err := io.WriteString(w, text)
	return err
}

// barWidth is the length of the longest bar of a histogram.
const barWidth = 50

// histogram draws one line per bin.
func histogram(bins []quality.Bin) string {
	most := 1
	for _, b := range bins {
		most = max(most, b.Count)
	}
	text := ""
	from := "0"
	for _, b := range bins {
		to := fmt.Sprintf("%.0e", b.Below)
		if math.IsInf(b.Below, 1) {
			to = "∞"
		}
		line := fmt.Sprintf("%6s to %-6s %8d %s", from, to, b.Count, strings.Repeat("#", (b.Count*barWidth+most-1)/most))
		text += strings.TrimRight(line, " ") + "\n"
		from = to
	}
	return text
}
