package main

import (
	"strings"
	"testing"
)

// TestNoPTX checks a program without PTX files: -device auto prints the command that makes them and runs on
// the CPU, and -device cuda fails with the same message.
func TestNoPTX(t *testing.T) {
	const says = "bundle tinyglm: no kernels of it for NVIDIA GPUs lie beside this program; run make ptx && make build\n"
	greedy := func(args string) result {
		return onShelf("", strings.Fields("greedy -tokens 3,40 -n 4 -model ../../testdata/tinyglm.gguf -cuda-lib ../../build/libcudasim.so "+args)...)
	}
	want := greedy("-device cpu")
	if r := greedy("-device auto"); want.code != 0 || r.code != 0 || r.out != want.out || !strings.HasPrefix(r.err, says+"so the CPU runs the model\n") {
		t.Errorf("-device auto: exit %d, %q; expected %q\n%s", r.code, r.out, want.out, r.err)
	}
	if r := greedy("-device cuda"); r.code != exitError || !strings.HasSuffix(r.err, says) {
		t.Errorf("-device cuda: exit %d\n%s", r.code, r.err)
	}
}
