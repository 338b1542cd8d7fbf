package bind

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"sync"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// copyAlign is the alignment of copies, which is that of mapped tensors.
const copyAlign = 64

func padded(n int64) int64 { return (n + copyAlign - 1) / copyAlign * copyAlign }

// copies collects the weights that cannot be views of the file, and makes all copies in one region.
type copies struct {
	region  int // index of the region that make will fill
	bytes   int64
	sources []*source
	offsets []int64
}

// add reserves memory for a weight and returns its binding.
func (c *copies) add(s *source) device.Weight {
	at := c.bytes
	c.sources = append(c.sources, s)
	c.offsets = append(c.offsets, at)
	c.bytes += padded(s.bytes)
	return device.Weight{Tensor: s.tensor.Name, Type: s.typ, Region: c.region, Offset: at, Bytes: s.bytes,
		BatchStride: s.bytes / int64(s.batch)}
}

// make fills the region on all cores; a task is one entry (a head or an expert).
func (c *copies) make() ([]byte, error) {
	region := make([]byte, c.bytes)
	type task struct{ weight, entry int }
	tasks := make(chan task)
	errs := make([]error, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() {
			for t := range tasks {
				err := gguf.Guard(func() error { c.copy(region, t.weight, t.entry); return nil })
				errs[i] = cmp.Or(errs[i], err)
			}
		})
	}
	for w, s := range c.sources {
		for e := range s.batch {
			tasks <- task{w, e}
		}
	}
	close(tasks)
	workers.Wait()
	return region, errors.Join(errs...)
}

// copy makes the copy of one entry of a weight.
func (c *copies) copy(region []byte, weight, entry int) {
	s := c.sources[weight]
	size := s.bytes / int64(s.batch)
	at := c.offsets[weight] + int64(entry)*size
	if s.change != nil {
		s.change(region[at:at+size], s.tensor.Data[s.offset+int64(entry)*s.stride:][:s.entry], entry)
	} else {
		transpose(region[at:at+size], s, entry)
	}
}

// transpose writes dst[r][c] = src[c][r] for one entry of s: the file has
// s.cols rows of s.rows elements, dst has s.rows rows of s.cols elements.
func transpose(dst []byte, s *source, entry int) {
	format := mustLookup(s.tensor.Type)
	rowSize := s.rows / format.BlockElems * format.BlockBytes
	src := s.tensor.Data[s.offset+int64(entry)*s.stride:]
	if s.typ == s.tensor.Type { // single elements are moved unchanged
		size := format.BlockBytes
		for c := range s.cols {
			row := src[c*rowSize : (c+1)*rowSize]
			for r := range s.rows {
				copy(dst[(r*s.cols+c)*size:][:size], row[r*size:])
			}
		}
		return
	}
	values := make([]float32, s.rows)
	for c := range s.cols {
		format.Dequantize(values, src[c*rowSize:(c+1)*rowSize])
		for r, x := range values {
			binary.LittleEndian.PutUint32(dst[4*(r*s.cols+c):], math.Float32bits(x))
		}
	}
}

// pair copies the rows of one entry. It reorders the rotated rows of each head from halves to pairs: (0,
// n/2), (1, n/2+1), …
func pair(dst, src []byte, row int, w *plan.Weight) {
	n := w.RotaryRows
	for r := range w.Rows {
		from := r
		if i := r%w.HeadRows - (w.HeadRows - n); i >= 0 {
			from = r - i + i/2 + i%2*(n/2)
		}
		copy(dst[r*row:(r+1)*row], src[from*row:])
	}
}

// scale multiplies float32 numbers by a factor.
func scale(dst, src []byte, by float64) {
	for i := 0; i+4 <= len(src); i += 4 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(src[i:]))
		binary.LittleEndian.PutUint32(dst[i:], math.Float32bits(x*float32(by)))
	}
}
