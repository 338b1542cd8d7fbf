package spec

import (
	"fmt"
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

// TestClasses: every class with a tuning makes bundles, whose names end in it. The two classes that there are
// leave no other device to make any for.
func TestClasses(t *testing.T) {
	const own = "{kernels: {down: {simdgroups: 2}}}"
	for _, tt := range []struct {
		tuning, names string
		nvidia, apple string // names of the bundles that devices of the class run
	}{
		{"", "x xf16", "x xf16", "x xf16"},
		{"tuning: {devices: {}}", "x xf16", "x xf16", "x xf16"},
		{"tuning: {devices: {nvidia: " + own + "}}", "xapple xf16apple xnvidia xf16nvidia", "xnvidia xf16nvidia", "xapple xf16apple"},
		{"tuning: {devices: {apple: {}}}", "x xf16 xapple xf16apple", "x xf16", "xapple xf16apple"},
		{"tuning: {devices: {nvidia: " + own + ", apple: {}}}", "xapple xf16apple xnvidia xf16nvidia", "xnvidia xf16nvidia", "xapple xf16apple"},
	} {
		if err := compileSchema(t).Validate(yamlValue(t, body(t)+tt.tuning)); err != nil {
			t.Errorf("%q: %v", tt.tuning, err)
		}
		var names, nvidia, apple []string
		var portable []string
		for _, v := range parseTuned(t, tt.tuning).Portable() {
			portable = append(portable, v.Name)
		}
		if all := strings.Join(portable, " "); !strings.Contains(all, "xapple xf16apple") || !strings.HasPrefix(all, tt.names) || strings.Count(all, "apple") != 2 {
			t.Errorf("%q: anywhere %s", tt.tuning, all)
		}
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
  attention: {tile: 8, simdgroups: 4}
  kernels:
    down: {simdgroups: 8, split_k: 2, unroll: 2}
    o_proj: {simdgroups: 2, unroll: 2}
  devices:
    nvidia:
      attention: {tile: 32}
      kernels:
        down: {split_k: 4}
        v_b: {rows_per_simdgroup: 4, split_k: 1, unroll: 8}
`)
	for _, tt := range []struct {
		class     string
		attention Attention
		kernels   []KernelShape
	}{
		{"", Attention{Splits: 132, Tile: 8, Simdgroups: 4}, []KernelShape{{Kernel: "down", Shape: Shape{RowsPerSimdgroup: 0, Simdgroups: 8, SplitK: 2, Unroll: 2}}, {Kernel: "o_proj", Shape: Shape{RowsPerSimdgroup: 0, Simdgroups: 2, SplitK: 0, Unroll: 2}}}},
		{"apple", Attention{Splits: 160, Tile: 8, Simdgroups: 4, PerCore: 3}, []KernelShape{{Kernel: "down", Shape: Shape{RowsPerSimdgroup: 0, Simdgroups: 8, SplitK: 2, Unroll: 2}}, {Kernel: "o_proj", Shape: Shape{RowsPerSimdgroup: 0, Simdgroups: 2, SplitK: 0, Unroll: 2}}}},
		{"nvidia", Attention{Splits: 132, Tile: 32, Simdgroups: 4},
			[]KernelShape{{Kernel: "down", Shape: Shape{RowsPerSimdgroup: 0, Simdgroups: 8, SplitK: 4, Unroll: 2}}, {Kernel: "o_proj", Shape: Shape{RowsPerSimdgroup: 0, Simdgroups: 2, SplitK: 0, Unroll: 2}}, {Kernel: "v_b", Shape: Shape{RowsPerSimdgroup: 4, Simdgroups: 0, SplitK: 1, Unroll: 8}}}},
	} {
		got := s.WithClass(tt.class).Tuning
		if plain := got.withoutPositions(); got.Attention != tt.attention || !slices.Equal(plain.Kernels, tt.kernels) {
			t.Errorf("%q: %+v", tt.class, got)
		}
	}
	lines := strings.Count("\n"+body(t), "\n") + 1
	for _, k := range s.WithClass("nvidia").Tuning.Kernels {
		if want := map[string]int{"down": 10, "o_proj": 5, "v_b": 11}[k.Kernel]; k.Line != lines+want-1 {
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

// TestClassSequences: a class has its own widths or those of any device, whatever its activations;
// WithSequences goes before both.
func TestClassSequences(t *testing.T) {
	for _, tt := range []struct {
		general, own  string // lists; "": none
		any, ofNVIDIA string
	}{
		{"", "", "[1 16]", "[1 16]"},
		{"[1, 8]", "", "[1 8]", "[1 8]"},
		{"", "[1, 16, 64]", "[1 16]", "[1 16 64]"},
		{"[1, 8, 32]", "[1, 4]", "[1 8 32]", "[1 4]"},
	} {
		text := "activations: [f32, f16]\n" + body(t)
		if tt.general != "" {
			text += "sequences: " + tt.general + "\n"
		}
		if text += "tuning: {devices: {nvidia: {"; tt.own != "" {
			text += "sequences: " + tt.own
		}
		text += "}}}\n"
		if err := compileSchema(t).Validate(yamlValue(t, text)); err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
		s, err := Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Variants() {
			want := tt.any
			if v.Class == plan.ClassNVIDIA {
				want = tt.ofNVIDIA
			}
			if got := fmt.Sprint(v.Widths()); got != want {
				t.Errorf("%+v: %s has %s; want %s", tt, v.Name, got, want)
			}
			if got := fmt.Sprint(v.WithSequences(1, 2).Widths()); got != "[1 2]" {
				t.Errorf("%+v: %s has %s with sequences of 1 and 2 rows", tt, v.Name, got)
			}
		}
		if got := fmt.Sprint(s.WithClass(plan.ClassApple).Widths()); got != tt.any {
			t.Errorf("%+v: an Apple GPU has %s; want %s", tt, got, tt.any)
		}
	}
	for own, want := range map[string]string{
		"sequences: 4":           "tuning.devices.nvidia.sequences is no list of numbers of rows; expected one like [1, 4, 16]",
		"sequences: [2, 4]":      "tuning.devices.nvidia.sequences begins with 2; expected 1, for one token",
		"sequences: [1, 16, 16]": "tuning.devices.nvidia.sequences has 16 after 16; expected rising numbers",
		"sequences: [1, 9999]":   "tuning.devices.nvidia.sequences has \"9999\"; expected numbers from 1 to 4096",
	} {
		text := body(t) + "tuning:\n  devices: {nvidia: {" + own + "}}\n"
		if _, err := Parse("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
			t.Errorf("%s: %v; want %q", own, err, want)
		}
	}
}

// TestGeneral checks which settings class apple does not take from a tuning for any device: shapes that its
// devices cannot always launch, and shapes of heads.
func TestGeneral(t *testing.T) {
	s := parseTuned(t, "tuning: {attention: {simdgroups: 16}, attend_heads: {from: 24, tile: 16}}")
	for class, want := range map[string]Tuning{
		"":               {Attention: Attention{Simdgroups: 16}, AttendHeads: AttendHeads{From: 24, Tile: 16, SplitK: 2}},
		plan.ClassApple:  {Attention: Attention{Simdgroups: 11}, AttendHeads: AttendHeads{From: 24, Tile: 64, SplitK: 8}},
		plan.ClassNVIDIA: {Attention: Attention{Simdgroups: 16}, AttendHeads: AttendHeads{From: 24, Tile: 16, SplitK: 2}},
	} {
		got := s.WithClass(class).Tuning
		if a, h := got.Attention, got.AttendHeads; a.Simdgroups != want.Attention.Simdgroups || h.From != want.AttendHeads.From || h.Tile != want.AttendHeads.Tile || h.SplitK != want.AttendHeads.SplitK {
			t.Errorf("%q: %+v, %+v", class, a, h)
		}
	}
}
