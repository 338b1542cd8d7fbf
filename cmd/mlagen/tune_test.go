package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/gen/synth"
	"mla/gen/tune"
	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine/opening"
	"mla/runtime/plan"
)

func TestTuneUsage(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"-h", exitOK, "-compile-only"},
		{"", exitUsage, "tune needs -spec"},
		{"-spec F", exitUsage, `-device is ""; expected cuda or metal`},
		{"-spec F -device cpu", exitUsage, "do not depend on shapes, so there is nothing to tune"},
		{"-spec F -device cuda -compile-only", exitUsage, "needs -cache"},
		{"-spec F -device metal -compile-only -cache D", exitUsage, "Metal compiles kernels where they run"},
		{"-spec F -device cuda -model M -quant q4_0", exitUsage, "either -model or -quant"},
		{"-spec F -device cuda -depth 1,x", exitUsage, `"x" is no number`},
		{"-spec F -device cuda -depth ,", exitUsage, "-depth needs a number"},
		{"-spec F -device cuda -act f16,f8", exitUsage, "-act: expected f32 or f16"},
		{"-spec F -device cuda -by kernel", exitUsage, `-by is "kernel"; expected stage or token`},
		{"-spec F -device metal -by stage", exitUsage, "cannot time single kernels"},
		{"-spec F -device cuda -beam 0", exitUsage, "-beam"},
		{"-spec missing.yaml -device cuda", exitError, "missing.yaml"},
		{"-spec " + tinySpec + " -device cuda -quant q9", exitUsage, "q9"},
		{"-spec " + tinySpec + " -device cuda -kernels o_proj,nothing", exitError, `nothing to tune in "nothing"`},
		{"-spec " + tinySpec + " -device cuda -model missing.gguf", exitError, "missing.gguf"},
		{"-spec " + tinySpec + " -device cuda -quant f32 -cuda-lib /missing.so", exitError, "missing.so"},
		{"-spec " + tinySpec + " -device metal -quant f32 -metal-lib /missing.so", exitError, "missing.so"},
	} {
		code, stdout, stderr := mlagen(append([]string{"tune"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
			t.Errorf("mlagen tune %s: exit %d, want %d and %q:\n%s%s", tt.args, code, tt.code, tt.says, stdout, stderr)
		}
	}
}

// TestTuneProfile: a file is measured with the quant profile that it has.
func TestTuneProfile(t *testing.T) {
	s, err := spec.Load("../../specs/glm47tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	name := s.Quants[len(s.Quants)-1].Name
	if err := synth.Write(t.Context(), s, name, path, 1); err != nil {
		t.Fatal(err)
	}
	rigs, err := (&tuneFlags{model: path}).rigs(s)
	if err != nil || len(rigs) != 1 || len(rigs[0].spec.Quants) != 1 || rigs[0].spec.Quants[0].Name != name || rigs[0].path != path {
		t.Errorf("%v, %v", rigs, err)
	}
	other, err := spec.Load(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&tuneFlags{model: path}).rigs(other); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("another model's file: %v", err)
	}
	rigs, err = (&tuneFlags{quants: words("f32, " + name), acts: words("f16,f32")}).rigs(s)
	if err != nil || len(rigs) != 4 || rigs[2].spec.Activations != "f16" || rigs[2].spec.Quants[0].Name != name || rigs[3].spec.Activations != "f32" {
		t.Errorf("%v, %v", rigs, err)
	}
}

// TestTuneWrite: the winners stand in the tuning file of the class, with device, date and gain; the spec
// stays. -n and no winners write nothing.
func TestTuneWrite(t *testing.T) {
	text, err := os.ReadFile(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tiny.yaml")
	s, err := spec.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	knobs, err := tune.Knobs(s, []string{"o_proj", "down"})
	if err != nil {
		t.Fatal(err)
	}
	stays := tune.Choice{Knob: &knobs[1], From: knobs[1].Values[0], To: knobs[1].Values[0], Tried: 7}
	wins := tune.Choice{Knob: &knobs[0], From: knobs[0].Values[0], To: knobs[0].Values[5], Before: 4e-6, After: 3e-6, Tried: 9}
	for _, tt := range []struct {
		name    string
		found   []tune.Choice
		dry     bool
		written bool
		says    string
	}{
		{"nothing better", []tune.Choice{stays}, false, false, "stays as it is"},
		{"only printed", []tune.Choice{wins, stays}, true, false, "\nkernels:\n  o_proj: {"},
		{"written", []tune.Choice{wins, stays}, false, true, "mlagen -spec " + filepath.ToSlash(path)},
	} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		file := spec.TuningFile(path, plan.ClassApple)
		if err := os.RemoveAll(filepath.Dir(file)); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := (&tuneFlags{spec: path, device: "metal", dryRun: tt.dry}).write(s, tt.found, "GPU", &out); err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, text) {
			t.Errorf("%s: %v; the spec is now\n%s", tt.name, err, now)
		}
		now, err := os.ReadFile(file)
		if !strings.Contains(out.String(), tt.says) || (err == nil) != tt.written {
			t.Errorf("%s: it prints\n%s\nand leaves (%v)\n%s", tt.name, &out, err, now)
		}
		if tt.written {
			tuned, err := spec.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := tuned.Tuning.Shape("o_proj"); ok {
				t.Errorf("%s: it is tuned for any device:\n%s", tt.name, now)
			}
			if shape, ok := tuned.WithClass(plan.ClassApple).Tuning.Shape("o_proj"); !ok || shape != wins.To.Shape || !strings.Contains(string(now), "device: GPU, date: 20") || !strings.Contains(string(now), "gain: 25}") {
				t.Errorf("%s: %+v\n%s", tt.name, shape, now)
			}
		}
	}
	var table strings.Builder
	if err := printChoices(&table, []tune.Choice{wins, stays}); err != nil || !strings.Contains(table.String(), "4.00    3.00     9\n") {
		t.Errorf("%v\n%s", err, &table)
	}
}

// TestTuneToken: at every depth as many tokens are timed, however deep the deepest is.
func TestTuneToken(t *testing.T) {
	e, err := opening.On("../../testdata/reference/youtu-tiny-F32.gguf", generated.Bundles(), "", cpu.New())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const deepest = 100
	m, err := e.Load(device.Config{Context: deepest + tokens, KV: cacheType})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewPrivateSession()
	if err != nil {
		t.Fatal(err)
	}
	for _, depth := range []int{0, deepest} {
		if _, err := (&trial{session: s}).token(depth); err != nil {
			t.Fatal(err)
		}
		if got := len(s.Tokens()); got != depth+tokens {
			t.Errorf("depth %d: the last token has place %d, want %d", depth, got, depth+tokens)
		}
	}
}
