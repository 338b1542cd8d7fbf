package bind

import (
	"encoding/binary"
	"fmt"
	"math"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// besides are tensors of f that the weight table does not have and that are expected
// in a file of its architecture.
func besides(f *gguf.File) map[string]bool {
	known := map[string]bool{}
	h, err := gguf.ReadHParams(f)
	if err != nil {
		return known
	}
	for _, name := range gguf.ArchitectureOf(h.Architecture).Besides {
		known[name] = true
	}
	return known
}

// ropeFactors reads what the file divides rotary frequencies by, if its architecture
// does so. It returns what is wrong with the factors.
func ropeFactors(f *gguf.File) (factors device.RopeFactors, bad *Mismatch) {
	h, err := gguf.ReadHParams(f)
	if err != nil || !gguf.ArchitectureOf(h.Architecture).RopeFactors {
		return factors, nil // another mismatch says so
	}
	factors.Original = h.RopeScaling.OriginalContext
	if factors.Short, bad = factorList(f, gguf.ShortFactors, h.QKRopeHeadDim/2); bad == nil {
		factors.Long, bad = factorList(f, gguf.LongFactors, h.QKRopeHeadDim/2)
	}
	return factors, bad
}

// factorList is one list of factors, a positive number for each rotated pair; nil if
// the file has none.
func factorList(f *gguf.File, name string, pairs int) ([]float64, *Mismatch) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, nil
	}
	what := fmt.Sprintf("tensor %q", name)
	if d := trimmed(t.Dims); t.Type != quant.F32 || len(d) != 1 || d[0] != pairs {
		return nil, &Mismatch{What: what, Found: fmt.Sprintf("%s of dimensions %s", t.Type.Describe(), dims(d)), Expected: fmt.Sprintf("F32 of dimensions [%d]", pairs)}
	}
	list := make([]float64, pairs)
	for i := range list {
		list[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
		if !(list[i] > 0 && list[i] <= math.MaxFloat32) {
			return nil, &Mismatch{What: what, Found: fmt.Sprintf("%g as factor %d", list[i], i), Expected: "a positive number"}
		}
	}
	return list, nil
}
