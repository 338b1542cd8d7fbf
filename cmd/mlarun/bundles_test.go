package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/initspec"
	"mla/gen/spec"
	"mla/generated"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
)

// unseen is a model that no compiled bundle runs.
const unseen = "../../testdata/models/plm-mini-Q4_K_M.gguf"

// made is the bundle file of a model, as mlagen -gguf makes it, under a name.
func made(t *testing.T, model, name string) []byte {
	t.Helper()
	data, err := makeBundles(model, name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func makeBundles(model, name string) ([]byte, error) {
	f, err := gguf.Open(model)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := initspec.Generate(f, name+".yaml")
	if err != nil {
		return nil, err
	}
	s, err := spec.Parse(name+".yaml", text)
	if err != nil {
		return nil, err
	}
	var bundles []*plan.Bundle
	for _, v := range s.Variants() {
		b, err := gen.Compile(v, nil)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	}
	return bundlefile.Encode(&bundlefile.File{Spec: text, Bundles: bundles})
}

// place links a model into a folder, and writes files there.
func place(t *testing.T, model string, files map[string][]byte) (path string) {
	t.Helper()
	folder := t.TempDir()
	whole, err := filepath.Abs(model)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(folder, "my.gguf")
	if err := os.Symlink(whole, path); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestBundleFiles: a bundle file is taken where -bundle says, else beside the model, else
// from the user's folder, else the program has one; what cannot be read there is passed
// over with a note, and what was asked for is not.
func TestBundleFiles(t *testing.T) {
	a, b, other := made(t, unseen, "a"), made(t, unseen, "b"), made(t, "../../testdata/models/gigachat3-mini-Q4_0.gguf", "other")
	broken := append([]byte{}, a...)
	broken[len(broken)/2] ^= 1
	for _, tt := range []struct {
		name  string
		files map[string][]byte
		args  string
		code  int
		says  []string
	}{
		{"none", nil, "", 1, []string{"no bundle fits ", "; to make one: mlagen -gguf "}},
		{"beside", map[string][]byte{"my.mla": a}, "", 0, []string{"with bundle a of ", "my.mla (f32"}},
		{"installed", map[string][]byte{"user/x.mla": b}, "", 0, []string{"with bundle b of ", "x.mla"}},
		{"installed under the model's name", map[string][]byte{"user/a.mla": a, "user/my.mla": b}, "", 0, []string{"with bundle b of "}},
		{"beside before installed", map[string][]byte{"my.mla": a, "user/my.mla": b}, "", 0, []string{"with bundle a of "}},
		{"asked for before beside", map[string][]byte{"my.mla": a, "x.mla": b}, "-bundle DIR/x.mla", 0, []string{"with bundle b of "}},
		{"by name", map[string][]byte{"my.mla": a, "user/x.mla": b}, "-bundle b", 0, []string{"with bundle b of "}},
		{"by a name that is nowhere", map[string][]byte{"my.mla": a}, "-bundle c", 1, []string{`bundle "c" is not in this program, which has a, `}},
		{"another model's is passed over", map[string][]byte{"my.mla": other, "user/x.mla": b}, "", 0, []string{"with bundle b of "}},
		{"another model's was asked for", map[string][]byte{"my.mla": a, "x.mla": other}, "-bundle DIR/x.mla", 1, []string{"bundle other does not fit ", "to make a bundle for this file: mlagen -gguf "}},
		{"damaged", map[string][]byte{"my.mla": broken, "user/x.mla": b}, "", 0, []string{"my.mla: ", "; make it again: mlagen -gguf MODEL.gguf -o ", "with bundle b of "}},
		{"no bundle file", map[string][]byte{"my.mla": []byte("x"), "user/x.mla": b}, "", 0, []string{"my.mla: no bundle file", "with bundle b of "}},
		{"damaged and asked for", map[string][]byte{"x.mla": broken, "my.mla": a}, "-bundle DIR/x.mla", 1, []string{"x.mla: ", "make it again"}},
		{"missing and asked for", map[string][]byte{"my.mla": a}, "-bundle DIR/x.mla", 1, []string{"x.mla: no such file"}},
		{"other activations", map[string][]byte{"my.mla": a}, "-act f16", 1, []string{"no bundle runs ", "to make one: mlagen -gguf ", " -act f32,f16"}},
		{"no PTX", map[string][]byte{"my.mla": a}, "-device cuda -cuda-lib ../../build/libcudasim.so", 1, []string{"it has no kernels for NVIDIA GPUs; make it again with mlagen … -ptx"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := place(t, unseen, tt.files)
			r := onShelf(filepath.Join(filepath.Dir(path), "user"), strings.Fields("greedy -device cpu -tokens 3,40,200 -n 2 -model "+path+" "+strings.ReplaceAll(tt.args, "DIR", filepath.Dir(path)))...)
			if r.code != tt.code || tt.code == 0 && r.out != "429 317\n" {
				t.Errorf("exit %d, %q", r.code, r.out)
			}
			for _, want := range tt.says {
				if !strings.Contains(r.err, want) {
					t.Errorf("does not say %q:\n%s", want, r.err)
				}
			}
		})
	}
}

// onShelf runs a command line where the user's bundle files are in a folder.
func onShelf(folder string, args ...string) result {
	var out, err strings.Builder
	e := &env{in: strings.NewReader(""), out: &out, err: &err, bundles: generated.Bundles(), folder: folder, devices: devices, auto: autoDevices}
	return result{e.main(args), out.String(), err.String()}
}

// TestInspectFile: inspect shows what of a bundle file fits, and uses what greedy uses.
func TestInspectFile(t *testing.T) {
	path := place(t, unseen, map[string][]byte{"my.mla": made(t, unseen, "a"), "x.mla": made(t, "../../testdata/models/gigachat3-mini-Q4_0.gguf", "other")})
	r := onShelf("", "inspect", path)
	for _, want := range []string{"a of " + filepath.Dir(path) + "/my.mla (f32 activations) fits, quant profile q4_k_m", "mlarun uses a of ", "mlp.up_proj  "} {
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("exit %d, does not say %q:\n%s", r.code, want, r.out)
		}
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "my.mla"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r = onShelf("", "inspect", path); r.code != 0 || strings.Count(r.err, "my.mla: no bundle file") != 1 {
		t.Errorf("exit %d:\n%s", r.code, r.err)
	}
	r = onShelf("", "inspect", "-bundle", filepath.Join(filepath.Dir(path), "x.mla"), path)
	if r.code != 0 || !strings.Contains(r.out, "other does not fit:\n") {
		t.Errorf("exit %d:\n%s", r.code, r.out)
	}
}
