// Package lower turns a spec into the unfused program: one op per formula, one op per launch, named as in the
// papers. It is the definition of the model (DeepSeek-V2, arXiv 2405.04434, section 2.1, for multi-head
// latent attention; DeepSeek-V3, arXiv 2412.19437, for sigmoid gating with a selection bias; Kimi Linear,
// arXiv 2510.26692, section 3, for linear attention); later packages only rearrange it.
package lower

import (
	"math"

	"mla/gen/ir"
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/gguf"
)

// Lower returns the unfused program of width rows. The formulas do not depend on width.
func Lower(s *spec.Spec, width int) *ir.Program {
	l := &lowerer{s: s, arch: gguf.ArchitectureOf(s.Architecture), p: &ir.Program{Width: width, Spec: s, Weights: weights.Table(s)}, layer: -1}
	x := l.begin()
	for i := 0; i < s.Model.NumHiddenLayers; i++ {
		l.layer = i
		if s.Hybrid.Linear(i) {
			x = l.linear(x)
		} else {
			x = l.attention(x)
		}
		if s.MoE != nil && i >= s.MoE.FirstKDenseReplace {
			x = l.moe(x)
		} else {
			x = l.dense(x)
		}
	}
	l.layer = -1
	if s.NextN > 0 || s.Model.NumNextNPredictLayers > 0 {
		x.Kept, l.p.Hidden = true, x
	}
	l.head(x)
	return l.p
}

type lowerer struct {
	s     *spec.Spec
	arch  gguf.Architecture
	p     *ir.Program
	layer int
}

// emit appends op with one new output of n elements and returns the output.
func (l *lowerer) emit(op *ir.Op, n int, elem ir.Elem) *ir.Value {
	v := l.p.NewValue(op.Name, l.layer, n)
	v.Elem = elem
	op.Out = []*ir.Value{v}
	l.p.Append(l.layer, op)
	return v
}

func (l *lowerer) weight(role string) []*ir.Value {
	return []*ir.Value{l.p.WeightValue(role, l.layer)}
}

// begin is the input of the first layer: the token's embedding, or in a multi-token-prediction layer eh_proj
// [enorm(e); hnorm(h)]. The host makes the vector in brackets of the token's embedding e and of the hidden
// state h of the position before.
func (l *lowerer) begin() *ir.Value {
	if l.s.NextN == 0 {
		return l.embed()
	}
	in := l.p.NewValue("joined", -1, 2*l.s.Model.HiddenSize)
	in.Elem, l.p.Input, l.layer = ir.Half, in, 0 // layer 0: launches without a layer at the end are the head
	return residual(l.matVec("eh_proj", weights.EHProj, ir.All(in), ir.F32))
}

func (l *lowerer) embed() *ir.Value {
	return residual(l.emit(&ir.Op{Kind: ir.Embed, Name: "embed", W: l.weight(weights.EmbedTokens), Scale: l.arch.ScaleEmb}, l.s.Model.HiddenSize, ir.F32))
}

// residual gives all values of the residual stream the same name, so that layers can share kernels.
func residual(v *ir.Value) *ir.Value {
	v.Name = "x"
	return v
}

// addTo is x + scale_depth/√layers · y on the residual stream. Without scale_depth the op's Scale is 0, which
// means 1.
func (l *lowerer) addTo(x *ir.Value, name string, y *ir.Value) *ir.Value {
	v := residual(l.add(name, x, y))
	l.last().Scale = l.arch.ScaleDepth / math.Sqrt(float64(l.s.Model.NumHiddenLayers))
	return v
}

// last returns the op that was emitted last.
func (l *lowerer) last() *ir.Op { return l.p.Launches[len(l.p.Launches)-1].Parts[0].Ops[0] }

// head computes the logits; a tied head reads the embedding table.
func (l *lowerer) head(x *ir.Value) {
	norm, role := weights.FinalNorm, weights.LMHead
	switch {
	case l.s.NextN > 0:
		norm, role = weights.SharedHeadNorm, weights.SharedHead
	case l.s.Model.TieWordEmbeddings:
		role = weights.EmbedTokens
	}
	h := l.norm("final_norm", norm, ir.All(x))
	l.last().Scale = l.arch.DimModelBase / float64(l.s.Model.HiddenSize)
	l.matVec("lm_head", role, ir.All(h), ir.F32).Output = true
}

func (l *lowerer) norm(name, role string, in ir.Ref) *ir.Value {
	return l.emit(&ir.Op{Kind: ir.RMSNorm, Name: name, In: []ir.Ref{in}, W: l.weight(role), Eps: l.s.Model.RMSNormEps}, in.Len, ir.F32)
}

func (l *lowerer) matVec(name, role string, in ir.Ref, elem ir.Elem) *ir.Value {
	w := l.weight(role)
	row := &l.p.Weights[w[0].Row]
	op := &ir.Op{Kind: ir.MatVec, Name: name, In: []ir.Ref{in}, W: w, Batch: row.Batch}
	return l.emit(op, row.Rows*row.Batch, elem)
}

func (l *lowerer) swiglu(name string, gate, up *ir.Value) *ir.Value {
	return l.emit(&ir.Op{Kind: ir.SwiGLU, Name: name, In: []ir.Ref{ir.All(gate), ir.All(up)}}, gate.Len, ir.Half)
}

func (l *lowerer) add(name string, a, b *ir.Value) *ir.Value {
	return l.emit(&ir.Op{Kind: ir.Add, Name: name, In: []ir.Ref{ir.All(a), ir.All(b)}}, a.Len, ir.F32)
}
