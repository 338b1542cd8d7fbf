package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/initspec"
	"mla/gen/msl/execute"
	"mla/gen/msl/frontend"
	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/quant"
	"mla/sim/replay"
	"mla/tools/tests/deep"
)

// models are small files of further models, with the logits that they must give. No
// bundle for them ships.
const models = "../../testdata/models"

// modelCaches are the types of cache with the greatest difference from the reference
// logits that they may cause: runtime/engine's TestReference says where it comes from.
var modelCaches = map[quant.Type]float64{quant.F32: 1e-3, quant.F16: 0.05}

// TestModels runs mlagen init, mlagen -spec and mlarun on each of these files, as a user does, and compares
// the logits: of the CPU device, and of the Metal source on the executor.
func TestModels(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(models, "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", models, err)
	}
	executor := newExecutor(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m := compileFor(t, file, "f32")
			for suffix, context := range contexts {
				ref, err := reference.ReadPath(strings.TrimSuffix(file, ".gguf") + suffix)
				if errors.Is(err, fs.ErrNotExist) && suffix != "" {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				for kv, tolerance := range modelCaches {
					cfg := device.Config{Context: context, KV: kv}
					compareModel(t, cpu.New(), m, cfg, ref, len(ref.Prompt), tolerance)
					if deep.On {
						// Attention on a cache of halves has a form of its own from 8 rows on.
						compareModel(t, executor, m, cfg, ref, 12, tolerance)
					}
				}
			}
		})
	}
}

// contexts are the lengths of context with reference logits, by the suffix of the logits' file. Only the file
// whose rotary frequencies depend on the context has the second one.
var contexts = map[string]int{"": 256, ".long": 257}

// newExecutor runs the Metal source, checked, on the CPU.
func newExecutor(t *testing.T) device.Device {
	d := replay.New(execute.Checked)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// compileFor binds a file to the bundle that its header asks for, or one with other widths.
func compileFor(t *testing.T, file, act string, widths ...int) *device.Model {
	t.Helper()
	f, err := gguf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	text, err := initspec.Generate(f, "model.yaml", act)
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("model.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(widths) > 0 {
		s = s.WithSequences(widths...)
	}
	b, err := gen.Compile(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(append(frontend.Lint(b.Source, target.For(b.Class).Memory().Bytes), frontend.Check(b.Source, target.For(b.Class).Memory().Bytes))...); err != nil {
		t.Error(err)
	}
	m, err := bind.Resolve(f).Bind(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// compareModel replays n tokens of the prompt.
func compareModel(t *testing.T, d device.Device, m *device.Model, cfg device.Config, ref *reference.Reference, n int, tolerance float64) {
	t.Helper()
	r, err := device.LoadSingle(d, m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	worst := 0.0
	for pos, token := range ref.Prompt[:n] {
		got, err := r.Replay(reference.Rows(token, pos), device.All(1))
		if err != nil {
			t.Fatal(err)
		}
		worst = max(worst, ref.Worst(got, pos))
	}
	t.Logf("%s, %s cache of %d, %d tokens: logits within %.2g", d.Name(), cfg.KV, cfg.Context, n, worst)
	if !(worst <= tolerance) {
		t.Errorf("%s, %s cache: logits differ by %g; at most %g is allowed", d.Name(), cfg.KV, worst, tolerance)
	}
}
