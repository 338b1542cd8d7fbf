package cuda

import (
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// wantedBytes is the size of the rows that are wanted, slotBytes that of all rows of a unit.
func (r *runner) wantedBytes() int { return r.batch * int(rowBytes) }

func (r *runner) slotBytes() int { return r.wantedBytes() + r.width*int(rowBytes) }

// setRows makes rows, and dead ones after them, those of what follows in the stream, a
// sequence of that many. That of one row reads no list of those that are wanted.
func (r *runner) setRows(slot int, rows []plan.Row, wanted []int, width int) error {
	r.keepRows(slot, rows, wanted, width)
	at := slot * r.slotBytes()
	if width == 1 {
		return r.stream.Upload(r.memory.Spaces[plan.SpaceRow], r.rows, at+r.wantedBytes(), int(rowBytes))
	}
	return r.stream.Upload(r.memory.Spaces[plan.SpaceWanted], r.rows, at, r.wantedBytes()+width*int(rowBytes))
}

// keepRows puts rows where the unit in a slot takes them from, a sequence of that many.
func (r *runner) keepRows(slot int, rows []plan.Row, wanted []int, width int) {
	to := unsafe.Slice((*plan.Row)(unsafe.Pointer(&r.rows.Bytes()[slot*r.slotBytes()])), r.batch+width)
	clear(to[len(device.Wanted(to[:0], rows, wanted)):r.batch])
	to = to[r.batch:]
	clear(to[copy(to, rows):])
}
