package ptx

import (
	"fmt"
	"strings"
	"testing"
)

// library lists statements of a kernel and instructions that they become. a is
// written, b and n are not.
var library = []struct{ statement, instructions string }{
	{"a[tid] = b[tid] / b[tid + 1u];", "ld.global.nc.f32 div.rn.f32"},
	{"a[tid] = a[tid] * b[tid] + b[0];", "ld.global.f32 mul.rn.f32 add.rn.f32"},
	{"a[tid] = fma(b[0], b[1], b[2]);", "fma.rn.f32"},
	{"a[tid] = sqrt(b[tid]) + rsqrt(b[tid]);", "sqrt.rn.f32 rcp.rn.f32"},
	{"a[tid] = exp(b[tid]) + exp2(b[tid]) + log(b[tid]);", "fma.rn.f32"},
	{"a[tid] = fast::exp(b[tid]);", "ex2.approx.ftz.f32"},
	{"a[tid] = fast::rsqrt(b[tid]);", "rsqrt.approx.ftz.f32"},
	{"a[tid] = fast::divide(fast::sqrt(b[tid]), fast::log(b[tid]));", "sqrt.approx.ftz.f32 lg2.approx.ftz.f32 div.approx.ftz.f32"},
	{"a[tid] = max(b[0], min(b[1], b[2])) + clamp(b[3], 0.0f, 1.0f);", "max.f32 min.f32"},
	{"a[tid] = fabs(b[0]) + floor(b[1]) + ceil(b[2]) + rint(b[3]) + trunc(b[4]);", "abs.f32 cvt.rmi.f32.f32 cvt.rpi.f32.f32 cvt.rni.f32.f32 cvt.rzi.f32.f32"},
	{"a[tid] = select(b[0], mix(b[1], b[2], b[3]), n > 3u);", "selp.f32"},
	{"a[tid] = float(half(b[tid]));", "cvt.rn.f16.f32 cvt.f32.f16"},
	{"half2 h = fma(as_type<half2>(n), half2(1.0h, 2.0h), half2(0.5h)); a[tid] = float(h.x) + float(h.y);", "fma.rn.f16x2"},
	{"const float4 v = *(device const float4 *)(b + 4u * tid); a[tid] = dot(v, v.wzyx) + float4(v.xy, 1.0f, 2.0f).y;", "ld.global.nc.v4.f32"},
	{"const float4 v = float4(*(device const packed_float4 *)(b + tid)); a[tid] = v.x + v.w;", "ld.global.nc.f32"},
	{"*(device half4 *)(a + 2u * tid) = half4(float4(b[0], b[1], b[2], b[3]));", "st.global.v4"},
	{"const uchar4 q = as_type<uchar4>(n); a[tid] = float(q.w);", "cvt.rn.f32"},
	{"a[tid] = simd_sum(b[tid]);", "shfl.sync.bfly.b32 add.rn.f32"},
	{"a[tid] = simd_max(b[tid]) + simd_min(b[tid]) + simd_product(b[tid]);", "shfl.sync.bfly.b32 max.f32 min.f32"},
	{"a[tid] = float(simd_sum(tid) + simd_max(tid) + simd_min(int(tid)));", "redux.sync.add.s32 redux.sync.max.u32 redux.sync.min.s32"},
	{"a[tid] = float(simd_or(tid) ^ simd_and(tid) ^ simd_xor(tid));", "redux.sync.or.b32 redux.sync.and.b32 redux.sync.xor.b32"},
	{"const ulong v = simd_max(ulong(tid) << 32); a[tid] = float(v);", "shfl.sync.bfly.b32 max.u64"},
	{"a[tid] = float(simd_shuffle(half(b[tid]), 3) + simd_shuffle_xor(half(b[tid]), 1));", "shfl.sync.idx.b32 shfl.sync.bfly.b32"},
	{"a[tid] = simd_shuffle_down(b[tid], 2) + simd_shuffle_up(b[tid], 2);", "shfl.sync.down.b32 shfl.sync.up.b32"},
	{"a[tid] = simd_broadcast(b[tid], 5) + simd_broadcast_first(b[tid]);", "shfl.sync.idx.b32"},
	{"const float2 v = simd_shuffle(float2(b[0], b[1]), 7); a[tid] = v.x + v.y;", "shfl.sync.idx.b32"},
	{"a[tid] = float(simd_prefix_inclusive_sum(tid)) + float(simd_prefix_exclusive_sum(tid));", "shfl.sync.up.b32"},
	{"a[tid] = simd_any(b[tid] > 0.0f) && simd_all(b[tid] > 1.0f) ? 1.0f : 2.0f;", "vote.sync.any.pred vote.sync.all.pred"},
	{"a[tid] = float(popcount(n) + clz(n) + ctz(n) + reverse_bits(n));", "popc.b32 clz.b32 brev.b32"},
	{"a[tid] = float(mulhi(n, tid)) + float(mulhi(ulong(n) << 32, ulong(tid) << 40)) + float(mulhi(int(n), int(tid)));", "mul.hi.u32 mul.hi.u64"},
	{"a[tid] = float(rotate(n, tid)) + float(extract_bits(n, 3u, 5u));", "shf.l.wrap.b32"},
	{"a[tid] = isnan(b[0]) || isinf(b[1]) ? 1.0f : abs(b[2]);", "abs.f32"},
	{"threadgroup float s[64]; s[tid] = b[tid]; threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device); a[tid] = s[63u - tid];",
		"st.shared.f32 bar.sync ld.shared.f32"},
	{"threadgroup float s[64]; s[tid] = b[tid]; simdgroup_barrier(mem_flags::mem_threadgroup); a[tid] = s[tid ^ 1u];", "bar.warp.sync"},
	{"atomic_thread_fence(mem_flags::mem_device, memory_order_acq_rel, thread_scope_device); a[tid] = b[tid];", "fence.acq_rel.gpu"},
	{"atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device); a[tid] = b[tid];", "fence.sc.gpu"},
	{"atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_acq_rel, thread_scope_threadgroup); a[tid] = b[tid];", "fence.acq_rel.cta"},
	{"device atomic_uint * c = (device atomic_uint *)a; a[tid] = float(atomic_fetch_add_explicit(c, 1u, memory_order_relaxed));", "atom.global.add.u32"},
	{"device atomic_uint * c = (device atomic_uint *)a; atomic_store_explicit(c, 0u, memory_order_relaxed); " +
		"a[tid] = float(atomic_load_explicit(c, memory_order_relaxed) + atomic_exchange_explicit(c, 2u, memory_order_relaxed));",
		"st.volatile.global.u32 ld.volatile.global.u32 atom.global.exch.b32"},
	{"threadgroup atomic_uint c[2]; atomic_fetch_max_explicit(c, tid, memory_order_relaxed); atomic_fetch_or_explicit(c + 1, tid, memory_order_relaxed);",
		"atom.shared.max.u32 atom.shared.or.b32"},
	{"device atomic_int * c = (device atomic_int *)a; atomic_fetch_min_explicit(c, int(tid), memory_order_relaxed); " +
		"atomic_fetch_sub_explicit(c + 1, int(tid), memory_order_relaxed); atomic_fetch_and_explicit(c + 2, 3, memory_order_relaxed);",
		"atom.global.min.s32 atom.global.add.u32 atom.global.and.b32"},
	{"device atomic_uint * c = (device atomic_uint *)a; uint was = 3u; " +
		"a[tid + 1u] = atomic_compare_exchange_weak_explicit(c, &was, 4u, memory_order_relaxed, memory_order_relaxed) ? 1.0f : float(was);", "atom.global.cas.b32"},
	{"device atomic_float * c = (device atomic_float *)a; atomic_fetch_add_explicit(c, 1.0f, memory_order_relaxed);", "atom.global.add.f32"},
	{"simdgroup_half8x8 x, y; simdgroup_float8x8 z = make_filled_simdgroup_matrix<float, 8, 8>(0.0f); simdgroup_load(x, (device const half *)b, 16); " +
		"simdgroup_load(y, (device const half *)b + 8, 16, 0, true); simdgroup_multiply_accumulate(z, x, y, z); simdgroup_store(z, a);",
		"ld.global.nc.u32 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 st.global.v2.f32"},
	{"simdgroup_half8x8 x, y; simdgroup_load(x, (device const half *)b, 16); simdgroup_load(y, (device const half *)b + 8, 16); " +
		"simdgroup_multiply(x, x, y); simdgroup_store(x, (device half *)a, 8, 0, true);", "movmatrix.sync.aligned.m8n8.trans.b16 st.global.b16"},
	{"simdgroup_float8x8 x, y; simdgroup_load(x, b); simdgroup_load(y, b, 8, 0, true); simdgroup_multiply(x, x, y); simdgroup_store(x, a, 8, 0, true);",
		"shfl.sync.idx.b32 fma.rn.f32 st.global.f32"},
	{"a[tid] = float(tpg + tgs + tgp + sg + lane + spt + tps) + float(gid) + float(all);", "%ntid.x %nctaid.x %ctaid.x %tid.x"},
}

