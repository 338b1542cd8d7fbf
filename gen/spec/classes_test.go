package spec

import (
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
)

// parseTuned is a spec of two types of activations with a tuning.
func parseTuned(t *testing.T, tuning string) *Spec {
	t.Helper()
	s, err := Parse("specs/x.yaml", []byte("activations: [f32, f16]\n"+body(t)+tuning))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestClasses: every class with a tuning makes bundles, whose names end in it.
func TestClasses(t *testing.T) {
	const own = "{kernels: {down: {simdgroups: 2}}}"
	for _, tt := range []struct {
		tuning, names string
		nvidia, apple string // those that devices of the class run
	}{
		{"", "x xf16", "x xf16", "x xf16"},
		{"tuning: {devices: {}}", "x xf16", "x xf16", "x xf16"},
		{"tuning: {devices: {nvidia: " + own + "}}", "x xf16 xnvidia xf16nvidia", "xnvidia xf16nvidia", "x xf16"},
		{"tuning: {devices: {nvidia: " + own + ", apple: {}}}", "x xf16 xnvidia xf16nvidia xapple xf16apple", "xnvidia xf16nvidia", "xapple xf16apple"},
	} {
		if err := compileSchema(t).Validate(yamlValue(t, body(t)+tt.tuning)); err != nil {
			t.Errorf("%q: %v", tt.tuning, err)
		}
		var names, nvidia, apple []string
		for _, v := range parseTuned(t, tt.tuning).Variants() {
			names = append(names, v.Name)
			if v.Serves(plan.ClassNVIDIA) {
				nvidia = append(nvidia, v.Name)
			}
			if v.Serves(plan.ClassApple) {
				apple = append(apple, v.Name)
			}
			if want := strings.TrimPrefix(strings.TrimPrefix(v.Name, "x"), "f16"); v.Class != want {
				t.Errorf("%q: %s is of class %q", tt.tuning, v.Name, v.Class)
			}
		}
		for what, list := range map[string][]string{tt.names: names, tt.nvidia: nvidia, tt.apple: apple} {
			if strings.Join(list, " ") != what {
				t.Errorf("%q: %v; want %s", tt.tuning, list, what)
			}
		}
	}
}

// TestClassTuning: a class has its own values, key by key, and else those of any
// device; the other class has the latter.
func TestClassTuning(t *testing.T) {
	s := parseTuned(t, `tuning:
  matvec: {rows_per_simdgroup: 8}
  attention: {tile: 8, simdgroups: 4}
  kernels:
    down: {simdgroups: 8, split_k: 2, unroll: 2}
    o_proj: {simdgroups: 2, unroll: 2}
  devices:
    nvidia:
      matvec: {rows_per_simdgroup: 2}
      attention: {tile: 32}
      kernels:
        down: {split_k: 4}
        v_b: {rows_per_simdgroup: 4, split_k: 1, unroll: 8}
      tails: true
`)
	for _, tt := range []struct {
		class     string
		matvec    Shape
		attention Attention
		kernels   []KernelShape
	}{
		{"", Shape{8, 0, 0, 0}, Attention{128, 8, 4}, []KernelShape{{"down", Shape{8, 8, 2, 2}, 0, 0}, {"o_proj", Shape{8, 2, 0, 2}, 0, 0}}},
		{"apple", Shape{8, 0, 0, 0}, Attention{128, 8, 4}, []KernelShape{{"down", Shape{8, 8, 2, 2}, 0, 0}, {"o_proj", Shape{8, 2, 0, 2}, 0, 0}}},
		{"nvidia", Shape{2, 0, 0, 0}, Attention{128, 32, 4},
			[]KernelShape{{"down", Shape{2, 8, 4, 2}, 0, 0}, {"o_proj", Shape{2, 2, 0, 2}, 0, 0}, {"v_b", Shape{4, 0, 1, 8}, 0, 0}}},
	} {
		got := s.WithClass(tt.class).Tuning
		if plain := got.withoutPositions(); got.MatVec != tt.matvec || got.Attention != tt.attention || !slices.Equal(plain.Kernels, tt.kernels) || got.Tails != (tt.class == "nvidia") {
			t.Errorf("%q: %+v", tt.class, got)
		}
	}
	lines := strings.Count("\n"+body(t), "\n") + 1
	for _, k := range s.WithClass("nvidia").Tuning.Kernels {
		if want := map[string]int{"down": 12, "o_proj": 6, "v_b": 13}[k.Kernel]; k.Line != lines+want-1 {
			t.Errorf("%s stands in line %d; want %d", k.Kernel, k.Line, lines+want-1)
		}
	}
}

// TestClassBudget: memory that only a class's tuning takes is reported there.
func TestClassBudget(t *testing.T) {
	text := strings.Replace(body(t), "num_attention_heads: 5", "num_attention_heads: 64", 1) + "tuning: {devices: {nvidia: {attention: {simdgroups: 1}}}}\n"
	_, err := Parse("x.yaml", []byte(text))
	if want := ":53: attention keeps 512 sums in the registers of a thread"; err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
}
