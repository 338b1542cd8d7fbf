package device

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestPutVectors checks that vectors are a stride apart, as halves or as floats, and that the memory between
// them does not change.
func TestPutVectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, act := range []plan.Elem{plan.ElemF16, plan.ElemF32} {
		v := &plan.Vectors{Elem: plan.ElemAct, Len: 37, Stride: 48}
		size := v.ElemBytes(act)
		vectors := make([]float32, 3*v.Len)
		for i := range vectors {
			vectors[i] = rng.Float32()*8 - 4
		}
		memory := make([]byte, 3*v.Stride*size)
		for i := range memory {
			memory[i] = 0xa5
		}
		PutVectors(memory, v, act, vectors)
		for i := range 3 * v.Stride {
			row, at := i/v.Stride, i%v.Stride
			var got, want uint32
			if size == 2 {
				got, want = uint32(binary.LittleEndian.Uint16(memory[2*i:])), 0xa5a5
			} else {
				got, want = binary.LittleEndian.Uint32(memory[4*i:]), 0xa5a5a5a5
			}
			if at < v.Len {
				x := vectors[row*v.Len+at]
				if want = math.Float32bits(x); size == 2 {
					want = uint32(quant.FloatToHalf(x))
				}
			}
			if got != want {
				t.Fatalf("%d bytes each: element %d of row %d is %#x; expected %#x", size, at, row, got, want)
			}
		}
		if size == 4 {
			back := make([]float32, len(vectors))
			TakeVectors(back, memory, v)
			for i := range back {
				if back[i] != vectors[i] {
					t.Fatalf("element %d comes back as %v; expected %v", i, back[i], vectors[i])
				}
			}
		}
	}
}

// BenchmarkPutVectors measures the host's time for 512 inputs of GLM-4.7-Flash's predicting layer.
func BenchmarkPutVectors(b *testing.B) {
	v := &plan.Vectors{Elem: plan.ElemAct, Len: 4096, Stride: 4096}
	vectors, memory := make([]float32, 512*v.Len), make([]byte, 512*2*v.Len)
	b.SetBytes(int64(len(memory)))
	for b.Loop() {
		PutVectors(memory, v, plan.ElemF16, vectors)
	}
}
