package check

import (
	"slices"

	"mla/runtime/plan"
)

// fewSessions is how many sessions a kernel's rows are of if they need not be of more.
const fewSessions = 16

// largeSessions is the same of a kernel with expanded heads or with states: large models have megabytes of them for
// every page or session.
const largeSessions = 2

// rowsOfSession is how many rows a session has, at positions of its own: one, unless there are
// more rows than sessions.
func rowsOfSession(k *plan.Kernel, width, context int) int {
	few := fewSessions
	if slices.ContainsFunc(k.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceHeads || s.Space == plan.SpaceState }) {
		few = largeSessions
	}
	return min((width+few-1)/few, context)
}

// eachRow calls f for the bytes of every live row in a slot, or once for all of it where
// rows have none of their own.
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

// rowBytes is what eachRow gives for a row.
func (m *memory) rowBytes(slot, row int) (bytes []byte) {
	m.eachRow(slot, func(r int, buf []byte) {
		if r == row {
			bytes = buf
		}
	})
	return bytes
}

// rowFloats views it.
func (m *memory) rowFloats(slot, row int) []float32 { return floats(m.rowBytes(slot, row)) }

// group selects experts for the live rows and lists the selections by expert, see
// plan.Grouping, where the kernel reads such a list. The first row selects among all, the
// others among a few: of hundreds of experts most have none, some one, and some as many
// as fill tiles, so that the kernel does not run them all for a row or two each.
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
			expert := g.Experts - 1 - i*g.Experts/candidates // the last one is among them
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
