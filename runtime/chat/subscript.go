package chat

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// The engine evaluates x[-n] to none when x has exactly n items, so that
// messages[-1] of a single message would silently vanish. The text of a template
// is therefore rewritten before it is parsed: x[-n] becomes x.item(-n).

// itemMethod is the method that takes the place of a negative subscript.
const itemMethod = "item"

// rewriteSubscripts returns the template, whose tokens are given, with every
// constant negative subscript replaced by a call of itemMethod.
func rewriteSubscripts(template string, list []*tokens.Token) string {
	var out strings.Builder
	written := 0
	for i := 1; i+3 < len(list); i++ {
		open, minus, number, closing := list[i], list[i+1], list[i+2], list[i+3]
		if open.Type != tokens.LeftBracket || minus.Type != tokens.Subtraction ||
			number.Type != tokens.Integer || closing.Type != tokens.RightBracket || !endsOperand(list[i-1]) {
			continue
		}
		fmt.Fprintf(&out, "%s.%s(-%s)", template[written:open.Pos], itemMethod, number.Val)
		written = closing.Pos + len("]")
	}
	return out.String() + template[written:]
}

// endsOperand reports whether a bracket after the token is a subscript and not
// the beginning of a list.
func endsOperand(t *tokens.Token) bool {
	switch t.Type {
	case tokens.RightBracket, tokens.RightParenthesis, tokens.String:
		return true
	case tokens.Name:
		switch t.Val {
		case "if", "elif", "else", "set", "do":
			return false
		}
		return true
	}
	return false
}

// Methods of Python's types that templates may call. The engine has more, some
// of which make strings of any length.
var (
	stringMethods = []string{
		"capitalize", "count", "endswith", "find", "isalpha", "isdigit", "islower", "isspace", "isupper", "join",
		"lower", "lstrip", "removeprefix", "removesuffix", "replace", "rstrip", "split", "splitlines", "startswith",
		"strip", "title", "upper",
	}
	listMethods = []string{"append", "reverse"}
)

func methods() exec.Methods {
	all := builtins.Methods
	onString, onList := pick(all.Str, stringMethods), pick(all.List, listMethods)
	onString[itemMethod] = func(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		chars := []rune(self)
		return fromEnd(len(chars), args, func(i int) any { return string(chars[i]) })
	}
	onString["split"] = splitText
	onDict := map[string]exec.Method[map[string]any]{"get": get}
	for name, list := range map[string]func(*exec.Value) []any{"items": items, "keys": keysOf, "values": valuesOf} {
		onDict[name] = func(_ map[string]any, self *exec.Value, _ *exec.VarArgs) (any, error) { return list(self), nil }
	}
	onList[itemMethod] = func(self []any, _ *exec.Value, args *exec.VarArgs) (any, error) {
		return fromEnd(len(self), args, func(i int) any { return self[i] })
	}
	return exec.Methods{
		Bool:  all.Bool,
		Int:   all.Int,
		Float: all.Float,
		Str:   exec.NewMethodSet(onString),
		List:  exec.NewMethodSet(onList),
		Dict:  exec.NewMethodSet(onDict),
	}
}

// get is Python's dict.get(). The engine's returns objects within the object as maps, which
// have lost the order of their keys.
func get(_ map[string]any, self *exec.Value, args *exec.VarArgs) (any, error) {
	if len(args.Args) < 1 || len(args.Args) > 2 || len(args.KwArgs) > 0 {
		return nil, errors.New("get takes a key, and what there is without it")
	}
	if item, found := self.GetItem(args.Args[0].Interface()); found {
		return item.Interface(), nil
	}
	if len(args.Args) == 2 {
		return args.Args[1].Interface(), nil
	}
	return nil, nil
}

// pick returns the methods of a set that are named.
func pick[T any](set *exec.MethodSet[T], names []string) map[string]exec.Method[T] {
	picked := map[string]exec.Method[T]{}
	for _, name := range names {
		if method, ok := set.Get(name); ok {
			picked[name] = method
		}
	}
	return picked
}

// fromEnd is the item at the negative index args[0], or none outside.
func fromEnd(n int, args *exec.VarArgs, at func(int) any) (any, error) {
	if len(args.Args) != 1 || !args.Args[0].IsInteger() {
		return nil, fmt.Errorf("%s takes one number", itemMethod)
	}
	i := n + args.Args[0].Integer()
	if i < 0 || i >= n {
		return nil, nil
	}
	return at(i), nil
}
