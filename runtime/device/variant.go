package device

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Bound is a tensor that is bound to a typed slot, and its type.
type Bound struct {
	Tensor string // GGUF name, or "KV cache"
	Type   quant.Type
}

// VariantError says that a kernel has no variant for the types that a file has in one layer.
type VariantError struct {
	Bundle, Kernel string
	Layer          int            // -1 outside the layers
	Bound          []Bound        // one per typed slot
	Covered        [][]quant.Type // the types of each variant, in the order of Bound
}

// Error names the tensors, their types, the types that the bundle has variants for, and the command that
// makes a bundle with the missing variant.
func (e *VariantError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "bundle %s, kernel %s", e.Bundle, e.Kernel)
	if e.Layer >= 0 {
		fmt.Fprintf(&b, ", layer %d", e.Layer)
	}
	sep := ": "
	for _, t := range e.Bound {
		fmt.Fprintf(&b, "%s%s is %s", sep, t.Tensor, t.Type)
		sep = ", "
	}
	b.WriteString("; the bundle covers ")
	for i, types := range e.Covered {
		if i > 0 {
			b.WriteString(", ")
		}
		for j, t := range types {
			if j > 0 {
				b.WriteString("+")
			}
			b.WriteString(t.String())
		}
	}
	if len(e.Covered) == 0 {
		b.WriteString("nothing")
	}
	b.WriteString(".\nTo make a bundle with these types: mlagen -gguf FILE")
	return b.String()
}

// Variant returns the variant of a dispatch's kernel for the types of its weights and the cache type kv, or a
// *VariantError. The dispatch must name an existing kernel and have one operand per slot.
func (m *Model) Variant(d *plan.Dispatch, kv quant.Type) (*plan.Variant, error) {
	return m.variant(&m.Bundle.Kernels[d.Kernel], d, kv)
}

// VariantFor is Variant for devices of a kernel class.
func (m *Model) VariantFor(d *plan.Dispatch, kv quant.Type, class string) (*plan.Variant, error) {
	return m.variant(m.Bundle.KernelFor(d.Kernel, class), d, kv)
}

func (m *Model) variant(k *plan.Kernel, d *plan.Dispatch, kv quant.Type) (*plan.Variant, error) {
	var bound []Bound
	var types []quant.Type
	for _, slot := range k.TypedSlots() {
		t := Bound{Tensor: "KV cache", Type: kv}
		if op := &d.Operands[slot]; op.Space == plan.SpaceWeight {
			w, err := m.Lookup(op.Index, d.LayerOf(slot))
			if err != nil {
				return nil, fmt.Errorf("slot %s: %w", k.Slots[slot].Name, err)
			}
			t = Bound{w.Tensor, w.Type}
		}
		bound, types = append(bound, t), append(types, t.Type)
	}
	e := &VariantError{Bundle: m.Bundle.Name, Kernel: k.Name, Layer: d.Layer, Bound: bound}
	for i := range k.Variants {
		if slices.Equal(k.Variants[i].Types, types) {
			return &k.Variants[i], nil
		}
		e.Covered = append(e.Covered, k.Variants[i].Types)
	}
	return nil, e
}

// Functions lists the kernel functions that the model needs with a configuration on devices of a kernel
// class, each once. Those that pick tokens come last.
func (m *Model) Functions(cfg Config, class string) ([]string, error) {
	var list []string
	for _, q := range append(m.Sequences(cfg), plan.Sequence{Dispatches: m.Bundle.Pick}) {
		for i := range q.Dispatches {
			v, err := m.VariantFor(&q.Dispatches[i], cfg.KV, class)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(list, v.Func) {
				list = append(list, v.Func)
			}
		}
	}
	return list, nil
}
