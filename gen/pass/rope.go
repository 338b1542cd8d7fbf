package pass

import (
	"cmp"
	"math"

	"mla/gen/ir"
	"mla/gen/spec"
	"mla/runtime/gguf"
)

// bakeRope computes what depends on the rotary embedding alone: the angle per position of every pair, the
// factor on cosines and sines, and kq_scale, which includes YaRN's temperature (arXiv 2309.00071, section 3;
// in the form that llama.cpp has for deepseek2: log_mul is mscale_all_dim, and the betas are fixed at 32 and
// 1).
func bakeRope(p *ir.Program) error {
	m := &p.Spec.Model
	y := yarn{dims: m.QKRopeHeadDim, theta: p.Spec.Rope.Theta, scaling: p.Spec.Rope.Scaling, mscale: gguf.ArchitectureOf(p.Spec.Architecture).MScale}
	p.RopeFreqs = y.freqs()
	p.RopeMScale = y.magnitude()
	scale := y.attention() / math.Sqrt(float64(m.QKNopeHeadDim+m.QKRopeHeadDim))
	p.Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
		if op.Kind == ir.Attention {
			op.Scale = scale
			op.Note("bake_rope: scores are multiplied by %.6g, 1/√(%d+%d) with YaRN's temperature if there is one", scale, m.QKNopeHeadDim, m.QKRopeHeadDim)
		}
	})
	return nil
}

// yarn computes RoPE frequencies with YaRN scaling.
type yarn struct {
	dims    int
	theta   float64
	scaling *spec.Yarn // nil: plain RoPE
	mscale  float64    // numerator of the ratio in magnitude; 0: mscale_all_dim, so that the ratio is 1
}

// betaFast and betaSlow bound the ramp between unchanged and interpolated frequencies, in rotations over the
// original context.
const betaFast, betaSlow = 32, 1

// freqs returns radians per position for each pair.
func (y yarn) freqs() []float64 {
	f := make([]float64, y.dims/2)
	for i := range f {
		f[i] = math.Pow(y.theta, -2*float64(i)/float64(y.dims)) * y.interpolation(i)
	}
	return f
}

// interpolation is the factor on the frequency of pair i: 1/factor for slow pairs, 1 for fast pairs, and a
// linear ramp between them.
func (y yarn) interpolation(i int) float64 {
	if y.scaling == nil {
		return 1
	}
	lo := math.Max(0, math.Floor(y.correction(betaFast)))
	hi := math.Min(float64(y.dims-1), math.Ceil(y.correction(betaSlow)))
	ramp := (float64(i) - lo) / math.Max(0.001, hi-lo)
	keep := 1 - math.Min(1, math.Max(0, ramp))
	return (1-keep)/y.scaling.Factor + keep
}

// correction is the dimension whose pair makes b rotations over the original context.
func (y yarn) correction(b float64) float64 {
	ctx := float64(y.scaling.OriginalMaxPositionEmbeddings)
	return float64(y.dims) * math.Log(ctx/(b*2*math.Pi)) / (2 * math.Log(y.theta))
}

// magnitude is the factor on cosines and sines. It is 1 for every published model.
func (y yarn) magnitude() float64 {
	if y.scaling == nil {
		return 1
	}
	s := y.scaling
	grow := func(m float64) float64 {
		if s.Factor <= 1 {
			return 1
		}
		return 0.1*m*math.Log(s.Factor) + 1
	}
	attn := grow(1)
	if s.MScaleAllDim != 0 {
		attn = grow(cmp.Or(y.mscale, s.MScaleAllDim)) / grow(s.MScaleAllDim)
	}
	// llama.cpp divides by 1 + 0.1 ln(factor) here and multiplies by it where it applies the angle.
	return attn * s.AttnFactor
}

// attention is the factor on 1/sqrt(d): (magnitude · (1 + 0.1 log_mul ln factor))².
func (y yarn) attention() float64 {
	if y.scaling == nil {
		return 1
	}
	m := y.magnitude() * (1 + 0.1*y.scaling.MScaleAllDim*math.Log(y.scaling.Factor))
	return m * m
}
