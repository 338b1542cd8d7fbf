package spec

import (
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
	onX  = Found{Device: "X", Date: "2026-01-02", Gain: 33.3}
	head = Change{Kernel: "lm_head", Shape: Shape{RowsPerSimdgroup: 2, Simdgroups: 8, SplitK: 4}, Found: onX}
	down = Change{Kernel: "down", Shape: Shape{RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 1}, Found: Found{Device: "X"}}
	cut  = Change{Attention: Attention{Splits: 64, Tile: 32, Simdgroups: 8}, Found: Found{Device: "X"}}
)

const (
	headText = "lm_head: {rows_per_simdgroup: 2, simdgroups: 8, split_k: 4, device: X, date: 2026-01-02, gain: 33.3}"
	downText = "down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1, device: X}"
	cutText  = "{splits: 64, tile: 32, simdgroups: 8, device: X}"
	schema   = "# yaml-language-server: $schema=../mla.tuning.schema.json\n\n"
)

// tuned is the spec body with tuning files, by their names; empty ones are left out.
func tuned(t testing.TB, files ...Text) (*Spec, error) {
	t.Helper()
	files = slices.DeleteFunc(files, func(f Text) bool { return len(f.Data) == 0 })
	return Parse("x.yaml", []byte(body(t)), files...)
}

// TestRetune: a tuning file before and after.
func TestRetune(t *testing.T) {
	for _, tt := range []struct {
		name         string
		before, want string
		changes      []Change
		class        string
	}{
		{"no file", "", schema + "kernels:\n  " + headText + "\n", []Change{head}, ""},
		{"no file, attention", "", schema + "attention:\n  splits: 64\n  tile: 32\n  simdgroups: 8\n  device: X\n", []Change{cut}, "apple"},
		{"another kernel", "kernels:\n  v_b: {simdgroups: 8} # why\n\n# the end\n", "kernels:\n  v_b: {simdgroups: 8} # why\n  " + headText + "\n  " + downText + "\n\n# the end\n", []Change{head, down}, "nvidia"},
		{"the kernel", "kernels:\n  lm_head: {split_k: 1, device: Y} # why\n  v_b: {simdgroups: 8}\n", "kernels:\n  " + headText + " # why\n  v_b: {simdgroups: 8}\n", []Change{head}, "nvidia"},
		{"how much is under way", "kernels:\n  down: {unroll: 2, simdgroups: 2}\n", "kernels:\n  down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1, unroll: 8, device: X}\n",
			[]Change{{Kernel: "down", Shape: Shape{RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 1, Unroll: 8}, Found: Found{Device: "X"}}}, ""},
		{"a block", "kernels:\n    down:\n        split_k: 4 # why\n        simdgroups: 8\nattention: {simdgroups: 4}\n",
			"kernels:\n    down:\n        split_k: 1 # why\n        simdgroups: 4\n        rows_per_simdgroup: 4\n        device: X\nattention: {simdgroups: 4}\n", []Change{down}, ""},
		{"flow", "{kernels: {v_b: {simdgroups: 8}}}\n", "{kernels: {" + headText + ", v_b: {simdgroups: 8}}}\n", []Change{head}, ""},
		{"attention", "kernels: {v_b: {simdgroups: 8}}\n", "kernels: {v_b: {simdgroups: 8}}\n\nattention: " + cutText + "\n", []Change{cut}, "nvidia"},
		{"attention again", "# top\nattention: {tile: 8} # why\n", "# top\nattention: " + cutText + " # why\n", []Change{cut}, ""},
		{"lines that end in CRLF", "kernels:\r\n  v_b: {simdgroups: 8}\r\n", "kernels:\r\n  v_b: {simdgroups: 8}\r\n  " + downText + "\r\n", []Change{down}, ""},
		{"a device with a line end and quotes in its name", "", schema + `kernels:
  down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1, device: a b c}
`, []Change{{Kernel: "down", Shape: down.Shape, Found: Found{Device: "a\nb: \"c\\"}}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := TuningFile("x.yaml", tt.class)
			s, err := tuned(t, Text{path, []byte(tt.before)})
			if err != nil {
				t.Fatal(err)
			}
			got, after, err := Retune(s, path, tt.changes)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("%s\nwant:\n%s", got, tt.want)
			}
			if again, _, err := Retune(after, path, tt.changes); err != nil || again != nil {
				t.Errorf("%v; a second time it makes\n%s", err, again)
			}
			whole, err := Parse("x.yaml", after.Text)
			if err != nil || whole.Hash != after.Hash || !reflect.DeepEqual(whole.tunings.withoutPositions(), after.tunings.withoutPositions()) {
				t.Errorf("in one file it is another spec (%v):\n%s", err, after.Text)
			}
		})
	}
}

