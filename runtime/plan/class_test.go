package plan

import (
	"strings"
	"testing"
)

// TestFor: devices of a class run its bundles, and others where it has none of the
// same spec and activations.
func TestFor(t *testing.T) {
	list := []*Bundle{
		{Name: "a", Spec: "a"}, {Name: "ah", Spec: "a", Activations: ElemF16}, {Name: "an", Spec: "a", Class: ClassNVIDIA},
		{Name: "b", Spec: "b"}, {Name: "cm", Spec: "c", Class: ClassApple},
	}
	for class, want := range map[string]string{"": "a ah b", ClassNVIDIA: "ah an b", ClassApple: "a ah b cm"} {
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
