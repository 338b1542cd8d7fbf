// Package cpu replays plans on the processor's cores. Every part of a kernel has a CPU kernel in the file of
// that part's name (matvec.go, attend.go, …). It computes what the Metal template of the same name does: in
// floats within a kernel, rounded where the kernel stores halves.
//
// Recording resolves the bindings of all commands (package device), checks that their memory is as large as
// the CPU kernels need, and cuts the parts into chunks. Package verify checks the rest of a plan. Replaying
// deals the chunks to the workers, phase by phase (see pool); it neither allocates nor decides anything.
// Results do not depend on the number of workers.
//
// Mat-vecs run in runtime/device/linalg. A worker arranges an input for the inner loops once (linalg.Inputs).
// linalg.Product decodes a weight once for two or four inputs. For many inputs it decodes up to 64 rows to a
// panel of floats. The sums of an input do not depend on the other inputs.
package cpu

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// New returns the CPU device.
func New() device.Device { return cpu{} }

type cpu struct{}

// Name implements device.Device.
func (cpu) Name() string { return "cpu" }

// Class implements device.Device. The CPU's loops do not depend on kernel shapes.
func (cpu) Class() string { return "" }

// Takes implements device.Device.
func (cpu) Takes(l *device.Layout) int64 { return l.HostBytes() }

// Load implements device.Device. Only one goroutine at a time may use the runner.
func (cpu) Load(m *device.Model, cfg device.Config) (device.Runner, error) {
	r, l, err := allocate(m, cfg)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	workers := cfg.Threads
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	sequences, err := r.record(m, l, cfg, workers)
	if err != nil {
		return nil, err
	}
	states := make([]*worker, workers)
	for i := range states {
		states[i] = newWorker(r.need)
	}
	r.bytes += int64(workers) * r.need.bytes()
	r.pool = newPool(sequences, states)
	return r, nil
}

// Int8 implements device.Int8er.
func (cpu) Int8(b *plan.Bundle) error {
	if b.Activations != plan.ElemF32 {
		return fmt.Errorf("bundle %s hands halves from kernel to kernel; floats are what is rounded to bytes", b.Name)
	}
	if !linalg.HasInt8() {
		return fmt.Errorf("the CPU device has loops of bytes for AVX2, AVX-512 and arm64 with SDOT only; its loops here: %s", linalg.Backend())
	}
	return nil
}

// maxThreads is the most workers that a configuration may ask for.
const maxThreads = 1 << 10

// spaces lists the spaces that CPU kernels read and write, beside caches and block tables.
var spaces = []plan.Space{plan.SpaceArena, plan.SpaceHeads, plan.SpaceRope, plan.SpaceLogits, plan.SpaceState}

// allocate checks the configuration and allocates a runner's memory. Caches are not touched here: the system
// gives zeroed pages at the first access.
func allocate(m *device.Model, cfg device.Config) (*runner, *device.Layout, error) {
	if cfg.Threads < 0 || cfg.Threads > maxThreads {
		return nil, nil, fmt.Errorf("%d threads; expected 1 to %d, or 0 for one per core", cfg.Threads, maxThreads)
	}
	l, err := m.Layout(cfg)
	if err != nil {
		return nil, nil, err
	}
	r := &runner{
		bundle:     m.Bundle,
		width:      l.Width,
		need:       needs{rows: l.Width, int8: cfg.Int8},
		kv:         cfg.KV,
		context:    cfg.Context,
		pages:      l.Pages,
		pageBytes:  l.PageBytes(),
		stateBytes: l.StateBytes(),
		planes:     l.Planes,
		vectors:    map[*byte][]float32{},
		tables:     l.NewTables(),
		bytes:      l.Tables + l.Cache*int64(l.Layers),
	}
	sizes := l.Sizes()
	for _, s := range spaces {
		r.Spaces[s] = alignedBytes(sizes[s])
		r.bytes += sizes[s]
	}
	for range l.Layers {
		r.Caches = append(r.Caches, alignedBytes(l.Cache))
	}
	device.RopeTable(r.numbers(plan.SpaceRope), l.Freqs, m.Bundle.RopeMScale)
	return r, l, nil
}

