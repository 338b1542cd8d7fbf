package tokenizer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// preTokenizer cuts text into the pieces that BPE works on. The passes are the
// regular expressions of the model's tokeniser, each split by hand into
// matchers: no regular expression engine runs, and time is linear in the text.
// testdata/pretokenizers.json has the expressions, the tests compare with them.
type preTokenizer struct {
	passes       []pass   // each splits the pieces that the one before left
	ignoreMerges bool     // a piece that is a token of the vocabulary is not merged
	eog          []string // tokens that end a generation in addition to eogNames
}

var (
	notWordOrNewline = notIn(clNewline | clLetter | clNumber) // [^\r\n\p{L}\p{N}]
	symbol           = notIn(clSpace | clLetter | clNumber)   // [^\s\p{L}\p{N}]
)

// preTokenizers is keyed by tokenizer.ggml.pre.
var preTokenizers = map[string]preTokenizer{
	"deepseek-llm": {
		passes: []pass{
			firstOf{span{body: in(clNewline), max: 1}},
			firstOf{span{lead: in(clSpace), body: in(clCased)}},
			firstOf{span{lead: in(clSpace), body: in(clPunct)}},
			trailingSpace{},
			firstOf{span{body: in(clEastAsian)}},
			firstOf{span{body: in(clNumber)}},
		},
	},
	"youtu": {
		passes: []pass{
			firstOf{
				span{body: in(clHangul)},
				span{body: in(clCJKPunct)},
				span{body: in(clBopomofo)},
				span{body: in(clHanKana)},
			},
			firstOf{
				lowerWord{lead: notWordOrNewline},
				upperWord{lead: notWordOrNewline},
				span{body: in(clNumber), max: 1},
				span{lead: in(clBlank), body: symbol, tail: in(clNewline | clSlash)},
				newlines{},
				spaces{},
			},
		},
		ignoreMerges: true,
	},
	"glm4":        glm4,
	"chatglm-bpe": glm4, // an older name of the same pre-tokeniser
}

var glm4 = preTokenizer{
	passes: []pass{
		firstOf{
			contraction{},
			span{lead: notWordOrNewline, body: in(clLetter)},
			span{body: in(clNumber), max: 3},
			span{lead: in(clBlank), body: symbol, tail: in(clNewline)},
			newlines{},
			spaces{},
		},
	},
	// GLM ends its turn by opening the user's or the tool's.
	eog: []string{"<|user|>", "<|observation|>"},
}

// PreTokenizers lists the supported values of tokenizer.ggml.pre.
func PreTokenizers() []string { return slices.Sorted(maps.Keys(preTokenizers)) }

func preTokenizerNamed(name string) (preTokenizer, error) {
	p, ok := preTokenizers[name]
	if !ok {
		return p, fmt.Errorf("tokenizer.ggml.pre is %.64q, known pre-tokenisers: %s",
			name, strings.Join(PreTokenizers(), ", "))
	}
	return p, nil
}
