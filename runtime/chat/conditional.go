package chat

import (
	"strings"

	"github.com/nikolalohinski/gonja/v2/tokens"
)

// The engine knows `a if c else b` only as the whole of a tag's expression: within
// brackets it fails to parse, or worse drops the rest, and so it does with a second one
// behind else. The text of a template is therefore rewritten before it is parsed:
// such an expression becomes ((c) and [a] or [b])[0], which evaluates the same operands.

// rewriteConditionals returns the template, whose tokens are given, without conditional
// expressions that the engine cannot take.
func rewriteConditionals(template string, list []*tokens.Token) string {
	r := rewriter{template, list}
	var out strings.Builder
	written := 0
	for i := 0; i < len(list); i++ {
		if list[i].Type != tokens.VariableBegin && list[i].Type != tokens.BlockBegin {
			continue
		}
		from, end := r.expression(i)
		if end <= from {
			continue
		}
		text := r.groups(from, end)
		if r.conditionals(from, end) > 1 {
			text = r.operand(from, end)
		}
		out.WriteString(template[written:list[from].Pos] + text)
		written, i = list[end].Pos, end
	}
	return out.String() + template[written:]
}

// rewriter writes parts of a template anew. Parts are tokens [from, end).
type rewriter struct {
	text string
	list []*tokens.Token
}

// expression is the part of the tag that begins at token i in which conditional
// expressions may stand: all but the first word of a statement, and of a set what is set.
func (r *rewriter) expression(i int) (from, end int) {
	from = i + 1
	for end = from; end < len(r.list) && r.list[end].Type != tokens.VariableEnd && r.list[end].Type != tokens.BlockEnd; end++ {
	}
	if end == len(r.list) || r.list[i].Type == tokens.VariableBegin {
		return from, min(end, len(r.list)-1)
	}
	if from < end && r.list[from].Val == "set" {
		for k := from; k < end; k++ {
			if r.list[k].Type == tokens.Assign {
				return k + 1, end
			}
		}
	}
	return from + 1, end // of other statements, only what is within brackets
}

// conditionals counts the conditional expressions outside brackets. The `if` of a
// statement and that of a loop have no else.
func (r *rewriter) conditionals(from, end int) (n int) {
	for i := from; i < end; i = r.next(i, end) {
		if isWord(r.list[i], "else") {
			n++
		}
	}
	return n
}

// next is the token behind token i, or behind the brackets that it opens.
func (r *rewriter) next(i, end int) int {
	for depth := 0; i < end; i++ {
		switch r.list[i].Type {
		case tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace:
			depth++
		case tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace:
			depth--
		}
		if depth <= 0 {
			return i + 1
		}
	}
	return end
}

// source is the text from token from up to token end.
func (r *rewriter) source(from, end int) string { return r.text[r.list[from].Pos:r.list[end].Pos] }

// groups is a part with the operands within brackets written anew.
func (r *rewriter) groups(from, end int) string {
	var out strings.Builder
	for i := from; i < end; {
		behind := r.next(i, end)
		if behind == i+1 {
			out.WriteString(r.source(i, behind))
			i = behind
			continue
		}
		out.WriteString(r.source(i, i+1)) // the bracket
		out.WriteString(r.operands(i+1, behind-1))
		out.WriteString(r.source(behind-1, behind))
		i = behind
	}
	return out.String()
}

// operands are what commas, colons and the names of arguments divide.
func (r *rewriter) operands(from, end int) string {
	var out strings.Builder
	start := from
	for i := from; i < end; {
		switch r.list[i].Type {
		case tokens.Comma, tokens.Colon, tokens.Assign:
			out.WriteString(r.operand(start, i) + r.source(i, i+1))
			start = i + 1
		}
		i = r.next(i, end)
	}
	return out.String() + r.operand(start, end)
}

// operand is one expression. Whatever stands before `if` is its value if the condition
// holds, whatever stands behind else otherwise.
func (r *rewriter) operand(from, end int) string {
	if from >= end {
		return ""
	}
	yes, no := -1, -1
	for i := from; i < end && no < 0; i = r.next(i, end) {
		switch {
		case yes < 0 && isWord(r.list[i], "if"):
			yes = i
		case yes >= 0 && isWord(r.list[i], "else"):
			no = i
		}
	}
	switch {
	case yes <= from:
		return r.groups(from, end)
	case no < 0: // nothing, which prints as such
		return "((" + r.groups(yes+1, end) + ") and [" + r.groups(from, yes) + "] or [''])[0]"
	}
	return "((" + r.groups(yes+1, no) + ") and [" + r.groups(from, yes) + "] or [" + r.operand(no+1, end) + "])[0] "
}

func isWord(t *tokens.Token, word string) bool { return t.Type == tokens.Name && t.Val == word }