// TestRetuneClass checks that settings which the tuning for any device already has are not written for a
// class, and that the other classes in the file are kept.
func TestRetuneClass(t *testing.T) {
	s, err := tuned(t, Text{"tuning/x.yaml", []byte("kernels: {down: {rows_per_simdgroup: 4, simdgroups: 4, split_k: 1}}\n")}, Text{"tuning/x.apple.yaml", []byte("kernels: {lm_head: {simdgroups: 2}}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if text, _, err := Retune(s, "tuning/x.nvidia.yaml", []Change{down}); err != nil || text != nil {
		t.Errorf("%v: %s", err, text)
	}
	_, after, err := Retune(s.WithClass("nvidia"), "tuning/x.nvidia.yaml", []Change{head})
	if err != nil {
		t.Fatal(err)
	}
	for class, want := range map[string]Shape{"": {}, "nvidia": head.Shape, "apple": {Simdgroups: 2}} {
		tuning := after.WithClass(class).Tuning
		if got := tuning.ShapeOf("lm_head", 1); got != want {
			t.Errorf("%q: %+v; want %+v", class, got, want)
		}
	}
}

// TestRetuneRefuses checks that changes which cannot be written as an edit are named, and that a file that is
// no tuning is an error.
func TestRetuneRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, tuning, says string
		change             Change
	}{
		{"a tagged value", "attention:\n  tile: !!int 8\n", "write by hand: attention: {splits: 64", cut},
		{"an odd number of rows", "", "write by hand", Change{Kernel: "down", Shape: Shape{RowsPerSimdgroup: 3, Simdgroups: 1, SplitK: 1}}},
		{"a value that a change leaves open", "kernels:\n  lm_head:\n    unroll: 8\n", "other values would change", head},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := tuned(t, Text{"tuning/x.yaml", []byte(tt.tuning)})
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := Retune(s, "tuning/x.yaml", []Change{tt.change})
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v; expected %q\n%s", err, tt.says, out)
			}
		})
	}
}

// FuzzRetune checks for any tuning file that the result has the new tuning, that the rest of the spec is
// unchanged, and that other classes keep their settings.
func FuzzRetune(f *testing.F) {
	for _, tuning := range []string{"", "{}\n", "kernels: {a: {split_k: 1}}\n", "kernels:\n  lm_head:\n    simdgroups: 2\nattention: {tile: 8}\n", "attention:\n",
		"kernels: {lm_head: }\n", "device: \"x: y\"\ndate: 2026-01-02\nwhy: >-\n  long\n  text\nsequences: [1, 2]\n"} {
		for _, class := range []string{"", "nvidia", "riva"} {
			f.Add(tuning, class, 4, 2)
		}
	}
	f.Add("attention: {tile: 8}", "a/b", 4, 2) // a file of no class
	text := []byte(body(f))
	f.Fuzz(func(t *testing.T, tuning, class string, simdgroups, k int) {
		path := "tuning/x." + class + ".yaml"
		if class == "" {
			path = "tuning/x.yaml"
		}
		before, err := Parse("x.yaml", text, Text{path, []byte(tuning)})
		if err != nil {
			return
		}
		changes := []Change{head, cut, {Kernel: "lm_head", Shape: Shape{RowsPerSimdgroup: 4, Simdgroups: simdgroups, SplitK: k}, Found: Found{Device: tuning, Gain: float64(k)}}}
		_, after, err := Retune(before, path, changes)
		if err != nil {
			return
		}
		of := after.WithClass(TuningClass("x.yaml", path)).Tuning
		if s, ok := of.Shape("lm_head"); !ok || s != changes[2].Shape || of.Attention != cut.Attention {
			t.Fatalf("%+v\n%s", of, after.Text)
		}
		if TuningClass("x.yaml", path) != "" && !reflect.DeepEqual(before.tunings.general.withoutPositions(), after.tunings.general.withoutPositions()) {
			t.Fatalf("other devices' tuning was %+v, is %+v", before.tunings.general, after.tunings.general)
		}
		whole, err := Parse("x.yaml", after.Text)
		if err != nil || whole.Hash != after.Hash || !reflect.DeepEqual(whole.tunings.withoutPositions(), after.tunings.withoutPositions()) {
			t.Fatalf("in one file it is another spec (%v):\n%s", err, after.Text)
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
