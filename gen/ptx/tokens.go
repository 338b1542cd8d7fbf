package ptx

import (
	"regexp"
	"strings"
)

// token is a piece of Metal source. The pieces of a source, blanks included,
// are the source when put together again.
type token struct {
	text  string
	blank bool // white space, a comment or a preprocessor line
	line  int
}

var lexeme = regexp.MustCompile(`(?s)(?P<blank>\s+|//[^\n]*|/\*.*?\*/|#(?:[^\n\\]|\\.)*)` +
	`|"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|0[xX](?:[pP][+-]\d|[\w.])*|\.?\d(?:[eE][+-]\d|[\w.])*|\[\[|\]\]|::|.`)

// scan cuts source into tokens.
func scan(source string) []token {
	var tokens []token
	line := 1
	for _, at := range lexeme.FindAllStringSubmatchIndex(source, -1) {
		text := source[at[0]:at[1]]
		tokens = append(tokens, token{text: text, blank: at[2] >= 0, line: line})
		line += strings.Count(text, "\n")
	}
	return tokens
}
