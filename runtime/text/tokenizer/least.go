package tokenizer

import (
	"bytes"
	"strings"
)

// reach is the greatest length in bytes of a token that begins with two given bytes, [first][second].
type reach [256][256]uint16

// add records a text of a token.
func (r *reach) add(spelt []byte) {
	if len(spelt) >= 2 {
		at := &r[spelt[0]][spelt[1]]
		*at = uint16(min(max(int(*at), len(spelt)), 1<<16-1))
	}
}

// newReach examines all tokens as they occur in text: control tokens by name, others decoded from the byte
// alphabet or from SentencePiece's marked spaces.
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

// AtLeast is a lower bound of the number of tokens of a text. It needs no memory and is much faster than
// encoding. It stops once the bound exceeds enough.
//
// Every token covers a run of the text's bytes. So n tokens cover at most what n steps cover if each step is
// the longest one possible from any position reached so far.
func (t *Tokenizer) AtLeast(text string, opts EncodeOptions, enough int) int {
	if opts.Escaped {
		text = Unescape(text)
	}
	if t.vocab.Model == modelSPM && strings.Contains(text, spaceMark) {
		return 0 // a marked space is as long as three bytes, so no bound is known
	}
	r := t.reach()
	n, end, far := 0, 0, 0 // n tokens cover up to end; one more covers up to far
	for i := 0; i < len(text) && n <= enough; i++ {
		far = max(far, i+1)
		if i+1 < len(text) {
			far = max(far, i+int(r[text[i]][text[i+1]]))
		}
		switch {
		case i < end:
		case t.bpe.fallback[text[i]] < 0: // the byte may be dropped
			end = i + 1
		default:
			n, end = n+1, far
		}
	}
	return n
}
