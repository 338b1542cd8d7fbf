package msl

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// What the kernels under test run on.
const (
	testToken   = 3
	testContext = 96 // positions of the cache and of the rope table
	testPages   = (testContext + plan.PageRows - 1) / plan.PageRows
	testTable   = 1  // the block table of the row
	testEntries = 64 // entries of every batched weight
	padRows     = 2  // between the entries of a weight whose stride is an argument
)

// memory holds one buffer per slot of a kernel.
type memory struct {
	k      *plan.Kernel
	act    plan.Elem
	pos    int // the position of the token
	types  map[int]quant.Type
	widths map[int]int // columns of caches
	data   [][]byte
	rng    *rand.Rand
	split  bool // weights go to the kernel as quant.SplitRows lays them out
}

// newMemory fills all buffers with random content, also those of results: bytes that a kernel must not write
// have to stay the same.
func newMemory(k *plan.Kernel, v *plan.Variant, act plan.Elem, pos int) *memory {
	m := &memory{k: k, act: act, pos: pos, types: map[int]quant.Type{}, widths: map[int]int{}, data: make([][]byte, len(k.Slots)), rng: rand.New(rand.NewPCG(1, uint64(len(v.Func))))}
	for i, slot := range k.TypedSlots() {
		m.types[slot] = v.Types[i]
	}
	for i := range k.Slots {
		m.data[i] = m.fill(i)
	}
	for _, p := range k.Parts {
		for _, r := range p.Uses() {
			switch r.As {
			case plan.RoleWeight:
				m.data[r.Slot] = m.weights(p, r)
			case plan.RoleCache:
				m.widths[r.Slot] = cacheWidth(p)
				m.data[r.Slot] = m.cachePages(m.types[r.Slot], testPages, cacheWidth(p))
			}
		}
	}
	return m
}

// cached is the cache row of a position as a vector.
func cached(c plan.Paged, pos, width int) plan.Vec {
	page := testPages - 1 - pos/plan.PageRows
	return plan.Vec{Slot: c.Slot, Offset: (page*plan.PageRows + pos%plan.PageRows) * width}
}

func cacheWidth(p plan.Part) int {
	switch p := p.(type) {
	case *plan.StoreKV:
		return p.LatDim + p.PeDim
	case *plan.Attend:
		return p.LatDim + p.PeDim
	}
	return 0
}

// cachePages makes the pages of a cache: see plan.Planes.
func (m *memory) cachePages(t quant.Type, pages, width int) []byte {
	b := m.encode(t, pages*plan.PageRows*width)
	if f, _ := quant.Lookup(t); t == quant.Q8_0 {
		split := make([]byte, len(b))
		f.SplitRows(split, b, plan.PageRows*width) // a page as a row
		return split
	}
	return b
}

// scaled is where number i of a cache of Q8_0 and its scale are.
func (m *memory) scaled(slot, i int) (number, scale int) {
	page := plan.PageRows * m.widths[slot]
	start := i / page * (page / 32 * 34)
	return start + i%page, start + page + i%page/32*2
}

// setCached stores a cache row at a vector of width numbers.
func (m *memory) setCached(v plan.Vec, x []float64) {
	if m.types[v.Slot] != quant.Q8_0 {
		m.setVec(v, 0, x)
		return
	}
	qs, scale := make([]byte, 32), make([]uint16, 1)
	for i := 0; i < len(x); i += 32 {
		var block [32]float32
		for j := range block {
			block[j] = float32(x[i+j])
		}
		quant.FloatsToScaledBytes(qs, scale, block[:])
		if math.IsNaN(x[i]) { // which it makes zeros of
			scale[0] = 0x7e00
		}
		number, at := m.scaled(v.Slot, v.Offset+i)
		copy(m.data[v.Slot][number:], qs)
		binary.LittleEndian.PutUint16(m.data[v.Slot][at:], scale[0])
	}
}

// fill makes the buffer of a slot without blocks.
func (m *memory) fill(slot int) []byte {
	s := &m.k.Slots[slot]
	switch {
	case s.Elem == plan.ElemRow:
		return words(testToken, uint32(m.pos), uint32(m.pos+1), testTable)
	case s.Space == plan.SpaceTables: // the last page comes first; nothing may use the table before
		list := slices.Repeat([]uint32{math.MaxUint32}, (testTable+1)*testPages)
		for i := range testPages {
			list[testTable*testPages+i] = uint32(testPages - 1 - i)
		}
		return words(list...)
	case s.Elem == plan.ElemRoute:
		var b []byte
		for i := range 8 {
			b = append(b, words(uint32(7*i+2), math.Float32bits(m.rng.Float32()))...)
		}
		return b
	case s.Name == "ml", s.Name == "squares":
		return m.positive(1 << 10)
	}
	n, t := 1<<14, quant.F32
	if s.Name == "splits" {
		n = 8 * 20 * 512
	}
	if m.half(slot) {
		t = quant.F16
	}
	return m.encode(t, n)
}

// weights makes the entries of a weight matrix, and writes down their stride if
// it is an argument.
func (m *memory) weights(p plan.Part, r plan.Use) []byte {
	rows, entries, pad := m.shape(p, r)
	f, _ := quant.Lookup(m.types[r.Slot])
	rowBytes, _ := f.RowBytes(r.Cols)
	if at := slices.Index(m.k.Args, r.Slot); at >= 0 {
		args := slices.IndexFunc(m.k.Slots, func(s plan.Slot) bool { return s.Elem == plan.ElemArgs })
		binary.LittleEndian.PutUint64(m.data[args][8*at:], uint64(rows+pad))
	}
	var b []byte
	for range entries {
		b = append(b, m.encode(f.Type, rows*r.Cols)...)
		b = append(b, make([]byte, pad*rowBytes)...)
	}
	return b
}

