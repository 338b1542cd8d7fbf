// Package fake is a device.Runner without a model, for tests of code that uses runners. A cache row is a hash
// of its token and of all rows before it, as they are in the pages. So a caller that reads a row of another
// text, or a row that was not copied, gets other logits.
package fake

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// Runner is a fake model. Its exported counters are for tests to read.
type Runner struct {
	// Logits fills the logits after a row; hash is the hash of all cache rows that the row attends to. nil:
	// the best token is the one with the next id.
	Logits func(row plan.Row, hash uint64, out []float32)
	Fail   error  // if not nil, the error of every Replay
	After  func() // called in every Replay, if not nil
	// Input, if not nil, is called with every row of a Replay after SetInput, and with the row's input.
	Input func(row plan.Row, input []float32)
	// Folds says that sessions have states: rows fold their tokens into the state, and the logits depend on
	// it.
	Folds bool
	// NoPicks makes the runner pick no tokens, so that the host picks after all rows, whatever it requested.
	NoPicks bool
	// Batch is the most rows of a batch; 0: plan.DefaultBatch.
	Batch int

	Replays    int
	WithLogits int
	Picked     int // tokens that the device has picked
	OnHost     int // logits that were requested besides picked tokens
	Ahead      int // steps of Continue
	Most       int // the greatest number of steps in flight at once
	Copied     int // rows
	Written    int // pages
	Assigned   int // entries of block tables
	Closed     bool

	vocab, width int
	context      int
	tables       *device.Tables
	cache        []row // [pages][plan.PageRows]
	logits       []float32
	picks        []device.Pick // of the last Pick, or of the last step after it
	loop         device.Loop
	lastRows     []plan.Row // the rows that Pick or Continue ran last
	next         [][]int32  // the tokens that they picked, beginning with the last returned ones
	inputs       []float32  // the inputs of the next Replay
	ran          []plan.Row // the rows of the last Replay
	states       []uint64   // by block table
	folded       []uint64   // the states after each row of the last Replay
}

type row struct {
	token uint32
	hash  uint64
}

// New returns a runner for a vocabulary of the given number of tokens.
func New(vocab int, cfg device.Config) *Runner {
	pages := cmp.Or(cfg.Pages, plan.Pages(cfg.Context))
	tables := device.NewTables(cmp.Or(cfg.Tables, 1), plan.Pages(cfg.Context), pages)
	return &Runner{
		context: cfg.Context, vocab: vocab, width: max(cfg.Width, 1), logits: make([]float32, max(cfg.Width, 1)*vocab), cache: make([]row, pages*plan.PageRows),
		tables: tables, states: make([]uint64, tables.Count()), loop: device.NewLoop(vocab, cfg.Context, tables),
	}
}

// Assign implements device.Runner.
func (r *Runner) Assign(table, first int, pages []uint32) error {
	r.Assigned += len(pages)
	_, err := r.tables.Assign(table, first, pages)
	return err
}

// CopyRows implements device.Runner.
func (r *Runner) CopyRows(from, to uint32, n int) error {
	if err := r.tables.CheckCopy(from, to, n); err != nil {
		return err
	}
	r.Copied += n
	copy(r.cache[to*plan.PageRows:][:n], r.cache[from*plan.PageRows:])
	return nil
}

// rowBytes is the size of a row in the host's memory.
const rowBytes = 12

// PageBytes implements device.Runner.
func (r *Runner) PageBytes() int { return plan.PageRows * rowBytes }

// ReadPage implements device.Runner.
func (r *Runner) ReadPage(page uint32, dst []byte) error {
	if err := r.tables.CheckPage(page, len(dst), r.PageBytes()); err != nil {
		return err
	}
	for i, c := range r.cache[page*plan.PageRows:][:plan.PageRows] {
		binary.LittleEndian.PutUint32(dst[i*rowBytes:], c.token)
		binary.LittleEndian.PutUint64(dst[i*rowBytes+4:], c.hash)
	}
	return nil
}

// WritePage implements device.Runner.
func (r *Runner) WritePage(page uint32, src []byte) error {
	if err := r.tables.CheckPage(page, len(src), r.PageBytes()); err != nil {
		return err
	}
	r.Written++
	for i := range plan.PageRows {
		at := src[i*rowBytes:]
		r.cache[int(page)*plan.PageRows+i] = row{binary.LittleEndian.Uint32(at), binary.LittleEndian.Uint64(at[4:])}
	}
	return nil
}

// Replay implements device.Runner.
func (r *Runner) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	r.loop.Forget()
	return r.replay(rows, wanted)
}

func (r *Runner) replay(rows []plan.Row, wanted []int) ([]float32, error) {
	if r.After != nil {
		r.After()
	}
	switch {
	case r.Closed:
		return nil, errors.New("fake: closed")
	case r.Fail != nil:
		return nil, r.Fail
	}
	if err := errors.Join(device.CheckRows(rows, r.width, r.vocab, r.context), device.CheckWanted(wanted, len(rows), r.batch()), r.tables.Check(rows...)); err != nil {
		return nil, err
	}
	r.Replays++
	r.picks = nil
	r.ran = append(r.ran[:0], rows...)
	for i, at := range rows {
		if n := len(r.inputs) / len(rows); n > 0 {
			r.Input(at, r.inputs[i*n:][:n])
		}
		*r.row(at) = row{at.Token, mix(r.read(at, at.Pos), at.Token)}
	}
	r.fold(rows)
	r.inputs = nil
	if len(wanted) == 0 {
		return nil, nil
	}
	r.WithLogits++
	clear(r.logits)
	for i, place := range wanted {
		at := rows[place]
		own := r.logits[i*r.vocab:][:r.vocab]
		if r.Logits != nil {
			r.Logits(at, r.read(at, at.NKV)^r.folded[place], own)
		} else {
			own[(int(at.Token)+1)%r.vocab] = 1
		}
	}
	return r.logits[:len(wanted)*r.vocab], nil
}

