package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Escapes of text that must not be encoded as it is. U+FDD0 is a noncharacter, reserved for a program's
// internal use.
const (
	escape       = "\ufdd0"
	escapeItself = escape + "\ufdd1" // U+FDD0 in the text
	escapeBreak  = escape + "\ufdd2" // inserted to break the text of a control token; stands for nothing
)

var unescaper = strings.NewReplacer(escapeItself, escape, escapeBreak, "")

// Escape returns text in which no control token of more than one character can be found, so that it can be
// placed between control tokens: text by users and tools. Encode with Escaped, and Unescape, decode it.
func (t *Tokenizer) Escape(text string) string {
	var out strings.Builder
	rest := strings.ReplaceAll(text, escape, escapeItself)
	for {
		from, to, id := t.special.find(rest) // the search of Encode
		switch {
		case id < 0:
			return out.String() + rest
		case t.vocab.typeOf(int(id)) == TypeUserDefined: // any text may contain it
			out.WriteString(rest[:to])
		default:
			// Another one may begin inside this one, so the search continues after its first character.
			_, size := utf8.DecodeRuneInString(rest[from:])
			to = from + size
			out.WriteString(rest[:to] + escapeBreak)
		}
		rest = rest[to:]
	}
}

// Unescape returns the text that was escaped.
func Unescape(text string) string {
	if !strings.Contains(text, escape) {
		return text
	}
	return unescaper.Replace(text)
}
