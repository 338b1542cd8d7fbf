//go:build linux

package metal_test

import (
	"os"
	"runtime"
	"unsafe"
)

// rig has the objects of a small program with one ICB: x -scale-> y -sum-> z. Each case changes one of them.
type rig struct {
	*sim
	pool               uintptr
	dev, queue, lib    id
	scale, sum, beyond id
	x, y, z, args      id
	icb, set           id
}

const (
	rows      = 8
	elements  = rows * 64
	readWrite = 3  // MTLResourceUsageRead | Write
	private   = 32 // MTLResourceStorageModePrivate
)

// source is testdata/kernels.metal.
func source() string {
	b, err := os.ReadFile("testdata/kernels.metal")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// newRig has a pool, a device and a queue.
func newRig(s *sim) *rig {
	runtime.LockOSThread()
	r := &rig{sim: s}
	r.pool = s.poolPush()
	r.dev = s.device()
	r.queue = r.object(r.dev, "newCommandQueue")
	return r
}

// options are compile options with safe math and precise functions.
func (r *rig) options() id {
	o := r.made("MTLCompileOptions")
	if r.send(o, "respondsToSelector:", r.selector("setMathMode:"))&0xff == 0 {
		r.send(o, "setFastMathEnabled:", 0)
		return o
	}
	r.send(o, "setMathMode:", 0)
	r.send(o, "setMathFloatingPointFunctions:", 1)
	return o
}

// compile makes a library; its error text is empty if there is one.
func (r *rig) compile(source string, options id) (lib id, text string) {
	var e id
	lib = r.object(r.dev, "newLibraryWithSource:options:error:", uintptr(r.string(source)), uintptr(options), uintptr(unsafe.Pointer(&e)))
	if lib == 0 {
		text = r.text(r.object(e, "localizedDescription"))
	}
	return lib, text
}

// pipeline makes the pipeline of a function of the library.
func (r *rig) pipeline(name string, indirect uintptr) id {
	f := r.object(r.lib, "newFunctionWithName:", uintptr(r.string(name)))
	if f == 0 {
		panic("no function " + name)
	}
	d := r.made("MTLComputePipelineDescriptor")
	r.send(d, "setComputeFunction:", uintptr(f))
	r.send(d, "setSupportIndirectCommandBuffers:", indirect)
	var e id
	p := r.object(r.dev, "newComputePipelineStateWithDescriptor:options:reflection:error:", uintptr(d), 0, 0, uintptr(unsafe.Pointer(&e)))
	r.send(d, "release")
	r.send(f, "release")
	return p
}

// buffer is a fresh shared buffer.
func (r *rig) buffer(bytes uint64) id {
	return r.object(r.dev, "newBufferWithLength:options:", uintptr(bytes), 0)
}

func (r *rig) contents(b id) unsafe.Pointer { return r.sendPointer(b, r.selector("contents")) }

func (r *rig) floats(b id, n int) []float32 {
	return unsafe.Slice((*float32)(r.contents(b)), n)
}

// setArgs writes struct Args, and what a model of time reads there: a row that goes over 100 cached ones.
func (r *rig) setArgs(n uint32, factor float32) {
	p := r.contents(r.args)
	*(*uint32)(p) = n
	*(*float32)(unsafe.Add(p, 4)) = factor
	*(*uint32)(unsafe.Add(p, 8)) = 100
	*(*uint32)(unsafe.Add(p, 12)) = 0
}

// prepare makes library, pipelines and buffers.
func (r *rig) prepare() *rig {
	o := r.options()
	lib, text := r.compile(source(), o)
	if lib == 0 {
		panic(text)
	}
	r.send(o, "release")
	r.lib = lib
	r.scale, r.sum, r.beyond = r.pipeline("scale", 1), r.pipeline("sum", 1), r.pipeline("beyond", 1)
	r.x, r.y, r.z, r.args = r.buffer(elements*4), r.buffer(elements*4), r.buffer(rows*4), r.buffer(512)
	x := r.floats(r.x, elements)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	r.setArgs(elements, 2)
	return r
}

// icbDescriptor is a correct one for 3 arguments.
func (r *rig) icbDescriptor() id {
	d := r.made("MTLIndirectCommandBufferDescriptor")
	r.send(d, "setCommandTypes:", 32)
	r.send(d, "setInheritBuffers:", 0)
	r.send(d, "setInheritPipelineState:", 0)
	r.send(d, "setMaxKernelBufferBindCount:", 3)
	return d
}

// newIcb makes an ICB and releases its descriptor.
func (r *rig) newIcb(descriptor id, commands uint64) id {
	icb := r.object(r.dev, "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:", uintptr(descriptor), uintptr(commands), 0)
	r.send(descriptor, "release")
	return icb
}

func (r *rig) command(i uint64) id {
	return r.object(r.icb, "indirectComputeCommandAtIndex:", uintptr(i))
}

func (r *rig) bind(command, buffer id, offset, index uint64) {
	r.send(command, "setKernelBuffer:offset:atIndex:", uintptr(buffer), uintptr(offset), uintptr(index))
}

func (r *rig) dispatchICB(command id, groups, threads uint64) {
	r.dispatch(command, r.selector("concurrentDispatchThreadgroups:threadsPerThreadgroup:"), size{groups, 1, 1}, size{threads, 1, 1})
}

// encode records one kernel with its arguments.
func (r *rig) encode(i uint64, pipeline id, barrier bool, groups uint64, buffers ...id) {
	c := r.command(i)
	r.send(c, "setComputePipelineState:", uintptr(pipeline))
	for j, b := range buffers {
		r.bind(c, b, 0, uint64(j))
	}
	if barrier {
		r.send(c, "setBarrier")
	}
	r.dispatchICB(c, groups, 64)
}

// record makes the ICB scale(x) -> y, sum(y) -> z.
func (r *rig) record() *rig {
	r.icb = r.newIcb(r.icbDescriptor(), 2)
	r.encode(0, r.scale, false, rows, r.x, r.y, r.args)
	r.encode(1, r.sum, true, rows, r.y, r.z)
	return r
}

// replay is a command buffer with one encoder that executes n commands of the
// ICB; the resources are declared by useResources.
func (r *rig) replay(n uint64, resources ...id) (commandBuffer id) {
	cb := r.object(r.queue, "commandBuffer")
	e := r.encoder(cb)
	if len(resources) > 0 {
		r.send(e, "useResources:count:usage:", uintptr(unsafe.Pointer(&resources[0])), uintptr(len(resources)), readWrite)
	}
	r.execute(e, r.selector("executeCommandsInBuffer:withRange:"), r.icb, span{0, n})
	r.send(e, "endEncoding")
	return cb
}

func (r *rig) encoder(cb id) id {
	return r.object(cb, "computeCommandEncoderWithDispatchType:", 1)
}

// dispatchOn runs an empty or real grid on an encoder.
func (r *rig) dispatchOn(e id, groups, threads uint64) {
	r.dispatch(e, r.selector("dispatchThreadgroups:threadsPerThreadgroup:"), size{groups, 1, 1}, size{threads, 1, 1})
}

// run commits and waits.
func (r *rig) run(cb id) {
	r.send(cb, "commit")
	r.send(cb, "waitUntilCompleted")
}

// all are the buffers of the ICB.
func (r *rig) all() []id { return []id{r.x, r.y, r.z, r.args} }

// close releases everything.
func (r *rig) close() {
	r.poolPop(r.pool)
	for _, o := range []id{r.icb, r.scale, r.sum, r.beyond, r.lib, r.x, r.y, r.z, r.args, r.queue, r.set, r.dev} {
		if o != 0 {
			r.send(o, "release")
		}
	}
}

// residencySet attaches a set with these allocations to the queue.
func (r *rig) residencySet(commit bool, allocations ...id) {
	d := r.made("MTLResidencySetDescriptor")
	r.set = r.object(r.dev, "newResidencySetWithDescriptor:error:", uintptr(d), 0)
	r.send(d, "release")
	for _, a := range allocations {
		r.send(r.set, "addAllocation:", uintptr(a))
	}
	if commit {
		r.send(r.set, "commit")
	}
	r.send(r.queue, "addResidencySet:", uintptr(r.set))
}

// encodeDirect dispatches a kernel on an encoder.
func (r *rig) encodeDirect(e, pipeline id, buffers ...id) {
	r.send(e, "setComputePipelineState:", uintptr(pipeline))
	for i, b := range buffers {
		r.send(e, "setBuffer:offset:atIndex:", uintptr(b), 0, uintptr(i))
	}
	r.dispatchOn(e, rows, 64)
}
