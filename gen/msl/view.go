package msl

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mla/runtime/plan"
)

// kernelView is the data of a kernel for templates.
type kernelView struct {
	*plan.Kernel
	printer *printer
	names   []string // names of the slots' parameters
}

// Simdgroups returns the number of simdgroups of a threadgroup.
func (k *kernelView) Simdgroups() int { return k.Threads / simdWidth }

// Name returns a slot's parameter.
func (k *kernelView) Name(slot int) string { return k.names[slot] }

// Tag returns the template parameter for a typed slot's format.
func (k *kernelView) Tag(slot int) string { return "T_" + k.Slots[slot].Name }

// tags returns the body's template parameters, in the order of a variant's types.
func (k *kernelView) tags() []string {
	var tags []string
	for _, slot := range k.TypedSlots() {
		tags = append(tags, k.Tag(slot))
	}
	return tags
}

// scope says where a declaration is: in the namespace of the helpers, or outside.
type scope bool

const (
	inNamespace scope = false
	global      scope = true
)

// typeName returns a type as a declaration in the scope writes it. Scalar types need no namespace.
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

// Row returns the parameter with the row that the kernel computes.
func (k *kernelView) Row() (string, error) {
	if i := k.rowSlot(); i >= 0 {
		return k.names[i], nil
	}
	return "", errors.New("a part needs the row, but no slot has it")
}

// Pages returns a pointer to the entries of a block table.
func (k *kernelView) Pages(c plan.Paged, table string) string {
	return fmt.Sprintf("%s + %s * %du", k.names[c.Tables], table, c.MaxPages)
}

// only returns the parameter of the only slot in a space. what names it in the error.
func (k *kernelView) only(s plan.Space, what string) (string, error) {
	i := slices.IndexFunc(k.Slots, func(slot plan.Slot) bool { return slot.Space == s })
	if i < 0 {
		return "", fmt.Errorf("a part needs the %s, but no slot has it", what)
	}
	return k.names[i], nil
}

// Ptr returns a pointer to entry e of a vector; "" is the only entry.
func (k *kernelView) Ptr(v plan.Vec, e string) string {
	return strings.Join(append([]string{k.names[v.Slot]}, place(v, e)...), " + ")
}

// Input returns entry e of a vector as a mat-vec reads it; see templates/msl/lib/weights/blocks.metal.
func (k *kernelView) Input(v plan.Vec, e string) string {
	return fmt.Sprintf("%s{%s}", k.InputKind(v), k.Ptr(v, e))
}

// All returns the whole of a slot as a vector.
func (k *kernelView) All(slot int) plan.Vec { return plan.Vec{Slot: slot} }

var inputKinds = map[plan.Elem]string{plan.ElemF32: "floats", plan.ElemF16: "halves", plan.ElemAct: "acts"}

// InputKind returns the type of Input.
func (k *kernelView) InputKind(v plan.Vec) string {
	return "in_" + inputKinds[k.Slots[v.Slot].Elem]
}

// At returns element i of entry e of a vector.
func (k *kernelView) At(v plan.Vec, e, i string) string {
	return k.names[v.Slot] + "[" + strings.Join(append(place(v, e), i), " + ") + "]"
}

// place returns where an entry starts, as terms of a sum.
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

// RopePair returns a pointer to cosine and sine of a pair at the current position.
func (k *kernelView) RopePair(r plan.RopeAt, pair string) (string, error) {
	row, err := k.Row()
	return fmt.Sprintf("%s + (ulong(%s.pos) * %du + %s) * 2u", k.names[r.Table], row, r.Dim/2, pair), err
}

// Float returns x as a float literal that reads back as the float32 nearest to x.
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

// Arithmetic for templates.

func (k *kernelView) Add(a, b int) int { return a + b }
func (k *kernelView) Sub(a, b int) int { return a - b }
func (k *kernelView) Mul(a, b int) int { return a * b }
func (k *kernelView) Half(a int) int   { return a / 2 }

// PerThread returns how many of n elements a thread has at most.
func (k *kernelView) PerThread(n int) int { return ceil(n, k.Threads) }

// Residual returns the vector in another slot at the place of out.
func (k *kernelView) Residual(out plan.Vec, slot int) plan.Vec {
	out.Slot = slot
	return out
}
