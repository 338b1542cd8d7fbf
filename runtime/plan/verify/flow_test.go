package verify

import (
	"strings"
	"testing"

	"mla/runtime/plan"
)

// TestFlow: what must wait for what, in sequences of two dispatches of a copy.
func TestFlow(t *testing.T) {
	kernel := &plan.Kernel{Slots: []plan.Slot{{Space: plan.SpaceArena}, {Space: plan.SpaceArena, Write: true}}}
	at := func(from, to int64) plan.Dispatch {
		return plan.Dispatch{Operands: []plan.Operand{{Space: plan.SpaceArena, Offset: from, Bytes: 16}, {Space: plan.SpaceArena, Offset: to, Bytes: 16}}}
	}
	for name, tt := range map[string]struct {
		first, second plan.Dispatch
		waits         bool
	}{
		"apart":                       {at(0, 16), at(32, 48), false},
		"both read":                   {at(0, 16), at(0, 32), false},
		"reads what was written":      {at(0, 16), at(16, 32), true},
		"writes what was written":     {at(0, 16), at(32, 16), true},
		"writes what was read":        {at(0, 16), at(32, 0), true},
		"reads some of the same":      {at(0, 16), at(24, 64), true},
		"reads just behind":           {at(0, 16), at(32, 64), false},
		"writes some of what is read": {at(8, 32), at(64, 16), true},
	} {
		for _, barrier := range []bool{false, true} {
			var f flow
			if err := f.step(kernel, &tt.first); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			tt.second.Barrier = barrier
			if err := f.step(kernel, &tt.second); (err != nil) != (tt.waits && !barrier) {
				t.Errorf("%s, barrier %t: %v", name, barrier, err)
			}
		}
	}
	var f flow
	same := at(0, 8)
	if err := f.step(kernel, &same); err == nil || !strings.Contains(err.Error(), "through another") {
		t.Errorf("one dispatch reads what it writes: %v", err)
	}
	two := &plan.Kernel{Slots: []plan.Slot{{Space: plan.SpaceArena, Write: true}, {Space: plan.SpaceArena, Write: true}}}
	if err := f.step(two, &same); err == nil || !strings.Contains(err.Error(), "through two slots") {
		t.Errorf("one dispatch writes twice: %v", err)
	}
}
