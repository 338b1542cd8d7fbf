package frontend

import (
	"slices"

	"mla/gen/msl/text"
)

// function is a function definition.
type function struct {
	name      string
	kernel    bool
	params    [][]text.Token
	body, end int // tokens[body] is the opening brace, tokens[end] the closing one
}

// findFunctions finds the definitions NAME ( … ) { … } outside other functions.
func (l *linter) findFunctions() []function {
	var list []function
	for i := 1; i < len(l.tokens); i++ {
		if l.tokens[i].Text != "(" || l.tokens[i-1].Kind != text.Word {
			continue
		}
		close := l.match(i, "(", ")")
		if close+1 >= len(l.tokens) || l.tokens[close+1].Text != "{" {
			continue
		}
		f := function{name: l.tokens[i-1].Text, params: split(l.tokens[i+1 : close]), body: close + 1, end: l.match(close+1, "{", "}")}
		f.kernel = i >= 3 && l.tokens[i-3].Text == "kernel"
		list = append(list, f)
		i = f.end
	}
	return list
}

// match returns the index of the bracket that closes the one at i, or of the last token.
func (l *linter) match(i int, open, close string) int {
	depth := 0
	for ; i < len(l.tokens); i++ {
		switch l.tokens[i].Text {
		case open:
			depth++
		case close:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(l.tokens) - 1
}

// split splits a parameter list at its commas.
func split(tokens []text.Token) [][]text.Token {
	var list [][]text.Token
	depth, start := 0, 0
	for i, t := range tokens {
		switch t.Text {
		case "(", "[", "<":
			depth++
		case ")", "]", ">":
			depth--
		case ",":
			if depth == 0 {
				list = append(list, tokens[start:i])
				start = i + 1
			}
		}
	}
	if start < len(tokens) {
		list = append(list, tokens[start:])
	}
	return list
}

var barriers = words("threadgroup_barrier simdgroup_barrier")

// returns forbids a return, except as the last statement, in a function with a barrier, because threads that
// have returned would be missing at the barrier. In kernels it forbids every return.
func (l *linter) returns(f *function) {
	var first *text.Token
	barrier := false
	for i := f.body; i < f.end; i++ {
		t := &l.tokens[i]
		if t.Text == "return" && first == nil && (f.kernel || l.statementEnd(i) != f.end-1) {
			first = t
		}
		barrier = barrier || barriers[t.Text]
	}
	if first != nil && (barrier || f.kernel) {
		l.fail(*first, "%s: a return in a kernel or beside a barrier", f.name)
	}
}

func (l *linter) statementEnd(i int) int {
	for ; i < len(l.tokens) && l.tokens[i].Text != ";"; i++ {
	}
	return i
}

// calls forbids recursion and calls of kernels. It compares functions by name, so a helper must not have the
// name of a function that it calls.
func (l *linter) calls() {
	callees := map[string][]string{}
	kernels := map[string]bool{}
	for _, f := range l.functions {
		callees[f.name] = append(callees[f.name], l.callees(f)...)
		kernels[f.name] = f.kernel
	}
	for _, f := range l.functions {
		for _, c := range l.callees(f) {
			if kernels[c] {
				l.fail(l.tokens[f.body], "%s calls the kernel %s", f.name, c)
			}
		}
		if reaches(callees, f.name, f.name, map[string]bool{}) {
			l.fail(l.tokens[f.body], "%s calls itself", f.name)
		}
	}
}

// callees returns the defined functions that the body of f calls or names as templates.
func (l *linter) callees(f function) []string {
	var list []string
	for i := f.body; i < f.end; i++ {
		next := l.tokens[i+1].Text
		if l.tokens[i].Kind == text.Word && (next == "(" || next == "<") && l.defined(l.tokens[i].Text) && !slices.Contains(list, l.tokens[i].Text) {
			list = append(list, l.tokens[i].Text)
		}
	}
	return list
}

func (l *linter) defined(name string) bool {
	return slices.ContainsFunc(l.functions, func(f function) bool { return f.name == name })
}

// reaches reports whether function from calls function to, directly or indirectly. seen has the functions
// already visited.
func reaches(callees map[string][]string, from, to string, seen map[string]bool) bool {
	for _, c := range callees[from] {
		if c == to {
			return true
		}
		if !seen[c] {
			seen[c] = true
			if reaches(callees, c, to, seen) {
				return true
			}
		}
	}
	return false
}
