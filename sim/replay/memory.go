package replay

import (
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/plan"
)

// Memory returns the memory that the dispatches of a replay read and write, besides weights.
func (r *Runner) Memory() *cpu.Memory {
	m := &cpu.Memory{Arena: r.bytesOf(plan.SpaceArena), Tables: r.tables, Rope: floats(r.bytesOf(plan.SpaceRope)), Logits: floats(r.bytesOf(plan.SpaceLogits))}
	m.States = r.bytesOf(plan.SpaceState)
	for _, c := range r.Caches {
		m.Caches = append(m.Caches, c.Bytes)
	}
	return m
}

// Counters returns the ticket counters of persistent threadgroups, or nil if the plan has none.
func (r *Runner) Counters() []byte { return r.bytesOf(plan.SpaceCounters) }

// Dispatches implements device.Runner.
func (r *Runner) Dispatches() int { return len(r.sequences[0].launches) }

// Bytes implements device.Runner.
func (r *Runner) Bytes() int64 { return r.bytes }

// Diagnostics implements device.Runner.
func (r *Runner) Diagnostics() device.Diagnostics { return device.Diagnostics{} }

// Close implements device.Runner. The memory is freed with the device.
func (r *Runner) Close() error { return nil }
