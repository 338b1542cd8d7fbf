package ptx

import "mla/gen/msl/text"

// scan cuts source into tokens, blanks included. The brackets of an attribute are one token each, and so is what is
// between a namespace and a name.
func scan(source string) []text.Token {
	return text.Join(text.Scan(source), func(left, right *text.Token) bool {
		return left.Text == right.Text && (left.Text == "[" || left.Text == "]" || left.Text == ":")
	})
}
