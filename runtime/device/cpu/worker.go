package cpu

import "mla/runtime/plan"

// rowBlock is how many results a mat-vec keeps before it stores them. It is
// even, so that a rotated pair never straddles two blocks.
const rowBlock = 256

// needs is the scratch memory that the recorded parts ask for.
type needs struct {
	rows    int // of the widest sequence
	input   int // floats of the widest input
	experts int // most experts that a gating chooses from
	chosen  int // most experts that it chooses
	query   int // floats of the queries of one attention unit
	tile    int // floats of a cache tile
	scores  int // floats of the scores of one attention unit and tile
}

// worker is one thread's state: the token it works on and its scratch memory.
// Nothing in it outlives a token but the memory.
type worker struct {
	rows  []plan.Row // of the replay
	row   plan.Row   // of the unit at hand
	token uint64     // the pool's count of tokens; tells what below is of this one
	err   error      // first failure, fetched at the end of the token

	prepared  []prepared // by row
	together  together
	y, up     [rowBlock]float32
	routing   []plan.Routing // the experts chosen by routingKey
	routeKey  key
	probs     []float32
	selection []float32
	taken     []bool

	query        []float32 // of queryKey
	queryKey     key
	tile, scores []float32
}

// key says what a worker prepared: entry of the source id, in a token.
type key struct {
	token     uint64
	id, entry int
}

// prepared is the input that a worker keeps for a row.
type prepared struct {
	numbers []float32 // room for it
	input   input     // of key
	key     key
}

func newWorker(n needs) *worker {
	inputs := make([]prepared, n.rows)
	for i := range inputs {
		inputs[i].numbers = make([]float32, n.input)
	}
	return &worker{
		prepared:  inputs,
		together:  newTogether(n.rows),
		routing:   make([]plan.Routing, n.chosen),
		probs:     make([]float32, n.experts),
		selection: make([]float32, n.experts),
		taken:     make([]bool, n.experts),
		query:     make([]float32, n.query),
		tile:      make([]float32, n.tile),
		scores:    make([]float32, n.scores),
	}
}

// bytes is the scratch memory of one worker.
func (n *needs) bytes() int64 {
	return 4*int64(n.rows*(n.input+2*togetherBlock)+2*n.experts+2*n.chosen+n.query+n.tile+n.scores+2*rowBlock) + int64(n.experts)
}

// temp returns n floats of the input buffer for a part that prepares no input.
func (w *worker) temp(n int) []float32 {
	w.prepared[0].key = key{}
	return w.prepared[0].numbers[:n]
}

// fail keeps the first failure of the token.
func (w *worker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// begin takes up a replay.
func (w *worker) begin(token uint64, rows []plan.Row) {
	w.token, w.rows, w.row = token, rows, rows[0]
}
