//go:build linux

package cuda_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// positive are programs that break no rule.
var positive = map[string]func(*stand){
	"chain": func(s *stand) {
		r := s.rig()
		r.run(func(graph uintptr) {
			first := r.add(graph, r.twice, 2, 32, []uintptr{r.a, r.b})
			r.add(graph, r.twice, 2, 32, []uintptr{r.b, r.c}, first)
		})
		r.must("cuMemcpyDtoHAsync_v2", r.host, r.c, 256, r.stream)
		if r.values[5] == 24 { // it may be there, but what is there may not be right
			fmt.Println("the copy was made early")
		}
		r.must("cuStreamSynchronize", r.stream)
		for i, v := range r.values {
			if v != 4*float32(i+1) {
				panic(fmt.Sprint(i, v))
			}
		}
		r.close()
	},
	"mapped memory": func(s *stand) {
		r := s.rig()
		to := s.made("cuMemHostGetDevicePointer_v2", r.host, 0)
		if again := s.made("cuMemHostGetDevicePointer_v2", r.host, 0); again != to {
			panic("two addresses")
		}
		exec := r.recorded(func(graph uintptr) { r.add(graph, r.twice, 2, 32, []uintptr{r.a, to}) })
		poisoned := 0
		for i := range 60 {
			r.must("cuGraphLaunch", exec, r.stream)
			v := r.values[5]
			if v == v && v != 12 { // poison, or made at once, or by a launch not long ago
				panic(fmt.Sprint("what was there before: ", v))
			}
			if v != v && i > 0 {
				poisoned++
			}
			r.must("cuStreamSynchronize", r.stream)
			if r.values[5] != 12 {
				panic(fmt.Sprint(r.values[5]))
			}
		}
		if poisoned < 2 {
			panic("what launches long ago left is there for those who look too early")
		}
		if s.try("cuMemHostGetDevicePointer_v2", out(new(uintptr)), r.host, 1) != 1 {
			panic("unknown flags are taken")
		}
		r.must("cuGraphExecDestroy", exec)
		r.close()
	},
	"two streams": func(s *stand) {
		r := s.rig()
		other, passed := s.made("cuStreamCreate", 1), s.made("cuEventCreate", 0)
		exec := r.recorded(func(graph uintptr) { r.add(graph, r.twice, 2, 32, []uintptr{r.a, r.b}) })
		r.must("cuGraphLaunch", exec, r.stream)
		r.must("cuEventRecord", passed, r.stream)
		r.must("cuStreamWaitEvent", other, passed, 0)
		r.must("cuMemcpyDtoHAsync_v2", r.host, r.b, 256, other)
		r.must("cuStreamSynchronize", other)
		for i, v := range r.values {
			if v != 2*float32(i+1) {
				panic(fmt.Sprint(i, v))
			}
		}
		if s.try("cuStreamWaitEvent", other, passed, 1) != 1 {
			panic("unknown flags are taken")
		}
		r.must("cuGraphExecDestroy", exec)
		r.must("cuEventDestroy_v2", passed)
		r.must("cuStreamDestroy_v2", other)
		r.close()
	},
	"shared memory": func(s *stand) {
		r := s.rig()
		module, turn := r.turn(61440)
		r.run(func(graph uintptr) { r.addWith(61440, graph, turn, 1, 32, []uintptr{r.a, r.b}) })
		r.must("cuMemcpyDtoHAsync_v2", r.host, r.b, 128, r.stream)
		r.must("cuStreamSynchronize", r.stream)
		for i, v := range r.values[:32] {
			if v != float32(32-i) {
				panic(fmt.Sprint(i, v))
			}
		}
		const minus = ^uintptr(0) - 1 // -2
		for _, bad := range [][2]uintptr{{8, 227<<10 + 1}, {8, minus}, {9, 101}, {9, minus}, {7, 0}} {
			if got := s.try("cuFuncSetAttribute", turn, bad[0], bad[1]); got != 1 {
				panic(fmt.Sprint(bad, got))
			}
		}
		r.must("cuModuleUnload", module)
		r.close()
	},
	"errors": func(s *stand) {
		s.begin()
		at := new(uintptr)
		for _, c := range []struct {
			name string
			want int
			args []uintptr
		}{
			{"cuMemAlloc_v2", 2, []uintptr{out(at), 1 << 60}},
			{"cuMemAlloc_v2", 1, []uintptr{out(at), 0}},
			{"cuDeviceGet", 101, []uintptr{out(at), 1}},
			{"cuModuleLoadDataEx", 218, []uintptr{out(at), text("nonsense"), 0, 0, 0}},
			{"cuModuleLoadDataEx", 218, []uintptr{out(at), text(strings.Replace(ptxText("twice"), "\tret;", "\t.shared .align 16 .b8 much[49168];\n\tret;", 1)), 0, 0, 0}},
			{"cuModuleLoadDataEx", 218, []uintptr{out(at), text(strings.Replace(ptxText("turn"), turnMark, "", 1)), 0, 0, 0}},
			{"cuModuleLoadDataEx", 218, []uintptr{out(at), text(strings.Replace(ptxText("twice"), "sm_90", "sm_120", 1)), 0, 0, 0}},
		} {
			if got := s.try(c.name, c.args...); got != c.want {
				panic(fmt.Sprint(c.name, got, c.want))
			}
		}
		s.end()
	},
}

