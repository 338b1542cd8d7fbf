package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Escaped text has these for what must not be there as it is. U+FDD0 stands for no character
// and never will; it is for a program's own use within texts.
const (
	escape       = "\ufdd0"
	escapeItself = escape + "\ufdd1" // U+FDD0 in the text
	escapeBreak  = escape + "\ufdd2" // nothing, within what would else be a control token
)

var unescaper = strings.NewReplacer(escapeItself, escape, escapeBreak, "")

// Escape returns text in which no control token of more than one character can be found, to
// be put between control tokens: what users and tools have written. Encode with Escaped, and
// Unescape, read it.
func (t *Tokenizer) Escape(text string) string {
	var out strings.Builder
	rest := strings.ReplaceAll(text, escape, escapeItself)
	for {
		from, to, id := t.special.find(rest) // as Encode searches
		switch {
		case id < 0:
			return out.String() + rest
		case t.vocab.typeOf(int(id)) == TypeUserDefined: // any text may have it
			out.WriteString(rest[:to])
		default:
			// Another one may begin within this one, so the search goes on after its first character.
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
