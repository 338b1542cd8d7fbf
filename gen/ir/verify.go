package ir

import (
	"fmt"

	"mla/gen/weights"
)

// Verify checks what every pass must keep: SSA form, definitions before uses, no dependence between the parts
// of one launch, refs inside their values, the number of operands of each kind, and lengths of operands that
// agree. The error names the first launch that breaks a rule.
func Verify(p *Program) error {
	v := verifier{written: map[*Value]*Launch{}}
	if p.Input != nil {
		v.written[p.Input] = &Launch{}
	}
	outputs := 0
	for i, s := range p.Launches {
		if len(s.Parts) == 0 {
			return fmt.Errorf("ir: launch %d is empty", i)
		}
		for _, part := range s.Parts {
			if len(part.Ops) == 0 {
				return fmt.Errorf("ir: launch %d has a part without ops", i)
			}
			for _, op := range part.Ops {
				if err := v.op(p, s, part, op); err != nil {
					return fmt.Errorf("ir: launch %d (%s, layer %d): %s: %w", i, s.Name(), s.Layer, op, err)
				}
				for _, o := range op.Out {
					if o.Output {
						outputs++
					}
				}
			}
		}
	}
	if outputs != 1 {
		return fmt.Errorf("ir: %d ops write the output, want 1", outputs)
	}
	if p.Hidden != nil && (v.written[p.Hidden] == nil || !p.Hidden.Kept) {
		return fmt.Errorf("ir: no op leaves %s", p.Hidden)
	}
	return nil
}

type verifier struct {
	written map[*Value]*Launch
}

func (v *verifier) op(p *Program, s *Launch, part *Part, op *Op) error {
	if err := operands(op); err != nil {
		return err
	}
	for _, r := range op.In {
		if err := v.read(s, part, r, batchOf(op, r)); err != nil {
			return err
		}
	}
	for _, l := range lengths(p, op) {
		if l.got != l.want {
			return fmt.Errorf("%s is %d, want %d", l.what, l.got, l.want)
		}
	}
	for _, o := range op.Out {
		if o.Joint != (op.Kind == GroupExperts) {
			return fmt.Errorf("%s is one for all rows, or one per row", o)
		}
	}
	for _, o := range op.Out {
		if w := v.written[o]; w != nil {
			return fmt.Errorf("%s is written twice", o)
		}
		v.written[o] = s
	}
	return nil
}

func (v *verifier) read(s *Launch, part *Part, r Ref, batch int) error {
	w := v.written[r.V]
	if w == nil {
		return fmt.Errorf("%s is read before it is written", r.V)
	}
	if w == s && !part.Writes(r.V) {
		return fmt.Errorf("%s is written by another part of the same launch", r.V)
	}
	if r.Off < 0 || r.Len <= 0 || r.Off+(batch-1)*r.Stride+r.Len > r.V.Len {
		return fmt.Errorf("%s lies outside its value", r)
	}
	return nil
}

// batchOf returns how many entries of r the op reads.
func batchOf(op *Op, r Ref) int {
	switch {
	case r.V.Class == Cache || r.V.Dynamic || r.V.Joint:
		return 1
	case op.Kind == MatVec:
		return op.Batch
	case op.Kind == ExpertsMatVec && r.V.Elem != Route && r.Stride > 0:
		return op.K
	case op.Heads > 0 && op.Kind != Combine:
		return op.Heads
	}
	return 1
}

// operands checks the number of inputs, weights and outputs of an op, and whether it has a state.
func operands(op *Op) error {
	a := kinds[op.Kind].arity
	if op.Grouped() {
		a.in++
	}
	if len(op.In) != a.in || len(op.Out) != a.out || len(op.W) < a.minW || len(op.W) > a.maxW {
		return fmt.Errorf("has %d inputs, %d weights and %d outputs", len(op.In), len(op.W), len(op.Out))
	}
	for _, w := range op.W {
		if w.Class != Weight {
			return fmt.Errorf("%s is no weight", w)
		}
	}
	switch stateful := op.Kind == Convolve || op.Kind == DeltaRule || op.Kind == DeltaFold; {
	case stateful && (op.State == nil || op.State.Class != State):
		return fmt.Errorf("has no state")
	case !stateful && op.State != nil:
		return fmt.Errorf("has the state %s, and its kind keeps none", op.State)
	}
	return nil
}

