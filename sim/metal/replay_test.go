//go:build linux

package metal_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// positive are programs that break no rule; they print what the tests check.
var positive = map[string]func(*sim){
	"replay":      replay,
	"direct":      direct,
	"ahead":       ahead,
	"sets":        sets,
	"allocations": allocations,
	"faults":      faults,
	"doctor":      doctor,
	"reorder":     reorder,
	"early":       early,
	"fresh":       fresh,
}

// want is row g of z for a factor.
func want(g int, factor float32) (sum float32) {
	for i := range 64 {
		sum += float32((g*64+i)%7-3)*factor + 1
	}
	return sum
}

// checkZ fails unless z has the values that follow from the factor. All values are small whole numbers, so
// that sums are exact in any order.
func (r *rig) checkZ(factor float32) {
	for g, got := range r.floats(r.z, rows) {
		if got != want(g, factor) {
			panic(fmt.Sprintf("row %d is %g, want %g", g, got, want(g, factor)))
		}
	}
}

// finish closes the rig and prints OK if nothing leaked.
func (r *rig) finish() {
	r.close()
	if n := r.leaks(); n != 0 {
		panic(fmt.Sprintf("%d leaks", n))
	}
	fmt.Println("OK")
}

// step is one token: a pool, new arguments, a replay.
func (r *rig) step(factor float32, replay func() id) {
	pool := r.poolPush()
	r.setArgs(elements, factor)
	cb := replay()
	r.run(cb)
	if status := r.send(cb, "status"); status != 4 {
		panic(fmt.Sprintf("status %d", status))
	}
	if r.object(cb, "error") != 0 || r.sendDouble(cb, r.selector("GPUEndTime")) < r.sendDouble(cb, r.selector("GPUStartTime")) {
		panic("error or times")
	}
	r.checkZ(factor)
	r.poolPop(pool)
}

// withPipelines sets each pipeline with an empty dispatch before the replay, as
// families before Apple9 need.
func (r *rig) withPipelines(resources ...id) id {
	cb := r.object(r.queue, "commandBuffer")
	e := r.encoder(cb)
	for _, p := range []id{r.scale, r.sum} {
		r.send(e, "setComputePipelineState:", uintptr(p))
		r.dispatchOn(e, 0, 0)
	}
	for _, b := range resources {
		r.send(e, "useResource:usage:", uintptr(b), readWrite)
	}
	r.execute(e, r.selector("executeCommandsInBuffer:withRange:"), r.icb, span{0, 2})
	r.send(e, "endEncoding")
	return cb
}

// replay runs one ICB 200 times with other arguments.
func replay(s *sim) {
	r := newRig(s).prepare().record()
	for i := range 200 {
		r.step(float32(i), func() id { return r.withPipelines(r.all()...) })
	}
	r.finish()
}

// direct encodes the two dispatches for every step.
func direct(s *sim) {
	r := newRig(s).prepare()
	for i := range 3 {
		r.step(float32(i), func() id {
			cb := r.object(r.queue, "commandBuffer")
			e := r.encoder(cb)
			r.encodeDirect(e, r.scale, r.x, r.y, r.args)
			r.send(e, "memoryBarrierWithScope:", 1)
			r.encodeDirect(e, r.sum, r.y, r.z)
			r.send(e, "endEncoding")
			return cb
		})
	}
	r.finish()
}

// ahead has two command buffers in flight whose encoders declare what they use.
func ahead(s *sim) {
	r := newRig(s).prepare().record()
	first, second := r.replay(2, r.all()...), r.replay(2, r.all()...)
	r.send(first, "commit")
	r.run(second)
	r.checkZ(2)
	r.finish()
}

// sets replays with residency alone: buffers, the ICB, and pipelines where the
// system counts them as allocations.
func sets(s *sim) {
	r := newRig(s).prepare().record()
	members := append(r.all(), r.icb)
	if r.isAllocation(r.scale) {
		members = append(members, r.scale, r.sum)
	}
	r.residencySet(true, members...)
	for i := range 3 {
		r.step(float32(i), func() id { return r.withPipelines() })
	}
	r.send(r.queue, "removeResidencySet:", uintptr(r.set))
	r.finish()
}

// isAllocation asks an object whether it conforms to MTLAllocation.
func (r *rig) isAllocation(o id) bool {
	p := r.protocol("MTLAllocation")
	return p != 0 && r.send(o, "conformsToProtocol:", uintptr(p))&0xFF != 0
}

// allocations prints of a buffer, an ICB, a pipeline and a queue whether they
// answer allocatedSize, and whether they are allocations.
func allocations(s *sim) {
	r := newRig(s).prepare().record()
	for _, o := range []id{r.x, r.icb, r.scale, r.queue} {
		answers := r.send(o, "respondsToSelector:", r.selector("allocatedSize"))&0xFF != 0
		fmt.Print(answers, " ", r.isAllocation(o), "; ")
	}
	fmt.Println(r.protocol("MTLAllocation") != 0, r.protocol("MTLNothing") != 0)
	r.finish()
}

