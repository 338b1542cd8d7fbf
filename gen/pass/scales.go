package pass

import (
	"cmp"

	"mla/gen/ir"
)

// foldScales removes the factors of the residual stream and pairs rotated rows: what
// the formulas of an architecture have, and no kernel.
//
// With every value of the stream divided by the factor s on what is added to it, sums
// need no factor: the embedding is scaled by its own over s, and a norm of x/s is that
// of x if eps is divided by s². A norm's own factor goes into its weight. Rotation of
// halves (i, i+n/2) is rotation of pairs of rows in another order, in which the weights
// are loaded.
func foldScales(p *ir.Program) error {
	stream := map[*ir.Value]float64{} // by what its values are divided
	p.Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
		if op.Kind == ir.Add && op.Scale != 0 {
			stream[op.In[0].V], stream[op.Out[0]] = op.Scale, op.Scale
			op.Scale = 0
		}
	})
	p.Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
		switch op.Kind {
		case ir.Embed:
			if s := stream[op.Out[0]]; s != 0 {
				op.Scale = cmp.Or(op.Scale, 1) / s
			}
		case ir.RMSNorm:
			if s := stream[op.In[0].V]; s != 0 {
				op.Eps /= s * s
			}
			if op.Scale != 0 {
				p.Weights[op.W[0].Row].Scale, op.Scale = op.Scale, 0
			}
		case ir.Rope:
			p.Paired = p.Paired || op.Halves
			op.Halves = false
		}
	})
	return nil
}
