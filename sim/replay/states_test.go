package replay_test

import (
	"slices"
	"testing"

	"mla/gen/msl/execute"
	"mla/runtime/device"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestStates: a session that goes on from a copy of a state has the logits of the one that was copied, to the bit.
func TestStates(t *testing.T) {
	t.Parallel()
	run := hybridRun{"kimi-linear-mini-Q4_0", []int{1}, nil, "f32"}
	stem := root + "testdata/hybrid/" + run.name
	m := bindTo(t, stem+".gguf", []*plan.Bundle{run.compile(t, stem+".gguf")}, bind.Wish{Act: run.act})
	r := record(t, newDevice(t, execute.Fast), m, device.Config{Context: 8, KV: quant.F32})
	for pos, token := range []int32{3, 40, 200} {
		step(t, r, pos, token)
	}
	states := device.StatesOf(r)
	kept := make([]byte, states.StateBytes())
	if err := states.ReadState(0, kept); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(step(t, r, 3, 7))
	if slices.Equal(want, step(t, r, 3, 7)) {
		t.Error("a token twice has the same logits: it moved no state on")
	}
	if err := states.WriteState(0, kept); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(want, step(t, r, 3, 7)) {
		t.Error("a session that goes on from a copy has other logits")
	}
	for _, err := range []error{states.ReadState(1, kept), states.WriteState(0, kept[1:])} {
		if err == nil {
			t.Error("no error for a table that there is not, or for another size")
		}
	}
}
