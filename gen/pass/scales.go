package pass

import (
	"cmp"

	"mla/gen/ir"
)

// foldScales removes the factors on the residual stream, which some architectures have and no kernel, and
// turns rotation of halves into rotation of pairs.
//
// Let s be the factor on what is added to the stream. If every value of the stream is divided by s, sums need
// no factor: the embedding's own factor is divided by s, and norm(x/s) equals norm(x) if eps is divided by
// s². A norm's own factor goes into its weight. Rotation of halves (i, i+n/2) equals rotation of pairs if the
// rows of the weights are loaded in another order.
func foldScales(p *ir.Program) error {
	stream := map[*ir.Value]float64{} // what each value is divided by
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
