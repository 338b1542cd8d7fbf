package cpu

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// phase is what may run side by side: the chunks of all dispatches between two
// barriers.
type phase []chunk

// chunk is the smallest piece of work that is dealt out: the units [lo, hi) of
// one part.
type chunk struct {
	kernel kernel
	lo, hi int
}

// maxChunks and maxPhases are what the fields of pool.state can count.
const (
	maxChunks = 1<<16 - 1
	maxPhases = 1<<16 - 2
	idle      = 1<<16 - 1 // the phase between two tokens
)

// sequence is a recorded plan.Sequence.
type sequence struct {
	width  int
	phases []phase
	head   int         // the phase at which the plan's Head begins
	work   device.Work // operations only
}

// pool runs phases on its workers. The caller of run is worker 0; the others
// are goroutines that sleep between tokens. Chunks are taken by whoever is free,
// and a phase ends when its last chunk is done, not when every worker has come
// by: a worker that the system does not schedule holds up nobody.
type pool struct {
	sequences []sequence
	workers   []*worker
	current   atomic.Int32 // index of the sequence; a late worker may read it at any time
	last      int          // the phase at which the replay ends; set while idle
	rows      []plan.Row   // set while idle
	wanted    []plan.Row   // those that the head computes; set while idle

	// state is token<<32 | phase<<16 | next chunk. A chunk is taken by counting
	// it up, so that a worker which comes late finds it changed and takes none.
	state  atomic.Uint64
	_      [56]byte // keeps what is spun on and what is counted on two cache lines
	done   atomic.Int64
	parked atomic.Int32
	stop   atomic.Bool

	mu   sync.Mutex
	wake *sync.Cond
	wg   sync.WaitGroup
}

// newPool starts the workers.
func newPool(sequences []sequence, workers []*worker) *pool {
	p := &pool{sequences: sequences, workers: workers}
	p.wake = sync.NewCond(&p.mu)
	p.state.Store(idle << 16)
	for _, w := range workers[1:] {
		p.wg.Go(func() { p.serve(w) })
	}
	return p
}

// run executes the phases [0, last) of a sequence for some rows, of which the head computes
// those that are wanted.
func (p *pool) run(sequence int, rows, wanted []plan.Row, last int) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // see gguf.Fault
	if len(p.workers) == 1 {
		w := p.workers[0]
		w.begin(w.token+1, rows, wanted)
		for _, ph := range p.sequences[sequence].phases[:last] {
			for _, c := range ph {
				w.do(c)
			}
		}
		return
	}
	if last == 0 {
		return
	}
	p.current.Store(int32(sequence))
	p.rows, p.wanted, p.last = rows, wanted, last
	token := p.state.Load()>>32 + 1
	p.publish(token << 32)
	p.work(p.workers[0])
}

// close ends the workers. No run may be under way.
func (p *pool) close() {
	p.stop.Store(true)
	p.publish(p.state.Load() + 1<<32)
	p.wg.Wait()
}

// serve is the life of a worker other than the caller.
func (p *pool) serve(w *worker) {
	debug.SetPanicOnFault(true) // of this goroutine
	for {
		v := p.state.Load()
		if p.stop.Load() {
			return
		}
		if v>>16&idle == idle {
			p.await(v)
			continue
		}
		p.work(w)
	}
}

// work takes chunks until the token is done.
func (p *pool) work(w *worker) {
	for {
		v := p.state.Load()
		i := int(v >> 16 & idle)
		if i == idle {
			return
		}
		phases := p.sequences[p.current.Load()].phases
		if i >= len(phases) {
			continue // the state is of an earlier replay
		}
		ph, next := phases[i], int(v&maxChunks)
		if next == len(ph) {
			p.await(v)
			continue
		}
		if !p.state.CompareAndSwap(v, v+1) {
			continue
		}
		if token := v >> 32; w.token != token {
			w.begin(token, p.rows, p.wanted)
		}
		w.do(ph[next])
		if p.done.Add(1) == int64(len(ph)) {
			p.done.Store(0)
			p.publish(p.following(v))
		}
	}
}

// following is the state after the phase of state v is complete.
func (p *pool) following(v uint64) uint64 {
	i := v>>16&idle + 1
	if int(i) == p.last {
		i = idle
	}
	return v>>32<<32 | i<<16
}

// publish changes the state and wakes who sleeps.
func (p *pool) publish(v uint64) {
	p.state.Store(v)
	if p.parked.Load() > 0 {
		p.mu.Lock()
		p.wake.Broadcast()
		p.mu.Unlock()
	}
}

// The patience of await. When the cores are free a barrier is over within the
// first few looks. After some ten microseconds the thread gives its core to
// other goroutines, and soon after to other programs.
const (
	spins  = 1000
	pause  = 30 // empty loop turns, around 10 ns, between two looks
	yields = 50
)

// await returns when the state is no longer v.
func (p *pool) await(v uint64) {
	for range spins {
		if p.state.Load() != v {
			return
		}
		for range pause {
		}
	}
	for range yields {
		runtime.Gosched()
		if p.state.Load() != v {
			return
		}
	}
	p.mu.Lock()
	p.parked.Add(1)
	for p.state.Load() == v {
		p.wake.Wait()
	}
	p.parked.Add(-1)
	p.mu.Unlock()
}
