package engine

import (
	"cmp"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// Memory is the memory that a model takes, in bytes.
type Memory struct {
	File    int64 // mapped weights: every token reads them, so they must stay resident
	Copies  int64 // weights that had to be converted
	Pages   int64 // of the latent caches, for all sessions together
	States  int64 // of linear attention, one for each session
	Saved   int64 // saved copies of states, at most; in the host's memory
	Buffers int64 // activations, expanded heads, rotary table, block tables, logits
	Tokens  int   // that fit the pages; a prefix that sessions share counts once
	// OnDevice says that all of it except Saved is in a device's own memory. The host then holds only Copies;
	// the file is read once, and its pages can be dropped.
	OnDevice bool
}

// Total is the sum of all parts.
func (m Memory) Total() int64 { return m.File + m.Copies + m.Pages + m.States + m.Saved + m.Buffers }

// String lists the parts with their units.
func (m Memory) String() string {
	s := "weights " + Size(m.File)
	if m.Copies > 0 {
		s += " + converted " + Size(m.Copies)
	}
	s = fmt.Sprintf("%s + pages %s (%d tokens)", s, Size(m.Pages), m.Tokens)
	if m.States > 0 {
		s += fmt.Sprintf(" + states %s + up to %s of saved states", Size(m.States), Size(m.Saved))
	}
	s = fmt.Sprintf("%s + buffers %s = %s", s, Size(m.Buffers), Size(m.Total()))
	if m.OnDevice {
		s += " on the device"
	}
	return s
}

// Estimate is the memory that a model with this configuration will take. Nothing is allocated. It fails for a
// configuration that Load refuses.
func (e *Engine) Estimate(cfg device.Config) (Memory, error) {
	if err := e.allows(cfg); err != nil {
		return Memory{}, err
	}
	m := Memory{Tokens: cmp.Or(cfg.Pages, plan.Pages(cfg.Context)) * plan.PageRows}
	parts := []layer{{e.resolved, e.bundle}}
	if e.layer != nil {
		parts = append(parts, *e.layer)
	}
	for i, p := range parts {
		l, err := p.Unbound(p.bundle).Measure(cfg)
		if err != nil {
			return Memory{}, err
		}
		m.Pages += l.CacheBytes()
		m.States += l.States
		m.Saved += StateBudget(cfg, l.StateBytes())
		m.Buffers += e.device.Takes(l) - l.CacheBytes() - l.States
		m.Copies += p.CopyBytes(p.bundle)
		if i > 0 && p.File == e.resolved.File {
			continue
		}
		for i := range p.File.Shards {
			m.File += int64(len(p.File.Shards[i].Data))
		}
	}
	if d, ok := e.device.(device.Separate); ok {
		m.OnDevice = d.OwnMemory()
	}
	return m, nil
}

// MemoryError says that a model does not fit the host's memory.
type MemoryError struct {
	Need      Memory
	Available int64
}

func (e *MemoryError) Error() string {
	need := e.Need.String()
	if e.Need.OnDevice {
		need = "converted weights " + Size(e.Need.Copies)
	}
	return fmt.Sprintf("not enough memory: %s, but %s are available", need, Size(e.Available))
}

// host is the part that the host's memory must hold.
func (m Memory) host() int64 {
	if m.OnDevice {
		return m.Copies + m.Saved
	}
	return m.Total()
}

// Check returns a *MemoryError if m takes more of the host's memory than is available without swapping. It
// passes if the system does not tell. A device checks its own memory when the model is loaded.
func (m Memory) Check() error { return m.within(Available()) }

func (m Memory) within(available int64) error {
	if available > 0 && m.host() > available {
		return &MemoryError{Need: m, Available: available}
	}
	return nil
}

// Size formats a number of bytes with a binary unit.
func Size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n), 0
	for x >= 1024 && unit < len(units)-1 {
		x /= 1024
		unit++
	}
	if x < 10 {
		return fmt.Sprintf("%.2f %s", x, units[unit])
	}
	return fmt.Sprintf("%.1f %s", x, units[unit])
}

var units = []string{"B", "KiB", "MiB", "GiB", "TiB"}
