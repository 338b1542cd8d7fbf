package bind

import (
	"fmt"
	"math"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// ropeFactors reads the file's divisors of rotary frequencies, if its architecture has them. It returns a
// mismatch if they are wrong.
func ropeFactors(f *gguf.File, h *gguf.HParams) (factors device.RopeFactors, bad *Mismatch) {
	if !gguf.ArchitectureOf(h.Architecture).RopeFactors {
		return factors, nil
	}
	factors.Original = h.RopeScaling.OriginalContext
	if factors.Short, bad = factorList(f, gguf.ShortFactors, h.QKRopeHeadDim/2); bad == nil {
		factors.Long, bad = factorList(f, gguf.LongFactors, h.QKRopeHeadDim/2)
	}
	return factors, bad
}

// factorList reads one list of divisors, a positive number for each rotated pair; nil: the file has none.
func factorList(f *gguf.File, name string, pairs int) ([]float64, *Mismatch) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, nil
	}
	what := fmt.Sprintf("tensor %q", name)
	format, _ := quant.Lookup(t.Type)
	if d := trimmed(t.Dims); format == nil || format.BlockElems != 1 || len(d) != 1 || d[0] != pairs {
		return nil, &Mismatch{What: what, Found: fmt.Sprintf("%s of dimensions %s", typeName(t.Type), dims(d)), Expected: fmt.Sprintf("F32, F16 or BF16 of dimensions [%d]", pairs)}
	}
	factors := make([]float32, pairs)
	format.Dequantize(factors, t.Data)
	list := make([]float64, pairs)
	for i, x := range factors {
		list[i] = float64(x)
		if !(list[i] > 0 && list[i] <= math.MaxFloat32) {
			return nil, &Mismatch{What: what, Found: fmt.Sprintf("%g as factor %d", list[i], i), Expected: "a positive number"}
		}
	}
	return list, nil
}
