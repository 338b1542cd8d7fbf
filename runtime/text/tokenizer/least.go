package tokenizer

import (
	"bytes"
	"strings"
)

// reach is how many bytes a token may have that begins with two bytes, [first][second].
type reach [256][256]uint16

// add notes that a token may spell some bytes.
func (r *reach) add(spelt []byte) {
	if len(spelt) >= 2 {
		at := &r[spelt[0]][spelt[1]]
		*at = uint16(min(max(int(*at), len(spelt)), 1<<16-1))
	}
}

// newReach looks at all tokens, as text may spell them: control tokens by their names, others
// in the byte alphabet, or with spaces that SentencePiece marks, of which it adds the first.
func (t *Tokenizer) newReach() *reach {
	r := &reach{}
	for _, token := range t.vocab.Tokens {
		r.add([]byte(token))
		if t.vocab.Model != modelSPM {
			r.add(appendRaw(nil, token))
			continue
		}
		spaced := []byte(strings.ReplaceAll(token, spaceMark, " "))
		r.add(spaced)
		r.add(bytes.TrimPrefix(spaced, []byte(" ")))
	}
	return r
}

// AtLeast is a number that the tokens of a text are at least. It is found without memory, and
// much faster than they are; it does not count on once it is more than enough.
//
// Every token spells a run of the text's bytes. So n tokens reach no further than n steps, of
// which each is the longest that any place reached before allows.
func (t *Tokenizer) AtLeast(text string, opts EncodeOptions, enough int) int {
	if opts.Escaped {
		text = Unescape(text)
	}
	if t.vocab.Model == modelSPM && strings.Contains(text, spaceMark) {
		return 0 // a mark in a text is as long as three spaces: nothing is known
	}
	r := t.reach()
	n, end, far := 0, 0, 0 // n tokens reach end; one more reaches far
	for i := 0; i < len(text) && n <= enough; i++ {
		far = max(far, i+1)
		if i+1 < len(text) {
			far = max(far, i+int(r[text[i]][text[i+1]]))
		}
		switch {
		case i < end:
		case t.bpe.fallback[text[i]] < 0: // the byte may be left out
			end = i + 1
		default:
			n, end = n+1, far
		}
	}
	return n
}
