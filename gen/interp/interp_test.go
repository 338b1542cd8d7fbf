package interp

import (
	"math"
	"testing"

	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/pass"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/gen/weights"
	"mla/runtime/quant"
)

// table returns tensors by role, the same ones for every layer.
type table map[string][]float32

func (t table) Tensor(role string, _ int) []float32 { return t[role] }

// bench is a machine on which single ops run with given inputs.
type bench struct {
	t *testing.T
	m *Machine
}

func newBench(t *testing.T, w table) *bench {
	s := &spec.Spec{MoE: &spec.MoE{ScoringFunc: "softmax", NGroup: 1, TopKGroup: 1}}
	s.Model.QKRopeHeadDim = 2
	p := &ir.Program{Width: 1, Spec: s, RopeFreqs: []float64{math.Pi / 2}, RopeMScale: 1}
	b := &bench{t, New(p, w)}
	b.m.row = &row{session: &session{caches: map[int][][]float64{}}, values: map[*ir.Value][]float64{}}
	b.m.rows = []*row{b.m.row}
	return b
}

func (b *bench) value(x ...float64) ir.Ref {
	v := b.m.p.NewValue("v", 0, len(x))
	b.m.values[v] = x
	return ir.All(v)
}

// weight is a tensor of batch × rows × cols.
func (b *bench) weight(role string, batch, rows, cols int) []*ir.Value {
	p := b.m.p
	p.Weights = append(p.Weights, weights.Row{Role: role, Cols: cols, Rows: rows, Batch: batch, First: -1})
	return []*ir.Value{p.WeightValue(role, -1)}
}

