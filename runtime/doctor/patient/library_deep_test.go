//go:build deep

package patient_test

import (
	"testing"
	"unsafe"

	"mla/gen"
	"mla/gen/spec"
	"mla/runtime/device/linalg"
	"mla/runtime/doctor/check"
	"mla/runtime/doctor/patient"
)

// TestLibrary: the doctor's comparison with plain Go holds for a right library of matrix products, and finds out
// a wrong one.
func TestLibrary(t *testing.T) {
	s, err := spec.Load("../../../specs/youtumini.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := gen.Compile(s.WithSequences(1, linalg.LibraryInputs+8), nil)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := check.Cases(b)
	if err != nil {
		t.Fatal(err)
	}
	p := patient.CPU()
	launcher, done, err := p.Launcher(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	t.Cleanup(func() { linalg.SetLibrary(nil) })
	for _, wrong := range []float32{0, 0.5} {
		calls := 0
		linalg.SetLibrary(&linalg.Library{Multiply: func(m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int) {
			calls++
			x, w, y := unsafe.Slice(a, (m-1)*lda+k), unsafe.Slice(b, (n-1)*ldb+k), unsafe.Slice(c, (m-1)*ldc+n)
			for i := range m * n {
				sum := float32(0)
				for e := range k {
					sum += x[i/n*lda+k-1-e] * w[i%n*ldb+k-1-e]
				}
				y[i/n*ldc+i%n] = sum + wrong
			}
		}})
		failed := 0
		for i := range cases {
			if c := &cases[i]; c.Kernel.Width >= linalg.LibraryInputs {
				if r := c.Check(launcher); !r.OK() {
					if failed++; wrong == 0 {
						t.Errorf("%s: %v, %g of %g", c.Kernel.Name, r.Err, r.Error, r.Tolerance)
					}
				}
			}
		}
		if calls == 0 || wrong != 0 && failed == 0 {
			t.Errorf("results that are %g too large: %d products, %d kernels that differ", wrong, calls, failed)
		}
	}
}
