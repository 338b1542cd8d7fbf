package server

import (
	"bytes"
	"fmt"
)

// elements returns the elements of a list in valid JSON, unparsed, at most most. They share the list's
// memory.
func elements(data []byte, most int) (list [][]byte, err error) {
	depth, quoted, from := 0, false, 1
	add := func(to int) {
		if text := bytes.TrimSpace(data[from:to]); len(text) > 0 {
			list = append(list, text)
		}
		from = to + 1
	}
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case depth == 0 && (c == ',' || c == ']'):
			add(i)
			if len(list) > most {
				return nil, fmt.Errorf("a list of more than %d", most)
			}
			if c == ']' {
				return list, nil
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return list, nil
}
