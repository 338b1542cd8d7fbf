package msl

import (
	"fmt"
	"strings"

	"mla/gen/target"
	"mla/runtime/plan"
)

// Limits of every kernel.
const (
	simdWidth  = target.SimdWidth
	maxThreads = target.MaxThreads
)

// All helpers, but no kernels, are in this namespace.
const (
	openNamespace  = "namespace mla {"
	closeNamespace = "} // namespace mla"
)

// qualified returns the name of a helper as a kernel function writes it.
func qualified(name string) string { return "mla::" + name }

// kernel prints one kernel: its struct of constants, its bodies, its variants.
func (p *printer) kernel(k *plan.Kernel) error {
	if err := p.check(k); err != nil {
		return err
	}
	v := &kernelView{Kernel: k, names: argumentNames(k), printer: p}
	parts, floats, err := v.parts()
	if err != nil {
		return err
	}
	p.line("\n" + openNamespace)
	p.argsStruct(k)
	p.out.WriteString(comment(k.Doc))
	p.bodies(v, parts, floats)
	p.line(closeNamespace)
	for i := range k.Variants {
		p.variant(v, &k.Variants[i], v.bodyOf(&k.Variants[i], parts), v.floatsOf(&k.Variants[i], parts, floats))
	}
	return p.err
}

// argsStruct prints the struct of the dispatch's constants: uint64, little-endian, in order.
func (p *printer) argsStruct(k *plan.Kernel) {
	if k.Constants() == 0 {
		return
	}
	p.printf("struct %s_args {\n", k.Name)
	for i, slot := range k.Args {
		p.printf("  ulong stride%d; // rows between the entries of %s\n", i, k.Slots[slot].Name)
	}
	if k.PerCore() != nil {
		p.line("  ulong splits; // of attention, as many as the device has recorded")
	}
	p.line("};\n")
}

// body prints the kernel's work as a function template over the types of its weights.
func (p *printer) body(v *kernelView, name string, parts []partView, floats int) {
	if tags := v.tags(); len(tags) > 0 {
		p.printf("template <typename %s>\n", strings.Join(tags, ", typename "))
	}
	p.printf("static inline void %s(\n", name)
	for i := range v.Slots {
		p.printf("    %s,\n", v.parameter(i, inNamespace))
	}
	if floats > 0 {
		p.line("    threadgroup float * scratch,")
	}
	p.line("    uint tg, uint tid, ushort sg, ushort lane) {")
	for i := range parts {
		p.part(parts, i)
	}
	p.line("}")
}

// part prints part i. If there are several parts, each runs in its own range of threadgroups.
func (p *printer) part(parts []partView, i int) {
	text := p.render(parts[i].body.template, &parts[i])
	if !parts[i].body.waits {
		text = "    GRID_WAIT;\n" + text
	}
	text, err := parts[i].alive(text)
	if p.err == nil {
		p.err = err
	}
	if len(parts) == 1 {
		p.out.WriteString(strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\n  ", "\n"), "\n"))
		return
	}
	switch end := parts[i].First + parts[i].GroupsOf(parts[i].P); i {
	case 0:
		p.printf("  if (tg < %du) {\n", end)
	case len(parts) - 1:
		p.line("  } else {")
	default:
		p.printf("  } else if (tg < %du) {\n", end)
	}
	p.out.WriteString(text)
	if i == len(parts)-1 {
		p.line("  }")
	}
}

// variant prints the kernel function for one combination of types, which calls a body.
func (p *printer) variant(v *kernelView, variant *plan.Variant, body string, floats int) {
	p.printf("\n%skernel void %s(\n", p.bound(v.Kernel), variant.Func)
	for i := range v.Slots {
		p.printf("  %s [[buffer(%d)]],\n", v.parameter(i, global), i)
	}
	p.line("  uint tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]], ushort sg [[simdgroup_index_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]]) {")
	arguments := append([]string(nil), v.names...)
	if floats > 0 {
		p.printf("  threadgroup float4 scratch[%d];\n", floats/4)
		arguments = append(arguments, "(threadgroup float *)scratch")
	}
	arguments = append(arguments, "tg", "tid", "sg", "lane")
	p.printf("  %s%s(%s);\n}\n", qualified(body), typeArguments(variant), strings.Join(arguments, ", "))
}

// bound returns the attribute with the number of threads of a threadgroup. Without it a compiler may limit
// registers as for the largest threadgroup.
func (p *printer) bound(k *plan.Kernel) string {
	if !ofMetal(p.bundle) {
		return ""
	}
	return fmt.Sprintf("[[max_total_threads_per_threadgroup(%d)]]\n", k.Threads)
}

func typeArguments(v *plan.Variant) string {
	if len(v.Types) == 0 {
		return ""
	}
	var names []string
	for _, t := range v.Types {
		names = append(names, qualified(t.String()))
	}
	return "<" + strings.Join(names, ", ") + ">"
}

// comment returns a kernel's description as comment lines.
func comment(doc string) string {
	var b strings.Builder
	line := "//"
	for _, word := range strings.Fields(doc) {
		if len(line)+1+len(word) > 100 {
			b.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	if line != "//" {
		b.WriteString(line + "\n")
	}
	return b.String()
}