// Pick implements device.Picker.
func (r *Runner) Pick(rows []plan.Row, picks []device.Pick) ([]int32, error) {
	if r.NoPicks {
		return nil, device.ErrSampling
	}
	if err := device.CheckPicks(picks, len(rows), r.batch()); err != nil {
		return nil, err
	}
	logits, err := r.Replay(rows, device.PickedRows(picks))
	if err != nil {
		return nil, err
	}
	r.picks, r.next, r.lastRows = picks, nil, rows
	r.loop.Begin(rows, picks)
	return r.pick(logits), nil
}

// pick returns the tokens that are picked by the logits of the last Replay.
func (r *Runner) pick(logits []float32) []int32 {
	out := make([]int32, len(r.picks))
	for i := range r.picks {
		if p := &r.picks[i]; !p.LogitsOnly {
			out[i] = sample.Picked(p, logits[i*r.vocab:][:r.vocab])
			r.Picked++
		}
	}
	r.next = append(r.next, out)
	return out
}

// Continue implements device.Picker. It runs the requested steps at once, so that rows after a text's end are
// written, as on a GPU.
func (r *Runner) Continue(n int) error {
	return r.loop.Continue(n, 0, func() error {
		for range n {
			if err := r.step(); err != nil {
				return err
			}
		}
		r.Most = max(r.Most, len(r.next)-1)
		return nil
	})
}

// step runs the rows of the last step again, each with the token that was picked after it.
func (r *Runner) step() error {
	picked, rows, picks := r.next[len(r.next)-1], slices.Clone(r.lastRows), slices.Clone(r.picks)
	for i, token := range picked {
		if token >= 0 {
			rows[i].Token, rows[i].Pos, rows[i].NKV = uint32(token), rows[i].Pos+1, rows[i].NKV+1
		}
		picks[i].Draw++
	}
	logits, err := r.replay(rows, device.PickedRows(picks))
	if err != nil {
		return err
	}
	r.Ahead++
	r.lastRows, r.picks = rows, picks
	r.pick(logits)
	return nil
}

// Next implements device.Picker.
func (r *Runner) Next() ([]int32, error) {
	return r.loop.Next(func(int) error { return nil }, func(int) []uint32 {
		r.next = r.next[1:]
		list := make([]uint32, 0, len(r.next[0]))
		for _, token := range r.next[0] {
			list = append(list, uint32(token))
		}
		return list
	})
}

// PickedLogits implements device.Picker.
func (r *Runner) PickedLogits(i int) ([]float32, error) {
	if i < 0 || i >= len(r.picks) || !r.picks[i].LogitsOnly { // nobody fetches logits in vain
		return nil, fmt.Errorf("fake: the logits of pick %d of %d", i, len(r.picks))
	}
	r.OnHost++
	return r.logits[i*r.vocab:][:r.vocab], nil
}

// SetInput implements device.Vectored.
func (r *Runner) SetInput(vectors []float32) error {
	r.inputs = append([]float32(nil), vectors...)
	return nil
}

// Hidden implements device.Vectored. A hidden state is one number: State of the tokens that the row attends
// to.
func (r *Runner) Hidden(dst []float32) error {
	if len(dst) != len(r.ran) {
		return fmt.Errorf("fake: %d hidden states of %d rows", len(dst), len(r.ran))
	}
	for i, at := range r.ran {
		dst[i] = State(r.Tokens(at.Table, int(at.NKV)))
	}
	return nil
}

// State returns the hidden state after tokens.
func State(tokens []int32) float32 { return 1 + float32(Folded(tokens)&0xFFFFF) }

// Width implements device.Runner.
func (r *Runner) Width() int { return r.width }

// Wanted implements device.Runner.
func (r *Runner) Wanted(rows int) int { return plan.WantedRows(rows, r.batch()) }

func (r *Runner) batch() int { return cmp.Or(r.Batch, plan.DefaultBatch) }

// row returns the cache row of a row.
func (r *Runner) row(at plan.Row) *row { return &r.cache[r.tables.Place(at)] }

// read returns a hash of the first n cache rows of a row's session.
func (r *Runner) read(at plan.Row, n uint32) uint64 {
	hash := uint64(0)
	for at.Pos = 0; at.Pos < n; at.Pos++ {
		hash = mix(hash^r.row(at).hash, r.row(at).token)
	}
	return hash
}

// Tokens returns the tokens from which the first n cache rows of a block table were computed.
func (r *Runner) Tokens(table uint32, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.row(plan.Row{Table: table, Pos: uint32(i)}).token)
	}
	return out
}

// mix is one step of a hash that depends on order and length.
func mix(hash uint64, token uint32) uint64 {
	hash = (hash ^ uint64(token) + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
	return hash ^ hash>>29
}

// Dispatches implements device.Runner.
func (r *Runner) Dispatches() int { return 42 }

// Bytes implements device.Runner.
func (r *Runner) Bytes() int64 { return int64(len(r.cache)) }

// Close implements device.Runner.
func (r *Runner) Close() error {
	r.Closed = true
	return nil
}

// Diagnostics implements device.Runner.
func (r *Runner) Diagnostics() device.Diagnostics { return device.Diagnostics{} }
