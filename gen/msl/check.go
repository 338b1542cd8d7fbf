package msl

import (
	"fmt"
	"slices"

	"mla/gen/msl/reserved"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// check holds a kernel to the limits of the GPU and to what its templates take
// for granted.
func (p *printer) check(k *plan.Kernel) error {
	switch {
	case !isIdentifier(k.Name):
		return fmt.Errorf("the name is no identifier")
	case k.Threads < simdWidth || k.Threads > maxThreads || k.Threads%simdWidth != 0:
		return fmt.Errorf("%d threads; expected a multiple of %d up to %d", k.Threads, simdWidth, maxThreads)
	case len(k.Slots) > maxBuffers:
		return fmt.Errorf("%d arguments; expected at most %d", len(k.Slots), maxBuffers)
	case len(k.Parts) == 0 || len(k.Variants) == 0:
		return fmt.Errorf("%d parts and %d variants; expected some", len(k.Parts), len(k.Variants))
	}
	for i, s := range k.Slots {
		if !isIdentifier(s.Name) {
			return fmt.Errorf("slot %d: the name %q is no identifier", i, s.Name)
		}
		if slices.ContainsFunc(k.Slots[:i], func(other plan.Slot) bool { return other.Name == s.Name }) {
			return fmt.Errorf("slot %d: the name %q is taken", i, s.Name)
		}
	}
	for i, part := range k.Parts {
		if err := checkPart(k, part); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	if err := checkTails(k); err != nil {
		return err
	}
	for i := range k.Variants {
		if err := p.checkVariant(k, &k.Variants[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) checkVariant(k *plan.Kernel, v *plan.Variant) error {
	if !isIdentifier(v.Func) || p.funcs[v.Func] || taken(v.Func) || reserved.Library().Has(v.Func) {
		return fmt.Errorf("variant %q: expected an identifier of its own", v.Func)
	}
	p.funcs[v.Func] = true
	slots := k.TypedSlots()
	if len(v.Types) != len(slots) {
		return fmt.Errorf("variant %s: %d types for %d typed slots", v.Func, len(v.Types), len(slots))
	}
	for i, t := range v.Types {
		if _, ok := quant.Lookup(t); !ok {
			return fmt.Errorf("variant %s: unknown %s", v.Func, t)
		}
		if k.Slots[slots[i]].Space == plan.SpaceKV && t != quant.F32 && t != quant.F16 {
			return fmt.Errorf("variant %s: a cache of %s; expected f32 or f16", v.Func, t)
		}
	}
	return checkBlocks(k, v)
}

// loadWidth is how many plain weights a mat-vec loads at a time.
const loadWidth = 4

// checkBlocks wants rows of whole blocks and of whole loads.
func checkBlocks(k *plan.Kernel, v *plan.Variant) error {
	typeOf := map[int]quant.Type{}
	for i, slot := range k.TypedSlots() {
		typeOf[slot] = v.Types[i]
	}
	for _, part := range k.AllParts() {
		for _, r := range refs(part) {
			if r.use != weight {
				continue
			}
			f, _ := quant.Lookup(typeOf[r.slot])
			if n := max(f.BlockElems, loadWidth); r.cols%n != 0 {
				return fmt.Errorf("variant %s: rows of %d columns of %s are no whole blocks of %d", v.Func, r.cols, k.Slots[r.slot].Name, n)
			}
		}
	}
	return nil
}
