package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// sampling is the fields of a request that control how tokens are picked and what ends the answer. The names
// are llama-server's, with vLLM's where they differ.
type sampling struct {
	Temperature       *float64  `json:"temperature"`
	TopP              *float64  `json:"top_p"`
	TopK              *int      `json:"top_k"`
	MinP              *float64  `json:"min_p"`
	TypicalP          *float64  `json:"typical_p"`
	TypP              *float64  `json:"typ_p"` // its name in the list of samplers
	TopNSigma         *float64  `json:"top_n_sigma"`
	XTCProbability    *float64  `json:"xtc_probability"`
	XTCThreshold      *float64  `json:"xtc_threshold"`
	DynatempRange     *float64  `json:"dynatemp_range"`
	DynatempExponent  *float64  `json:"dynatemp_exponent"`
	RepeatPenalty     *float64  `json:"repeat_penalty"`
	RepetitionPenalty *float64  `json:"repetition_penalty"` // vLLM's name
	PresencePenalty   *float64  `json:"presence_penalty"`
	FrequencyPenalty  *float64  `json:"frequency_penalty"`
	RepeatLastN       *int      `json:"repeat_last_n"`
	DRYMultiplier     *float64  `json:"dry_multiplier"`
	DRYBase           *float64  `json:"dry_base"`
	DRYAllowedLength  *int      `json:"dry_allowed_length"`
	DRYLastN          *int      `json:"dry_penalty_last_n"`
	DRYBreakers       *texts    `json:"dry_sequence_breakers"`
	Mirostat          *int      `json:"mirostat"`
	MirostatTau       *float64  `json:"mirostat_tau"`
	MirostatEta       *float64  `json:"mirostat_eta"`
	MinKeep           *int      `json:"min_keep"`
	Samplers          raw       `json:"samplers"`
	SamplerSeq        raw       `json:"sampler_seq"`
	Seed              seed      `json:"seed"`
	LogitBias         logitBias `json:"logit_bias"`
	IgnoreEOS         bool      `json:"ignore_eos"`
	MinTokens         *int      `json:"min_tokens"`     // vLLM's name
	StopTokenIDs      []int32   `json:"stop_token_ids"` // vLLM's name
	CacheSalt         *string   `json:"cache_salt"`     // vLLM's name
}

// number is a field that sets a float32 parameter.
type number struct {
	name        string
	value       *float64
	least, most float64
	at          *float32
}

// numbers lists these fields. If a parameter is given by two names, the later one counts.
func (f *sampling) numbers(p *sample.Params) []number {
	return []number{
		{"temperature", f.Temperature, 0, 100, &p.Temperature},
		{"top_p", f.TopP, 0, 1, &p.TopP},
		{"min_p", f.MinP, 0, 1, &p.MinP},
		{"typ_p", f.TypP, 0, 1, &p.TypicalP},
		{"typical_p", f.TypicalP, 0, 1, &p.TypicalP},
		{"top_n_sigma", f.TopNSigma, -1, 100, &p.TopNSigma},
		{"xtc_probability", f.XTCProbability, 0, 1, &p.XTCProbability},
		{"xtc_threshold", f.XTCThreshold, 0, 1, &p.XTCThreshold},
		{"dynatemp_range", f.DynatempRange, 0, 100, &p.DynatempRange},
		{"dynatemp_exponent", f.DynatempExponent, 0, 100, &p.DynatempExponent},
		{"repetition_penalty", f.RepetitionPenalty, 0.01, 100, &p.RepeatPenalty},
		{"repeat_penalty", f.RepeatPenalty, 0.01, 100, &p.RepeatPenalty},
		{"presence_penalty", f.PresencePenalty, -100, 100, &p.PresencePenalty},
		{"frequency_penalty", f.FrequencyPenalty, -100, 100, &p.FrequencyPenalty},
		{"dry_multiplier", f.DRYMultiplier, 0, 100, &p.DRYMultiplier},
		{"dry_base", f.DRYBase, 1, 100, &p.DRYBase},
		{"mirostat_tau", f.MirostatTau, 0, 100, &p.MirostatTau},
		{"mirostat_eta", f.MirostatEta, 0, 100, &p.MirostatEta},
	}
}

