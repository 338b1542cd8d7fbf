package cpu

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Memory is what a sequence runs on in place of a runner's own memory; see
// runner. Arena and caches begin at multiples of 8.
type Memory struct {
	Arena, Heads []byte
	States       []byte
	Caches       [][]byte
	Tables       *device.Tables // in which the row's pages are assigned
	Rope, Logits []float32
}

// Launch records a model and runs its sequence once on mem, on one thread. It
// serves checks of single kernels: their bundles have one dispatch. For those of the head the
// rows are what SpaceWanted holds.
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
