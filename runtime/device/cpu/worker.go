package cpu

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"mla/runtime/device/linalg"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// rowBlock is how many results a mat-vec collects before it stores them. It is even, so that both elements of
// a rotated pair are in one block.
const rowBlock = 256

// needs is the sizes of a worker's scratch memory: the largest that a recorded part asks for.
type needs struct {
	int8     bool // inputs of mat-vecs are rounded to bytes
	rows     int  // rows of the widest sequence
	selected int  // most experts that all rows of a batch select
	input    int  // floats of the widest input of a mat-vec
	temp     int  // floats that a part without such an input asks for
	experts  int  // most experts that a gating chooses from
	chosen   int  // most experts that it chooses
	query    int  // floats of the queries of one attention unit
	tile     int  // floats of a cache tile
	scores   int  // floats of the scores of one attention unit and tile
	sums     int  // floats of the sums of an attention unit that divides them itself
}

// worker is one thread's state: the replay it works on and its scratch memory. Only the memory outlives a
// replay.
type worker struct {
	rows   []plan.Row // the rows of the current part: all, or for a part of the head wanted
	all    []plan.Row
	wanted []plan.Row
	row    plan.Row // of the current unit
	token  uint64   // the pool's number of the replay; keys with another number are out of date
	err    error    // first failure, collected at the end of the replay

	prepared  []prepared // by row
	numbers   []float32  // see temp
	batch     batch
	y, up     [rowBlock]float32
	exps      exps
	routing   []plan.Routing // the experts selected, see routeKey
	routeKey  key
	probs     []float32
	selection []float32
	taken     []bool
	selected  []uint32 // experts, by all rows
	members   []uint32 // selections of the current expert

	query        []float32 // the queries of queryKey
	queryKey     key
	tile, scores []float32
	sums         []float32
}

// key identifies an input or a query that a worker keeps: the replay, the source's id and the entry.
type key struct {
	token     uint64
	id, entry int
}

// prepared is the input that a worker keeps for a row.
type prepared struct {
	numbers []float32 // its buffer
	input   input     // valid for key
	key     key
	one     oneInput // input, arranged for the inner loops
}

// oneInput is an input that is arranged for a format's inner loops, and a slice for the result. It lives in
// the worker, because assembly gets its address, which would make a local variable escape to the heap.
type oneInput struct {
	format *quant.Format // nil: not arranged yet
	in     linalg.Inputs
	x, y   [1][]float32
}

// rows computes len(y) rows of weights times x.
func (o *oneInput) rows(f *quant.Format, w []byte, stride int, x, y []float32) {
	if o.format != f {
		o.format, o.x[0] = f, x
		o.in.Set(f, o.x[:])
	}
	o.y[0] = y
	linalg.Product(f, w, stride, &o.in, o.y[:])
}

func newWorker(n needs) *worker {
	inputs := make([]prepared, n.rows)
	for i := range inputs {
		inputs[i].numbers = floats(n.input)
		inputs[i].one.in.Int8 = n.int8
	}
	w := &worker{
		prepared:  inputs,
		numbers:   floats(n.temp),
		batch:     newBatch(n.rows),
		routing:   make([]plan.Routing, n.chosen),
		probs:     floats(n.experts),
		selection: floats(n.experts),
		taken:     make([]bool, n.experts),
		selected:  make([]uint32, 0, n.selected),
		members:   make([]uint32, 0, n.rows),
		query:     floats(n.query),
		tile:      floats(n.tile),
		scores:    floats(n.scores),
		sums:      floats(n.sums),
	}
	for i := range w.batch.in {
		w.batch.in[i].Int8 = n.int8
	}
	return w
}

// bytes is the size of one worker's scratch memory. Each input is there once as it is, and up to three times
// arranged for inner loops, which adds sums of its blocks.
func (n *needs) bytes() int64 {
	arranged := n.input + n.input/4
	return 4*int64(n.rows*(n.input+3*arranged+2*rowBlockMany)+n.temp+2*n.experts+2*n.chosen+n.selected+n.rows+n.query+n.tile+n.scores+n.sums+2*rowBlock) + int64(n.experts)
}

// temp returns n floats for a part without a prepared input. The next call returns the same memory.
func (w *worker) temp(n int) []float32 { return w.numbers[:n] }

// fail keeps the first failure of the token.
func (w *worker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// PanicError says that a CPU kernel has panicked. Verified plans do not panic, so the program or the
// machine's memory is faulty. The replay fails, and the process goes on.
type PanicError struct {
	Part  string // type of the CPU kernel
	At    string // where in the program
	Value any    // what it panicked with
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s at %s: %v: this is a fault of mla, please report it", e.Part, e.At, e.Value)
}

// do runs a chunk. It turns a panic into a failure of the replay, as a panic in a worker's goroutine would
// end the process.
func (w *worker) do(c chunk) {
	defer func() {
		if p := recover(); p == nil {
			return
		} else if err := gguf.Fault(p); err != nil {
			w.fail(err)
		} else {
			w.fail(&PanicError{fmt.Sprintf("%T", c.kernel), panicked(), p})
		}
	}()
	c.kernel.run(w, c.lo, c.hi)
}

// panicked returns where the current panic began: the first function on the stack outside the Go runtime.
func panicked() string {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(4, callers)]) // skips Callers, this function, its caller and the panic
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
}

// begin sets the worker up for a replay.
func (w *worker) begin(token uint64, rows, wanted []plan.Row) {
	w.token, w.rows, w.row = token, rows, rows[0]
	w.all, w.wanted = rows, wanted
}
