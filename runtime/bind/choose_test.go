package bind

import (
	"errors"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// profiled gives a bundle the profile in which all matrices have type typ.
func profiled(name string, typ quant.Type) *plan.Bundle {
	b := testBundle(name)
	p := plan.Profile{Name: "all " + typ.String(), Types: make([][]quant.Type, len(b.Weights))}
	for i := range b.Weights {
		w := &b.Weights[i]
		for range layers(w) {
			t := typ
			if w.Rows == 1 {
				t = quant.F32
			}
			p.Types[i] = append(p.Types[i], t)
		}
	}
	b.Profiles = []plan.Profile{p}
	return b
}

func other(name string) *plan.Bundle {
	b := testBundle(name)
	b.Model.VHeadDim, b.Model.RMSNormEps = 96, 1e-5
	return b
}

func TestChoose(t *testing.T) {
	file := newFile().open(t)
	q8, f32 := profiled("a", quant.Q8_0), profiled("z", quant.F32)
	tests := []struct {
		name    string
		bundles []*plan.Bundle
		asked   string
		want    string
	}{
		{"one", []*plan.Bundle{q8}, "", "a"},
		{"exact profile before name", []*plan.Bundle{q8, f32}, "", "z"},
		{"name among exact ones", []*plan.Bundle{f32, profiled("y", quant.F32)}, "", "y"},
		{"name without exact ones", []*plan.Bundle{testBundle("c"), testBundle("b")}, "", "b"},
		{"asked", []*plan.Bundle{q8, f32}, "a", "a"},
		{"not fitting ones are passed over", []*plan.Bundle{other("0"), q8}, "", "a"},
	}
	for _, tt := range tests {
		b, err := Choose(file, tt.bundles, tt.asked)
		if err != nil || b.Name != tt.want {
			t.Errorf("%s: got %v, %v; want %s", tt.name, b, err, tt.want)
		}
	}
}

func TestChooseErrors(t *testing.T) {
	file := newFile().open(t)
	worse := other("worse")
	worse.Model.HiddenSize = 1
	tests := []struct {
		name    string
		bundles []*plan.Bundle
		asked   string
		want    []string
	}{
		{"none at all", nil, "", []string{"no bundle", "mlagen init -gguf '", "-o specs/my_model_q8_0.yaml", "mlagen -spec specs/my_model_q8_0.yaml"}},
		{"closest", []*plan.Bundle{worse, other("near")}, "", []string{"mlagen init", "closest bundle, near", "v_head_dim: found 64, expected 96", "rms_norm_eps"}},
		{"asked", []*plan.Bundle{other("near")}, "near", []string{"bundle near does not fit", "v_head_dim: found 64, expected 96", "mlagen init"}},
		{"unknown", []*plan.Bundle{other("b"), other("a")}, "c", []string{`bundle "c" is not in this program, which has a, b`}},
		{"unknown of none", nil, "c", []string{"without bundles"}},
	}
	for _, tt := range tests {
		_, err := Choose(file, tt.bundles, tt.asked)
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error lacks %q:\n%v", tt.name, want, err)
			}
		}
	}
}

func TestFitErrorIsShort(t *testing.T) {
	b := testBundle("b")
	for i := range b.Weights {
		b.Weights[i].Types = nil
	}
	b.Model = plan.Model{NumHiddenLayers: 2}
	_, err := Choose(newFile().open(t), []*plan.Bundle{b}, "")
	var fit *FitError
	if !errors.As(err, &fit) || len(fit.Mismatches) <= shownMismatches {
		t.Fatalf("%v", err)
	}
	if lines := strings.Count(err.Error(), "\n"); lines > shownMismatches+8 || !strings.Contains(err.Error(), "more; mlarun inspect") {
		t.Errorf("%d lines:\n%v", lines, err)
	}
}

func TestSpecStem(t *testing.T) {
	for file, want := range map[string]string{
		"/m/GLM-4.7-Flash-Q4_K_M.gguf": "glm_4_7_flash_q4_k_m",
		"7b.gguf":                      "m7b",
		"模型.gguf":                      "m",
		"a-00001-of-00002.gguf":        "a",
	} {
		if got := specStem(file); got != want {
			t.Errorf("specStem(%q) = %q; want %q", file, got, want)
		}
	}
}
