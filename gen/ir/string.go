package ir

import (
	"fmt"
	"strings"
)

// String is a stable dump of the program, one line per op.
func (p *Program) String() string {
	var b strings.Builder
	for i, s := range p.Launches {
		bar := " "
		if s.Barrier {
			bar = "|"
		}
		fmt.Fprintf(&b, "%4d %s layer %d %s\n", i, bar, s.Layer, s.Name())
		for j, part := range s.Parts {
			for k, op := range part.Ops {
				lead := "  "
				if k == 0 {
					lead = fmt.Sprintf("%c:", 'a'+j)
				}
				fmt.Fprintf(&b, "       %s %s\n", lead, op)
			}
		}
	}
	return b.String()
}

// String is the op as an assignment; weights follow a semicolon.
func (op *Op) String() string {
	var b strings.Builder
	for i, o := range op.Out {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(o.String())
	}
	fmt.Fprintf(&b, " = %s(", op.Kind)
	for i, r := range op.In {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(r.String())
	}
	for _, w := range op.W {
		fmt.Fprintf(&b, "; %s", w.Name)
	}
	b.WriteString(")")
	for _, f := range []struct {
		name string
		n    int
	}{{"batch", op.Batch}, {"heads", op.Heads}, {"splits", op.Splits}, {"k", op.K}, {"group", op.Group}} {
		if f.n > 1 {
			fmt.Fprintf(&b, " %s=%d", f.name, f.n)
		}
	}
	if op.Scale != 0 {
		fmt.Fprintf(&b, " scale=%.6g", op.Scale)
	}
	if op.Limit != 0 {
		fmt.Fprintf(&b, " limit=%.6g", op.Limit)
	}
	if op.State != nil {
		fmt.Fprintf(&b, " state=%s", op.State)
	}
	if op.Halves {
		b.WriteString(" halves")
	}
	if t := op.Temperature; t.Scale != 0 {
		fmt.Fprintf(&b, " temperature=%.6g/%d", t.Scale, t.Length)
	}
	return b.String()
}

// elemNames are written after a length. F32 is left out.
var elemNames = [...]string{F32: "", Half: " half", Route: " route", Index: " index"}

// String is the value's number, name and length, and its place once it has one.
func (v *Value) String() string {
	s := fmt.Sprintf("%%%d.%s[%d%s]", v.ID, v.Name, v.Len, elemNames[v.Elem])
	if v.Offset >= 0 {
		s += fmt.Sprintf("@%d", v.Offset)
	}
	return s
}

// String is the value, with {offset:+length/stride} if r is not all of it.
func (r Ref) String() string {
	if r.Off == 0 && r.Len == r.V.Len {
		return r.V.String()
	}
	return fmt.Sprintf("%s{%d:+%d/%d}", r.V, r.Off, r.Len, r.Stride)
}
