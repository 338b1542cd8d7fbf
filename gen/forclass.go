package gen

import (
	"slices"

	"mla/gen/msl"
	"mla/gen/target"
	"mla/runtime/plan"
)

// forClasses adds kernels for kernel classes with a smaller budget for attention (target.Budgets), if the
// kernel for all devices exceeds it: with a smaller tile, and more simdgroups if that does not suffice. They
// are additional kernels of the bundle. A separate bundle would differ in nothing else.
func forClasses(b *plan.Bundle) error {
	t := target.For(b.Class)
	for i := range b.Kernels {
		for _, budget := range t.Budgets() {
			if budget.Class == "" {
				continue
			}
			threads, err := msl.Smaller(t, budget, &b.Kernels[i])
			if err != nil {
				return err
			}
			if threads > 0 {
				b.Kernels = append(b.Kernels, forClass(b, i, budget.Class, threads))
			}
		}
	}
	return nil
}

// forClass returns kernel i of b for a kernel class.
func forClass(b *plan.Bundle, i int, class string, threads int) plan.Kernel {
	k := b.Kernels[i]
	k.Name, k.Doc = k.Name+"_"+class, k.Doc+" For GPUs of class "+class+", whose threads have fewer registers."
	k.Class, k.Instead, k.Threads = class, i, threads
	k.Variants = slices.Clone(k.Variants)
	for v := range k.Variants {
		k.Variants[v].Func = plan.VariantName(k.Name, k.Variants[v].Types)
	}
	return k
}
