package mark

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mla/gen/msl/text"
	"mla/runtime/plan/pieces"
)

// token is a token of Metal source other than white space.
type token struct {
	text.Token
	namespace bool // the word names a namespace
}

// scan cuts source into tokens.
func scan(source string) []token {
	var tokens []token
	isSpace := map[string]bool{}
	for _, t := range text.Scan(source) {
		if t.Kind == text.Space {
			continue
		}
		if t.Kind == text.Word && len(tokens) > 0 && tokens[len(tokens)-1].Text == "namespace" {
			isSpace[t.Text] = true
		}
		tokens = append(tokens, token{Token: t})
	}
	for i := range tokens {
		tokens[i].namespace = isSpace[tokens[i].Text]
	}
	return tokens
}

// words returns the name of a directive, such as define, and the words after it.
func (t *token) words() []string {
	before, _, _ := strings.Cut(t.Text, "//")
	return identifier.FindAllString(before, -1)
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

// done returns an error if the source cannot end here.
func (s *splitter) done() error {
	if s.open != nil && len(s.open.tokens) > 0 || s.spaces != 0 {
		return errors.New("the source, or what is between #if and #endif, ends inside a declaration")
	}
	return nil
}

// splitter groups tokens into declarations.
type splitter struct {
	list   []declaration
	open   *declaration // nil between declarations
	depth  int          // of open brackets, without those of namespaces
	spaces int          // open namespaces
	ifs    int          // open #if
}

// take adds a token.
func (s *splitter) take(t token) error {
	if t.Kind == text.Comment && pieces.IsMark(t.Text) {
		return fmt.Errorf("line %d: a mark", t.Line)
	}
	if t.Kind == text.Comment && strings.HasPrefix(t.Text, "/*") {
		return fmt.Errorf("line %d: a comment that is no line comment", t.Line) // pieces leaves comments out line by line
	}
	if s.open == nil {
		if t.Kind == text.Comment && !t.First {
			return nil // it belongs to the declaration before it
		}
		if !t.First {
			return fmt.Errorf("line %d: a declaration that does not begin its line", t.Line)
		}
		s.open = &declaration{begin: t.Begin}
	}
	if t.Kind == text.Comment {
		return nil
	}
	s.open.tokens = append(s.open.tokens, t)
	if s.ends(t) {
		return s.close()
	}
	return nil
}

// ends reports whether a token is the last one of the open declaration.
func (s *splitter) ends(t token) bool {
	first := s.open.tokens[0]
	if t.Kind == text.Directive {
		switch t.words()[0] {
		case "if", "ifdef", "ifndef":
			s.ifs++
		case "endif":
			s.ifs--
		}
	}
	if first.Kind == text.Directive {
		return s.ifs == 0
	}
	switch t.Text {
	case "(", "[":
		s.depth++
	case ")", "]":
		s.depth--
	case "{":
		if first.Text == "namespace" {
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

// isFunction reports whether the declaration that a brace has just ended is a function.
func (s *splitter) isFunction() bool {
	depth := 0
	for i, t := range s.open.tokens {
		switch t.Text {
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
