package gen

import (
	"path/filepath"
	"reflect"
	"testing"

	"mla/gen/msl"
	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/plan"
)

// TestForClasses: bundles for any device of the real sizes have a kernel of their own for the
// older Apple GPUs: GLM-4.7-Flash for its 20 heads, all for their tiles on a cache of Q8_0.
// It is the same but for its shape, and keeps to their budget. Those of class apple have one kernel for all
// families, that keeps to it.
func TestForClasses(t *testing.T) {
	for file, want := range map[string]bool{"glm47flash": true, "youtu2b": true, "deepseekv2lite": true, "tinyglm": false} {
		s, err := spec.Load(filepath.Join("..", "specs", file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range append(s.Variants(), s.WithClass("")) {
			b, err := Compile(v, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Kernels {
				if len(b.Kernels[i].Parts) == 1 && reflect.TypeOf(b.Kernels[i].Parts[0]) == reflect.TypeFor[*plan.Attend]() && b.Kernels[i].Class == "" {
					checkForClass(t, b, i, want && v.Class == "")
				} else if k := b.KernelFor(i, plan.ClassApple7); b.Kernels[i].Class == "" && k != &b.Kernels[i] {
					t.Errorf("%s: %s in place of %s", b.Name, k.Name, b.Kernels[i].Name)
				}
			}
		}
	}
}

// checkForClass checks the kernel that older Apple GPUs run as kernel i of b.
func checkForClass(t *testing.T, b *plan.Bundle, i int, own bool) {
	t.Helper()
	k, general := b.KernelFor(i, plan.ClassApple7), &b.Kernels[i]
	if (k != general) != own || b.KernelFor(i, "") != general || b.KernelFor(i, plan.ClassNVIDIA) != general {
		t.Fatalf("%s: %s in place of %s", b.Name, k.Name, general.Name)
	}
	forms, err := msl.AttentionRegisters(target.For(b.Class), k)
	if err != nil || len(forms) == 0 {
		t.Fatalf("%s: %v", k.Name, err)
	}
	for _, r := range forms {
		if b.Class != plan.ClassNVIDIA && (r.Held() > 96 || k.Threads > 384) {
			t.Errorf("%s: %s holds %d registers, with %d threads", b.Name, k.Name, r.Held(), k.Threads)
		}
	}
	if !own {
		return
	}
	same := *k
	same.Name, same.Doc, same.Threads, same.Class, same.Instead = general.Name, general.Doc, general.Threads, "", 0
	for v := range k.Variants {
		if k.Variants[v].Func == general.Variants[v].Func || !reflect.DeepEqual(k.Variants[v].Types, general.Variants[v].Types) {
			t.Errorf("%s: variant %+v in place of %+v", b.Name, k.Variants[v], general.Variants[v])
		}
	}
	if same.Variants = general.Variants; !reflect.DeepEqual(&same, general) {
		t.Errorf("%s: %+v in place of %+v", b.Name, k, general)
	}
}
