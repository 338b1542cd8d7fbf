package spec

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const okFile = "testdata/ok.yaml"

// body is a spec without tuning, which may follow it.
func body(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(okFile)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "\ntuning:")
	return strings.TrimRight(before, "\n") + "\n"
}

var (
	head = Change{Kernel: "lm_head", Shape: Shape{RowsPerSimdgroup: 2, Simdgroups: 8, SplitK: 4}, Why: "X, 2026-01-02: 3 → 2 µs"}
	down = Change{Kernel: "down", Shape: Shape{RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 1}, Why: "X"}
	cut  = Change{Attention: Attention{Splits: 64, Tile: 32, Simdgroups: 8}, Why: "X"}
)

// TestRetune: what stands behind the body before and after.
func TestRetune(t *testing.T) {
	for _, tt := range []struct {
		name         string
		before, want string
		changes      []Change
		class        string
	}{
		{"no tuning", "", `
tuning:
  kernels:
    # lm_head tuned on X, 2026-01-02: 3 → 2 µs
    lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}
`, []Change{head}, ""},
		{"no line end", "\n# the end", `
# the end

tuning:
  kernels:
    # lm_head tuned on X, 2026-01-02: 3 → 2 µs
    lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}
`, []Change{head}, ""},
		{"empty tuning", "tuning: # later\n", `tuning: # later
  kernels:
    # lm_head tuned on X, 2026-01-02: 3 → 2 µs
    lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}
`, []Change{head}, ""},
		{"null", "tuning: null # later\n", `tuning:  # later
  kernels:
    # lm_head tuned on X, 2026-01-02: 3 → 2 µs
    lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}
`, []Change{head}, ""},
		{"another kernel", "tuning:\n  kernels:\n    v_b: {simdgroups: 8} # why\n\n# the end\n", `tuning:
  kernels:
    v_b: {simdgroups: 8} # why
    # lm_head tuned on X, 2026-01-02: 3 → 2 µs
    lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}
    # down tuned on X
    down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}

# the end
`, []Change{head, down}, ""},
		{"the kernel", "tuning:\n  kernels:\n    lm_head: {split_k: 1} # why\n    v_b: {simdgroups: 8}\n", `tuning:
  kernels:
    # lm_head tuned on X, 2026-01-02: 3 → 2 µs
    lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4} # why
    v_b: {simdgroups: 8}
`, []Change{head}, ""},
		{"again", "tuning:\n  kernels:\n    # lm_head tuned on Y, 2020-01-01: 9 → 8 µs\n    lm_head: {split_k: 1}\n", `tuning:
  kernels:
    # lm_head tuned on X, 2026-01-02: 3 → 2 µs
    lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}
`, []Change{head}, ""},
		{"how much is under way", "tuning:\n  kernels:\n    down: {unroll: 2, simdgroups: 2}\n", `tuning:
  kernels:
    # down tuned on X
    down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1, unroll: 8}
`, []Change{{Kernel: "down", Shape: Shape{RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 1, Unroll: 8}, Why: "X"}}, ""},
		{"a block", "tuning:\n    kernels:\n        lm_head:\n            split_k: 1 # why\n            simdgroups: 2\n    attention: {simdgroups: 4}\n", `tuning:
    kernels:
        # lm_head tuned on X, 2026-01-02: 3 → 2 µs
        lm_head:
            split_k: 4 # why
            simdgroups: 8
            rows_per_simdgroup: 2
    attention: {simdgroups: 4}
`, []Change{head}, ""},
		{"flow", "tuning: {kernels: {v_b: {simdgroups: 8}}}\n", `# lm_head tuned on X, 2026-01-02: 3 → 2 µs
# down tuned on X
tuning: {kernels: {down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}, lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}, v_b: {simdgroups: 8}}}
`, []Change{head, down}, ""},
		{"empty flow", "tuning: {}\n", `# lm_head tuned on X, 2026-01-02: 3 → 2 µs
tuning: {kernels: {lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}}}
`, []Change{head}, ""},
		{"flow on many lines", "tuning:\n  kernels: {\n    v_b: {simdgroups: 8}, # why {\n    lm_head: {\n      split_k: 1},\n  }\n  attention: {splits: 128}\n", `tuning:
  kernels: {
    v_b: {simdgroups: 8}, # why {
    # lm_head tuned on X, 2026-01-02: 3 → 2 µs
    lm_head: {simdgroups: 8, rows_per_simdgroup: 2, 
      split_k: 4},
  }
  # attention tuned on X
  attention: {splits: 64, tile: 32, simdgroups: 8}
`, []Change{head, cut}, ""},
		{"behind braces on many lines", "tuning:\n  attention: {simdgroups: 4, # why }\n    tile: 8}\n# the end\n", `tuning:
  attention: {simdgroups: 4, # why }
    tile: 8}
  kernels:
    # down tuned on X
    down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}
# the end
`, []Change{down}, ""},
		{"attention", "tuning:\n  attention:\n    tile: 8 # why\n", `tuning:
  # attention tuned on X
  attention:
    tile: 32 # why
    splits: 64
    simdgroups: 8
`, []Change{cut}, ""},
		{"what it says already", "tuning:\n  kernels:\n    lm_head: {rows_per_simdgroup: 2, split_k: 4, simdgroups: 8} # measured\n",
			"tuning:\n  kernels:\n    lm_head: {rows_per_simdgroup: 2, split_k: 4, simdgroups: 8} # measured\n", []Change{head}, ""},
		{"lines that end in CRLF", "tuning:\r\n  kernels:\r\n    v_b: {simdgroups: 8}\r\n",
			"tuning:\r\n  kernels:\r\n    v_b: {simdgroups: 8}\r\n    # down tuned on X\r\n    down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}\r\n", []Change{down}, ""},
		{"a device with a line end in its name", "", `
tuning:
  kernels:
    # down tuned on a b: c
    down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}
`, []Change{{Kernel: "down", Shape: down.Shape, Why: "a\nb: c"}}, ""},
		{"a first class", "tuning:\n  kernels:\n    v_b: {simdgroups: 8} # why\n\n# the end\n", `tuning:
  kernels:
    v_b: {simdgroups: 8} # why
  devices:
    nvidia:
      kernels:
        # lm_head tuned on X, 2026-01-02: 3 → 2 µs
        lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}
      # attention tuned on X
      attention: {splits: 64, tile: 32, simdgroups: 8}

# the end
`, []Change{head, cut}, "nvidia"},
		{"a class with no tuning before", "", `
tuning:
  devices:
    apple:
      # attention tuned on X
      attention: {splits: 64, tile: 32, simdgroups: 8}
`, []Change{cut}, "apple"},
		{"another class", "tuning:\n  devices:\n    nvidia: # measured\n      kernels: {lm_head: {split_k: 1}}\n  attention: {tile: 8}\n", `tuning:
  devices:
    nvidia: # measured
      kernels: {lm_head: {split_k: 1}}
    apple:
      kernels:
        # lm_head tuned on X, 2026-01-02: 3 → 2 µs
        lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}
  attention: {tile: 8}
`, []Change{head}, "apple"},
		{"the class again", "tuning:\n  kernels:\n    lm_head: {split_k: 2} # of any\n  devices:\n    nvidia:\n      kernels:\n        # lm_head tuned on Y, 2020-01-01: 9 → 8 µs\n        lm_head: {split_k: 1} # measured\n", `tuning:
  kernels:
    lm_head: {split_k: 2} # of any
  devices:
    nvidia:
      kernels:
        # lm_head tuned on X, 2026-01-02: 3 → 2 µs
        lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4} # measured
`, []Change{head}, "nvidia"},
		{"any device, beside a class", "tuning:\n  devices: {nvidia: {kernels: {down: {simdgroups: 2}}}}\n  kernels: {down: {simdgroups: 8}}\n", `tuning:
  devices: {nvidia: {kernels: {down: {simdgroups: 2}}}}
  # down tuned on X
  kernels: {down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}}
`, []Change{down}, ""},
		{"what any device has already", "tuning:\n  kernels: {down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}}\n",
			"tuning:\n  kernels: {down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}}\n", []Change{down}, "nvidia"},
		{"flow, of a class", "tuning: {devices: {nvidia: {}}}\n", `# down tuned on X
tuning: {devices: {nvidia: {kernels: {down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}}}}}
`, []Change{down}, "nvidia"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Retune([]byte(body(t)+tt.before), tt.class, tt.changes)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(got), body(t)) || string(got)[len(body(t)):] != tt.want {
				t.Errorf("%s\nwant:\n%s", got[len(body(t)):], tt.want)
			}
			again, err := Retune(got, tt.class, tt.changes)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("%v; a second time it makes\n%s", err, again)
			}
		})
	}
}

