package jinja

import (
	"regexp"
	"strconv"
	"strings"
)

// formatMethod is str.format: {} with names, attributes, items, conversions and formats.
func formatMethod(s *state, text string, a args) Value {
	b := &braces{state: s, args: a}
	b.write(text, 2)
	return b.out.String()
}

type braces struct {
	state *state
	args  args
	next  int
	out   strings.Builder
}

func (b *braces) add(text string) {
	b.state.charge(2 * len(text))
	b.out.WriteString(text)
}

// write formats a text whose fields may be nested up to levels deep.
func (b *braces) write(text string, levels int) {
	if levels == 0 {
		fail("a format has too many levels of braces")
	}
	for text != "" {
		i := strings.IndexAny(text, "{}")
		if i < 0 {
			b.add(text)
			return
		}
		b.add(text[:i])
		mark := text[i : i+1]
		text = text[i+1:]
		switch {
		case strings.HasPrefix(text, mark):
			b.add(mark)
			text = text[1:]
		case mark == "}":
			fail("Single '}' encountered in format string")
		default:
			end := matching(text)
			b.field(text[:end], levels)
			text = text[end+1:]
		}
	}
}

// matching is the index of the brace that ends a field.
func matching(text string) int {
	open := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	fail("expected '}' before end of string")
	return 0
}

var fieldName = regexp.MustCompile(`^(\w*)((?:\.\w+|\[[^\]]+\])*)(![rsa])?(?::|$)`)

// field writes one field without its braces.
func (b *braces) field(text string, levels int) {
	m := fieldName.FindStringSubmatch(text)
	if m == nil {
		fail("the field {%s} of a format is not supported", text)
	}
	v := b.path(b.argument(m[1]), m[2])
	spec := text[min(len(m[0]), len(text)):]
	if strings.Contains(spec, "{") {
		inner := &braces{state: b.state, args: b.args, next: b.next}
		inner.write(spec, levels-1)
		spec, b.next = inner.out.String(), inner.next
	}
	switch m[3] {
	case "!s":
		v = b.state.str(v)
	case "!r", "!a":
		v = b.state.repr(v)
	}
	b.add(b.state.format(v, spec))
}

func (b *braces) argument(name string) Value {
	n, err := strconv.Atoi(name)
	if name == "" {
		n, err = b.next, nil
		b.next++
	}
	if err == nil {
		if n >= len(b.args.list) {
			fail("Replacement index %d out of range for positional args tuple", n)
		}
		return b.args.list[n]
	}
	at, ok := b.args.named1(name)
	if !ok {
		fail("the format names an argument %s that is not given", quote(name))
	}
	return b.args.named[at]
}

// path evaluates attributes and items after a field's name.
func (b *braces) path(v Value, path string) Value {
	for path != "" {
		if path[0] == '.' {
			end := strings.IndexAny(path[1:]+".", ".[")
			v, path = b.state.attribute(v, path[1:1+end]), path[1+end:]
			continue
		}
		end := strings.IndexByte(path, ']')
		var key Value = path[1:end]
		if n, err := strconv.Atoi(path[1:end]); err == nil {
			key = n
		}
		v, path = b.state.item(v, key), path[end+1:]
		b.state.refuse(v)
	}
	return v
}

var specForm = regexp.MustCompile(`^(?:(.)?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$`)

// format is Python's format().
func (s *state) format(v Value, text string) string {
	if text == "" {
		return s.str(v)
	}
	m := specForm.FindStringSubmatch(text)
	if m == nil {
		fail("Invalid format specifier %s", quote(text))
	}
	spec := formatSpec{fill: m[1], align: m[2], sign: m[3], alternate: m[4] != "", zero: m[5] != "", group: m[7], precision: -1, kind: m[9]}
	if spec.fill == "" {
		spec.fill = " "
	}
	spec.width = formatNumber(m[6], 0)
	spec.precision = formatNumber(m[8], -1)
	if text, ok := textOf(v); ok {
		if spec.kind != "" && spec.kind != "s" || spec.align == "=" || spec.sign != "" || spec.group != "" {
			fail("Invalid format specifier %s for a string", quote(text))
		}
		if spec.zero && m[2] == "" {
			spec.fill = "0"
		}
		return spec.pad(s, spec.cut(text), "<")
	}
	if !isNumber(v) {
		s.refuse(v)
		fail("unsupported format string %s for a %s", quote(text), typeName(v))
	}
	return spec.formatNumber(s, v)
}

func formatNumber(text string, none int) int {
	if text == "" {
		return none
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		fail("the width %.20s is too large", text)
	}
	return n
}

// formatNumber writes a number by the letter of the format.
func (spec formatSpec) formatNumber(s *state, v Value) string {
	_, isFloat := v.(float64)
	switch kind := spec.kind; {
	case kind == "%":
		x, _ := floatOf(v)
		spec.kind = "f"
		width := spec.width
		spec.width = max(width-1, 0)
		return spec.float(s, x*100) + "%"
	case kind == "" && isFloat && spec.precision < 0:
		text := floatText(v.(float64))
		digits, negative := strings.CutPrefix(text, "-")
		return spec.number(s, negative, "", grouped(digits, spec.group))
	case kind == "" && isFloat:
		fail("a float's format needs a letter, such as f")
	case kind != "" && strings.Contains("eEfFgG", kind):
		x, _ := floatOf(v)
		return spec.float(s, x)
	case isFloat || spec.precision >= 0:
		fail("the format %s does not suit a %s", quote(kind), typeName(v))
	case kind == "c":
		return spec.pad(s, s.character(v), "<")
	case kind == "":
		if b, ok := v.(bool); ok && spec.sign == "" && !spec.zero && spec.align == "" && spec.group == "" && spec.width == 0 {
			return s.str(b)
		}
		spec.kind = "d"
	}
	if _, ok := bases[spec.kind]; !ok {
		fail("Unknown format code %s", quote(spec.kind))
	}
	return spec.integer(s, bigOf(v))
}
