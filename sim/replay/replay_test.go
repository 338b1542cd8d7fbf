package replay_test

import (
	"path/filepath"
	"strings"
	"testing"

	"mla/gen/msl/execute"
	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/doctor/reference"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/sim/replay"
	"mla/tools/tests/deep"
)

const root = "../../"

// tolerance bounds the difference from logits that were computed in another order
// of float32 operations: see runtime/engine's TestReference, which has the same. A
// cache of halves rounds each of its numbers to 2^-11.
var tolerance = map[quant.Type]float64{quant.F32: 1e-3, quant.F16: 0.05}

// tokens is how many tokens of a prompt run. Attention on a cache of halves has a form
// of its own from 8 rows on.
var tokens = map[quant.Type]int{quant.F32: 20, quant.F16: 12}

// TestReference compares the logits of the printed kernels with the reference's.
func TestReference(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "testdata/reference/*.gguf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference files: %v", err)
	}
	files = append(files, root+"testdata/tinyglm.gguf", root+"testdata/tinychat.gguf")
	if !deep.On {
		files = []string{root + "testdata/reference/youtu-tiny-F32.gguf", root + "testdata/reference/glm47-tiny-Q4_0.gguf"}
	}
	d := newDevice(t, execute.Checked)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			stem := strings.TrimSuffix(file, ".gguf")
			ref, m := read(t, stem), bindFile(t, file, "f32")
			for kv, tolerance := range tolerance {
				n := tokens[kv]
				r := record(t, d, m, device.Config{Context: n, KV: kv})
				worst := 0.0
				for pos, token := range ref.Prompt[:n] {
					worst = max(worst, ref.Worst(step(t, r, pos, token), pos))
				}
				t.Logf("%s cache, %d tokens: logits within %.2g", kv, n, worst)
				if !(worst <= tolerance) {
					t.Errorf("%s cache: logits differ by %g; at most %g is allowed", kv, worst, tolerance)
				}
			}
		})
	}
}

func newDevice(t *testing.T, c execute.Checks) *replay.Device {
	d := replay.New(c)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func record(t *testing.T, d *replay.Device, m *device.Model, cfg device.Config) *replay.Runner {
	t.Helper()
	r, err := device.LoadSingle(d, m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*replay.Runner)
}

func step(t *testing.T, r device.Runner, pos int, token int32) []float32 {
	t.Helper()
	logits, err := r.Replay([]plan.Row{{Token: uint32(token), Pos: uint32(pos), NKV: uint32(pos) + 1}}, device.All(1))
	if err != nil {
		t.Fatal(err)
	}
	return logits
}

func bundle(t *testing.T, name string) *plan.Bundle {
	t.Helper()
	for _, b := range generated.Bundles() {
		if b.Name == name || strings.ReplaceAll(b.Name, "-", "") == name {
			return b
		}
	}
	t.Fatalf("no bundle %s", name)
	return nil
}

// bindFile opens a file and binds it to the bundle of those activations that fits it
// best.
func bindFile(t *testing.T, path, act string) *device.Model {
	t.Helper()
	return bindWish(t, path, bind.Wish{Act: act})
}

func bindWish(t *testing.T, path string, w bind.Wish) *device.Model {
	t.Helper()
	return bindTo(t, path, generated.Bundles(), w)
}

func bindTo(t *testing.T, path string, bundles []*plan.Bundle, w bind.Wish) *device.Model {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	b, err := bind.Resolve(f).Choose(bundles, w)
	if err != nil {
		t.Fatal(err)
	}
	m, err := bind.Resolve(f).Bind(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// read reads the reference of a file. stem is its path without the extension.
func read(t *testing.T, stem string) *reference.Reference {
	t.Helper()
	ref, err := reference.ReadPath(stem)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}
