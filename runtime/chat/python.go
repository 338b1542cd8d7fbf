package chat

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// splitText is Python's str.split(sep=None, maxsplit=-1). The engine's counts pieces
// where Python counts splits, and takes a missing separator for one space.
func splitText(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	sep, most := "", -1
	given := append([]*exec.Value(nil), args.Args...)
	for i, name := range []string{"sep", "maxsplit"} {
		if v, ok := args.KwArgs[name]; ok && i >= len(given) {
			for len(given) < i {
				given = append(given, exec.AsValue(nil))
			}
			given = append(given, v)
		}
	}
	if len(given) > 2 || len(given) > 1 && !given[1].IsInteger() {
		return nil, fmt.Errorf("split takes a separator and a number of splits")
	}
	if len(given) > 1 {
		most = given[1].Integer()
	}
	if len(given) > 0 && !given[0].IsNil() {
		if sep = given[0].String(); sep == "" {
			return nil, fmt.Errorf("split: empty separator")
		}
	}
	var parts []string
	switch {
	case sep == "":
		parts = splitSpace(self, most)
	case most < 0:
		parts = strings.Split(self, sep)
	default:
		parts = strings.SplitN(self, sep, most+1)
	}
	list := make([]any, len(parts))
	for i, p := range parts {
		list[i] = p
	}
	return list, nil
}

// splitSpace cuts at runs of white space, at most so many times; -1: at all.
func splitSpace(s string, most int) (parts []string) {
	for s = strings.TrimLeftFunc(s, unicode.IsSpace); s != ""; {
		i := strings.IndexFunc(s, unicode.IsSpace)
		if i < 0 || most >= 0 && len(parts) == most {
			return append(parts, s)
		}
		parts = append(parts, s[:i])
		s = strings.TrimLeftFunc(s[i:], unicode.IsSpace)
	}
	return parts
}

// directives are those of strftime that templates use, as Go's layouts.
var directives = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon",
	'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'Z': "MST", 'z': "-0700",
}

// strftime formats a time as Python does.
func strftime(t time.Time, format string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		i++
		switch {
		case i < len(format) && format[i] == '%':
			out.WriteByte('%')
		case i < len(format) && directives[format[i]] != "":
			out.WriteString(t.Format(directives[format[i]]))
		default:
			return "", fmt.Errorf("strftime_now(%q): the directive at byte %d is not supported", format, i-1)
		}
	}
	return out.String(), nil
}

// now is strftime_now(format), as Hugging Face's templates have it.
func now(_ *exec.Evaluator, args *exec.VarArgs) (any, error) {
	if len(args.Args) != 1 || !args.Args[0].IsString() {
		return nil, fmt.Errorf("strftime_now takes one format")
	}
	return strftime(time.Now(), args.Args[0].String())
}
