package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"mla/runtime/device/linalg"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// numbers is a slice of float32 or of half numbers; the other slice is nil.
type numbers struct {
	f32 []float32
	f16 []uint16
}

// read returns elements [at, at+n) as float32. Halves are converted into buf; floats are returned in place.
func (v *numbers) read(at, n int, buf []float32) []float32 {
	if v.f32 != nil {
		return v.f32[at : at+n : at+n]
	}
	buf = buf[:n]
	linalg.HalvesToFloats(buf, v.f16[at:at+n])
	return buf
}

// write stores x from element at on; halves are rounded to nearest even.
func (v *numbers) write(at int, x []float32) {
	if v.f32 != nil {
		copy(v.f32[at:at+len(x)], x)
		return
	}
	linalg.FloatsToHalves(v.f16[at:at+len(x)], x)
}

// half says whether the numbers are halves.
func (v *numbers) half() bool { return v.f32 == nil }

// vec is a bound plan.Vec: entry b starts at element b*stride.
type vec struct {
	numbers
	stride int
}

// paged is a bound plan.Paged: [pages][PageRows][dim].
type paged struct {
	numbers         // of types F32 and F16
	pages    []byte // of type Q8_0
	planes   plan.Planes
	tables   []uint32
	maxPages int
	dim      int
}

// at is the page of a position, and its row in the page.
func (c *paged) at(table uint32, pos int) (page, row int) {
	return int(c.tables[int(table)*c.maxPages+pos/plan.PageRows]), pos % plan.PageRows
}

// read returns the cache rows of n positions from pos on, as numbers.read does. They have to be in one page.
func (c *paged) read(table uint32, pos, n int, buf []float32) []float32 {
	page, row := c.at(table, pos)
	if c.pages == nil {
		return c.numbers.read((page*plan.PageRows+row)*c.dim, n*c.dim, buf)
	}
	buf = buf[:n*c.dim]
	qs, scales := c.scaled(page, row, n)
	linalg.ScaledBytesToFloats(buf, qs, scales)
	return buf
}

// write stores the cache row of a position.
func (c *paged) write(table uint32, pos int, x []float32) {
	page, row := c.at(table, pos)
	if c.pages == nil {
		c.numbers.write((page*plan.PageRows+row)*c.dim, x)
		return
	}
	qs, scales := c.scaled(page, row, 1)
	quant.FloatsToScaledBytes(qs, scales, x)
}

// scaled returns n rows of a page of Q8_0, from row on: the bytes and the scales.
func (c *paged) scaled(page, row, n int) (qs []byte, scales []uint16) {
	b := c.pages[page*plan.PageRows*c.planes.RowBytes():]
	return b[row*c.planes[0]:][:n*c.planes[0]], view[uint16](b[plan.PageRows*c.planes[0]+row*c.planes[1]:][:n*c.planes[1]])
}

// weight is a bound weight matrix, or a batch of them.
type weight struct {
	data     []byte
	format   *quant.Format
	rowBytes int
	stride   int // bytes between batch entries
	batch    int
}

// input is the vector that a mat-vec multiplies its weights by.
type input struct {
	x      []float32
	halves bool    // x holds halves, and the inner loops multiply them as such
	factor float32 // on all products
	one    *oneInput
}

// rows computes y[i] = W_entry[r0+i]·x.
func (m *weight) rows(entry, r0 int, in input, y []float32) {
	w := m.data[entry*m.stride+r0*m.rowBytes:]
	if in.halves {
		linalg.RowsHalves(m.format, w, m.rowBytes, in.x, y)
	} else {
		in.one.rows(m.format, w, m.rowBytes, in.x, y)
	}
	if in.factor != 1 {
		linalg.Scale(y, in.factor)
	}
}

// alignedBytes allocates n zeroed bytes that can be viewed as any element type.
func alignedBytes(n int64) []byte {
	if n == 0 {
		return nil
	}
	return newMemory(n)
}

// newMemory allocates all memory whose size a plan determines. Tests replace it to put guard pages around the
// memory.
var newMemory = func(n int64) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// floats allocates n zeroed floats.
func floats(n int) []float32 {
	if n == 0 {
		return []float32{}
	}
	return view[float32](newMemory(4 * int64(n)))
}

// view reinterprets b as elements of type T. It returns nil when b is empty, is
// not aligned for T, or is not a whole number of elements.
func view[T any](b []byte) []T {
	var t T
	size, align := int(unsafe.Sizeof(t)), unsafe.Alignof(t)
	if len(b) == 0 || len(b)%size != 0 || uintptr(unsafe.Pointer(&b[0]))%align != 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/size)
}

// bytesOf is the inverse of view for buffers that start as float32.
func bytesOf(f []float32) []byte {
	if len(f) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 4*len(f))
}

// roundUp returns the smallest multiple of step that is at least n.
func roundUp(n, step int) int { return (n + step - 1) / step * step }

// product multiplies non-negative numbers. A result that does not fit an int64 becomes MaxInt64, which no
// buffer is as large as.
func product(factors ...int64) int64 {
	p := uint64(1)
	for _, f := range factors {
		hi, lo := bits.Mul64(p, uint64(f))
		if hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		p = lo
	}
	return int64(p)
}

// sum adds non-negative numbers and saturates as product does.
func sum(terms ...int64) int64 {
	var s int64
	for _, t := range terms {
		if t > math.MaxInt64-s {
			return math.MaxInt64
		}
		s += t
	}
	return s
}
