package bind

import (
	"errors"
	"strings"
	"testing"

	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// TestUncompiled: a hybrid model is refused with a reason, also by a bundle that claims to be of its kind, and nobody is
// told to make a bundle.
func TestUncompiled(t *testing.T) {
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0"} {
		f, err := gguf.Open("../../../testdata/hybrid/" + name + ".gguf")
		if err != nil {
			t.Fatal(err)
		}
		h, err := gguf.ReadHParams(f)
		if err != nil {
			t.Fatal(err)
		}
		claims := &plan.Bundle{Name: "claims", Model: plan.Model{Architecture: h.Architecture, Dims: h.Dims, MoE: h.MoE}}
		for _, wish := range []Wish{{}, {Bundle: "claims"}} {
			_, err := Choose(f, []*plan.Bundle{claims}, wish)
			var never *UncompiledError
			if !errors.As(err, &never) || !strings.Contains(err.Error(), h.Architecture+" have layers with linear attention") || strings.Contains(err.Error(), "mlagen") {
				t.Errorf("%s, %+v: %v", name, wish, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
