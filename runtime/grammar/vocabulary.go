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
	same  []int32 // by token: another one with the same bytes, or -1
	bytes [][]byte
	ends  []int32
	depth int // of the trie: bytes of the longest token

	mu     sync.Mutex
	shared map[uint64]*stateMask // of states that are alike, in rules without calls
}

// trieNode is a byte of some tokens, in front of those that begin with the bytes up to it.
type trieNode struct {
	token int32 // that ends here, or -1
	skip  int32 // the next one that does not begin so
	depth uint16
	b     byte
}

// maxToken is how long a token may be; longer ones are never allowed.
const maxToken = 1 << 12

// NewVocabulary is a vocabulary of so many tokens.
func NewVocabulary(size int, token func(id int32) Token) *Vocabulary {
	v := &Vocabulary{size: size, same: make([]int32, size), bytes: make([][]byte, size), shared: map[uint64]*stateMask{}}
	var ids []int32
	for id := range int32(size) {
		v.same[id] = -1
		switch t := token(id); {
		case t.End:
			v.ends = append(v.ends, id)
		case len(t.Bytes) == 0 || len(t.Bytes) >= maxToken:
		case !t.Control && bytes.IndexByte(t.Bytes, markerByte) >= 0: // no text has that byte
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

// build makes the trie of tokens in the order of their bytes.
func (v *Vocabulary) build(ids []int32) {
	var path []int32 // nodes of the bytes of the token before
	last := int32(-1)
	for _, id := range ids {
		text := v.bytes[id]
		common := 0
		if last >= 0 {
			if bytes.Equal(text, v.bytes[last]) {
				v.same[id] = v.same[last]
				v.same[last] = id
				continue
			}
			for before := v.bytes[last]; common < min(len(text), len(before)) && text[common] == before[common]; {
				common++
			}
		}
		v.leave(path[common:])
		path = path[:common]
		for i := common; i < len(text); i++ {
			path = append(path, int32(len(v.trie)))
			v.trie = append(v.trie, trieNode{token: -1, b: text[i], depth: uint16(i)})
		}
		v.trie[len(v.trie)-1].token = id
		v.depth = max(v.depth, len(text))
		last = id
	}
	v.leave(path)
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

// Bytes is what a token prints; of a control token its name, behind a byte that no text has.
func (v *Vocabulary) Bytes(id int32) []byte { return v.bytes[id] }
