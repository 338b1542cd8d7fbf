package metal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"mla/runtime/device/metal/mtl"
)

// probeSource has kernels that measure what a GPU's speed depends on. busy keeps all cores busy for a given
// number of rounds. total sums up memory. step adds 1, so a chain of dependent steps counts itself. peek
// reads one byte of each of two buffers.
const probeSource = `#include <metal_stdlib>
#if __METAL_VERSION__ >= 320
#pragma METAL fp contract(off)
#else
#pragma clang fp contract(off)
#endif

kernel void busy(device uint * out [[buffer(0)]], constant uint4 & record [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  uint x = i + 1u;
  for (uint n = 0u; n < record.z; ++n) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  out[i] = x;
}

kernel void total(device const uint4 * in [[buffer(0)]], device uint * out [[buffer(1)]], constant uint2 & size [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  uint4 sum = uint4(0u);
  for (uint at = i; at < size.x; at += size.y) sum += in[at];
  out[i] = sum.x + sum.y + sum.z + sum.w;
}

kernel void step(device const uint * in [[buffer(0)]], device uint * out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  if (i == 0u) out[0] = in[0] + 1u;
}

kernel void peek(device const uchar * a [[buffer(0)]], device const uchar * b [[buffer(1)]], device uint * out [[buffer(2)]], constant uint2 & at [[buffer(3)]],
                 uint i [[thread_position_in_grid]]) {
  if (i < 2u) out[i] = i == 0u ? a[at.x] : b[at.y];
}
`

const (
	probeThreads = 64  // per threadgroup
	busyGroups   = 320 // threadgroups that occupy all cores
	fewRounds    = 64  // rounds of busy in the first run
)

func (d *Device) probe(how Replay) (*Launcher, error) {
	return d.launcher(how == ReplayICB, func(gpu mtl.Device) (mtl.Library, string, error) {
		l, err := gpu.NewLibrary(probeSource, mtl.Language3_1)
		return l, FromSource, err
	})
}

