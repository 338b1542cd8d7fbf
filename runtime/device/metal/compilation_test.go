package metal_test

import (
	"mla/runtime/device"
	"slices"
	"testing"

	"mla/runtime/device/metal"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestCompilation checks that for a file of GLM at Q4_0 less than a third of the bundle is compiled (rule
// 23): of its kernels, of its bytes, and of the code that the compiler generates, where every kernel has its
// own copy of the functions it calls.
func TestCompilation(t *testing.T) {
	b := bundle("glm47flashapple")
	i := slices.IndexFunc(b.Profiles, func(p plan.Profile) bool { return p.Name == "q4_0" })
	functions, err := reference.Profile(b, &b.Profiles[i]).Functions(device.Config{KV: quant.F16}, "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := metal.Compile(b, functions, metal.FromSource)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c)
	if c.AllKernels != len(b.Functions()) || c.AllBytes != len(b.Metal()) || c.Kernels != len(functions) || c.Kernels < 10 || c.Inlined < 100_000 {
		t.Errorf("%+v", c)
	}
	if 3*c.Kernels >= c.AllKernels || 3*c.Inlined >= c.AllInlined || 3*c.Bytes >= c.AllBytes {
		t.Errorf("%s; expected less than a third of the kernels and bytes, also with what is inlined", c)
	}
	// What every kernel needs cannot be less than everything.
	if all, err := metal.Compile(b, b.Functions(), metal.FromSource); err != nil || all.Kernels != all.AllKernels || all.Inlined != all.AllInlined {
		t.Errorf("of all: %s, %v", all, err)
	}
	// Nothing is compiled of a library.
	if l, err := metal.Compile(b, functions, "/a.metallib"); err != nil || l.Bytes+l.AllBytes+l.Inlined != 0 || l.From != "/a.metallib" || l.Kernels != c.Kernels {
		t.Errorf("of a library: %s, %v", l, err)
	}
	if _, err := metal.Compile(b, []string{"no_kernel"}, metal.FromSource); err == nil {
		t.Error("a kernel that is not there")
	}
}