// runner implements device.Runner.
type runner struct {
	bundle  *plan.Bundle
	kv      quant.Type
	context int
	pages   int // of each cache

	pageBytes  int // of all caches together
	stateBytes int // of a session
	planes     plan.Planes

	device.Memories[[]byte]
	tables *device.Tables
	wanted []plan.Row // see plan.SpaceWanted

	gathered []float32 // logits of replays in several batches, see batches; nil: there was none yet

	width int
	bytes int64

	need     needs               // of all bound parts
	vectors  map[*byte][]float32 // copies of weight vectors, by the address of the original
	prepared int

	pool *pool
}

// numbers views a space as float32.
func (r *runner) numbers(s plan.Space) []float32 { return view[float32](r.Spaces[s]) }

var errClosed = errors.New("the runner is closed")

// Assign implements device.Runner.
func (r *runner) Assign(table, first int, pages []uint32) error {
	if r.pool == nil {
		return errClosed
	}
	_, err := r.tables.Assign(table, first, pages)
	return err
}

// CopyRows implements device.Runner.
func (r *runner) CopyRows(from, to uint32, n int) error {
	if r.pool == nil {
		return errClosed
	}
	if err := r.tables.CheckCopy(from, to, n); err != nil {
		return err
	}
	r.hostCaches().CopyRows(from, to, n)
	return nil
}

// PageBytes implements device.Runner.
func (r *runner) PageBytes() int { return r.pageBytes }

// ReadPage implements device.Runner.
func (r *runner) ReadPage(page uint32, dst []byte) error {
	err := r.checkPage(page, dst)
	if err == nil {
		r.hostCaches().Read(page, dst)
	}
	return err
}

// WritePage implements device.Runner.
func (r *runner) WritePage(page uint32, src []byte) error {
	err := r.checkPage(page, src)
	if err == nil {
		r.hostCaches().Write(page, src)
	}
	return err
}

func (r *runner) checkPage(page uint32, host []byte) error {
	if r.pool == nil {
		return errClosed
	}
	return r.tables.CheckPage(page, len(host), r.pageBytes)
}

func (r *runner) hostCaches() device.Caches {
	return device.Caches{Layers: r.Caches, Pages: r.pages, Planes: r.planes}
}

// Replay implements device.Runner.
func (r *runner) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	if r.pool == nil {
		return nil, errClosed
	}
	vocab := r.bundle.Model.VocabSize
	if err := errors.Join(device.CheckRows(rows, r.width, vocab, r.context), device.CheckWanted(wanted, len(rows), r.bundle.BatchRows()), r.tables.Check(rows...)); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(r.pool.sequences, func(q sequence) bool { return q.width >= len(rows) })
	if r.inBatches(i, rows) {
		return r.batches(r.narrow(), rows, wanted)
	}
	last := r.pool.sequences[i].head
	if len(wanted) > 0 {
		last = len(r.pool.sequences[i].phases)
	}
	r.wanted = device.Wanted(r.wanted[:0], rows, wanted)
	r.pool.run(i, rows, r.wanted, last)
	if err := r.failure(); err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	return r.numbers(plan.SpaceLogits)[:len(wanted)*vocab], nil
}

// SetInput implements device.Vectored.
func (r *runner) SetInput(vectors []float32) error {
	if r.pool == nil {
		return errClosed
	}
	_, v, err := device.Vectors(r.bundle, vectors, r.width, device.InputOf)
	if err == nil {
		device.PutVectors(r.Spaces[plan.SpaceArena][v.Offset:], v, r.bundle.Activations, vectors)
	}
	return err
}

// Hidden implements device.Vectored.
func (r *runner) Hidden(dst []float32) error {
	if r.pool == nil {
		return errClosed
	}
	_, v, err := device.Vectors(r.bundle, dst, r.width, device.HiddenOf)
	if err == nil {
		device.TakeVectors(dst, r.Spaces[plan.SpaceArena][v.Offset:], v)
	}
	return err
}

// Width implements device.Runner.
func (r *runner) Width() int { return r.width }

// Wanted implements device.Runner.
func (r *runner) Wanted(rows int) int { return plan.WantedRows(rows, r.bundle.BatchRows()) }

// failure returns the first failure of the replay and clears all failures.
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
func (r *runner) Dispatches() int { return len(r.bundle.Decode().Dispatches) }

// Bytes implements device.Runner.
func (r *runner) Bytes() int64 { return r.bytes }

// Diagnostics implements device.Runner.
func (r *runner) Diagnostics() device.Diagnostics { return device.Diagnostics{} }

// Close implements device.Runner.
func (r *runner) Close() error {
	if r.pool != nil {
		r.pool.close()
		*r = runner{bundle: r.bundle}
	}
	return nil
}
