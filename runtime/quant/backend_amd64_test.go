package quant

import "testing"

// TestKernelsComplete checks that no format falls back to Go in silence.
func TestKernelsComplete(t *testing.T) {
	for _, b := range []*backend{&avx512Backend, &avx2Backend} {
		for _, f := range Formats() {
			if k, ok := b.kernels[f.Type]; !ok || k.one == nil || k.step%f.BlockElems != 0 {
				t.Errorf("%s has no loop for %s", b.name, f.Name)
			}
		}
	}
}
