package plan

import "slices"

// Classes are the kinds of devices that specs may have shapes of kernels for. The
// loops of the CPU device do not depend on them, so it is of no class.
var Classes = []string{ClassApple, ClassNVIDIA}

// The classes.
const (
	ClassApple  = "apple"
	ClassNVIDIA = "nvidia"
)

// ClassApple7 is a kernel class: the devices of ClassApple for which a bundle may have
// single kernels of their own (Kernel.Class), GPUs of families Apple7 and Apple8 (M1,
// M2). A thread there has a fixed number of registers, and no more than 128.
const ClassApple7 = "apple7"

// For is the bundles whose kernels devices of a class are to run: those of the class,
// and those of none whose spec has none for the class with the same activations. A device of no
// class also runs the first class's of a spec that has bundles for classes only.
func For(class string, bundles []*Bundle) []*Bundle {
	return slices.DeleteFunc(slices.Clone(bundles), func(b *Bundle) bool {
		other := ""
		if class == "" {
			other = Classes[0]
		}
		return b.Class != class && (b.Class != other || b.In(class, bundles) != nil)
	})
}

// In is the bundle that devices of a class run in place of b: of the same spec and
// activations, made for the class; nil if there is none.
func (b *Bundle) In(class string, bundles []*Bundle) *Bundle {
	i := slices.IndexFunc(bundles, func(o *Bundle) bool {
		return o.Class == class && o.Spec == b.Spec && o.Activations == b.Activations
	})
	if i < 0 {
		return nil
	}
	return bundles[i]
}

// Kind says in words what a bundle is among those of one spec.
func (b *Bundle) Kind() string {
	kind := b.Act() + " activations"
	if b.Class != "" {
		kind += ", for " + b.Class
	}
	return kind
}
