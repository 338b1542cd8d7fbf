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
		for range w.Layers() {
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

// short leaves one type to each weight, for all layers.
func short(b *plan.Bundle) *plan.Bundle {
	for i, t := range b.Profiles[0].Types {
		b.Profiles[0].Types[i] = t[:1]
	}
	return b
}

func other(name string) *plan.Bundle {
	b := testBundle(name)
	b.Model.VHeadDim, b.Model.RMSNormEps = 96, 1e-5
	return b
}

// withF16 gives a bundle f16 activations.
func withF16(b *plan.Bundle) *plan.Bundle {
	b.Activations, b.Spec = plan.ElemF16, "my.yaml"
	return b
}

// of makes a bundle one for a class of devices.
func of(class string, b *plan.Bundle) *plan.Bundle {
	b.Class = class
	return b
}

func TestChoose(t *testing.T) {
	file := newFile().open(t)
	q8, f32 := profiled("a", quant.Q8_0), profiled("z", quant.F32)
	tests := []struct {
		name    string
		bundles []*plan.Bundle
		wish    Wish
		want    string
	}{
		{"one", []*plan.Bundle{q8}, Wish{}, "a"},
		{"exact profile before name", []*plan.Bundle{q8, f32}, Wish{}, "z"},
		{"one type for all layers", []*plan.Bundle{q8, short(profiled("z", quant.F32))}, Wish{}, "z"},
		{"another type for all layers", []*plan.Bundle{q8, short(profiled("z", quant.F16))}, Wish{}, "a"},
		{"name among exact ones", []*plan.Bundle{f32, profiled("y", quant.F32)}, Wish{}, "y"},
		{"name without exact ones", []*plan.Bundle{testBundle("c"), testBundle("b")}, Wish{}, "b"},
		{"asked", []*plan.Bundle{q8, f32}, Wish{Bundle: "a"}, "a"},
		{"not fitting ones are passed over", []*plan.Bundle{other("0"), q8}, Wish{}, "a"},
		{"f32 without a wish", []*plan.Bundle{withF16(profiled("0", quant.F32)), q8}, Wish{}, "a"},
		{"f32", []*plan.Bundle{withF16(profiled("0", quant.F32)), q8}, Wish{Act: "f32"}, "a"},
		{"f16 before the exact profile", []*plan.Bundle{f32, withF16(profiled("zz", quant.Q8_0))}, Wish{Act: "f16"}, "zz"},
		{"exact profile among f16", []*plan.Bundle{withF16(profiled("b", quant.Q8_0)), f32, withF16(profiled("zz", quant.F32))}, Wish{Act: "f16"}, "zz"},
		{"f16 asked by name", []*plan.Bundle{q8, withF16(profiled("b", quant.F32))}, Wish{Bundle: "b"}, "b"},
		{"f16 asked by name and type", []*plan.Bundle{q8, withF16(profiled("b", quant.F32))}, Wish{Bundle: "b", Act: "f16"}, "b"},
		{"the device's class", []*plan.Bundle{q8, of("nvidia", profiled("n", quant.Q8_0))}, Wish{Class: "nvidia"}, "n"},
		{"the class before the exact profile", []*plan.Bundle{f32, of("nvidia", profiled("n", quant.Q8_0))}, Wish{Class: "nvidia"}, "n"},
		{"exact profile in the class", []*plan.Bundle{of("nvidia", profiled("m", quant.Q8_0)), f32, of("nvidia", profiled("n", quant.F32))}, Wish{Class: "nvidia"}, "n"},
		{"any device before another class", []*plan.Bundle{of("apple", profiled("a", quant.F32)), profiled("b", quant.Q8_0)}, Wish{Class: "nvidia"}, "b"},
		{"any device, without a class", []*plan.Bundle{of("apple", profiled("a", quant.F32)), profiled("b", quant.Q8_0)}, Wish{}, "b"},
		{"another class is the only one", []*plan.Bundle{of("apple", profiled("a", quant.F32)), other("b")}, Wish{Class: "nvidia"}, "a"},
		{"another class asked by name", []*plan.Bundle{of("apple", profiled("a", quant.F32)), q8, of("nvidia", profiled("n", quant.F32))}, Wish{Class: "nvidia", Bundle: "n"}, "n"},
		{"activations before the class", []*plan.Bundle{of("nvidia", profiled("n", quant.F32)), withF16(profiled("h", quant.Q8_0))}, Wish{Class: "nvidia", Act: "f16"}, "h"},
		{"the class among f16", []*plan.Bundle{withF16(profiled("g", quant.F32)), of("nvidia", withF16(profiled("h", quant.F32)))}, Wish{Class: "nvidia", Act: "f16"}, "h"},
	}
	for _, tt := range tests {
		b, err := Resolve(file).Choose(tt.bundles, tt.wish)
		if err != nil || b.Name != tt.want {
			t.Errorf("%s: got %v, %v; want %s", tt.name, b, err, tt.want)
		}
	}
}

// typed is the test bundle for weights of another type.
func typed(name string) *plan.Bundle {
	b := testBundle(name)
	b.Weights[len(b.Weights)-1].Types = []quant.Type{quant.Q5_1}
	return b
}

// closest is what an error says about the closest bundle.
func closest(err error) string {
	var fit *FitError
	if !errors.As(err, &fit) || fit.Asked {
		return ""
	}
	return strings.TrimSuffix(fit.Closest(), "\n")
}

// TestClosest: a bundle of the right shapes is closer than one of the right types, however many
// layers and kernels have other types.
func TestClosest(t *testing.T) {
	types := testBundle("types")
	for i := range types.Weights {
		types.Weights[i].Types = []quant.Type{quant.Q5_1}
	}
	_, err := Resolve(newFile().open(t)).Choose([]*plan.Bundle{other("shapes"), types}, Wish{})
	if text := closest(err); !strings.HasPrefix(text, "the closest bundle, types, is of this model, but for other quantisation types") {
		t.Errorf("%v", text)
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "closest") {
		t.Errorf("the error itself has one line: %v", err)
	}
}

func TestChooseErrors(t *testing.T) {
	file := newFile().open(t)
	worse := other("worse")
	worse.Model.HiddenSize = 1
	tests := []struct {
		name    string
		bundles []*plan.Bundle
		wish    Wish
		want    []string
	}{
		{"none at all", nil, Wish{}, []string{"no bundle fits", "to make one: mlagen -gguf '"}},
		{"closest", []*plan.Bundle{worse, other("near")}, Wish{}, []string{"mlagen -gguf '", "closest bundle, near", "v_head_dim: found 64, expected 96", "rms_norm_eps"}},
		{"other types", []*plan.Bundle{typed("near")}, Wish{}, []string{"to make one: mlagen -gguf '", "closest bundle, near, is of this model, but for other quantisation types:\n  tensor "}},
		{"asked", []*plan.Bundle{other("near")}, Wish{Bundle: "near"}, []string{"bundle near does not fit", "v_head_dim: found 64, expected 96", "to make a bundle for this file: mlagen -gguf '"}},
		{"asked, and another fits", []*plan.Bundle{other("near"), testBundle("right")}, Wish{Bundle: "near"}, []string{"bundle near does not fit", "v_head_dim: found", "\nbundle right fits: leave out -bundle"}},
		{"unknown", []*plan.Bundle{other("b"), other("a")}, Wish{Bundle: "c"}, []string{`bundle "c" is not in this program, which has a, b`}},
		{"unknown of none", nil, Wish{Bundle: "c"}, []string{"without bundles"}},
		{"none at all, f16", nil, Wish{Act: "f16"}, []string{"' -act f32,f16"}},
		{"other activations", []*plan.Bundle{withF16(testBundle("b")), withF16(profiled("c", quant.F32))}, Wish{}, []string{
			"with f32 activations; c does with f16 (-act f16)\n", "to make one: mlagen -gguf '", "' -act f32,f16"}},
		{"other activations do not fit either", []*plan.Bundle{withF16(other("near"))}, Wish{}, []string{"no bundle fits", "closest bundle, near"}},
		{"name and type", []*plan.Bundle{withF16(testBundle("b"))}, Wish{Bundle: "b", Act: "f32"}, []string{"bundle b has f16 activations, but f32 were asked for; leave out -bundle or -act"}},
	}
	for _, tt := range tests {
		_, err := Resolve(file).Choose(tt.bundles, tt.wish)
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		for _, want := range tt.want {
			if text := err.Error() + "\n" + closest(err); !strings.Contains(text, want) {
				t.Errorf("%s: error lacks %q:\n%v", tt.name, want, text)
			}
		}
	}
}

// TestChooseIncomplete: a file that only lacks tensors may be damaged; one that
// differs in other ways is another model.
func TestChooseIncomplete(t *testing.T) {
	const hint = "\nall the rest is there: if nobody left these out on purpose, the file is damaged"
	file := newFile()
	file.remove("attn_norm")
	for name, said := range map[string]bool{"b": true, "other": false} {
		b := testBundle(name)
		if !said {
			b = other(name)
		}
		_, err := Resolve(file.open(t)).Choose([]*plan.Bundle{b}, Wish{})
		if text := closest(err); err == nil || strings.HasSuffix(text, hint) != said || !strings.Contains(text, absent) {
			t.Errorf("bundle %s: %v", name, text)
		}
	}
}

func TestFitErrorIsShort(t *testing.T) {
	b := testBundle("b")
	for i := range b.Weights {
		b.Weights[i].Types = nil
	}
	b.Model = plan.Model{Dims: plan.Dims{NumHiddenLayers: 2}}
	_, err := Resolve(newFile().open(t)).Choose([]*plan.Bundle{b}, Wish{})
	var fit *FitError
	if !errors.As(err, &fit) || len(fit.Mismatches) <= shownMismatches {
		t.Fatalf("%v", err)
	}
	if lines := strings.Count(fit.Closest(), "\n"); lines > shownMismatches+8 || !strings.Contains(fit.Closest(), "more; mlarun inspect") {
		t.Errorf("%d lines:\n%v", lines, err)
	}
}
