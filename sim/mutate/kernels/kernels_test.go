package kernels_test

import (
	"slices"
	"strings"
	"testing"

	"mla/gen/gentest"
	"mla/generated"
	"mla/sim/mutate/kernels"
	"mla/tools/tests/deep"
)

const source = `#include <metal_stdlib>
#define SOON(rows, bytes)
namespace ours {
// A comment with x[i] and a < b.
struct f32 {
  static inline float get(device const uchar * row, uint i) { return ((device const float *)row)[i]; }
  static inline float unused(thread float * v) { return v[1]; }
};

static inline float silent(float v) { return v - 1.0f; }

template <uint SHARE>
struct q4_k_by {
  static inline uint share(uint lane) { return lane / SHARE; }
};

typedef q4_k_by<8> q4_k;

template <typename FORMAT>
static inline uint through(uint lane) {
  typedef typename lane_layout<FORMAT, 2u>::format T;
  return T::share(lane);
}

template <uint N, typename T_w, typename T_up>
static inline void scale_body(device const uchar * w, device float * x, uint tid) {
  float sum[2] = {}, up[3] = {f(1), 2}, next[2];
  SOON(w, 4u * N);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  through<T_up>(tid);
  eight_floats y[N];
  if (tid < N) x[tid] = T_w::get(w + 4u, tid) * sum[0];
}
} // namespace ours

kernel void scale_f32(device const uchar * w [[buffer(0)]], device float * x [[buffer(1)]]) {
  ours::scale_body<8u, ours::f32, ours::q4_k>(w, x, 0);
}
`

// TestList checks that the functions which a kernel calls are mutated, and no others.
func TestList(t *testing.T) {
	want := map[string]string{
		"f32.get/index/)[i]":                            "row)[(i) + 1];",
		"q4_k_by.share/product*/lane/SHARE":             "return lane * SHARE;",
		"scale_body/barrier/threadgroup_barrier":        "  SOON(w, 4u * N);\n  ;\n",
		"scale_body/fence/atomic_thread_fence":          "mem_threadgroup);\n  ;\n",
		"scale_body/bound<=/tid<N":                      "if (tid <= N)",
		"scale_body/index/x[tid]":                       "x[(tid) + 1] = ",
		"scale_body/sign-/w+4u":                         "T_w::get(w - 4u,",
		"scale_body/index/sum[0]":                       "* sum[(0) + 1];",
		"scale_body/product+/T_w::get(w+4u,tid)*sum[0]": "tid) + sum[0]",
	}
	for _, m := range kernels.List(source, map[string]bool{"scale_f32": true}) {
		if strings.Replace(source, m.Body, m.Changed(), 1) != m.In(source) {
			t.Errorf("%s: the changed function is %s", m.ID, m.Changed())
		}
		if changed := m.In(source); want[m.ID] == "" || !strings.Contains(changed, want[m.ID]) || strings.Contains(source, want[m.ID]) {
			t.Errorf("%s: expected %q in\n%s", m.ID, want[m.ID], changed)
		}
		delete(want, m.ID)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// TestGenerated demands distinct IDs, and mistakes in the indices of every kernel; in one
// whose helpers alone have indices, other mistakes, and some in these.
func TestGenerated(t *testing.T) {
	for _, b := range generated.Bundles() {
		if !deep.On && b.Model.HiddenSize > 512 {
			continue // a bundle of real width
		}
		b, err := gentest.Printed("../../../specs", b)
		if err != nil {
			t.Fatal(err)
		}
		used, bodies := map[string]bool{}, map[string]bool{}
		for _, k := range b.Kernels {
			bodies[k.Name+"_body"] = true
			for _, v := range k.Variants {
				used[v.Func] = true
			}
		}
		var ids []string
		helpers := false
		for _, m := range kernels.List(b.Source, used) {
			ids = append(ids, m.ID)
			index := strings.Contains(m.ID, "/index/")
			if index || !strings.Contains(m.Body, "[") {
				delete(bodies, m.Function)
			}
			helpers = helpers || index && !strings.HasSuffix(m.Function, "_body")
		}
		if !helpers {
			t.Errorf("%s: no index of a helper is changed", b.Name)
		}
		if len(bodies) > 0 {
			t.Errorf("%s: no index of %v is changed", b.Name, bodies)
		}
		slices.Sort(ids)
		if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) {
			t.Errorf("%s: %d distinct IDs of %d", b.Name, n, len(ids))
		}
	}
}
