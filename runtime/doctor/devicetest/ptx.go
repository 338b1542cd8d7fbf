package devicetest

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// threadgroupMemory finds a kernel and how many vectors of four floats it declares.
var threadgroupMemory = regexp.MustCompile(`\nkernel void (\w+)\([^{]*\{\s*threadgroup float4 scratch\[(\d+)\];`)

// PTX returns PTX text for a bundle in which every kernel has its real parameters and an empty body. The stand-in
// for NVIDIA's driver runs the Metal source instead.
func PTX(b *plan.Bundle) (string, error) {
	var w strings.Builder
	fmt.Fprintf(&w, "// kernels.metal sha256:%x\n.version 7.8\n.target sm_90\n.address_size 64\n\n", sha256.Sum256([]byte(b.Metal())))
	memory := map[string]int{}
	for _, m := range threadgroupMemory.FindAllStringSubmatch(b.Metal(), -1) {
		memory[m[1]], _ = strconv.Atoi(m[2])
	}
	for i := range b.Kernels {
		k := &b.Kernels[i]
		for _, v := range k.Variants {
			fmt.Fprintf(&w, "\t// .globl\t%s\n", v.Func)
			if bytes := 16 * memory[v.Func]; bytes > ptxfile.StaticBytes {
				fmt.Fprintf(&w, "%s.extern .shared .align 16 .b8 %s_scratch[];\n", ptxfile.DynamicLine(bytes), v.Func)
			}
			fmt.Fprintf(&w, ".visible .entry %s(\n", v.Func)
			for j := range k.Slots {
				fmt.Fprintf(&w, "\t.param .u64 .ptr .global .align 1 %s_param_%d%s\n", v.Func, j, ","[:min(1, len(k.Slots)-1-j)])
			}
			fmt.Fprintf(&w, ")\n.maxntid %d, 1, 1\n{\n\tret;\n}\n", k.Threads)
		}
	}
	return w.String(), nil
}
