package chat

import (
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// The engine's parser and evaluator are recursive and take some 16 kB of stack
// per bracket, and running out of stack ends the program. So the tokens of a
// template are counted before it is parsed.
const (
	maxBrackets = 50   // open at once
	maxBlocks   = 50   // open at once
	maxTag      = 2000 // tokens in one {{ }} or {% %}
)

// lex returns the template as the engine reads it, with plain line breaks, and
// its tokens, whose positions refer to that text.
func lex(template string, conf *config.Config) (string, []*tokens.Token) {
	template = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(template)
	var list []*tokens.Token
	stream := tokens.LexAll(template, conf)
	for ; !stream.End() && !stream.IsError(); stream.Next() {
		list = append(list, stream.Current())
	}
	return template, list
}

// checkNesting reports tokens that would take the engine too deep.
func checkNesting(list []*tokens.Token) error {
	brackets, blocks, tag := 0, 0, 0
	for i, t := range list {
		tag++
		switch t.Type {
		case tokens.VariableBegin, tokens.BlockBegin:
			brackets, tag = 0, 0
			if t.Type == tokens.BlockBegin && i+1 < len(list) {
				blocks += opens(list[i+1:])
			}
		case tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace:
			brackets++
		case tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace:
			brackets--
		}
		switch {
		case brackets > maxBrackets:
			return fmt.Errorf("line %d: more than %d nested brackets", t.Line, maxBrackets)
		case blocks > maxBlocks:
			return fmt.Errorf("line %d: more than %d nested blocks", t.Line, maxBlocks)
		case tag > maxTag:
			return fmt.Errorf("line %d: more than %d tokens in one tag", t.Line, maxTag)
		}
	}
	return nil
}

// opens is 1 for a tag that begins a block, -1 for one that ends it, else 0.
// The tag starts after its {%.
func opens(tag []*tokens.Token) int {
	switch name := tag[0].Val; name {
	case "if", "for", "macro", "with", "filter":
		return 1
	case "set":
		for _, t := range tag {
			if t.Type == tokens.Assign {
				return 0
			}
			if t.Type == tokens.BlockEnd {
				break
			}
		}
		return 1
	default:
		if strings.HasPrefix(name, "end") {
			return -1
		}
	}
	return 0
}

// joinLines leaves out line breaks behind a backslash in strings, as Python does: the
// engine keeps both.
func joinLines(template string, list []*tokens.Token) string {
	var out strings.Builder
	written := 0
	for i, t := range list[:max(len(list)-1, 0)] {
		if t.Type != tokens.String {
			continue
		}
		literal := template[t.Pos:list[i+1].Pos]
		out.WriteString(template[written:t.Pos] + lineJoiner.Replace(literal))
		written = t.Pos + len(literal)
	}
	return out.String() + template[written:]
}

// lineJoiner reads escapes from left to right, so that an escaped backslash joins nothing.
var lineJoiner = strings.NewReplacer(`\\`, `\\`, "\\\n", "")
