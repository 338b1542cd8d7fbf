package metal

import (
	"mla/runtime/device/metal/mtl"
)

// ring is the number of tokens that can be in flight. The memory that a token reads must not change before it
// is done, and an ICB has fixed bindings. So each slot has a buffer of rows and an ICB of its own. Recording
// one takes about a millisecond.
const ring = 3

// sliceSlot is the slot of the rows of slices, which are always encoded directly.
const sliceSlot = ring

// run is a range of a sequence's commands: from up to, but not including, to.
type run struct{ from, to int }

// replayer puts runs of commands into a command buffer, for the rows in a slot of the ring.
type replayer interface {
	encode(e mtl.Encoder, slot int, runs []run)
	release()
}

// size is a grid, or threadgroup, of one dimension.
func size(n int) mtl.GridSize { return mtl.GridSize{Width: uint64(n), Height: 1, Depth: 1} }

// direct encodes every dispatch for every token.
type direct struct {
	*sequence
	memory    *memory
	pipelines []mtl.Pipeline
}

func (d *direct) encode(e mtl.Encoder, slot int, runs []run) {
	for n, r := range runs {
		for i := r.from; i < r.to; i++ {
			c := &d.commands[i]
			if c.Dispatch.Barrier || n > 0 && i == r.from {
				e.Barrier()
			}
			e.SetPipeline(d.pipelines[c.function])
			for at := range c.Bindings {
				buffer, offset := d.memory.at(&c.Bindings[at], slot)
				e.SetBuffer(buffer, offset, at)
			}
			e.Dispatch(size(c.Groups), size(c.Kernel.Threads))
		}
	}
}

func (d *direct) release() {}

// recorded executes ICBs, one for each slot.
type recorded struct {
	icbs [ring]mtl.Indirect
	// Without residency sets, all buffers are declared for every token. With sets, only mutable buffers are
	// declared, which keeps command buffers in flight in order.
	resident          bool
	constant, mutable []mtl.Buffer
	rows              []mtl.Buffer
	// warm has pipelines to which only ICBs refer. On GPUs before Apple9 they may not be resident, so each
	// replay sets each of them once, with an empty dispatch.
	warm []mtl.Pipeline
}

// record writes the sequence into one ICB per slot.
func record(gpu mtl.Device, s *sequence, m *memory, pipelines []mtl.Pipeline) (*recorded, error) {
	r := &recorded{constant: m.constant(), mutable: m.mutable(), rows: m.rows[:]}
	for slot := range r.icbs {
		icb, err := gpu.NewIndirect(len(s.commands), s.bindings)
		if err != nil {
			return r, err
		}
		r.icbs[slot] = icb
		for i := range s.commands {
			c := &s.commands[i]
			to := icb.At(i)
			to.SetPipeline(pipelines[c.function])
			for at := range c.Bindings {
				buffer, offset := m.at(&c.Bindings[at], slot)
				to.SetBuffer(buffer, offset, at)
			}
			if c.Dispatch.Barrier {
				to.Barrier()
			}
			to.Dispatch(size(c.Groups), size(c.Kernel.Threads))
		}
	}
	return r, nil
}

func (r *recorded) encode(e mtl.Encoder, slot int, runs []run) {
	if !r.resident {
		e.Use(r.constant, mtl.UsageRead)
	}
	e.Use(r.mutable, mtl.UsageReadWrite)
	e.Use(r.rows[slot:slot+1], mtl.UsageReadWrite)
	for _, p := range r.warm {
		e.SetPipeline(p)
		e.Dispatch(mtl.GridSize{}, mtl.GridSize{})
	}
	for n, run := range runs {
		if n > 0 {
			e.Barrier()
		}
		e.Execute(r.icbs[slot], run.from, run.to-run.from)
	}
}

func (r *recorded) release() {
	for i := range r.icbs {
		r.icbs[i].Release()
	}
}
