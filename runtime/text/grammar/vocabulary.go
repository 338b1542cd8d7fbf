package grammar

import (
	"bytes"
	"slices"
	"sync"
)

// Token describes one token of a vocabulary.
type Token struct {
	Bytes   []byte // its text, which need not be whole characters; for a control token its name
	Control bool
	End     bool // it ends a text
}

// Vocabulary is the tokens of a model. It is safe for concurrent use.
type Vocabulary struct {
	size  int
	trie  []trieNode
	long  int32   // index of the trie of tokens longer than shortBytes, after that of all others
	same  []int32 // by token: another token with the same bytes, or -1
	bytes [][]byte
	ends  []int32
	names map[string]int32 // of control tokens
	depth int              // of the trie: length of the longest token

	mu     sync.Mutex
	shared map[uint64]*stateMask // masks of short tokens for equivalent states of rules without calls
}

// trieNode is a byte of tokens or of their ids. The nodes of a subtree are consecutive.
type trieNode struct {
	token int32 // the token that ends here, or -1
	skip  int32 // index after the subtree
	depth uint16
	b     byte
}

// shortBytes is the greatest length of a short token. Nearly all tokens are short, so the mask of a state is
// computed once for all states that are equivalent for this many bytes.
const shortBytes = 16

// maxToken is the greatest length of a token; longer ones are never allowed.
const maxToken = 1 << 12

// NewVocabulary returns a vocabulary of size tokens.
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

// build makes the tries of short and of long tokens, sorted by bytes.
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
	b.numbers() // sorted between texts and control tokens
	b.tokens(short[marked:])
	b.end()
	v.long = int32(len(v.trie))
	b.tokens(long)
	b.end()
}

// builder adds sorted texts to a trie.
type builder struct {
	*Vocabulary
	path   []int32 // nodes of the previous text
	before []byte
	id     int32
}

// tokens adds tokens sorted by their bytes.
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

// numbers adds all tokens by their ids.
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

// leave sets the ends of the subtrees of nodes.
func (v *Vocabulary) leave(path []int32) {
	for _, at := range path {
		v.trie[at].skip = int32(len(v.trie))
	}
}

// Words is the length of masks.
func (v *Vocabulary) Words() int { return (v.size + 31) / 32 }

// allow sets the bits of a token and of all tokens with the same bytes.
func (v *Vocabulary) allow(mask []uint32, id int32) {
	for ; id >= 0; id = v.same[id] {
		mask[id/32] |= 1 << (id % 32)
	}
}

// Allows says whether a mask has a token.
func Allows(mask []uint32, id int32) bool {
	return id >= 0 && int(id/32) < len(mask) && mask[id/32]>>(id%32)&1 != 0
}

// Bytes is the text of a token; for a control token its name, after a byte that no text has.
func (v *Vocabulary) Bytes(id int32) []byte { return v.bytes[id] }
