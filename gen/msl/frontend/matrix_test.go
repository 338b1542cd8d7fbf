package frontend

import (
	"strings"
	"testing"
)

// matrices wraps statements into a kernel with simdgroup matrices.
func matrices(statements string) string {
	return "#include <metal_simdgroup_matrix>\n" + prefix + `kernel void k(device float * a [[buffer(0)]], device const half * h [[buffer(1)]], constant half * c [[buffer(2)]]) {
  threadgroup float xs[64];
  simdgroup_half8x8 p;
  simdgroup_float8x8 s = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
` + statements + "\n}\n"
}

func TestMatrixFunctions(t *testing.T) {
	const accepted = ""
	cases := []struct{ name, statements, want string }{
		{"all functions", "simdgroup_load(p, h, 576, 0, true); simdgroup_multiply_accumulate(s, p, p, s); simdgroup_multiply(s, s, s); simdgroup_store(s, xs); simdgroup_load(s, xs, 8); simdgroup_store(s, a, 8, 0, true);", accepted},
		{"load from constant memory", "simdgroup_load(p, c); simdgroup_store(s, a);", "no matching function"},
		{"load from the thread's memory", "half own[64] = {}; simdgroup_load(p, own); simdgroup_store(s, a);", "no matching function"},
		{"store to const memory", "simdgroup_store(p, h); simdgroup_store(s, a);", "no matching function"},
		{"load of another type", "simdgroup_load(p, a); simdgroup_store(s, a);", "no matching function"},
		{"halves to floats", "simdgroup_multiply(s, p, p); simdgroup_store(s, a);", "no matching function"},
		{"floats to halves", "simdgroup_multiply_accumulate(p, s, s, p); simdgroup_store(s, a);", "no matching function"},
		{"halves times floats", "simdgroup_multiply_accumulate(s, p, s, s); simdgroup_store(s, a);", "no matching function"},
		{"sizes that do not exist", "simdgroup_matrix<half, 4, 4> small; simdgroup_load(small, h); simdgroup_store(s, a);", "undefined template"},
	}
	for _, c := range cases {
		err := Check(matrices(c.statements), 32768)
		if c.want == accepted && err != nil || c.want != accepted && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: Check says %v; expected %q", c.name, err, c.want)
		}
	}
}
