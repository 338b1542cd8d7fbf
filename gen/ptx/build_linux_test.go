package ptx

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"mla/gen/gentest"
	"mla/gen/msl"
	"mla/gen/target"
	"mla/generated"
	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// bundle is the compiled model of a name, with its Metal source.
func bundle(t *testing.T, name string) *plan.Bundle {
	t.Helper()
	all := generated.Bundles()
	i := slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == name })
	if i < 0 {
		t.Fatalf("no bundle %s", name)
	}
	b, err := gentest.Printed("../../specs", all[i])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// elsewhere returns the body of a kernel's variant without the instructions that may be approximate. Their
// error of 2^-22 does not matter because the result is then rounded to halves (2^-11): the weights of
// attention in products of blocks of halves, and silu of halves in products of several rows.
func elsewhere(b *plan.Bundle, k *plan.Kernel, v *plan.Variant, body string) string {
	if slices.ContainsFunc(k.Parts, func(p plan.Part) bool { return weighsInHalves(p, v.Types) }) {
		return strings.ReplaceAll(body, "ex2.approx.ftz.f32", "")
	}
	if b.Activations == plan.ElemF16 && slices.ContainsFunc(k.Parts, func(p plan.Part) bool { return verify.Matrices(p) && plan.ProductOf(p).Up >= 0 }) {
		return strings.NewReplacer("ex2.approx.ftz.f32", "", "rsqrt.approx.ftz.f32", "").Replace(body)
	}
	return body
}

// weighsInHalves reports whether a part is attention whose weights are halves; on a cache of floats they are floats.
func weighsInHalves(p plan.Part, cache []quant.Type) bool {
	switch p.(type) {
	case *plan.AttendHeads:
		return true
	case *plan.Attend:
		return !slices.Contains(cache, quant.F32)
	}
	return false
}

// checkEntries checks that each variant has an entry, with the parameters of a launch by the CUDA runtime.
func checkEntries(t *testing.T, f ptxFile) {
	t.Helper()
	b, list := f.bundle, entries(t, f.text)
	maxShared, eager := target.For(b.Class).Memory().Bytes, make([]bool, len(b.Kernels))
	for i := range b.Kernels {
		k := &b.Kernels[i]
		for _, v := range k.Variants {
			e, ok := list[v.Func]
			switch {
			case !ok:
				t.Errorf("%s: no entry %s", b.Name, v.Func)
			case e.params != len(k.Slots) || e.threads != k.Threads || e.shared > ptxfile.StaticBytes || e.shared+e.dynamic > maxShared:
				t.Errorf("%s: %s has %d parameters, %d threads, %d bytes of shared memory; want %d, %d, at most %d",
					b.Name, v.Func, e.params, e.threads, e.shared+e.dynamic, len(k.Slots), k.Threads, maxShared)
			case strings.Contains(e.body, "__local_depot"):
				t.Errorf("%s: %s keeps an array in local memory; its loops must be unrolled", b.Name, v.Func)
			case strings.Contains(e.body, "call"):
				t.Errorf("%s: %s calls a function; all must be inlined", b.Name, v.Func)
			case !waitsFirst(t, k, e.body):
				t.Errorf("%s: %s touches memory that kernels write, or ends, before it says GRID_WAIT", b.Name, v.Func)
			case approximate.MatchString(elsewhere(b, k, &v, e.body)):
				t.Errorf("%s: %s has the instruction %s", b.Name, v.Func, approximate.FindString(elsewhere(b, k, &v, e.body)))
			}
			eager[i] = eager[i] || isEager(t, e.body)
			delete(list, v.Func)
		}
	}
	if err := checkEager(b, func(kernel int) bool { return eager[kernel] }); err != nil {
		t.Errorf("%s: %v", b.Name, err)
	}
	for name := range list {
		t.Errorf("%s: entry %s is no variant of the plan", b.Name, name)
	}
}

