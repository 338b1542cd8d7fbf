package msl

import (
	"fmt"

	"mla/runtime/plan"
)

// Linear attention: templates/msl/parts/delta_heads.msl and lib/delta_head.metal.

// deltaRows is the most rows of a piece: of 128 columns five vectors of each take 20 of 32 KiB of threadgroup memory.
const deltaRows = 8

// deltaFloats is the memory for five vectors of each row of a piece at most.
const deltaFloats = 5 * 128 * deltaRows

// deltaHead is linear attention as its template sees it.
type deltaHead struct {
	*partView
	p *plan.DeltaHeads
}

// DeltaHead is the part as linear attention.
func (v *partView) DeltaHead() deltaHead { return deltaHead{v, v.P.(*plan.DeltaHeads)} }

// Rows is how many rows of a session a piece has at most.
func (d deltaHead) Rows() int {
	return max(1, min(d.Width, deltaRows, deltaFloats/(5*d.p.Dim)))
}

// Type is the struct that has the head's steps.
func (d deltaHead) Type() string {
	return fmt.Sprintf("delta_head<%du, %du, %du, %du>", d.p.Dim, d.p.Taps, d.Rows(), d.Simdgroups())
}

// Load loads n rows from a row on.
func (d deltaHead) Load(row, n string) string {
	return fmt.Sprintf("head_t::load_rows(x, %s, %s, %s, %s, %s, %s, tid);", d.RowFloats(d.p.Q), d.RowFloats(d.p.K), d.RowFloats(d.p.V), d.Gate(d.p.F, d.p.FB, 0), row, n)
}

// Law is the type of what makes the decay.
func (d deltaHead) Law() string { return decayLaw(d.p.Bound) }

func decayLaw(bound float64) string {
	if bound < 0 {
		return "bounded_decay"
	}
	return "softplus_decay"
}

// Channels points to the parameters of a head's channels; each channel has as many as each says.
func (d deltaHead) Channels(slot, each int) string {
	return fmt.Sprintf("%s + head * %du", d.Name(slot), d.p.Dim*each)
}

// RowFloats is a vector of every row in the arena, of the threadgroup's head.
func (v *partView) RowFloats(of plan.Vec) string {
	return fmt.Sprintf("row_floats{%s, %du}", v.Ptr(of, "head"), v.RowStride(of.Slot))
}

// RowStores is as RowFloats where results go.
func (v *partView) RowStores(of plan.Vec) string {
	return fmt.Sprintf("row_stores{%s, %du}", v.Ptr(of, "head"), v.RowStride(of.Slot))
}

// Gate is what a gate is made of: a vector of every row, or what the threadgroup has made at the end of its memory.
func (d deltaHead) Gate(v plan.Vec, matrix, at int) string {
	if matrix < 0 {
		return d.RowFloats(v)
	}
	return fmt.Sprintf("shared_floats{scratch + head_t::FLOATS + %du}", at)
}

// WindowsAt is where the windows of queries are in a layer's state. NextWindow is how far the windows of keys and of values
// are from there.
func (d deltaHead) WindowsAt() int {
	return plan.StateOf(d.p).Windows()
}

// WindowFloats is the size of a head's window of one kind.
func (d deltaHead) WindowFloats() int { return d.p.Dim * (d.p.Taps - 1) }

func (d deltaHead) NextWindow(n int) int { return n * d.p.Heads * d.WindowFloats() }

// LowRows is how many rows of the second half of a low-rank gate a simdgroup multiplies by.
func (d deltaHead) LowRows() int { return d.p.Dim / d.Simdgroups() }

// MatrixRows points to them.
func (d deltaHead) MatrixRows(slot int) string {
	return fmt.Sprintf("%s + (head * %du + sg * %du) * %s::row_bytes(%du)", d.Name(slot), d.p.Dim, d.LowRows(), d.Tag(slot), d.p.Dim)
}

// floats is the threadgroup memory of a piece, two more numbers of each of its rows, and the gates of low rank.
func (d deltaHead) floats() int {
	n := d.Rows() * (5*d.p.Dim + 2)
	if d.p.FB >= 0 || d.p.ZB >= 0 {
		n += 2 * d.p.Dim
	}
	return n
}

// lowGate is the second half of a gate of low rank: the matrix, what it multiplies, and where its results go.
type lowGate struct {
	deltaHead
	Slot int
	In   plan.Vec
	To   int
}

// Low is such a half.
func (d deltaHead) Low(matrix int, in plan.Vec, to int) lowGate { return lowGate{d, matrix, in, to} }

// deltaFloats is the threadgroup memory of linear attention.
func (v *partView) deltaFloats() int { return v.DeltaHead().floats() }

// viewDelta shares the rows of second halves of gates out among the simdgroups.
func (v *partView) viewDelta() error {
	v.N = v.DeltaHead().LowRows()
	return nil
}

// HeadGate is what the results of each head are multiplied by; nil: nothing.
func (v *partView) HeadGate() *plan.Vec {
	if p, ok := v.P.(*plan.MatVec); ok {
		return p.HeadGate
	}
	return nil
}

// limit is the bound of a SwiGLU's factors, 0 if there is none.
func limit(p plan.Part) float64 {
	if s, ok := p.(*plan.SwiGLUVec); ok {
		return s.Limit
	}
	if m := plan.ProductOf(p); m != nil {
		return m.Limit
	}
	return 0
}

// Gated is the product of a SwiGLU, of silu(gate) and up.
func (v *partView) Gated(gate, up string) string {
	if l := limit(v.P); l > 0 {
		return fmt.Sprintf("bounded_swiglu(%s, %s, %s)", gate, up, v.Float(l))
	}
	return gate + " * " + up
}
