//go:build linux

package metal_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// A violation is a small program that breaks one rule.
type violation struct {
	rule, name string
	env        []string
	run        func(*sim)
}

// on makes a violation that starts from a bare rig: pool, device, queue.
func on(rule, name string, run func(*rig), env ...string) violation {
	return violation{rule, rule + "/" + name, env, func(s *sim) { run(newRig(s)) }}
}

// with makes one that starts from pipelines and buffers.
func with(rule, name string, run func(*rig), env ...string) violation {
	return on(rule, name, func(r *rig) { run(r.prepare()) }, env...)
}

// recorded makes one that starts from a recorded ICB.
func recorded(rule, name string, run func(*rig), env ...string) violation {
	return with(rule, name, func(r *rig) { run(r.record()) }, env...)
}

var violations = concat(objcViolations, bufferViolations, icbViolations, replayViolations, hazardViolations)

func concat(lists ...[]violation) (all []violation) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// TestViolations runs a program for every rule that breaks it. Each must end with its rule.
func TestViolations(t *testing.T) {
	compileKernels(t)
	s, err := load(os.Getenv(libVariable))
	if err != nil {
		t.Fatal(err)
	}
	uncovered := map[string]bool{}
	for _, rule := range strings.Fields(s.rules()) {
		uncovered[rule] = true
	}
	for _, v := range violations {
		delete(uncovered, v.rule)
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			out, err := child(t, v.name, v.env...)
			if got := ruleOf(out); err == nil || got != v.rule {
				t.Errorf("rule %q (%v, %v), want %q\n%.2000s", got, err, time.Since(start), v.rule, out)
			}
		})
	}
	for rule := range uncovered {
		t.Errorf("no program breaks rule %s", rule)
	}
}

// without is the source without the lines that begin so.
func without(start string) string {
	var kept strings.Builder
	for line := range strings.Lines(source()) {
		if !strings.HasPrefix(line, start) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// elsewhere runs f on another operating system thread.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // newRig has locked the first thread
		f()
		close(done)
	}()
	<-done
}

