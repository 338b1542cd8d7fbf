package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// stringMethods are Python's methods of str.
func stringMethods() map[string]func(s *state, self Value, a args) Value {
	all := map[string]func(s *state, self Value, a args) Value{}
	for name, f := range plainMethods {
		all[name] = func(s *state, self Value, a args) Value {
			text, _ := textOf(self)
			s.bind(name, a)
			s.charge(3 * len(text))
			return like(self, f(text))
		}
	}
	for name, f := range characterTests {
		all[name] = func(s *state, self Value, a args) Value {
			text, _ := textOf(self)
			s.bind(name, a)
			s.scan(4 * len(text))
			return f(text)
		}
	}
	for name, f := range otherMethods {
		all[name] = func(s *state, self Value, a args) Value {
			text, _ := textOf(self)
			s.scan(len(text))
			return like(self, f(s, text, a))
		}
	}
	return all
}

// like makes a text (or the texts of a list) safe if self is safe.
func like(self, made Value) Value {
	if _, safe := self.(markup); !safe {
		return made
	}
	if text, ok := made.(string); ok {
		return markup(text)
	}
	items, _ := sequence(made)
	for i, x := range items {
		items[i] = like(self, x)
	}
	return made
}

// plainMethods take no arguments.
var plainMethods = map[string]func(text string) string{
	"upper": upper, "lower": lower, "title": title, "capitalize": capitalize, "swapcase": swapCase,
}

