package plan

import "slices"

// Classes are the kinds of devices for which specs may have kernel shapes. The CPU device is of no class: its
// loops do not depend on shapes.
var Classes = []string{ClassApple, ClassNVIDIA}

// The classes.
const (
	ClassApple  = "apple"
	ClassNVIDIA = "nvidia"
)

// ClassApple7 is a kernel class: the GPUs of ClassApple of families Apple7 and Apple8 (M1, M2). A bundle may
// have single kernels for them alone (Kernel.Class), as a thread there has a fixed number of registers, at
// most 128.
const ClassApple7 = "apple7"

// For returns the bundles whose kernels devices of a class run. Those are the bundles of the class, and for
// each spec and type of activations without one, the bundle of no class. A device of no class runs the
// bundles of the first class where a spec has bundles for classes only.
func For(class string, bundles []*Bundle) []*Bundle {
	return slices.DeleteFunc(slices.Clone(bundles), func(b *Bundle) bool {
		other := ""
		if class == "" {
			other = Classes[0]
		}
		return b.Class != class && (b.Class != other || b.In(class, bundles) != nil)
	})
}

// In returns the bundle that devices of a class run in place of b: one of the same spec and activations that
// was made for the class; nil if there is none.
func (b *Bundle) In(class string, bundles []*Bundle) *Bundle {
	i := slices.IndexFunc(bundles, func(o *Bundle) bool {
		return o.Class == class && o.Spec == b.Spec && o.Activations == b.Activations
	})
	if i < 0 {
		return nil
	}
	return bundles[i]
}

// Kind describes, in messages, what sets a bundle apart from others of its spec.
func (b *Bundle) Kind() string {
	kind := b.Act() + " activations"
	if b.Class != "" {
		kind += ", for " + b.Class
	}
	return kind
}
