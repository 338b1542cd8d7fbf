package msl_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"mla/gen/ir"
	"mla/runtime/device"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// dispatch is one dispatch of a token, and the step of the program it came from.
type dispatch struct {
	*model
	*plan.Dispatch
	step   *ir.Launch
	kv     quant.Type
	kernel *plan.Kernel
}

// variant returns the kernel's variant for the profile's types.
func (d *dispatch) variant() *plan.Variant {
	var types []quant.Type
	for _, slot := range d.kernel.TypedSlots() {
		t := d.kv
		if op := d.Operands[slot]; op.Space == plan.SpaceWeight {
			t = d.typeOf(op.Index, d.LayerOf(slot))
		}
		types = append(types, t)
	}
	for i := range d.kernel.Variants {
		if slices.Equal(d.kernel.Variants[i].Types, types) {
			return &d.kernel.Variants[i]
		}
	}
	d.t.Fatalf("kernel %s has no variant for %v", d.kernel.Name, types)
	return nil
}

// compare runs the kernel on the values that the interpreter has computed.
func (d *dispatch) compare() {
	d.t.Helper()
	v := d.variant()
	want := make([][]byte, len(d.Operands))
	got := make([][]byte, len(d.Operands))
	for slot := range d.Operands {
		want[slot] = d.contents(slot)
		got[slot] = slices.Clone(want[slot])
		if s := &d.kernel.Slots[slot]; s.Write && s.Space != plan.SpaceCounters {
			d.poison(slot, got[slot])
		}
	}
	if err := d.launcher.Run(v.Func, d.kernel.Groups(), d.kernel.Threads, got); err != nil {
		d.t.Fatalf("%s: %v", v.Func, err)
	}
	d.rebase(got, want)
	for slot := range got {
		if err := d.differ(slot, got[slot], want[slot]); err != nil {
			d.t.Fatalf("%s at position %d, slot %s: %v", v.Func, d.model.step.Pos, d.kernel.Slots[slot].Name, err)
		}
	}
}

// contents returns the expected bytes of a slot after the dispatch.
func (d *dispatch) contents(slot int) []byte {
	s, op := &d.kernel.Slots[slot], &d.Operands[slot]
	switch op.Space {
	case plan.SpaceWeight:
		return d.tensor(op.Index, d.LayerOf(slot)).bytes
	case plan.SpaceArena, plan.SpaceLogits:
		return d.value(slot)
	case plan.SpaceKV:
		return d.cache(d.paged(d.machine.Cache(0, op.Index)))
	case plan.SpaceTables:
		var b []byte
		for i := range d.bundle.Model.MaxPages() {
			b = binary.LittleEndian.AppendUint32(b, uint32(d.page(i)))
		}
		return b
	case plan.SpaceRope:
		table := make([]float32, int(d.model.step.NKV)*2*len(d.program.RopeFreqs))
		device.RopeTable(table, d.program.RopeFreqs, d.program.RopeMScale)
		x := make([]float64, len(table))
		for i := range x {
			x[i] = float64(table[i])
		}
		return encode(false, x)
	case plan.SpaceRow:
		var b []byte
		for _, v := range []uint32{d.model.step.Token, d.model.step.Pos, d.model.step.NKV, d.model.step.Table} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	case plan.SpaceCounters:
		return make([]byte, op.Bytes) // before and after
	case plan.SpaceArgs:
		var b []byte
		for _, from := range d.kernel.Args {
			b = binary.LittleEndian.AppendUint64(b, uint64(d.tensor(d.Operands[from].Index, d.LayerOf(from)).stride))
		}
		return b
	}
	d.t.Fatalf("slot %s is in space %d", s.Name, op.Space)
	return nil
}

// pages is how many pages hold the rows so far, and page the one that position
// i*plan.PageRows is in: the first one comes last.
func (d *dispatch) pages() int     { return plan.Pages(int(d.model.step.NKV)) }
func (d *dispatch) page(i int) int { return max(d.pages()-1-i, 0) }

// paged puts cache rows where the block table says. After the last one are zeros.
func (d *dispatch) paged(rows [][]float64) []float64 {
	width := d.bundle.Model.CacheDim()
	out := make([]float64, d.pages()*plan.PageRows*width)
	for pos, row := range rows {
		copy(out[d.place(pos)*width:], row)
	}
	return out
}

// place is where the row of a position is among those of all pages.
func (d *dispatch) place(pos int) int {
	return d.page(pos/plan.PageRows)*plan.PageRows + pos%plan.PageRows
}

