package mark

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

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

var (
	lexeme = regexp.MustCompile(`(?s)(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<directive>#(?:\\\n|[^\n])*)` +
		`|(?P<word>[A-Za-z_]\w*)|(?P<symbol>"(?:\\.|[^"\\])*"|\.?\d(?:[eEpP][+-]|[\w.])*|[^\s\w])`)
	spaces = regexp.MustCompile(`\bnamespace\s+(\w+)`)
)

// scan cuts source into tokens.
func scan(source string) []token {
	isSpace := map[string]bool{}
	for _, m := range spaces.FindAllStringSubmatch(source, -1) {
		isSpace[m[1]] = true
	}
	var tokens []token
	line, counted := 1, 0
	for _, m := range lexeme.FindAllStringSubmatchIndex(source, -1) {
		line += strings.Count(source[counted:m[0]], "\n")
		counted = m[0]
		for k := comment; k <= symbol; k++ {
			if at := 2 * (int(k) + 1); m[at] >= 0 {
				text := source[m[at]:m[at+1]]
				tokens = append(tokens, token{text, k, m[0], line, m[0] == 0 || source[m[0]-1] == '\n', isSpace[text]})
			}
		}
	}
	return tokens
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
