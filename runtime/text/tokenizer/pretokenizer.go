package tokenizer

import "mla/runtime/gguf"

// preTokenizer splits text into the pieces that BPE works on. The passes are the regular expressions of the
// model's tokeniser, translated by hand to matchers: no regular expression engine runs, and the time is
// linear in the text. testdata/pretokenizers.json has the expressions, with which tests compare.
type preTokenizer struct {
	passes       []pass   // each splits the pieces of the pass before
	ignoreMerges bool     // a piece that is a token is not split further
	addBOS       bool     // the default of add_bos_token
	eog          []string // tokens that end a generation, beside eogNames
}

var (
	letters          = in(clLetter)
	notWordOrNewline = notIn(clNewline | clLetter | clNumber) // [^\r\n\p{L}\p{N}]
	symbol           = notIn(clSpace | clLetter | clNumber)   // [^\s\p{L}\p{N}]
)

// preTokenizers is the pre-tokenisers of gguf.PreTokenizers. Where llama.cpp's expressions only approximate
// the model's, these are the model's own, with which it was trained.
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
		// GLM ends its turn with the token that begins the user's or the tool's turn.
		eog: []string{"<|user|>", "<|observation|>"},
	},
	"qwen2": {passes: []pass{likeGLM(1)}},
	// Ling's expression ends a run of line breaks with one instead of several, after any space: the pieces
	// are the same.
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

// Words split by case, with and without English contractions, and without Chinese characters.
var (
	uncontracted = cased{lead: notWordOrNewline, upper: in(clUpperish), lower: in(clLowerish)}
	contracted   = cased{lead: notWordOrNewline, upper: in(clUpperish), lower: in(clLowerish), suffix: true}
	notHan       = cased{lead: notWordOrNewline, suffix: true,
		upper: set{bits: clUpperish, except: clHan}, lower: set{bits: clLowerish, except: clHan}}
)

// likeGLM is the pass of glm4 with a maximum number of digits per piece.
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

// preTokenizerNamed returns the pre-tokeniser that a value of tokenizer.ggml.pre names.
func preTokenizerNamed(value string) (preTokenizer, error) {
	name, err := gguf.PreTokenizer(value)
	return preTokenizers[name], err
}
