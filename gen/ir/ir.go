// Package ir is the compiler's program: what the rows of one replay compute, as a
// list of launches. A row is one token of a session; the formulas are those of one row.
// After lowering every launch holds one op, one op per formula; passes group ops into
// fused parts and parts into launches. The ops inside keep their meaning, so any program
// can be interpreted at any time.
package ir

import (
	"fmt"

	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/plan"
)

// Program computes some rows of a model. Every op is run for all rows before the next
// op, so a row attends to what rows before it in the same session have stored.
type Program struct {
	Width    int // rows at most
	Spec     *spec.Spec
	Weights  []weights.Row
	Launches []*Launch

	// Filled by the pass bake_rope.
	RopeFreqs  []float64 // radians per position of each rotated pair
	RopeMScale float64   // factor on cosines and sines
	// Paired says that rotated rows of weights are in pairs, as Row.RotaryRows has them.
	Paired bool

	// Input is what the program begins with in place of an embedding: vectors that the host
	// makes; nil: it has an embedding. Hidden is the residual stream after the last layer
	// where it is kept after a replay, else nil.
	Input, Hidden *Value
	// Expanded is what all Heads of a program share, for those who look for memory used twice.
	Expanded *Value

	ArenaBytes   int64 // filled by the pass buffers
	CounterBytes int64 // filled by the pass buffers
	values       int   // how many values were made; the next ID
}

// Launch becomes one dispatch: parts that run side by side.
type Launch struct {
	Layer   int // -1 outside the layers
	Barrier bool
	Why     string // what the barrier waits for
	Parts   []*Part
}

// Part is a chain of ops that one set of threadgroups runs without leaving the chip.
type Part struct {
	Ops     []*Op
	Tickets *Value // [1] of persistent threadgroups: says which of them takes what next; nil: none
}

// Op is one formula. Which fields it uses depends on Kind.
type Op struct {
	Kind Kind
	Name string // what the op is in the model, e.g. "q_a"; unique within a layer
	In   []Ref
	W    []*Value // weights
	Out  []*Value

	Eps    float64 // the norms
	Heads  int     // Rope, attention kinds, Expand, kinds of linear attention: heads
	Scale  float64 // DeltaRule, DeltaChunk, attention kinds: kq_scale; 0 until bake_rope. Embed, RMSNorm: factor on the result, Add: on the second input; 0: 1
	Halves bool    // Rope: pairs are (i, i + n/2) instead of (2i, 2i + 1); not after fold_scales

	Temperature plan.Temperature // attention kinds: a factor on Scale by the position

	Transposed bool // Expand: use W transposed (keys)
	Batch      int  // MatVec: heads, 1 otherwise
	Splits     int  // AttendSplit, Combine
	Tile       int  // AttendSplit, Combine
	Least      int  // AttendSplit, Combine: see plan.Splits
	PerCore    int  // AttendSplit, Combine: likewise
	K          int  // ExpertsMatVec, WeightedSum, gating kinds: experts per token
	Group      int  // NormPartial: elements per partial sum

	Limit float64 // SwiGLU: bound of silu(gate) from above, and of up on both sides; 0: none. BoundedDecay: the bound
	State *Value  // Convolve, DeltaRule, DeltaFold: what stays of the session; else nil

	Notes []string // what passes have decided about it, and why, for mlagen explain
}

// Note leaves a note about an op for people.
func (op *Op) Note(format string, args ...any) {
	op.Notes = append(op.Notes, fmt.Sprintf(format, args...))
}

// KVSplits is how AttendSplit and Combine cut the cache.
func (o *Op) KVSplits() plan.Splits {
	return plan.Splits{Count: o.Splits, Tile: o.Tile, Least: o.Least, PerCore: o.PerCore}
}

// Ref is a vector inside a value, or one per batch entry: entry b is elements
// [Off+b*Stride, Off+b*Stride+Len).
type Ref struct {
	V                *Value
	Off, Len, Stride int
}

// Class says what memory a value is.
type Class uint8

// The classes.
const (
	Act      Class = iota // made and used within one token
	Weight                // a tensor of the file
	Cache                 // latent rows of one layer, kept between tokens
	Counters              // of persistent threadgroups: zero between dispatches
	Heads                 // expanded keys and values of the cached rows, of one layer at a time
	State                 // of fixed size, one per session: what linear attention of one layer keeps between tokens
)

