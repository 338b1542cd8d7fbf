//go:build deep

package ptx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mla/runtime/plan"
)

// TestHeadsOnFibers runs whole threadgroups of the kernels that expand heads and attend to them on
// the CPU, as they are translated: lanes that know which elements of a matrix are theirs, copies
// without registers, made at once or as late as they may be. The shapes are of heads whose keys a thread
// copies whole rows of, and of others.
func TestHeadsOnFibers(t *testing.T) {
	for _, name := range []string{"glm47flashf16nvidia", "youtu2bf16nvidia"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bundle(t, name)
			kernels := map[string]Kernel{}
			shape := fmt.Sprintf("namespace shape {\nconstexpr uint MAX_PAGES = %d;\n", b.Model.MaxPages())
			for i := range b.Kernels {
				k := &b.Kernels[i]
				for _, v := range k.Variants {
					if v.Func == "attention_x512" || v.Func == "expand_keys_expand_values_x512_f16_f16_f16" {
						kernels[v.Func] = Kernel{Threads: k.Threads}
						shape += shapeOf(k)
					}
				}
			}
			cuda, err := Translate(b.Metal(), func(name string) (Kernel, bool) {
				k, ok := kernels[name]
				return k, ok
			})
			if err != nil || len(kernels) != 2 {
				t.Fatalf("%d kernels, %v", len(kernels), err)
			}
			folder := t.TempDir()
			for file, text := range map[string]string{"kernels.cu": cuda, "shape.h": shape + "}\n"} {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.Command(onCPU(t, "testdata/fibers/heads.cpp", "-O2", "-w", "-DSPLIT_ROWS=true", "-Itestdata/fibers", "-I"+folder)).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// shapeOf returns the C++ constants that heads.cpp needs to know about a kernel.
func shapeOf(k *plan.Kernel) (text string) {
	define := func(name string, n int) { text += fmt.Sprintf("constexpr uint %s = %d;\n", name, n) }
	for _, p := range k.Parts {
		switch p := p.(type) {
		case *plan.AttendHeads:
			define("HEADS", p.Heads)
			define("NOPE", p.NopeDim)
			define("PE", p.PeDim)
			define("V", p.VDim)
			define("THREADS", k.Threads)
			define("ROWS_PER_GROUP", p.RowsPerGroup)
			text += fmt.Sprintf("constexpr double SCALE = %v;\n", p.Scale)
		case *plan.ExpandHeads:
			if p.Keys {
				define("LAT", p.LatDim)
				define("KEY_SHARES", p.Shares)
			} else {
				define("VALUE_SHARES", p.Shares)
			}
		}
	}
	return text
}
