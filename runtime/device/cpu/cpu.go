// Package cpu replays plans on the processor's cores. Every part of a kernel
// has a Go twin in the file of that part's name (matvec.go, attend.go, …), which
// computes what the Metal template of the same name does: floats within a
// kernel, rounded where the kernel stores halves.
//
// Recording resolves each operand of each dispatch to a view of memory, checks
// all sizes, and cuts the parts into chunks. Replaying deals the chunks to the
// workers, phase by phase (see pool), and neither allocates nor decides
// anything. Results do not depend on the number of workers.
package cpu

import (
	"errors"
	"fmt"
	"runtime"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// New returns the CPU device.
func New() device.Device { return cpu{} }

type cpu struct{}

// Name implements device.Device.
func (cpu) Name() string { return "cpu" }

// Class implements device.Device. No loop depends on how kernels are shaped.
func (cpu) Class() string { return "" }

// Record implements device.Device. The runner is for one goroutine at a time.
func (cpu) Record(m *device.Model, cfg device.Config) (device.Runner, error) {
	r, err := allocate(m, cfg)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	workers := cfg.Threads
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	phases, err := r.record(m, workers)
	if err != nil {
		return nil, err
	}
	states := make([]*worker, workers)
	for i := range states {
		states[i] = newWorker(r.need)
	}
	r.bytes += int64(workers) * r.need.bytes()
	r.pool = newPool(phases, states)
	return r, nil
}

// The limits on what a bundle may ask for; an arena holds a few vectors.
const (
	maxArena   = 1 << 32
	maxContext = 1 << 24
	maxThreads = 1 << 10
)

// allocate checks the configuration and makes a runner's memory. Caches are
// zeroed by the system when they are first touched.
func allocate(m *device.Model, cfg device.Config) (*runner, error) {
	model := &m.Bundle.Model
	elem := int64(2)
	if cfg.KV == quant.F32 {
		elem = 4
	}
	switch {
	case cfg.KV != quant.F16 && cfg.KV != quant.F32:
		return nil, fmt.Errorf("KV cache of %s; the CPU device has f16 and f32", cfg.KV)
	case cfg.Context < 1 || cfg.Context > maxContext:
		return nil, fmt.Errorf("a context of %d tokens; expected 1 to %d", cfg.Context, maxContext)
	case cfg.Threads < 0 || cfg.Threads > maxThreads:
		return nil, fmt.Errorf("%d threads; expected 1 to %d, or 0 for one per core", cfg.Threads, maxThreads)
	case m.Bundle.ArenaBytes < 0 || m.Bundle.ArenaBytes > maxArena:
		return nil, fmt.Errorf("an arena of %d bytes; expected at most %d", m.Bundle.ArenaBytes, int64(maxArena))
	case 2*len(m.Bundle.RopeFreqs) != model.QKRopeHeadDim:
		return nil, fmt.Errorf("%d rotary frequencies for %d dimensions", len(m.Bundle.RopeFreqs), model.QKRopeHeadDim)
	}
	for _, n := range []int{model.VocabSize, model.NumHiddenLayers, model.KVLoraRank, model.QKRopeHeadDim} {
		if n < 1 || n > 1<<24 {
			return nil, fmt.Errorf("dimension %d in the model", n)
		}
	}
	r := &runner{
		bundle:  m.Bundle,
		kv:      cfg.KV,
		context: cfg.Context,
		arena:   alignedBytes(m.Bundle.ArenaBytes),
		rope:    make([]float32, 2*len(m.Bundle.RopeFreqs)*cfg.Context),
		logits:  make([]float32, model.VocabSize),
	}
	device.RopeTable(r.rope, m.Bundle.RopeFreqs, m.Bundle.RopeMScale)
	cache := product(int64(cfg.Context), int64(model.CacheDim()), elem)
	for range model.NumHiddenLayers {
		r.caches = append(r.caches, alignedBytes(cache))
	}
	r.bytes = int64(len(r.arena)) + 4*int64(len(r.rope)+len(r.logits)) + product(cache, int64(len(r.caches)))
	return r, nil
}

// runner implements device.Runner.
type runner struct {
	bundle  *plan.Bundle
	kv      quant.Type
	context int

	arena  []byte
	caches [][]byte  // one per layer, [context][CacheDim] of kv
	rope   []float32 // see device.RopeTable
	logits []float32
	bytes  int64

	need     needs // gathered while binding
	prepared int

	pool *pool
	head int // the phase at which Bundle.Head begins
}

// Replay implements device.Runner.
func (r *runner) Replay(s plan.Step, logits bool) ([]float32, error) {
	if r.pool == nil {
		return nil, errors.New("the runner is closed")
	}
	if err := device.CheckStep(s, r.bundle.Model.VocabSize, r.context); err != nil {
		return nil, err
	}
	last := r.head
	if logits {
		last = len(r.pool.phases)
	}
	r.pool.run(s, last)
	if err := r.failure(); err != nil {
		return nil, err
	}
	if !logits {
		return nil, nil
	}
	return r.logits, nil
}

// failure returns the first failure of the token and forgets all.
func (r *runner) failure() error {
	var first error
	for _, w := range r.pool.workers {
		if first == nil {
			first = w.err
		}
		w.err = nil
	}
	return first
}

// Dispatches implements device.Runner.
func (r *runner) Dispatches() int { return len(r.bundle.Decode) }

// Bytes implements device.Runner.
func (r *runner) Bytes() int64 { return r.bytes }

// Close implements device.Runner.
func (r *runner) Close() error {
	if r.pool != nil {
		r.pool.close()
		*r = runner{bundle: r.bundle}
	}
	return nil
}
