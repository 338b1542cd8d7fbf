package main

import (
	"strings"

	"mla/runtime/text/sample"
)

// stepFlags adds the flags of sampling steps that only the host does, with llama.cpp's names.
func (s *sampling) stepFlags() {
	f, p, off := s.flags, &s.params, sample.Off()
	f.Var(number(&p.TypicalP, off.TypicalP), "typical", "sample among the tokens of this `probability` together whose surprise is nearest to its mean; 1: off")
	f.Var(number(&p.TopNSigma, off.TopNSigma), "top-nsigma", "drop logits that are more standard `deviations` than this below the best one; -1: off")
	f.Var(number(&p.XTCProbability, 0), "xtc-probability", "how often, a `probability`, the likeliest tokens are dropped; 0: never")
	f.Var(number(&p.XTCThreshold, off.XTCThreshold), "xtc-threshold", "`probability` from which on tokens are dropped with -xtc-probability; the least likely of them stays")
	f.Var(number(&p.DynatempRange, 0), "dynatemp-range", "the temperature goes up and down by this `number`, with the entropy; 0: off")
	f.Var(number(&p.DynatempExponent, off.DynatempExponent), "dynatemp-exp", "`exponent` of the entropy, with -dynatemp-range")
	f.Var(number(&p.DRYMultiplier, 0), "dry-multiplier", "`number` that is subtracted from logits that would go on with a repetition; 0: off")
	f.Var(number(&p.DRYBase, off.DRYBase), "dry-base", "`factor` on -dry-multiplier for each further token of the repetition")
	f.IntVar(&p.DRYAllowedLength, "dry-allowed-length", off.DRYAllowedLength, "how many `tokens` may be repeated freely")
	f.IntVar(&p.DRYLastN, "dry-penalty-last-n", off.DRYLastN, "how many `tokens` are looked at for repetitions; -1: all, 0: off")
	f.Var(&breakersFlag{texts: &p.DRYBreakers}, "dry-sequence-breaker", "`text` at which repetitions end; the first one takes the place of all defaults; none: there are none; may be given several times")
	f.IntVar(&p.Mirostat, "mirostat", 0, "`version` of mirostat, 1 or 2, which picks in place of all but the temperature; 0: off")
	f.Var(number(&p.MirostatEta, off.MirostatEta), "mirostat-lr", "learning `rate` of -mirostat")
	f.Var(number(&p.MirostatTau, off.MirostatTau), "mirostat-ent", "`bits` of surprise that -mirostat aims at")
	f.Var(&orderFlag{&p.Order, parseNames, joinNames}, "samplers", "`names` of the samplers in their order, separated by semicolons; those left out are off")
	f.Var(&orderFlag{&p.Order, sample.ParseLetters, sample.Letters}, "sampler-seq", "-samplers by their `letters`")
}

// parseNames parses names between semicolons.
func parseNames(text string) ([]sample.Step, error) {
	return sample.ParseOrder(strings.FieldsFunc(text, func(r rune) bool { return r == ';' }))
}

func joinNames(order []sample.Step) string { return strings.Join(sample.StepNames(order), ";") }

// orderFlag is the flag of the order of samplers.
type orderFlag struct {
	order  *[]sample.Step
	parse  func(text string) ([]sample.Step, error)
	format func(order []sample.Step) string
}

func (v *orderFlag) String() string {
	switch {
	case v.order == nil: // package flag calls String on the zero value
		return ""
	case *v.order == nil:
		return v.format(sample.DefaultOrder())
	}
	return v.format(*v.order)
}

func (v *orderFlag) Set(text string) (err error) {
	order, err := v.parse(text)
	if err == nil {
		*v.order = order
	}
	return err
}

// breakersFlag is a flag that may be given several times, a text each time. The first text
// replaces the default list; each further text is added to it.
type breakersFlag struct {
	texts *[]string
	given bool
}

func (v *breakersFlag) String() string { return "" }

// values implements repeated.
func (v *breakersFlag) values() []string {
	if len(*v.texts) == 0 {
		return []string{"none"}
	}
	return *v.texts
}

func (v *breakersFlag) Set(text string) error {
	if !v.given || text == "none" {
		*v.texts = nil
	}
	if v.given = true; text != "none" {
		*v.texts = append(*v.texts, text)
	}
	return nil
}