// faults prints how the second of three replays ends.
func faults(s *sim) {
	r := newRig(s)
	if r.buffer(64) == 0 {
		fmt.Println("no buffer")
		return
	}
	o := r.options()
	lib, text := r.compile(source(), o)
	if lib == 0 {
		fmt.Println(text)
		return
	}
	r.prepare()
	if r.scale == 0 || r.sum == 0 {
		fmt.Println("no pipeline")
		return
	}
	r.record()
	for range 3 {
		cb := r.replay(2, r.all()...)
		r.run(cb)
		fmt.Print(r.send(cb, "status"), " ")
		if e := r.object(cb, "error"); e != 0 {
			if os.Getenv("METALSIM_TEST_CODES") != "" {
				fmt.Print(r.send(e, "code"), " ")
			}
			fmt.Print(r.text(r.object(e, "localizedDescription")), " ")
		}
	}
}

// doctor prints the properties of the device.
func doctor(s *sim) {
	r := newRig(s)
	yes := func(r uintptr) bool { return r&0xFF != 0 }
	fmt.Println(r.text(r.object(r.dev, "name")))
	for _, f := range []uintptr{1001, 1005, 1006, 1007, 1008, 1009, 1010, 2002, 3003, 5001, 5002} {
		fmt.Print(yes(r.send(r.dev, "supportsFamily:", f)), " ")
	}
	info := r.object(r.getClass("NSProcessInfo"), "processInfo")
	fmt.Print(yes(r.send(r.dev, "hasUnifiedMemory")), " ")
	for _, v := range []int64{13, 14, 15, 16, 26} {
		fmt.Print(r.atLeast(info, r.selector("isOperatingSystemAtLeastVersion:"), version{v, 0, 0}), " ")
	}
	fmt.Println(yes(r.send(r.dev, "respondsToSelector:", r.selector("newResidencySetWithDescriptor:error:"))))
	fmt.Println(r.sysctl("kern.osproductversion"), r.sysctl("kern.osversion"), r.sysctl("kern.nothing"))
	o := r.options()
	r.send(o, "setLanguageVersion:", 196609)
	lib, text := r.compile(source(), o)
	fmt.Println(lib != 0, text)
	_, text = r.compile(source()+"kernel void k(device float * a [[buffer(0)]]) { a[0] = nonsense; }", o)
	fmt.Println("compile error:", text != "")
}

// reorder prints the order in which two independent commands ran.
func reorder(s *sim) {
	r := newRig(s).prepare()
	r.icb = r.newIcb(r.icbDescriptor(), 2)
	r.encode(0, r.sum, false, rows, r.x, r.z)
	r.encode(1, r.scale, false, rows, r.x, r.y, r.args)
	for range 4 {
		r.run(r.replay(2, r.all()...))
	}
	r.finish()
}

// early reads results before it has waited for them.
func early(s *sim) {
	r := newRig(s).prepare().record()
	cb := r.replay(2, r.all()...)
	r.send(cb, "commit")
	if z := r.floats(r.z, 1)[0]; z == want(0, 2) {
		panic("a result is there before it was waited for")
	}
	r.send(cb, "waitUntilCompleted")
	r.checkZ(2)
	r.finish()
}

// fresh prints the contents of new memory.
func fresh(s *sim) {
	r := newRig(s)
	b := r.buffer(8)
	fmt.Printf("% x\n", unsafe.Slice((*byte)(r.contents(b)), 8))
	r.send(b, "release")
	r.finish()
}

// TestOrder sees, in the message about a missing barrier, that two commands run
// in either order.
func TestOrder(t *testing.T) {
	compileKernels(t)
	seen := map[string]bool{}
	for seed := range 12 {
		out, _ := child(t, "missing-barrier/write after write", fmt.Sprint("METALSIM_SEED=", seed))
		_, after, _ := strings.Cut(out, "one writes (A5): ")
		first, _, _ := strings.Cut(after, " and ")
		seen[first] = true
	}
	if len(seen) != 2 || !seen["sum (command 0)"] || !seen["sum (command 1)"] {
		t.Errorf("first commands: %v", seen)
	}
}