// violation breaks one rule.
type violation struct {
	name, rule string
	run        func(*stand)
}

var violations = []violation{
	{"no cuInit", "not-initialised", func(s *stand) { s.try("cuDeviceGet", out(new(uintptr)), 0) }},
	{"no context", "no-context", func(s *stand) {
		s.must("cuInit", 0)
		s.try("cuMemAlloc_v2", out(new(uintptr)), 4)
	}},
	{"context of another thread", "no-context", func(s *stand) {
		s.begin()
		done := make(chan bool)
		go func() { // on another OS thread: this one is locked
			s.try("cuMemAlloc_v2", out(new(uintptr)), 4)
			close(done)
		}()
		<-done
	}},
	{"destroyed stream", "bad-handle", func(s *stand) {
		s.begin()
		h := s.made("cuStreamCreate", 1)
		s.must("cuStreamDestroy_v2", h)
		s.try("cuStreamSynchronize", h)
	}},
	{"event for a stream", "bad-handle", func(s *stand) {
		s.begin()
		s.try("cuStreamSynchronize", s.made("cuEventCreate", 0))
	}},
	{"nowhere to put it", "bad-pointer", func(s *stand) {
		s.begin()
		s.try("cuMemAlloc_v2", 0, 4)
	}},
	{"event never recorded", "bad-value", func(s *stand) {
		s.begin()
		e := s.made("cuEventCreate", 0)
		s.try("cuEventElapsedTime", out(new(uintptr)), e, e)
	}},
	{"freed twice", "not-device-memory", func(s *stand) {
		s.begin()
		p := s.made("cuMemAlloc_v2", 4)
		s.must("cuMemFree_v2", p)
		s.try("cuMemFree_v2", p)
	}},
	{"copy past the end", "not-device-memory", func(s *stand) {
		r := s.rig()
		r.try("cuMemcpyHtoDAsync_v2", r.a+4, r.host, 256, r.stream)
	}},
	{"parameter that is no address", "not-device-memory", func(s *stand) {
		r := s.rig()
		r.run(func(graph uintptr) { r.add(graph, r.twice, 1, 32, []uintptr{r.a, 4096}) })
	}},
	{"pageable memory", "not-pinned", func(s *stand) {
		r := s.rig()
		own := make([]byte, 256)
		r.try("cuMemcpyHtoDAsync_v2", r.a, uintptr(unsafe.Pointer(&own[0])), 256, r.stream)
	}},
	{"memory that is not to be mapped", "not-pinned", func(s *stand) {
		s.begin()
		s.try("cuMemHostGetDevicePointer_v2", out(new(uintptr)), s.made("cuMemHostAlloc", 256, 0), 0)
	}},
	{"mapped memory freed as the device's", "not-device-memory", func(s *stand) {
		r := s.rig()
		s.try("cuMemFree_v2", s.made("cuMemHostGetDevicePointer_v2", r.host, 0))
	}},
	{"mapped memory freed too early", "free-in-flight", func(s *stand) {
		r := s.rig()
		to := s.made("cuMemHostGetDevicePointer_v2", r.host, 0)
		exec := r.recorded(func(graph uintptr) { r.add(graph, r.twice, 2, 32, []uintptr{r.a, to}) })
		for range 100 { // some are made at once
			r.must("cuGraphLaunch", exec, r.stream)
		}
		r.must("cuMemFreeHost", r.host)
	}},
	{"mapped memory that the host wrote", "uninitialised", func(s *stand) {
		r := s.rig()
		from := s.made("cuMemHostGetDevicePointer_v2", r.host, 0)
		r.run(func(graph uintptr) { r.add(graph, r.twice, 2, 32, []uintptr{from, r.b}) })
		r.must("cuStreamSynchronize", r.stream)
	}},
	{"source changed too early", "edit-in-flight", func(s *stand) {
		r := s.rig()
		for i := range 100 { // some copies are made at once
			r.values[0] = float32(i)
			r.must("cuMemcpyHtoDAsync_v2", r.a, r.host, 256, r.stream)
		}
		r.must("cuStreamSynchronize", r.stream)
	}},
	{"freed too early", "free-in-flight", func(s *stand) {
		r := s.rig()
		for range 100 {
			p := s.made("cuMemAlloc_v2", 256)
			r.must("cuMemcpyHtoDAsync_v2", p, r.host, 256, r.stream)
			r.must("cuMemFree_v2", p)
		}
	}},
	{"graph destroyed too early", "free-in-flight", func(s *stand) {
		r := s.rig()
		for range 100 {
			exec := r.recorded(func(graph uintptr) { r.add(graph, r.twice, 1, 32, []uintptr{r.a, r.b}) })
			r.must("cuGraphLaunch", exec, r.stream)
			r.must("cuGraphExecDestroy", exec)
		}
	}},
	{"memory that nothing wrote", "uninitialised", func(s *stand) {
		r := s.rig()
		r.run(func(graph uintptr) { r.add(graph, r.twice, 1, 32, []uintptr{r.b, r.c}) })
	}},
	{"logits that nothing wrote", "uninitialised", func(s *stand) {
		r := s.rig()
		r.must("cuMemcpyDtoHAsync_v2", r.host, r.b, 256, r.stream)
		r.must("cuStreamSynchronize", r.stream)
	}},
	{"half of a vector", "uninitialised", func(s *stand) {
		r := s.rig()
		r.run(func(graph uintptr) {
			first := r.add(graph, r.twice, 1, 32, []uintptr{r.a, r.b})
			r.add(graph, r.twice, 2, 32, []uintptr{r.b, r.c}, first)
		})
	}},
	{"no dependency", "missing-dependency", func(s *stand) {
		r := s.rig()
		r.must("cuMemsetD8Async", r.b, 0, 256, r.stream)
		r.run(func(graph uintptr) {
			r.add(graph, r.twice, 2, 32, []uintptr{r.a, r.b})
			r.add(graph, r.twice, 2, 32, []uintptr{r.b, r.c})
		})
	}},
	{"two writers", "missing-dependency", func(s *stand) {
		r := s.rig()
		r.run(func(graph uintptr) {
			r.add(graph, r.twice, 2, 32, []uintptr{r.a, r.b})
			r.add(graph, r.twice, 1, 32, []uintptr{r.a, r.b + 128})
		})
	}},
	{"wild kernel", "kernel-fault", func(s *stand) {
		r := s.rig()
		r.run(func(graph uintptr) { r.add(graph, r.wild, 1, 32, []uintptr{r.a, r.b}) })
	}},
	{"too many threads", "launch", func(s *stand) {
		r := s.rig()
		r.run(func(graph uintptr) { r.add(graph, r.twice, 1, 2048, []uintptr{r.a, r.b}) })
	}},
	{"no groups", "launch", func(s *stand) {
		r := s.rig()
		r.run(func(graph uintptr) { r.add(graph, r.twice, 0, 32, []uintptr{r.a, r.b}) })
	}},
	{"no shared memory", "launch", func(s *stand) {
		r := s.rig()
		_, turn := r.turn(61440)
		r.run(func(graph uintptr) { r.add(graph, turn, 1, 32, []uintptr{r.a, r.b}) })
	}},
	{"shared memory that is not allowed", "launch", func(s *stand) {
		r := s.rig()
		_, turn := r.turn(0)
		r.run(func(graph uintptr) { r.addWith(61440, graph, turn, 1, 32, []uintptr{r.a, r.b}) })
	}},
	{"shared memory for a kernel that has none", "launch", func(s *stand) {
		r := s.rig()
		r.run(func(graph uintptr) { r.addWith(1024, graph, r.twice, 1, 32, []uintptr{r.a, r.b}) })
	}},
	{"other shared memory", "wrong-source", func(s *stand) {
		s.begin()
		s.try("cuModuleLoadDataEx", out(new(uintptr)), text(strings.Replace(ptxText("turn"), "61440", "61424", 1)), 0, 0, 0)
	}},
	{"PTX of another source", "wrong-source", func(s *stand) {
		s.begin()
		s.try("cuModuleLoadDataEx", out(new(uintptr)), text(strings.Replace(ptxText("twice"), "sha256:", "sha256:0", 1)), 0, 0, 0)
	}},
	{"an entry too many", "wrong-source", func(s *stand) {
		s.begin()
		s.try("cuModuleLoadDataEx", out(new(uintptr)), text(ptxText("thrice")), 0, 0, 0)
	}},
	{"other parameters", "wrong-source", func(s *stand) {
		s.begin()
		s.try("cuModuleLoadDataEx", out(new(uintptr)), text(strings.Replace(ptxText("twice"), "\t.param .u64 b\n", "", 1)), 0, 0, 0)
	}},
	{"leaked memory", "leak", func(s *stand) {
		s.begin()
		s.made("cuMemAlloc_v2", 4)
		s.end()
	}},
	{"leaked event", "leak", func(s *stand) {
		s.begin()
		s.made("cuEventCreate", 0)
		s.end()
	}},
}

