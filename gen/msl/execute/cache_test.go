package execute

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mla/gen/objects"
)

// ownCache gives a test a cache with nothing in it.
func ownCache(t *testing.T) (folder string) {
	t.Helper()
	if _, err := tools(); err != nil { // which lie in the cache of all tests
		t.Fatal(err)
	}
	folder = t.TempDir()
	t.Setenv(objects.Variable, folder)
	return folder
}

// compiled compiles a source and names the kernels for which that took a compiler.
func compiled(t *testing.T, source string, c Checks) []string {
	t.Helper()
	p, err := Compile(source, c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	names, err := p.Compiled()
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// four has kernels a to d. The first two use one, b and c use two by way of three; d uses the overload
// of a struct. A comment stands above all.
const four = `// comment
#include <metal_stdlib>
using namespace metal;
namespace mla {
#define SCALE 2.0f
constant float table[2] = {1.0f, 3.0f};
template <typename T = float> inline T one(T x) { return x * SCALE; }
inline float two(float x) { return x + table[1]; }
struct pair { float x, y; };
inline float two(pair p) { return p.x + p.y; }
template <int N> inline float three(float x) { return two(x) * float(N); }
}
kernel void a(device float * x [[buffer(0)]]) { x[0] = mla::one(x[0]); }
kernel void b(device float * x [[buffer(0)]]) { x[0] = mla::one(x[0]) + mla::three<2>(x[0]); }
kernel void c(device float * x [[buffer(0)]]) { x[0] = mla::three<3>(x[0]); }
kernel void d(device float * x [[buffer(0)]]) { x[0] = mla::two(mla::pair{x[0], 1.0f}); }
`

// TestCompilations checks that a change of the source recompiles the kernels that use the changed
// declaration, and no others.
func TestCompilations(t *testing.T) {
	ownCache(t)
	for _, tt := range []struct{ name, old, new, want string }{
		{"all", "", "", "a b c d"},
		{"nothing changed", "", "", ""},
		{"a comment", "// comment", "// another\n// of two lines", ""},
		{"white space", "x * SCALE", "x  *\n SCALE", ""},
		{"a template", "x * SCALE", "SCALE * x", "a b"},
		{"a helper of a helper", "x + table[1]", "table[1] + x", "b c d"},
		{"a table", "3.0f};", "4.0f};", "b c d"},
		{"a macro", "2.0f\n", "2.5f\n", "a b"},
		{"an overload", "p.x + p.y", "p.y + p.x", "d"},
		{"a kernel", "three<3>", "three<4>", "c"},
		{"an unused helper", "namespace mla {", "namespace mla { inline float none(float x) { return x; }", ""},
		{"another kernel", "kernel void d", "kernel void e(device float * x [[buffer(0)]]) { x[0] = 1.0f; }\nkernel void d", "e"},
		{"a pragma", "using namespace metal;", "using namespace metal;\n#pragma clang fp contract(off)", "a b c d"},
		{"back again", "", "", ""},
	} {
		source := strings.Replace(four, tt.old, tt.new, 1)
		if got := strings.Join(compiled(t, source, Fast), " "); got != tt.want {
			t.Errorf("%s: compiled %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := strings.Join(compiled(t, four, Checked), " "); got != "a b c d" {
		t.Errorf("with checks: compiled %q, want all", got)
	}
}

// TestSeveralObjects: the kernels of one program may come from several objects, and each
// computes and is checked as it is alone.
func TestSeveralObjects(t *testing.T) {
	ownCache(t)
	source := func(value int) string {
		return prelude + fmt.Sprintf("constant float values[4] = {%d.0f, 1.0f, 2.0f, 3.0f};\n", value) +
			named("first", "xs[tid] = 1.0f; threadgroup_barrier(mem_flags::mem_threadgroup); a[tg * 64u + tid] = xs[63u - tid];") +
			named("k", "xs[tid] = values[tid % 4u]; threadgroup_barrier(mem_flags::mem_threadgroup); a[tg * 64u + tid] = xs[tid ^ 1u];")
	}
	for value, want := range []string{"first k", "k", "k"} {
		if got := strings.Join(compiled(t, source(value), Checked), " "); got != want {
			t.Fatalf("compiled %q, want %q", got, want)
		}
	}
	p, err := Compile(strings.Replace(source(7), "xs[tid ^ 1u];", "xs[tid ^ 1u]; if (n == 1u) a[n] = xs[64];", 1), Checked)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		for kernel, want := range map[string]float32{"first": 1, "k": 7} {
			out, err := launch(t, p, func(l *Launch) { l.Kernel = kernel })
			if err != nil || out[1] != want {
				t.Errorf("%s: %v, %v; want %v", kernel, out[1], err, want)
			}
		}
	}
	_, err = launch(t, p, func(l *Launch) { l.Args[1].Buffer.Bytes[0], l.Groups = 1, 1 })
	wantFault(t, err, "out-of-bounds")
}

// TestParallel: programs that compile the same at the same time all get it.
func TestParallel(t *testing.T) {
	folder := ownCache(t)
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			p, err := Compile(four, Fast)
			if err != nil {
				t.Error(err)
				return
			}
			if len(p.Kernels()) != 4 {
				t.Errorf("%d kernels, want 4", len(p.Kernels()))
			}
			p.Close()
		}()
	}
	group.Wait()
	if got := compiled(t, four, Fast); len(got) > 0 {
		t.Errorf("compiled %v again", got)
	}
	if left := glob(t, folder, "w-*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestKilled checks that the temporary files of a killed program are removed by the next program that
// compiles.
func TestKilled(t *testing.T) {
	folder := ownCache(t)
	root, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	metal := filepath.Join(t.TempDir(), "in.metal")
	if err := os.WriteFile(metal, []byte(four), 0o600); err != nil {
		t.Fatal(err)
	}
	// In a group of its own, with the compiler that it runs.
	cmd := exec.Command(filepath.Join(root, "runner"), "-fast", filepath.Join(root, "exec"), metal)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(glob(t, folder, "w-*/*")) == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the runner was not killed")
	}
	if len(glob(t, folder, "w-*")) == 0 {
		t.Fatal("the killed runner has left nothing, and this test tests nothing")
	}
	if got := compiled(t, four, Fast); len(got) != 4 {
		t.Errorf("compiled %v, want all", got)
	}
	if left := glob(t, folder, "w-*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestBound checks that the objects unused for longest are removed when the cache exceeds its bound.
func TestBound(t *testing.T) {
	folder := ownCache(t)
	sources := []string{kernel("a[0] = 1.0f;"), kernel("a[0] = 2.0f;"), kernel("a[0] = 3.0f;")}
	compiled(t, sources[0], Fast)
	first := size(t, folder)
	compiled(t, sources[1], Fast)
	second := size(t, folder) - first
	compiled(t, sources[0], Fast) // is used
	t.Setenv(objects.BytesVariable, fmt.Sprint((first+second)*8/7))
	compiled(t, sources[2], Fast)
	if n := size(t, folder); n > first+second {
		t.Errorf("%d bytes are kept, want at most %d", n, first+second)
	}
	for i, want := range []int{0, 1} {
		if got := compiled(t, sources[i], Fast); len(got) != want {
			t.Errorf("source %d: compiled %v", i, got)
		}
	}
}

// size is how many bytes a cache takes, in blocks.
func size(t *testing.T, folder string) (n int64) {
	t.Helper()
	for _, path := range slices.Concat(glob(t, folder, "o-*"), glob(t, folder, "k-*")) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		n += (info.Size() + 4095) / 4096 * 4096
	}
	return n
}

func glob(t *testing.T, folder, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
