package replay

import "mla/runtime/device/cpu"

// Memory is what the dispatches of a replay read and write, besides weights.
func (r *Runner) Memory() *cpu.Memory {
	m := &cpu.Memory{Arena: r.arena.Bytes, Tables: r.tables, Rope: floats(r.rope.Bytes), Logits: floats(r.logits.Bytes)}
	for _, c := range r.caches {
		m.Caches = append(m.Caches, c.Bytes)
	}
	return m
}

// Counters are the tickets of persistent threadgroups, nil if there are none.
func (r *Runner) Counters() []byte {
	if r.counters == nil {
		return nil
	}
	return r.counters.Bytes
}

// Dispatches implements device.Runner.
func (r *Runner) Dispatches() int { return len(r.sequences[0].launches) }

// Bytes implements device.Runner.
func (r *Runner) Bytes() int64 { return r.bytes }

// Close implements device.Runner. Memory is freed with the device.
func (r *Runner) Close() error { return nil }
