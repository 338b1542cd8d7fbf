package main

import (
	"fmt"
	"slices"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"

	"mla/runtime/device"
)

// gap is the distance of the second half of the weights from the first: more than the 32 bits of an offset in
// an indirect command buffer.
const gap = 1<<32 + 1<<20

// distant binds a model to a region of more than 4 GiB. Only the pages with weights are ever touched.
func distant(m *device.Model) (*device.Model, error) {
	size := int64(0)
	for _, r := range m.Regions {
		size += int64(len(r)) + device.MappedAlign
	}
	memory, err := syscall.Mmap(-1, 0, int(size+gap+device.MappedAlign), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes: %w", size+gap, err)
	}
	base := int(-uintptr(unsafe.Pointer(&memory[0])) % device.MappedAlign)
	far := &device.Model{Bundle: m.Bundle, Regions: [][]byte{memory[base : base+int(size+gap)]}, Mapped: 1}
	for i := range m.Weights {
		row := slices.Clone(m.Weights[i])
		for l := range row {
			w := &row[l]
			from := m.Regions[w.Region][w.Offset : w.Offset+w.Bytes]
			for r := range w.Region {
				w.Offset += (int64(len(m.Regions[r])) + device.MappedAlign - 1) / device.MappedAlign * device.MappedAlign
			}
			if l%2 == 1 {
				w.Offset += gap
			}
			w.Region = 0
			copy(far.Regions[0][w.Offset:], from)
		}
		far.Weights = append(far.Weights, row)
	}
	return far, nil
}

// leaks makes the simulator check for objects that were not released. The simulator aborts if it finds one.
func leaks(library string) error {
	handle, err := purego.Dlopen(library, purego.RTLD_NOW)
	if err != nil {
		return err
	}
	var count func() int32
	purego.RegisterLibFunc(&count, handle, "metalsim_leaks")
	if n := count(); n != 0 {
		return fmt.Errorf("leak: %d things", n)
	}
	return nil
}
