package kernel

import (
	"fmt"
	"reflect"
	"slices"

	"mla/runtime/plan"
)

// Apart renames kernels of b for which an earlier bundle has another kernel of the same name, because all
// bundles are printed into one source. It must run before Variants, which makes function names from kernel
// names.
func Apart(b *plan.Bundle, earlier []*plan.Bundle) {
	var taken []plan.Kernel
	for _, e := range earlier {
		taken = append(taken, e.Kernels...)
	}
	for i := range b.Kernels {
		k := b.Kernels[i]
		base := k.Name
		for n := 2; !free(&k, taken) || k.Name != base && indexOf(b.Kernels, k.Name) >= 0; n++ {
			k.Name = fmt.Sprintf("%s_%d", base, n)
		}
		b.Kernels[i].Name = k.Name
	}
}

// free reports whether no other kernel in taken has the name of k.
func free(k *plan.Kernel, taken []plan.Kernel) bool {
	i := indexOf(taken, k.Name)
	return i < 0 || sameText(k, &taken[i])
}

// sameText reports whether two kernels are equal except for their variants. Instead is ignored, because it is
// an index into a bundle's own list of kernels.
func sameText(a, b *plan.Kernel) bool {
	x, y := *a, *b
	x.Variants, y.Variants, x.Instead, y.Instead = nil, nil, 0, 0
	return reflect.DeepEqual(x, y)
}

// Merge lists the kernels of all bundles. A kernel that several bundles have is listed once, with the
// variants of all. It fails if kernels with the same name differ, see Apart.
func Merge(bundles []*plan.Bundle) ([]plan.Kernel, error) {
	all := slices.Clone(bundles[0].Kernels)
	for _, b := range bundles[1:] {
		for j := range b.Kernels {
			k := &b.Kernels[j]
			i := indexOf(all, k.Name)
			switch {
			case i < 0:
				all = append(all, *k)
			case !sameText(k, &all[i]):
				return nil, fmt.Errorf("bundle %s: kernel %s differs from that of bundle %s", b.Name, k.Name, bundles[0].Name)
			default:
				all[i].Variants = merged(all[i].Variants, k.Variants)
			}
		}
	}
	return all, nil
}

// merged returns the variants that a kernel has in two bundles, in the order of Variants.
func merged(a, b []plan.Variant) []plan.Variant {
	list := slices.Concat(a, b)
	slices.SortStableFunc(list, func(v, w plan.Variant) int { return slices.Compare(v.Types, w.Types) })
	return slices.CompactFunc(list, func(v, w plan.Variant) bool { return v.Func == w.Func })
}
