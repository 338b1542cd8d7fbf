package cpu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/device/linalg"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// bad is a CPU kernel in which one unit does something forbidden.
type bad struct {
	at int
	do func()
}

func (b *bad) size() (units, cost int) { return 64, 0 }

func (b *bad) run(_ *worker, lo, hi int) {
	if b.do != nil && lo <= b.at && b.at < hi {
		b.do()
	}
}

// TestPanic checks that a panic of a part is an error of the replay, on every worker, and that the next
// replay works.
func TestPanic(t *testing.T) {
	for name, do := range map[string]func(){
		"an index":   func() { var x []int; _ = x[len(os.Args)+5] },
		"a value":    func() { panic("linalg: 1 inputs for 6 results") },
		"an error":   func() { panic(errors.New("some error")) },
		"a pointer":  func() { var p *plan.Row; p.Token = 1 },
		"two panics": func() { defer func() { panic("second") }(); panic("first") },
	} {
		for _, threads := range []int{1, 4} {
			b := &bad{at: 17, do: do}
			ph, err := cut([]kernel{b}, threads)
			if err != nil {
				t.Fatal(err)
			}
			p := poolOf(threads, ph)
			p.run(0, make([]plan.Row, 1), nil, 2)
			var found *PanicError
			if err := (&runner{pool: p}).failure(); !errors.As(err, &found) || found.Part != "*cpu.bad" || !strings.Contains(found.At, "panic_test.go:") {
				t.Errorf("%s, %d workers: %v", name, threads, err)
			}
			b.do = nil
			p.run(0, make([]plan.Row, 1), nil, 2)
			if err := (&runner{pool: p}).failure(); err != nil {
				t.Errorf("%s, %d workers: the next replay: %v", name, threads, err)
			}
			p.close()
		}
	}
}

// poolOf returns a pool of some workers with a sequence of two phases.
func poolOf(threads int, ph phase) *pool {
	workers := make([]*worker, threads)
	for i := range workers {
		workers[i] = newWorker(needs{})
	}
	return newPool([]sequence{{width: 1, phases: []phase{ph, ph}}}, workers)
}

var sink int // so that reads are not left out

// TestLostFile checks that a mapped file which was made shorter is an error with the file's name. The reader
// may be Go or assembly, in the caller or in a goroutine of the pool.
func TestLostFile(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/tinychat.gguf")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := os.Truncate(path, 100_000); err != nil {
		t.Fatal(err)
	}
	last := file.Tensors[len(file.Tensors)-1].Data
	for _, threads := range []int{1, 4} {
		for name, read := range map[string]func(){
			"Go": func() {
				for _, b := range last {
					sink += int(b)
				}
			},
			"a copy":   func() { copy(make([]byte, len(last)), last) },
			"assembly": func() { linalg.HalvesToFloats(make([]float32, 64), view[uint16](last[:128])) },
		} {
			ph, err := cut([]kernel{&bad{at: 5, do: read}}, threads)
			if err != nil {
				t.Fatal(err)
			}
			p := poolOf(threads, ph)
			p.run(0, make([]plan.Row, 1), nil, 2)
			var lost *gguf.LostError
			if err := (&runner{pool: p}).failure(); !errors.As(err, &lost) || lost.Path != path || !strings.Contains(err.Error(), "now has 100000") {
				t.Errorf("%s, %d workers: %v", name, threads, err)
			}
			p.close()
		}
	}
}
