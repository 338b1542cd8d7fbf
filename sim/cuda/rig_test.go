//go:build linux

package cuda_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// source has a kernel that doubles threads floats, one that writes past the end of
// what it is given, and one that turns 32 floats around in 60 KiB of threadgroup memory.
const source = `#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float * a [[buffer(0)]], device float * b [[buffer(1)]],
                  uint tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
  b[tg * 32u + tid] = 2.0f * a[tg * 32u + tid];
}
kernel void wild(device const float * a [[buffer(0)]], device float * b [[buffer(1)]],
                 uint tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
  b[tg * 32u + tid + 1000000u] = a[tid];
}
kernel void turn(device const float * a [[buffer(0)]], device float * b [[buffer(1)]],
                 uint tid [[thread_index_in_threadgroup]]) {
  threadgroup float4 scratch[3840];
  scratch[3808u + tid] = float4(a[tid]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  b[tid] = scratch[3839u - tid].x;
}
`

// turnMark tells the runtime in PTX text how much dynamic threadgroup memory the kernel turn needs.
const turnMark = "// dynamic threadgroup memory: 61440\n"

// ptxText returns a text that the CUDA simulator accepts as the PTX of source.
func ptxText(entries ...string) string {
	text := fmt.Sprintf("// kernels.metal sha256:%x\n.version 7.8\n.target sm_90\n.address_size 64\n", sha256.Sum256([]byte(source)))
	for _, name := range entries {
		if name == "turn" {
			text += turnMark + ".extern .shared .align 16 .b8 turn_scratch[];\n"
		}
		text += ".visible .entry " + name + "(\n\t.param .u64 a,\n\t.param .u64 b\n)\n{\n\tret;\n}\n"
	}
	return text
}

// writeKernels puts the source into a folder where the children find it.
func writeKernels(dir string) error {
	path := filepath.Join(dir, "kernels.metal")
	os.Setenv("CUDASIM_METAL", path)
	return os.WriteFile(path, []byte(source), 0o600)
}

// stand is the stand-in, called by name.
type stand struct{ handle uintptr }

func load(path string) *stand {
	runtime.LockOSThread() // the current context belongs to the thread
	h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		panic(err)
	}
	return &stand{h}
}

// try calls a function and returns its result.
//
//go:uintptrescapes
func (s *stand) try(name string, args ...uintptr) int {
	f, err := purego.Dlsym(s.handle, name)
	if err != nil {
		panic(err)
	}
	r, _, _ := purego.SyscallN(f, args...)
	return int(int32(r))
}

// must is try for a call that has to succeed.
//
//go:uintptrescapes
func (s *stand) must(name string, args ...uintptr) {
	if r := s.try(name, args...); r != 0 {
		panic(fmt.Sprintf("%s: %d", name, r))
	}
}

// out is where the driver writes a handle or an address.
func out(p *uintptr) uintptr { return uintptr(unsafe.Pointer(p)) }

