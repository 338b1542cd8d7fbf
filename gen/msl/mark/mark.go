// Package mark writes the marks of runtime/plan/pieces into Metal source: one before every declaration
// outside functions and structs, with the names that it declares and uses.
//
// Names are compared as text. So a mark may list too much, such as a helper with the name of a local
// variable, but never too little. Overloads of a function are kept together, except overloads with a struct
// as parameter that the selected part of the source never names: structs have no converting constructors, so
// that part cannot call them. Therefore a name means the same in a part as in the whole source.
package mark

import (
	"fmt"
	"slices"
	"strings"

	"mla/gen/msl/text"
	"mla/runtime/plan/pieces"
)

// Source puts marks into source, whose declarations must begin on lines of their own. It fails if it cannot
// tell what a declaration declares.
func Source(source string) (string, error) {
	marked, err := Sections([]string{source})
	return strings.Join(marked, ""), err
}

// Sections is Source for a source in several texts. It returns each text with its marks.
func Sections(texts []string) ([]string, error) {
	source := strings.Join(texts, "")
	declarations, err := split(source)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, d := range declarations {
		for _, name := range d.names {
			known[name] = true
		}
	}
	conditions(declarations)
	var list []string
	var out strings.Builder
	at, end, always := 0, 0, true // text before the first mark belongs to every part
	upTo := func(place int) {
		for len(list) < len(texts) && end+len(texts[len(list)]) <= place {
			end += len(texts[len(list)])
			out.WriteString(source[at:end])
			list, at = append(list, out.String()), end
			out.Reset()
		}
		out.WriteString(source[at:place])
		at = place
	}
	for _, d := range declarations {
		upTo(d.begin)
		if always && len(d.names) == 0 {
			continue
		}
		always = len(d.names) == 0
		m := pieces.Mark{Names: unique(d.names), If: d.only(known), Using: d.uses(known)}
		if always {
			m = pieces.Mark{}
		}
		out.WriteString(m.String() + "\n")
	}
	upTo(len(source))
	return list, nil
}

// declaration is a range of source that declares something, or a line that applies to the rest of the source,
// such as an include.
type declaration struct {
	begin    int // at the start of a line, comments above it included
	tokens   []token
	names    []string // declared names; none: every part needs it
	isStruct bool     // or a union; a typedef is not
	args     []token  // of a specialisation its arguments, of a function its parameters
	params   []string // of the template
}

// conditions clears args except for specialisations and for further overloads of a function. Of an overload's
// parameters it keeps the types that are structs. The first overload has no condition, because a part that
// calls none of them may still need to know that the name is a template.
func conditions(declarations []declaration) {
	declared, structs := map[string]bool{}, map[string]bool{}
	for _, d := range declarations {
		if d.isStruct {
			structs[d.names[0]] = true
		}
	}
	for i := range declarations {
		d := &declarations[i]
		if d.isStruct || len(d.args) == 0 {
			continue
		}
		args := d.args
		d.args = nil
		if declared[d.names[0]] {
			d.args = types(args, structs)
		}
		declared[d.names[0]] = true
	}
}

// types returns the structs among the types of parameters. A type is followed by a name, a reference, a
// pointer or template arguments; a parameter's own name is not.
func types(parameters []token, structs map[string]bool) (list []token) {
	for n, t := range parameters[:len(parameters)-1] {
		if next := parameters[n+1]; structs[t.Text] && (next.Kind == text.Word || strings.Contains("&*<", next.Text)) {
			list = append(list, t)
		}
	}
	return list
}

// only returns the declarations without which a specialisation or overload is not needed.
func (d *declaration) only(known map[string]bool) []string {
	var list []string
	for _, t := range d.args {
		if known[t.Text] && !slices.Contains(d.params, t.Text) {
			list = append(list, t.Text)
		}
	}
	return unique(list)
}

