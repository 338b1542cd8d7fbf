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

// rowBlock is how many results a mat-vec keeps before it stores them. It is
// even, so that a rotated pair never straddles two blocks.
const rowBlock = 256

// needs is the scratch memory that the recorded parts ask for.
type needs struct {
	int8     bool // inputs of mat-vecs are rounded to bytes
	rows     int  // of the widest sequence
	selected int  // most experts that all rows select together
	input    int  // floats of the widest input of a mat-vec
	temp     int  // floats that a part without one asks for
	experts  int  // most experts that a gating chooses from
	chosen   int  // most experts that it chooses
	query    int  // floats of the queries of one attention unit
	tile     int  // floats of a cache tile
	scores   int  // floats of the scores of one attention unit and tile
	sums     int  // floats of the sums of one unit of attention that divides them itself
}

// worker is one thread's state: the token it works on and its scratch memory.
// Nothing in it outlives a token but the memory.
type worker struct {
	rows   []plan.Row // of the replay; the wanted rows, where the part is of the head
	all    []plan.Row
	wanted []plan.Row
	row    plan.Row // of the unit at hand
	token  uint64   // the pool's count of tokens; tells what below is of this one
	err    error    // first failure, fetched at the end of the token

	prepared  []prepared // by row
	numbers   []float32  // see temp
	batch     batch
	y, up     [rowBlock]float32
	exps      exps
	routing   []plan.Routing // the experts chosen by routingKey
	routeKey  key
	probs     []float32
	selection []float32
	taken     []bool
	selected  []uint32 // by all rows
	members   []uint32 // of the expert at hand

	query        []float32 // of queryKey
	queryKey     key
	tile, scores []float32
	sums         []float32
}

// key says what a worker prepared: entry of the source id, in a token.
type key struct {
	token     uint64
	id, entry int
}

// prepared is the input that a worker keeps for a row.
type prepared struct {
	numbers []float32 // its buffer
	input   input     // of key
	key     key
	one     oneInput // input, as the inner loops take it
}

// oneInput is an input in the order of a format's inner loops, and the result to be
// computed: it stays where it is, so that assembly may be handed its address.
type oneInput struct {
	format *quant.Format // nil: not yet
	in     linalg.Inputs
	x, y   [1][]float32
}

// rows computes rows of weights times x.
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

// bytes is the scratch memory of one worker. Inputs are there once as they are, and up to
// three times in the order of inner loops, which adds sums to them.
func (n *needs) bytes() int64 {
	arranged := n.input + n.input/4
	return 4*int64(n.rows*(n.input+3*arranged+2*rowBlockMany)+n.temp+2*n.experts+2*n.chosen+n.selected+n.rows+n.query+n.tile+n.scores+n.sums+2*rowBlock) + int64(n.experts)
}

// temp returns n floats for a part that prepares no input. What they hold is gone at the next
// call.
func (w *worker) temp(n int) []float32 { return w.numbers[:n] }

// fail keeps the first failure of the token.
func (w *worker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// PanicError says that a part of a plan has made the program panic. Verified plans do not; so the program is wrong, or
// the machine's memory is. The replay has failed, and the process goes on.
type PanicError struct {
	Part  string // its CPU kernel
	At    string // where in the program
	Value any    // what it panicked with
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s at %s: %v: this is a fault of mla, please report it", e.Part, e.At, e.Value)
}

// do runs a chunk. A worker may be a goroutine of its own, where a panic would end the process: it is a failure of the
// replay instead.
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

// panicked is where the panic at hand was: the first function on the stack after those of the Go runtime.
func panicked() string {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(4, callers)]) // after Callers, this function, its caller and the panic
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
}

// begin takes up a replay.
func (w *worker) begin(token uint64, rows, wanted []plan.Row) {
	w.token, w.rows, w.row = token, rows, rows[0]
	w.all, w.wanted = rows, wanted
}