// whole is a field that sets an int parameter.
type whole struct {
	name        string
	value       *int
	least, most int
	at          *int
}

func (f *sampling) wholes(p *sample.Params) []whole {
	return []whole{
		{"top_k", f.TopK, -1, math.MaxInt32, &p.TopK},
		{"repeat_last_n", f.RepeatLastN, -1, maxLastN, &p.RepeatLastN},
		{"dry_allowed_length", f.DRYAllowedLength, 0, maxLastN, &p.DRYAllowedLength},
		{"dry_penalty_last_n", f.DRYLastN, -1, maxLastN, &p.DRYLastN},
		{"mirostat", f.Mirostat, 0, 2, &p.Mirostat},
		{"min_keep", f.MinKeep, 0, math.MaxInt32, &p.MinKeep},
		{"min_tokens", f.MinTokens, 0, math.MaxInt32, &p.MinTokens},
	}
}

// put checks the fields, and sets a job's parameters from them and the server's defaults.
func (f *sampling) put(s *Server, j *job) (err error) {
	if j.Params, err = f.params(&s.cfg, s.tok); err != nil {
		return err
	}
	if len(f.StopTokenIDs) > maxEnds {
		return bad("stop_token_ids", "more than %d", maxEnds)
	}
	for i, id := range f.StopTokenIDs {
		if id < 0 || int(id) >= s.tok.VocabSize() {
			return bad("stop_token_ids", "token %d is %d; expected 0 to %d", i, id, s.tok.VocabSize()-1)
		}
	}
	j.stopIDs, j.ignoreEOS = f.StopTokenIDs, f.IgnoreEOS
	return nil
}

// params is the parameters of the request, with the server's defaults.
func (f *sampling) params(c *Config, tok *tokenizer.Tokenizer) (sample.Params, error) {
	p := c.Sampling
	for _, n := range f.numbers(&p) {
		if n.value == nil {
			continue
		}
		if *n.value < n.least || *n.value > n.most {
			return p, bad(n.name, "%v is not between %v and %v", *n.value, n.least, n.most)
		}
		*n.at = float32(*n.value)
	}
	for _, n := range f.wholes(&p) {
		if n.value == nil {
			continue
		}
		if *n.value < n.least || *n.value > n.most {
			return p, bad(n.name, "%d is not between %d and %d", *n.value, n.least, n.most)
		}
		*n.at = *n.value
	}
	settleParams(&p)
	switch {
	case f.Seed.given && !f.Seed.random:
		p.Seed = f.Seed.value
	case !c.FixedSeed || f.Seed.given:
		p.Seed = rand.Uint64()
	}
	if err := f.steps(&p); err != nil {
		return p, err
	}
	return p, f.LogitBias.put(&p, tok)
}

// settleParams replaces values that samplers do not support by equivalent ones.
func settleParams(p *sample.Params) {
	const coldest = 1e-3 // below this, picking is practically greedy
	if p.Temperature < coldest {
		p.Temperature = 0
	}
	if p.TopP == 0 {
		p.TopP, p.TopK = 1, 1
	}
	if p.TypicalP == 0 { // picks a single token
		p.TypicalP = math.SmallestNonzeroFloat32
	}
	p.TopK = max(p.TopK, 0) // -1 is vLLM's value for off
}

// steps reads the sequence breakers of DRY and the order of samplers.
func (f *sampling) steps(p *sample.Params) (err error) {
	if f.DRYBreakers != nil {
		if n := len(*f.DRYBreakers); n < 1 || n > sample.MaxDRYBreakers {
			return bad("dry_sequence_breakers", "%d texts; expected 1 to %d", n, sample.MaxDRYBreakers)
		}
		for _, text := range *f.DRYBreakers {
			if len(text) > maxStop {
				return bad("dry_sequence_breakers", "a text has %d bytes; expected at most %d", len(text), maxStop)
			}
		}
		p.DRYBreakers = *f.DRYBreakers
	}
	for _, list := range []struct {
		param string
		text  raw
	}{{"sampler_seq", f.SamplerSeq}, {"samplers", f.Samplers}} {
		if isNull(list.text) {
			continue
		}
		if p.Order, err = readSamplers(list.text); err != nil {
			return bad(list.param, "%v", err)
		}
	}
	return nil
}

