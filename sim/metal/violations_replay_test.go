//go:build linux

package metal_test

import (
	"syscall"
	"unsafe"
)

var replayViolations = []violation{
	recorded("paravirtual-icb", "replay", func(r *rig) { r.replay(2, r.all()...) }, "METALSIM_GPU=paravirtual"),
	recorded("buffer-residency", "none", func(r *rig) { r.replay(2) }),
	recorded("buffer-residency", "one missing", func(r *rig) { r.replay(2, r.x, r.y, r.args) }),
	recorded("buffer-residency", "set not committed", func(r *rig) {
		r.residencySet(true, r.icb)
		for _, b := range r.all() {
			r.send(r.set, "addAllocation:", uintptr(b))
		}
		r.replay(2)
	}),
	recorded("buffer-residency", "no usage", func(r *rig) {
		e := r.encoder(r.object(r.queue, "commandBuffer"))
		r.send(e, "useResource:usage:", uintptr(r.x), 0)
	}),
	recorded("buffer-residency", "set of no queue", func(r *rig) {
		r.residencySet(true, r.all()...)
		r.send(r.queue, "removeResidencySet:", uintptr(r.set))
		r.replay(2)
	}),
	recorded("buffer-residency", "declared in the encoder before", func(r *rig) {
		cb := r.object(r.queue, "commandBuffer")
		e := r.encoder(cb)
		for _, b := range r.all() {
			r.send(e, "useResource:usage:", uintptr(b), readWrite)
		}
		r.send(e, "endEncoding")
		r.execute(r.encoder(cb), r.selector("executeCommandsInBuffer:withRange:"), r.icb, span{0, 2})
	}),
	recorded("pipeline-residency", "in the replay before", func(r *rig) {
		r.run(r.withPipelines(r.all()...))
		r.replay(2, r.all()...)
	}, "METALSIM_GPU=m1"),
	recorded("pipeline-residency", "M2", func(r *rig) { r.replay(2, r.all()...) }, "METALSIM_GPU=m2"),
	recorded("set-residency", "ICB", func(r *rig) {
		r.residencySet(true, r.all()...)
		r.withPipelines()
	}, "METALSIM_GPU=m1"),
	recorded("set-residency", "ICB, macOS 26", func(r *rig) {
		r.residencySet(true, append(r.all(), r.scale, r.sum)...)
		r.replay(2)
	}, "METALSIM_OS=26"),
	with("set-uncommitted", "addition", func(r *rig) {
		r.residencySet(true, r.x)
		r.send(r.set, "addAllocation:", uintptr(r.y))
		r.send(r.set, "requestResidency")
	}),
	on("set-count", "33", func(r *rig) {
		for range 33 {
			r.residencySet(true)
		}
	}),
	with("argument-type", "pipeline as resource", func(r *rig) {
		r.send(r.encoder(r.object(r.queue, "commandBuffer")), "useResource:usage:", uintptr(r.scale), 1)
	}),
	with("barrier-scope", "textures", func(r *rig) {
		r.send(r.encoder(r.object(r.queue, "commandBuffer")), "memoryBarrierWithScope:", 2)
	}),
	recorded("command-buffer-state", "times before it is done", func(r *rig) {
		cb := r.replay(2, r.all()...)
		r.send(cb, "commit")
		r.sendDouble(cb, r.selector("GPUStartTime"))
	}),
	with("set-member", "pipeline", func(r *rig) { r.residencySet(true, r.scale) }),
	with("set-member", "pipeline in a list", func(r *rig) {
		r.residencySet(false)
		list := []id{r.x, r.scale}
		r.send(r.set, "addAllocations:count:", uintptr(unsafe.Pointer(&list[0])), 2)
	}, "METALSIM_GPU=m1"),
	recorded("use-after-free", "buffer of an ICB", func(r *rig) {
		cb := r.object(r.queue, "commandBuffer")
		e := r.encoder(cb)
		for _, b := range r.all() {
			r.send(e, "useResource:usage:", uintptr(b), readWrite)
		}
		r.send(r.z, "release")
		r.execute(e, r.selector("executeCommandsInBuffer:withRange:"), r.icb, span{0, 2})
	}),
	recorded("use-after-free", "pipeline of an ICB", func(r *rig) {
		r.send(r.sum, "release")
		r.replay(2, r.all()...)
	}),
	recorded("use-after-free", "buffer in flight", func(r *rig) {
		r.residencySet(true, append(r.all(), r.icb)...)
		cb := r.replay(2)
		r.send(cb, "commit")
		for _, b := range r.all() {
			r.send(r.set, "removeAllocation:", uintptr(b))
		}
		r.send(r.z, "release")
		r.send(cb, "waitUntilCompleted")
	}),
	recorded("edit-in-flight", "command", func(r *rig) {
		r.send(r.replay(2, r.all()...), "commit")
		r.send(r.command(0), "reset")
	}),
	with("edit-in-flight", "encoding", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 3)
		r.encode(0, r.scale, false, rows, r.x, r.y, r.args)
		r.send(r.replay(1, r.all()...), "commit")
		r.encode(1, r.sum, true, rows, r.y, r.z)
	}),
	recorded("edit-in-flight", "range", func(r *rig) {
		r.send(r.replay(2, r.all()...), "commit")
		var reset func(id, uintptr, span)
		registerSend(r.sim, &reset)
		reset(r.icb, r.selector("resetWithRange:"), span{0, 1})
	}),
	recorded("edit-in-flight", "arguments", func(r *rig) {
		cb := r.replay(2, r.all()...)
		r.send(cb, "commit")
		r.setArgs(elements, 3)
		r.send(cb, "waitUntilCompleted")
	}),
	recorded("encoder-state", "ended", func(r *rig) {
		e := r.encoder(r.object(r.queue, "commandBuffer"))
		r.send(e, "endEncoding")
		r.send(e, "endEncoding")
	}),
	recorded("encoder-state", "two", func(r *rig) {
		cb := r.object(r.queue, "commandBuffer")
		r.encoder(cb)
		r.encoder(cb)
	}),
	recorded("encoder-state", "commit while open", func(r *rig) {
		cb := r.object(r.queue, "commandBuffer")
		r.encoder(cb)
		r.send(cb, "commit")
	}),
	recorded("encoder-state", "released while open", func(r *rig) {
		r.encoder(r.object(r.queue, "commandBuffer"))
		r.poolPop(r.pool)
	}),
	recorded("command-buffer-state", "committed twice", func(r *rig) {
		cb := r.replay(2, r.all()...)
		r.send(cb, "commit")
		r.send(cb, "commit")
	}),
	recorded("command-buffer-state", "wait before commit", func(r *rig) {
		r.send(r.replay(2, r.all()...), "waitUntilCompleted")
	}),
	recorded("command-buffer-state", "encoder after commit", func(r *rig) {
		cb := r.replay(2, r.all()...)
		r.run(cb)
		r.encoder(cb)
	}),
	on("command-buffer-stall", "65", func(r *rig) {
		for range 65 {
			r.run(r.object(r.queue, "commandBuffer"))
		}
	}),
	recorded("error-unchecked", "next", func(r *rig) {
		r.run(r.replay(2, r.all()...))
		r.replay(2, r.all()...)
	}, "METALSIM_FAULT=replay:1"),
	recorded("error-unchecked", "drained", func(r *rig) {
		pool := r.poolPush()
		r.run(r.replay(2, r.all()...))
		r.poolPop(pool)
	}, "METALSIM_FAULT=lost:1"),
}

