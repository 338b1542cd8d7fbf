package cuda

import (
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// wantedBytes is the size of the wanted rows of a unit; slotBytes is the size of all rows.
func (r *runner) wantedBytes() int { return r.batch * int(rowBytes) }

func (r *runner) slotBytes() int { return r.wantedBytes() + r.width*int(rowBytes) }

// setRows copies rows, followed by dead rows up to width, to the device. The sequence of one row does not
// read the wanted rows.
func (r *runner) setRows(slot int, rows []plan.Row, wanted []int, width int) error {
	r.keepRows(slot, rows, wanted, width)
	at := slot * r.slotBytes()
	if width == 1 {
		return r.stream.Upload(r.memory.Spaces[plan.SpaceRow], r.rows, at+r.wantedBytes(), int(rowBytes))
	}
	return r.stream.Upload(r.memory.Spaces[plan.SpaceWanted], r.rows, at, r.wantedBytes()+width*int(rowBytes))
}

// keepRows writes rows, followed by dead rows up to width, to the page-locked memory of a slot.
func (r *runner) keepRows(slot int, rows []plan.Row, wanted []int, width int) {
	to := unsafe.Slice((*plan.Row)(unsafe.Pointer(&r.rows.Bytes()[slot*r.slotBytes()])), r.batch+width)
	clear(to[len(device.Wanted(to[:0], rows, wanted)):r.batch])
	to = to[r.batch:]
	clear(to[copy(to, rows):])
}
