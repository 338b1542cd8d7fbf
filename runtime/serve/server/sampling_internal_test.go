package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"mla/runtime/text/sample"
)

// picking decodes, for each API, a request with some sampling fields, and returns the fields as the API reads
// them.
var picking = map[string]func(fields string) (*sampling, error){
	"/v1/chat/completions": func(fields string) (*sampling, error) {
		var q chatRequest
		return &q.sampling, decodeJSON([]byte("{"+fields+"}"), &q)
	},
	"/v1/completions": func(fields string) (*sampling, error) {
		var q textRequest
		return &q.sampling, decodeJSON([]byte("{"+fields+"}"), &q)
	},
	"/v1/responses": func(fields string) (*sampling, error) {
		var q responsesRequest
		return &q.sampling, decodeJSON([]byte("{"+fields+"}"), &q)
	},
	"/v1/messages": func(fields string) (*sampling, error) {
		var q messagesRequest
		return &q.sampling, decodeJSON([]byte("{"+fields+"}"), &q)
	},
	"/completion": func(fields string) (*sampling, error) {
		var q nativeRequest
		return &q.sampling, decodeJSON([]byte("{"+fields+"}"), &q)
	},
	"/infill": func(fields string) (*sampling, error) {
		var q infillRequest
		return &q.sampling, decodeJSON([]byte("{"+fields+"}"), &q)
	},
	"/api/chat": func(fields string) (*sampling, error) {
		var q ollamaChat
		if err := decodeJSON([]byte(`{"options":{`+fields+"}}"), &q); err != nil {
			return nil, err
		}
		o, err := q.options()
		if err != nil {
			return nil, err
		}
		c, err := q.chat(&o)
		if err != nil {
			return nil, err
		}
		return &c.sampling, nil
	},
}

// TestSamplingFields checks that every API has every field, by all of its names, and accepts whole numbers
// with a decimal point.
func TestSamplingFields(t *testing.T) {
	type params = sample.Params
	c := &Config{Sampling: sample.Off(), FixedSeed: true}
	c.Sampling.Temperature, c.Sampling.TopK, c.Sampling.Seed = 1, 40, 7
	for _, f := range []struct {
		fields string
		want   func(*params)
	}{
		{``, func(*params) {}},
		{`"top_k":-1`, func(p *params) { p.TopK = 0 }},
		{`"top_k":40.0,"repeat_last_n":-1.0,"seed":42.0`, func(p *params) { p.RepeatLastN, p.Seed = -1, 42 }},
		{`"repetition_penalty":1.5`, func(p *params) { p.RepeatPenalty = 1.5 }},
		{`"repeat_penalty":1.25,"repetition_penalty":1.5`, func(p *params) { p.RepeatPenalty = 1.25 }},
		{`"typical_p":0.5`, func(p *params) { p.TypicalP = 0.5 }},
		{`"typ_p":0.5,"tfs_z":0.9,"num_keep":4,"n_keep":4,"n_discard":1,"penalize_newline":true`, func(p *params) { p.TypicalP = 0.5 }},
		{`"top_n_sigma":1.5`, func(p *params) { p.TopNSigma = 1.5 }},
		{`"xtc_probability":0.5,"xtc_threshold":0.25`, func(p *params) { p.XTCProbability, p.XTCThreshold = 0.5, 0.25 }},
		{`"dynatemp_range":0.5,"dynatemp_exponent":2`, func(p *params) { p.DynatempRange, p.DynatempExponent = 0.5, 2 }},
		{`"dry_multiplier":0.5,"dry_base":2,"dry_allowed_length":3,"dry_penalty_last_n":100,"dry_sequence_breakers":["a","b"]`, func(p *params) {
			p.DRYMultiplier, p.DRYBase, p.DRYAllowedLength, p.DRYLastN, p.DRYBreakers = 0.5, 2, 3, 100, []string{"a", "b"}
		}},
		{`"mirostat":2,"mirostat_tau":4,"mirostat_eta":0.5`, func(p *params) { p.Mirostat, p.MirostatTau, p.MirostatEta = 2, 4, 0.5 }},
		{`"min_p":0.25,"min_keep":3,"min_tokens":5.0`, func(p *params) { p.MinP, p.MinKeep, p.MinTokens = 0.25, 3, 5 }},
		{`"samplers":["top_p","typical_p","infill"]`, func(p *params) { p.Order = []sample.Step{sample.StepTopP, sample.StepTypicalP} }},
		{`"samplers":"kt"`, func(p *params) { p.Order = []sample.Step{sample.StepTopK, sample.StepTemperature} }},
		{`"samplers":"top_k;temperature"`, func(p *params) { p.Order = []sample.Step{sample.StepTopK, sample.StepTemperature} }},
		{`"sampler_seq":"tk"`, func(p *params) { p.Order = []sample.Step{sample.StepTemperature, sample.StepTopK} }},
		{`"samplers":[]`, func(p *params) { p.Order = []sample.Step{} }},
		{`"samplers":null,"seed":null,"mirostat":null`, func(*params) {}},
		{`"seed":0`, func(p *params) { p.Seed = 0 }},
		{`"seed":-2`, func(p *params) { p.Seed = math.MaxUint64 - 1 }},
		{`"seed":18446744073709551614`, func(p *params) { p.Seed = math.MaxUint64 - 1 }},
		{`"seed":1e3`, func(p *params) { p.Seed = 1000 }},
	} {
		for api, read := range picking {
			fields, err := read(f.fields)
			if err != nil {
				t.Errorf("%s %s: %v", api, f.fields, err)
				continue
			}
			got, err := fields.params(c, nil)
			want := c.Sampling
			f.want(&want)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s %s: %v, %+v; expected %+v", api, f.fields, err, got, want)
			}
			if _, err := sample.New(got); err != nil && got.DRYMultiplier == 0 {
				t.Errorf("%s %s: %v", api, f.fields, err)
			}
		}
	}
	for _, again := range []string{`"seed":-1`, `"seed":4294967295`, `"seed":18446744073709551615`} {
		if fields, err := picking["/completion"](again); err != nil || !fields.Seed.random {
			t.Errorf("%s: %+v, %v", again, fields, err)
		}
	}
}