// Elem is how a value is stored when it leaves a kernel.
type Elem uint8

// The element types; Half is float32 unless the spec says activations: f16.
const (
	F32  Elem = iota
	Half      // an activation that mat-vecs read, or that a combine makes such a one of
	Route
	Index // uint32
)

// Value is one tensor of the program. Activations are in SSA form: exactly one
// op writes each.
type Value struct {
	ID      int
	Name    string
	Class   Class
	Layer   int
	Len     int // elements; for a Dynamic value, elements per cached row
	Elem    Elem
	Dynamic bool // one entry per cached row; after absorb none is left, after expand_heads all are of class Heads
	Output  bool // the program's result: the logits
	Joint   bool // one for all rows; other activations are one per row
	Kept    bool // stored even if only its own part reads it

	Row    int   // Weight: index into Program.Weights
	Offset int64 // Act: place in the arena, in bytes; -1 before the pass buffers, and for what stays in its part
}

// Bytes is the size of an activation as stored, of all rows.
func (p *Program) Bytes(v *Value) int64 {
	size := int64(4)
	switch v.Elem {
	case Half:
		size = int64(p.HalfBytes())
	case Route:
		size = 8
	}
	if s := p.Stride(v); s > 0 {
		return size * int64(s) * int64(p.Width)
	}
	return size * int64(v.Len)
}

// Stride is the distance in elements between an activation's vectors of two rows; 0 where
// there is but one.
func (p *Program) Stride(v *Value) int {
	switch {
	case p.Width <= 1 || v.Joint || v.Class != Act:
		return 0
	case v.Output:
		return v.Len // a matrix of logits
	}
	return plan.StrideOf(v.Len)
}

// All refers to the whole of v.
func All(v *Value) Ref { return Ref{V: v, Len: v.Len, Stride: v.Len} }

// Slice refers to n elements of v from off on.
func Slice(v *Value, off, n int) Ref { return Ref{V: v, Off: off, Len: n, Stride: n} }

// Batched refers to one n-element vector per batch entry, stride apart.
func Batched(v *Value, off, n, stride int) Ref { return Ref{V: v, Off: off, Len: n, Stride: stride} }

// NewValue adds an activation.
func (p *Program) NewValue(name string, layer, n int) *Value {
	v := &Value{ID: p.values, Name: name, Layer: layer, Len: n, Offset: -1}
	p.values++
	return v
}

// HalfBytes is the size of an Elem Half element under the program's spec.
func (p *Program) HalfBytes() int {
	if p.Spec.Activations == "f16" {
		return 2
	}
	return 4
}

// WeightValue refers to the tensor of a role in a layer.
func (p *Program) WeightValue(role string, layer int) *Value {
	for i, r := range p.Weights {
		if r.Role == role && (r.First < 0 || r.Index(layer) >= 0) {
			v := p.NewValue(role, layer, r.Elems())
			v.Class, v.Row = Weight, i
			return v
		}
	}
	panic("ir: no weight " + role) // the table and lowering disagree: a bug, not input
}

// Append adds a launch of one op.
func (p *Program) Append(layer int, op *Op) {
	p.Launches = append(p.Launches, &Launch{Layer: layer, Parts: []*Part{{Ops: []*Op{op}}}})
}

// Name is the kernel's name: what its parts' main ops are in the model.
func (s *Launch) Name() string {
	name := ""
	for i, part := range s.Parts {
		if i > 0 {
			name += "_"
		}
		name += part.Name()
	}
	return name
}

// Name is what the part is in the model: the names of the ops that carry it.
func (p *Part) Name() string {
	name := ""
	for _, op := range p.Ops {
		convolves := op.Kind == Convolve && p.Find(DeltaRule) == nil
		if !carries(op.Kind) && !convolves || len(p.Ops) > 1 && op.Kind == Combine {
			continue
		}
		if name != "" {
			name += "_"
		}
		name += op.Name
	}
	if name == "" {
		return p.Ops[len(p.Ops)-1].Name
	}
	return name
}

// carries says whether ops of a kind are the body of a kernel rather than a
// prologue or an epilogue.
func carries(k Kind) bool {
	switch k {
	case Embed, MatVec, StoreKV, ExpertsMatVec, AttendSplit, LatentAttn, Attention, Expand, Combine, DeltaRule, DeltaFold:
		return true
	}
	return false
}
