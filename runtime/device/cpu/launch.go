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
	Caches       [][]byte
	Tables       *device.Tables // in which the row's pages are assigned
	Rope, Logits []float32
}

// Launch records a model and runs its sequence once on mem, on one thread. It
// serves checks of single kernels: their bundles have one dispatch. For those of the head the
// rows are what SpaceWanted holds.
func Launch(m *device.Model, cfg device.Config, mem *Memory, rows []plan.Row) error {
	r, err := allocate(m, cfg)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	if len(mem.Arena) != len(r.arena) || len(mem.Heads) != len(r.heads) || len(mem.Caches) != len(r.caches) || len(mem.Rope) != len(r.rope) || len(mem.Logits) != len(r.logits) {
		return fmt.Errorf("bundle %s: memory of an arena of %d bytes, heads of %d, %d caches, %d angles and %d logits; expected %d, %d, %d, %d and %d", m.Bundle.Name,
			len(mem.Arena), len(mem.Heads), len(mem.Caches), len(mem.Rope), len(mem.Logits), len(r.arena), len(r.heads), len(r.caches), len(r.rope), len(r.logits))
	}
	r.arena, r.heads, r.caches, r.tables, r.rope, r.logits = mem.Arena, mem.Heads, mem.Caches, mem.Tables, mem.Rope, mem.Logits
	sequences, err := r.record(m, cfg, 1)
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