// uses returns the declarations that d names, sorted.
func (d *declaration) uses(known map[string]bool) []string {
	var list []string
	add := func(name string) {
		if known[name] && !slices.Contains(d.names, name) {
			list = append(list, name)
		}
	}
	for i, t := range d.tokens {
		switch {
		case t.Kind == text.Directive:
			for _, w := range t.words() {
				add(w)
			}
		case t.Kind == text.Word && !isMember(d.tokens[:i]):
			add(t.Text)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// isMember reports whether a name that follows tokens is a member of a struct or object: it comes after a
// dot, an arrow, or a type and two colons. A name after a namespace and two colons is no member.
func isMember(before []token) bool {
	last := func(n int) string {
		if n > len(before) {
			return ""
		}
		return before[len(before)-n].Text
	}
	if last(1) == "template" {
		before = before[:len(before)-1]
	}
	switch {
	case last(1) == ".", last(1) == ">" && last(2) == "-":
		return true
	case last(1) == ":" && last(2) == ":":
		return !before[len(before)-3].namespace
	}
	return false
}

func unique(list []string) []string {
	var kept []string
	for _, s := range list {
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// name sets the names that d declares.
func (d *declaration) name() error {
	if d.tokens[0].Kind == text.Directive {
		return d.group()
	}
	tokens := d.tokens
	if textAt(tokens, 0) == "[" { // attributes
		tokens = tokens[closing(tokens, 0, "[", "]")+1:]
	}
	if textAt(tokens, 0) == "template" {
		end := closing(tokens, 1, "<", ">")
		for i := 2; i < end; i++ {
			if tokens[i].Kind == text.Word {
				d.params = append(d.params, tokens[i].Text)
			}
		}
		tokens = tokens[end+1:]
	}
	at := -1
	switch textAt(tokens, 0) {
	case "namespace", "}":
		return nil
	case "using":
		if textAt(tokens, 1) == "namespace" {
			return nil
		}
		at = 1
	case "struct", "union":
		at, d.isStruct = 1, true
		if textAt(tokens, 2) == "<" {
			d.args = tokens[3:closing(tokens, 2, "<", ">")]
		}
	case "typedef":
		at = len(tokens) - 2
	default:
		at = slices.IndexFunc(tokens, func(t token) bool { return t.Kind == text.Symbol && strings.Contains("([=;", t.Text) }) - 1
		if at > 0 && tokens[at+1].Text == "(" {
			d.args = tokens[at+2 : closing(tokens, at+1, "(", ")")]
		}
	}
	if at < 1 || at >= len(tokens) || tokens[at].Kind != text.Word {
		return fmt.Errorf("line %d: what does this declare?", d.tokens[0].Line)
	}
	d.names = []string{tokens[at].Text}
	if d.isStruct && d.constructs(tokens[at+1:]) {
		return fmt.Errorf("line %d: a constructor", d.tokens[0].Line) // see conditions
	}
	return nil
}

// constructs reports whether a struct has a constructor; tokens are those after its name.
func (d *declaration) constructs(tokens []token) bool {
	for i, t := range tokens {
		if t.Text == d.names[0] && textAt(tokens, i+1) == "(" {
			return true
		}
	}
	return false
}

// textAt returns the text of token i, "" beyond the last.
func textAt(tokens []token, i int) string {
	if i < len(tokens) {
		return tokens[i].Text
	}
	return ""
}

// group sets the names that preprocessor lines define, and the names declared between them: all are needed
// together. Lines with neither are needed in every part.
func (d *declaration) group() error {
	inner := &splitter{}
	for _, t := range d.tokens {
		if t.Kind != text.Directive {
			if err := inner.take(t); err != nil {
				return err
			}
		} else if w := t.words(); w[0] == "define" && w[1] != "inline" { // a keyword may occur anywhere
			d.names = append(d.names, w[1])
		}
	}
	for _, i := range inner.list {
		d.names = append(d.names, i.names...)
	}
	return inner.done()
}

// closing returns the index of the bracket that closes the one at i, or of the last token.
func closing(tokens []token, i int, open, close string) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch tokens[i].Text {
		case open:
			depth++
		case close:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens) - 1
}