func TestPrograms(t *testing.T) {
	compileKernels(t)
	tests := []struct {
		name, want string
		env        []string
	}{
		{"replay", "OK", nil},
		{"replay", "OK", []string{"METALSIM_GPU=m1", "METALSIM_OS=14", "METALSIM_SEED=7"}},
		{"replay", "OK", []string{"METALSIM_OS=26", "METALSIM_STORE_DELAY=1"}},
		{"replay", "OK", []string{"METALSIM_KERNELS=fast"}},
		{"direct", "OK", []string{"METALSIM_GPU=paravirtual"}},
		{"ahead", "OK", nil},
		{"sets", "OK", []string{"METALSIM_GPU=m2"}},
		{"sets", "OK", []string{"METALSIM_GPU=m1", "METALSIM_OS=26"}},
		{"allocations", "true false; true false; true false; false false; false false\nOK", []string{"METALSIM_OS=14"}},
		{"allocations", "true true; true true; true false; false false; true false\nOK", nil},
		{"allocations", "true true; true true; true true; false false; true false\nOK", []string{"METALSIM_OS=26"}},
		{"reorder", "OK", nil},
		{"early", "OK", nil},
		{"fresh", "ff ff ff ff ff ff ff ff\nOK", nil},
		{"fresh", "00 00 00 00 00 00 00 00\nOK", []string{"METALSIM_KERNELS=stub"}},
		{"faults", "4 5 injected failure: the command buffer timed out 4", []string{"METALSIM_FAULT=replay:2"}},
		{"faults", "4 5 injected failure: the device was lost 5", []string{"METALSIM_FAULT=lost:2"}},
		// 20 and 160 ms on an M3: all is well, or the command buffer, or the dispatch, takes too long.
		{"faults", "4 4 4", []string{"METALSIM_WORK=testdata/slow.work"}},
		{"faults", "14 Impacting Interactivity (0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity), simulated: sum (command 1) of 160 ms, the command buffer of 180 ms 5 " +
			"4 Ignored (for causing prior/excessive GPU errors) (00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored) 5 4 Ignored", []string{"METALSIM_WORK=testdata/slow.work", "METALSIM_BUFFER_MS=170", "METALSIM_TEST_CODES=1"}},
		{"faults", "2 Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout), simulated: sum (command 1) of 320 ms", []string{"METALSIM_WORK=testdata/slow.work", "METALSIM_SPEED=50", "METALSIM_TEST_CODES=1"}},
		// 100 cached rows are 4 splits, of 32 at most, of 20 ms each.
		{"faults", "2 Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout), simulated: scale (command 0) of 80 ms, the command buffer of 80 ms",
			[]string{"METALSIM_WORK=testdata/splits.work", "METALSIM_DISPATCH_MS=79", "METALSIM_TEST_CODES=1"}},
		{"faults", "simulated: sum (command 1) of 40 ms, the command buffer of 120 ms", []string{"METALSIM_WORK=testdata/splits.work", "METALSIM_BUFFER_MS=119", "METALSIM_TEST_CODES=1"}},
		{"faults", "no pipeline", []string{"METALSIM_REFUSE=pipeline:sum"}},
		{"faults", "no pipeline", []string{"METALSIM_REFUSE=indirect:scale"}},
		{"faults", "injected error in sum", []string{"METALSIM_REFUSE=library:sum"}},
		{"faults", "no buffer", []string{"METALSIM_FAULT=alloc:1"}},
		{"faults", "injected failure of the compiler", []string{"METALSIM_FAULT=library:1"}},
		// Families Apple1, 5 to 10, Mac2, Common3, Metal3 and 4; unified memory; macOS 13,
		// 14, 15, 16 and 26; residency sets.
		{"doctor", "Apple M3 (simulated)\ntrue true true true true true false true true true false " +
			"true true true true false false true\n15.0 SIMULATED -\ntrue", nil},
		{"doctor", "Apple M1 (simulated)\ntrue true true true false false false true true true false " +
			"true true false false false false false\n13.0 SIMULATED -\nfalse language version", []string{"METALSIM_OS=13", "METALSIM_GPU=m1"}},
		{"doctor", "Apple M5 (simulated)\ntrue true true true true true true true true true true " +
			"true true true true true false true\n26.0 SIMULATED -\ntrue", []string{"METALSIM_OS=26", "METALSIM_GPU=m5"}},
		{"doctor", "Apple Paravirtual device\ntrue true false false false false false true true false false " +
			"true true true true true false true\n26.0 SIMULATED -\ntrue", []string{"METALSIM_OS=26", "METALSIM_GPU=paravirtual"}},
		{"doctor", "AMD Radeon Pro 5500M (simulated)\nfalse false false false false false false true true true false " +
			"false true true true false false true\n15.0 SIMULATED -\ntrue", []string{"METALSIM_GPU=amd"}},
		{"doctor", "Intel(R) UHD Graphics 630 (simulated)\nfalse false false false false false false true true true false " +
			"true true true true false false true\n15.0 SIMULATED -\ntrue", []string{"METALSIM_GPU=intel"}},
	}
	for _, test := range tests {
		t.Run(test.name+" "+strings.Join(test.env, " "), func(t *testing.T) {
			t.Parallel()
			out, err := child(t, test.name, test.env...)
			if err != nil || !strings.Contains(out, test.want) {
				t.Errorf("%v, want %q:\n%.3000s", err, test.want, out)
			}
		})
	}
}
