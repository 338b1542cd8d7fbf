package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// SentencePiece's tokeniser is like BPE but for three things: symbols are characters at
// first, two neighbours merge if what they spell is a token, the one of the highest
// score first, and a space is U+2581, of which one stands before every text.

// spaceMark is how vocabularies of SentencePiece write a space.
const spaceMark = "\u2581"

// newSPM makes the merges of a vocabulary of SentencePiece: every way to cut a token in
// two. The vocabulary has been checked.
func newSPM(v *Vocab) *bpe {
	b := &bpe{tokens: make(map[string]sym, len(v.Tokens)), chars: map[rune]sym{}, size: len(v.Tokens)}
	var plain []sym
	for id, token := range v.Tokens {
		if token == "" {
			continue
		}
		switch v.typeOf(id) {
		case TypeNormal, TypeUserDefined, TypeUnused:
			b.tokens[token] = sym(id)
			plain = append(plain, sym(id))
		}
	}
	b.setBytes(v)
	others := map[string]sym{}
	for i := range b.bytes {
		b.bytes[i] = b.intern(string([]byte{byte(i)}), others)
	}
	b.merges = make(map[uint64]merge, len(plain))
	for _, id := range plain {
		for _, r := range v.Tokens[id] {
			if _, seen := b.chars[r]; !seen {
				b.chars[r] = b.intern(string(r), others)
			}
		}
	}
	ranks := ranks(v, plain)
	for _, id := range plain {
		token := v.Tokens[id]
		for i := range token {
			left, okLeft := b.symbol(token[:i])
			right, okRight := b.symbol(token[i:])
			if okLeft && okRight {
				b.merges[pair(left, right)] = merge{ranks[id], id}
			}
		}
	}
	return b
}

// ranks orders tokens by score, the highest first; equal scores are one rank.
func ranks(v *Vocab, ids []sym) map[sym]int32 {
	sorted := slices.Clone(ids)
	slices.SortStableFunc(sorted, func(a, b sym) int { return cmp.Compare(v.Scores[b], v.Scores[a]) })
	ranks := make(map[sym]int32, len(sorted))
	rank := int32(0)
	for i, id := range sorted {
		if i > 0 && v.Scores[id] != v.Scores[sorted[i-1]] {
			rank++
		}
		ranks[id] = rank
	}
	return ranks
}

// symbol is what a string can be before merges reach the token that it is part of: a
// token itself, or one character.
func (b *bpe) symbol(s string) (sym, bool) {
	if id, ok := b.tokens[s]; ok {
		return id, true
	}
	if r, n := utf8.DecodeRuneInString(s); n == len(s) && n > 0 {
		id, ok := b.chars[r]
		return id, ok
	}
	return 0, false
}

// symbols appends the characters of a piece. One that no token has stands as its bytes,
// with which nothing merges.
func (b *bpe) symbols(dst []sym, piece string) []sym {
	for len(piece) > 0 {
		r, n := utf8.DecodeRuneInString(piece)
		s, ok := b.chars[r]
		if r == utf8.RuneError && n == 1 { // a byte that is no UTF-8
			ok = false
		}
		if ok {
			dst = append(dst, s)
		}
		for i := 0; i < n && !ok; i++ {
			dst = append(dst, b.bytes[piece[i]])
		}
		piece = piece[n:]
	}
	return dst
}

// marked is text as SentencePiece cuts it.
func (t *Tokenizer) marked(text string) string {
	if t.vocab.AddSpacePrefix && text != "" {
		text = " " + text
	}
	return strings.ReplaceAll(text, " ", spaceMark)
}