const libraryKernel = `
kernel void k%d(device float * a [[buffer(0)]], device const float * b [[buffer(1)]], constant uint & n [[buffer(2)]],
    uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]], uint tgs [[threadgroups_per_grid]],
    uint tgp [[threadgroup_position_in_grid]], ushort sg [[simdgroup_index_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]],
    uint spt [[simdgroups_per_threadgroup]], uint tps [[threads_per_simdgroup]], uint gid [[thread_position_in_grid]], uint all [[threads_per_grid]],
    uint pos [[thread_position_in_threadgroup]]) {
  %s
}
`

// TestLibrary compiles all of MSL's functions at once and checks the instructions.
func TestLibrary(t *testing.T) {
	source := "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n"
	for i, l := range library {
		source += fmt.Sprintf(libraryKernel, i, l.statement)
	}
	cuda, err := Translate(source, func(string) (Kernel, bool) {
		return Kernel{Threads: 64, Constant: []bool{true, true, true, true}}, true
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := compile(cuda)
	if err != nil {
		t.Fatal(err)
	}
	list := entries(t, string(text))
	for i, l := range library {
		body := list[fmt.Sprintf("k%d", i)].body
		for _, want := range strings.Fields(l.instructions) {
			if !strings.Contains(body, want) {
				t.Errorf("%s\nhas no %s but is\n%s", l.statement, want, body)
			}
		}
		if found := approximate.FindString(body); found != "" && !strings.Contains(l.statement, "fast::") {
			t.Errorf("%s\nhas an instruction with %s", l.statement, found)
		}
		if strings.Contains(body, "call") || strings.Contains(body, "__local_depot") {
			t.Errorf("%s\ncalls a function or uses local memory:\n%s", l.statement, body)
		}
	}
}