// text is a C string.
func text(s string) uintptr {
	b := append([]byte(s), 0)
	keep = append(keep, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// keep prevents the garbage collection of memory that the driver may read.
var keep []any

// begin initialises the driver and makes a context current.
func (s *stand) begin() {
	s.must("cuInit", 0)
	context := new(uintptr)
	s.must("cuDevicePrimaryCtxRetain", out(context), 0)
	s.must("cuCtxSetCurrent", *context)
}

func (s *stand) end() { s.must("cuDevicePrimaryCtxRelease_v2", 0) }

// made calls a function whose first argument is where it writes a handle.
func (s *stand) made(name string, args ...uintptr) uintptr {
	h := new(uintptr)
	keep = append(keep, h)
	s.must(name, append([]uintptr{out(h)}, args...)...)
	return *h
}

// pinned are page-locked floats, which may be mapped.
func (s *stand) pinned(n int) (at uintptr, values []float32) {
	const deviceMap = 2
	at = s.made("cuMemHostAlloc", uintptr(4*n), deviceMap)
	return at, unsafe.Slice((*float32)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n)
}

// nodeParams is CUDA_KERNEL_NODE_PARAMS_v2.
type nodeParams struct {
	function        uintptr
	grid, block     [3]uint32
	shared          uint32
	params, extra   uintptr
	kernel, context uintptr
}

// add adds a launch to a graph.
func (s *stand) add(graph, function uintptr, groups, threads uint32, params []uintptr, after ...uintptr) uintptr {
	return s.addWith(0, graph, function, groups, threads, params, after...)
}

// addWith is add with bytes of dynamic shared memory.
func (s *stand) addWith(shared uint32, graph, function uintptr, groups, threads uint32, params []uintptr, after ...uintptr) uintptr {
	at := make([]uintptr, len(params)+1)
	for i := range params {
		at[i] = uintptr(unsafe.Pointer(&params[i]))
	}
	p := &nodeParams{function: function, grid: [3]uint32{groups, 1, 1}, block: [3]uint32{threads, 1, 1}, shared: shared, params: uintptr(unsafe.Pointer(&at[0]))}
	keep = append(keep, params, at, p, after)
	var first uintptr
	if len(after) > 0 {
		first = uintptr(unsafe.Pointer(&after[0]))
	}
	return s.made("cuGraphAddKernelNode_v2", graph, first, uintptr(len(after)), uintptr(unsafe.Pointer(p)))
}

// rig is a module, a stream, and three vectors on the device, the first of them 1, 2, ….
type rig struct {
	*stand
	module, twice, wild, stream uintptr
	a, b, c                     uintptr // 64 floats each
	host                        uintptr // page-locked
	values                      []float32
}

func (s *stand) rig() *rig {
	s.begin()
	r := &rig{stand: s, stream: s.made("cuStreamCreate", 1)}
	r.module = s.made("cuModuleLoadDataEx", text(ptxText("twice", "wild")), 0, 0, 0)
	r.twice, r.wild = s.made("cuModuleGetFunction", r.module, text("twice")), s.made("cuModuleGetFunction", r.module, text("wild"))
	for _, p := range []*uintptr{&r.a, &r.b, &r.c} {
		*p = s.made("cuMemAlloc_v2", 256)
	}
	r.host, r.values = s.pinned(64)
	for i := range r.values {
		r.values[i] = float32(i + 1)
	}
	s.must("cuMemcpyHtoDAsync_v2", r.a, r.host, 256, r.stream)
	s.must("cuStreamSynchronize", r.stream)
	return r
}

// turn is the kernel of that name, alone in a module, allowed so much dynamic shared memory.
func (r *rig) turn(allowed uintptr) (module, function uintptr) {
	module = r.made("cuModuleLoadDataEx", text(ptxText("turn")), 0, 0, 0)
	function = r.made("cuModuleGetFunction", module, text("turn"))
	if allowed > 0 {
		r.must("cuFuncSetAttribute", function, 8, allowed)
	}
	return module, function
}

func (r *rig) close() {
	for _, p := range []uintptr{r.a, r.b, r.c} {
		r.must("cuMemFree_v2", p)
	}
	r.must("cuMemFreeHost", r.host)
	r.must("cuModuleUnload", r.module)
	r.must("cuStreamDestroy_v2", r.stream)
	r.end()
}

// run records, launches and waits.
func (r *rig) run(record func(graph uintptr)) {
	exec := r.recorded(record)
	r.must("cuGraphLaunch", exec, r.stream)
	r.must("cuStreamSynchronize", r.stream)
	r.must("cuGraphExecDestroy", exec)
}

func (r *rig) recorded(record func(graph uintptr)) (exec uintptr) {
	graph := r.made("cuGraphCreate", 0)
	record(graph)
	exec = r.made("cuGraphInstantiateWithFlags", graph, 0)
	r.must("cuGraphDestroy", graph)
	return exec
}
