package ir

import "fmt"

// Verify checks what every pass must keep: SSA form, definitions before uses,
// no dependence between the parts of one step, refs inside their values, and
// weights of the shapes that the ops need.
func Verify(p *Program) error {
	v := verifier{written: map[*Value]*Step{}}
	outputs := 0
	for i, s := range p.Steps {
		if len(s.Parts) == 0 {
			return fmt.Errorf("ir: step %d is empty", i)
		}
		for _, part := range s.Parts {
			for _, op := range part.Ops {
				if err := v.op(p, s, part, op); err != nil {
					return fmt.Errorf("ir: step %d (%s, layer %d): %s: %w", i, s.Name(), s.Layer, op, err)
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
	return nil
}

type verifier struct {
	written map[*Value]*Step
}

func (v *verifier) op(p *Program, s *Step, part *Part, op *Op) error {
	for _, r := range op.In {
		if err := v.read(s, part, r, batchOf(op, r)); err != nil {
			return err
		}
	}
	if err := shapes(p, op); err != nil {
		return err
	}
	for _, o := range op.Out {
		if w := v.written[o]; w != nil {
			return fmt.Errorf("%s is written twice", o)
		}
		v.written[o] = s
	}
	return nil
}

func (v *verifier) read(s *Step, part *Part, r Ref, batch int) error {
	w := v.written[r.V]
	if w == nil {
		return fmt.Errorf("%s is read before it is written", r.V)
	}
	if w == s && !part.Writes(r.V) {
		return fmt.Errorf("%s is written by another part of the same step", r.V)
	}
	if r.Off < 0 || r.Len <= 0 || r.Off+(batch-1)*r.Stride+r.Len > r.V.Len {
		return fmt.Errorf("%s lies outside its value", r)
	}
	return nil
}

// batchOf is how many entries of r the op reads.
func batchOf(op *Op, r Ref) int {
	switch {
	case r.V.Class == Cache || r.V.Dynamic:
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

// shapes checks the op's weights against its input and output lengths.
func shapes(p *Program, op *Op) error {
	for _, w := range op.W {
		if w.Class != Weight {
			return fmt.Errorf("%s is no weight", w)
		}
	}
	if op.Kind != MatVec && op.Kind != ExpertsMatVec {
		return nil
	}
	row, n := &p.Weights[op.W[0].Row], op.Batch
	if op.Kind == ExpertsMatVec {
		n = op.K
	} else if row.Batch != op.Batch {
		return fmt.Errorf("%s has %d entries, the op %d", row.Role, row.Batch, op.Batch)
	}
	if op.In[0].Len != row.Cols {
		return fmt.Errorf("%s has %d columns, its input %d elements", row.Role, row.Cols, op.In[0].Len)
	}
	if op.Out[0].Len != n*row.Rows {
		return fmt.Errorf("%s gives %d × %d elements, its output has %d", row.Role, n, row.Rows, op.Out[0].Len)
	}
	return nil
}
