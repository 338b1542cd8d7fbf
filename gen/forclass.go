package gen

import (
	"slices"

	"mla/gen/msl"
	"mla/gen/target"
	"mla/runtime/plan"
)

// forClasses gives devices with a smaller budget for attention (target.Budgets) a kernel
// of their own that keeps to it, where the one for all devices does not: with a smaller
// tile, and more simdgroups if that is not enough. It is one more kernel of the bundle,
// not one more bundle, as nothing else would differ.
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

// forClass is kernel i of b as a class of devices runs it.
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
