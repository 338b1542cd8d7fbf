package bind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Wish is the requirements on a bundle.
type Wish struct {
	Bundle string // name of the bundle; "": the one that fits best
	Act    string // activations, one of plan.ActNames; "": f32, or those of Bundle
	Prefer string // if Act is "": activations that are preferred where a bundle has them; "": none
	Class  string // class of the device, one of plan.Classes; "": none
	NextN  bool   // the bundle of the MTP layer is wanted, not the model's
}

// Choose returns the bundle that runs the file. Of the bundles that fit and have the activations of the wish,
// it prefers one for the class of the wish, then one for any device, then one for another class. Of these it
// prefers one with a quant profile that has the type of every tensor, then the first by name. A bundle that
// the wish names is taken, or an error if it does not fit. If there is no bundle to take, the error says how
// to make one: a [FitError], with the differences to the closest bundle, or an [ActError].
func (r *Resolved) Choose(bundles []*plan.Bundle, w Wish) (*plan.Bundle, error) {
	bundles = slices.SortedFunc(slices.Values(bundles), func(a, b *plan.Bundle) int { return cmp.Compare(a.Name, b.Name) })
	if w.Bundle != "" {
		return r.byName(bundles, w)
	}
	act := cmp.Or(w.Act, plan.ActNames[plan.ElemF32])
	var fit, right, preferred, others []*plan.Bundle // right and preferred are among those that fit
	for _, b := range bundles {
		switch {
		case (b.Model.NextN > 0) != w.NextN:
		case !r.fitting(b):
			others = append(others, b)
		default:
			fit = append(fit, b)
			switch {
			case b.Act() == act:
				right = append(right, b)
			case b.Act() == w.Prefer && w.Act == "":
				preferred = append(preferred, b)
			}
		}
	}
	switch {
	case len(preferred) > 0:
		return r.best(preferred, w.Class), nil
	case len(right) > 0:
		return r.best(right, w.Class), nil
	case len(fit) > 0:
		return nil, &ActError{File: r.File.Path, Act: act, Fits: r.best(fit, w.Class)}
	}
	return nil, r.closest(others, act)
}

// closest is the error about the bundle that differs least from the file: in the fewest hyper-parameters,
// then in the fewest weights.
func (r *Resolved) closest(bundles []*plan.Bundle, act string) *FitError {
	e := &FitError{File: r.File.Path, Act: act}
	least, distance := 0, 0
	for _, b := range bundles {
		n := len(r.hyperParameters(b))
		if e.Bundle != "" && n > least {
			continue
		}
		bad := r.Fit(b)
		if d := subjects(bad); e.Bundle == "" || n < least || d < distance {
			e.Bundle, e.Mismatches, least, distance = b.Name, bad, n, d
		}
	}
	return e
}

// subjects is the number of hyper-parameters, weights and kernels that differ, independent of the number of
// layers.
func subjects(bad []Mismatch) int {
	seen := map[string]bool{}
	for _, m := range bad {
		seen[m.subject] = true
	}
	return len(seen)
}

// best returns one of the bundles that fit: the first that suits the class best and has a profile with the
// file's types; without such a profile, the first that suits the class best.
func (r *Resolved) best(fit []*plan.Bundle, class string) *plan.Bundle {
	for _, c := range []string{class, ""} {
		if of := slices.DeleteFunc(slices.Clone(fit), func(b *plan.Bundle) bool { return b.Class != c }); len(of) > 0 {
			fit = of
			break
		}
	}
	exact := slices.IndexFunc(fit, func(b *plan.Bundle) bool { return r.Profile(b) != "" })
	return fit[max(exact, 0)]
}

func (r *Resolved) byName(bundles []*plan.Bundle, w Wish) (*plan.Bundle, error) {
	var names []string
	for _, b := range bundles {
		if b.Name == w.Bundle {
			if b.Model.NextN > 0 && !w.NextN {
				return nil, fmt.Errorf("bundle %s is of a layer that drafts for a model, not of the model; leave out -bundle, or name another", b.Name)
			}
			if w.Act != "" && w.Act != b.Act() {
				return nil, fmt.Errorf("bundle %s has %s activations, but %s were asked for; leave out -bundle or -act", b.Name, b.Act(), w.Act)
			}
			if bad := r.Fit(b); len(bad) > 0 {
				e := &FitError{File: r.File.Path, Act: b.Act(), Bundle: b.Name, Mismatches: bad, Asked: true}
				w.Bundle = ""
				if other, err := r.Choose(bundles, w); err == nil {
					e.Other = other.Name
				}
				return nil, e
			}
			return b, nil
		}
		names = append(names, b.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("bundle %q: this program was built without bundles", w.Bundle)
	}
	return nil, fmt.Errorf("bundle %q is not in this program, which has %s", w.Bundle, strings.Join(names, ", "))
}

// Profile is the name of the first quant profile of b that has the type of every tensor of the file; "":
// there is none. The file must fit the bundle.
func (r *Resolved) Profile(b *plan.Bundle) string {
	t := r.table(b)
	if len(t.bad) > 0 {
		return ""
	}
	for i := range b.Profiles {
		if hasTypes(&b.Profiles[i], t.types) {
			return b.Profiles[i].Name
		}
	}
	return ""
}

// Types is the types of the weights of b as kernels see them, by weight and layer.
func (r *Resolved) Types(b *plan.Bundle) [][]quant.Type { return r.table(b).types }

// hasTypes says whether a profile has these types, one for each weight and layer.
func hasTypes(p *plan.Profile, types [][]quant.Type) bool {
	if len(p.Types) != len(types) {
		return false
	}
	for i, layers := range types {
		for l, t := range layers {
			if p.At(i, l) != t {
				return false
			}
		}
	}
	return true
}
