package ptx

import "mla/gen/msl/text"

// scan splits source into tokens, including blanks. The double brackets of an attribute are one token each,
// and so is ::.
func scan(source string) []text.Token {
	return text.Join(text.Scan(source), func(left, right *text.Token) bool {
		return left.Text == right.Text && (left.Text == "[" || left.Text == "]" || left.Text == ":")
	})
}