var objcViolations = []violation{
	on("unknown-selector", "device", func(r *rig) { r.send(r.dev, "newTextureWithDescriptor:", 0) }),
	on("unregistered-selector", "text", func(r *rig) {
		var send func(id, string) uintptr
		registerSend(r.sim, &send)
		send(r.dev, "name")
	}),
	on("os-gated", "residency set", func(r *rig) { r.send(r.dev, "newResidencySetWithDescriptor:error:", 0, 0) }, "METALSIM_OS=14"),
	on("os-gated", "math mode", func(r *rig) { r.send(r.made("MTLCompileOptions"), "setMathMode:", 0) }, "METALSIM_OS=14"),
	on("nil-receiver", "class of a newer macOS", func(r *rig) { r.made("MTLResidencySetDescriptor") }, "METALSIM_OS=14"),
	on("nil-receiver", "protocol instead of class", func(r *rig) { r.made("MTLBuffer") }),
	on("not-an-object", "number", func(r *rig) { r.send(12345, "release") }),
	on("argument-type", "device as function", func(r *rig) {
		r.send(r.made("MTLComputePipelineDescriptor"), "setComputeFunction:", uintptr(r.dev))
	}),
	on("argument-type", "class as object", func(r *rig) {
		r.send(r.made("MTLComputePipelineDescriptor"), "setComputeFunction:", uintptr(r.getClass("NSString")))
	}),
	with("argument-type", "library in a residency set", func(r *rig) {
		r.residencySet(false)
		list := []id{r.lib}
		r.send(r.set, "addAllocations:count:", uintptr(unsafe.Pointer(&list[0])), 1)
	}),
	on("nil-argument", "unknown protocol", func(r *rig) { r.send(r.dev, "conformsToProtocol:", uintptr(r.protocol("MTLNothing"))) }),
	on("nil-argument", "source", func(r *rig) { r.send(r.dev, "newLibraryWithSource:options:error:", 0, 0, 0) }),
	on("use-after-free", "message", func(r *rig) {
		b := r.buffer(64)
		r.send(b, "release")
		r.send(b, "length")
	}),
	on("use-after-free", "argument", func(r *rig) {
		b := r.buffer(64)
		r.send(b, "release")
		r.send(r.encoder(r.object(r.queue, "commandBuffer")), "setBuffer:offset:atIndex:", uintptr(b), 0, 0)
	}),
	on("use-after-free", "drained", func(r *rig) {
		pool := r.poolPush()
		s := r.string("x")
		r.poolPop(pool)
		r.text(s)
	}),
	on("over-release", "autoreleased", func(r *rig) { r.send(r.object(r.queue, "commandBuffer"), "release") }),
	with("over-release", "kept alive by a set", func(r *rig) {
		r.residencySet(true, r.x)
		r.send(r.x, "release")
		r.send(r.x, "release")
	}),
	on("over-release", "autoreleased twice", func(r *rig) {
		b := r.buffer(64)
		r.send(b, "autorelease")
		r.send(b, "autorelease")
	}),
	on("leak", "buffer", func(r *rig) {
		r.buffer(64)
		r.close()
		r.leaks()
	}, "METALSIM_STRICT=1"),
	on("leak", "at release of the device", func(r *rig) {
		r.buffer(64)
		r.send(r.dev, "release")
	}, "METALSIM_STRICT=1"),
	on("leak", "pool", func(r *rig) {
		r.send(r.queue, "release")
		r.send(r.dev, "release")
		r.leaks()
	}, "METALSIM_STRICT=1"),
	recorded("leak", "in flight", func(r *rig) {
		r.send(r.replay(2, r.all()...), "commit")
		r.close()
	}, "METALSIM_STRICT=1"),
	on("pool-missing", "string", func(r *rig) {
		r.poolPop(r.pool)
		r.string("x")
	}),
	on("pool-missing", "thread without a pool", func(r *rig) { elsewhere(func() { r.string("x") }) }),
	on("pool-unbalanced", "on another thread", func(r *rig) { elsewhere(func() { r.poolPop(r.pool) }) }),
	on("pool-unbalanced", "twice", func(r *rig) {
		r.poolPop(r.pool)
		r.poolPop(r.pool)
	}),
	on("pool-unbalanced", "outer first", func(r *rig) {
		r.poolPush()
		r.poolPop(r.pool)
	}),
	with("leak", "residency set", func(r *rig) {
		r.residencySet(true, r.x)
		r.set = 0
		r.close()
	}, "METALSIM_STRICT=1"),
	on("math-mode", "default", func(r *rig) { r.compile(source(), r.made("MTLCompileOptions")) }),
	on("math-mode", "no options", func(r *rig) { r.compile(source(), 0) }),
	on("math-mode", "fast", func(r *rig) {
		o := r.made("MTLCompileOptions")
		r.send(o, "setMathMode:", 2)
		r.compile(source(), o)
	}),
	on("math-functions", "default", func(r *rig) {
		o := r.made("MTLCompileOptions")
		r.send(o, "setMathMode:", 0)
		r.compile(source(), o)
	}),
	on("math-functions", "fast", func(r *rig) {
		o := r.options()
		r.send(o, "setMathFloatingPointFunctions:", 0)
		r.compile(source(), o)
	}),
	on("math-functions", "the switch of macOS 14", func(r *rig) {
		o := r.made("MTLCompileOptions")
		r.send(o, "setFastMathEnabled:", 0)
		r.compile(source(), o)
	}, "METALSIM_OS=26"),
	on("math-contraction", "no pragma", func(r *rig) { r.compile(without("#pragma"), r.options()) }),
	on("math-contraction", "Metal's name below 3.2", func(r *rig) { r.compile(without("#pragma clang"), r.options()) }, "METALSIM_OS=14"),
	on("math-contraction", "clang's name from 3.2 on", func(r *rig) { r.compile(without("#pragma METAL"), r.options()) }),
	on("math-contraction", "of the branch of another version", func(r *rig) {
		r.compile(strings.Replace(source(), ">= 320", "< 320", 1), r.options())
	}),
	on("math-contraction", "after code", func(r *rig) {
		r.compile("struct First { float v; };\n"+source(), r.options())
	}),
	on("os-gated", "math functions", func(r *rig) { r.send(r.made("MTLCompileOptions"), "setMathFloatingPointFunctions:", 1) }, "METALSIM_OS=14"),
	on("function-missing", "descriptor", func(r *rig) {
		d := r.made("MTLComputePipelineDescriptor")
		r.send(r.dev, "newComputePipelineStateWithDescriptor:options:reflection:error:", uintptr(d), 0, 0, 0)
	}),
	with("persistent-kernel", "recommended", func(r *rig) {
		r.recommended(r.sum, r.selector("recommendedPersistentThreadgroupsPerGridForThreadsPerThreadgroup:"), size{64, 1, 1})
	}, "METALSIM_OS=27"),
	on("function-missing", "archive", func(r *rig) {
		a := r.object(r.dev, "newBinaryArchiveWithDescriptor:error:", uintptr(r.made("MTLBinaryArchiveDescriptor")), 0)
		r.send(a, "addComputePipelineFunctionsWithDescriptor:error:", uintptr(r.made("MTLComputePipelineDescriptor")), 0)
	}),
	{"configuration", "configuration/report", []string{"METALSIM_REPORT=/nonexistent/report"}, func(s *sim) { newRig(s) }},
	{"configuration", "configuration/os", []string{"METALSIM_OS=12"}, func(s *sim) { newRig(s) }},
	{"configuration", "configuration/gpu", []string{"METALSIM_GPU=m4"}, func(s *sim) { newRig(s) }},
	{"configuration", "configuration/store delay", []string{"METALSIM_STORE_DELAY=1", "METALSIM_KERNELS=fast"}, func(s *sim) { newRig(s) }},
	{"configuration", "configuration/refuse", []string{"METALSIM_REFUSE=kernel:x"}, func(s *sim) { newRig(s) }},
	{"configuration", "configuration/refuse nothing", []string{"METALSIM_REFUSE=pipeline"}, func(s *sim) { newRig(s) }},
	{"configuration", "configuration/threads", []string{"METALSIM_MAX_THREADS_OF=64"}, func(s *sim) { newRig(s) }},
	{"configuration", "configuration/speed", []string{"METALSIM_SPEED=0"}, func(s *sim) { newRig(s) }},
	{"configuration", "configuration/work", []string{"METALSIM_WORK=/nonexistent/work"}, func(s *sim) { r := newRig(s).prepare().record(); r.run(r.replay(2, r.all()...)) }},
	{"configuration", "configuration/fault", []string{"METALSIM_FAULT=alloc"}, func(s *sim) { newRig(s) }},
	{"configuration", "configuration/fault without a count", []string{"METALSIM_FAULT=icb-segv:1"}, func(s *sim) { newRig(s) }},
}
