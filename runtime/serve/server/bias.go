package server

import (
	"encoding/json"
	"maps"
	"math"
	"strconv"

	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// logitBias is the biases of a request: OpenAI's object, or a list of pairs as in llama-server.
type logitBias []biased

// biased is one entry of it.
type biased struct {
	token string // an id, or a text whose tokens all get the bias
	text  bool   // it is a text, even if it looks like a number
	bias  float64
}

// never is the bias of a forbidden token.
var never = math.Inf(-1)

// UnmarshalJSON implements json.Unmarshaler.
func (b *logitBias) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		return nil
	case '{':
		var by map[string]raw
		if err := json.Unmarshal(data, &by); err != nil {
			return err
		}
		if len(by) > maxBiases {
			return bad("logit_bias", "more than %d tokens", maxBiases)
		}
		for token, value := range by {
			if err := b.add(token, false, value); err != nil {
				return err
			}
		}
		return nil
	}
	var pairs [][]raw
	if data[0] != '[' || json.Unmarshal(data, &pairs) != nil {
		return badBias
	}
	if len(pairs) > maxBiases {
		return bad("logit_bias", "more than %d tokens", maxBiases)
	}
	for _, pair := range pairs {
		var text string
		switch {
		case len(pair) != 2 || pair[0][0] != '"' && !isNumber(string(pair[0])):
			return badBias
		case pair[0][0] != '"':
			text = string(pair[0])
		case json.Unmarshal(pair[0], &text) != nil:
			return badBias
		}
		if err := b.add(text, pair[0][0] == '"', pair[1]); err != nil {
			return err
		}
	}
	return nil
}

var badBias = bad("logit_bias", "expected an object {token: bias}, or a list of [token, bias]; a bias is a number from -100 to 100, or false")

func (b *logitBias) add(token string, text bool, value raw) error {
	entry := biased{token: token, text: text, bias: never}
	if string(value) != "false" {
		if json.Unmarshal(value, &entry.bias) != nil || isNull(value) {
			return badBias
		}
		if entry.bias < -100 || entry.bias > 100 {
			return bad("logit_bias", "%v is not between -100 and 100", entry.bias)
		}
		if entry.bias == -100 { // as in OpenAI's API
			entry.bias = never
		}
	}
	*b = append(*b, entry)
	return nil
}

// ids returns the tokens of an entry.
func (b *biased) ids(tok *tokenizer.Tokenizer) ([]int32, error) {
	if id, err := strconv.ParseInt(b.token, 10, 32); err == nil && !b.text {
		if id < 0 || int(id) >= tok.VocabSize() {
			return nil, bad("logit_bias", "%d is no token of the vocabulary of %d", id, tok.VocabSize())
		}
		return []int32{int32(id)}, nil
	}
	if len(b.token) > maxStop {
		return nil, bad("logit_bias", "a text has %d bytes; expected at most %d", len(b.token), maxStop)
	}
	return tok.Encode(b.token, tokenizer.EncodeOptions{ParseSpecial: true}), nil
}

// put adds the biases to parameters.
func (b logitBias) put(p *sample.Params, tok *tokenizer.Tokenizer) error {
	if len(b) == 0 {
		return nil
	}
	p.LogitBias = maps.Clone(p.LogitBias) // not to change the map of the defaults
	if p.LogitBias == nil {
		p.LogitBias = map[int32]float32{}
	}
	for _, entry := range b {
		ids, err := entry.ids(tok)
		if err != nil {
			return err
		}
		for _, id := range ids {
			p.LogitBias[id] = float32(entry.bias)
		}
	}
	if banned(p) == tok.VocabSize() {
		return bad("logit_bias", "no token is left that may come")
	}
	return nil
}

// banned is the number of forbidden tokens.
func banned(p *sample.Params) (n int) {
	for _, bias := range p.LogitBias {
		if math.IsInf(float64(bias), -1) {
			n++
		}
	}
	return n
}
