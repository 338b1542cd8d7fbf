package tokenizer

import (
	"fmt"
	"strings"
)

// A sym is a string that merges can produce: below the vocabulary's size a token id, above it a string that
// is not a token.
type sym = int32

// merge is the result of merging two neighbouring symbols, and its rank.
type merge struct {
	rank   int32 // lower is earlier
	result sym
}

// bpe holds the merges over the bytes, or characters, that the tokens stand for.
type bpe struct {
	tokens map[string]sym   // bytes of a token -> id, without control tokens
	merges map[uint64]merge // pair -> merge
	bytes  [256]sym         // symbol of a single byte
	chars  map[rune]sym     // symbol of a character; nil: symbols begin as bytes
	others []string         // bytes of the symbols that are not tokens
	size   int              // of the vocabulary
	// fallback is the token of a byte that no merge has reached: the byte's own token, else <0xNN>, else the
	// unknown token, else -1.
	fallback [256]sym
}

func pair(left, right sym) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

// newBPE reads tokens and merges of a checked vocabulary.
func newBPE(v *Vocab) (*bpe, error) {
	b := &bpe{
		tokens: make(map[string]sym, len(v.Tokens)),
		merges: make(map[uint64]merge, len(v.Merges)),
		size:   len(v.Tokens),
	}
	for id, token := range v.Tokens {
		switch v.typeOf(id) {
		case TypeControl, TypeUnknown, TypeByte:
			continue // never the result of plain text
		}
		if raw, ok := rawBytes(token); ok && token != "" {
			b.tokens[raw] = sym(id)
		}
	}
	b.setBytes(v)
	others := map[string]sym{}
	for i := range b.bytes {
		b.bytes[i] = b.intern(string([]byte{byte(i)}), others)
	}
	for rank, m := range v.Merges {
		left, right, ok := splitMerge(m)
		if !ok {
			return nil, fmt.Errorf("tokenizer.ggml.merges[%d] is %.64q, expected two parts in the byte alphabet with one space between", rank, m)
		}
		key := pair(b.intern(left, others), b.intern(right, others))
		if _, dup := b.merges[key]; !dup { // of equal merges the first counts
			b.merges[key] = merge{int32(rank), b.intern(left+right, others)}
		}
	}
	return b, nil
}

// splitMerge reads "left right" and translates both parts to bytes.
func splitMerge(m string) (left, right string, ok bool) {
	l, r, found := strings.Cut(m, " ")
	left, okLeft := rawBytes(l)
	right, okRight := rawBytes(r)
	return left, right, found && okLeft && okRight && left != "" && right != ""
}

// intern returns the symbol of raw, a new one if it is not a token.
func (b *bpe) intern(raw string, others map[string]sym) sym {
	if id, ok := b.tokens[raw]; ok {
		return id
	}
	if s, ok := others[raw]; ok {
		return s
	}
	s := sym(b.size + len(b.others))
	b.others = append(b.others, raw)
	others[raw] = s
	return s
}

func (b *bpe) setBytes(v *Vocab) {
	for i := range b.fallback {
		b.fallback[i] = sym(v.UNK)
	}
	for id, token := range v.Tokens {
		if v.typeOf(id) != TypeByte {
			continue
		}
		if value, ok := byteToken(token); ok {
			b.fallback[value] = sym(id)
		}
	}
	for i := range b.fallback {
		if id, ok := b.tokens[string([]byte{byte(i)})]; ok {
			b.fallback[i] = id
		}
	}
}

// merger merges one piece at a time: a linked list of symbols, and a heap of the currently possible merges. n
// symbols take O(n log n).
type merger struct {
	syms       []sym // -1 = merged into its left neighbour
	prev, next []int32
	heap       []uint64 // rank<<32 | position of the left symbol
}

// encode appends the tokens of one piece to dst.
func (m *merger) encode(b *bpe, dst []int32, piece string) []int32 {
	m.load(b, piece)
	for len(m.heap) > 0 {
		top := m.pop()
		rank, at := int32(top>>32), int32(uint32(top))
		// Entries are not removed when their symbols change. An outdated entry names a merge that is not
		// possible at its place any more.
		now, ok := m.mergeAt(b, at)
		if !ok || now.rank != rank {
			continue
		}
		m.join(at, now.result)
		m.offer(b, m.prev[at])
		m.offer(b, at)
	}
	for at := int32(0); at >= 0; at = m.next[at] {
		dst = b.appendTokens(dst, m.syms[at])
	}
	return dst
}

// load begins a piece: one symbol per byte or character, and all merges of neighbours.
func (m *merger) load(b *bpe, piece string) {
	m.syms, m.prev, m.next, m.heap = m.syms[:0], m.prev[:0], m.next[:0], m.heap[:0]
	if b.chars != nil {
		m.syms = b.symbols(m.syms, piece)
	} else {
		for i := range len(piece) {
			m.syms = append(m.syms, b.bytes[piece[i]])
		}
	}
	for i := range m.syms {
		m.prev = append(m.prev, int32(i-1))
		m.next = append(m.next, int32(i+1))
	}
	m.next[len(m.syms)-1] = -1
	for i := range len(m.syms) - 1 {
		m.offer(b, int32(i))
	}
}

// mergeAt looks up the merge of the symbol at a place with its successor.
func (m *merger) mergeAt(b *bpe, at int32) (merge, bool) {
	if at < 0 || m.syms[at] < 0 || m.next[at] < 0 {
		return merge{}, false
	}
	found, ok := b.merges[pair(m.syms[at], m.syms[m.next[at]])]
	return found, ok
}

func (m *merger) offer(b *bpe, at int32) {
	if found, ok := m.mergeAt(b, at); ok {
		m.push(uint64(uint32(found.rank))<<32 | uint64(uint32(at)))
	}
}

// join replaces the symbol at a place and its successor by one.
func (m *merger) join(at int32, result sym) {
	gone := m.next[at]
	m.syms[at], m.syms[gone] = result, -1
	m.next[at] = m.next[gone]
	if m.next[at] >= 0 {
		m.prev[m.next[at]] = at
	}
}

func (m *merger) push(x uint64) {
	m.heap = append(m.heap, x)
	h, i := m.heap, len(m.heap)-1
	for i > 0 && h[(i-1)/2] > x {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = x
}

func (m *merger) pop() uint64 {
	h := m.heap
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	m.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[child] >= last {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return top
}

// appendTokens appends the token of a symbol; for a symbol outside the vocabulary, the tokens of its bytes.
func (b *bpe) appendTokens(dst []int32, s sym) []int32 {
	if int(s) < b.size {
		return append(dst, s)
	}
	raw := b.others[int(s)-b.size]
	for i := range len(raw) {
		if id := b.fallback[raw[i]]; id >= 0 {
			dst = append(dst, id)
		}
	}
	return dst
}