// length is a length of an operand, and what it must be.
type length struct {
	what      string
	got, want int
}

// lengths lists the lengths that must agree in an op.
func lengths(p *Program, op *Op) []length {
	in := func(i int) int { return op.In[i].Len }
	out := op.Out[0].Len
	row := &weights.Row{}
	if len(op.W) > 0 {
		row = &p.Weights[op.W[0].Row]
	}
	switch op.Kind {
	case Embed:
		return []length{{"the output", out, row.Cols}}
	case RMSNorm:
		return []length{{"the weight", row.Cols, in(0)}, {"the output", out, in(0)}}
	case MatVec:
		return []length{{"the batch", op.Batch, row.Batch}, {"the input", in(0), row.Cols}, {"the output", out, row.Batch * row.Rows}}
	case ExpertsMatVec:
		return []length{{"the input", in(0), row.Cols}, {"the output", out, op.K * row.Rows}}
	case GroupExperts:
		g := op.Grouping(p)
		return []length{{"starts", out, g.Experts + 1}, {"members", op.Out[1].Len, p.Width * g.K}}
	case WeightedSum:
		return []length{{"the input", in(0), op.K * out}}
	case StoreKV:
		return []length{{"the cache row", out, in(0) + in(1)}}
	case NormPartial:
		return []length{{"the weight", row.Cols, in(0)}, {"the output", out, in(0)}, {"the squares' cover", op.Out[1].Len * op.Group, in(0)}}
	case NormApply, SquaredReLU:
		return []length{{"the output", out, in(0)}}
	case SwiGLU, Add:
		return []length{{"the second input", in(1), in(0)}, {"the output", out, in(0)}}
	}
	return linear(p, op, row)
}

// linear is lengths for the kinds of linear attention.
func linear(p *Program, op *Op, row *weights.Row) []length {
	in := func(i int) int { return op.In[i].Len }
	out := op.Out[0].Len
	switch op.Kind {
	case Convolve:
		return []length{{"the weight", row.Rows, in(0)}, {"the output", out, in(0)}, {"the state", op.State.Len, (row.Cols - 1) * in(0)}}
	case SiLU, Sigmoid:
		return []length{{"the output", out, in(0)}}
	case L2Norm:
		return []length{{"the output", out, op.Heads * in(0)}}
	case SoftplusDecay, BoundedDecay:
		return []length{{"A", row.Rows, op.Heads}, {"the bias", p.Weights[op.W[1].Row].Cols, out}, {"the output", out, op.Heads * in(0)}}
	case DeltaRule:
		n := in(0)
		return []length{{"a key", in(1), n}, {"a value", in(2), n}, {"a decay", in(3), n}, {"a beta", in(4), 1},
			{"the output", out, op.Heads * n}, {"the state", op.State.Len, op.Heads * n * n}}
	case DeltaChunk:
		n := in(0)
		list := []length{{"a key", in(1), n}, {"a value", in(2), n}, {"a decay", in(3), n}, {"a beta", in(4), 1}}
		for _, v := range op.Out {
			list = append(list, length{"an output", v.Len, op.Heads * n})
		}
		return list
	case DeltaFold:
		n := in(0)
		list := []length{{"the output", out, op.Heads * n}, {"the state", op.State.Len, op.Heads * n * n}}
		for i := range op.In {
			list = append(list, length{"an input", in(i), n})
		}
		return list
	case GatedNorm:
		return []length{{"the weight", row.Cols, in(0)}, {"the gate", in(1), in(0)}, {"the output", out, op.Heads * in(0)}}
	case GateHeads:
		return []length{{"a gate", in(1), 1}, {"the output", out, op.Heads * in(0)}}
	}
	return nil
}
