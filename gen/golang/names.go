package golang

import (
	"cmp"
	"slices"
	"strings"

	"mla/runtime/plan"
)

// ordered returns the bundles of a spec in a fixed order: by class of devices, any device first, then by
// model and layer, then by activations.
func ordered(bundles []*plan.Bundle) []*plan.Bundle {
	return slices.SortedFunc(slices.Values(bundles), func(a, b *plan.Bundle) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Model.NextN, b.Model.NextN), cmp.Compare(a.Activations, b.Activations))
	})
}

// suffix tells the variables of bundles of one spec apart: the layer, activations and class, such as
// NextNF16; "" for the model with f32 activations for any device.
func suffix(b *plan.Bundle) string {
	return nextN(b) + title(ActSuffix(b)) + title(b.Class)
}

// nextN returns the part of names that stands for a multi-token-prediction layer.
func nextN(b *plan.Bundle) string {
	if b.Model.NextN > 0 {
		return "NextN"
	}
	return ""
}

func title(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// kernelConsts returns the names of the indices of each bundle's kernels: kQAKvA for q_a_kv_a. Bundles with
// the same kernels share the names.
func kernelConsts(bundles []*plan.Bundle) [][]string {
	var all [][]string
	for i, b := range bundles {
		same := slices.IndexFunc(bundles[:i], func(o *plan.Bundle) bool {
			n := len(b.Kernels)
			if n < len(o.Kernels) && o.Kernels[n].Class == "" { // kernels for a kernel class come last, and b may lack them
				return false
			}
			return n <= len(o.Kernels) && slices.EqualFunc(o.Kernels[:n], b.Kernels, func(x, y plan.Kernel) bool { return x.Name == y.Name })
		})
		if same >= 0 {
			all = append(all, all[same])
			continue
		}
		own := ""
		if i > 0 { // the first bundle's names have no suffix
			own = suffix(b)
		}
		var names []string
		for _, k := range b.Kernels {
			name := "k"
			for _, word := range strings.Split(k.Name, "_") {
				name += title(word)
			}
			names = append(names, name+own)
		}
		all = append(all, names)
	}
	return all
}
