package tokenizer

import "mla/runtime/gguf"

// preTokenizer cuts text into the pieces that BPE works on. The passes are the
// regular expressions of the model's tokeniser, each split by hand into
// matchers: no regular expression engine runs, and time is linear in the text.
// testdata/pretokenizers.json has the expressions, the tests compare with them.
type preTokenizer struct {
	passes       []pass   // each splits the pieces that the one before left
	ignoreMerges bool     // a piece that is a token of the vocabulary is not merged
	addBOS       bool     // texts begin with BOS unless the file says otherwise
	eog          []string // tokens that end a generation in addition to eogNames
}

var (
	letters          = in(clLetter)
	notWordOrNewline = notIn(clNewline | clLetter | clNumber) // [^\r\n\p{L}\p{N}]
	symbol           = notIn(clSpace | clLetter | clNumber)   // [^\s\p{L}\p{N}]
)

// preTokenizers are those of gguf.PreTokenizers. Where llama.cpp's expressions for a
// name only come near those of the model, these are the model's: it was trained with
// them.
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
				lowerWord(contracted),
				upperWord(contracted),
				span{body: in(clNumber), max: 1},
				span{lead: in(clBlank), body: symbol, tail: in(clNewline | clSlash)},
				newlines{},
				spaces{},
			},
		},
		ignoreMerges: true,
	},
	"glm4": {
		passes: []pass{likeGLM(3)},
		// GLM ends its turn by opening the user's or the tool's.
		eog: []string{"<|user|>", "<|observation|>"},
	},
	"qwen2": {passes: []pass{likeGLM(1)}},
	// The expression of Ling ends a run of line breaks with one, not with several, after any space: the same pieces.
	"bailingmoe2": {passes: []pass{likeGLM(1)}},
	"deepseek-v3": {
		passes: []pass{
			firstOf{span{body: in(clNumber), max: 3}},
			firstOf{span{body: in(clHanKana)}},
			firstOf{
				pairOf{head: in(clASCIIPunct), body: in(clASCIILetter)},
				span{lead: notIn(clNewline | clLetter | clPunctSymbol), body: in(clLetter | clMark)},
				span{lead: in(clBlank), body: in(clPunctSymbol), tail: in(clNewline)},
				newlines{},
				spaces{},
			},
		},
	},
	"gigachat": {
		passes: []pass{
			firstOf{ // GPT-2
				contraction{small: true},
				span{lead: in(clBlank), body: letters},
				span{lead: in(clBlank), body: in(clNumber)},
				span{lead: in(clBlank), body: symbol},
				spaces{},
			},
		},
		eog: []string{"<|message_sep|>"},
	},
	"kanana2": {
		passes: []pass{
			firstOf{
				lowerWord(contracted),
				upperWord(contracted),
				span{body: in(clNumber), max: 3},
				span{lead: in(clBlank), body: symbol, tail: in(clNewline | clSlash)},
				newlines{},
				spaces{},
			},
		},
	},
	"kimi-k2": {
		passes: []pass{
			firstOf{
				span{body: in(clHan)},
				lowerWord(notHan),
				upperWord(notHan),
				span{body: in(clNumber), max: 3},
				span{lead: in(clBlank), body: symbol, tail: in(clNewline)},
				newlines{},
				spaces{},
			},
		},
	},
	"tekken": {
		passes: []pass{
			firstOf{
				lowerWord(uncontracted),
				upperWord(uncontracted),
				span{body: in(clNumber), max: 1},
				span{lead: in(clBlank), body: symbol, tail: in(clNewline | clSlash)},
				newlines{},
				spaces{},
			},
		},
		ignoreMerges: true,
		addBOS:       true,
	},
}

// Words by case, with and without English contractions, and outside Chinese characters.
var (
	uncontracted = cased{lead: notWordOrNewline, upper: in(clUpperish), lower: in(clLowerish)}
	contracted   = cased{lead: notWordOrNewline, upper: in(clUpperish), lower: in(clLowerish), suffix: true}
	notHan       = cased{lead: notWordOrNewline, suffix: true,
		upper: set{bits: clUpperish, except: clHan}, lower: set{bits: clLowerish, except: clHan}}
)

// likeGLM is the pass of glm4, with a given number of digits at most in a piece.
func likeGLM(digits int) pass {
	return firstOf{
		contraction{},
		span{lead: notWordOrNewline, body: letters},
		span{body: in(clNumber), max: digits},
		span{lead: in(clBlank), body: symbol, tail: in(clNewline)},
		newlines{},
		spaces{},
	}
}

// preTokenizerNamed returns what a value of tokenizer.ggml.pre names.
func preTokenizerNamed(value string) (preTokenizer, error) {
	name, err := gguf.PreTokenizer(value)
	return preTokenizers[name], err
}
