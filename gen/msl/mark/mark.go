// Package mark writes the marks of runtime/plan/pieces into Metal source: one in front
// of every declaration outside functions and structs, with what it declares and uses.
//
// Names are told apart by their text alone. So a mark names rather too much than too
// little, as a helper that a local variable is named after. Overloads go together, but for
// those with parameters of structs that the part never names: a struct has no constructor
// that could make one of something else, so nobody there could call them. Whatever a name can mean in the whole source,
// it can mean in a part of it.
package mark

import (
	"fmt"
	"slices"
	"strings"

	"mla/gen/msl/text"
	"mla/runtime/plan/pieces"
)

// Source puts marks into source, whose declarations begin on lines of their own. It
// fails where it cannot tell what a declaration declares.
func Source(source string) (string, error) {
	marked, err := Sections([]string{source})
	return strings.Join(marked, ""), err
}

// Sections is Source for a source in several texts, each of which it returns with its marks.
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
	at, end, always := 0, 0, true // what stands before the first mark belongs to any part
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

// declaration is a stretch of source that declares something, or a line that holds for
// what follows it, as an include.
type declaration struct {
	begin    int // at the start of a line, comments above it included
	tokens   []token
	names    []string // declared; none: it is needed in any case
	isStruct bool     // or a union, not another name of a type
	args     []token  // what a specialisation is for; of a function what stands between its parentheses
	params   []string // of a template
}

// conditions leaves args only to specialisations, and to further overloads of a function:
// to these the structs among the types of their parameters. The first overload has to tell
// that a name is that of a template where none of them is called.
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

// types are the structs that parameters are of. A type is followed by a name, a reference,
// a pointer or a template's arguments, as a parameter's own name is not.
func types(parameters []token, structs map[string]bool) (list []token) {
	for n, t := range parameters[:len(parameters)-1] {
		if next := parameters[n+1]; structs[t.Text] && (next.Kind == text.Word || strings.Contains("&*<", next.Text)) {
			list = append(list, t)
		}
	}
	return list
}

// only are the declarations that a specialisation or an overload is for.
func (d *declaration) only(known map[string]bool) []string {
	var list []string
	for _, t := range d.args {
		if known[t.Text] && !slices.Contains(d.params, t.Text) {
			list = append(list, t.Text)
		}
	}
	return unique(list)
}

// uses are the declarations that d names, in the order of the alphabet.
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

// isMember says whether a name after tokens is one of a struct or of an object: it
// follows a dot, an arrow, or a type and two colons. That of a namespace is not.
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

// name finds out what d declares.
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

// constructs says whether a struct's tokens after its name have a constructor.
func (d *declaration) constructs(tokens []token) bool {
	for i, t := range tokens {
		if t.Text == d.names[0] && textAt(tokens, i+1) == "(" {
			return true
		}
	}
	return false
}

// textAt is the text of token i, "" after the last.
func textAt(tokens []token, i int) string {
	if i < len(tokens) {
		return tokens[i].Text
	}
	return ""
}

// group names what preprocessor lines define and what is declared between them: all of
// it is needed together. Lines without either are needed in any case.
func (d *declaration) group() error {
	inner := &splitter{}
	for _, t := range d.tokens {
		if t.Kind != text.Directive {
			if err := inner.take(t); err != nil {
				return err
			}
		} else if w := t.words(); w[0] == "define" && w[1] != "inline" { // a keyword is in all that follows
			d.names = append(d.names, w[1])
		}
	}
	for _, i := range inner.list {
		d.names = append(d.names, i.names...)
	}
	return inner.done()
}

// closing returns where the bracket at i closes, or the last token.
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