// pair runs two commands of one group.
func (r *rig) pair(first, second func()) {
	r.icb = r.newIcb(r.icbDescriptor(), 2)
	first()
	second()
	r.run(r.replay(2, r.all()...))
}

var hazardViolations = []violation{
	with("missing-barrier", "read after write", func(r *rig) {
		r.pair(func() { r.encode(0, r.scale, false, rows, r.x, r.y, r.args) },
			func() { r.encode(1, r.sum, false, rows, r.y, r.z) })
	}),
	with("missing-barrier", "write after read", func(r *rig) {
		r.pair(func() { r.encode(0, r.sum, false, rows, r.y, r.z) },
			func() { r.encode(1, r.scale, false, rows, r.x, r.y, r.args) })
	}),
	with("missing-barrier", "write after write", func(r *rig) {
		r.pair(func() { r.encode(0, r.sum, false, rows, r.x, r.z) },
			func() { r.encode(1, r.sum, false, rows, r.x, r.z) })
	}),
	with("missing-barrier", "direct", func(r *rig) {
		cb := r.object(r.queue, "commandBuffer")
		e := r.encoder(cb)
		r.encodeDirect(e, r.scale, r.x, r.y, r.args)
		r.encodeDirect(e, r.sum, r.y, r.z)
		r.send(e, "endEncoding")
		r.run(cb)
	}),
	recorded("command-buffer-overlap", "residency set", func(r *rig) {
		r.residencySet(true, append(r.all(), r.icb)...)
		first, second := r.replay(2), r.replay(2)
		r.send(first, "commit")
		r.run(second)
	}),
	recorded("command-buffer-overlap", "encoders of one command buffer", func(r *rig) {
		r.residencySet(true, append(r.all(), r.icb)...)
		cb := r.object(r.queue, "commandBuffer")
		for range 2 {
			e := r.encoder(cb)
			r.execute(e, r.selector("executeCommandsInBuffer:withRange:"), r.icb, span{0, 2})
			r.send(e, "endEncoding")
		}
		r.run(cb)
	}),
	with("out-of-bounds", "kernel", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.encode(0, r.beyond, false, 1, r.x, r.y, r.args)
		r.run(r.replay(1, r.all()...))
	}),
	with("out-of-bounds", "unchecked kernel", func(r *rig) {
		r.setArgs(16384/4, 1)
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.encode(0, r.beyond, false, 1, r.x, r.y, r.args)
		r.run(r.replay(1, r.all()...))
	}, "METALSIM_KERNELS=fast"),
	with("read-only-memory", "kernel", func(r *rig) {
		b := r.noCopy(mapped(1<<20, syscall.PROT_READ), 16384)
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.encode(0, r.scale, false, 1, r.x, b, r.args)
		r.run(r.replay(1, append(r.all(), b)...))
	}),
	with("device-alignment", "wide loads", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		c := r.command(0)
		r.send(c, "setComputePipelineState:", uintptr(r.pipeline("wide", 1)))
		r.bind(c, r.x, 8, 0)
		r.bind(c, r.y, 0, 1)
		r.dispatchICB(c, 1, 64)
		r.run(r.replay(1, r.all()...))
	}),
	with("kernel-fault", "divergent barrier", func(r *rig) {
		r.icb = r.newIcb(r.icbDescriptor(), 1)
		r.encode(0, r.pipeline("divergent", 1), false, 1, r.x, r.y, r.args)
		r.run(r.replay(1, r.all()...))
	}),
}
