package check

import (
	"slices"

	"mla/runtime/plan"
)

// fewSessions is the number of sessions of a kernel's rows, unless the kernel needs more.
const fewSessions = 16

// largeSessions replaces fewSessions for a kernel with expanded heads or with states: large models need
// megabytes for every page or session.
const largeSessions = 2

// rowsOfSession returns how many rows a session has, each at its own position: one, unless there are more
// rows than sessions.
func rowsOfSession(k *plan.Kernel, width, context int) int {
	few := fewSessions
	if slices.ContainsFunc(k.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceHeads || s.Space == plan.SpaceState }) {
		few = largeSessions
	}
	return min((width+few-1)/few, context)
}

// eachRow calls f with the bytes of every live row of a slot, or once with the whole slot if it is not
// divided into rows.
func (m *memory) eachRow(slot int, f func(row int, buf []byte)) {
	buf := m.buffers[slot]
	if m.kernel.Slots[slot].Stride == 0 {
		f(0, buf)
		return
	}
	n := len(buf) / m.kernel.Width
	for row := range m.live {
		f(row, buf[row*n:(row+1)*n])
	}
}

// rowBytes returns the bytes of a row of a slot, as eachRow does.
func (m *memory) rowBytes(slot, row int) (bytes []byte) {
	m.eachRow(slot, func(r int, buf []byte) {
		if r == row {
			bytes = buf
		}
	})
	return bytes
}

// rowFloats views the bytes of a row as float32.
func (m *memory) rowFloats(slot, row int) []float32 { return floats(m.rowBytes(slot, row)) }

// group selects experts for the live rows and lists the selections by expert (see plan.Grouping) if the
// kernel reads such a list. The first row selects among all experts, the other rows among a few. So of
// hundreds of experts most have no row, some have one, and some fill tiles; the kernel does not run all of
// them for a row or two each.
func (m *memory) group() {
	g := m.arguments.grouping
	if g == nil {
		return
	}
	of := make([][]uint32, g.Experts)
	for row := range m.live {
		candidates := g.Experts
		if row > 0 {
			candidates = min(g.K+2, g.Experts)
		}
		for k, i := range m.rng.Perm(candidates)[:g.K] {
			expert := g.Experts - 1 - i*g.Experts/candidates // the last expert is a candidate
			of[expert] = append(of[expert], uint32(row*g.K+k))
		}
	}
	starts, members := m.buffers[g.Starts][:0], m.buffers[g.Members][:0]
	for _, selections := range of {
		starts = append(starts, words(uint32(len(members)/4))...)
		members = append(members, words(selections...)...)
	}
	_ = append(starts, words(uint32(len(members)/4))...)
}
