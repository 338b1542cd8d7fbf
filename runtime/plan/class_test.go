package plan

import (
	"strings"
	"testing"
)

// TestFor checks that devices of a class run the bundles of this class, and other bundles only if the class
// has none of the same spec and activations.
func TestFor(t *testing.T) {
	list := []*Bundle{
		{Name: "a", Spec: "a"}, {Name: "ah", Spec: "a", Activations: ElemF16}, {Name: "an", Spec: "a", Class: ClassNVIDIA},
		{Name: "b", Spec: "b"}, {Name: "cm", Spec: "c", Class: ClassApple},
	}
	for class, want := range map[string]string{"": "a ah b cm", ClassNVIDIA: "ah an b", ClassApple: "a ah b cm"} {
		var names []string
		for _, b := range For(class, list) {
			names = append(names, b.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s; want %s", class, got, want)
		}
	}
	if a, an := list[0], list[2]; a.In(ClassNVIDIA, list) != an || a.In(ClassApple, list) != nil || list[1].In(ClassNVIDIA, list) != nil {
		t.Error("a bundle has others in its place")
	}
	if got := list[1].Kind() + "; " + list[2].Kind(); got != "f16 activations; f32 activations, for nvidia" {
		t.Errorf("kinds: %s", got)
	}
}

// TestKernelFor checks that devices of a kernel class run their own kernel if there is one.
func TestKernelFor(t *testing.T) {
	b := &Bundle{Kernels: []Kernel{{Name: "a"}, {Name: "b"}, {Name: "b7", Class: ClassApple7, Instead: 1}, {Name: "other", Class: "other", Instead: 0}}}
	for _, tt := range []struct {
		i     int
		class string
		want  string
	}{{0, "", "a"}, {0, ClassApple7, "a"}, {1, "", "b"}, {1, ClassApple7, "b7"}, {1, ClassNVIDIA, "b"}, {0, "other", "other"}, {1, "other", "b"}} {
		if k := b.KernelFor(tt.i, tt.class); k.Name != tt.want {
			t.Errorf("kernel %d for %q is %s; want %s", tt.i, tt.class, k.Name, tt.want)
		}
	}
}
