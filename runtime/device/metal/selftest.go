package metal

import (
	"encoding/binary"
	"fmt"

	"mla/runtime/device/metal/mtl"
)

// selfTestSource has two kernels; the second reads what the first has stored.
const selfTestSource = `#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp contract(off)
#else
#pragma clang fp contract(off)
#endif

kernel void squares(device const uint * in [[buffer(0)]], device uint * out [[buffer(1)]], constant uint & n [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) {
  if (i < n) out[i] = in[i] * in[i];
}

kernel void reversed(device const uint * in [[buffer(0)]], device uint * out [[buffer(1)]], constant uint & n [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
  if (i < n) out[i] = in[n - 1u - i] + 1u;
}
`

const (
	selfTestNumbers = 1000 // not a whole number of threadgroups
	selfTestThreads = 64
	selfTestRounds  = 3
)

// Language is the version of the shading language and the math mode that kernels are compiled with.
func (d *Device) Language() string { return "Metal 3.1, safe math mode" }

func (d *Device) selfTestLauncher(how Replay) (*Launcher, error) {
	return d.launcher(how == ReplayICB, func(gpu mtl.Device) (mtl.Library, string, error) {
		l, err := gpu.NewLibrary(selfTestSource, mtl.Language3_1)
		return l, FromSource, err
	})
}

// SelfTest runs two dependent dispatches with a barrier between them, several times with different numbers,
// from one indirect command buffer or encoded directly. It compares the results.
func (d *Device) SelfTest(how Replay) error { return d.selfTest(how, nothing) }

// selfTest is SelfTest with a given residency set.
func (d *Device) selfTest(how Replay, resident members) error {
	l, err := d.selfTestLauncher(how)
	if err != nil {
		return err
	}
	defer l.Close()
	const n = selfTestNumbers
	numbers, squares, reversed := make([]byte, 4*n), make([]byte, 4*n), make([]byte, 4*n)
	length := binary.LittleEndian.AppendUint32(nil, n)
	groups := (n + selfTestThreads - 1) / selfTestThreads
	b, err := l.batch([]job{
		{"squares", groups, selfTestThreads, [][]byte{numbers, squares, length}, false},
		{"reversed", groups, selfTestThreads, [][]byte{squares, reversed, length}, true},
	})
	defer b.release()
	if err == nil {
		err = b.reside(resident)
	}
	for round := uint32(0); err == nil && round < selfTestRounds; round++ {
		for i := range uint32(n) {
			binary.LittleEndian.PutUint32(numbers[4*i:], i+7*round)
		}
		if err = b.run(); err != nil {
			break
		}
		for i := range uint32(n) {
			from := n - 1 - i + 7*round
			if got := binary.LittleEndian.Uint32(reversed[4*i:]); got != from*from+1 {
				return fmt.Errorf("number %d of round %d is %d; expected %d", i, round, got, from*from+1)
			}
		}
	}
	return err
}