// words encodes numbers as kernels read them.
func words(n ...uint32) (b []byte) {
	for _, x := range n {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// LongBuffer is the result of a command buffer that was meant to take a given time.
type LongBuffer struct {
	Wanted, Took time.Duration
	Err          error // a *mtl.CommandError if the system ended the command buffer
}

// LongBuffers runs command buffers of one dispatch each. Each is meant to take twice as long as the one
// before, from least to most. It reports each to tell, and stops at the first failure, or if more rounds do
// not take more time.
func (d *Device) LongBuffers(least, most time.Duration, tell func(LongBuffer)) error {
	l, err := d.probe(ReplayEncode)
	if err != nil {
		return err
	}
	defer l.Close()
	record, out := words(0, 0, fewRounds, 0), make([]byte, 4*busyGroups*probeThreads)
	b, err := l.batch([]job{{"busy", busyGroups, probeThreads, [][]byte{out, record}, false}})
	defer b.release()
	if err != nil {
		return err
	}
	if err := b.run(); err != nil { // compile and warm up
		return err
	}
	rounds := uint64(fewRounds)
	for wanted := least; wanted <= most; {
		binary.LittleEndian.PutUint32(record[8:], uint32(rounds))
		if err := b.run(); err != nil {
			tell(LongBuffer{Wanted: wanted, Err: err})
			return nil
		}
		took := seconds(b.seconds)
		for ; wanted <= most && took >= wanted*9/10; wanted *= 2 {
			tell(LongBuffer{Wanted: wanted, Took: took})
		}
		more := float64(rounds) * 16
		if took > 0 {
			more = min(more, float64(rounds)*float64(wanted)/float64(took))
		}
		if rounds = max(rounds+1, uint64(more)); rounds > 1<<32-1 {
			return errNoTime
		}
	}
	return nil
}

// errNoTime says that a GPU's clock does not measure work, as that of a simulated one.
var errNoTime = unsupported{errors.New("the GPU's clock does not follow its work")}

// Bandwidth is how many bytes per second the GPU reads from memory of a given size, the best of several runs.
func (d *Device) Bandwidth(bytes uint64) (perSecond float64, err error) {
	l, err := d.probe(ReplayEncode)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	const groups, times = 1 << 10, 3
	threads := uint64(groups * probeThreads)
	bytes = max(bytes/(16*threads), 1) * 16 * threads
	err = mtl.Pool(func() error {
		in, err := l.gpu.NewBuffer("memory to be read", bytes, mtl.StorageShared)
		if err != nil {
			return err
		}
		defer in.Release()
		memory := unsafe.Slice((*uint32)(unsafe.Pointer(&in.Bytes()[0])), bytes/4)
		for i := range memory {
			memory[i] = uint32(i)
		}
		out := make([]byte, 4*threads)
		for range times {
			took, err := l.read(in, out, uint32(bytes/16), groups)
			if err != nil {
				return err
			}
			if took > 0 {
				perSecond = max(perSecond, float64(bytes)/took)
			}
		}
		return summed(out, bytes/4)
	})
	return perSecond, err
}

// summed checks that the sums are those of the numbers 0 to n-1.
func summed(out []byte, n uint64) error {
	var got uint32
	for ; len(out) > 0; out = out[4:] {
		got += binary.LittleEndian.Uint32(out)
	}
	half, other := n, n-1
	if half%2 == 0 {
		half /= 2
	} else {
		other /= 2
	}
	if want := uint32(half * other); got != want {
		return fmt.Errorf("the sum of %d numbers is %d; expected %d", n, got, want)
	}
	return nil
}

// read sums up a buffer, and returns for how many seconds the GPU was busy.
func (l *Launcher) read(in mtl.Buffer, out []byte, vectors uint32, groups int) (took float64, err error) {
	b, err := l.batch([]job{{"total", groups, probeThreads, [][]byte{out, words(vectors, uint32(len(out)/4))}, false}})
	defer b.release()
	if err != nil {
		return 0, err
	}
	err = b.with([]mtl.Buffer{in})
	return b.seconds, err
}

// Dispatches is how long n dependent dispatches take, for the GPU and in wall-clock time.
func (d *Device) Dispatches(how Replay, n int) (gpu, wall time.Duration, err error) {
	l, err := d.probe(how)
	if err != nil {
		return 0, 0, err
	}
	defer l.Close()
	a, c := make([]byte, 16), make([]byte, 16)
	var jobs []job
	for i := range n {
		from, to := a, c
		if i%2 == 1 {
			from, to = c, a
		}
		jobs = append(jobs, job{"step", 1, probeThreads, [][]byte{from, to}, i > 0})
	}
	b, err := l.batch(jobs)
	defer b.release()
	const times = 4 // the first run includes warm-up
	for i := 0; err == nil && i < times; i++ {
		copy(a, words(7))
		start := time.Now()
		if err = b.run(); err != nil {
			break
		}
		if took := time.Since(start); i == 1 || took < wall {
			wall = took
		}
		if took := seconds(b.seconds); i == 1 || took < gpu {
			gpu = took
		}
		last := a
		if n%2 == 1 {
			last = c
		}
		if got := binary.LittleEndian.Uint32(last); got != 7+uint32(n) {
			err = fmt.Errorf("%d dependent dispatches have counted to %d; expected %d", n, got, 7+n)
		}
	}
	return gpu, wall, err
}

// Windows reads one byte of each of two parts of memory that the GPU uses in place.
func (d *Device) Windows(a, b []byte, at [2]uint32) (got [2]byte, err error) {
	l, err := d.probe(ReplayEncode)
	if err != nil {
		return got, err
	}
	defer l.Close()
	err = mtl.Pool(func() error {
		var windows []mtl.Buffer
		defer func() {
			for i := range windows {
				windows[i].Release()
			}
		}()
		for i, part := range [][]byte{a, b} {
			w, err := l.gpu.NewBufferNoCopy(fmt.Sprintf("window %d", i), unsafe.Pointer(&part[0]), uint64(len(part)))
			if err != nil {
				return err
			}
			windows = append(windows, w)
		}
		out := make([]byte, 8)
		one, err := l.batch([]job{{"peek", 1, probeThreads, [][]byte{out, words(at[0], at[1])}, false}})
		defer one.release()
		if err != nil {
			return err
		}
		err = one.with(windows)
		got = [2]byte{out[0], out[4]}
		return err
	})
	return got, err
}