// check runs op with one output of len(want) and compares.
func (b *bench) check(what string, op *ir.Op, want ...float64) {
	b.t.Helper()
	n := len(want)
	if op.Kind == ir.RouteWeights {
		n /= 2 // indices, then weights
	}
	op.Out = []*ir.Value{b.m.p.NewValue("out", 0, n)}
	if op.Kind == ir.NormPartial {
		op.Out = append(op.Out, b.m.p.NewValue("squares", 0, n/op.Group))
	}
	if err := b.m.run(op); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	got := b.m.values[op.Out[0]]
	if len(got) != len(want) {
		b.t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for i := range want {
		// The expected values are exact or computed by the same few float64 operations.
		if !(math.Abs(got[i]-want[i]) <= 1e-14*math.Max(1, math.Abs(want[i]))) {
			b.t.Errorf("%s: element %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}

// TestFormulas checks each formula on numbers small enough for mental
// arithmetic.
func TestFormulas(t *testing.T) {
	b := newBench(t, table{"E": {1, 2, 3, 4}, "g": {2, -1}, "A": {1, 2, 3, 4, 5, 6}, "X": {1, 0, 0, 1, 5, 6, 7, 8}})
	b.m.token = 1
	b.check("embed", &ir.Op{Kind: ir.Embed, W: b.weight("E", 1, 2, 2)}, 3, 4)
	b.check("rms_norm", &ir.Op{Kind: ir.RMSNorm, In: []ir.Ref{b.value(1, 7)}, W: b.weight("g", 1, 1, 2), Eps: 0}, 2./5, -7./5)
	b.check("rms_norm with eps", &ir.Op{Kind: ir.RMSNorm, In: []ir.Ref{b.value(1, 1)}, W: b.weight("g", 1, 1, 2), Eps: 3}, 1, -.5)
	b.check("norm_partial", &ir.Op{Kind: ir.NormPartial, In: []ir.Ref{b.value(1, 7)}, W: b.weight("g", 1, 1, 2), Group: 2}, 2, -7)
	b.check("norm_apply", &ir.Op{Kind: ir.NormApply, In: []ir.Ref{b.value(2, -7), b.value(1, 49)}, Eps: 0}, 2./5, -7./5)
	b.check("mat_vec", &ir.Op{Kind: ir.MatVec, In: []ir.Ref{b.value(1, 10)}, W: b.weight("A", 1, 3, 2), Batch: 1}, 21, 43, 65)
	x := b.value(1, 10, 2, 20)
	b.check("mat_vec per head", &ir.Op{Kind: ir.MatVec, In: []ir.Ref{ir.Batched(x.V, 0, 2, 2)}, W: b.weight("X", 2, 2, 2), Batch: 2}, 1, 10, 130, 174)
	routing := ir.Ref{V: b.value(1, 0, .5, 2).V, Len: 2}
	b.check("experts, one input", &ir.Op{Kind: ir.ExpertsMatVec, In: []ir.Ref{{V: x.V, Len: 2}, routing}, W: b.weight("X", 2, 2, 2), K: 2}, 65, 87, 1, 10)
	b.check("experts, an input each", &ir.Op{Kind: ir.ExpertsMatVec, In: []ir.Ref{ir.Batched(x.V, 0, 2, 2), routing}, W: b.weight("X", 2, 2, 2), K: 2}, 65, 87, 2, 20)
	b.check("weighted_sum", &ir.Op{Kind: ir.WeightedSum, In: []ir.Ref{x, routing}, K: 2}, 4.5, 45)
	b.check("swiglu", &ir.Op{Kind: ir.SwiGLU, In: []ir.Ref{b.value(0, 1), b.value(9, 2)}}, 0, 2/(1+math.Exp(-1)))
	b.check("add", &ir.Op{Kind: ir.Add, In: []ir.Ref{b.value(1, 2), b.value(10, 20)}}, 11, 22)
	b.m.pos = 1 // a quarter turn
	b.check("rope", &ir.Op{Kind: ir.Rope, Heads: 2, In: []ir.Ref{ir.Batched(b.value(7, 1, 2, 8, 3, 4).V, 0, 3, 3)}}, 7, -2, 1, 8, -4, 3)
}

// TestGating checks the choice of experts: ties, bias, groups, normalisation.
func TestGating(t *testing.T) {
	b := newBench(t, table{"bias": {0, 0, 0, 5}})
	moe := b.m.p.Spec.MoE
	b.check("softmax", &ir.Op{Kind: ir.Scores, In: []ir.Ref{b.value(0, math.Log(3))}}, .25, .75)
	moe.ScoringFunc = "sigmoid"
	b.check("sigmoid", &ir.Op{Kind: ir.Scores, In: []ir.Ref{b.value(0, math.Log(3))}}, .5, .75)

	topK := func(k int, x ...float64) *ir.Op {
		return &ir.Op{Kind: ir.TopK, K: k, In: []ir.Ref{b.value(x...)}}
	}
	b.check("best first", topK(2, .1, .4, .2, .3), 1, 3)
	b.check("lower index among equals", topK(3, .2, .2, .1, .2), 0, 1, 3)
	biased := topK(1, .9, .8, .7, .1)
	biased.W = b.weight("bias", 1, 1, 4)
	b.check("bias selects", biased, 3)
	moe.NGroup, moe.TopKGroup = 2, 1
	b.check("a group counts by its two best", topK(2, .9, .1, .6, .5), 2, 3)
	moe.NGroup = 1

	weigh := func(idx ...float64) *ir.Op {
		return &ir.Op{Kind: ir.RouteWeights, K: len(idx), In: []ir.Ref{b.value(.1, .4, .2, .3), b.value(idx...)}}
	}
	b.check("weights as they are", weigh(1, 3), 1, 3, .4, .3)
	moe.RoutedScalingFactor = 2
	b.check("scaled", weigh(1, 3), 1, 3, .8, .6)
	moe.NormTopKProb = true
	b.check("normalised and scaled", weigh(0, 3), 0, 3, .5, 1.5)
}

// TestSplitsAreExact checks that attention in splits, followed by combine, gives the same result as latent
// attention without splits, also if most splits are empty.
func TestSplitsAreExact(t *testing.T) {
	b := newBench(t, nil)
	cache := b.m.p.NewValue("cache", 0, 4)
	cache.Class = ir.Cache
	rows := [][]float64{{1, 2, .5, -1}, {0, -3, 2, 1}, {4, 1, 0, 0}, {-1, 1, 1, 1}, {2, 2, -2, 3}}
	q, pe := b.value(1, -1, .5, 2), b.value(.25, 1, -1, .5)
	in := []ir.Ref{ir.Batched(q.V, 0, 2, 2), ir.Batched(pe.V, 0, 2, 2), ir.All(cache)}
	for n := 1; n <= len(rows); n++ {
		b.m.caches[0], b.m.pos = rows[:n], n-1
		whole := &ir.Op{Kind: ir.LatentAttn, In: in, Heads: 2, Scale: .5, Out: []*ir.Value{b.m.p.NewValue("whole", 0, 4)}}
		if err := b.m.run(whole); err != nil {
			t.Fatal(err)
		}
		split := &ir.Op{Kind: ir.AttendSplit, In: in, Heads: 2, Scale: .5, Splits: 3, Tile: 1,
			Out: []*ir.Value{b.m.p.NewValue("sums", 0, 3*4), b.m.p.NewValue("ml", 0, 3*4)}}
		if err := b.m.run(split); err != nil {
			t.Fatal(err)
		}
		b.check("combine", &ir.Op{Kind: ir.Combine, Heads: 2, Splits: 3, Tile: 1, In: []ir.Ref{ir.All(split.Out[0]), ir.All(split.Out[1])}},
			b.m.values[whole.Out[0]]...)
	}
}

// TestRoundHalf compares with the conversion of package quant.
func TestRoundHalf(t *testing.T) {
	for _, x := range []float32{0, 1, -1, 1.0004883, 1.0014648, 0.1, 65504, 6.1035156e-05, 5.9604645e-08, 2e-8, 1e-5, -3.14159, 2049, 2051} {
		got := []float64{float64(x)}
		roundHalf(got)
		if want := float64(quant.HalfToFloat(quant.FloatToHalf(x))); got[0] != want {
			t.Errorf("%g rounds to %g, want %g", x, got[0], want)
		}
	}
}

// TestNoFormula: a kind without a formula is an error that names the op.
func TestNoFormula(t *testing.T) {
	p := lower.Lower(spectest.Random(1), 1)
	const unknown = ir.Kind(200)
	if formulas[unknown] != nil {
		t.Fatal("kind 200 exists")
	}
	for k := range formulas {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
	if err := New(p, nil).run(&ir.Op{Kind: unknown}); err == nil {
		t.Error("no error")
	}
}

// TestBakedRope: the passes' constants are those of the formulas here, also
// where the ramp of YaRN is empty, cut off, or one step.
func TestBakedRope(t *testing.T) {
	for seed := range uint64(60) {
		checkBaked(t, spectest.Random(seed))
	}
	for _, y := range []spec.Yarn{
		{Factor: 0.5, OriginalMaxPositionEmbeddings: 64, AttnFactor: 1},
		{Factor: 1, OriginalMaxPositionEmbeddings: 4096, AttnFactor: 1.5},
		{Factor: 40, OriginalMaxPositionEmbeddings: 1, AttnFactor: 1},
		{Factor: 40, OriginalMaxPositionEmbeddings: 1 << 30, AttnFactor: 2, MScaleAllDim: 0.707},
	} {
		for _, theta := range []float64{1.5, 10000, 1e12} {
			s := spectest.Random(3)
			s.Rope = spec.Rope{Theta: theta, Scaling: &y}
			checkBaked(t, s)
		}
	}
}

func checkBaked(t *testing.T, s *spec.Spec) {
	t.Helper()
	p := lower.Lower(s, 1)
	if err := pass.Compile(p, pass.Options{Until: "bake_rope"}); err != nil {
		t.Fatal(err)
	}
	freqs, mag := ropeFormula(s)
	if !(math.Abs(mag-p.RopeMScale) <= 1e-15) || len(freqs) != len(p.RopeFreqs) {
		t.Fatalf("%+v: factor %g and %d angles, want %g and %d", s.Rope, p.RopeMScale, len(p.RopeFreqs), mag, len(freqs))
	}
	for i, f := range freqs {
		if !(math.Abs(f-p.RopeFreqs[i]) <= 1e-15*f) {
			t.Errorf("%+v: angle %d is %g, want %g", s.Rope, i, p.RopeFreqs[i], f)
		}
	}
}
