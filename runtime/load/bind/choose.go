package bind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Wish says which bundle to take.
type Wish struct {
	Bundle string // by name; "": the one that fits best
	Act    string // by its activations, one of plan.ActNames; "": f32, or what Bundle has
	Class  string // by the class of the device, one of plan.Classes; "": of none
	NextN  bool   // of the layer that predicts, not of the model
}

// Choose picks the bundle that runs the file. Among those that fit and have the activations
// of the wish, one for the class of the wish wins, then one for any device; one for
// another class is taken only where there is no other. Then one with a quant profile
// that matches the type of every tensor wins, then the first by name. A bundle that is
// wished for by name is taken; it is an error if it does not fit. With none to take, the
// error says how to make one: a [FitError], with what the closest bundle differs in, or
// an [ActError].
func (r *Resolved) Choose(bundles []*plan.Bundle, w Wish) (*plan.Bundle, error) {
	bundles = slices.SortedFunc(slices.Values(bundles), func(a, b *plan.Bundle) int { return cmp.Compare(a.Name, b.Name) })
	if w.Bundle != "" {
		return r.byName(bundles, w)
	}
	act := cmp.Or(w.Act, plan.ActNames[plan.ElemF32])
	var fit, right, others []*plan.Bundle // right: of those that fit
	for _, b := range bundles {
		switch {
		case (b.Model.NextN > 0) != w.NextN:
		case !r.fitting(b):
			others = append(others, b)
		default:
			fit = append(fit, b)
			if b.Act() == act {
				right = append(right, b)
			}
		}
	}
	switch {
	case len(right) > 0:
		return r.best(right, w.Class), nil
	case len(fit) > 0:
		return nil, &ActError{File: r.File.Path, Act: act, Fits: r.best(fit, w.Class)}
	}
	return nil, r.closest(others, act)
}

// closest is the error about the bundle that differs least: in the fewest hyper-parameters,
// and of several such in the fewest weights.
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

// subjects is in how many hyper-parameters, weights and kernels a file differs, whatever the
// number of layers.
func subjects(bad []Mismatch) int {
	seen := map[string]bool{}
	for _, m := range bad {
		seen[m.subject] = true
	}
	return len(seen)
}

// best is, of bundles that fit the file, the first of those that suit a class best whose
// profiles have its types, or else the first of those.
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

// Profile is the name of the first quant profile of b that has the type of
// every tensor of the file, "" if there is none. The file must fit the bundle.
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

// Types are the types of the weights of b as the kernels see them, by layer.
func (r *Resolved) Types(b *plan.Bundle) [][]quant.Type { return r.table(b).types }

// hasTypes says whether a profile gives each weight its types, one per layer.
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
