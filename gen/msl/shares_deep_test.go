//go:build deep

package msl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// shares are rows of as many blocks as 32 lanes deal out, and how many lanes share a
// block of a K-quant then: 8, or 16 where that leaves fewer lanes idle.
var shares = []struct{ blocks, lanes int }{
	{1, 16}, // 16 lanes idle; of 8 each it would be 24
	{2, 16},
	{3, 8}, // 8 lanes idle; of 16 each, 16 in the second of two passes
	{4, 8},
	{5, 16}, // 16 lanes idle in the third pass; of 8 each, 24 in the second
	{7, 8},  // 8 lanes idle in the second pass
}

// kQuants are the formats with two forms.
var kQuants = []quant.Type{quant.Q4_K, quant.Q5_K, quant.Q6_K}

// mixed are types of two matrices that share their inputs. In some pairs lanes divide the blocks in the same
// way, as for IQ4_XS and the K-quants of 16 lanes; in others they do not.
var mixed = [][]quant.Type{{quant.Q4_K, quant.Q6_K}, {quant.Q5_K, quant.IQ4_XS}, {quant.Q4_K, quant.Q8_0}, {quant.Q4_0, quant.IQ4_NL}}

// TestShares runs both forms of the K-quants, on one matrix and on two that share
// their inputs, and the other formats beside them. The results are floats also where
// the inputs are halves: which of their products make a sum of halves shows there.
func TestShares(t *testing.T) {
	for name, act := range map[string]plan.Elem{"f32": plan.ElemF32, "f16": plan.ElemF16} {
		for _, split := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/split=%t", name, split), func(t *testing.T) {
				b := &plan.Bundle{Name: "shares", Activations: act}
				for _, s := range shares {
					b.Kernels = append(b.Kernels, shareKernels(s.blocks, split)...)
				}
				source := print(t, b)
				if split {
					source = "#define SPLIT_ROWS true\n" + source
				} else {
					source += shareAssertions()
				}
				executeSource(t, b, source, split)
			})
		}
	}
}

// shareKernels are mat-vecs of rows of a given number of blocks of 256, of each format at least
// once; if split, of those formats whose rows are.
func shareKernels(blocks int, split bool) []plan.Kernel {
	var one, two slots
	p := &plan.MatVec{W: one.weight("w"), Product: plan.Product{Rows: 20, Cols: 256 * blocks, RowsPerGroup: 8, Up: -1}, Batch: 1, Add: -1}
	p.In, p.Out = one.in("in"), plan.Vec{Slot: one.floats("out", true)}
	q := *p
	q.W, q.Up = two.weight("w"), two.weight("w_up")
	q.In, q.Out = two.in("in"), plan.Vec{Slot: two.floats("out", true)}
	list := []plan.Kernel{one.kernel(fmt.Sprintf("one_%d", blocks), nil, p), two.kernel(fmt.Sprintf("two_%d", blocks), nil, &q)}
	for i := range list {
		k := &list[i]
		k.Variants = slices.DeleteFunc(k.Variants, func(v plan.Variant) bool {
			f, _ := quant.Lookup(v.Types[0])
			return split && !f.Splits(p.Cols) || !slices.Contains(kQuants, f.Type) && k.Name != "one_1"
		})
	}
	if k := &list[1]; blocks == 1 && !split {
		for _, types := range mixed {
			k.Variants = append(k.Variants, plan.Variant{Func: fmt.Sprintf("%s_%s_%s", k.Name, types[0], types[1]), Types: types})
		}
	}
	return slices.DeleteFunc(list, func(k plan.Kernel) bool { return len(k.Variants) == 0 })
}

// shareAssertions hold a source with all K-quants to the table.
func shareAssertions() string {
	var s strings.Builder
	s.WriteString("template <typename T> struct lanes_of;\n" +
		"template <template <uint> class T, uint SHARE> struct lanes_of<T<SHARE>> { enum { value = SHARE }; };\n")
	for _, t := range kQuants {
		for _, row := range shares {
			fmt.Fprintf(&s, "static_assert(lanes_of<mla::lane_layout<mla::%s, %du, 32u>::format>::value == %d, \"\");\n", t, row.blocks, row.lanes)
		}
	}
	return s.String()
}
