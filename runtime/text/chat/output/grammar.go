package output

import (
	"strings"

	"mla/runtime/text/grammar"
)

// ToolGrammar is a tool with the grammar of its arguments.
type ToolGrammar struct {
	Name string
	// Arguments is a JSON object, or for a Format with Pairs, pairs from Pair.
	Arguments grammar.Expr
}

// Grammars makes expressions for what models write in a format.
type Grammars struct {
	*Format
	// IsToken says whether a marker is a control token of the vocabulary.
	IsToken func(marker string) bool
}

// literal is a text that may contain markers.
func (g Grammars) literal(text string) grammar.Expr {
	var list grammar.Seq
	for text != "" {
		at := marker.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		if at[0] > 0 {
			list = append(list, grammar.Literal(text[:at[0]]))
		}
		name := text[at[0]:at[1]]
		if short := strings.TrimRight(name, "\n"); !g.IsToken(name) { // its line breaks are characters
			name = short
		}
		if name != "" && g.IsToken(name) {
			list = append(list, grammar.Marker(name))
		} else {
			list = append(list, grammar.Literal(name))
		}
		text = text[at[0]+len(name):]
	}
	return list
}

var newline = grammar.Optional(grammar.Literal("\n"))

// Begins is the text before Call.
func (g Grammars) Begins() grammar.Expr {
	return grammar.Seq{newline, grammar.Optional(g.literal(g.Begin)), newline, g.literal(g.Format.Call)}
}

// After is what may follow a call if no text may: the marker of another call, or the end of all calls.
func (g Grammars) After() grammar.Expr {
	return grammar.Alt{grammar.Seq{}, grammar.Seq{newline, g.literal(g.Format.Call)}, grammar.Seq{newline, g.literal(g.End)}}
}

// Calls is what follows the marker of a call, for any of the tools, to the call's end.
func (g Grammars) Calls(tools []ToolGrammar) grammar.Expr {
	var all grammar.Alt
	for _, t := range tools {
		all = append(all, g.call(t))
	}
	return all
}

func (g Grammars) call(t ToolGrammar) grammar.Expr {
	var list grammar.Seq
	switch name := grammar.Literal(t.Name); {
	case g.Pairs:
		return grammar.Seq{name, newline, t.Arguments, g.literal(callEnd)}
	case g.Separator == "": // the object contains the name, too
		list = grammar.Seq{newline, grammar.Literal(`{"name": ` + quote(t.Name) + `, "arguments": `)}
	case g.Numbered:
		digits := grammar.Repeat{Of: grammar.Class{{Lo: '0', Hi: '9'}}, Min: 1, Max: 4}
		list = grammar.Seq{grammar.Literal("functions."), name, grammar.Literal(":"), digits, g.literal(g.Separator)}
	default:
		list = grammar.Seq{name, g.literal(g.Separator)}
	}
	list = append(list, t.Arguments)
	for _, text := range g.Tail {
		list = append(list, newline, g.literal(text))
	}
	return list
}

// Pair is a key and a value.
func (g Grammars) Pair(key, value grammar.Expr) grammar.Expr {
	return grammar.Seq{g.literal(keyBegin), key, g.literal(keyEnd), newline, g.literal(valueBegin), value, g.literal(valueEnd), newline}
}

// Bare is the characters of a string without quotes between markers.
func (g Grammars) Bare() grammar.Class {
	if g.IsToken(valueEnd) {
		return grammar.Class{}.Not()
	}
	return grammar.Class{{Lo: '<', Hi: '<'}}.Not() // so that the string ends at the marker
}

// Calling says whether the model is writing a call, and the text after the call's marker. Within thoughts a
// marker alone does not count, as models think about calls, too.
func (p *Parser) Calling() (text string, ok bool) {
	if p.where == inText || p.Thinking() {
		return "", false
	}
	_, text, _ = strings.Cut(p.call.raw.String(), p.format.Call)
	return text + p.held, true
}
