package msl

import (
	"fmt"

	"mla/gen/msl/reserved"
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// check checks a kernel against the limits of the GPU and the assumptions of its templates (package verify),
// and the names of its variants against the words of the language and of the templates.
func (p *printer) check(k *plan.Kernel) error {
	if err := verify.Kernel(k); err != nil {
		return err
	}
	for _, v := range k.Variants {
		if p.funcs[v.Func] || taken(v.Func) || reserved.Library().Has(v.Func) {
			return fmt.Errorf("variant %q: expected an identifier of its own", v.Func)
		}
		p.funcs[v.Func] = true
	}
	return nil
}
