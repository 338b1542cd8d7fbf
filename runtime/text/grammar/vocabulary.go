package grammar

import (
	"bytes"
	"slices"
	"sync"
)

// Token is what a vocabulary says of one token.
type Token struct {
	Bytes   []byte // that it prints, which need not be whole characters; of a control token its name
	Control bool
	End     bool // of a text
}

// Vocabulary is the tokens of a model. It is safe for concurrent use.
type Vocabulary struct {
	size  int
	trie  []trieNode
	long  int32   // where the trie of tokens of more than shortBytes bytes begins, after that of all others
	same  []int32 // by token: another one with the same bytes, or -1
	bytes [][]byte
	ends  []int32
	names map[string]int32 // of control tokens
	depth int              // of the trie: bytes of the longest token

	mu     sync.Mutex
	shared map[uint64]*stateMask // of states that are alike, in rules without calls: short tokens
}

// trieNode is a byte of some tokens, or of their numbers, in front of those that begin with the bytes up to it.
type trieNode struct {
	token int32 // that ends here, or -1
	skip  int32 // the next one that does not begin so
	depth uint16
	b     byte
}

// shortBytes is up to how many bytes a token is a short one. Nearly all are: so what a
// state allows is found out once for all states that are alike for as many bytes.
const shortBytes = 16

// maxToken is how long a token may be; longer ones are never allowed.
const maxToken = 1 << 12

// NewVocabulary is a vocabulary of a given number of tokens.
func NewVocabulary(size int, token func(id int32) Token) *Vocabulary {
	v := &Vocabulary{size: size, same: make([]int32, size), bytes: make([][]byte, size), names: map[string]int32{}, shared: map[uint64]*stateMask{}}
	var ids []int32
	for id := range int32(size) {
		v.same[id] = -1
		t := token(id)
		if t.Control {
			v.names[string(t.Bytes)] = id
		}
		switch {
		case t.End:
			v.ends = append(v.ends, id)
		case len(t.Bytes) == 0 || len(t.Bytes) >= maxToken:
		case !t.Control && (bytes.IndexByte(t.Bytes, idByte) >= 0 || bytes.IndexByte(t.Bytes, markerByte) >= 0): // no text has these bytes
		case t.Control:
			v.bytes[id] = append([]byte{markerByte}, t.Bytes...)
			ids = append(ids, id)
		default:
			v.bytes[id] = t.Bytes
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return bytes.Compare(v.bytes[a], v.bytes[b]) })
	v.build(ids)
	return v
}

// build makes the tries of short and of long tokens, in the order of their bytes.
func (v *Vocabulary) build(ids []int32) {
	var short, long []int32
	for _, id := range ids {
		if len(v.bytes[id]) <= shortBytes {
			short = append(short, id)
		} else {
			long = append(long, id)
		}
	}
	b := &builder{Vocabulary: v}
	marked, _ := slices.BinarySearchFunc(short, markerByte, func(id int32, b byte) int { return int(v.bytes[id][0]) - int(b) })
	b.tokens(short[:marked])
	b.numbers() // they stand between texts and control tokens
	b.tokens(short[marked:])
	b.end()
	v.long = int32(len(v.trie))
	b.tokens(long)
	b.end()
}

// builder adds texts to a trie, in their order.
type builder struct {
	*Vocabulary
	path   []int32 // nodes of the bytes of the text before
	before []byte
	id     int32
}

// tokens adds tokens in the order of their bytes.
func (b *builder) tokens(ids []int32) {
	for i, id := range ids {
		if i > 0 && bytes.Equal(b.bytes[id], b.bytes[ids[i-1]]) {
			b.same[id] = b.same[b.id]
			b.same[b.id] = id
			continue
		}
		b.add(b.bytes[id], id)
	}
}

// end ends a trie.
func (b *builder) end() {
	b.leave(b.path)
	b.path, b.before = nil, nil
}

// numbers adds all tokens by their numbers.
func (b *builder) numbers() {
	for id := range int32(b.size) {
		b.add(idPath(id), id)
	}
}

func (b *builder) add(text []byte, id int32) {
	v, common := b.Vocabulary, 0
	for common < min(len(text), len(b.before)) && text[common] == b.before[common] {
		common++
	}
	v.leave(b.path[common:])
	b.path = b.path[:common]
	for i := common; i < len(text); i++ {
		b.path = append(b.path, int32(len(v.trie)))
		v.trie = append(v.trie, trieNode{token: -1, b: text[i], depth: uint16(i)})
	}
	v.trie[len(v.trie)-1].token = id
	v.depth = max(v.depth, len(text))
	b.before, b.id = text, id
}

// leave notes where the tokens end that begin as nodes say.
func (v *Vocabulary) leave(path []int32) {
	for _, at := range path {
		v.trie[at].skip = int32(len(v.trie))
	}
}

// Words is how long masks are.
func (v *Vocabulary) Words() int { return (v.size + 31) / 32 }

// allow sets the bits of a token, and of those with the same bytes.
func (v *Vocabulary) allow(mask []uint32, id int32) {
	for ; id >= 0; id = v.same[id] {
		mask[id/32] |= 1 << (id % 32)
	}
}

// Allows says whether a mask has a token.
func Allows(mask []uint32, id int32) bool {
	return id >= 0 && int(id/32) < len(mask) && mask[id/32]>>(id%32)&1 != 0
}

// Bytes is what a token prints; of a control token its name, after a byte that no text has.
func (v *Vocabulary) Bytes(id int32) []byte { return v.bytes[id] }
