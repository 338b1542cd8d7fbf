package grammar

import (
	"errors"
	"fmt"
)

// Grammar is a list of rules. A text begins with the first one.
type Grammar struct{ Rules []Rule }

// Rule is a rule; its name is used in messages.
type Rule struct {
	Name string
	Expr Expr
}

// Expr is a regular expression whose symbols are bytes, characters and rules.
type Expr interface{ expr() }

// Kinds of expressions.
type (
	// Literal is its bytes.
	Literal string
	// Class is one character of the ranges, in UTF-8. Without ranges, nothing matches.
	Class []Range
	// Seq is its expressions one after the other; without any, the empty text.
	Seq []Expr
	// Alt is one of its expressions; without any, nothing matches.
	Alt []Expr
	// Repeat is an expression repeated Min to Max times; Max < 0: without an upper bound.
	Repeat struct {
		Of       Expr
		Min, Max int
	}
	// Ref is a rule, by its index.
	Ref int
	// Graph is an automaton, which begins at its first state.
	Graph []GraphState
	// OneToken is one token of the vocabulary, whatever its text, or any other token.
	OneToken struct {
		Name string // name of a control token; "": the token ID
		ID   int32
		Not  bool
	}
)

// GraphState is a state of a Graph. The text may end at an accepting one.
type GraphState struct {
	Edges  []GraphEdge
	Accept bool
}

// GraphEdge is an expression that leads to the state To.
type GraphEdge struct {
	By Expr
	To int
}

// Range is characters from Lo to Hi, both included.
type Range struct{ Lo, Hi rune }

func (Literal) expr()  {}
func (Class) expr()    {}
func (Seq) expr()      {}
func (Alt) expr()      {}
func (Repeat) expr()   {}
func (Ref) expr()      {}
func (Graph) expr()    {}
func (OneToken) expr() {}

// Bytes that occur in no text: the first precedes the name of a control token, the second the id of any
// token.
const (
	markerByte = 0xFF
	idByte     = 0xFE
)

// Marker is a control token.
func Marker(name string) Expr { return OneToken{Name: name} }

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
type Error struct {
	Message string
	large   bool
}

func (e *Error) Error() string { return e.Message }

// Is says whether the error is ErrTooLarge.
func (e *Error) Is(target error) bool { return target == ErrTooLarge && e.large }

// ErrTooLarge is the error of grammars that take too much work.
var ErrTooLarge = errors.New("the grammar is too large")

func fail(format string, args ...any) *Error { return &Error{Message: fmt.Sprintf(format, args...)} }

// Include appends the rules of another grammar and returns its first one.
func (g *Grammar) Include(other *Grammar) Ref {
	first := Ref(len(g.Rules))
	for _, r := range other.Rules {
		g.Rules = append(g.Rules, Rule{r.Name, moved(r.Expr, first)})
	}
	return first
}

// moved is an expression whose references are higher by a number.
func moved(e Expr, by Ref) Expr {
	switch e := e.(type) {
	case Ref:
		return e + by
	case Seq:
		return Seq(movedList(e, by))
	case Alt:
		return Alt(movedList(e, by))
	case Repeat:
		e.Of = moved(e.Of, by)
		return e
	case Graph:
		out := make(Graph, len(e))
		for i, state := range e {
			out[i].Accept = state.Accept
			for _, edge := range state.Edges {
				out[i].Edges = append(out[i].Edges, GraphEdge{moved(edge.By, by), edge.To})
			}
		}
		return out
	}
	return e
}

func movedList(list []Expr, by Ref) []Expr {
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = moved(e, by)
	}
	return out
}
