package server

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"mla/runtime/sample"
	"mla/runtime/tokenizer"
)

// Limits on what one request may ask for.
const (
	maxChoices = 16
	maxStops   = 32
	maxStop    = 1024 // bytes
	maxTop     = 20   // likeliest tokens
	maxBiases  = 4096
	maxLastN   = 1 << 16
)

// sampling are the fields of a request that say how tokens are picked.
type sampling struct {
	Temperature      *float64  `json:"temperature"`
	TopP             *float64  `json:"top_p"`
	TopK             *int      `json:"top_k"`
	MinP             *float64  `json:"min_p"`
	RepeatPenalty    *float64  `json:"repeat_penalty"`
	PresencePenalty  *float64  `json:"presence_penalty"`
	FrequencyPenalty *float64  `json:"frequency_penalty"`
	RepeatLastN      *int      `json:"repeat_last_n"`
	Seed             *int64    `json:"seed"`
	LogitBias        logitBias `json:"logit_bias"`
	CacheSalt        *string   `json:"cache_salt"` // vLLM's name
}

// number is a field that goes into a float32 of the parameters.
type number struct {
	name        string
	value       *float64
	least, most float64
	at          *float32
}

// params checks the fields, and completes them by the defaults.
func (f *sampling) params(d sample.Params, tok *tokenizer.Tokenizer) (sample.Params, error) {
	p := d
	for _, n := range []number{
		{"temperature", f.Temperature, 0, 100, &p.Temperature},
		{"top_p", f.TopP, 0, 1, &p.TopP},
		{"min_p", f.MinP, 0, 1, &p.MinP},
		{"repeat_penalty", f.RepeatPenalty, 0.01, 100, &p.RepeatPenalty},
		{"presence_penalty", f.PresencePenalty, -100, 100, &p.PresencePenalty},
		{"frequency_penalty", f.FrequencyPenalty, -100, 100, &p.FrequencyPenalty},
	} {
		if n.value == nil {
			continue
		}
		if *n.value < n.least || *n.value > n.most {
			return p, bad(n.name, "%v is not between %v and %v", *n.value, n.least, n.most)
		}
		*n.at = float32(*n.value)
	}
	const coldest = 1e-3 // below, the likeliest token is as good as certain
	if p.Temperature < coldest {
		p.Temperature = 0
	}
	if p.TopP == 0 {
		p.TopP, p.TopK = 1, 1
	}
	for _, n := range []struct {
		name        string
		value       *int
		least, most int
		at          *int
	}{{"top_k", f.TopK, -1, math.MaxInt32, &p.TopK}, {"repeat_last_n", f.RepeatLastN, -1, maxLastN, &p.RepeatLastN}} {
		if n.value == nil {
			continue
		}
		if *n.value < n.least || *n.value > n.most {
			return p, bad(n.name, "%d is not between %d and %d", *n.value, n.least, n.most)
		}
		*n.at = *n.value
	}
	p.TopK = max(p.TopK, 0) // -1 is vLLM's word for off
	switch {
	case f.Seed != nil && *f.Seed != -1:
		p.Seed = uint64(*f.Seed)
	case d.Seed == 0 || f.Seed != nil:
		p.Seed = rand.Uint64()
	}
	return p, f.LogitBias.put(&p, tok)
}

// texts is a string or a list of strings. Empty ones say nothing.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*t = texts{""}
		if err := json.Unmarshal(data, &(*t)[0]); err != nil {
			return err
		}
	} else if err := json.Unmarshal(data, (*[]string)(t)); err != nil {
		return err
	}
	*t = slices.DeleteFunc(*t, func(text string) bool { return text == "" })
	return nil
}

// check looks at texts that end an answer.
func (t texts) check(param string) error {
	if len(t) > maxStops {
		return bad(param, "more than %d texts", maxStops)
	}
	for _, text := range t {
		if len(text) > maxStop || strings.ContainsRune(text, 0) {
			return bad(param, "a text has %d bytes; expected at most %d, without NUL", len(text), maxStop)
		}
	}
	return nil
}

// isFalse says whether a request has given a field, and false.
func isFalse(field *bool) bool { return field != nil && !*field }

// most is how many tokens an answer may have: what the request says, or as many as fit.
func most(param string, n *int) (int, error) {
	switch {
	case n == nil || *n == -1:
		return -1, nil
	case *n < 0:
		return 0, bad(param, "%d; expected 0 or more", *n)
	}
	return *n, nil
}

// choices checks how many answers a request wants.
func choices(n *int) (int, error) {
	if n == nil {
		return 1, nil
	}
	if *n < 1 || *n > maxChoices {
		return 0, bad("n", "%d; expected 1 to %d", *n, maxChoices)
	}
	return *n, nil
}
