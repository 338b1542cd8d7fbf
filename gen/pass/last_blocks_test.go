package pass

import (
	"slices"
	"strings"
	"testing"

	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/spec"
	"mla/gen/spectest"
)

// lastBlockSpec is a model of two layers, a dense and an MoE one.
func lastBlockSpec(qLoraRank int) *spec.Spec {
	s := spectest.Random(0)
	s.Model.NumHiddenLayers, s.Model.NumAttentionHeads, s.Model.QLoraRank = 2, 3, qLoraRank
	s.MoE = &spec.MoE{NRoutedExperts: 8, NumExpertsPerTok: 2, NSharedExperts: 1, MoEIntermediateSize: 32, FirstKDenseReplace: 1,
		ScoringFunc: "sigmoid", RoutedScalingFactor: 1, NGroup: 1, TopKGroup: 1}
	s.Tuning.LastBlocks = true
	return s
}

// TestLastBlocks holds the launches of a layer, and what each last-block part follows.
func TestLastBlocks(t *testing.T) {
	tests := []struct {
		name      string
		qLoraRank int
		disable   []string
		want      string // of layer 0; last-block parts follow what they are behind after a <
	}{
		{"low-rank queries", 32, nil, "q_a+kv_a q_b+store_kv+k_b<q_b attend v_b o_proj gate_up down"},
		{"direct queries", 0, nil, "q+kv_a+store_kv<kv_a+k_b<q attend v_b o_proj gate_up down"},
		{"switched off", 32, []string{"last_blocks"}, "q_a+kv_a q_b+store_kv k_b attend v_b o_proj gate_up down"},
		{"a rope of its own makes no rows", 32, []string{"fuse_rope"}, "q_a+kv_a q_b+store_kv q_rope k_b attend v_b o_proj gate_up down"},
		{"parts of which one is no last-block part", 0, []string{"fuse_store_kv"}, "q+kv_a kv_a_norm k_rope store_kv+k_b attend v_b o_proj gate_up down"},
		{"what lies between", 0, []string{"merge_qkv_a", "merge_store_kv"}, "q kv_a+store_kv<kv_a k_b attend v_b o_proj gate_up down"},
	}
	for _, tt := range tests {
		p := lower.Lower(lastBlockSpec(tt.qLoraRank), 1)
		if err := Compile(p, Options{Disable: tt.disable}); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := layerLaunches(p, 0); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
		counting := false // since the last barrier
		for i, s := range p.Launches {
			counting = counting && !s.Barrier
			if hasLastBlock(s) && counting {
				t.Errorf("%s: launch %d (%s) does not wait for who shares its counters", tt.name, i, s.Name())
			}
			counting = counting || hasLastBlock(s)
		}
	}
}

// layerLaunches spells a layer's launches and their parts.
func layerLaunches(p *ir.Program, layer int) string {
	var launches []string
	for _, s := range p.Launches {
		if s.Layer != layer {
			continue
		}
		var parts []string
		for _, part := range s.Parts {
			name := part.Name()
			if part.LastBlock != nil {
				name += "<" + part.LastBlock.After.Name()
			}
			parts = append(parts, name)
		}
		launches = append(launches, strings.Join(parts, "+"))
	}
	return strings.Join(launches, " ")
}

func hasLastBlock(s *ir.Launch) bool {
	return slices.ContainsFunc(s.Parts, func(part *ir.Part) bool { return part.LastBlock != nil })
}

// TestLastBlockCounters: all layers count a last-block part with the same counters, other last-block parts with others.
func TestLastBlockCounters(t *testing.T) {
	p := lower.Lower(lastBlockSpec(0), 1)
	if err := Compile(p, Options{}); err != nil {
		t.Fatal(err)
	}
	places := map[string]int64{}
	for _, s := range p.Launches {
		for _, part := range s.Parts {
			if part.LastBlock == nil {
				continue
			}
			at := part.LastBlock.Counters.Offset
			if before, ok := places[part.Name()]; ok && before != at {
				t.Errorf("%s counts at %d and at %d", part.Name(), before, at)
			}
			places[part.Name()] = at
		}
	}
	if len(places) != 2 || places["k_b"] == places["store_kv"] || p.CounterBytes != 512 {
		t.Errorf("counters at %v in %d bytes", places, p.CounterBytes)
	}
}

// TestLastBlockRefuses: a threadgroup whose rows belong to two heads cannot count for one.
func TestLastBlockRefuses(t *testing.T) {
	s := lastBlockSpec(32)
	s.Tuning.MatVec = spec.Shape{RowsPerSimdgroup: 10, Simdgroups: 2, SplitK: 1}
	err := Compile(lower.Lower(s, 1), Options{})
	if want := "threadgroups of 20 rows cut the "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want an error that says %q", err, want)
	}
}

// TestLastBlockShapes: a kernel with last-block parts has the shape that the tuning gives it without.
func TestLastBlockShapes(t *testing.T) {
	want := spec.Shape{RowsPerSimdgroup: 8, Simdgroups: 2, SplitK: 1, Unroll: 2}
	s := lastBlockSpec(32)
	s.Tuning.SetShape("q_b_store_kv", want)
	p := lower.Lower(s, 1)
	if err := Compile(p, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, launch := range p.Launches {
		if got := p.Shape(launch); hasLastBlock(launch) && got != want {
			t.Errorf("%s: shape %+v, want %+v", launch.Name(), got, want)
		}
	}
}
