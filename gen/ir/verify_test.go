package ir_test

import (
	"strings"
	"testing"

	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/pass"
	"mla/gen/spec"
	"mla/gen/spectest"
)

// moeSpec is a two-layer model with every kind of op.
func moeSpec() *spec.Spec {
	s := spectest.Random(0)
	s.Model.NumHiddenLayers, s.Model.NumAttentionHeads, s.Model.QLoraRank = 2, 3, 32
	s.MoE = &spec.MoE{NRoutedExperts: 8, NumExpertsPerTok: 2, NSharedExperts: 1, MoEIntermediateSize: 32, FirstKDenseReplace: 1,
		ScoringFunc: "sigmoid", SelectionBias: true, RoutedScalingFactor: 1, NGroup: 1, TopKGroup: 1}
	return s
}

// op finds the first op of that name.
func op(t *testing.T, p *ir.Program, name string) *ir.Op {
	t.Helper()
	var found *ir.Op
	p.Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
		if found == nil && op.Name == name {
			found = op
		}
	})
	if found == nil {
		t.Fatalf("no op is called %s", name)
	}
	return found
}

// TestVerifyRefuses breaks the unfused program in every way that Verify checks.
func TestVerifyRefuses(t *testing.T) {
	tests := []struct {
		name   string
		damage func(p *ir.Program)
		want   string
	}{
		{"nothing", func(p *ir.Program) {}, ""},
		{"empty launch", func(p *ir.Program) { p.Launches[3].Parts = nil }, "launch 3 is empty"},
		{"empty part", func(p *ir.Program) { p.Launches[3].Parts[0].Ops = nil }, "launch 3 has a part without ops"},
		{"no output", func(p *ir.Program) { op(t, p, "lm_head").Out[0].Output = false }, "0 ops write the output"},
		{"two outputs", func(p *ir.Program) { op(t, p, "gate").Out[0].Output = true }, "2 ops write the output"},
		{"use before definition", func(p *ir.Program) { p.Launches[1], p.Launches[2] = p.Launches[2], p.Launches[1] }, "read before it is written"},
		{"written twice", func(p *ir.Program) { op(t, p, "up").Out = op(t, p, "gate").Out }, "written twice"},
		{"parts that depend", func(p *ir.Program) {
			p.Launches[1].Parts = append(p.Launches[1].Parts, p.Launches[2].Parts...)
			p.Launches = append(p.Launches[:2], p.Launches[3:]...)
		}, "written by another part of the same launch"},
		{"negative offset", func(p *ir.Program) { op(t, p, "kv_a_norm").In[0].Off = -1 }, "lies outside its value"},
		{"empty ref", func(p *ir.Program) { op(t, p, "kv_a_norm").In[0].Len = 0 }, "lies outside its value"},
		{"past the end", func(p *ir.Program) { op(t, p, "k_rope").In[0].Off++ }, "lies outside its value"},
		{"last head past the end", func(p *ir.Program) { op(t, p, "attention").In[0].Stride *= 2 }, "lies outside its value"},
		{"last expert past the end", func(p *ir.Program) { op(t, p, "experts_down").In[0].Stride++ }, "lies outside its value"},
		{"input missing", func(p *ir.Program) { o := op(t, p, "swiglu"); o.In = o.In[:1] }, "has 1 inputs"},
		{"weight missing", func(p *ir.Program) { op(t, p, "q_a").W = nil }, "0 weights"},
		{"output missing", func(p *ir.Program) { op(t, p, "q_a").Out = nil }, "0 outputs"},
		{"weight too many", func(p *ir.Program) { op(t, p, "swiglu").W = op(t, p, "q_a").W }, "1 weights"},
		{"activation as weight", func(p *ir.Program) { op(t, p, "q_a").W = op(t, p, "embed").Out }, "is no weight"},
		{"another matrix", func(p *ir.Program) { op(t, p, "q_a").W = op(t, p, "q_b").W }, "the input is"},
		{"rows", func(p *ir.Program) { op(t, p, "q_a").Out[0].Len++ }, "the output is"},
		{"batch", func(p *ir.Program) { op(t, p, "q_a").Batch = 0 }, "the batch is 0, want 1"},
		{"experts", func(p *ir.Program) { op(t, p, "experts_gate").K = 3 }, "the output is"},
		{"experts' input", func(p *ir.Program) { op(t, p, "experts_gate").In[0].Len-- }, "the input is"},
		{"sum over experts", func(p *ir.Program) { op(t, p, "experts_sum").K = 1 }, "the input is"},
		{"norm of another width", func(p *ir.Program) { op(t, p, "attn_norm").W = op(t, p, "q_a_norm").W }, "the weight is 32, want"},
		{"normed width", func(p *ir.Program) { op(t, p, "attn_norm").Out[0].Len++ }, "the output is"},
		{"embedding", func(p *ir.Program) { op(t, p, "embed").W = op(t, p, "q_b").W }, "the output is"},
		{"cache row", func(p *ir.Program) { op(t, p, "store_kv").Out[0].Len-- }, "the cache row is"},
		{"halves of SwiGLU", func(p *ir.Program) { op(t, p, "swiglu").In[1].Len-- }, "the second input is"},
		{"residual", func(p *ir.Program) { op(t, p, "attn_residual").Out[0].Len-- }, "the output is"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := lower.Lower(moeSpec(), 1)
			tt.damage(p)
			err := ir.Verify(p)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v; want an error that says %q", err, tt.want)
			}
		})
	}
}

