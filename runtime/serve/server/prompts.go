package server

import (
	"encoding/json"
	"slices"
	"strconv"

	"mla/runtime/text/tokenizer"
)

// prompts is what a request wants continued: one prompt or a list of them.
type prompts []prompt

// prompt is a sequence of texts and tokens.
type prompt []promptPart

type promptPart struct {
	text   string
	tokens []int32 // nil: it is a text
}

// maxParts is the most elements of a list that is not tokens only.
const maxParts = 1 << 16

// UnmarshalJSON implements json.Unmarshaler. A list is one prompt if it has tokens.
func (p *prompts) UnmarshalJSON(data []byte) error {
	one, err := readPrompt(data)
	if err == nil && one != nil {
		*p = prompts{one}
		return nil
	}
	if err != nil || data[0] != '[' {
		return err
	}
	list, err := elements(data, maxParts)
	if err != nil {
		return bad("prompt", "%v", err)
	}
	for _, text := range list {
		one, err := readPrompt(text)
		if err != nil || one == nil {
			return badPrompt
		}
		*p = append(*p, one)
	}
	return nil
}

var badPrompt = bad("prompt", "expected a text, a list of tokens, or a list of these")

// readPrompt parses a JSON value as a prompt; nil: it is a list of prompts.
func readPrompt(data []byte) (prompt, error) {
	switch data[0] {
	case 'n':
		return prompt{}, nil
	case '"':
		var text string
		err := json.Unmarshal(data, &text)
		return prompt{{text: text}}, err
	case '{': // llama-server's format, in which the other field has pictures
		var q struct {
			Text *string `json:"prompt_string"`
		}
		if json.Unmarshal(data, &q) != nil || q.Text == nil {
			return nil, badPrompt
		}
		return prompt{{text: *q.Text}}, nil
	case '[':
	default:
		return nil, badPrompt
	}
	var tokens tokenList
	if json.Unmarshal(data, &tokens) == nil {
		if len(tokens) == 0 {
			return nil, nil
		}
		return prompt{{tokens: tokens}}, nil
	}
	list, err := elements(data, maxParts)
	if err != nil {
		return nil, bad("prompt", "%v", err)
	}
	isToken := func(text []byte) bool { return text[0] == '-' || '0' <= text[0] && text[0] <= '9' }
	if !slices.ContainsFunc(list, isToken) {
		return nil, nil
	}
	var out prompt
	for _, text := range list {
		if id, err := strconv.ParseInt(string(text), 10, 32); err == nil && isToken(text) {
			out = append(out, promptPart{tokens: []int32{int32(id)}})
			continue
		}
		part := promptPart{}
		if text[0] != '"' || json.Unmarshal(text, &part.text) != nil {
			return nil, badPrompt
		}
		out = append(out, part)
	}
	return out, nil
}

// mixed is a field with one text, or with a list of texts and tokens.
type mixed struct{ prompt }

// UnmarshalJSON implements json.Unmarshaler.
func (m *mixed) UnmarshalJSON(data []byte) (err error) {
	var texts []string // without tokens
	if m.prompt, err = readPrompt(data); err != nil || m.prompt == nil && json.Unmarshal(data, &texts) != nil {
		return bad("content", "expected a text, or a list of texts and tokens")
	}
	for _, text := range texts {
		m.prompt = append(m.prompt, promptPart{text: text})
	}
	return nil
}

// wholePrompt is how texts of prompts are tokenised.
var wholePrompt = tokenizer.EncodeOptions{AddBOS: true, ParseSpecial: true}

// encode tokenises a prompt. The BOS token comes before its first part only.
func (p prompt) encode(s *Server, o tokenizer.EncodeOptions) (ids []int32, err error) {
	for i, part := range p {
		list := part.tokens
		if list == nil {
			o.AddBOS = o.AddBOS && i == 0
			if list, err = s.tokens(part.text, o); err != nil {
				return nil, err
			}
		}
		if len(p) == 1 {
			return list, nil
		}
		ids = append(ids, list...)
	}
	return ids, nil
}

// encode tokenises all prompts, each for n answers.
func (p prompts) encode(s *Server, n int) (list [][]int32, err error) {
	if len(p)*n > maxChoices {
		return nil, bad("prompt", "%d prompts with %d answers each; expected %d answers at most", len(p), n, maxChoices)
	}
	for _, one := range p {
		ids, err := one.encode(s, wholePrompt)
		if err != nil {
			return nil, err
		}
		list = append(list, ids)
	}
	switch {
	case len(list) == 0 || slices.ContainsFunc(list, func(tokens []int32) bool { return len(tokens) == 0 }):
		return nil, bad("prompt", "there is nothing to continue")
	case !s.known(list):
		return nil, bad("prompt", "a token is outside the vocabulary of %d", s.tok.VocabSize())
	}
	return list, nil
}
