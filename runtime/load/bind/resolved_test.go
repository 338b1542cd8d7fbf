package bind

import (
	"testing"

	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestReadOnce: however many bundles there are, and whatever is asked, a file's header is read
// once, and its weights are looked for once for all bundles with the same table of weights.
func TestReadOnce(t *testing.T) {
	reads := 0
	readHParams = func(f *gguf.File) (gguf.HParams, error) { reads++; return gguf.ReadHParams(f) }
	defer func() { readHParams = gguf.ReadHParams }()
	var list []*plan.Bundle
	right := profiled("a", quant.F32)
	for _, name := range []string{"c", "d", "e"} { // they share the table with a
		b := *right
		b.Name, b.Activations = name, plan.ElemF16
		list = append(list, &b)
	}
	for range 30 {
		list = append(list, other("other"))
	}
	r := Resolve(newFile().open(t))
	for range 2 {
		b, err := r.Choose(append(list, right), Wish{})
		if err != nil || b != right {
			t.Fatal(b, err)
		}
		if _, err := r.Bind(b); err != nil {
			t.Error(err)
		}
		if r.Profile(b) == "" || r.CopyBytes(b) != 0 || r.Runnable() != nil {
			t.Error("the bundle fits, but not as it should")
		}
	}
	if reads != 1 || len(r.tables) != 1 || len(r.fits) != 4 {
		t.Errorf("the header was read %d times, %d tables of weights were looked for, %d bundles were compared as a whole", reads, len(r.tables), len(r.fits))
	}
}

// TestPlace takes names apart, and only those that a weight can have.
func TestPlace(t *testing.T) {
	for name, want := range map[string]place{
		"output.weight":       {"output.weight", -1},
		"blk.7.attn_q.weight": {"blk.%d.attn_q.weight", 7},
		"blk.0.x":             {"blk.%d.x", 0},
		"blk.07.x":            {"blk.07.x", -1},
		"blk.+7.x":            {"blk.+7.x", -1},
		"blk.-7.x":            {"blk.%d.x", -7},
		"blk.%d.x":            {"blk.%d.x", -1},
		"blk.7":               {"blk.7", -1},
		"blk.":                {"blk.", -1},
		"":                    {"", -1},
	} {
		if got := placeOf(name); got != want {
			t.Errorf("%q: %+v; want %+v", name, got, want)
		}
	}
}
