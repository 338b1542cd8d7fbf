package jinja

import "strings"

func splitMethod(name string, fromEnd bool) func(s *state, text string, a args) Value {
	return func(s *state, text string, a args) Value {
		b := s.bind(name, a, "sep=", "maxsplit=")
		most := s.integer(name, or(b[1], -1))
		sep := ""
		if given := or(b[0], nil); given != nil {
			if sep = s.text(name, given); sep == "" {
				fail("empty separator")
			}
		}
		next := func(rest string) (string, string, bool) { return strings.Cut(rest, sep) }
		switch {
		case sep == "" && fromEnd:
			return s.splitSpaceFromEnd(text, most)
		case sep == "":
			return s.splitSpace(text, most)
		case fromEnd:
			return s.splitFromEnd(text, sep, most)
		}
		var parts []string
		for most < 0 || len(parts) < most {
			part, rest, found := next(text)
			if !found {
				break
			}
			s.charge(overhead)
			parts, text = append(parts, part), rest
		}
		return s.texts(append(parts, text))
	}
}

func (s *state) splitFromEnd(text, sep string, most int) Value {
	var parts []string
	for most < 0 || len(parts) < most {
		i := strings.LastIndex(text, sep)
		if i < 0 {
			break
		}
		s.charge(overhead)
		parts, text = append(parts, text[i+len(sep):]), text[:i]
	}
	return s.texts(reversed(append(parts, text)))
}

// splitSpace splits at runs of white space.
func (s *state) splitSpace(text string, most int) Value {
	var parts []string
	for text = strings.TrimLeftFunc(text, isSpace); text != ""; {
		i := strings.IndexFunc(text, isSpace)
		if i < 0 || most >= 0 && len(parts) == most {
			parts = append(parts, text)
			break
		}
		s.charge(overhead)
		parts = append(parts, text[:i])
		text = strings.TrimLeftFunc(text[i:], isSpace)
	}
	return s.texts(parts)
}

func (s *state) splitSpaceFromEnd(text string, most int) Value {
	var parts []string
	for text = strings.TrimRightFunc(text, isSpace); text != ""; {
		i := strings.LastIndexFunc(text, isSpace)
		if i < 0 || most >= 0 && len(parts) == most {
			parts = append(parts, text)
			break
		}
		i += firstRune(text[i:])
		s.charge(overhead)
		parts = append(parts, text[i:])
		text = strings.TrimRightFunc(text[:i], isSpace)
	}
	return s.texts(reversed(parts))
}

func reversed(list []string) []string {
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// texts converts texts to a list.
func (s *state) texts(parts []string) Value {
	s.charge(times(len(parts), overhead) + overhead)
	items := make([]Value, len(parts))
	for i, p := range parts {
		items[i] = p
	}
	return &List{items: items}
}

// lineEnds is the characters at which Python's splitlines splits.
const lineEnds = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

func splitLines(text string, keep bool) (lines []string) {
	for text != "" {
		i := strings.IndexAny(text, lineEnds)
		if i < 0 {
			return append(lines, text)
		}
		end := i + firstRune(text[i:])
		if strings.HasPrefix(text[i:], "\r\n") {
			end = i + 2
		}
		if keep {
			i = end
		}
		lines, text = append(lines, text[:i]), text[end:]
	}
	return lines
}