// TestMove checks that Uses, updated by Move, equal those of a new analysis.
func TestMove(t *testing.T) {
	p := lower.Lower(moeSpec(), 1)
	uses := ir.Analyze(p)
	var parts []*ir.Part
	for _, s := range p.Launches {
		parts = append(parts, s.Parts...)
	}
	for i := 0; i+3 < len(parts); i += 2 { // moves chain: a part that took ops gives them on
		from, into := parts[i], parts[i+3-i%3]
		into.Ops = append(append([]*ir.Op{}, from.Ops...), into.Ops...)
		uses.Move(from, into)
		from.Ops = nil
	}
	fresh := ir.Analyze(p)
	if uses.Local(op(t, p, "lm_head").Out[0]) {
		t.Error("the output counts as local")
	}
	p.Ops(func(_ *ir.Launch, _ *ir.Part, op *ir.Op) {
		for _, v := range op.Out {
			if uses.Writer(v) != fresh.Writer(v) {
				t.Errorf("%s: another writer", v)
			}
			if a, b := uses.Readers(v), fresh.Readers(v); len(a) != len(b) {
				t.Errorf("%s: %d readers, want %d", v, len(a), len(b))
			} else {
				for i := range a {
					if a[i] != b[i] {
						t.Errorf("%s: reader %d differs", v, i)
					}
				}
			}
			if uses.Local(v) != fresh.Local(v) {
				t.Errorf("%s: local %v", v, uses.Local(v))
			}
		}
	})
}

// TestComposable holds the signatures of every launch that the compiler makes,
// and some chains that no kernel runs.
func TestComposable(t *testing.T) {
	p := lower.Lower(moeSpec(), 1)
	if err := pass.Compile(p, pass.Options{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Launches {
		var parts []string
		for _, part := range s.Parts {
			parts = append(parts, part.Signature())
		}
		got = append(got, strings.Join(parts, "+"))
	}
	want := "eH KMH+KM KMR+NRS M L CM MAH KMMG MAH KMH+KM KMR+NRS M L CM MAH KM+KMMG KptwEEG EWMAAH KM"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("launches %s\nwant  %s", s, want)
	}
	kinds := map[byte]ir.Kind{'N': ir.RMSNorm, 'M': ir.MatVec, 'R': ir.Rope, 'G': ir.SwiGLU, 'A': ir.Add, 'C': ir.Combine,
		'S': ir.StoreKV, 'E': ir.ExpertsMatVec, 'W': ir.WeightedSum}
	for _, chain := range []string{"", "MM", "MG", "NN", "MRA", "NCM", "CMR", "AM", "MS", "EG", "EA", "EWG", "NNM"} {
		part := &ir.Part{}
		for i := range chain {
			part.Ops = append(part.Ops, &ir.Op{Kind: kinds[chain[i]]})
		}
		if ir.Composable(part) {
			t.Errorf("%q is no kernel", chain)
		}
	}
}
