package jinja

import (
	"strings"
	"unicode"
)

// filter is a filter: a function of a value and more arguments.
type filter func(s *state, v Value, a args) Value

// filters is jinja2's filters that a chat template may use. Filters for web pages (xmlattr, urlize,
// striptags), for debugging, and random ones are left out.
var filters map[string]filter

func init() {
	filters = map[string]filter{
		"abs": absFilter, "attr": attrFilter, "batch": batchFilter, "capitalize": textFilter(capitalize), "center": centerFilter,
		"count": lengthFilter, "d": defaultFilter, "default": defaultFilter, "dictsort": dictSortFilter, "e": escapeFilter,
		"escape": escapeFilter, "first": firstFilter, "float": floatFilter, "forceescape": forceEscapeFilter, "format": formatFilter,
		"groupby": groupByFilter, "indent": indentFilter, "int": intFilter, "items": itemsFilter, "join": joinFilter, "last": lastFilter,
		"length": lengthFilter, "list": listFilter, "lower": textFilter(lower), "map": mapFilter, "max": extremeFilter("max", 1),
		"min": extremeFilter("min", -1), "reject": selectFilter("reject", false, false), "rejectattr": selectFilter("rejectattr", true, false),
		"replace": replaceFilter, "reverse": reverseFilter, "round": roundFilter, "safe": safeFilter,
		"select": selectFilter("select", false, true), "selectattr": selectFilter("selectattr", true, true), "slice": sliceFilter,
		"sort": sortFilter, "string": stringFilter, "sum": sumFilter, "title": textFilter(titleWords), "tojson": toJSON,
		"trim": trimFilter, "truncate": truncateFilter, "unique": uniqueFilter, "upper": textFilter(upper), "urlencode": urlEncodeFilter,
		"wordcount": wordCountFilter,
	}
}

func noFilter(name string) string {
	if name == "random" {
		return "the filter random is not supported: a prompt has to be the same each time"
	}
	return "no filter named " + quote(name)
}

func (s *state) filter(name string, v Value, a args) Value {
	f := filters[name]
	if f == nil {
		fail("%s", noFilter(name))
	}
	s.spend(1)
	return f(s, v, a)
}

// textFilter changes a value's text.
func textFilter(change func(string) string) filter {
	return func(s *state, v Value, a args) Value {
		s.bind("the filter", a)
		text := s.str(v)
		s.charge(3 * len(text))
		return like(v, change(text))
	}
}

// titleWords is jinja2's title. It begins words after fewer marks than Python's.
func titleWords(text string) string {
	var out strings.Builder
	begins := true
	for _, r := range text {
		if begins {
			out.WriteString(upper(string(r)))
		} else {
			out.WriteString(lower(string(r)))
		}
		begins = r == '-' || isSpace(r) || strings.ContainsRune("({[<", r)
	}
	return out.String()
}

func absFilter(s *state, v Value, a args) Value {
	s.bind("abs", a)
	if !isNumber(v) {
		s.refuse(v)
		fail("bad operand type for abs(): %s", quote(typeName(v)))
	}
	if order, _ := compareNumbers(v, 0); order < 0 {
		return s.sign("-", v)
	}
	return s.sign("+", v)
}

func attrFilter(s *state, v Value, a args) Value {
	name := s.str(s.bind("attr", a, "name")[0])
	if found, ok := s.own(v, name); ok {
		return found
	}
	return missingItem(v, quote(name))
}

func centerFilter(s *state, v Value, a args) Value {
	width := or(s.bind("center", a, "width=")[0], 80)
	return like(v, padMethod("center", "^")(s, s.str(v), args{list: []Value{width}}))
}

func defaultFilter(s *state, v Value, a args) Value {
	b := s.bind("default", a, "default_value=", "boolean=")
	if _, missing := v.(*undefined); missing || truth(or(b[1], false)) && !truth(v) {
		return or(b[0], "")
	}
	return v
}

func escapeFilter(s *state, v Value, a args) Value {
	s.bind("escape", a)
	return markup(s.escape(v))
}

func forceEscapeFilter(s *state, v Value, a args) Value {
	s.bind("forceescape", a)
	return markup(s.escape(s.str(v)))
}

func safeFilter(s *state, v Value, a args) Value {
	s.bind("safe", a)
	return markup(s.str(v))
}

func stringFilter(s *state, v Value, a args) Value {
	s.bind("string", a)
	return marked(s.str(v), like(v, "") == Value(markup("")))
}

