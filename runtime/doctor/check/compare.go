package check

import (
	"encoding/binary"
	"fmt"
	"math"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// sumTolerance bounds the difference of two float32 sums of n terms in different orders, relative to the
// largest of many such sums. Rounding errors of 2^-24 per addition add up like a random walk: sqrt(n) of
// them, each relative to a partial sum no larger than the largest result. The factor 8 covers the worst of
// some thousand results, and formats whose offsets are summed separately and cancel.
func sumTolerance(n int) float64 { return 8 * math.Sqrt(float64(max(n, 64))) * 0x1p-24 }

// halfTolerance is relative to the number itself: a result close to the middle between two halves may round
// either way, which is one unit in the last of 11 bits.
const halfTolerance = 0x1p-10

// attentionTolerance is relative to the largest result of attention on a cache of halves or Q8_0, whose
// kernels may also round queries and weights to halves. Rounding moves a score by some 2^-12 of the root of
// the sum of its squared products, most of which cancel. That root is 2 to 4 here, for which the factor is 8.
// The factor is 12 for a kernel of several rows, as the worst of 15 rows with thousands of results each is
// off by 9, and for Q8_0, whose numbers are rounded to halves like the queries, which moves scores 1.4 times
// as far.
func attentionTolerance(k *plan.Kernel, kv quant.Type) float64 {
	if k.Width > 1 || kv == quant.Q8_0 {
		return 0x1.8p-9
	}
	return 0x1p-9
}

// roundedTolerance is relative to the largest of many sums of halves that the kernel itself has computed and
// rounded. A half whose exact value lies in the middle between two halves is off by 2^-10 of itself, and is
// one of the many terms of such a sum.
const roundedTolerance = 0x1p-11

// productTolerance is relative to the largest result of a product whose weights are rounded to halves by the
// kernel but not by the reference: twice 2^-12 of each weight, for its scale and for the product with it.
// Rounding moves a sum of many terms by 2^-12 of the root of the sum of their squares, and the largest of
// some thousand results is off by four times as much. A format's minimum, which cancels much of the sum,
// multiplies the error by up to four.
const productTolerance = 0x1p-10

// limitedTolerance is the factor between a sum and its limit: for random inputs, the limits in tests are a
// tenth of the largest sums.
const limitedTolerance = 10

// mask is above the magnitude of every number except the maxima of empty splits.
const mask = 1e29

// compare finds the slot with the greatest error. Arguments that the kernel only reads must be equal byte by
// byte, and so must the parts that the reference leaves alone.
func compare(r *Result, got, want *memory) {
	if a := want.arguments.attend; a != nil {
		for row := range want.live {
			used, _ := want.usedSplits(row)
			n := used * a.Heads
			Rebase(got.rowFloats(a.ML, row)[:2*n], want.rowFloats(a.ML, row))
		}
	}
	worst := -1.0
	for slot := range want.kernel.Slots {
		s := &want.kernel.Slots[slot]
		use := want.arguments.slots[slot]
		d := difference{tolerance: sumTolerance(use.terms)}
		if use.limited {
			d.tolerance *= limitedTolerance
		}
		if use.rounded && want.model.Bundle.Activations == plan.ElemF16 {
			d.tolerance = roundedTolerance
		}
		halves := want.model.Bundle.Activations == plan.ElemF16
		if use.expanded && (halves || want.config.KV != quant.F32) {
			d.tolerance = productTolerance
		}
		if use.product && halves {
			d.tolerance = productTolerance
			if use.gated {
				d.tolerance *= 4 // both factors are off, and most are larger than silu leaves them
			}
		}
		if use.attention && (want.config.KV != quant.F32 || want.heads != nil && halves) {
			d.tolerance = attentionTolerance(want.kernel, want.config.KV)
		}
		switch {
		case !use.result || s.Elem == plan.ElemU32:
			d.bytes(got.buffers[slot], want.buffers[slot])
		case want.scaled(slot):
			d.scaled(want, got.buffers[slot], want.buffers[slot])
		default:
			want.eachRow(slot, func(row int, buf []byte) {
				other := got.rowBytes(slot, row)
				if s.Elem == plan.ElemRoute {
					d.routing(other, buf)
				} else {
					d.numbers(want, slot, row, other, buf)
				}
			})
		}
		if part := d.worst / d.tolerance; part > worst || part == worst && use.result {
			worst = part
			r.Slot, r.Error, r.Tolerance, r.Detail = s.Name, d.worst, d.tolerance, d.detail
		}
	}
}

// difference is the error of one slot.
type difference struct {
	tolerance, worst float64
	largest          float64 // the largest number of all rows; 0: not computed yet
	detail           string  // the first number beyond the tolerance
}

func (d *difference) add(off float64, format string, args ...any) {
	if !(off <= d.tolerance) && d.detail == "" {
		d.detail = fmt.Sprintf(format, args...)
	}
	if !(off <= d.worst) {
		d.worst = off
	}
	if math.IsNaN(d.worst) {
		d.worst = math.Inf(1)
	}
}

// bytes requires equal bytes.
func (d *difference) bytes(got, want []byte) {
	for i := range want {
		if got[i] != want[i] {
			d.add(math.Inf(1), "byte %d of an argument that is only read, or of indices, is %#x; expected %#x", i, got[i], want[i])
		}
	}
}

// routing requires the same experts, with almost the same weights.
func (d *difference) routing(got, want []byte) {
	for i := 0; i < len(want); i += 8 {
		if string(got[i:i+8]) == string(want[i:i+8]) { // includes the gap between two rows
			continue
		}
		e, w := readRouting(got[i:])
		wantE, wantW := readRouting(want[i:])
		if e != wantE {
			d.add(math.Inf(1), "choice %d is expert %d; the reference's %d", i/8, e, wantE)
			continue
		}
		d.add(math.Abs(w-wantW)/max(1, math.Abs(wantW)), "weight %d is %g; the reference's %g", i/8, w, wantW)
	}
}

func readRouting(b []byte) (expert uint32, weight float64) {
	return binary.LittleEndian.Uint32(b), float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4:])))
}

