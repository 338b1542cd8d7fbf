// Package ir is the compiler's intermediate representation: what one replay computes, as a list of launches.
// A replay runs several rows; a row is one token of a session. Formulas and shapes are those of one row.
// After lowering every launch has one op, and every op is one formula. Passes group ops into fused parts, and
// parts into launches. Ops keep their meaning, so a program can be interpreted after any pass.
package ir

import (
	"fmt"

	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/plan"
)

// Program computes some rows of a model. An op runs for all rows before the next op does, so a row attends to
// the cache rows that earlier rows of its session have just stored.
type Program struct {
	Width    int // largest number of rows
	Spec     *spec.Spec
	Weights  []weights.Row
	Launches []*Launch

	// Set by the pass bake_rope.
	RopeFreqs  []float64 // radians per position, one for each rotated pair
	RopeMScale float64   // factor on cosines and sines
	// Paired says that the rows of weights that Row.RotaryRows counts are reordered when loaded, from halves to pairs.
	Paired bool

	// Input holds vectors made by the host, with which the program begins instead of an embedding; nil: it
	// has an embedding. Hidden is the residual stream after the last layer if the host reads it after a
	// replay, else nil.
	Input, Hidden *Value
	// Expanded stands for the memory that all values of class Heads share; hazards are looked for in it.
	Expanded *Value

	ArenaBytes   int64 // set by the pass buffers
	CounterBytes int64 // set by the pass buffers
	values       int   // number of values made so far; the next ID
}

// Launch becomes one dispatch: parts that run side by side, each in its own threadgroups.
type Launch struct {
	Layer   int // -1 outside the layers
	Barrier bool
	Why     string // what the barrier waits for
	Parts   []*Part
}

// Part is a chain of ops that one set of threadgroups runs, passing results in registers and threadgroup memory.
type Part struct {
	Ops     []*Op
	Tickets *Value // [1] counter from which persistent threadgroups take their next work; nil: they are not persistent
}

// Op is one formula. Which fields it uses depends on Kind.
type Op struct {
	Kind Kind
	Name string // role in the model, e.g. "q_a"; unique within a layer
	In   []Ref
	W    []*Value // weights
	Out  []*Value

	Eps    float64 // the norms
	Heads  int     // number of heads: Rope, attention kinds, Expand, kinds of linear attention
	Scale  float64 // DeltaRule, DeltaChunk, attention kinds: kq_scale; 0 until bake_rope. Embed, RMSNorm: factor on the result, Add: on the second input; 0: 1
	Halves bool    // Rope: pairs are (i, i + n/2) instead of (2i, 2i + 1); not after fold_scales

	Temperature plan.Temperature // attention kinds: a factor on Scale by the position

	Transposed bool // Expand: use W transposed (keys)
	Batch      int  // MatVec: heads, 1 otherwise
	Splits     int  // AttendSplit, Combine
	Tile       int  // AttendSplit, Combine
	Least      int  // AttendSplit, Combine: see plan.Splits
	PerCore    int  // AttendSplit, Combine: see plan.Splits
	K          int  // ExpertsMatVec, WeightedSum, gating kinds: experts per token
	Group      int  // NormPartial: elements per partial sum

	Limit float64 // SwiGLU: bound of silu(gate) from above, and of up on both sides; 0: none. BoundedDecay: the bound
	State *Value  // Convolve, DeltaRule, DeltaFold: the session's state; else nil

	Notes []string // decisions of passes with their reasons, for mlagen explain
}

// Note adds a note that mlagen explain prints for the op.
func (op *Op) Note(format string, args ...any) {
	op.Notes = append(op.Notes, fmt.Sprintf(format, args...))
}

// KVSplits returns how AttendSplit and Combine split the cache.
func (o *Op) KVSplits() plan.Splits {
	return plan.Splits{Count: o.Splits, Tile: o.Tile, Least: o.Least, PerCore: o.PerCore}
}

// Ref is a vector inside a value, or with a batch one vector per entry: entry b is elements [Off+b*Stride,
// Off+b*Stride+Len).
type Ref struct {
	V                *Value
	Off, Len, Stride int
}

// Class says which memory a value is in.
type Class uint8

// The classes.
const (
	Act      Class = iota // arena: made and used within one replay
	Weight                // a tensor of the file
	Cache                 // latent rows of one layer, kept between tokens
	Counters              // counters of persistent threadgroups, zero between dispatches
	Heads                 // expanded keys and values of the cached rows, of one layer at a time
	State                 // state of linear attention of one layer: fixed size, one per session, kept between tokens
)

// Elem is the type of a value's elements in memory.
type Elem uint8

// The element types; Half is float32 unless the spec says activations: f16.
const (
	F32  Elem = iota
	Half      // an activation that mat-vecs read, or splits that a combine makes such an activation of
	Route
	Index // uint32
)

// Value is one tensor of the program. Activations are in SSA form: exactly one op writes each of them.
type Value struct {
	ID      int
	Name    string
	Class   Class
	Layer   int
	Len     int // elements; for a Dynamic value, elements per cached row
	Elem    Elem
	Dynamic bool // one entry per cached row; absorb removes such values, expand_heads gives them class Heads
	Output  bool // the logits, the program's result
	Joint   bool // one vector for all rows; other activations have one per row
	Kept    bool // stored in memory even if only its own part reads it

	Row    int   // Weight: index into Program.Weights
	Offset int64 // Act: byte offset in the arena; -1 before the pass buffers, and for values that stay in their part
}

// Bytes returns the size of an activation in memory, for all rows.
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

// Stride returns the distance in elements between the vectors of two rows of an activation; 0 if it has only
// one vector.
func (p *Program) Stride(v *Value) int {
	switch {
	case p.Width <= 1 || v.Joint || v.Class != Act:
		return 0
	case v.Output:
		return v.Len // a matrix of logits
	}
	return plan.StrideOf(v.Len)
}

// All returns a reference to the whole of v.
func All(v *Value) Ref { return Ref{V: v, Len: v.Len, Stride: v.Len} }

// Slice returns a reference to n elements of v from off on.
func Slice(v *Value, off, n int) Ref { return Ref{V: v, Off: off, Len: n, Stride: n} }

// Batched returns a reference to one n-element vector per batch entry, stride elements apart, the first at off.
func Batched(v *Value, off, n, stride int) Ref { return Ref{V: v, Off: off, Len: n, Stride: stride} }

// NewValue returns a new activation with n elements of type F32.
func (p *Program) NewValue(name string, layer, n int) *Value {
	v := &Value{ID: p.values, Name: name, Layer: layer, Len: n, Offset: -1}
	p.values++
	return v
}

// HalfBytes returns the size of an element of type Half, which the spec's activations decide.
func (p *Program) HalfBytes() int {
	if p.Spec.Activations == "f16" {
		return 2
	}
	return 4
}

// WeightValue returns a value for the tensor of a role in a layer. It panics if the weight table has no such
// role.
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

// Name returns the kernel's name: the names of its parts.
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

// Name joins the names of the part's main ops; carries selects the main ops.
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

// carries reports whether ops of kind k are the body of a kernel rather than a prologue or an epilogue.
func carries(k Kind) bool {
	switch k {
	case Embed, MatVec, StoreKV, ExpertsMatVec, AttendSplit, LatentAttn, Attention, Expand, Combine, DeltaRule, DeltaFold:
		return true
	}
	return false
}