// TestSamplingRanges checks that a value out of range is an error in every API, with the name of the field,
// the value and the range.
func TestSamplingRanges(t *testing.T) {
	c := &Config{Sampling: sample.Off()}
	var f sampling
	cases := []struct{ field, value, says string }{
		{"seed", "1.5", "whole number"}, {"seed", "1e30", "whole number"}, {"seed", `"x"`, "whole number"},
		{"samplers", `["mystery"]`, "mystery"}, {"samplers", `"kz"`, "'z'"}, {"samplers", "5", "list of names"}, {"sampler_seq", `[1]`, "list of names"},
		{"samplers", `"` + strings.Repeat("k", 65) + `"`, "64"},
		{"samplers", `["` + strings.Repeat("k", 5000) + `"]`, "4096"},
		{"dry_sequence_breakers", `[]`, "1 to 64"}, {"dry_sequence_breakers", `["` + strings.Repeat(`","`, 64) + `"]`, "1 to 64"},
		{"dry_sequence_breakers", `["` + strings.Repeat(`x`, 2000) + `"]`, "1024"},
	}
	for _, n := range f.numbers(&sample.Params{}) {
		cases = append(cases, struct{ field, value, says string }{n.name, fmt.Sprint(n.least - 1), fmt.Sprint(n.most)},
			struct{ field, value, says string }{n.name, fmt.Sprint(n.most + 1), fmt.Sprint(n.most)},
			struct{ field, value, says string }{n.name, "1e400", "1e400"}, struct{ field, value, says string }{n.name, `"NaN"`, "a number"})
	}
	for _, n := range f.wholes(&sample.Params{}) {
		cases = append(cases, struct{ field, value, says string }{n.name, fmt.Sprint(n.least - 1), fmt.Sprint(n.most)},
			struct{ field, value, says string }{n.name, fmt.Sprint(n.most + 1), fmt.Sprint(n.most)},
			struct{ field, value, says string }{n.name, "1.5", "whole number"})
	}
	if len(cases) < 80 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, k := range cases {
		for api, read := range picking {
			fields, err := read(fmt.Sprintf("%q:%s", k.field, k.value))
			if err == nil {
				_, err = fields.params(c, nil)
			}
			var known *apiError
			if !errors.As(err, &known) || known.Status != 400 || known.Param != k.field || !strings.Contains(known.Message, k.says) {
				text, _ := json.Marshal(known)
				t.Errorf("%s %s: %.60s: %v %s; expected 400 that says %q", api, k.field, k.value, err, text, k.says)
			}
		}
	}
}
