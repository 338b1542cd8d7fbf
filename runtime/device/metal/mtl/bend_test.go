package mtl

import (
	"fmt"
	"strings"
)

// bend makes one mistake at a time in a row of the headers, by what it bends.
func bend(line string) map[string]string {
	f := strings.Split(line, "\t")
	if len(f) == 3 {
		return bendEnum(f)
	}
	bent := map[string]string{}
	with := func(what string, at int, to string) {
		g := append([]string(nil), f...)
		g[at] = to
		bent[what] = strings.Join(g, "\t")
	}
	with("the class", 0, f[0]+"X")
	with("the selector", 1, "x"+f[1])
	with("the result", 3, otherKind(f[3]))
	if f[2] == "-" {
		with("the arguments", 2, "NSUInteger")
		return bent
	}
	args := strings.Split(f[2], ", ")
	first := 0
	if f[0] == "NSObject" {
		first = 1 // the receiver is not compared
	}
	for i := first; i < len(args); i++ {
		g := append([]string(nil), args...)
		g[i] = otherKind(args[i])
		with(fmt.Sprint("argument ", i), 2, strings.Join(g, ", "))
	}
	with("the number of arguments", 2, strings.Join(append(args, "NSUInteger"), ", "))
	return bent
}

// otherKind is a kind of another encoding: for integers the other signedness.
func otherKind(kind string) string {
	switch {
	case strings.Contains(kind, "NSUInteger"):
		return strings.Replace(kind, "NSUInteger", "NSInteger", 1)
	case strings.Contains(kind, "NSInteger"):
		return strings.Replace(kind, "NSInteger", "NSUInteger", 1)
	case kind == "void":
		return "BOOL"
	}
	return "void"
}

// bendEnum bends an enumeration's type and the number of each value that the
// runtime sends.
func bendEnum(f []string) map[string]string {
	bent := map[string]string{"the type": strings.Join([]string{f[0], otherKind(f[1]), f[2]}, "\t")}
	for _, c := range constants {
		for enumerator := range strings.SplitSeq(c.apple, " | ") {
			if at := strings.Index(", "+f[2]+",", ", "+enumerator+" = "); at >= 0 {
				number := at + len(enumerator) + len(" = ")
				bent[enumerator] = strings.Join([]string{f[0], f[1], f[2][:number] + "9" + f[2][number:]}, "\t")
			}
		}
	}
	return bent
}
