package cpu

import (
	"fmt"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Memory is what a sequence runs on in place of a runner's own memory; see
// runner. Arena and caches begin at multiples of 8.
type Memory struct {
	Arena        []byte
	Caches       [][]byte
	Tables       *device.Tables // in which the row's pages are assigned
	Rope, Logits []float32
}

// Launch records a model and runs its sequence once on mem, on one thread. It
// serves checks of single kernels: their bundles have one dispatch.
func Launch(m *device.Model, cfg device.Config, mem *Memory, rows []plan.Row) error {
	r, err := allocate(m, cfg)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	if len(mem.Arena) != len(r.arena) || len(mem.Caches) != len(r.caches) || len(mem.Rope) != len(r.rope) || len(mem.Logits) != len(r.logits) {
		return fmt.Errorf("bundle %s: memory of an arena of %d bytes, %d caches, %d angles and %d logits; expected %d, %d, %d and %d", m.Bundle.Name,
			len(mem.Arena), len(mem.Caches), len(mem.Rope), len(mem.Logits), len(r.arena), len(r.caches), len(r.rope), len(r.logits))
	}
	r.arena, r.caches, r.tables, r.rope, r.logits = mem.Arena, mem.Caches, mem.Tables, mem.Rope, mem.Logits
	sequences, err := r.record(m, cfg, 1)
	if err != nil {
		return err
	}
	r.pool = newPool(sequences, []*worker{newWorker(r.need)})
	_, err = r.Replay(rows, true)
	return err
}
