package pass

import (
	"testing"

	"mla/gen/ir"
	"mla/gen/spec"
)

// hazards is a program of launches that each read some values and write one.
type hazards struct {
	p ir.Program
}

// value is an activation in bytes [offset, offset+4n) of the arena.
func (h *hazards) value(offset int64, n int) *ir.Value {
	v := h.p.NewValue("v", 0, n)
	v.Offset = offset
	return v
}

func (h *hazards) launch(out *ir.Value, in ...*ir.Value) {
	op := &ir.Op{Kind: ir.Add, Out: []*ir.Value{out}}
	for _, v := range in {
		op.In = append(op.In, ir.All(v))
	}
	h.p.Append(0, op)
}

// TestBarrierRules checks each kind of hazard apart from the others: compiled
// models are chains in which nearly every launch waits anyway.
func TestBarrierRules(t *testing.T) {
	for _, tt := range []struct {
		name  string
		build func(h *hazards)
		want  string // one letter per launch: | waits, . does not
	}{
		{"independent", func(h *hazards) {
			a, b := h.value(0, 64), h.value(256, 64)
			h.launch(a)
			h.launch(b)
			h.launch(h.value(512, 64), a, b)
		}, "..|"},
		{"read after write", func(h *hazards) {
			a := h.value(0, 64)
			h.launch(a)
			h.launch(h.value(256, 64), a)
			h.launch(h.value(512, 64), a) // the barrier before it is enough
		}, ".|."},
		{"write after read", func(h *hazards) {
			a, b := h.value(0, 64), h.value(256, 64)
			h.launch(a)
			h.launch(b, a)
			c := h.value(0, 64) // takes the bytes of a
			h.launch(c)
			h.launch(h.value(512, 64), b, c)
		}, ".|||"},
		{"write after write", func(h *hazards) {
			a, b := h.value(0, 65), h.value(256, 64) // b takes the last bytes of a
			h.launch(a)
			h.launch(b)
			h.launch(h.value(1024, 64), a, b)
		}, ".||"},
		{"neighbours", func(h *hazards) {
			a, b := h.value(256, 64), h.value(512, 64)
			h.launch(a)
			h.launch(b) // begins where a ends
			h.launch(h.value(0, 64))
			h.launch(h.value(1024, 64), a, b)
		}, "...|"},
		{"caches", func(h *hazards) {
			cache, other := h.value(0, 64), h.value(0, 64)
			cache.Class, other.Class = ir.Cache, ir.Cache
			a, b := h.value(256, 64), h.value(512, 64)
			h.launch(cache)
			h.launch(other)
			h.launch(a, cache)
			h.launch(b, other)
			h.launch(h.value(0, 64), a, b) // bytes of the arena, not of a cache
		}, "..|.|"},
		{"local values", func(h *hazards) {
			a, b := h.value(0, 64), h.value(256, 64)
			h.launch(a)
			h.launch(b)
			unplaced := h.value(0, 64) // stays in its part: its offset means nothing
			part := h.p.Launches[1].Parts[0]
			part.Ops[0].Out = []*ir.Value{unplaced}
			part.Ops = append(part.Ops, &ir.Op{Kind: ir.Add, In: []ir.Ref{ir.All(unplaced)}, Out: []*ir.Value{b}})
			h.launch(h.value(512, 64), a, b)
		}, "..|"},
	} {
		h := &hazards{ir.Program{Spec: &spec.Spec{Activations: "f32"}}}
		tt.build(h)
		if err := barriers(&h.p); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range h.p.Launches {
			if s.Barrier {
				got += "|"
			} else {
				got += "."
			}
		}
		if got != tt.want {
			t.Errorf("%s: barriers %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestFirstFit places a value among others that live at the same time.
func TestFirstFit(t *testing.T) {
	at := func(offset, size int64, first, last int) *life {
		return &life{v: &ir.Value{Offset: offset}, first: first, last: last, size: size}
	}
	placed := []*life{at(0, 512, 0, 5), at(512, 256, 3, 9), at(1024, 256, 4, 6), at(256, 768, 7, 8)}
	for _, tt := range []struct {
		name        string
		size        int64
		first, last int
		want        int64
	}{
		{"all dead", 256, 10, 11, 0},
		{"after one", 256, 0, 2, 512},
		{"in a gap", 256, 4, 4, 768},
		{"gap too small", 512, 4, 4, 1280},
		{"alive in its last launch", 256, 9, 9, 0},
		{"under two that overlap", 256, 5, 8, 1280},
		{"after a larger one below", 512, 7, 8, 1024},
	} {
		if got := firstFit(placed, at(0, tt.size, tt.first, tt.last)); got != tt.want {
			t.Errorf("%s: at %d, want %d", tt.name, got, tt.want)
		}
	}
}
