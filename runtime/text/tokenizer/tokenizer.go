// Package tokenizer converts text to token ids and back, with the vocabulary of the model file: GPT-2's
// byte-level BPE with the pre-tokenisers of the supported models, or SentencePiece.
//
// Encoding has three steps. Special tokens are found in the text. A pre-tokeniser splits the rest into pieces
// (words, numbers, runs of white space). In each piece neighbouring byte strings are merged: the earliest
// merge of the vocabulary first, of equal ones the leftmost. All steps take linear time for any text, except
// for the logarithmic factor of the merge heap.
package tokenizer

import (
	"fmt"
	"slices"
	"sync"
)

// Tokenizer encodes and decodes with one vocabulary. It is immutable after New and safe for concurrent use.
type Tokenizer struct {
	vocab Vocab
	pre   preTokenizer
	bpe   *bpe
	// userDefined has the tokens that are recognised in any text; special has these and the control tokens.
	userDefined, special *specials
	ids                  map[string]int32 // vocabulary entry -> id
	eog                  []int32          // sorted
	fim                  FIM
	reach                func() *reach // made on first use
}

// New checks a vocabulary and prepares it for use. Errors name the GGUF key.
func New(v Vocab) (*Tokenizer, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	var pre preTokenizer
	if v.Model == modelBPE {
		var err error
		if pre, err = preTokenizerNamed(v.Pre); err != nil {
			return nil, err
		}
	}
	v = retyped(v, slices.Concat(eogNames, pre.eog))
	t := &Tokenizer{
		vocab:       v,
		pre:         pre,
		userDefined: newSpecials(),
		special:     newSpecials(),
		ids:         make(map[string]int32, len(v.Tokens)),
	}
	for id, token := range v.Tokens {
		if token == "" { // some converters write U+0000 for it
			continue
		}
		if other, dup := t.ids[token]; dup {
			return nil, fmt.Errorf("tokenizer.ggml.tokens[%d] and [%d] are both %.64q", other, id, token)
		}
		t.ids[token] = int32(id)
		switch v.typeOf(id) {
		case TypeUserDefined:
			t.userDefined.add(token, int32(id))
			t.special.add(token, int32(id))
		case TypeControl, TypeUnknown:
			t.special.add(token, int32(id))
		}
	}
	if err := t.setModel(); err != nil {
		return nil, err
	}
	t.findEOG()
	t.findFIM()
	t.reach = sync.OnceValue(t.newReach)
	return t, nil
}

// setModel prepares the kind of vocabulary.
func (t *Tokenizer) setModel() (err error) {
	if t.vocab.Model == modelSPM {
		t.bpe = newSPM(&t.vocab)
		return nil
	}
	t.bpe, err = newBPE(&t.vocab)
	return err
}

// eogNames is names of tokens that end a generation in some model family; files do not always name them by a
// key.
var eogNames = []string{
	"<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>",
	"<|endoftext|>", "<|end_of_text|>", "<end_of_turn>", "<end_of_utterance>",
	"<EOT>", "_<EOT>", "[EOT]", "[EOS]", "</s>", "<eos>", "<｜end▁of▁sentence｜>",
}

// findEOG collects the tokens that end a generation: those of the file's keys, and special tokens by name.
func (t *Tokenizer) findEOG() {
	for _, id := range []int{t.vocab.EOS, t.vocab.EOT, t.vocab.EOM} {
		if id >= 0 {
			t.eog = append(t.eog, int32(id))
		}
	}
	t.eog = append(t.eog, t.vocab.Ends...)
	for _, name := range slices.Concat(eogNames, t.pre.eog) {
		id, ok := t.ids[name]
		if !ok {
			continue
		}
		switch t.vocab.typeOf(int(id)) {
		case TypeControl, TypeUserDefined: // not normal tokens, as plain text may contain </s>
			t.eog = append(t.eog, id)
		}
	}
	slices.Sort(t.eog)
	t.eog = slices.Compact(t.eog)
}

// VocabSize returns the number of tokens.
func (t *Tokenizer) VocabSize() int { return len(t.vocab.Tokens) }