// twoSizes launches an entry of a module when another module has had one of that name,
// for fewer threads. It is no case of TestPositive: r.twice is run by 32 threads there.
func twoSizes(s *stand) {
	r := s.rig()
	small := strings.Replace(ptxText("twice"), ")\n{", ")\n.maxntid 32, 1, 1\n{", 1)
	var module uintptr
	r.must("cuModuleLoadDataEx", out(&module), text(small), 0, 0, 0)
	r.must("cuModuleUnload", module)
	r.run(func(graph uintptr) { r.add(graph, r.twice, 1, 64, []uintptr{r.a, r.b}) })
}

// TestStubs: kernels that do not run are as large as their module says.
func TestStubs(t *testing.T) {
	if out, err := child(t, "two sizes", "CUDASIM_KERNELS=stub", "CUDASIM_METAL="); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPositive(t *testing.T) {
	for name := range positive {
		for _, seed := range []string{"1", "2"} {
			if out, err := child(t, name, "CUDASIM_SEED="+seed); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
	}
}

// TestViolations breaks every rule.
func TestViolations(t *testing.T) {
	for _, v := range violations {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			if out, err := child(t, v.name); err == nil || ruleOf(out) != v.rule {
				t.Errorf("%v, rule %q; expected %q\n%s", err, ruleOf(out), v.rule, out)
			}
		})
	}
}

// TestConfiguration gives wrong settings.
func TestConfiguration(t *testing.T) {
	for _, setting := range []string{"CUDASIM_SEED=x", "CUDASIM_KERNELS=slow", "CUDASIM_FAULT=cuInit", "CUDASIM_FLIP=twice", "CUDASIM_METAL=/nonexistent"} {
		if out, err := child(t, "chain", setting); err == nil || ruleOf(out) != "configuration" {
			t.Errorf("%s: %v\n%s", setting, err, out)
		}
	}
}

// TestEveryRuleHasACase checks that every rule of the library has a case.
func TestEveryRuleHasACase(t *testing.T) {
	s := load(os.Getenv(libVariable))
	var rules func() string
	purego.RegisterLibFunc(&rules, s.handle, "cudasim_rules")
	tested := []string{"configuration"}
	for _, v := range violations {
		tested = append(tested, v.rule)
	}
	slices.Sort(tested)
	known := strings.Fields(rules())
	slices.Sort(known)
	if tested = slices.Compact(tested); !slices.Equal(known, tested) {
		t.Errorf("rules %v, tested %v", known, tested)
	}
}
