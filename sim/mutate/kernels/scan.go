package kernels

import (
	"regexp"
	"strings"

	"mla/gen/msl/text"
)

// token is a token of Metal source. Comments and preprocessor directives are no tokens.
type token struct{ text.Token }

// word reports whether a token is a name or a number.
func (t token) word() bool { return strings.ContainsAny(t.Text[:1], letters) }

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789."

var types = map[string]bool{"float": true, "half": true, "uint": true, "ushort": true, "ulong": true, "uchar": true, "char": true, "bool": true,
	"int": true, "short": true, "Routing": true, "eight": true, "eight_floats": true, "const": true, "return": true, "template": true}

// isType reports whether a token names a type, so that the next token is a declared name or no binary
// operator.
func (t token) isType() bool { return types[t.Text] }

// long are the operators of two characters.
var long = map[string]bool{"::": true, "&&": true, "||": true, "<<": true, ">>": true, "++": true, "--": true, "-=": true, "+=": true, "*=": true,
	"/=": true, "%=": true, "<=": true, ">=": true, "==": true, "!=": true, "&=": true, "|=": true, "^=": true}

// joins reports whether two neighbouring tokens are read as one: an operator of two characters, or a member
// access with its object.
func joins(left, right *text.Token) bool {
	name := left.Kind == text.Word || left.Kind == text.Number
	return long[left.Text+right.Text] || name && (right.Text == "." || strings.HasSuffix(left.Text, ".") && right.Kind == text.Word)
}

// opened matches the line that begins a namespace.
var opened = regexp.MustCompile(`(?m)^namespace (\w+) \{$`)

// scan splits source into tokens. Functions are identified without their namespace, so a name that is
// qualified by a namespace of this source becomes one token: the name alone.
func scan(source string) (all []token) {
	spaces := map[string]bool{}
	for _, m := range opened.FindAllStringSubmatch(source, -1) {
		spaces[m[1]] = true
	}
	for _, t := range text.Join(text.Code(source), joins) {
		if n := len(all); t.Text == "::" && n > 0 && spaces[all[n-1].Text] {
			all = all[:n-1]
			continue
		}
		all = append(all, token{t})
	}
	return all
}

// function is the definition of a function.
type function struct {
	name     string // with the struct, as in q4_0.dot
	plain    string // the name without the struct
	owner    string // the struct, if there is one
	head     int    // the token where its declaration begins
	from, to int    // the tokens of its braces
}

// functions finds the functions of a source: a name, a parameter list and a body.
func (l *list) functions() (all []function) {
	head := 0
	type scope struct {
		name string
		end  int
	}
	owners := []scope{{"", len(l.tokens)}}
	for i := 0; i < len(l.tokens); i++ {
		for i >= owners[len(owners)-1].end {
			owners = owners[:len(owners)-1]
		}
		owner := owners[len(owners)-1].name
		switch {
		case l.tokens[i].Text == "struct" && l.tokens[i+2].Text == "{":
			owners = append(owners, scope{l.tokens[i+1].Text, l.braced(i + 2)})
			i += 2
			head = i + 1
		case l.tokens[i].Text == "{" && l.tokens[i-1].Text == ")":
			f := function{plain: l.nameBefore(i - 1), owner: owner, head: head, from: i, to: l.braced(i)}
			f.name = f.plain
			if owner != "" {
				f.name = owner + "." + f.plain
			}
			all = append(all, f)
			i = f.to
			head = i + 1
		case l.tokens[i].Text == ";" || l.tokens[i].Text == "}" || l.tokens[i].Text == "{" && i >= 2 && l.tokens[i-2].Text == "namespace":
			head = i + 1
		}
	}
	return all
}

// nameBefore returns the name before the parameter list that closes at token i.
func (l *list) nameBefore(i int) string {
	for depth := 0; ; i-- {
		depth -= level[l.tokens[i].Text]
		if depth == 0 {
			return l.tokens[i-1].Text
		}
	}
}

// braced returns the index of the brace that closes the one at i.
func (l *list) braced(i int) int {
	for depth := 0; ; i++ {
		switch l.tokens[i].Text {
		case "{":
			depth++
		case "}":
			depth--
		}
		if depth == 0 {
			return i
		}
	}
}
