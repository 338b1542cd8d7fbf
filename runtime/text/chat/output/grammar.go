package output

import (
	"strings"

	"mla/runtime/text/grammar"
)

// ToolGrammar is a tool with what its arguments may be.
type ToolGrammar struct {
	Name string
	// Arguments is a JSON object; of a Format with Pairs, pairs as Pair writes them.
	Arguments grammar.Expr
}

// Grammars makes expressions of what models write in a format.
type Grammars struct {
	*Format
	// IsToken says whether a marker is a control token of the vocabulary, not characters.
	IsToken func(marker string) bool
}

// literal is a text with markers in it.
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
		if short := strings.TrimRight(name, "\n"); !g.IsToken(name) { // whose line breaks are characters
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

// Begins is the text up to where a call begins, which Call goes on with.
func (g Grammars) Begins() grammar.Expr {
	return grammar.Seq{newline, grammar.Optional(g.literal(g.Begin)), newline, g.literal(g.Format.Call)}
}

// After is what may follow a call if no text may: the marker of another one, or the end of
// all calls.
func (g Grammars) After() grammar.Expr {
	return grammar.Alt{grammar.Seq{}, grammar.Seq{newline, g.literal(g.Format.Call)}, grammar.Seq{newline, g.literal(g.End)}}
}

// Calls is what follows the marker of a call, of any of the tools, up to its end.
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
	case g.Separator == "": // the name is in the object, too
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

// Bare is the characters of a string that stands between markers without quotes.
func (g Grammars) Bare() grammar.Class {
	if g.IsToken(valueEnd) {
		return grammar.Class{}.Not()
	}
	return grammar.Class{{Lo: '<', Hi: '<'}}.Not() // so that it ends where the marker begins
}

// Calling says whether the model is at a call, and what it has written after its marker.
// Within thoughts a marker alone is none: models think about calls, too.
func (p *Parser) Calling() (text string, ok bool) {
	if p.where == inText || p.Thinking() {
		return "", false
	}
	_, text, _ = strings.Cut(p.call.raw.String(), p.format.Call)
	return text + p.held, true
}
