// Package kernels lists mutations of Metal source, each with one mistake: an index off by one, a wrong sign,
// a bound that is one too far, a barrier or a fence left out. It expects the formatting of gen/msl's printer.
package kernels

import (
	"fmt"
	"regexp"
	"strings"
)

// Mutation is one mistake in a kernel function.
type Mutation struct {
	// ID is FUNCTION/KIND/TEXT, where TEXT is the changed text without spaces. A number follows if the
	// function contains the same text more than once.
	ID       string
	Function string
	Body     string // the function's unchanged text
	start    int    // offset of Body in the source
	from, to int    // the changed range, as offsets in the source
	text     string
}

// Changed returns the function's text with the mistake.
func (m *Mutation) Changed() string { return m.Body[:m.from-m.start] + m.text + m.Body[m.to-m.start:] }

// In returns the whole source with the mistake.
func (m *Mutation) In(source string) string { return source[:m.from] + m.text + source[m.to:] }

// List lists all mutations of the functions that the used kernels call, directly or not.
func List(source string, used map[string]bool) []Mutation {
	l := &list{source: source, tokens: scan(source), empty: map[string]bool{}, seen: map[string]int{}}
	for _, name := range emptyMacro.FindAllStringSubmatch(source, -1) {
		l.empty[name[1]] = true
	}
	functions := l.functions()
	for i, reached := range l.reachable(functions, used) {
		f := &functions[i]
		if reached {
			l.function(f)
		}
	}
	return l.all
}

// emptyMacro matches a macro with parameters that expands to nothing in Metal.
var emptyMacro = regexp.MustCompile(`(?m)^#define (\w+)\([^)]*\)$`)

type list struct {
	source string
	tokens []token
	empty  map[string]bool // macros that expand to nothing
	seen   map[string]int  // how often each ID was used
	all    []Mutation
}

// add appends a mutation that replaces tokens [from, to) by text. The text of tokens [show, end) is used for
// its ID.
func (l *list) add(f *function, kind string, from, to int, text string, show, end int) {
	id := fmt.Sprintf("%s/%s/%s", f.name, kind, l.squeeze(show, end))
	l.seen[id]++
	if n := l.seen[id]; n > 1 {
		id = fmt.Sprintf("%s#%d", id, n)
	}
	start := l.tokens[f.head].Begin
	body := l.source[start:l.tokens[f.to].End()]
	l.all = append(l.all, Mutation{id, f.name, body, start, l.tokens[from].Begin, l.tokens[to-1].End(), text})
}

// squeeze returns the text of tokens [from, to) without spaces and comments.
func (l *list) squeeze(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > from && l.tokens[i-1].word() && l.tokens[i].word() {
			b.WriteByte('_')
		}
		b.WriteString(l.tokens[i].Text)
	}
	return b.String()
}

// operators maps an operator to the one that replaces it, and to the kind of the mistake. The replacement
// changes the result but not its type. The printer writes spaces around a `<` that compares, and none around
// one that begins template arguments.
var operators = map[string]struct{ kind, by string }{
	"+":  {"sign", "-"},
	"-":  {"sign", "+"},
	"*":  {"product", "+"},
	"/":  {"product", "*"},
	"%":  {"product", "/"},
	"<":  {"bound", "<="},
	"<=": {"bound", "<"},
	">":  {"bound", ">="},
	">=": {"bound", ">"},
	"==": {"bound", "!="},
	"!=": {"bound", "=="},
	"&&": {"logic", "||"},
	"||": {"logic", "&&"},
}

// function lists the mutations in one function's body.
func (l *list) function(f *function) {
	for i := f.from + 1; i < f.to; i++ {
		t := l.tokens[i]
		switch op, ok := operators[t.Text]; {
		case l.empty[t.Text]:
			i = l.closing(i + 1)
		case t.Text == "[" && l.subscript(i):
			end := l.closing(i)
			inside := l.source[l.tokens[i+1].Begin:l.tokens[end-1].End()]
			l.add(f, "index", i+1, end, "("+inside+") + 1", i-1, end+1)
		case ok && l.binary(i):
			from, to := l.around(i)
			l.add(f, op.kind+op.by, i, i+1, op.by, from, to)
		case left[t.Text] != "":
			end := l.closing(i+1) + 2 // past the semicolon
			l.add(f, left[t.Text], i, end, ";", i, i+1)
		}
	}
}

// left maps the calls that are left out to the kind of the mistake.
var left = map[string]string{
	"threadgroup_barrier": "barrier", "simdgroup_barrier": "barrier", "atomic_thread_fence": "fence", "atomic_store_explicit": "count",
}

// subscript reports whether the bracket at i indexes an expression. The bracket of an array's declaration
// does not.
func (l *list) subscript(i int) bool {
	before := l.tokens[i-1]
	return before.word() && !l.tokens[i-2].isType() && !l.furtherName(i-1) || before.Text == ")" || before.Text == "]"
}

// furtherName reports whether the name at i is declared after another one: it follows a comma in a statement
// that begins with a type.
func (l *list) furtherName(i int) bool {
	if l.tokens[i-1].Text != "," {
		return false
	}
	depth := 0
	for i--; ; i-- {
		switch text := l.tokens[i].Text; {
		case text == "}" && l.tokens[i+1].Text == ",": // the initialiser of the name before
			depth--
		case depth == 0 && (text == ";" || text == "{" || text == "}"):
			return l.tokens[i+1].isType()
		case text == "{":
			depth++
		default:
			if depth += level[text]; depth > 0 {
				return false
			}
		}
	}
}

// binary reports whether the operator at i stands between two operands, with spaces around it.
func (l *list) binary(i int) bool {
	before, t, after := l.tokens[i-1], l.tokens[i], l.tokens[i+1]
	operand := before.word() || before.Text == ")" || before.Text == "]"
	return operand && !before.isType() && before.End() < t.Begin && t.End() < after.Begin
}

// around returns the tokens that identify an operator in an ID: from the last opening bracket, comma,
// semicolon or assignment before the operator to the next one after it.
func (l *list) around(i int) (from, to int) {
	depth := 0
	for from = i - 1; ; from-- {
		text := l.tokens[from].Text
		if depth == 0 && stops[text] {
			break
		}
		depth += level[text]
		if depth > 0 {
			break
		}
	}
	depth = 0
	for to = i + 1; ; to++ {
		text := l.tokens[to].Text
		if depth == 0 && stops[text] {
			break
		}
		depth += level[text]
		if depth < 0 {
			break
		}
	}
	return from + 1, to
}

var stops = map[string]bool{";": true, ",": true, "{": true, "}": true, "=": true, "return": true, "?": true, ":": true, "+=": true, "*=": true}

var level = map[string]int{"(": 1, "[": 1, ")": -1, "]": -1}

// closing returns the index of the bracket that closes the one at i.
func (l *list) closing(i int) int {
	for depth := 0; ; i++ {
		depth += level[l.tokens[i].Text]
		if depth == 0 {
			return i
		}
	}
}
