//go:build deep

package ptx

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mla/gen/msl"
	"mla/runtime/plan"
)

// TestUnroll checks that the number of loads in a kernel rises with the blocks of a row in flight. A plan
// without that number gets the default.
func TestUnroll(t *testing.T) {
	for _, tt := range []struct{ bundle, kernel, variant string }{
		{"youtu2bnvidia", "lm_head", "lm_head_f16"},
		{"youtu2bnvidia", "gate_up", "gate_up_f16_f16"},
		{"glm47flashf16nvidia", "experts_down_shared_down", "experts_down_shared_down_f16_f16"},
	} {
		var loads []int
		for _, unroll := range []int{1, 2, 4, 8, 0} {
			loads = append(loads, strings.Count(alone(t, bundle(t, tt.bundle), tt.kernel, tt.variant, unroll), "ld.global"))
		}
		if !slices.IsSorted(loads[:4]) || loads[0] == loads[1] && loads[1] == loads[2] || loads[2] == loads[3] || loads[4] != loads[2] {
			t.Errorf("%s: %d loads with 1, 2, 4, 8 blocks under way, and by default", tt.variant, loads)
		}
	}
}

// TestLongLoops: where a simdgroup has many rows, a loop over blocks is not unrolled if its text would be
// long: include/ptx/unroll.h. So of Q4_K 4 blocks under way are as many as 1, and of Q4_0 they are more.
func TestLongLoops(t *testing.T) {
	const longest = 5500 // instructions; kernels of up to 7,900 took a fifth longer in a replay than by themselves: docs/lab/2026-11.md
	b := bundle(t, "glm47flashf16nvidia")
	for _, name := range []string{"experts_gate_experts_up_x4", "experts_down_shared_down_x4"} {
		instructions := func(format string, unroll int) int {
			return strings.Count(alone(t, b, name, name+"_"+format+"_"+format, unroll), ";\n")
		}
		if four, one := instructions("q4_k", 4), instructions("q4_k", 1); four != one || four > longest {
			t.Errorf("%s: %d instructions of Q4_K with 4 blocks under way, %d with 1; expected as many, at most %d", name, four, one, longest)
		}
		if four, one := instructions("q4_0", 4), instructions("q4_0", 1); four <= one || four > longest {
			t.Errorf("%s: %d instructions of Q4_0 with 4 blocks under way, %d with 1; expected more, at most %d", name, four, one, longest)
		}
	}
}

// TestDecodesOnce: a mat-vec with the inputs of several rows decodes its weights no more often than
// with one, though its text says so only to a compiler that finds common expressions.
func TestDecodesOnce(t *testing.T) {
	for name, of := range map[string]string{"o_proj_x2": "youtu2bf16nvidia", "o_proj_x4": "deepseekv2litef16nvidia"} {
		b := bundle(t, of)
		each := func(name, word string) float64 {
			return float64(strings.Count(alone(t, b, name, name+"_q4_0", 4), word)) / float64(simdgroupRows(b, name))
		}
		const decode, product = "lop3.b32", "fma.rn.f16x2"
		if n, one := each(name, decode), each("o_proj", decode); one == 0 || n > 1.25*one {
			t.Errorf("%s takes a row of weights apart %v times; of one row that is %v", name, n, one)
		}
		if n, one := each(name, product), each("o_proj", product); n <= one {
			t.Errorf("%s has %v products of a row of weights; of one row that is %v", name, n, one)
		}
	}
}

// simdgroupRows is how many rows of weights a simdgroup has in a kernel that is a mat-vec.
func simdgroupRows(b *plan.Bundle, kernel string) int {
	k := b.Kernels[slices.IndexFunc(b.Kernels, func(k plan.Kernel) bool { return k.Name == kernel })]
	part := k.Parts[0].(*plan.MatVec)
	return part.RowsPerGroup * max(part.SplitK, 1) * 32 / k.Threads
}

// alone is the PTX of one variant of a bundle's kernel with a given number of blocks in flight.
func alone(t *testing.T, b *plan.Bundle, kernel, variant string, unroll int) string {
	t.Helper()
	k := b.Kernels[slices.IndexFunc(b.Kernels, func(k plan.Kernel) bool { return k.Name == kernel })]
	k.Variants = slices.DeleteFunc(slices.Clone(k.Variants), func(v plan.Variant) bool { return v.Func != variant })
	part := reflect.New(reflect.TypeOf(k.Parts[0]).Elem())
	part.Elem().Set(reflect.ValueOf(k.Parts[0]).Elem())
	part.Elem().FieldByName("Unroll").SetInt(int64(unroll))
	k.Parts = []plan.Part{part.Interface().(plan.Part)}
	one := &plan.Bundle{Name: b.Name, Activations: b.Activations, Kernels: []plan.Kernel{k}}
	var err error
	if one.Source, err = msl.Print(one, "// test"); err != nil {
		t.Fatal(err)
	}
	file, err := Build(one)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Text(file)
	if err != nil {
		t.Fatal(err)
	}
	return entries(t, text)[variant].body
}
