package frontend

import (
	"regexp"
	"strings"
)

// kind tells tokens apart.
type kind int

const (
	word kind = iota
	number
	symbol
)

// token is one token of Metal source.
type token struct {
	text string
	kind kind
	line int
}

var lexeme = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|#[^\n]*|\n|"(?:\\.|[^"\\])*"` +
	`|(?P<word>[A-Za-z_]\w*)|(?P<number>(?:0[xX](?:[pP][+-]\d|[\w.])*|\.?\d(?:[eE][+-]\d|[\w.])*))|(?P<symbol>[^\s\w])`)

// scan cuts source into tokens, without comments, strings and preprocessor lines.
func scan(source string) []token {
	var tokens []token
	line := 1
	for _, m := range lexeme.FindAllStringSubmatchIndex(source, -1) {
		for k := word; k <= symbol; k++ {
			if at := 2 * (int(k) + 1); m[at] >= 0 {
				tokens = append(tokens, token{source[m[at]:m[at+1]], k, line})
			}
		}
		line += strings.Count(source[m[0]:m[1]], "\n")
	}
	return tokens
}

// words is a set of words.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
