package output

import (
	"strings"
	"unicode/utf8"
)

// Width is the width of help texts, in columns: that of the narrowest terminals in use.
const Width = 80

// Wrapped breaks a text into indented lines of a width, between words.
func Wrapped(width int, text, indent string) string {
	var out strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
			out.WriteString(indent)
			column = len(indent)
		case column+1+n > width:
			out.WriteString("\n" + indent)
			column = len(indent)
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String() + "\n"
}