// characterTests is methods that test all characters.
var characterTests = map[string]func(text string) bool{
	"isalpha":   all(unicode.IsLetter),
	"isalnum":   all(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	"isdecimal": all(unicode.IsDigit),
	"isdigit": all(func(r rune) bool {
		return unicode.IsDigit(r) || strings.ContainsRune("¹²³⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r)
	}),
	"isnumeric": all(unicode.IsNumber),
	"isspace":   all(isSpace),
	"isascii":   func(text string) bool { return text == "" || all(func(r rune) bool { return r < utf8.RuneSelf })(text) },
	"isprintable": func(text string) bool {
		return text == "" || all(unicode.IsPrint)(text)
	},
	"islower": cased(unicode.IsLower, isUpper),
	"isupper": cased(isUpper, unicode.IsLower),
	"istitle": isTitle,
	"isidentifier": func(text string) bool {
		first, _ := utf8.DecodeRuneInString(text)
		return !unicode.IsNumber(first) && all(isWord)(text)
	},
}

func isUpper(r rune) bool { return unicode.IsUpper(r) || unicode.IsTitle(r) }

func all(is func(rune) bool) func(string) bool {
	return func(text string) bool {
		return text != "" && strings.IndexFunc(text, func(r rune) bool { return !is(r) }) < 0
	}
}

// cased says whether a text has letters of one kind and none of the other.
func cased(is, not func(rune) bool) func(string) bool {
	return func(text string) bool {
		return strings.IndexFunc(text, is) >= 0 && strings.IndexFunc(text, not) < 0
	}
}

func isTitle(text string) bool {
	found, within := false, false
	for _, r := range text {
		switch {
		case isUpper(r):
			if within {
				return false
			}
			found, within = true, true
		case unicode.IsLower(r):
			if !within {
				return false
			}
		default:
			within = false
		}
	}
	return found
}

// otherMethods take arguments, or do not return a text.
var otherMethods = map[string]func(s *state, text string, a args) Value{
	"strip":  trimMethod(strings.TrimFunc),
	"lstrip": trimMethod(strings.TrimLeftFunc),
	"rstrip": trimMethod(strings.TrimRightFunc),
	"removeprefix": func(s *state, text string, a args) Value {
		return strings.TrimPrefix(text, s.text("removeprefix", s.bind("removeprefix", a, "prefix")[0]))
	},
	"removesuffix": func(s *state, text string, a args) Value {
		return strings.TrimSuffix(text, s.text("removesuffix", s.bind("removesuffix", a, "suffix")[0]))
	},
	"startswith": affixMethod("startswith", strings.HasPrefix),
	"endswith":   affixMethod("endswith", strings.HasSuffix),
	"split":      splitMethod("split", false),
	"rsplit":     splitMethod("rsplit", true),
	"splitlines": func(s *state, text string, a args) Value {
		return s.texts(splitLines(text, truth(or(s.bind("splitlines", a, "keepends=")[0], false))))
	},
	"partition":  partitionMethod("partition", strings.Index, 0),
	"rpartition": partitionMethod("rpartition", strings.LastIndex, 2),
	"find":       findMethod("find", strings.Index, false),
	"rfind":      findMethod("rfind", strings.LastIndex, false),
	"index":      findMethod("index", strings.Index, true),
	"rindex":     findMethod("rindex", strings.LastIndex, true),
	"count": func(s *state, text string, a args) Value {
		b := s.bind("count", a, "sub", "start=", "end=")
		part, _, ok := s.part(text, b[1], b[2])
		if !ok {
			return 0
		}
		return strings.Count(part, s.text("count", b[0]))
	},
	"replace": func(s *state, text string, a args) Value {
		b := s.bind("replace", a, "old", "new", "count=")
		return s.replace(text, s.text("replace", b[0]), s.text("replace", b[1]), s.integer("replace", or(b[2], -1)))
	},
	"join": func(s *state, text string, a args) Value {
		items := s.items(s.bind("join", a, "iterable")[0])
		for i, v := range items {
			if _, ok := textOf(v); !ok {
				s.refuse(v)
				fail("sequence item %d: expected str instance, %s found", i, typeName(v))
			}
		}
		return s.join(text, items)
	},
	"center": padMethod("center", "^"),
	"ljust":  padMethod("ljust", "<"),
	"rjust":  padMethod("rjust", ">"),
	"zfill": func(s *state, text string, a args) Value {
		sign := text[:len(text)-len(strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+"))]
		sign = sign[:min(len(sign), 1)]
		spec := formatSpec{fill: "0", align: ">", width: s.integer("zfill", s.bind("zfill", a, "width")[0]) - len(sign)}
		return sign + spec.pad(s, text[len(sign):], ">")
	},
	"expandtabs": func(s *state, text string, a args) Value {
		return s.expandTabs(text, s.integer("expandtabs", or(s.bind("expandtabs", a, "tabsize=")[0], 8)))
	},
	"format": formatMethod,
}

func trimMethod(trim func(string, func(rune) bool) string) func(s *state, text string, a args) Value {
	return func(s *state, text string, a args) Value {
		chars := or(s.bind("strip", a, "chars=")[0], nil)
		if chars == nil {
			return trim(text, isSpace)
		}
		set := s.text("strip", chars)
		s.scan(len(text) * min(len(set), 64))
		return trim(text, func(r rune) bool { return strings.ContainsRune(set, r) })
	}
}

// part is a text from start to stop, its offset, and whether that range is valid; an empty text is only found
// in a valid range.
func (s *state) part(text string, start, stop Value) (part string, from int, inside bool) {
	start, stop = or(start, nil), or(stop, nil)
	n := runes(text)
	pick := s.span(n, start, stop, nil)
	inside = start == nil || s.sliceIndex(start) <= n
	if stop != nil && s.span(n, stop, nil, nil).start < pick.start {
		inside = false
	}
	return s.sliceText(text, pick), pick.start, inside
}

// affixMethod is a method whose argument is a text or a tuple of texts.
func affixMethod(name string, has func(text, part string) bool) func(s *state, text string, a args) Value {
	return func(s *state, text string, a args) Value {
		b := s.bind(name, a, "prefix", "start=", "end=")
		part, _, inside := s.part(text, b[1], b[2])
		options := []Value{b[0]}
		if t, ok := b[0].(*tuple); ok {
			options = t.items
		}
		for _, option := range options {
			s.spend(1)
			if has(part, s.text(name, option)) && inside {
				return true
			}
		}
		return false
	}
}

// partitionMethod splits in three. If the separator is not found, the whole text is at index whole.
func partitionMethod(name string, find func(text, part string) int, whole int) func(s *state, text string, a args) Value {
	return func(s *state, text string, a args) Value {
		sep := s.text(name, s.bind(name, a, "sep")[0])
		if sep == "" {
			fail("empty separator")
		}
		parts := []Value{"", "", ""}
		if i := find(text, sep); i >= 0 {
			parts = []Value{text[:i], sep, text[i+len(sep):]}
		} else {
			parts[whole] = text
		}
		return &tuple{items: parts}
	}
}

func findMethod(name string, find func(text, part string) int, must bool) func(s *state, text string, a args) Value {
	return func(s *state, text string, a args) Value {
		b := s.bind(name, a, "sub", "start=", "end=")
		part, from, inside := s.part(text, b[1], b[2])
		if i := find(part, s.text(name, b[0])); i >= 0 && inside {
			return from + runes(part[:i])
		}
		if must {
			fail("substring not found")
		}
		return -1
	}
}

// replace is str.replace; a negative count means all.
func (s *state) replace(text, old, with string, count int) string {
	found := strings.Count(text, old)
	if count >= 0 {
		found = min(found, count)
	}
	s.charge(len(text) + times(len(with), found))
	return strings.Replace(text, old, with, count)
}

// join joins the texts of values.
func (s *state) join(sep string, items []Value) string {
	parts := make([]string, len(items))
	size := times(len(sep), len(items)-1)
	s.charge(times(len(items), 16))
	for i, v := range items {
		parts[i] = s.str(v)
		size += len(parts[i])
	}
	s.charge(size)
	return strings.Join(parts, sep)
}

func padMethod(name, align string) func(s *state, text string, a args) Value {
	return func(s *state, text string, a args) Value {
		b := s.bind(name, a, "width", "fillchar=")
		spec := formatSpec{fill: s.text(name, or(b[1], " ")), align: align, width: s.integer(name, b[0])}
		if runes(spec.fill) != 1 {
			fail("the fill character must be exactly one character long")
		}
		// Python puts the extra character on the left if the width is odd.
		if missing := spec.width - runes(text); align == "^" && missing > 0 && missing%2 == 1 && spec.width%2 == 1 {
			s.charge(len(spec.fill) + len(text))
			text = spec.fill + text
		}
		return spec.pad(s, text, align)
	}
}

func (s *state) expandTabs(text string, size int) string {
	s.charge(len(text) + times(strings.Count(text, "\t"), max(size, 0)))
	var out strings.Builder
	column := 0
	for _, r := range text {
		switch {
		case r == '\t':
			if size > 0 {
				n := size - column%size
				column += n
				out.WriteString(strings.Repeat(" ", n))
			}
			continue
		case r == '\n' || r == '\r':
			column = -1
		}
		column++
		out.WriteRune(r)
	}
	return out.String()
}
