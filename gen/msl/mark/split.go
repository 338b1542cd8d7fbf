package mark

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"mla/runtime/plan/pieces"
)

// kind tells tokens apart.
type kind int

const (
	comment kind = iota
	directive
	word
	symbol // or a number, or a string
)

// token is one token of Metal source; a preprocessor directive is one token.
type token struct {
	text      string
	kind      kind
	begin     int  // offset
	line      int  // from 1
	first     bool // in its line
	namespace bool // a word that is the name of a namespace
}

// scan cuts source into tokens.
func scan(source string) []token {
	var tokens []token
	isSpace := map[string]bool{}
	line, begin := 1, true
	for at := 0; at < len(source); {
		switch source[at] {
		case '\n':
			line++
			begin = true
			at++
			continue
		case ' ', '\t', '\r', '\f':
			begin = false
			at++
			continue
		}
		k, n := lexeme(source[at:])
		t := token{text: source[at : at+n], kind: k, begin: at, line: line, first: begin}
		if k == word && len(tokens) > 0 && tokens[len(tokens)-1].text == "namespace" {
			isSpace[t.text] = true
		}
		tokens = append(tokens, t)
		line += strings.Count(t.text, "\n")
		begin = false
		at += n
	}
	for i := range tokens {
		tokens[i].namespace = isSpace[tokens[i].text]
	}
	return tokens
}

// lexeme is the kind and the length of the token that text begins with.
func lexeme(text string) (kind, int) {
	c := text[0]
	switch {
	case strings.HasPrefix(text, "//"):
		return comment, lineEnd(text)
	case strings.HasPrefix(text, "/*"):
		if n := strings.Index(text[2:], "*/"); n >= 0 {
			return comment, n + 4
		}
	case c == '#':
		n := lineEnd(text)
		for n < len(text) && text[n-1] == '\\' { // it goes on
			n += 1 + lineEnd(text[n+1:])
		}
		return directive, n
	case c == '"':
		if n := stringEnd(text); n > 0 {
			return symbol, n
		}
	case isDigit(c), c == '.' && len(text) > 1 && isDigit(text[1]):
		return symbol, numberEnd(text)
	case isWord(c):
		n := 1
		for n < len(text) && isWord(text[n]) {
			n++
		}
		return word, n
	}
	_, n := utf8.DecodeRuneInString(text)
	return symbol, n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isWord(c byte) bool  { return c == '_' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }

// lineEnd is the length of the first line without its end.
func lineEnd(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// stringEnd is the length of the string that text begins with, 0 if it does not end.
func stringEnd(text string) int {
	for n := 1; n < len(text); n++ {
		switch text[n] {
		case '\\':
			n++
		case '"':
			return n + 1
		}
	}
	return 0
}

// numberEnd is the length of the number that text begins with. A sign belongs to it
// behind what may be an exponent.
func numberEnd(text string) int {
	n := 1
	for n < len(text) && (isWord(text[n]) || text[n] == '.' || strings.IndexByte("+-", text[n]) >= 0 && strings.IndexByte("eEpP", text[n-1]) >= 0) {
		n++
	}
	return n
}

// words are a directive's name, as define, and the words behind it.
func (t *token) words() []string {
	text, _, _ := strings.Cut(t.text, "//")
	return identifier.FindAllString(text, -1)
}

var identifier = regexp.MustCompile(`\b[A-Za-z_]\w*`)

// split cuts source into declarations.
func split(source string) ([]declaration, error) {
	s := &splitter{}
	for _, t := range scan(source) {
		if err := s.take(t); err != nil {
			return nil, err
		}
	}
	return s.list, s.done()
}

// done says whether the source can end here.
func (s *splitter) done() error {
	if s.open != nil && len(s.open.tokens) > 0 || s.spaces != 0 {
		return errors.New("the source, or what is between #if and #endif, ends inside a declaration")
	}
	return nil
}

// splitter puts tokens together to declarations.
type splitter struct {
	list   []declaration
	open   *declaration // nil between two
	depth  int          // of brackets, but for those of namespaces
	spaces int          // namespaces that are open
	ifs    int          // of #if
}

// take adds a token.
func (s *splitter) take(t token) error {
	if t.kind == comment && pieces.IsMark(t.text) {
		return fmt.Errorf("line %d: a mark", t.line)
	}
	if t.kind == comment && strings.HasPrefix(t.text, "/*") {
		return fmt.Errorf("line %d: a comment that is no line comment", t.line) // pieces leaves comments out line by line
	}
	if s.open == nil {
		if t.kind == comment && !t.first {
			return nil // it belongs to the declaration that it stands behind
		}
		if !t.first {
			return fmt.Errorf("line %d: a declaration that does not begin its line", t.line)
		}
		s.open = &declaration{begin: t.begin}
	}
	if t.kind == comment {
		return nil
	}
	s.open.tokens = append(s.open.tokens, t)
	if s.ends(t) {
		return s.close()
	}
	return nil
}

// ends says whether a token is the last one of the open declaration.
func (s *splitter) ends(t token) bool {
	first := s.open.tokens[0]
	if t.kind == directive {
		switch t.words()[0] {
		case "if", "ifdef", "ifndef":
			s.ifs++
		case "endif":
			s.ifs--
		}
	}
	if first.kind == directive {
		return s.ifs == 0
	}
	switch t.text {
	case "(", "[":
		s.depth++
	case ")", "]":
		s.depth--
	case "{":
		if first.text == "namespace" {
			s.spaces++
			return true
		}
		s.depth++
	case "}":
		if len(s.open.tokens) == 1 {
			s.spaces--
			return true
		}
		s.depth--
		return s.depth == 0 && s.isFunction()
	case ";":
		return s.depth == 0
	}
	return false
}

// isFunction says whether the declaration that a brace has just ended is a function.
func (s *splitter) isFunction() bool {
	depth := 0
	for i, t := range s.open.tokens {
		switch t.text {
		case "<":
			depth++
		case ">":
			depth--
		case "(":
			return true
		case "struct", "union", "enum":
			if depth == 0 {
				return false
			}
		case "=", "{":
			if i > 0 && depth == 0 {
				return false
			}
		}
	}
	return false
}

// close ends the open declaration.
func (s *splitter) close() error {
	d := s.open
	s.open = nil
	if err := d.name(); err != nil {
		return err
	}
	s.list = append(s.list, *d)
	return nil
}
