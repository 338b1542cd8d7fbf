package cpu

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// phase is the chunks of all dispatches between two barriers, which may run concurrently.
type phase []chunk

// chunk is the unit of scheduling: the units [lo, hi) of one part.
type chunk struct {
	kernel kernel
	lo, hi int
}

// maxChunks and maxPhases are the largest numbers that the fields of pool.state hold.
const (
	maxChunks = 1<<16 - 1
	maxPhases = 1<<16 - 2
	idle      = 1<<16 - 1 // the phase between two replays
)

// sequence is a recorded plan.Sequence.
type sequence struct {
	width  int
	phases []phase
	head   int         // the phase at which the plan's Head begins
	work   device.Work // only counts of operations
}

// pool runs phases on its workers. The caller of run is worker 0; the others are goroutines that sleep
// between replays. Any free worker takes the next chunk. A phase ends when its last chunk is done, whether or
// not every worker has had one: so a worker that the system does not schedule delays nobody.
type pool struct {
	sequences []sequence
	workers   []*worker
	current   atomic.Int32 // index of the sequence; a late worker may read it at any time
	last      int          // the phase at which the replay ends; set while idle
	rows      []plan.Row   // set while idle
	wanted    []plan.Row   // those that the head computes; set while idle

	// state is token<<32 | phase<<16 | next chunk. A worker takes a chunk by compare-and-swap of state, so a
	// worker that comes late sees that state has changed and takes none.
	state  atomic.Uint64
	_      [56]byte // keeps the fields that workers spin on apart from the counters, on two cache lines
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

// run executes the phases [0, last) of a sequence for some rows. The phases of the head compute the wanted
// rows only.
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

// serve is the loop of a worker other than the caller.
func (p *pool) serve(w *worker) {
	debug.SetPanicOnFault(true) // for this goroutine
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

// work takes chunks until the replay is done.
func (p *pool) work(w *worker) {
	for {
		v := p.state.Load()
		i := int(v >> 16 & idle)
		if i == idle {
			return
		}
		phases := p.sequences[p.current.Load()].phases
		if i >= len(phases) {
			continue // state belongs to an earlier replay
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

// following is the state after the phase of state v.
func (p *pool) following(v uint64) uint64 {
	i := v>>16&idle + 1
	if int(i) == p.last {
		i = idle
	}
	return v>>32<<32 | i<<16
}

// publish changes the state and wakes sleeping workers.
func (p *pool) publish(v uint64) {
	p.state.Store(v)
	if p.parked.Load() > 0 {
		p.mu.Lock()
		p.wake.Broadcast()
		p.mu.Unlock()
	}
}

// How await waits. With free cores a barrier is over within the first few looks. After some ten microseconds
// the thread yields its core to other goroutines, and soon after it sleeps, so that other programs get the
// core.
const (
	spins  = 1000
	pause  = 30 // turns of an empty loop, around 10 ns, between two looks
	yields = 50
)

// await returns when the state differs from v.
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
