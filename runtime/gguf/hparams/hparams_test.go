package hparams_test

import (
	"reflect"
	"slices"
	"testing"

	"mla/runtime/gguf/hparams"
)

// TestTags checks that every field has a unique name, a range of numbers or names, and that no key occurs
// twice.
func TestTags(t *testing.T) {
	var names, keys []string
	for _, p := range slices.Concat(hparams.Parameters(&hparams.Dims{}), hparams.Parameters(&hparams.MoE{})) {
		names = append(names, p.Name)
		if p.Key != "" {
			keys = append(keys, p.Key)
		}
		switch p.Value.(type) {
		case *int, *float64:
			if p.Lo >= p.Hi || p.Lo < 0 {
				t.Errorf("%s: from %g to %g", p.Name, p.Lo, p.Hi)
			}
		case *string:
			if len(p.Names) < 2 {
				t.Errorf("%s: names %q", p.Name, p.Names)
			}
		case *bool:
		default:
			t.Errorf("%s is a %T", p.Name, p.Value)
		}
	}
	for _, list := range [][]string{names, keys} {
		slices.Sort(list)
		if slices.Contains(list, "") || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("%q", list)
		}
	}
}

// TestParameters checks that parameters are pointers to the fields, in order, and that a list of names
// selects some.
func TestParameters(t *testing.T) {
	var d hparams.Dims
	list := hparams.Parameters(&d, "rms_norm_eps", "hidden_size")
	if len(list) != 2 || list[0].Name != "hidden_size" || list[0].Key != "embedding_length" || list[0].Hi != 1<<20 || list[1].Lo != 1e-12 {
		t.Fatalf("%+v", list)
	}
	*list[0].Value.(*int), *list[1].Value.(*float64) = 7, 0.5
	if want := (hparams.Dims{HiddenSize: 7, RMSNormEps: 0.5}); !reflect.DeepEqual(d, want) {
		t.Errorf("%+v", d)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name that there is not")
		}
	}()
	hparams.Parameters(&d, "hiden_size")
}
