package sample

import (
	"errors"
	"math"
	"slices"
	"strings"

	"mla/runtime/text/tokenizer"
)

// dry lowers the logits of tokens that would continue a repetition: the end of the text occurred before, and
// the token is what followed there (https://github.com/oobabooga/text-generation-webui/pull/5677). A nil dry
// does nothing.
type dry struct {
	p        *Params
	breakers breakers
	text     []int32 // the last accepted tokens, and some earlier ones
	z        []int32 // result of search
	repeats  map[int32]int32
}

func newDRY(p *Params) (*dry, error) {
	if len(p.DRYBreakers) > 0 && p.Vocabulary == nil {
		return nil, errors.New("dry-sequence-breakers are texts, and the sampler has no vocabulary to find them; expected Vocabulary, or no breakers")
	}
	d := &dry{p: p, breakers: breakers{vocabulary: p.Vocabulary, tails: map[int32][][]int32{}}, repeats: map[int32]int32{}}
	for _, text := range p.DRYBreakers {
		if text != "" {
			d.breakers.texts = append(d.breakers.texts, text[:min(len(text), maxBreaker)])
		}
	}
	return d, nil
}

// limit is how many tokens are examined.
func (d *dry) limit() int {
	if d.p.DRYLastN < 0 {
		return maxLastN
	}
	return d.p.DRYLastN
}

func (d *dry) accept(id int32) {
	if d == nil || id < 0 {
		return
	}
	if limit := d.limit(); len(d.text) >= 2*limit {
		d.text = append(d.text[:0], d.text[len(d.text)-limit+1:]...)
	}
	d.text = append(d.text, id)
}

func (d *dry) clear() {
	if d != nil {
		d.text = d.text[:0]
	}
}

// penalise lowers the logits of tokens that would continue a repetition, by its length. A repetition does not
// extend over a sequence breaker, and tokens that are breakers are not penalised.
func (d *dry) penalise(logits []float32) {
	text := d.text[max(0, len(d.text)-d.limit()):]
	if len(text) <= d.p.DRYAllowedLength {
		return
	}
	longest := d.breakers.last(text)
	if longest < d.p.DRYAllowedLength {
		return
	}
	d.search(text)
	clear(d.repeats)
	for k := 1; k < len(text); k++ {
		if n := min(d.z[k], int32(longest)); int(n) >= d.p.DRYAllowedLength {
			next := text[len(text)-k] // the token that followed k tokens before the end
			d.repeats[next] = max(d.repeats[next], n)
		}
	}
	base := float64(d.p.DRYBase)
	for id, n := range d.repeats {
		if id < 0 || int(id) >= len(logits) || math.IsInf(float64(logits[id]), -1) || d.breakers.is(id) {
			continue
		}
		power := min(widePow(base, float64(int(n)-d.p.DRYAllowedLength)), math.MaxFloat32)
		x := float64(logits[id]) - float64(float64(d.p.DRYMultiplier)*power)
		logits[id] = settle(float32(max(x, -math.MaxFloat32)))
	}
}

// search sets z[k], for k ≥ 1, to the length of the common suffix of the text and of the text without its
// last k tokens: the Z-algorithm (Gusfield 1997, 1.3) on the reversed text, in linear time.
func (d *dry) search(text []int32) {
	n := len(text)
	d.z = slices.Grow(d.z[:0], n)[:n]
	at := func(i int) int32 { return text[n-1-i] }
	left, right := 0, 0 // the match that extends farthest: [left, right)
	for k := 1; k < n; k++ {
		length := 0
		if k < right {
			length = min(right-k, int(d.z[k-left]))
		}
		for k+length < n && at(length) == at(k+length) {
			length++
		}
		d.z[k] = int32(length)
		if k+length > right {
			left, right = k, k+length
		}
	}
}

// Vocabulary gives the text of tokens, as a tokenizer.Tokenizer does.
type Vocabulary interface {
	TokenBytes(id int32) []byte
	TokenText(id int32) string
	Encode(text string, opts tokenizer.EncodeOptions) []int32
}

// breakers is the sequence breakers. A breaker occurs where one token contains it, or where a token ends with
// its beginning and the tokens of the rest follow.
type breakers struct {
	texts      []string
	vocabulary Vocabulary
	tails      map[int32][][]int32 // what has to follow a token; computed on demand
}

// maxTail is the most tokens of a breaker's rest that are compared.
const maxTail = 20

// of is what has to follow a token for a breaker to occur; an empty tail: nothing.
func (b *breakers) of(id int32) [][]int32 {
	if len(b.texts) == 0 {
		return nil
	}
	tails, ok := b.tails[id]
	if ok {
		return tails
	}
	spelt := b.vocabulary.TokenBytes(id)
	if len(spelt) == 0 {
		spelt = []byte(b.vocabulary.TokenText(id))
	}
	word := string(spelt)
	for _, text := range b.texts {
		if strings.Contains(word, text) {
			tails = append(tails, nil)
			continue
		}
		for n := min(len(word), len(text)-1); n > 0; n-- {
			if strings.HasSuffix(word, text[:n]) {
				tail := b.vocabulary.Encode(text[n:], tokenizer.EncodeOptions{})
				tails = append(tails, tail[:min(len(tail), maxTail)])
			}
		}
	}
	b.tails[id] = tails
	return tails
}

// is says whether a token contains a breaker.
func (b *breakers) is(id int32) bool {
	return slices.ContainsFunc(b.of(id), func(tail []int32) bool { return len(tail) == 0 })
}

// last is the number of tokens after the last breaker of a text, or in all of it. Of several breakers that
// begin at the same token the longest counts.
func (b *breakers) last(text []int32) int {
	for after := range text {
		at := len(text) - 1 - after
		longest := -1
		for _, tail := range b.of(text[at]) {
			if len(tail) > longest && len(tail) <= after && slices.Equal(text[at+1:at+1+len(tail)], tail) {
				longest = len(tail)
			}
		}
		if longest >= 0 {
			return after - longest
		}
	}
	return len(text)
}
