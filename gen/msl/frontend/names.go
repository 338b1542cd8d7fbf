package frontend

import (
	"regexp"
	"strings"

	"mla/gen/msl/reserved"
	"mla/gen/msl/text"
)

// spoken are the words of reserved.Anywhere that sources use with their meaning. Nothing can be declared with
// these names: to the front end they are keywords, types or macros.
var spoken = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`bool char const constexpr continue do else enum false float for if inline int long namespace
		return short sizeof static static_assert struct template true typedef typename using void while class auto break switch case default
		unsigned operator kernel constant device thread threadgroup coherent half uchar ushort uint ulong size_t as_type`) {
		set[w] = true
	}
	return set
}()

// defined matches the definition of a macro.
var defined = regexp.MustCompile(`(?m)^\s*#\s*define\s+(\w+)`)

// names compares the names that a source declares with the words that Metal's language and library use.
//
// Macros, and names at namespace scope, must not be names of the library. In our namespace such a name would
// hide the library's. With an argument of a library type, argument-dependent lookup would find the library's
// function, too, and the call would be ambiguous. Members, parameters and local names are found before
// either, so only macros and words of the language can clash with them.
func (l *linter) names(source string) {
	for _, t := range l.tokens {
		if t.Kind == text.Word && reserved.Anywhere().Has(t.Text) && !spoken[t.Text] {
			l.fail(t, "%s is a word of the language, or a macro of Metal's headers", t.Text)
		}
		if t.Kind == text.Word && implementations(t.Text) && t.Text != "_Pragma" { // _Pragma is an operator of the language
			l.fail(t, "%s: names with two underscores, or one before a capital letter, are the compiler's", t.Text)
		}
	}
	for _, m := range defined.FindAllStringSubmatchIndex(source, -1) {
		t := text.Token{Text: source[m[2]:m[3]], Line: 1 + strings.Count(source[:m[2]], "\n")}
		if t.Text == "inline" {
			continue // it extends the keyword, and is defined after Metal's headers
		}
		if reserved.Anywhere().Has(t.Text) || reserved.Library().Has(t.Text) || implementations(t.Text) {
			l.fail(t, "the macro %s has a name of Metal's headers", t.Text)
		}
	}
	for _, t := range l.outermost() {
		if reserved.Library().Has(t.Text) {
			l.fail(t, "%s is a name of Metal's library", t.Text)
		}
	}
}

// implementations reports whether C++ reserves a name for implementations. __METAL_VERSION__ may be used, not
// declared.
func implementations(name string) bool {
	return strings.Contains(name, "__") || len(name) > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z'
}

// outermost returns the names declared outside functions and structs: types, functions, constants,
// namespaces.
func (l *linter) outermost() []text.Token {
	var list []text.Token
	for i := 0; i < len(l.tokens); i++ {
		t := l.tokens[i]
		switch {
		case t.Text == "template":
			i = l.match(i, "<", ">")
		case t.Text == "namespace" && l.text(i+2) == "{":
			list = append(list, l.tokens[i+1])
			i += 2
		case t.Text == "using": // it declares no new names
			i = l.statementEnd(i)
		case t.Text == "typedef":
			i = l.statementEnd(i)
			list = append(list, l.tokens[min(i, len(l.tokens))-1])
		case t.Text == "struct" || t.Text == "enum" || t.Text == "class":
			for i++; l.text(i) == "class"; i++ {
			}
			if i < len(l.tokens) {
				list = append(list, l.tokens[i])
			}
		case t.Text == "{":
			i = l.match(i, "{", "}")
		case t.Text == "[": // attributes
			i = l.match(i, "[", "]")
		case t.Kind == text.Word && (l.text(i+1) == "[" || l.text(i+1) == "="):
			list = append(list, t)
			i = l.statementEnd(i)
		case t.Kind == text.Word && l.text(i+1) == "(":
			list = append(list, t)
			i = l.match(i+1, "(", ")")
		}
	}
	return list
}

// text returns the text of a token, "" beyond the last.
func (l *linter) text(i int) string {
	if i >= len(l.tokens) {
		return ""
	}
	return l.tokens[i].Text
}
