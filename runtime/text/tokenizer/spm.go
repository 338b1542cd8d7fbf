package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// SentencePiece's tokeniser differs from BPE in three points: symbols begin as characters; two neighbours
// merge if they form a token, the one with the highest score first; and a space is U+2581, which also
// precedes every text.

// spaceMark is a space in vocabularies of SentencePiece.
const spaceMark = "\u2581"

// newSPM makes the merges of a checked SentencePiece vocabulary: every way to split a token in two.
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

// ranks orders tokens by score, highest first; equal scores have the same rank.
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

// symbol is a symbol that may occur before a token is complete: a token, or a single character.
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

// symbols appends the characters of a piece. A character that is in no token becomes its bytes, which never
// merge.
func (b *bpe) symbols(dst []sym, piece string) []sym {
	for len(piece) > 0 {
		r, n := utf8.DecodeRuneInString(piece)
		s, ok := b.chars[r]
		if r == utf8.RuneError && n == 1 { // a byte that is not UTF-8
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

// marked is text with SentencePiece's marked spaces.
func (t *Tokenizer) marked(text string) string {
	if t.vocab.AddSpacePrefix && text != "" {
		text = " " + text
	}
	return strings.ReplaceAll(text, " ", spaceMark)
}
