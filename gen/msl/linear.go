package msl

import (
	"fmt"

	"mla/runtime/plan"
)

// Linear attention: templates/msl/parts/delta_heads.msl and lib/delta_head.metal.

// deltaRows is the largest number of rows that linear attention takes at a time: with heads of 128 columns,
// five vectors of each row take 20 of 32 KiB of threadgroup memory.
const deltaRows = 8

// deltaFloats is the threadgroup memory for these vectors, in floats.
const deltaFloats = 5 * 128 * deltaRows

// deltaHead is the data of the template of linear attention.
type deltaHead struct {
	*partView
	p *plan.DeltaHeads
}

// DeltaHead returns the part as linear attention.
func (v *partView) DeltaHead() deltaHead { return deltaHead{v, v.P.(*plan.DeltaHeads)} }

// Rows returns how many rows of a session are taken at a time.
func (d deltaHead) Rows() int {
	return max(1, min(d.Width, deltaRows, deltaFloats/(5*d.p.Dim)))
}

// Type returns the struct whose functions are the steps of a head.
func (d deltaHead) Type() string {
	return fmt.Sprintf("delta_head<%du, %du, %du, %du>", d.p.Dim, d.p.Taps, d.Rows(), d.Simdgroups())
}

// Load returns the call that loads n rows, the first of them row.
func (d deltaHead) Load(row, n string) string {
	return fmt.Sprintf("head_t::load_rows(x, %s, %s, %s, %s, %s, %s, tid);", d.RowFloats(d.p.Q), d.RowFloats(d.p.K), d.RowFloats(d.p.V), d.Gate(d.p.F, d.p.FB, 0), row, n)
}

// Law returns the struct with the formula of the decay.
func (d deltaHead) Law() string { return decayLaw(d.p.Bound) }

func decayLaw(bound float64) string {
	if bound < 0 {
		return "bounded_decay"
	}
	return "softplus_decay"
}

// Channels returns a pointer to the parameters of a head's channels. A channel has each numbers.
func (d deltaHead) Channels(slot, each int) string {
	return fmt.Sprintf("%s + head * %du", d.Name(slot), d.p.Dim*each)
}

// RowFloats returns a reader of a vector of the threadgroup's head, for every row in the arena.
func (v *partView) RowFloats(of plan.Vec) string {
	return fmt.Sprintf("row_floats{%s, %du}", v.Ptr(of, "head"), v.RowStride(of.Slot))
}

// RowStores returns the same as a writer of results.
func (v *partView) RowStores(of plan.Vec) string {
	return fmt.Sprintf("row_stores{%s, %du}", v.Ptr(of, "head"), v.RowStride(of.Slot))
}

// Gate returns a reader of a gate's input: a vector of every row, or if the part multiplies by a low-rank
// matrix, the result at index at after the head's memory.
func (d deltaHead) Gate(v plan.Vec, matrix, at int) string {
	if matrix < 0 {
		return d.RowFloats(v)
	}
	return fmt.Sprintf("shared_floats{scratch + head_t::FLOATS + %du}", at)
}

// WindowsAt returns where the convolution windows of queries begin in a layer's state, in floats.
func (d deltaHead) WindowsAt() int {
	return plan.StateOf(d.p).Windows()
}

// WindowFloats returns the size of one head's window.
func (d deltaHead) WindowFloats() int { return d.p.Dim * (d.p.Taps - 1) }

// NextWindow returns the distance from the windows of queries to those of keys (n = 1) or values (n = 2).
func (d deltaHead) NextWindow(n int) int { return n * d.p.Heads * d.WindowFloats() }

// LowRows returns how many rows of the second matrix of a low-rank gate each simdgroup multiplies.
func (d deltaHead) LowRows() int { return d.p.Dim / d.Simdgroups() }

// MatrixRows returns a pointer to these rows of the matrix in a slot.
func (d deltaHead) MatrixRows(slot int) string {
	return fmt.Sprintf("%s + (head * %du + sg * %du) * %s::row_bytes(%du)", d.Name(slot), d.p.Dim, d.LowRows(), d.Tag(slot), d.p.Dim)
}

// floats returns the threadgroup memory, in floats: five vectors and two numbers for each row, and the
// results of low-rank gates.
func (d deltaHead) floats() int {
	n := d.Rows() * (5*d.p.Dim + 2)
	if d.p.FB >= 0 || d.p.ZB >= 0 {
		n += 2 * d.p.Dim
	}
	return n
}

// lowGate is the second matrix of a low-rank gate: the slot of the matrix, its input, and where its results
// go.
type lowGate struct {
	deltaHead
	Slot int
	In   plan.Vec
	To   int
}

// Low returns the second matrix of a low-rank gate.
func (d deltaHead) Low(matrix int, in plan.Vec, to int) lowGate { return lowGate{d, matrix, in, to} }

// deltaFloats is the threadgroup memory of linear attention, in floats.
func (v *partView) deltaFloats() int { return v.DeltaHead().floats() }

// viewDelta sets N to the rows of the gates' second matrices that each simdgroup multiplies.
func (v *partView) viewDelta() error {
	v.N = v.DeltaHead().LowRows()
	return nil
}

// HeadGate returns the gates that each head's results are multiplied by; nil: there are none.
func (v *partView) HeadGate() *plan.Vec {
	if p, ok := v.P.(*plan.MatVec); ok {
		return p.HeadGate
	}
	return nil
}

// limit returns the bound of the factors of a part's SwiGLU; 0: there is none.
func limit(p plan.Part) float64 {
	if s, ok := p.(*plan.SwiGLUVec); ok {
		return s.Limit
	}
	if m := plan.ProductOf(p); m != nil {
		return m.Limit
	}
	return 0
}

// Gated returns the product silu(gate) · up of a SwiGLU, bounded if it has a limit. gate is already silu's
// result.
func (v *partView) Gated(gate, up string) string {
	if l := limit(v.P); l > 0 {
		return fmt.Sprintf("bounded_swiglu(%s, %s, %s)", gate, up, v.Float(l))
	}
	return gate + " * " + up
}