// value is the stored form of the activation that a slot is bound to.
func (d *dispatch) value(slot int) []byte {
	s, op := &d.kernel.Slots[slot], &d.Operands[slot]
	v := d.activation(op)
	if v == nil {
		d.t.Fatalf("kernel %s, slot %s: no value at offset %d", d.kernel.Name, s.Name, op.Offset)
	}
	x := d.machine.Value(0, v)
	if s.Elem != plan.ElemRoute {
		return encode(d.half(slot), x)
	}
	var b []byte
	for i := range len(x) / 2 {
		b = binary.LittleEndian.AppendUint32(b, uint32(x[i]))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x[len(x)/2+i])))
	}
	return b
}

// activation finds the value of the dispatch's step at an operand's place.
func (d *dispatch) activation(op *plan.Operand) *ir.Value {
	for _, part := range d.step.Parts {
		for _, o := range part.Ops {
			list := slices.Clone(o.Out)
			for _, r := range o.In {
				list = append(list, r.V)
			}
			for _, v := range list {
				arena := op.Space == plan.SpaceArena && v.Class == ir.Act && !v.Output && v.Offset == op.Offset
				if arena || op.Space == plan.SpaceLogits && v.Output {
					return v
				}
			}
		}
	}
	return nil
}

func (d *dispatch) half(slot int) bool {
	switch s := &d.kernel.Slots[slot]; {
	case s.Space == plan.SpaceKV:
		return d.kv == quant.F16
	default:
		return s.Elem == plan.ElemF16 || s.Elem == plan.ElemAct && d.bundle.Activations == plan.ElemF16
	}
}

// poison overwrites the memory that the dispatch must write. In a cache that is one row.
func (d *dispatch) poison(slot int, b []byte) {
	if d.Operands[slot].Space != plan.SpaceKV {
		fill(b)
		return
	}
	planes, _ := d.bundle.Model.CachePlanes(d.kv)
	place := d.place(int(d.model.step.Pos))
	page := b[place/plan.PageRows*plan.PageRows*planes.RowBytes():]
	for at, n := range planes.Rows(place%plan.PageRows, 1) {
		fill(page[at : at+n])
	}
}

func fill(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// cache stores the rows of whole pages.
func (d *dispatch) cache(x []float64) []byte {
	if d.kv != quant.Q8_0 {
		return encode(d.kv == quant.F16, x)
	}
	var b []byte
	for page := range slices.Chunk(x, plan.PageRows*d.bundle.Model.CacheDim()) {
		in, qs, scales := make([]float32, len(page)), make([]byte, len(page)), make([]uint16, len(page)/32)
		for i, v := range page {
			in[i] = float32(v)
		}
		quant.FloatsToScaledBytes(qs, scales, in)
		b = append(b, qs...)
		for _, s := range scales {
			b = binary.LittleEndian.AppendUint16(b, s)
		}
	}
	return b
}

// numbers decodes the contents of a slot.
func (d *dispatch) numbers(slot int, b []byte) []float64 {
	if d.kernel.Slots[slot].Space != plan.SpaceKV || d.kv != quant.Q8_0 {
		return decode(d.half(slot), b)
	}
	var x []float64
	n := plan.PageRows * d.bundle.Model.CacheDim()
	for page := range slices.Chunk(b, n/32*34) {
		scales := decode(true, page[n:])
		for i, q := range page[:n] {
			x = append(x, scales[i/32]*float64(int8(q)))
		}
	}
	return x
}

// The interpreter is exact. Differences come from float32 sums of up to 768 terms and from inputs rounded to
// float32: about 10 × 2^-24 of the largest result, and as much again where a format's offset cancels. A
// stored half may round either way; a cache of halves moves each score by up to 2^-11 of the sum of its
// terms, times what the query's temperature is at its position.
const (
	tolerance      = 1e-5
	halfTolerance  = 0x1p-10
	cacheTolerance = 2e-3
	// A cache of Q8_0 moves them by half of 1/127 of the largest of 32 numbers, times as
	// many: a few times what such a sum of random signs is. What is written may be a step
	// off where it lies in the middle between two; of the rows of these tests no more than
	// one number is, but for kernels that also multiply halves for it, whose sums are off
	// by half a step.
	scaledTolerance = 3e-2
	stepsOff        = 1
	// Sums of four products in halves: four roundings of 2^-12 each of what is summed,
	// which is larger than the result where terms cancel, and twice so in SwiGLU.
	productTolerance = 0x1p-8
)

// temperature returns the factor by which the dispatch multiplies scores besides their scale.
func (d *dispatch) temperature() float64 {
	for _, p := range d.kernel.Parts {
		if p, ok := p.(*plan.Attend); ok {
			return p.Temperature.At(int(d.model.step.Pos))
		}
	}
	return 1
}

// differ compares a slot with the interpreter's values.
func (d *dispatch) differ(slot int, got, want []byte) error {
	s := &d.kernel.Slots[slot]
	if !s.Write || s.Space == plan.SpaceCounters {
		if string(got) != string(want) {
			return fmt.Errorf("changed, but only read")
		}
		return nil
	}
	if s.Elem == plan.ElemRoute {
		return differRouting(got, want)
	}
	g, w := d.numbers(slot, got), d.numbers(slot, want)
	n := d.specified(slot, len(w))
	largest := 0.0
	for _, x := range w[:n] {
		largest = max(largest, math.Abs(x))
	}
	allowed := tolerance * largest
	if d.readsCache(quant.Q8_0) {
		allowed = scaledTolerance * d.temperature() * largest
	} else if d.readsCache(quant.F16) {
		allowed = cacheTolerance * d.temperature() * largest
	} else if d.multipliesHalves() {
		allowed = productTolerance * largest
	}
	steps := 0
	for i := range n {
		limit := allowed
		if s.Space == plan.SpaceKV && d.kv == quant.Q8_0 {
			limit += halfTolerance * math.Abs(w[i]) // of its scale
			if off := math.Abs(g[i] - w[i]); off > limit && off < 1.01/127*largest && (steps < stepsOff || d.multipliesHalves()) {
				steps++
				continue
			}
		}
		if d.half(slot) {
			limit += halfTolerance * math.Abs(w[i])
		}
		if !(math.Abs(g[i]-w[i]) <= limit) {
			return fmt.Errorf("number %d is %g; the interpreter's %g (largest %g)", i, g[i], w[i], largest)
		}
	}
	return nil
}

func (d *dispatch) readsCache(t quant.Type) bool {
	return d.kv == t && slices.ContainsFunc(d.kernel.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceKV && !s.Write })
}

