//go:build linux

package metal_test

import (
	"syscall"
	"unsafe"
)

// mapped is anonymous memory, aligned to a page of Apple Silicon.
func mapped(bytes uint64, protection int) unsafe.Pointer {
	const page = 16384
	b, err := syscall.Mmap(-1, 0, int(bytes+page), protection, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		panic(err)
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	return unsafe.Add(p, (page-uintptr(p)%page)%page)
}

// noCopy is a shared buffer over p.
func (r *rig) noCopy(p unsafe.Pointer, bytes uint64) id {
	return r.object(r.dev, "newBufferWithBytesNoCopy:length:options:deallocator:", uintptr(p), uintptr(bytes), 0, 0)
}

var goMemory [4 * 16384]byte

var bufferViolations = []violation{
	on("max-buffer-length", "long", func(r *rig) { r.buffer(1<<20 + 1) }, "METALSIM_MAX_BUFFER=1048576"),
	on("max-buffer-length", "empty", func(r *rig) { r.buffer(0) }),
	on("working-set", "two", func(r *rig) {
		r.buffer(1 << 20)
		r.buffer(1 << 20)
	}, "METALSIM_WORKING_SET=2000000"),
	on("page-alignment", "address", func(r *rig) { r.noCopy(unsafe.Add(mapped(1<<20, syscall.PROT_READ), 4096), 16384) }),
	on("page-alignment", "length", func(r *rig) { r.noCopy(mapped(1<<20, syscall.PROT_READ), 4096) }),
	on("no-copy-memory", "unmapped", func(r *rig) {
		r.send(r.dev, "newBufferWithBytesNoCopy:length:options:deallocator:", 1<<40, 16384, 0, 0)
	}),
	on("no-copy-memory", "Go heap", func(r *rig) {
		p := unsafe.Pointer(&make([]byte, 1<<20)[0])
		r.noCopy(unsafe.Add(p, (16384-uintptr(p)%16384)%16384), 16384)
	}),
	on("no-copy-memory", "mapped in part", func(r *rig) {
		p := mapped(1<<20, syscall.PROT_READ)
		hole := unsafe.Slice((*byte)(unsafe.Add(p, 16384)), 16384)
		if _, _, err := syscall.Syscall(syscall.SYS_MUNMAP, uintptr(unsafe.Pointer(&hole[0])), 16384, 0); err != 0 {
			panic(err)
		}
		r.noCopy(p, 3*16384)
	}),
	on("deallocator", "block", func(r *rig) {
		r.send(r.dev, "newBufferWithBytesNoCopy:length:options:deallocator:", uintptr(mapped(1<<20, syscall.PROT_READ)), 16384, 0, uintptr(r.dev))
	}),
	on("storage-mode", "memoryless", func(r *rig) { r.send(r.dev, "newBufferWithLength:options:", 64, 48) }),
	on("storage-mode", "no-copy and private", func(r *rig) {
		r.send(r.dev, "newBufferWithBytesNoCopy:length:options:deallocator:", uintptr(mapped(1<<20, syscall.PROT_READ)), 16384, private, 0)
	}),
	on("storage-mode", "contents of private", func(r *rig) {
		r.contents(r.object(r.dev, "newBufferWithLength:options:", 64, private))
	}),
	on("use-after-free", "contents", func(r *rig) {
		b := r.buffer(64)
		p := (*byte)(r.contents(b))
		r.send(b, "release")
		*p = 1
	}),
	on("out-of-bounds", "guard page", func(r *rig) {
		*(*byte)(unsafe.Add(r.contents(r.buffer(16384)), 16384)) = 1
	}),
	on("out-of-bounds", "tail", func(r *rig) {
		b := r.buffer(64)
		*(*byte)(unsafe.Add(r.contents(b), 64)) = 1
		r.send(b, "release")
	}),
	with("offset-range", "past the end", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.bind(r.command(0), r.x, elements*4, 0)
	}),
	with("nil-argument", "buffer", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.bind(r.command(0), 0, 0, 0)
	}),
	with("constant-alignment", "encoder", func(r *rig) {
		e := r.encoder(r.object(r.queue, "commandBuffer"))
		r.send(e, "setComputePipelineState:", uintptr(r.scale))
		r.send(e, "setBuffer:offset:atIndex:", uintptr(r.x), 0, 0)
		r.send(e, "setBuffer:offset:atIndex:", uintptr(r.y), 0, 1)
		r.send(e, "setBuffer:offset:atIndex:", uintptr(r.args), 128, 2)
		r.dispatchOn(e, 1, 64)
	}),
	with("constant-alignment", "16", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		c := r.command(0)
		r.send(c, "setComputePipelineState:", uintptr(r.scale))
		r.bind(c, r.x, 0, 0)
		r.bind(c, r.y, 0, 1)
		r.bind(c, r.args, 16, 2)
		r.dispatchICB(c, 1, 64)
	}),
	with("device-alignment", "2", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		c := r.command(0)
		r.send(c, "setComputePipelineState:", uintptr(r.sum))
		r.bind(c, r.x, 2, 0)
		r.bind(c, r.z, 0, 1)
		r.dispatchICB(c, 1, 64)
	}),
}

// descriptorWithout is an ICB descriptor on which one setter was not called.
func (r *rig) descriptorWithout(setter string) id {
	d := r.made("MTLIndirectCommandBufferDescriptor")
	for _, s := range []struct {
		selector string
		value    uintptr
	}{{"setCommandTypes:", 32}, {"setInheritBuffers:", 0}, {"setInheritPipelineState:", 0}, {"setMaxKernelBufferBindCount:", 3}} {
		if s.selector != setter {
			r.send(d, s.selector, s.value)
		}
	}
	return d
}

