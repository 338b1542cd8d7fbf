// Package interp runs an ir.Program op by op in plain Go, before or after any pass. It is slow, computes in
// float64, and shares no code with the passes. So tests can compare the results before and after a pass.
package interp

import (
	"fmt"
	"math"
	"slices"

	"mla/gen/ir"
	"mla/gen/weights"
)

// Weights returns a tensor's elements as [batch][rows][cols].
type Weights interface {
	Tensor(role string, layer int) []float32
}

// Machine runs a program for some rows at a time.
type Machine struct {
	p        *ir.Program
	w        Weights
	uses     *ir.Uses
	sessions map[int]*session
	rows     []*row // rows of the last replay
	*row            // the row for which an op is computed
}

// session is the state that a session keeps between replays.
type session struct {
	length int
	caches map[int][][]float64 // layer -> cache rows
	states map[*ir.Value][]float64
}

// row is the state of one row while the program runs.
type row struct {
	*session
	index  int // number in the replay
	pos    int
	token  int
	values map[*ir.Value][]float64
}

// Row is the next token of a session. Input is the input of a program that begins with one instead of an
// embedding.
type Row struct {
	Token, Session int
	Input          []float64
}

// Hidden returns the hidden state of a row of the last replay, if the program keeps it.
func (m *Machine) Hidden(row int) []float64 { return m.rows[row].values[m.p.Hidden] }

// New returns a machine whose sessions are empty.
func New(p *ir.Program, w Weights) *Machine {
	return &Machine{p: p, w: w, sessions: map[int]*session{}, uses: ir.Analyze(p)}
}

// Step runs the next token of session 0 and returns its logits.
func (m *Machine) Step(token int) ([]float64, error) {
	logits, err := m.Rows([]Row{{Token: token}})
	if err != nil {
		return nil, err
	}
	return logits[0], nil
}

// Rows runs rows, each op for all of them before the next op, and returns the logits of each row.
func (m *Machine) Rows(rows []Row) ([][]float64, error) {
	m.rows = nil
	for _, r := range rows {
		s := m.sessions[r.Session]
		if s == nil {
			s = &session{caches: map[int][][]float64{}, states: map[*ir.Value][]float64{}}
			m.sessions[r.Session] = s
		}
		own := &row{s, len(m.rows), s.length, r.Token, map[*ir.Value][]float64{}}
		if m.p.Input != nil {
			own.values[m.p.Input] = r.Input
		}
		m.rows = append(m.rows, own)
		s.length++
	}
	logits := make([][]float64, len(rows))
	var err error
	m.p.Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
		for i := range m.rows {
			if err != nil {
				return
			}
			m.row = m.rows[i]
			if err = m.run(op); err != nil {
				err = fmt.Errorf("interp: %s: %w", op, err)
			}
			for _, o := range op.Out {
				if o.Output {
					logits[i] = m.values[o]
				}
			}
		}
	})
	return logits, err
}

func (m *Machine) run(op *ir.Op) error {
	f := formulas[op.Kind]
	if f == nil {
		return fmt.Errorf("no formula")
	}
	f(m, op)
	if m.p.HalfBytes() == 2 {
		for _, o := range op.Out {
			if o.Elem == ir.Half && !m.uses.Local(o) {
				roundHalf(m.values[o])
			}
		}
	}
	return nil
}

// formulas has the function of each kind.
var formulas = map[ir.Kind]func(m *Machine, op *ir.Op){
	ir.Embed: embed, ir.RMSNorm: rmsNorm, ir.MatVec: matVec, ir.Rope: rope, ir.StoreKV: storeKV,
	ir.Expand: expand, ir.Attention: attention, ir.LatentAttn: latentAttention, ir.AttendSplit: attendSplit,
	ir.Combine: combine, ir.SwiGLU: swiglu, ir.Add: add, ir.Scores: scores, ir.TopK: topK,
	ir.RouteWeights: routeWeights, ir.ExpertsMatVec: expertsMatVec, ir.WeightedSum: weightedSum,
	ir.NormPartial: normPartial, ir.NormApply: normApply, ir.SquaredReLU: squaredReLU, ir.GroupExperts: groupExperts,
	ir.Convolve: convolve, ir.SiLU: silu, ir.L2Norm: l2Norm, ir.SoftplusDecay: softplusDecay, ir.BoundedDecay: boundedDecay,
	ir.Sigmoid: sigmoid, ir.DeltaRule: deltaRule, ir.DeltaChunk: deltaChunk, ir.DeltaFold: deltaFold, ir.GatedNorm: gatedNorm, ir.GateHeads: gateHeads,
}

// in returns entry b of an op's i-th input.
func (m *Machine) in(op *ir.Op, i, b int) []float64 {
	r := op.In[i]
	start := r.Off + b*r.Stride
	return m.values[r.V][start : start+r.Len]
}

// weight returns entry b of an op's i-th weight, with its numbers of rows and columns.
func (m *Machine) weight(op *ir.Op, i, b int) (w []float32, rows, cols int) {
	v := op.W[i]
	row := &m.p.Weights[v.Row]
	n := row.Rows * row.Cols
	w = m.w.Tensor(row.Role, v.Layer)[b*n : (b+1)*n]
	if row.RotaryRows > 0 && m.p.Paired {
		w = paired(w, row)
	}
	return w, row.Rows, row.Cols
}

// folded returns the factor that a pass folded into an op's weight; 1 if none did.
func (m *Machine) folded(op *ir.Op) float64 {
	if s := m.p.Weights[op.W[0].Row].Scale; s != 0 {
		return s
	}
	return 1
}

// paired returns a weight with the rotated rows of each head in pairs instead of halves.
func paired(w []float32, row *weights.Row) []float32 {
	out := slices.Clone(w)
	for head := row.HeadRows; head <= row.Rows; head += row.HeadRows {
		first, n := head-row.RotaryRows, row.RotaryRows
		for i := range n {
			from := first + i/2 + i%2*(n/2)
			copy(out[(first+i)*row.Cols:(first+i+1)*row.Cols], w[from*row.Cols:])
		}
	}
	return out
}

// out returns a new slice of zeros for an op's i-th output.
func (m *Machine) out(op *ir.Op, i int) []float64 {
	v := make([]float64, op.Out[i].Len)
	m.values[op.Out[i]] = v
	return v
}

// roundHalf rounds to the nearest half, ties to even. It does not handle overflow: the values of a model stay
// in range. Subnormal halves are multiples of 2^-24.
func roundHalf(x []float64) {
	for i, v := range x {
		_, exp := math.Frexp(v) // v = f·2^exp with f in [0.5, 1): 11 bits of f are kept
		ulp := math.Ldexp(1, max(exp-11, -24))
		x[i] = math.RoundToEven(v/ulp) * ulp
	}
}