// TestRetuneRefuses: what cannot be written by an edit is named, and what is no
// tuning is an error.
func TestRetuneRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, tuning, says string
		change             Change
		class              string
	}{
		{"quotes in the last braces", "tuning:\n  attention: {\"simdgroups\": 4}\n", "write by hand: tuning.kernels.lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4}", head, ""},
		{"a tagged value", "tuning:\n  attention:\n    tile: !!int 8\n", "write by hand: tuning.attention: {splits: 64", cut, ""},
		{"an odd number of rows", "", "write by hand", Change{Kernel: "down", Shape: Shape{RowsPerSimdgroup: 3, Simdgroups: 1, SplitK: 1}}, ""},
		{"a value that a change leaves open", "tuning:\n  kernels:\n    lm_head:\n      unroll: 8\n", "other values would change", head, ""},
		{"no spec", "tuning: 3\n", "tuning is 3; expected a mapping", head, ""},
		{"a tagged value of a class", "tuning:\n  devices:\n    nvidia:\n      attention:\n        tile: !!int 8\n", "write by hand: tuning.devices.nvidia.attention: {splits: 64", cut, "nvidia"},
		{"a class that there is not", "", "write by hand: tuning.devices.riva.attention", cut, "riva"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := Retune([]byte(body(t)+tt.tuning), tt.class, []Change{tt.change})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v; expected %q\n%s", err, tt.says, out)
			}
		})
	}
}