// seed is a 64-bit seed, signed or unsigned. As in llama-server, -1 and 4294967295 mean a different one every
// time.
type seed struct {
	given, random bool
	value         uint64
}

// randomSeed is llama-server's value for a different seed every time.
const randomSeed = math.MaxUint32

// UnmarshalJSON implements json.Unmarshaler.
func (s *seed) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		return nil
	}
	*s = seed{given: true}
	signed, err := strconv.ParseInt(text, 10, 64)
	if s.value = uint64(signed); err != nil {
		s.value, err = strconv.ParseUint(text, 10, 64)
	}
	if err != nil { // languages without integers send 42.0
		x, wrong := strconv.ParseFloat(text, 64)
		if wrong != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return bad("seed", "%s; expected a whole number of 64 bits", clip(text, 50))
		}
		s.value = uint64(int64(x))
	}
	s.random = int64(s.value) == -1 || s.value == randomSeed
	return nil
}

// endings sets the tokens that end a job's answers: the model's, unless ignore_eos is set, and those of the
// request. None is possible before min_tokens.
func (s *Server) endings(j *job) error {
	own := j.Stop
	if j.ignoreEOS {
		never := map[int32]float32{}
		for id, bias := range j.Params.LogitBias {
			never[id] = bias
		}
		for _, id := range sample.EndsOf(s.tok.VocabSize(), own) {
			if !slices.Contains(j.stopIDs, id) {
				never[id] = float32(math.Inf(-1))
			}
		}
		j.Params.LogitBias = never
		if banned(&j.Params) == s.tok.VocabSize() {
			return bad("ignore_eos", "no token is left that may come")
		}
	}
	if len(j.stopIDs) > 0 {
		ids := map[int32]bool{}
		for _, id := range j.stopIDs {
			ids[id] = true
		}
		j.Stop = func(id int32) bool { return ids[id] || own(id) }
	}
	if n := j.Params.MinTokens; n > 0 {
		if j.Max >= 0 && n > j.Max {
			return bad("min_tokens", "%d; expected at most as many as the answer may have, %d", n, j.Max)
		}
		j.Params.Ends = sample.EndsOf(s.tok.VocabSize(), j.Stop)
	}
	return nil
}

// settingsOf is parameters in llama-server's format.
func settingsOf(p *sample.Params) map[string]any {
	order := p.Order
	if order == nil {
		order = sample.DefaultOrder()
	}
	return map[string]any{
		"seed": p.Seed, "temperature": p.Temperature, "dynatemp_range": p.DynatempRange, "dynatemp_exponent": p.DynatempExponent,
		"top_k": p.TopK, "top_p": p.TopP, "min_p": p.MinP, "top_n_sigma": p.TopNSigma, "typical_p": p.TypicalP,
		"xtc_probability": p.XTCProbability, "xtc_threshold": p.XTCThreshold,
		"repeat_last_n": p.RepeatLastN, "repeat_penalty": p.RepeatPenalty, "presence_penalty": p.PresencePenalty, "frequency_penalty": p.FrequencyPenalty,
		"dry_multiplier": p.DRYMultiplier, "dry_base": p.DRYBase, "dry_allowed_length": p.DRYAllowedLength, "dry_penalty_last_n": p.DRYLastN,
		"dry_sequence_breakers": append([]string{}, p.DRYBreakers...),
		"mirostat":              p.Mirostat, "mirostat_tau": p.MirostatTau, "mirostat_eta": p.MirostatEta,
		"min_keep": p.MinKeep, "min_tokens": p.MinTokens, "samplers": sample.StepNames(order),
	}
}

// maxSamplers is the longest order of samplers, in bytes.
const maxSamplers = 4096

// readSamplers reads an order of samplers: a list of names, a text of letters, or names separated by
// semicolons as in llama.cpp's flag.
func readSamplers(list raw) ([]sample.Step, error) {
	if len(list) > maxSamplers {
		return nil, fmt.Errorf("%d bytes; expected at most %d", len(list), maxSamplers)
	}
	var text string
	if json.Unmarshal(list, &text) == nil {
		return sample.ParseSequence(text)
	}
	var names []string
	if json.Unmarshal(list, &names) != nil {
		return nil, errors.New("expected a list of names, or a text of letters")
	}
	return sample.ParseOrder(names)
}
