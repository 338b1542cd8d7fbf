package tokenizer

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// appendBytes appends the text of a token: the bytes of a normal token, the text of a user-defined one;
// nothing for control, unknown and unused tokens and for ids outside the vocabulary.
func (t *Tokenizer) appendBytes(dst []byte, id int32) []byte {
	token := t.TokenText(id)
	if token == "" {
		return dst
	}
	switch t.vocab.typeOf(int(id)) {
	case TypeNormal:
		if t.vocab.Model == modelSPM {
			return append(dst, strings.ReplaceAll(token, spaceMark, " ")...)
		}
		return appendRaw(dst, token)
	case TypeUserDefined:
		return append(dst, token...)
	case TypeByte:
		if b, ok := byteToken(token); ok {
			return append(dst, b)
		}
	}
	return dst
}

// appendRaw appends the bytes of an entry; characters outside the byte alphabet stand for themselves.
func appendRaw(dst []byte, token string) []byte {
	for _, r := range token {
		if r < alphabetSize && byteOfChar[r] >= 0 {
			dst = append(dst, byte(byteOfChar[r]))
			continue
		}
		dst = append(dst, string(r)...)
	}
	return dst
}

// TokenBytes is the text of a token, which need not be whole characters.
func (t *Tokenizer) TokenBytes(id int32) []byte { return t.appendBytes(nil, id) }

// Decode returns the text of tokens, without control tokens. Each byte that is not valid UTF-8 becomes
// U+FFFD. The space that Encode puts before a text is removed.
func (t *Tokenizer) Decode(ids []int32) string {
	var b []byte
	for _, id := range ids {
		b = t.appendBytes(b, id)
	}
	if t.vocab.AddSpacePrefix {
		b = bytes.TrimPrefix(b, []byte(" "))
	}
	return validUTF8(b)
}

// validUTF8 replaces every byte that is not part of a character by U+FFFD.
func validUTF8(b []byte) string {
	var s strings.Builder
	s.Grow(len(b))
	for _, r := range string(b) {
		s.WriteRune(r)
	}
	return s.String()
}

// Stream decodes token by token. It holds back a character whose bytes are spread over several tokens until
// it is complete, so every returned string is valid UTF-8, and together they are what Decode returns. A
// stream continues a text: it keeps the space that Decode removes at the beginning.
type Stream struct {
	t    *Tokenizer
	held []byte
}

// NewStream returns a Stream with nothing held back.
func (t *Tokenizer) NewStream() *Stream { return &Stream{t: t} }

// Push adds a token and returns the text that is complete now.
func (s *Stream) Push(id int32) string {
	s.held = s.t.appendBytes(s.held, id)
	n := completeUTF8(s.held)
	text := validUTF8(s.held[:n])
	s.held = append(s.held[:0], s.held[n:]...)
	return text
}

// Flush returns what was held back, as U+FFFD, and makes the Stream empty.
func (s *Stream) Flush() string {
	text := validUTF8(s.held)
	s.held = s.held[:0]
	return text
}

// completeUTF8 returns the length of the longest prefix of b that does not
// end in the middle of a character.
func completeUTF8(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(b)); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}
