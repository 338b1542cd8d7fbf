// Package blas lets the CPU device multiply prompts with the system's BLAS, if there is one and it is faster
// here than the device's own loops. It calls the library without cgo.
package blas

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"

	"github.com/ebitengine/purego"

	"mla/runtime/device/linalg"
)

// systems maps a system to the library that every machine with it has.
var systems = map[string]string{
	"darwin/arm64": "/System/Library/Frameworks/Accelerate.framework/Accelerate",
}

// System is the path of the system's library; "": none is known.
func System() string { return systems[runtime.GOOS+"/"+runtime.GOARCH] }

// rowMajor, asItIs and transposed are arguments of cblas_sgemm: matrices are row-major, a is not transposed,
// b is.
const rowMajor, asItIs, transposed = 101, 111, 112

// Open loads a library that has cblas_sgemm with 32-bit sizes.
func Open(path string) (*linalg.Library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	address, err := purego.Dlsym(handle, "cblas_sgemm")
	if err != nil {
		return nil, fmt.Errorf("%s has no matrix products: %w", path, err)
	}
	var sgemm func(order, transA, transB, m, n, k int32, alpha float32, a *float32, lda int32, b *float32, ldb int32, beta float32, c *float32, ldc int32)
	purego.RegisterFunc(&sgemm, address)
	return &linalg.Library{Name: filepath.Base(path), Multiply: func(m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int) {
		if max(m, n, k, lda, ldb, ldc) > math.MaxInt32 {
			panic(fmt.Sprintf("blas: a product of %d × %d × %d", m, n, k)) // no model has such sizes
		}
		sgemm(rowMajor, asItIs, transposed, int32(m), int32(n), int32(k), 1, a, int32(lda), b, int32(ldb), 0, c, int32(ldc))
	}}, nil
}
