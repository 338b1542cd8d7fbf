package server

import "fmt"

// Limits on the number of values in a JSON text. A decoded value takes some hundred bytes, however short its
// text is, and a template may copy it.
const (
	maxValues  = 1 << 17
	maxNumbers = 1 << 22 // in a prompt that is a list of tokens
)

// checkValues checks a JSON text that is encoded as a string within another one.
func checkValues(text string) error {
	return (&scanner[string]{data: text, objects: 2, deepest: len(text)}).scan()
}

// scanner counts the values of a text that should be JSON.
type scanner[T string | []byte] struct {
	data            T
	deepest         int // allowed levels
	level, objects  int // currently open
	values, numbers int
}

// scan fails if the text is too deep or has too many values.
func (s *scanner[T]) scan() error {
	quoted := false
	for i := 0; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[' || c == ',':
			if err := s.begin(c, s.data[i+1:]); err != nil {
				return err
			}
		case c == '}':
			s.level--
			s.objects--
		case c == ']':
			s.level--
		}
	}
	return nil
}

// begin counts the value after an opening bracket or a comma.
func (s *scanner[T]) begin(c byte, rest T) error {
	if c != ',' {
		s.level++
	}
	if c == '{' {
		s.objects++
	}
	if s.objects == 1 && isNumber(rest) {
		s.numbers++
	} else {
		s.values++
	}
	switch {
	case s.level > s.deepest:
		return fmt.Errorf("more than %d levels", s.deepest)
	case s.values > maxValues:
		return fmt.Errorf("more than %d values", maxValues)
	case s.numbers > maxNumbers:
		return fmt.Errorf("more than %d numbers", maxNumbers)
	}
	return nil
}

// isNumber says whether a number comes next.
func isNumber[T string | []byte](rest T) bool {
	for i := range len(rest) {
		switch c := rest[i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c == '-' || c >= '0' && c <= '9'
		}
	}
	return false
}
