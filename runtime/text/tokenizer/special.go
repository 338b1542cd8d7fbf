package tokenizer

// specials finds special tokens in text: a trie over their bytes.
type specials struct {
	edges map[edge]int32
	ids   []int32 // token that ends in this node, or -1
	first [256]bool
}

type edge struct {
	node int32
	b    byte
}

func newSpecials() *specials {
	return &specials{edges: map[edge]int32{}, ids: []int32{-1}}
}

func (s *specials) add(token string, id int32) {
	s.first[token[0]] = true
	node := int32(0)
	for i := range len(token) {
		e := edge{node, token[i]}
		next, ok := s.edges[e]
		if !ok {
			next = int32(len(s.ids))
			s.ids = append(s.ids, -1)
			s.edges[e] = next
		}
		node = next
	}
	s.ids[node] = id
}

// find returns the first special token in text, the longest one at its position; from is len(text) if there
// is none.
func (s *specials) find(text string) (from, to int, id int32) {
	for from = range len(text) {
		if !s.first[text[from]] {
			continue
		}
		if to, id = s.longest(text, from); id >= 0 {
			return from, to, id
		}
	}
	return len(text), len(text), -1
}

func (s *specials) longest(text string, from int) (to int, id int32) {
	id = -1
	node := int32(0)
	for i := from; i < len(text); i++ {
		next, ok := s.edges[edge{node, text[i]}]
		if !ok {
			break
		}
		node = next
		if s.ids[node] >= 0 {
			to, id = i+1, s.ids[node]
		}
	}
	return to, id
}

// IsMarker says whether a token marks a part of a text instead of being text: a token that prints nothing, or
// a user-defined one in angle or square brackets.
func (t *Tokenizer) IsMarker(id int32) bool {
	text := t.TokenText(id)
	if text == "" {
		return false
	}
	switch t.vocab.typeOf(int(id)) {
	case TypeNormal, TypeByte:
		return false
	case TypeUserDefined:
		last := text[len(text)-1]
		return len(text) > 2 && (text[0] == '<' && last == '>' || text[0] == '[' && last == ']')
	}
	return true
}