// BOS returns the token that begins a text, or -1.
func (t *Tokenizer) BOS() int32 { return int32(t.vocab.BOS) }

// EOS returns the token that ends a text, or -1.
func (t *Tokenizer) EOS() int32 { return int32(t.vocab.EOS) }

// AddsBOS reports whether the model's texts begin with BOS.
func (t *Tokenizer) AddsBOS() bool { return t.vocab.AddBOS }

// ChatTemplate returns the file's chat template, or "".
func (t *Tokenizer) ChatTemplate() string { return t.vocab.ChatTemplate }

// IsEOG reports whether a token ends a generation.
func (t *Tokenizer) IsEOG(id int32) bool {
	_, found := slices.BinarySearch(t.eog, id)
	return found
}

// EOG returns all tokens that end a generation, in ascending order.
func (t *Tokenizer) EOG() []int32 { return slices.Clone(t.eog) }

// TokenText returns the vocabulary entry of a token as in the file; "" for an id outside the vocabulary.
func (t *Tokenizer) TokenText(id int32) string {
	if id < 0 || int(id) >= len(t.vocab.Tokens) {
		return ""
	}
	return t.vocab.Tokens[id]
}

// TokenID returns the id of a vocabulary entry, as in the file.
func (t *Tokenizer) TokenID(text string) (id int32, ok bool) {
	id, ok = t.ids[text]
	return id, ok
}

// EncodeOptions says how to treat special tokens.
type EncodeOptions struct {
	// AddBOS puts BOS first if the vocabulary wants it (add_bos_token) and the text does not begin with it,
	// as rendered chats do.
	AddBOS bool
	// AddEOS puts EOS last if the vocabulary wants it (add_eos_token) and the text does not end with it. A
	// text that the model is to continue must not have it.
	AddEOS bool
	// ParseSpecial recognises control tokens in the text. It is for rendered chats; text from users or files
	// must not be able to contain them.
	ParseSpecial bool
	// Escaped says that parts of the text were escaped by Escape. It is for rendered chats, so that their
	// messages contain no control tokens.
	Escaped bool
}

// Encode returns the tokens of text. Bytes without a token are dropped if the vocabulary has no unknown
// token.
func (t *Tokenizer) Encode(text string, opts EncodeOptions) []int32 {
	special := t.userDefined
	if opts.ParseSpecial {
		special = t.special
	}
	e := encoder{t: t}
	for len(text) > 0 {
		from, to, id := special.find(text)
		piece := text[:from]
		if opts.Escaped {
			piece = Unescape(piece)
		}
		e.encode(piece)
		if id >= 0 {
			e.ids = append(e.ids, id)
		}
		text = text[to:]
	}
	bos := int32(t.vocab.BOS)
	if opts.AddBOS && t.vocab.AddBOS && (len(e.ids) == 0 || e.ids[0] != bos) {
		e.ids = slices.Insert(e.ids, 0, bos)
	}
	eos := int32(t.vocab.EOS)
	if opts.AddEOS && t.vocab.AddEOS && (len(e.ids) == 0 || e.ids[len(e.ids)-1] != eos) {
		e.ids = append(e.ids, eos)
	}
	return e.ids
}

// encoder has the memory of one Encode.
type encoder struct {
	t       *Tokenizer
	scanner scanner
	merger  merger
	ids     []int32
}

// encode appends the tokens of text that has no special tokens.
func (e *encoder) encode(text string) {
	if e.t.vocab.Model == modelSPM {
		if text = e.t.marked(text); text != "" {
			e.ids = e.merger.encode(e.t.bpe, e.ids, text)
		}
		return
	}
	start := 0
	for _, end := range e.scanner.split(text, e.t.pre.passes) {
		piece := text[start:end]
		start = end
		if e.t.pre.ignoreMerges {
			if id, ok := e.t.bpe.tokens[piece]; ok {
				e.ids = append(e.ids, id)
				continue
			}
		}
		e.ids = e.merger.encode(e.t.bpe, e.ids, piece)
	}
}
