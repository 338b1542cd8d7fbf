package verify

import (
	"strings"
	"testing"

	"mla/runtime/plan"
)

// TestFlow checks which of two dispatches of a copy have to wait for each other.
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
		"reads just after":            {at(0, 16), at(32, 64), false},
		"writes some of what is read": {at(8, 32), at(64, 16), true},
	} {
		for _, barrier := range []bool{false, true} {
			var f flow
			if err := f.step([]*plan.Kernel{kernel}, &tt.first); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			tt.second.Barrier = barrier
			if err := f.step([]*plan.Kernel{kernel}, &tt.second); (err != nil) != (tt.waits && !barrier) {
				t.Errorf("%s, barrier %t: %v", name, barrier, err)
			}
		}
	}
	var f flow
	same := at(0, 8)
	if err := f.step([]*plan.Kernel{kernel}, &same); err == nil || !strings.Contains(err.Error(), "through another") {
		t.Errorf("one dispatch reads what it writes: %v", err)
	}
	two := &plan.Kernel{Slots: []plan.Slot{{Space: plan.SpaceArena, Write: true}, {Space: plan.SpaceArena, Write: true}}}
	if err := f.step([]*plan.Kernel{two}, &same); err == nil || !strings.Contains(err.Error(), "through two slots") {
		t.Errorf("one dispatch writes twice: %v", err)
	}
}

// TestFlowEarly: experts that read what was selected before the dispatch before has ended do not stand right after
// the one that lists it.
func TestFlowEarly(t *testing.T) {
	arena := func(writes ...bool) (list []plan.Slot) {
		for _, w := range writes {
			list = append(list, plan.Slot{Space: plan.SpaceArena, Write: w})
		}
		return list
	}
	grouping := plan.Grouping{Starts: 1, Members: 2, Experts: 4, K: 2}
	experts := func(stride int) *plan.Kernel {
		e := &plan.Experts{Product: plan.Product{In: plan.Vec{Stride: stride}}, Grouping: &grouping, Persistent: 1}
		return &plan.Kernel{Width: 8, Slots: arena(false, false, false, true), Parts: []plan.Part{e}}
	}
	route := &plan.Kernel{Width: 8, Slots: arena(true, true, true), Parts: []plan.Part{&plan.RouteBatch{Gating: plan.Gating{K: 2}, Grouping: grouping}}}
	at := func(barrier bool, offsets ...int64) *plan.Dispatch {
		d := &plan.Dispatch{Barrier: barrier}
		for _, o := range offsets {
			d.Operands = append(d.Operands, plan.Operand{Space: plan.SpaceArena, Offset: o, Bytes: 16})
		}
		return d
	}
	up, down := experts(0), experts(8)
	type step struct {
		k *plan.Kernel
		d *plan.Dispatch
	}
	for name, tt := range map[string]struct {
		steps []step
		fails bool
	}{
		"after the experts that made its inputs": {[]step{{route, at(true, 0, 16, 32)}, {up, at(true, 48, 16, 32, 64)}, {down, at(true, 64, 16, 32, 80)}}, false},
		"right after":                            {[]step{{route, at(true, 0, 16, 32)}, {down, at(true, 64, 16, 32, 80)}}, true},
		"after the first of two side by side":    {[]step{{route, at(true, 0, 16, 32)}, {up, at(true, 48, 16, 32, 64)}, {route, at(false, 96, 112, 128)}, {down, at(true, 64, 112, 128, 80)}}, true},
	} {
		var f flow
		var err error
		for _, s := range tt.steps {
			if err == nil {
				err = f.step([]*plan.Kernel{s.k}, s.d)
			}
		}
		if (err != nil) != tt.fails || err != nil && !strings.Contains(err.Error(), "may still write it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
