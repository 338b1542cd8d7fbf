package synth_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"mla/gen/initspec"
	"mla/gen/spec"
	"mla/gen/synth"
	"mla/runtime/gguf"
)

// TestHybrids checks that the synthetic file of a spec has every tensor that the original file has.
func TestHybrids(t *testing.T) {
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0", "bailingmoe3-mini-Q4_0"} {
		want := specOf(t, "../../testdata/hybrid/"+name+".gguf")
		path := filepath.Join(t.TempDir(), name+".gguf")
		if err := synth.Write(t.Context(), want, want.Quants[0].Name, path, 1); err != nil {
			t.Fatal(err)
		}
		got := specOf(t, path)
		if !reflect.DeepEqual(got.Hybrid, want.Hybrid) || !reflect.DeepEqual(got.MoE, want.MoE) || got.Model.Dims != want.Model.Dims || got.Model.NumNextNPredictLayers != want.Model.NumNextNPredictLayers || got.Quants[0].Name != want.Quants[0].Name {
			t.Errorf("%s: made %+v, %+v; want %+v, %+v", name, got, got.Hybrid, want, want.Hybrid)
		}
	}
}

func specOf(t *testing.T, path string) *spec.Spec {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	text, err := initspec.Generate(f, "x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("x.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
