package check

import (
	"encoding/binary"
	"slices"
)

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

// group lists the selections of all rows by expert, see plan.Grouping, where the kernel
// reads such a list.
func (m *memory) group() {
	g := m.arguments.grouping
	if g == nil || m.arguments.slots[g.Starts].holds != starts {
		return
	}
	type selection struct{ expert, number uint32 }
	var all []selection
	m.eachRow(m.arguments.routing, func(row int, buf []byte) {
		for k := range g.K {
			all = append(all, selection{binary.LittleEndian.Uint32(buf[8*k:]), uint32(row*g.K + k)})
		}
	})
	slices.SortStableFunc(all, func(a, b selection) int { return int(a.expert) - int(b.expert) })
	first, count := m.buffers[g.Starts], 0
	for i, s := range all {
		binary.LittleEndian.PutUint32(m.buffers[g.Members][4*i:], s.number)
		if i == 0 || s.expert != all[i-1].expert {
			binary.LittleEndian.PutUint32(first[4*count:], uint32(i))
			count++
		}
	}
	for ; count < len(first)/4; count++ {
		binary.LittleEndian.PutUint32(first[4*count:], uint32(len(all)))
	}
}