func formatFilter(s *state, v Value, a args) Value {
	if len(a.names) > 0 && len(a.list) > 0 {
		fail("format takes arguments with names or without, not both")
	}
	_, safe := v.(markup)
	if len(a.names) == 0 {
		return marked(s.percent(s.str(v), &tuple{items: a.list}, safe), safe)
	}
	d := &Dict{}
	s.updateFrom(d, "format", a)
	return marked(s.percent(s.str(v), d, safe), safe)
}

func indentFilter(s *state, v Value, a args) Value {
	b := s.bind("indent", a, "width=", "first=", "blank=")
	by, isText := textOf(or(b[0], 4))
	if !isText {
		n := max(s.integer("indent", or(b[0], 4)), 0)
		s.charge(n)
		by = strings.Repeat(" ", n)
	}
	blank := truth(or(b[2], false))
	lines := splitLines(s.text("indent", v)+"\n", false)
	size := 0
	for i, line := range lines {
		size += len(line) + 1
		if i > 0 && (line != "" || blank) || i == 0 && truth(or(b[1], false)) {
			size += len(by)
			s.charge(len(by) + len(line))
			lines[i] = by + line
		}
	}
	s.charge(size + times(len(lines), 16))
	return like(v, strings.Join(lines, "\n"))
}

func joinFilter(s *state, v Value, a args) Value {
	b := s.bind("join", a, "d=", "attribute=")
	items := s.items(v)
	if by := or(b[1], nil); by != nil {
		get := s.getter(by, nil)
		for i, x := range items {
			items[i] = get(x)
		}
	}
	return s.join(s.str(or(b[0], "")), items)
}

func replaceFilter(s *state, v Value, a args) Value {
	b := s.bind("replace", a, "old", "new", "count=")
	count := -1
	if given := or(b[2], nil); given != nil {
		count = s.integer("replace", given)
	}
	return s.replace(s.str(v), s.str(b[0]), s.str(b[1]), count)
}

func trimFilter(s *state, v Value, a args) Value {
	b := s.bind("trim", a, "chars=")
	return like(v, trimMethod(strings.TrimFunc)(s, s.str(v), args{list: []Value{or(b[0], nil)}}))
}

func truncateFilter(s *state, v Value, a args) Value {
	b := s.bind("truncate", a, "length=", "killwords=", "end=", "leeway=")
	most := s.integer("truncate", or(b[0], 255))
	end := s.str(or(b[2], "..."))
	leeway := 5
	if given := or(b[3], nil); given != nil {
		leeway = s.integer("truncate", given)
	}
	if most < runes(end) || leeway < 0 {
		fail("truncate: the length has to be at least that of the end, and the leeway at least 0")
	}
	if n, ok := length(v); ok && n-leeway <= most {
		return v // a short list may be a single item, too
	}
	text := s.text("truncate", v)
	s.charge(len(text) + len(end))
	cut := text[:runeOffset(text, most-runes(end))]
	if !truth(or(b[1], false)) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	return like(v, cut+end)
}

func wordCountFilter(s *state, v Value, a args) Value {
	s.bind("wordcount", a)
	text := s.str(v)
	s.scan(4 * len(text))
	return len(strings.FieldsFunc(text, func(r rune) bool { return !isWord(r) }))
}

// urlEncodeFilter escapes a text for a URL, or makes a query from pairs.
func urlEncodeFilter(s *state, v Value, a args) Value {
	s.bind("urlencode", a)
	d, isDict := v.(*Dict)
	if _, isText := textOf(v); isText || !isDict && !iterable(v) {
		return s.urlQuote(s.str(v), "/")
	}
	pairs := s.items(v)
	if isDict {
		pairs = s.items(&view{d, "dict_items"})
	}
	parts := make([]Value, len(pairs))
	for i, p := range pairs {
		both := s.items(p)
		if len(both) != 2 {
			fail("urlencode expects pairs")
		}
		query := func(v Value) string { return strings.ReplaceAll(s.urlQuote(s.str(v), ""), "%20", "+") }
		parts[i] = query(both[0]) + "=" + query(both[1])
	}
	return s.join("&", parts)
}

func (s *state) urlQuote(text, safe string) string {
	const hex = "0123456789ABCDEF"
	s.charge(6 * len(text))
	var out strings.Builder
	for i := range len(text) {
		c := text[i]
		if c < 0x80 && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) || strings.IndexByte("_.-~"+safe, c) >= 0) {
			out.WriteByte(c)
		} else {
			out.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return out.String()
}