// thinned returns a bundle with fewer variants of the kernels of several rows: the first, and one with each
// type. Compiling these kernels takes most of the time, and each format is handled in the same way in all of
// them.
func thinned(b *plan.Bundle) (*plan.Bundle, error) {
	less := *b
	less.Kernels = slices.Clone(b.Kernels)
	seen := map[quant.Type]bool{}
	for i := range less.Kernels {
		k := &less.Kernels[i]
		if k.Width == 0 {
			continue
		}
		var kept []plan.Variant
		for _, v := range k.Variants {
			news := slices.ContainsFunc(v.Types, func(t quant.Type) bool { return !seen[t] })
			if len(kept) == 0 || news {
				kept = append(kept, v)
			}
			for _, t := range v.Types {
				seen[t] = true
			}
		}
		k.Variants = kept
	}
	var err error
	less.Source, err = msl.Print(&less, "// test")
	return &less, err
}

// ptxFile is a bundle with its PTX.
type ptxFile struct {
	bundle *plan.Bundle
	text   string
}

// TestEagerKernels: of class nvidia the mat-vecs of one row let the next kernel begin before they wait, and no kernel
// that the others of their sequence wait for does.
func TestEagerKernels(t *testing.T) {
	b := *bundle(t, "yoututiny")
	b.Class, b.Sequences, b.Pick = plan.ClassNVIDIA, b.Sequences[:1], nil
	b.Kernels = slices.Clone(b.Kernels[:slices.IndexFunc(b.Kernels, func(k plan.Kernel) bool { return k.Width > 0 })])
	for i := range b.Kernels {
		b.Kernels[i].Variants = b.Kernels[i].Variants[:1]
	}
	var err error
	if b.Source, err = msl.Print(&b, "// test"); err != nil {
		t.Fatal(err)
	}
	file, err := Build(&b)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Text(file)
	if err != nil {
		t.Fatal(err)
	}
	checkEntries(t, ptxFile{&b, text})
	list := entries(t, text)
	for name, want := range map[string]bool{"k_b_f32": true, "o_proj_f32": true, "lm_head_f32": true, "embed_f32": false, "attend_f32": false} {
		if e, ok := list[name]; !ok || isEager(t, e.body) != want {
			t.Errorf("%s is there: %t; expected it, and that it is eager: %t", name, ok, want)
		}
	}
}

// TestBuild checks that two builds give the same bytes, which Check accepts.
func TestBuild(t *testing.T) {
	b, err := thinned(bundle(t, "yoututiny"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := Build(b)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Build(b); err != nil || !bytes.Equal(first, second) {
		t.Errorf("another file the second time (%v)", err)
	}
	if err := Check(b, first); err != nil {
		t.Error(err)
	}
	text, err := Text(first)
	if err != nil {
		t.Fatal(err)
	}
	checkEntries(t, ptxFile{b, text})
}

// TestCheck: a file that was made from something else does not pass.
func TestCheck(t *testing.T) {
	b, err := thinned(bundle(t, "yoututiny"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := Build(b)
	if err == nil {
		err = Check(b, file)
	}
	if err != nil {
		t.Fatal(err)
	}
	otherSource, otherThreads := *b, *b
	otherSource.Source += "\n"
	otherThreads.Kernels = append([]plan.Kernel(nil), b.Kernels...)
	otherThreads.Kernels[0].Threads *= 2
	for _, tt := range []struct {
		name string
		b    *plan.Bundle
		file []byte
		says string
	}{
		{"source", &otherSource, file, "another Metal source"},
		{"threads", &otherThreads, file, "translated in another way"},
		{"empty", b, nil, "EOF"},
		{"no gzip", b, []byte("// PTX, not compressed"), "header"},
		{"cut", b, file[:len(file)/2], "EOF"},
		{"other text", b, pack(t, "// some text\n"), "first lines"},
	} {
		if err := Check(tt.b, tt.file); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.says)
		}
	}
}

// TestBuildRefuses checks that clang's messages are passed on, with lines of the Metal source.
func TestBuildRefuses(t *testing.T) {
	b := &plan.Bundle{Name: "x", Source: "\nstatic inline void f() { undefined(); }\n"}
	if _, err := Build(b); err == nil || !strings.Contains(err.Error(), "kernels.metal:2:") || !strings.Contains(err.Error(), "'undefined'") {
		t.Errorf("Build says %v", err)
	}
}

func pack(t *testing.T, text string) []byte {
	t.Helper()
	file, err := compress(text)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
