package check

import (
	"encoding/binary"
	"fmt"
	"math"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

const (
	// embedRows is the number of rows of an embedding. One of them is read.
	embedRows = 5
	// maxBytes is the greatest size of a matrix; see shrink.
	maxBytes = 8 << 20
	// poolRows is the number of different rows of a matrix. It is prime, so that two rows whose distance is a
	// power of two differ: kernels that confuse them fail.
	poolRows = 61
	// apart is the greatest number of rows between the beginnings of two experts. Experts overlap, so that a
	// matrix of hundreds of experts is not much larger than one expert.
	apart = 64
)

// shrink returns the kernel with fewer rows if it is a single mat-vec whose matrix exceeds maxBytes, as with
// output embeddings. Its threadgroups are the first ones of the whole kernel and do the same work. Other
// kernels are returned as they are.
func shrink(k *plan.Kernel, v *plan.Variant) *plan.Kernel {
	p, ok := k.Parts[0].(*plan.MatVec)
	if !ok || len(k.Parts) > 1 || p.Batch > 1 {
		return k
	}
	format, ok := quant.Lookup(v.Types[0])
	if !ok {
		return k
	}
	step := p.RowsPerGroup
	if p.Rope != nil {
		step *= p.Rope.HeadDim
	}
	rowBytes, err := format.RowBytes(p.Cols)
	if err != nil {
		return k
	}
	rows := maxBytes / rowBytes / step * step
	if rows == 0 || rows >= p.Rows {
		return k
	}
	small, part := *k, *p
	part.Rows = rows
	small.Parts = []plan.Part{&part}
	return &small
}

// weight returns the matrix of a slot. The first call creates it.
func (m *memory) weight(slot int) (*device.Weight, error) {
	op := &m.dispatch().Operands[slot]
	if have := m.model.Weights[op.Index]; have != nil {
		return &have[0], nil
	}
	row := &m.model.Bundle.Weights[op.Index]
	t, ok := m.types[slot]
	if !ok {
		t = quant.F32
	}
	format, ok := quant.Lookup(t)
	if !ok {
		return nil, fmt.Errorf("unknown type %s", t)
	}
	rowBytes, err := format.RowBytes(row.Cols)
	if err != nil {
		return nil, err
	}
	entries, stride := max(row.Batch, 1), min(row.Rows, apart)
	data := m.rows(format, row.Cols, (entries-1)*stride+row.Rows)
	return m.bind(slot, device.Weight{Type: t, BatchStride: int64(stride * rowBytes)}, data), nil
}

// rows returns n rows that are copied from the pool.
func (m *memory) rows(format *quant.Format, cols, n int) []byte {
	distinct := min(n, poolRows)
	pool := make([]byte, distinct*cols/format.BlockElems*format.BlockBytes)
	format.Quantize(pool, m.normal(distinct*cols, 0, 1/math.Sqrt(float64(cols))))
	rowBytes := len(pool) / distinct
	data := make([]byte, n*rowBytes)
	for at := 0; at < len(data); at += len(pool) {
		copy(data[at:], pool)
	}
	return data
}

// vector fills a slot with a vector of float32 weights.
func (m *memory) vector(slot int, mean, deviation float64) error {
	s, op := &m.kernel.Slots[slot], &m.dispatch().Operands[slot]
	if s.Space != plan.SpaceWeight || s.Elem != plan.ElemF32 {
		return fmt.Errorf("a vector of space %d, element type %d", s.Space, s.Elem)
	}
	n := m.model.Bundle.Weights[op.Index].Cols
	data := make([]byte, 4*n)
	format, _ := quant.Lookup(quant.F32)
	format.Quantize(data, m.normal(n, mean, deviation))
	m.bind(slot, device.Weight{Type: quant.F32}, data)
	return nil
}

// bind adds a weight to the model.
func (m *memory) bind(slot int, w device.Weight, data []byte) *device.Weight {
	i := m.dispatch().Operands[slot].Index
	w.Tensor, w.Region, w.Bytes = m.kernel.Slots[slot].Name, len(m.model.Regions), int64(len(data))
	m.model.Regions = append(m.model.Regions, data)
	m.model.Weights[i] = []device.Weight{w}
	m.buffers[slot] = data
	return &m.model.Weights[i][0]
}

// choose fills a buffer with selected experts, all different, and their weights.
func (m *memory) choose(buf []byte) {
	experts := m.rng.Perm(max(m.model.Bundle.Model.MoE.NRoutedExperts, 1))
	for i := range len(buf) / 8 { // the distance between rows may exceed the number of experts
		binary.LittleEndian.PutUint32(buf[8*i:], uint32(experts[i%len(experts)]))
		binary.LittleEndian.PutUint32(buf[8*i+4:], math.Float32bits(0.1+m.rng.Float32()))
	}
}

// scores fills a buffer with router logits in [-2, 2). They are so far apart that no rounding changes which
// experts are selected, and so are their probabilities.
func (m *memory) scores(buf []byte) {
	n := len(buf) / 4
	for i, rank := range m.rng.Perm(n) {
		binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(-2+4*float32(rank)/float32(n)))
	}
}

// squares fills a slot with the sums of squares of normally distributed numbers.
func (m *memory) squares(slot int) {
	x := make([]float32, len(m.buffers[slot])/4)
	for i := range x {
		for _, v := range m.normal(m.arguments.slots[slot].terms, 0, 1) {
			x[i] += v * v
		}
	}
	m.write(slot, x)
}

// usedSplits returns how many splits hold keys of a row of the kernel, and how many splits there are.
func (m *memory) usedSplits(row int) (used, all int) {
	s, n := m.arguments.splits, int(m.live[row].NKV)
	return s.Used(n), s.Count
}

// partials returns n numbers that attention writes for a row. They are either [splits] results, where those
// of empty splits are not written, or (m, l), which is (-1e30, 0) for empty splits.
func (m *memory) partials(row, n int, holds plan.Role) []float32 {
	used, all := m.usedSplits(row)
	x := m.normal(n/all*used, 0, 1)
	if holds == plan.RoleSplitML {
		x = append(x, make([]float32, n-len(x))...)
		for i := 0; i < n; i += 2 {
			if i < n/all*used {
				x[i+1] = 1 + 10*m.rng.Float32()
			} else {
				x[i] = -1e30
			}
		}
	}
	return x
}

// maxDistinct is how many different numbers a signal has, a prime. Expanded heads of a large model have some
// ten million numbers.
const maxDistinct = 1<<20 - 3

// signal returns n numbers of an activation.
func (m *memory) signal(n int) []float32 {
	x := m.normal(min(n, maxDistinct), 0, 1)
	for len(x) < n {
		x = append(x, x[:min(maxDistinct, n-len(x))]...)
	}
	return x
}
