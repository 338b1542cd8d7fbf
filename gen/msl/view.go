package msl

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mla/runtime/plan"
)

// kernelView is a kernel as the templates see it.
type kernelView struct {
	*plan.Kernel
	printer *printer
	names   []string // of the slots, as printed
}

// Simdgroups is the number of simdgroups of a threadgroup.
func (k *kernelView) Simdgroups() int { return k.Threads / simdWidth }

// Name is a slot's parameter.
func (k *kernelView) Name(slot int) string { return k.names[slot] }

// Tag is the template parameter that stands for a typed slot's format.
func (k *kernelView) Tag(slot int) string { return "T_" + k.Slots[slot].Name }

// tags are the body's template parameters, in the order of a variant's types.
func (k *kernelView) tags() []string {
	var tags []string
	for _, slot := range k.TypedSlots() {
		tags = append(tags, k.Tag(slot))
	}
	return tags
}

// scope is where a declaration stands: among the helpers, or outside of their namespace.
type scope bool

const (
	inNamespace scope = false
	global      scope = true
)

// typeName is a type as a declaration in a scope writes it. Scalars are words of the language.
func (s scope) typeName(name string) string {
	switch {
	case s == inNamespace || scalars[name]:
		return name
	case name == elemTypes[plan.ElemCounter]:
		return "metal::" + name
	}
	return qualified(name)
}

var scalars = map[string]bool{"float": true, "half": true, "uchar": true, "uint": true}

// parameter declares a slot as a function parameter.
func (k *kernelView) parameter(slot int, in scope) string {
	s := &k.Slots[slot]
	elem := in.typeName(k.printer.elemType(s.Elem))
	switch {
	case s.Elem == plan.ElemArgs:
		return fmt.Sprintf("constant %s & %s", in.typeName(k.Kernel.Name+"_args"), k.names[slot])
	case s.Elem == plan.ElemRow && !s.Write && k.Width > 0:
		return fmt.Sprintf("constant %s * %s", elem, k.names[slot])
	case s.Elem == plan.ElemRow && !s.Write:
		return fmt.Sprintf("constant %s & %s", elem, k.names[slot])
	case s.Write:
		return fmt.Sprintf("device %s * %s", elem, k.names[slot])
	}
	return fmt.Sprintf("device const %s * %s", elem, k.names[slot])
}

// Row is the parameter that holds the row that the kernel works on.
func (k *kernelView) Row() (string, error) {
	if i := k.rowSlot(); i >= 0 {
		return k.names[i], nil
	}
	return "", errors.New("a part needs the row, but no slot has it")
}

// Pages points to the entries of a block table.
func (k *kernelView) Pages(c plan.Paged, table string) string {
	return fmt.Sprintf("%s + %s * %du", k.names[c.Tables], table, c.MaxPages)
}

// only is the parameter of the one slot in a space.
func (k *kernelView) only(s plan.Space, what string) (string, error) {
	i := slices.IndexFunc(k.Slots, func(slot plan.Slot) bool { return slot.Space == s })
	if i < 0 {
		return "", fmt.Errorf("a part needs the %s, but no slot has it", what)
	}
	return k.names[i], nil
}

// Ptr is the start of entry e of a vector; e is "" for the only one.
func (k *kernelView) Ptr(v plan.Vec, e string) string {
	return strings.Join(append([]string{k.names[v.Slot]}, place(v, e)...), " + ")
}

// Input is entry e of a vector as a mat-vec reads it; see templates/msl/lib/weights/blocks.metal.
func (k *kernelView) Input(v plan.Vec, e string) string {
	return fmt.Sprintf("%s{%s}", k.InputKind(v), k.Ptr(v, e))
}

// All is the vector that a slot is.
func (k *kernelView) All(slot int) plan.Vec { return plan.Vec{Slot: slot} }

var inputKinds = map[plan.Elem]string{plan.ElemF32: "floats", plan.ElemF16: "halves", plan.ElemAct: "acts"}

// InputKind is the type of such an input.
func (k *kernelView) InputKind(v plan.Vec) string {
	return "in_" + inputKinds[k.Slots[v.Slot].Elem]
}

// At is element i of entry e of a vector.
func (k *kernelView) At(v plan.Vec, e, i string) string {
	return k.names[v.Slot] + "[" + strings.Join(append(place(v, e), i), " + ") + "]"
}

// place is where an entry starts, as terms of a sum.
func place(v plan.Vec, e string) []string {
	var terms []string
	if v.Offset != 0 {
		terms = append(terms, fmt.Sprintf("%du", v.Offset))
	}
	if e != "" && v.Stride != 0 {
		terms = append(terms, fmt.Sprintf("%s * %du", e, v.Stride))
	}
	return terms
}

// RopePair points to cosine and sine of a pair at the current position.
func (k *kernelView) RopePair(r plan.RopeAt, pair string) (string, error) {
	row, err := k.Row()
	return fmt.Sprintf("%s + (ulong(%s.pos) * %du + %s) * 2u", k.names[r.Table], row, r.Dim/2, pair), err
}

// Float is x as a float literal that reads back as the float32 nearest to x.
func (k *kernelView) Float(x any) string {
	var f float64
	switch x := x.(type) {
	case int:
		f = float64(x)
	case float64:
		f = x
	}
	s := strconv.FormatFloat(f, 'g', -1, 32)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s + "f"
}

// Arithmetic for the templates.

func (k *kernelView) Add(a, b int) int { return a + b }
func (k *kernelView) Sub(a, b int) int { return a - b }
func (k *kernelView) Mul(a, b int) int { return a * b }
func (k *kernelView) Half(a int) int   { return a / 2 }

// PerThread is how many of n elements a thread takes at most.
func (k *kernelView) PerThread(n int) int { return ceil(n, k.Threads) }

// Residual is where the residual of an output is: at its place in another slot.
func (k *kernelView) Residual(out plan.Vec, slot int) plan.Vec {
	out.Slot = slot
	return out
}