// FuzzRetune: whatever a spec looks like, the result has the new tuning and is the
// old text with lines added or changed between its first and its last ones.
func FuzzRetune(f *testing.F) {
	for _, tuning := range []string{"", "tuning:\n", "tuning: {}\n", "tuning: ~ # x\n", "tuning:\n  kernels: {a: {split_k: 1}}\n",
		"tuning:\n  kernels:\n    lm_head:\n      simdgroups: 2\n  attention: {tile: 8}\n", "tuning:\n  attention:\n", "tuning: {kernels: {lm_head: }}\n",
		"tuning:\n  devices:\n    apple: {attention: {tile: 8}}\n  kernels: {a: {split_k: 1}}\n", "tuning:\n  devices: {nvidia: {kernels: {lm_head: {split_k: 2}}}}\n"} {
		for _, class := range []string{"", "nvidia"} {
			f.Add(tuning, class, 4, 2)
		}
	}
	text := body(f)
	f.Fuzz(func(t *testing.T, tuning, class string, simdgroups, k int) {
		before, err := Parse("x.yaml", []byte(text+tuning))
		if err != nil {
			return
		}
		changes := []Change{head, cut, {Kernel: "lm_head", Shape: Shape{RowsPerSimdgroup: 4, Simdgroups: simdgroups, SplitK: k}, Why: tuning}}
		out, err := Retune([]byte(text+tuning), class, changes)
		if err != nil {
			return
		}
		after, err := Parse("x.yaml", out)
		if err != nil {
			t.Fatal(err)
		}
		tuned := after.WithClass(class).Tuning
		s, ok := tuned.Shape("lm_head")
		if !ok || s != changes[2].Shape || tuned.Attention != cut.Attention || len(tuned.Kernels) < len(before.WithClass(class).Tuning.Kernels) {
			t.Fatalf("%+v\n%s", tuned, out)
		}
		if class != "" && !reflect.DeepEqual(before.tunings.general.withoutPositions(), after.tunings.general.withoutPositions()) {
			t.Fatalf("other devices' tuning was %+v, is %+v\n%s", before.tunings.general, after.tunings.general, out)
		}
		var rest []string // lines without numbers may not change
		for _, line := range strings.Split(string(out), "\n") {
			rest = append(rest, strings.TrimSpace(line))
		}
		for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if !slices.Contains(rest, strings.TrimSpace(line)) {
				t.Fatalf("the line %q is gone:\n%s", line, out)
			}
		}
	})
}

// TestWithTuning: another tuning keeps the rules of the file format.
func TestWithTuning(t *testing.T) {
	s, err := Parse("x.yaml", []byte(body(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		says   string
		change func(t *Tuning)
	}{
		{"", func(t *Tuning) { t.SetShape("down", Shape{RowsPerSimdgroup: 2, Simdgroups: 4, SplitK: 2, Unroll: 0}) }},
		{"tuning.kernels.down.rows_per_simdgroup is 3", func(t *Tuning) { t.SetShape("down", Shape{RowsPerSimdgroup: 3, Simdgroups: 4, SplitK: 2, Unroll: 0}) }},
		{"tuning.kernels.down.simdgroups is 33", func(t *Tuning) { t.SetShape("down", Shape{RowsPerSimdgroup: 2, Simdgroups: 33, SplitK: 1, Unroll: 0}) }},
		{"split_k is 3; expected a divisor of simdgroups, 4", func(t *Tuning) { t.SetShape("down", Shape{RowsPerSimdgroup: 2, Simdgroups: 4, SplitK: 3, Unroll: 0}) }},
		{"tuning.kernels.down.unroll is 17", func(t *Tuning) { t.SetShape("down", Shape{RowsPerSimdgroup: 2, Simdgroups: 4, SplitK: 2, Unroll: 17}) }},
		{"tuning.attention.splits is 0", func(t *Tuning) { t.Attention.Splits = 0 }},
		{"tuning.attention.tile is 1025", func(t *Tuning) { t.Attention.Tile = 1025 }},
		{"fewer tuning.attention.splits fit", func(t *Tuning) { t.MatVec.SplitK = 0; t.Attention.Splits = 1024 }},
	} {
		with := *s
		if tt.says == "fewer tuning.attention.splits fit" {
			with.Model.KVLoraRank = 8160 // so that the combine has no room for the splits
		}
		tuning := s.Tuning
		tt.change(&tuning)
		got, err := with.WithTuning(tuning)
		if tt.says == "" && (err != nil || len(got.Tuning.Kernels) != 1 || len(s.Tuning.Kernels) != 0) ||
			tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%v; expected %q", err, tt.says)
		}
	}
}
