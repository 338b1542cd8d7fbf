package grammar

import "fmt"

// Grammar is a list of rules, of which the first is where a text begins.
type Grammar struct{ Rules []Rule }

// Rule has a name for messages.
type Rule struct {
	Name string
	Expr Expr
}

// Expr is a regular expression whose symbols are bytes, characters and rules.
type Expr interface{ expr() }

// The expressions.
type (
	// Literal is its bytes.
	Literal string
	// Class is one character of the ranges, in UTF-8. None: nothing matches.
	Class []Range
	// Seq is one behind the other; none: the empty text.
	Seq []Expr
	// Alt is one of them; none: nothing matches.
	Alt []Expr
	// Repeat is an expression Min to Max times; Max < 0: any number of times.
	Repeat struct {
		Of       Expr
		Min, Max int
	}
	// Ref is a rule, by its number.
	Ref int
)

// Range is characters from Lo to Hi, both included.
type Range struct{ Lo, Hi rune }

func (Literal) expr() {}
func (Class) expr()   {}
func (Seq) expr()     {}
func (Alt) expr()     {}
func (Repeat) expr()  {}
func (Ref) expr()     {}

// markerByte stands in front of the name of a control token.
const markerByte = 0xFF

// Marker is a control token.
func Marker(name string) Expr { return Literal(string([]byte{markerByte}) + name) }

// Optional is an expression or nothing.
func Optional(e Expr) Expr { return Repeat{e, 0, 1} }

// Any is an expression any number of times.
func Any(e Expr) Expr { return Repeat{e, 0, -1} }

// Add adds a rule and returns it.
func (g *Grammar) Add(name string, e Expr) Ref {
	g.Rules = append(g.Rules, Rule{name, e})
	return Ref(len(g.Rules) - 1)
}

// Error is what is wrong with a grammar.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func fail(format string, args ...any) *Error { return &Error{fmt.Sprintf(format, args...)} }
