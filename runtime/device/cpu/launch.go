package cpu

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Memory is the buffers that a sequence runs on in place of a runner's own. Arena and caches begin at
// multiples of 8 bytes.
type Memory struct {
	Arena, Heads []byte
	States       []byte
	Caches       [][]byte
	Tables       *device.Tables // block tables with the row's pages
	Rope, Logits []float32
}

// Launch records a model and runs its sequence once on mem, on one thread. Checks of single kernels use it:
// their bundles have one dispatch. For a dispatch of the head, the rows are those of SpaceWanted.
func Launch(m *device.Model, cfg device.Config, mem *Memory, rows []plan.Row) error {
	r, l, err := allocate(m, cfg)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	if len(mem.Caches) != len(r.Caches) {
		return fmt.Errorf("bundle %s: %d caches; expected %d", m.Bundle.Name, len(mem.Caches), len(r.Caches))
	}
	given := [plan.Spaces][]byte{plan.SpaceArena: mem.Arena, plan.SpaceHeads: mem.Heads, plan.SpaceState: mem.States, plan.SpaceRope: bytesOf(mem.Rope), plan.SpaceLogits: bytesOf(mem.Logits)}
	for _, s := range spaces {
		if len(given[s]) != len(r.Spaces[s]) {
			return fmt.Errorf("bundle %s: %d bytes for the %s; expected %d", m.Bundle.Name, len(given[s]), s, len(r.Spaces[s]))
		}
	}
	r.Spaces, r.Caches, r.tables = given, mem.Caches, mem.Tables
	sequences, err := r.record(m, l, cfg, 1)
	if err != nil {
		return err
	}
	r.pool = newPool(sequences, []*worker{newWorker(r.need)})
	if err := errors.Join(device.CheckRows(rows, r.width, m.Bundle.Model.VocabSize, r.context), r.tables.Check(rows...)); err != nil {
		return err
	}
	i := slices.IndexFunc(sequences, func(q sequence) bool { return q.width >= len(rows) })
	r.pool.run(i, rows, rows, len(sequences[i].phases))
	return r.failure()
}
