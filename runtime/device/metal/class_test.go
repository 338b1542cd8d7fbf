package metal_test

import (
	"slices"
	"strings"

	"mla/runtime/device/metal"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

func init() {
	cases["class"] = logits("glm47-tiny-Q4_0", quant.F16, 0.05, metal.ReplayICB, forClass(true))
	cases["class auto"] = logits("glm47-tiny-Q4_0", quant.F16, 0.05, metal.ReplayAuto, forClass(false))
	cases["class without"] = logits("glm47-tiny-Q4_0", quant.F16, 0.05, metal.ReplayICB, forClass(false))
}

// forClass returns a bundle in which older GPUs run attention by a kernel of another name. has says whether
// its source has that kernel.
func forClass(has bool) *plan.Bundle {
	b := *bundle("glm47tiny")
	i := slices.IndexFunc(b.Kernels, func(k plan.Kernel) bool { return k.Name == "attend" })
	k := b.Kernels[i]
	k.Name, k.Class, k.Instead, k.Variants = "attend_own", plan.ClassApple7, i, slices.Clone(k.Variants)
	for j := range k.Variants {
		v := &k.Variants[j]
		_, text, _ := strings.Cut(b.Source, "\n//: "+v.Func+" ")
		text, _, _ = strings.Cut(text, "\n}\n")
		text = strings.Replace(text, "void "+v.Func+"(", "void "+v.Func+"_own(", 1)
		if v.Func += "_own"; has {
			b.Source += "\n//: " + v.Func + " " + text + "\n}\n"
		}
	}
	b.Kernels = append(slices.Clone(b.Kernels), k)
	return &b
}