// multipliesHalves reports whether some mat-vec of the kernel reads halves.
func (d *dispatch) multipliesHalves() bool {
	return slices.ContainsFunc(d.kernel.Parts, func(p plan.Part) bool {
		switch p := p.(type) {
		case *plan.MatVec:
			return p.Combine == nil && p.Norm == nil && d.half(p.In.Slot)
		case *plan.Experts:
			return p.Norm == nil && d.half(p.In.Slot)
		case *plan.ExpertsSum:
			return d.half(p.In.Slot)
		}
		return false
	})
}

// rebase expresses the results of attention by the interpreter's references: a kernel
// takes something near the maximum.
func (d *dispatch) rebase(got, want [][]byte) {
	for _, p := range d.kernel.Parts {
		if a, ok := p.(*plan.Attend); ok {
			check.Rebase(float32s(got[a.ML]), float32s(want[a.ML]))
		}
	}
}

// float32s are the float32 in a buffer.
func float32s(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// specified is how many of n numbers mean something: empty attention splits hold
// nothing.
func (d *dispatch) specified(slot, n int) int {
	for _, p := range d.kernel.Parts {
		if a, ok := p.(*plan.Attend); ok && (slot == a.Out || slot == a.ML) {
			return n / a.Splits.Count * a.Splits.Used(int(d.model.step.NKV))
		}
	}
	return n
}

func differRouting(got, want []byte) error {
	for i := 0; i < len(want); i += 8 {
		e, we := binary.LittleEndian.Uint32(got[i:]), binary.LittleEndian.Uint32(want[i:])
		w, ww := decode(false, got[i+4:i+8])[0], decode(false, want[i+4:i+8])[0]
		if e != we || !(math.Abs(w-ww) <= tolerance*max(1, ww)) {
			return fmt.Errorf("choice %d is expert %d with %g; the interpreter's %d with %g", i/8, e, w, we, ww)
		}
	}
	return nil
}

// encode stores numbers as float32 or half.
func encode(half bool, x []float64) []byte {
	var b []byte
	for _, v := range x {
		if half {
			b = binary.LittleEndian.AppendUint16(b, quant.FloatToHalf(float32(v)))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		}
	}
	return b
}

func decode(half bool, b []byte) []float64 {
	var x []float64
	if half {
		for ; len(b) > 0; b = b[2:] {
			x = append(x, float64(quant.HalfToFloat(binary.LittleEndian.Uint16(b))))
		}
		return x
	}
	for ; len(b) > 0; b = b[4:] {
		x = append(x, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	}
	return x
}
