package pass

import (
	"testing"

	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/spec"
	"mla/gen/spectest"
)

// TestNormPartial: in compiled models only the cache write normalises what it reads,
// every norm's first half stands once, and its sums fit the shapes of the kernels.
func TestNormPartial(t *testing.T) {
	for seed := range uint64(40) {
		s := spectest.Random(seed)
		s.Tuning.MatVec.RowsPerSimdgroup = []int{2, 4, 6, 16}[seed%4]
		want := []int{2, 4, 2, 16}[seed%4] // all widths are multiples of 32
		p := lower.Lower(s, 1)
		if err := Compile(p, Options{}); err != nil {
			t.Fatal(err)
		}
		norms, halves := 0, 0
		p.Ops(func(_ *ir.Launch, part *ir.Part, op *ir.Op) {
			switch {
			case op.Kind == ir.RMSNorm && part.Find(ir.StoreKV) == nil:
				norms++
			case op.Kind == ir.NormPartial:
				halves++
				if op.Group != want {
					t.Errorf("seed %d: sums of %d squares, want %d", seed, op.Group, want)
				}
			}
		})
		perLayer := 2
		if s.Model.QLoraRank > 0 {
			perLayer = 3
		}
		if all := perLayer*s.Model.NumHiddenLayers + 1; norms > 0 || halves != all {
			t.Errorf("seed %d: %d norms are whole, %d of %d are cut\n%s", seed, norms, halves, all, p)
		}
	}
}

// TestNormPartialSumGroup: the bound of mlagen tune holds, whatever the shapes allow.
func TestNormPartialSumGroup(t *testing.T) {
	for seed := range uint64(10) {
		s := spectest.Random(seed)
		s.Tuning.MatVec.RowsPerSimdgroup, s.Tuning.SumGroup = []int{2, 4, 6, 16}[seed%4], 2
		p := lower.Lower(s, 1)
		if err := Compile(p, Options{}); err != nil {
			t.Fatal(err)
		}
		p.Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
			if op.Kind == ir.NormPartial && op.Group != 2 {
				t.Errorf("seed %d: sums of %d squares", seed, op.Group)
			}
		})
	}
}

// TestNormPartialKeeps: a value that norms of two weights read is not cut, and
// the residual stays stored.
func TestNormPartialKeeps(t *testing.T) {
	for _, differ := range []bool{false, true} {
		p := lower.Lower(spectest.Random(3), 1)
		if err := Compile(p, Options{Until: "merge_shared"}); err != nil {
			t.Fatal(err)
		}
		embed, uses := p.Launches[0].Parts[0], ir.Analyze(p)
		x := embed.Ops[0].Out[0]
		norm := uses.Readers(x)[0].Ops[0] // of the query; that of the latent follows
		if differ {
			norm.W = []*ir.Value{p.WeightValue("norm", -1)}
		}
		h := partialNormOf(uses, embed)
		if differ != (h == nil) {
			t.Errorf("weights differ: %t, cut: %t", differ, h != nil)
		}
		if h == nil {
			continue
		}
		h.rewrite(p, 2)
		if fresh := ir.Analyze(p); fresh.Local(x) || len(fresh.Readers(embed.Ops[1].Out[0])) != 2 {
			t.Errorf("the residual is not stored, or the norms do not read the first halves\n%s", p)
		}
	}
}

// TestShape: how many simdgroups a kernel gets follows from its matrices.
func TestShape(t *testing.T) {
	s := spectest.Random(1)
	s.MoE, s.Tuning.MatVec = nil, spec.Shape{}
	s.Model.HiddenSize, s.Model.IntermediateSize, s.Model.VocabSize = 2048, 6144, 64000
	p := lower.Lower(s, 1)
	if err := Compile(p, Options{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]spec.Shape{
		"down": {RowsPerSimdgroup: 2, Simdgroups: 4, SplitK: 4, Unroll: 4}, "gate_up": {RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 2, Unroll: 4},
		"lm_head": {RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 1, Unroll: 4}, "k_b": {RowsPerSimdgroup: 4, Simdgroups: 4, SplitK: 1, Unroll: 4},
	} {
		for _, launch := range p.Launches {
			if launch.Name() == name && p.Shape(launch) != want {
				t.Errorf("%s: %+v, want %+v", name, p.Shape(launch), want)
			}
		}
	}
}
