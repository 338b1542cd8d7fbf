package ptx

import (
	"fmt"
	"slices"
	"strings"
)

// parameter is one parameter of a kernel in Metal source.
type parameter struct {
	decl      []string // type and name
	attribute string   // name in [[attribute]]
	buffer    int      // n of [[buffer(n)]]; -1: a position, such as the index of a thread
}

// kernel translates the head of a kernel, kernel void NAME(PARAMETERS) {, into a function of CUDA. Its body
// is translated like any other text. A kernel that lookup does not know is left out, except for its line
// ends.
func (t *translator) kernel() {
	from := t.at
	i := t.next(from, 1)
	if t.text(i) == "[" || t.text(i) == "[[" {
		t.fail("a kernel with attributes; expected kernel void NAME(")
		return
	}
	name, open := t.peek(2), t.next(from, 3)
	if t.text(i) != "void" || t.text(open) != "(" {
		t.fail("kernel %s %s; expected kernel void NAME(", t.text(i), name)
		return
	}
	params, close, err := t.parameters(open + 1)
	if err == nil && t.peekFrom(close, 1) != "{" {
		err = fmt.Errorf("no body")
	}
	k, known := t.lookup(name)
	var list string
	if err == nil {
		list, err = slots(params, k.Constant)
	}
	if err != nil {
		t.fail("kernel %s: %v", name, err)
		return
	}
	body := t.next(close, 1)
	if !known {
		t.leaveOut(name, body)
		return
	}
	bounds := fmt.Sprint(k.Threads)
	if k.Resident > 0 {
		bounds += fmt.Sprintf(", %d", k.Resident)
	}
	fmt.Fprintf(&t.out, "extern \"C\" __attribute__((global, launch_bounds(%s))) void %s(%s) {%s", bounds, name, list, positions(params))
	t.lines(from, body)
	t.at = body + 1
	t.depth++
}

// leaveOut skips the current kernel, whose body begins at token brace.
func (t *translator) leaveOut(name string, brace int) {
	depth := 0
	for i := brace; i < len(t.tokens); i = t.next(i, 1) {
		depth += strings.Count(t.tokens[i].Text, "{") - strings.Count(t.tokens[i].Text, "}")
		if depth == 0 {
			t.lines(t.at, i+1)
			t.at = i + 1
			return
		}
	}
	t.fail("kernel %s: no end", name)
}

func (t *translator) peekFrom(i, n int) string { return t.text(t.next(i, n)) }

// parameters parses TYPE NAME [[ATTRIBUTE]], … from token i on. It also returns the index of the closing
// parenthesis.
func (t *translator) parameters(i int) (list []parameter, close int, err error) {
	p := parameter{buffer: -1}
	for i = t.next(i, 0); i < len(t.tokens); i = t.next(i, 1) {
		switch text := t.tokens[i].Text; text {
		case "[[":
			p.attribute = t.peekFrom(i, 1)
			if p.attribute == "buffer" {
				n, ok := number(t.peekFrom(i, 3))
				if !ok || n > maxBuffer {
					return nil, 0, fmt.Errorf("buffer(%s) is none of 0 to %d", t.peekFrom(i, 3), maxBuffer)
				}
				p.buffer = n
			}
			for t.text(i) != "]]" && i < len(t.tokens) {
				i = t.next(i, 1)
			}
		case ",", ")":
			if len(p.decl) > 1 && p.attribute == "" {
				return nil, 0, fmt.Errorf("parameter %s has no attribute", p.decl[len(p.decl)-1])
			}
			if len(p.decl) > 1 {
				list = append(list, p)
			}
			if text == ")" {
				return list, i, nil
			}
			p = parameter{buffer: -1}
		case "device", "threadgroup", "thread":
		case "constant":
			p.decl = append(p.decl, "const")
		default:
			p.decl = append(p.decl, text)
		}
	}
	return nil, 0, fmt.Errorf("no ) after the parameters")
}

// slots prints the parameters that are buffers. The n-th is buffer(n). constant[n] says that no kernel writes
// buffer n.
func slots(params []parameter, constant []bool) (string, error) {
	count := 0
	for _, p := range params {
		count = max(count, p.buffer+1)
	}
	list := make([]string, count)
	for _, p := range params {
		if p.buffer < 0 {
			continue
		}
		if list[p.buffer] != "" {
			return "", fmt.Errorf("buffer(%d) twice", p.buffer)
		}
		last := len(p.decl) - 1
		if p.decl[last-1] != "*" && p.decl[last-1] != "&" {
			return "", fmt.Errorf("%s is no pointer and no reference", strings.Join(p.decl, " "))
		}
		restrict := " "
		if p.buffer < len(constant) && constant[p.buffer] {
			restrict = " __restrict__ "
		}
		list[p.buffer] = strings.Join(p.decl[:last], " ") + restrict + p.decl[last]
	}
	if i := slices.Index(list, ""); i >= 0 {
		return "", fmt.Errorf("no buffer(%d), but a higher one", i)
	}
	return strings.Join(list, ", "), nil
}

// positions prints the other parameters as local constants; see include/position.h.
func positions(params []parameter) string {
	var s strings.Builder
	for _, p := range params {
		if last := len(p.decl) - 1; p.buffer < 0 {
			fmt.Fprintf(&s, " const %s %s(metal::position::%s());", strings.Join(p.decl[:last], " "), p.decl[last], p.attribute)
		}
	}
	return s.String()
}
