package blas

import (
	"cmp"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// libraryVariable is an environment variable: the path of a library, for machines without a C compiler.
const libraryVariable = "MLA_TEST_BLAS"

// standIn returns the path of a library to call: the system's, or one compiled from testdata/sgemm.c. The
// arguments choose another processor.
func standIn(t *testing.T, arguments ...string) string {
	t.Helper()
	if path := cmp.Or(os.Getenv(libraryVariable), System()); path != "" {
		return path
	}
	return compiled(t, "testdata/sgemm.c", arguments...)
}

func compiled(t *testing.T, source string, arguments ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libtest.so")
	out, err := exec.Command("clang-19", append(arguments, "-O2", "-shared", "-fPIC", "-nostdlib", "-o", path, "-x", "c", source)...).CombinedOutput()
	if err != nil {
		t.Fatalf("clang-19: %v; scripts/tools.sh installs it\n%s", err, out)
	}
	return path
}

// TestOpen checks that all fourteen arguments reach the library, with several goroutines at a time.
func TestOpen(t *testing.T) {
	l, err := Open(standIn(t))
	if err != nil {
		t.Fatal(err)
	}
	const m, n, k, lda, ldb, ldc = 5, 3, 7, 9, 8, 6
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a, b, c := make([]float32, m*lda), make([]float32, n*ldb), make([]float32, m*ldc)
			for i := range a {
				a[i] = float32(i%11) - 5
			}
			for i := range b {
				b[i] = float32(i%7) - 2
			}
			for i := range c {
				c[i] = float32(math.NaN())
			}
			l.Multiply(m, n, k, &a[0], lda, &b[0], ldb, &c[0], ldc)
			for i := range c {
				want := float32(0)
				for e := range k {
					if i%ldc < n {
						want += a[i/ldc*lda+e] * b[i%ldc*ldb+e]
					}
				}
				if beyond := i%ldc >= n; beyond != (c[i] != c[i]) || !beyond && c[i] != want {
					t.Errorf("element %d is %g; expected %g", i, c[i], want)
				}
			}
		})
	}
}

func TestOpenWhatIsNone(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "missing.so")); err == nil || !strings.Contains(err.Error(), "missing.so") {
		t.Error(err)
	}
	none := "/usr/lib/libSystem.B.dylib"
	if runtime.GOOS != "darwin" {
		none = compiled(t, os.DevNull)
	}
	if _, err := Open(none); err == nil || !strings.Contains(err.Error(), "has no matrix products") {
		t.Error(err)
	}
	if is := System() != ""; is != (runtime.GOOS == "darwin" && runtime.GOARCH == "arm64") {
		t.Errorf("the library of this system is %q", System())
	}
}

// model returns a model with a matrix and a norm.
func model(t *testing.T) *device.Model {
	t.Helper()
	const rows, cols = 100, 256
	f, _ := quant.Lookup(quant.Q4_0)
	size, err := f.RowBytes(cols)
	if err != nil {
		t.Fatal(err)
	}
	values, data := make([]float32, cols), make([]byte, rows*size)
	for r := range rows {
		for i := range values {
			values[i] = float32((r*31+i*17)%23) - 11
		}
		f.Quantize(data[r*size:], values)
	}
	return &device.Model{
		Bundle:  &plan.Bundle{Weights: []plan.Weight{{Role: "norm", Cols: cols, Rows: 1, Batch: 1, First: -1}, {Role: "o_proj", Cols: cols, Rows: rows, Batch: 1, First: 0, Last: 1}}},
		Regions: [][]byte{data},
		Weights: [][]device.Weight{{{Bytes: int64(size), Type: quant.Q4_0}}, {{Bytes: int64(len(data)), Type: quant.Q4_0}}},
	}
}

// TestChoose checks that Choose uses a library only if it is right and faster, and that Choose returns the reason
// in either case.
func TestChoose(t *testing.T) {
	t.Cleanup(func() { linalg.SetLibrary(nil) })
	path := standIn(t)
	right, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	m := model(t)
	slow, wrong := *right, *right
	var calls atomic.Int32
	slow.Multiply = func(m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int) {
		calls.Add(1)
		time.Sleep(50 * time.Millisecond)
		right.Multiply(m, n, k, a, lda, b, ldb, c, ldc)
	}
	wrong.Multiply = func(m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int) {
		right.Multiply(m, n, k-1, a, lda, b, ldb, c, ldc)
	}
	if said := Choose(&slow, m, 2); !strings.Contains(said, filepath.Base(path)+" is not used: 0.") || !strings.Contains(said, "times as fast") {
		t.Errorf("a slow library: %s", said)
	}
	if n := calls.Load(); n > 2*10 { // two workers; each may call until the time is up, and a call takes half of that time
		t.Errorf("a slow library is called %d times until it is found out", n)
	}
	if said := Choose(&wrong, m, 2); !strings.Contains(said, "is not used: row ") || !strings.Contains(said, "the loops make") {
		t.Errorf("a wrong library: %s", said)
	}
	if said := Choose(right, &device.Model{Bundle: &plan.Bundle{}}, 2); !strings.Contains(said, "no matrix") {
		t.Errorf("a model without a matrix: %s", said)
	}
	for ratio, used := range map[float64]bool{0.5: false, 1.05: false, 1.15: true, 4: true} {
		linalg.SetLibrary(nil)
		said := decide(right, ratio, 1)
		if strings.Contains(said, "not used") == used || !strings.Contains(said, "times as fast as the "+linalg.Backend()) {
			t.Errorf("%g times as fast: %s", ratio, said)
		}
	}
}

// TestDevice checks that the CPU device chooses a library once, for a model that is loaded for prompts, and
// that the model then runs.
func TestDevice(t *testing.T) {
	d := choosing{fake{}, standIn(t)}
	for _, width := range []int{1, 16} {
		if _, err := d.Load(model(t), device.Config{Width: width, Threads: 1}); err != nil || Said() != "" {
			t.Errorf("%d rows: %v, %q", width, err, Said())
		}
	}
	if _, err := d.Load(model(t), device.Config{Width: 512, Threads: 1}); err != nil || !strings.HasPrefix(Said(), filepath.Base(d.path)+" ") {
		t.Errorf("512 rows: %v, %q", err, Said())
	}
	linalg.SetLibrary(nil)
	t.Cleanup(func() { linalg.SetLibrary(nil) })
	for path, want := range map[string]string{"": "", d.path: filepath.Base(d.path), "/nowhere.so": "open /nowhere.so"} {
		if name := always(path); !strings.HasPrefix(name, want) || (name == "") != (want == "") {
			t.Errorf("the library %q is always %q", path, name)
		}
	}
	if said := choose("/nowhere.so", model(t), 1); !strings.Contains(said, "open /nowhere.so") {
		t.Error(said)
	}
}

type fake struct{ device.Device }

func (fake) Load(*device.Model, device.Config) (device.Runner, error) { return nil, nil }
