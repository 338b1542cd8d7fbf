//go:build deep

package msl_test

import (
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/generated"
	"mla/runtime/device/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// alone is a bundle of the first kernel with last-block parts of b, with some of its variants.
func alone(t *testing.T, b *plan.Bundle, variants func(*plan.Kernel) []plan.Variant) *plan.Bundle {
	t.Helper()
	for _, d := range b.Decode {
		k := b.Kernels[d.Kernel]
		if len(k.LastBlocks) == 0 {
			continue
		}
		one := *b
		k.Variants, d.Kernel = variants(&k), 0
		one.Kernels, one.Decode, one.Head, one.Sample = []plan.Kernel{k}, []plan.Dispatch{d}, 1, nil
		source, err := msl.Print(&one, "// last-block parts")
		if err != nil {
			t.Fatal(err)
		}
		one.Source = source
		return &one
	}
	t.Fatalf("bundle %s: no kernel has a last-block part", b.Name)
	return nil
}

// TestBrokenLastBlocks makes the mistakes that a handover between threadgroups is prone to.
// The executor's races or its delayed stores, or the comparison with the twin, which
// covers the counters, find each.
func TestBrokenLastBlocks(t *testing.T) {
	const fence = "atomic_thread_fence(mem_flags::mem_device, FENCE_ORDER, thread_scope_device);\n"
	const barrier = "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);\n"
	arrive := "    const bool last = "
	tests := []struct {
		name, old, by string
		delayed       bool   // stores are seen after a fence only
		want          string // what the result says; "": that it is right
	}{
		{"nothing", "", "", false, ""},
		{"nothing, delayed", "", "", true, ""},
		{"no fence behind the stores", "    " + fence + arrive, arrive, false, "device-race"},
		{"no fence behind the stores, delayed", "    " + fence + arrive, arrive, true, "number "},
		{"no fence before the loads", "COUNT - 1u;\n    " + fence, "COUNT - 1u;\n", false, "device-race"},
		{"no barrier before the fence", barrier + "  if (tid == 0u) {\n", "if (tid == 0u) {\n", false, "device-race"},
		{"one too early", "COUNT - 1u", "COUNT - 2u", false, "device-race"},
		{"one too late", "COUNT - 1u", "COUNT", false, "number "},
		{"not set back", "if (last) atomic_store_explicit(arrived, 0u, memory_order_relaxed);", "", false, "of an argument that is only read"},
		{"counted in another group", "arrived_ + g / 3u", "arrived_ + 0u * g", false, "device-race"},
	}
	var tiny *plan.Bundle
	for _, b := range generated.Bundles() {
		if b.Name == "yoututinylastblock" {
			tiny = b
		}
	}
	b := alone(t, tiny, func(k *plan.Kernel) []plan.Variant { return k.Variants[:1] })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(b.Source, tt.old) {
				t.Fatalf("the source does not have %q", tt.old)
			}
			l := newLauncher(t, strings.Replace(b.Metal(), tt.old, tt.by, 1), execute.Checked|execute.Small)
			l.StoreDelay = tt.delayed
			cases, err := check.Cases(b)
			if err != nil {
				t.Fatal(err)
			}
			for i := range cases {
				r := cases[i].Check(l)
				if tt.want == "" && !r.OK() || tt.want != "" && (r.OK() || !strings.Contains(r.Problem(), tt.want)) {
					t.Errorf("%s; want %q", r.Problem(), tt.want)
				}
			}
		})
	}
}

// TestLastBlockFormats runs last-block parts on all formats and both types of activations.
func TestLastBlockFormats(t *testing.T) {
	for _, act := range spec.Activations {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			s := spectest.Random(1)
			s.Activations, s.Tuning.LastBlocks = act, true
			s.Model.NumAttentionHeads, s.Model.QLoraRank, s.Model.QKNopeHeadDim, s.Model.KVLoraRank = 3, 256, 256, 40
			b, err := gen.Compile(s, nil)
			if err != nil {
				t.Fatal(err)
			}
			b = alone(t, b, everyFormat)
			cases := twins(t, b)
			launcherOf(t, b, cases, execute.Checked|execute.Small).compareWithTwins(t, cases)
		})
	}
}

// everyFormat is a kernel's variants with all weights of one format, for all formats.
func everyFormat(k *plan.Kernel) []plan.Variant {
	var list []plan.Variant
	for _, f := range quant.Formats() {
		v := plan.Variant{Func: k.Name + "_" + f.Name}
		for _, slot := range k.TypedSlots() {
			typ := f.Type
			if k.Slots[slot].Space == plan.SpaceKV {
				typ = quant.F16
			}
			v.Types = append(v.Types, typ)
		}
		list = append(list, v)
	}
	return list
}
