package replay_test

import (
	"fmt"
	"testing"

	"mla/runtime/device"
	"mla/runtime/quant"
)

// TestBatches: the kernels of several rows have the reference logits whatever rows run
// together, with dead rows behind them. The tolerance is that of one row.
func TestBatches(t *testing.T) {
	d := newDevice(t)
	for _, name := range []string{"youtu-tiny-F32", "glm47-tiny-Q4_0", "glm47-mini-Q4_K_M", "dsv2lite-mini-Q4_K_M"} {
		stem := root + "testdata/reference/" + name
		ref, m := read(t, stem), bindFile(t, stem+".gguf", "f32")
		for _, width := range []int{3, 16} {
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				worst, err := ref.Batches(d, m, device.Config{KV: quant.F32}, width)
				if err != nil || !(worst <= 1e-3) {
					t.Errorf("logits are off by %g, %v", worst, err)
				}
			})
		}
	}
}