// numbers compares one row's numbers of a slot. Errors are relative to the largest number of all rows:
// tolerances refer to the largest of many sums, and a row may have as few numbers as its model has heads.
func (d *difference) numbers(m *memory, slot, row int, got, want []byte) {
	size, err := m.numberBytes(slot)
	if err != nil {
		d.add(math.Inf(1), "%v", err)
		return
	}
	n := m.specified(slot, row, len(want)/size)
	if d.largest == 0 {
		d.largest = max(m.largest(slot, size), math.SmallestNonzeroFloat32)
	}
	for i := range n {
		if string(got[i*size:(i+1)*size]) == string(want[i*size:(i+1)*size]) {
			continue
		}
		g, w := number(got, size, i), number(want, size, i)
		off := math.Abs(g - w)
		if size == 2 {
			off = max(0, off-halfTolerance*math.Abs(w))
		}
		d.add(off/d.largest, "number %d is %g; the reference's %g (largest %.3g)", i, g, w, d.largest)
	}
}

// largest returns the largest magnitude in all rows of a slot.
func (m *memory) largest(slot, size int) (largest float64) {
	m.eachRow(slot, func(row int, buf []byte) {
		for i := range m.specified(slot, row, len(buf)/size) {
			if w := math.Abs(number(buf, size, i)); w < mask {
				largest = max(largest, w)
			}
		}
	})
	return largest
}

// Rebase rescales attention's sums to the maxima of the reference. ml holds the (m, l) of rows, one pair for
// each split and head, and want begins with the (m, l) of the same rows. A pair stands for e^m·l. A kernel
// may choose any m near the maximum. Where m is far from the reference's, the row stays as it is.
func Rebase(ml, want []float32) {
	const near = 12 // a factor of e^12 stays within the range of halves
	for row := range len(ml) / 2 {
		shift := ml[2*row] - want[2*row]
		if !(math.Abs(float64(shift)) <= near) {
			continue
		}
		ml[2*row], ml[2*row+1] = want[2*row], ml[2*row+1]*float32(math.Exp(float64(shift)))
	}
}

// specified returns how many of the n numbers of a row's result are defined.
func (m *memory) specified(slot, row, n int) int {
	if per := m.arguments.slots[slot].perSplit; per > 0 {
		used, _ := m.usedSplits(row)
		return used * per
	}
	return n
}

func number(b []byte, size, i int) float64 {
	if size == 2 {
		return float64(quant.HalfToFloat(binary.LittleEndian.Uint16(b[2*i:])))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
}
