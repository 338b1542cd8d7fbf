package verify

import (
	"fmt"
	"regexp"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Limits of the GPUs that kernels are made for.
const (
	SimdWidth  = 32   // threads of a simdgroup
	MaxThreads = 1024 // of a threadgroup
	maxBuffers = 31   // arguments
)

// Kernel checks a kernel against these limits, and against the assumptions of its templates.
func Kernel(k *plan.Kernel) error {
	switch {
	case !isIdentifier(k.Name):
		return fmt.Errorf("the name is no identifier")
	case k.Threads < SimdWidth || k.Threads > MaxThreads || k.Threads%SimdWidth != 0:
		return fmt.Errorf("%d threads; expected a multiple of %d up to %d", k.Threads, SimdWidth, MaxThreads)
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
	if err := checkSlots(k); err != nil {
		return err
	}
	for i := range k.Variants {
		if err := checkVariant(k, &k.Variants[i]); err != nil {
			return err
		}
	}
	return nil
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,255}$`)

// isIdentifier says whether s is a valid name in MSL.
func isIdentifier(s string) bool { return identifier.MatchString(s) }

func checkVariant(k *plan.Kernel, v *plan.Variant) error {
	if !isIdentifier(v.Func) {
		return fmt.Errorf("variant %q: expected an identifier", v.Func)
	}
	slots := k.TypedSlots()
	if len(v.Types) != len(slots) {
		return fmt.Errorf("variant %s: %d types for %d typed slots", v.Func, len(v.Types), len(slots))
	}
	for i, t := range v.Types {
		if _, ok := quant.Lookup(t); !ok {
			return fmt.Errorf("variant %s: unknown %s", v.Func, t)
		}
		if k.Slots[slots[i]].Space == plan.SpaceKV {
			if types := CacheTypes(k); !slices.Contains(types, t) {
				return fmt.Errorf("variant %s: a cache of %s; expected one of %s", v.Func, t, types)
			}
		}
	}
	return checkBlocks(k, v)
}

// CacheTypes lists the possible types of a kernel's cache; none for a kernel without a cache.
func CacheTypes(k *plan.Kernel) []quant.Type {
	for _, p := range k.Parts {
		for _, u := range p.Uses() {
			if u.As == plan.RoleCache {
				return plan.CacheTypes(u.Latent, u.Rotated)
			}
		}
	}
	return nil
}

// loadWidth is how many unquantised weights a mat-vec loads at a time.
const loadWidth = 4

// checkBlocks checks that rows are whole blocks and whole loads.
func checkBlocks(k *plan.Kernel, v *plan.Variant) error {
	typeOf := map[int]quant.Type{}
	for i, slot := range k.TypedSlots() {
		typeOf[slot] = v.Types[i]
	}
	for _, part := range k.Parts {
		for _, r := range part.Uses() {
			if r.As != plan.RoleWeight {
				continue
			}
			f, _ := quant.Lookup(typeOf[r.Slot])
			if n := max(f.BlockElems, loadWidth); r.Cols%n != 0 {
				return fmt.Errorf("variant %s: rows of %d columns of %s are no whole blocks of %d", v.Func, r.Cols, k.Slots[r.Slot].Name, n)
			}
		}
	}
	return nil
}
