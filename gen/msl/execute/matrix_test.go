package execute

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
)

// matrixKernel is k with halves h and room for 8 × 8 floats per simdgroup.
func matrixKernel(name, statements string) string {
	return `kernel void ` + name + `(device float * a [[buffer(0)]], device const half * h [[buffer(1)]],
              uint tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]],
              ushort sg [[simdgroup_index_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float xs[128];
  simdgroup_half8x8 p, q;
  simdgroup_float8x8 s = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
` + statements + "\n}\n"
}

const matrixPrelude = "#include <metal_simdgroup_matrix>\n" + prelude

// compileMatrix returns a launch of two simdgroups with a of 128 floats and h of the
// 256 halves 0, 1/8, 2/8, ….
func compileMatrix(t *testing.T, source string) (*Program, Launch) {
	t.Helper()
	p, err := Compile(matrixPrelude+source, Checked)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	a, err := p.NewBuffer(4 * 128)
	if err != nil {
		t.Fatal(err)
	}
	h, err := p.NewBuffer(2 * 256)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 256 {
		b := matrixHalf(i)
		h.Bytes[2*i], h.Bytes[2*i+1] = byte(b), byte(b>>8)
	}
	return p, Launch{Kernel: "k", Groups: 1, Threads: 64, Args: []Arg{a.All(), h.All()}}
}

// matrixHalf is i/8 as a half: exact, i has at most 8 bits.
func matrixHalf(i int) uint16 {
	if i == 0 {
		return 0
	}
	exponent, bits := 15-3, i
	for bits >= 2 {
		bits /= 2
		exponent++
	}
	return uint16(exponent<<10 | (i<<10>>(exponent-12))&0x3ff)
}

// TestMatrixProduct compares loads, products and stores of both memories, straight
// and transposed, with plain sums.
func TestMatrixProduct(t *testing.T) {
	cases := []struct {
		name, statements string
		want             func(r, c int) float64 // of simdgroup 0
	}{
		{"load and store", "simdgroup_load(p, h, 16); simdgroup_load(q, h + 8, 16, 0, true); simdgroup_multiply_accumulate(s, p, q, make_filled_simdgroup_matrix<float, 8, 8>(0.5f)); simdgroup_store(s, a + 64u * sg, 8);",
			func(r, c int) float64 {
				sum := 0.5
				for k := range 8 {
					sum += float64(16*r+k) / 8 * float64(8+16*c+k) / 8
				}
				return sum
			}},
		{"transposed store through threadgroup memory", "simdgroup_load(p, h); simdgroup_load(q, h, 8); simdgroup_multiply_accumulate(s, p, q, s); simdgroup_store(s, xs + 64u * sg, 8, 0, true); simdgroup_barrier(mem_flags::mem_threadgroup); a[tid * 2u] = xs[tid * 2u]; a[tid * 2u + 1u] = xs[tid * 2u + 1u];",
			func(r, c int) float64 {
				sum := 0.0
				for k := range 8 {
					sum += float64(8*c+k) / 8 * float64(8*k+r) / 8
				}
				return sum
			}},
		{"floats times floats", "xs[tid] = float(tid); xs[64u + tid] = tid % 9u == 0u ? 2.0f : 0.0f; threadgroup_barrier(mem_flags::mem_threadgroup); simdgroup_float8x8 d; simdgroup_load(d, xs + 64u); simdgroup_load(s, xs); simdgroup_multiply(s, d, s); simdgroup_store(s, a + 64u * sg);",
			func(r, c int) float64 { return 2 * float64(8*r+c) }},
		{"halves of halves", "simdgroup_load(p, h); simdgroup_half8x8 one = make_filled_simdgroup_matrix<half, 8, 8>(half(1.0f)); simdgroup_multiply(q, p, one); simdgroup_multiply_accumulate(s, q, one, s); simdgroup_store(s, a + 64u * sg);",
			func(r, c int) float64 { return 8 * (8*float64(r) + 3.5) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, l := compileMatrix(t, matrixKernel("k", c.statements))
			if err := p.Run(l); err != nil {
				t.Fatal(err)
			}
			for i := range 64 {
				if got, want := float64(floatAt(l.Args[0].Buffer.Bytes, i)), c.want(i/8, i%8); got != want {
					t.Fatalf("[%d][%d] is %v; expected %v", i/8, i%8, got, want)
				}
			}
		})
	}
}

// TestMatrixFaults breaks one rule per case.
func TestMatrixFaults(t *testing.T) {
	const use = " simdgroup_multiply_accumulate(s, p, p, s); simdgroup_store(s, a + 64u * sg);" // or the load would go
	cases := []struct {
		name, statements, rule string
		threads                int
	}{
		{"load by some lanes", "if (lane < 16) simdgroup_load(p, h);" + use, "simd-divergence", 64},
		{"different loads", "if (lane < 16) simdgroup_load(p, h); else simdgroup_load(p, h + 64);" + use, "simd-divergence", 64},
		{"product of some lanes", "if (lane != 3) simdgroup_multiply_accumulate(s, p, q, s);", "simd-divergence", 64},
		{"store by some lanes", "if (lane > 3) simdgroup_store(s, a);", "simd-divergence", 64},
		{"load by one simdgroup", "if (sg == 0) simdgroup_load(p, h);" + use, "", 64},
		{"half a simdgroup", "simdgroup_load(p, h);" + use, "simd-divergence", 48},
		{"load past the end", "simdgroup_load(p, h + 200u);" + use, "out-of-bounds", 64},
		{"strided load past the end", "simdgroup_load(p, h, 64);" + use, "out-of-bounds", 64},
		{"store past the end", "if (sg == 1) simdgroup_store(s, a + 72u);", "out-of-bounds", 64},
		{"load of what nothing was stored to", "simdgroup_load(s, xs);" + use, "uninitialised", 64},
		{"load of another simdgroup's store", "simdgroup_store(s, xs + 64u * sg); simdgroup_barrier(mem_flags::mem_threadgroup); simdgroup_load(s, xs);" + use, "threadgroup-race", 64},
		{"load of the own store without a barrier", "simdgroup_store(s, xs + 64u * sg); simdgroup_load(s, xs + 64u * sg, 8, 0, true);" + use, "threadgroup-race", 64},
		{"load after a barrier", "simdgroup_store(s, xs + 64u * sg); simdgroup_barrier(mem_flags::mem_threadgroup); simdgroup_load(s, xs + 64u * sg, 8, 0, true);" + use, "", 64},
		{"two stores", "simdgroup_store(s, a);", "threadgroup-race", 64},
	}
	source := ""
	for i, c := range cases {
		source += matrixKernel(fmt.Sprint("k", i), c.statements)
	}
	p, l := compileMatrix(t, source)
	for i, c := range cases {
		l.Kernel, l.Threads = fmt.Sprint("k", i), c.threads
		err := p.Run(l)
		var fault *Fault
		if rule := ""; errors.As(err, &fault) || err == nil {
			if fault != nil {
				rule = fault.Rule
			}
			if rule != c.rule {
				t.Errorf("%s: %v; expected %q", c.name, err, c.rule)
			}
		} else {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
}

func floatAt(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}