// splitSlots are the slots of weights in the split layout, with their columns.
func (m *memory) splitSlots() map[int]int {
	list := map[int]int{}
	for _, p := range m.k.Parts {
		for _, r := range p.Uses() {
			if f, _ := quant.Lookup(m.types[r.Slot]); m.split && r.As == plan.RoleWeight && f.Splits(r.Cols) {
				list[r.Slot] = r.Cols
			}
		}
	}
	return list
}

// splitRows returns a weight converted to the split layout.
func (m *memory) splitRows(slot, cols int) []byte {
	var out []byte
	for _, p := range m.k.Parts {
		for _, r := range p.Uses() {
			if r.Slot != slot {
				continue
			}
			rows, entries, pad := m.shape(p, r)
			f, _ := quant.Lookup(m.types[slot])
			rowBytes, _ := f.RowBytes(cols)
			out = make([]byte, entries*(rows+pad)*f.SplitRowBytes(cols))
			f.SplitRows(out, m.data[slot][:entries*(rows+pad)*rowBytes], cols)
		}
	}
	return out
}

// shape is a weight's rows, entries and rows between entries.
func (m *memory) shape(p plan.Part, r plan.Use) (rows, entries, pad int) {
	rows, entries = matrixRows(p), 1
	switch p := p.(type) {
	case *plan.MatVec:
		entries = p.Batch
	case *plan.Experts:
		entries = testEntries
	case *plan.ExpertsSum:
		if r.Slot == p.W {
			entries = testEntries
		}
	}
	if slices.Contains(m.k.Args, r.Slot) {
		pad = padRows
	}
	return rows, entries, pad
}

func matrixRows(p plan.Part) int {
	if _, ok := p.(*plan.Embed); ok {
		return testToken + 2
	}
	rows, _ := matrix(p)
	return rows
}

// encode makes n random numbers of a type.
func (m *memory) encode(t quant.Type, n int) []byte {
	f, _ := quant.Lookup(t)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(m.rng.NormFloat64()) / 4
	}
	b := make([]byte, n/f.BlockElems*f.BlockBytes)
	f.Quantize(b, x)
	return b
}

// positive makes n positive floats: sums of a softmax, among others.
func (m *memory) positive(n int) []byte {
	b := m.encode(quant.F32, n)
	for i := 3; i < len(b); i += 4 {
		b[i] &= 0x7f // the sign
	}
	return b
}

func words(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// clone copies the buffers.
func (m *memory) clone() *memory {
	c := *m
	c.data = make([][]byte, len(m.data))
	for i := range m.data {
		c.data[i] = slices.Clone(m.data[i])
	}
	return &c
}

// rowOf is the memory of one row of a batch, of slots that have all rows' as far apart.
func (m *memory) rowOf(row int, slots ...int) *memory {
	one := *m
	one.data = slices.Clone(m.data)
	for _, slot := range slots {
		bytes := len(m.data[slot]) / m.k.Width
		one.data[slot] = m.data[slot][row*bytes:][:bytes]
	}
	return &one
}

// half reports whether a slot holds halves.
func (m *memory) half(slot int) bool {
	return m.types[slot] == quant.F16 || m.k.Slots[slot].Elem == plan.ElemAct && m.act == plan.ElemF16
}

// at is number i of a slot of floats, or of a cache.
func (m *memory) at(slot, i int) float64 {
	if m.widths[slot] > 0 && m.types[slot] == quant.Q8_0 {
		number, scale := m.scaled(slot, i)
		return float64(quant.HalfToFloat(binary.LittleEndian.Uint16(m.data[slot][scale:]))) * float64(int8(m.data[slot][number]))
	}
	if m.half(slot) {
		return float64(quant.HalfToFloat(binary.LittleEndian.Uint16(m.data[slot][2*i:])))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(m.data[slot][4*i:])))
}

func (m *memory) set(slot, i int, v float64) {
	if m.half(slot) {
		binary.LittleEndian.PutUint16(m.data[slot][2*i:], quant.FloatToHalf(float32(v)))
		return
	}
	binary.LittleEndian.PutUint32(m.data[slot][4*i:], math.Float32bits(float32(v)))
}

// vec is entry e of a vector of n.
func (m *memory) vec(v plan.Vec, e, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = m.at(v.Slot, v.Offset+e*v.Stride+i)
	}
	return x
}

func (m *memory) setVec(v plan.Vec, e int, x []float64) {
	for i := range x {
		m.set(v.Slot, v.Offset+e*v.Stride+i, x[i])
	}
}

// row is a row of an entry of a weight.
func (m *memory) row(p plan.Part, slot, cols, entry, row int) []float64 {
	f, data := m.rowBytes(p, slot, cols, entry, row)
	x := make([]float32, cols)
	f.Dequantize(x, data)
	y := make([]float64, cols)
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

// rowBytes is a row as stored.
func (m *memory) rowBytes(p plan.Part, slot, cols, entry, row int) (*quant.Format, []byte) {
	rows, _, pad := m.shape(p, plan.Use{Slot: slot})
	f, _ := quant.Lookup(m.types[slot])
	rowBytes, _ := f.RowBytes(cols)
	at := (entry*(rows+pad) + row) * rowBytes
	return f, m.data[slot][at : at+rowBytes]
}

func (m *memory) routing(slot, i int) (expert int, weight float64) {
	b := m.data[slot][8*i:]
	return int(binary.LittleEndian.Uint32(b)), float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4:])))
}
