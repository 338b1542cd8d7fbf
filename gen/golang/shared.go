package golang

import (
	"reflect"
	"strings"

	"github.com/dave/jennifer/jen"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Values that several kernels have are printed once, as a variable with the name of the first kernel that has
// it: descriptions, slots, and combinations of types.

// shared has the names of values that several kernels have.
type shared struct {
	first map[string]string // by printed value, the constant of the first kernel that has it
	uses  map[string]int
	done  map[string]bool
}

// note counts a use of a value by a kernel.
func (s *shared) note(kernel string, value *jen.Statement) {
	if s.uses == nil {
		s.first, s.uses, s.done = map[string]string{}, map[string]int{}, map[string]bool{}
	}
	text := value.GoString()
	if s.uses[text]++; s.uses[text] == 1 {
		s.first[text] = kernel
	}
}

// name returns the variable of a value; "" if only one kernel has the value.
func (s *shared) name(prefix string, value *jen.Statement) string {
	text := value.GoString()
	if s.uses[text] < 2 {
		return ""
	}
	return prefix + strings.TrimPrefix(s.first[text], "k")
}

// value returns the value, or the variable that has it.
func (s *shared) value(prefix string, value *jen.Statement) jen.Code {
	if name := s.name(prefix, value); name != "" {
		return jen.Id(name)
	}
	return value
}

// kernelValues returns the printed values of a kernel that others may share.
func kernelValues(k *plan.Kernel) (doc, slots, types *jen.Statement) {
	return jen.Lit(k.Doc), jen.Index().Qual(planPath, "Slot").Add(rows(elements(reflect.ValueOf(k.Slots)))),
		jen.Index().Index().Qual(quantPath, "Type").Add(rows(elements(reflect.ValueOf(combinations(k)))))
}

// combinations returns the types of each variant of a kernel.
func combinations(k *plan.Kernel) [][]quant.Type {
	var list [][]quant.Type
	for _, v := range k.Variants {
		list = append(list, v.Types)
	}
	return list
}

// kernelsOf calls f for each kernel of each table of kernels, with the kernel's constant.
func (p *printer) kernelsOf(f func(k *plan.Kernel, constant string)) {
	done := map[string]bool{}
	for i, b := range p.bundles {
		if name := p.vars["Kernels"][i]; !done[name] {
			done[name] = true
			for j := range b.Kernels {
				f(&b.Kernels[j], p.consts[i][j])
			}
		}
	}
}

// shareKernels finds values that several kernels have, and prints their variables.
func (p *printer) shareKernels(f *jen.File) {
	p.kernelsOf(func(k *plan.Kernel, constant string) {
		doc, slots, types := kernelValues(k)
		p.docs.note(constant, doc)
		p.slots.note(constant, slots)
		p.types.note(constant, types)
	})
	var docs, slots, types []jen.Code
	p.kernelsOf(func(k *plan.Kernel, _ string) {
		doc, list, combined := kernelValues(k)
		docs = p.docs.define(docs, "doc", doc)
		slots = p.slots.define(slots, "slots", list)
		types = p.types.define(types, "types", combined)
	})
	if len(docs) > 0 {
		f.Comment("Descriptions that several kernels share.")
		f.Const().Defs(docs...)
	}
	if len(types) > 0 {
		f.Comment("Variants by types that several kernels share.")
		f.Var().Defs(types...)
	}
	if len(slots) > 0 {
		f.Comment("Slots that several kernels share.")
		f.Var().Defs(slots...)
	}
}

// define appends the definition of a value that several kernels have, unless it is already defined.
func (s *shared) define(list []jen.Code, prefix string, value *jen.Statement) []jen.Code {
	name := s.name(prefix, value)
	if name == "" || s.done[name] {
		return list
	}
	s.done[name] = true
	return append(list, jen.Id(name).Op("=").Add(value))
}