// descriptorWith is an ICB descriptor with one value changed.
func (r *rig) descriptorWith(setter string, value uintptr) id {
	d := r.icbDescriptor()
	r.send(d, setter, value)
	return d
}

var icbViolations = []violation{
	on("icb-inherit", "buffers not set", func(r *rig) { r.newIcb(r.descriptorWithout("setInheritBuffers:"), 1) }),
	on("icb-inherit", "pipeline not set", func(r *rig) { r.newIcb(r.descriptorWithout("setInheritPipelineState:"), 1) }),
	on("icb-inherit", "buffers", func(r *rig) { r.newIcb(r.descriptorWith("setInheritBuffers:", 1), 1) }),
	on("icb-inherit", "pipeline", func(r *rig) { r.newIcb(r.descriptorWith("setInheritPipelineState:", 1), 1) }),
	on("icb-command-type", "1<<4", func(r *rig) { r.newIcb(r.descriptorWith("setCommandTypes:", 16), 1) }),
	on("icb-bind-count", "not set", func(r *rig) { r.newIcb(r.descriptorWithout("setMaxKernelBufferBindCount:"), 1) }),
	on("icb-bind-count", "32", func(r *rig) { r.newIcb(r.descriptorWith("setMaxKernelBufferBindCount:", 32), 1) }),
	with("icb-bind-count", "index", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.bind(r.command(0), r.x, 0, 3)
	}),
	with("icb-pipeline", "not indirect", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.send(r.command(0), "setComputePipelineState:", uintptr(r.pipeline("sum", 0)))
	}),
	with("icb-offset-uint32", "4 GiB", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		b := r.noCopy(mapped(5<<30, syscall.PROT_READ), 5<<30)
		r.bind(r.command(0), b, 1<<32, 0)
	}),
	recorded("icb-barrier-order", "after dispatch", func(r *rig) { r.send(r.command(1), "setBarrier") }),
	recorded("icb-reset", "encoded twice", func(r *rig) { r.encode(1, r.sum, true, rows, r.y, r.z) }),
	on("icb-range", "no commands", func(r *rig) { r.newIcb(r.icbDescriptor(), 0) }),
	recorded("icb-range", "none executed", func(r *rig) { r.replay(0, r.all()...) }),
	recorded("icb-range", "index", func(r *rig) { r.command(2) }),
	recorded("icb-range", "past the end", func(r *rig) { r.replay(3, r.all()...) }),
	recorded("icb-range", "reset", func(r *rig) {
		var reset func(id, uintptr, span)
		registerSend(r.sim, &reset)
		reset(r.icb, r.selector("resetWithRange:"), span{1, 2})
	}),
	with("icb-range", "16385 commands", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 16385)
		r.replay(16385, r.all()...)
	}),
	recorded("icb-empty-command", "reset", func(r *rig) {
		r.send(r.command(1), "reset")
		r.replay(2, r.all()...)
	}),
	with("threadgroup-memory", "icb", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.send(r.command(0), "setThreadgroupMemoryLength:atIndex:", 64, 0)
	}),
	with("threadgroup-memory", "encoder", func(r *rig) {
		r.send(r.encoder(r.object(r.queue, "commandBuffer")), "setThreadgroupMemoryLength:atIndex:", 64, 0)
	}),
	with("unbound-argument", "icb", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.encode(0, r.scale, false, 1, r.x, r.y)
	}),
	with("unbound-argument", "encoder", func(r *rig) {
		r.encodeDirect(r.encoder(r.object(r.queue, "commandBuffer")), r.scale, r.x, r.y)
	}),
	with("no-pipeline", "encoder", func(r *rig) { r.dispatchOn(r.encoder(r.object(r.queue, "commandBuffer")), 1, 64) }),
	with("no-pipeline", "icb", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.dispatchICB(r.command(0), 1, 64)
	}),
	with("grid-size", "2048 threads", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		c := r.command(0)
		r.send(c, "setComputePipelineState:", uintptr(r.sum))
		r.bind(c, r.x, 0, 0)
		r.bind(c, r.z, 0, 1)
		r.dispatchICB(c, 1, 2048)
	}),
	with("grid-size", "more than the pipeline's", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		c := r.command(0)
		r.send(c, "setComputePipelineState:", uintptr(r.sum))
		r.bind(c, r.x, 0, 0)
		r.bind(c, r.z, 0, 1)
		r.dispatchICB(c, 1, 64)
	}, "METALSIM_MAX_THREADS=32"),
	with("grid-size", "empty in an ICB", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.encode(0, r.sum, false, 0, r.x, r.z)
	}),
	on("storage-mode", "memoryless ICB", func(r *rig) {
		r.send(r.dev, "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:", uintptr(r.icbDescriptor()), 1, 48)
	}),
	with("grid-size", "more threadgroups than 32 bits count", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.encode(0, r.sum, false, 1<<32, r.x, r.z)
	}),
	with("bytes-written", "output", func(r *rig) {
		e := r.encoder(r.object(r.queue, "commandBuffer"))
		r.send(e, "setComputePipelineState:", uintptr(r.sum))
		r.send(e, "setBuffer:offset:atIndex:", uintptr(r.x), 0, 0)
		r.send(e, "setBytes:length:atIndex:", uintptr(unsafe.Pointer(&goMemory)), rows*4, 1)
		r.dispatchOn(e, rows, 64)
	}),
	with("bytes-length", "nil", func(r *rig) {
		r.send(r.encoder(r.object(r.queue, "commandBuffer")), "setBytes:length:atIndex:", 0, 4, 0)
	}),
	with("bytes-length", "4097", func(r *rig) {
		e := r.encoder(r.object(r.queue, "commandBuffer"))
		r.send(e, "setBytes:length:atIndex:", uintptr(unsafe.Pointer(&goMemory)), 4097, 0)
	}),
}
