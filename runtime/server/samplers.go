package server

import (
	"encoding/json"
	"slices"
	"strings"

	"mla/runtime/sample"
)

// sampler is a step of how tokens are picked. They come in the order of the table.
type sampler struct {
	names  []string // llama-server's
	letter string   // in its short form
	off    func(*sample.Params)
}

var samplers = []sampler{
	{[]string{"penalties"}, "e", func(p *sample.Params) { p.RepeatPenalty, p.PresencePenalty, p.FrequencyPenalty = 1, 0, 0 }},
	{[]string{"top_k"}, "k", func(p *sample.Params) { p.TopK = 0 }},
	{[]string{"top_p"}, "p", func(p *sample.Params) { p.TopP = 1 }},
	{[]string{"min_p"}, "m", func(p *sample.Params) { p.MinP = 0 }},
	{[]string{"temperature"}, "t", func(p *sample.Params) {
		if p.Temperature > 0 { // 0 picks the likeliest, whatever the samplers are
			p.Temperature = 1
		}
	}},
}

// idle are samplers of llama-server that do nothing unless their own fields say so.
var idle = map[string]string{"dry": "d", "top_n_sigma": "s", "typ_p": "y", "typical_p": "y", "xtc": "x", "infill": "i", "adaptive_p": "a"}

// readSamplers switches off the steps that a request does not list, and returns those that
// are on. Of no list all are.
func readSamplers(list raw, p *sample.Params) (on []string, err error) {
	if isNull(list) {
		for _, s := range samplers {
			on = append(on, s.names[0])
		}
		return on, nil
	}
	names, err := samplerNames(list)
	if err != nil {
		return nil, err
	}
	on = []string{}
	last := -1
	for _, name := range names {
		at := slices.IndexFunc(samplers, func(s sampler) bool { return slices.Contains(s.names, name) || s.letter == name })
		switch {
		case at < 0 && isIdle(name):
			continue
		case at < 0:
			return nil, bad("samplers", "%q is not known", clip(name, 50))
		case at <= last:
			return nil, bad("samplers", "%q behind %q is not supported: the order is penalties, top_k, top_p, min_p, temperature", clip(name, 50), samplers[last].names[0])
		}
		last = at
		on = append(on, samplers[at].names[0])
	}
	for _, s := range samplers {
		if !slices.Contains(on, s.names[0]) {
			s.off(p)
		}
	}
	return on, nil
}

// samplerNames reads a list of names, or a text of letters.
func samplerNames(list raw) (names []string, err error) {
	if list[0] == '"' {
		var letters string
		if err := json.Unmarshal(list, &letters); err != nil {
			return nil, err
		}
		return strings.Split(letters, ""), nil
	}
	if json.Unmarshal(list, &names) != nil {
		return nil, bad("samplers", "expected a list of names, or a text of letters")
	}
	return names, nil
}

func isIdle(name string) bool {
	for long, letter := range idle {
		if name == long || name == letter {
			return true
		}
	}
	return false
}
