package reference_test

import (
	"fmt"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/reference"
	"mla/runtime/quant"
)

// TestBatches checks that the CPU device has the reference logits for any rows in one batch. The tolerance is
// that of one row.
func TestBatches(t *testing.T) {
	for _, name := range []string{"youtu-tiny-F32", "glm47-tiny-Q4_0", "glm47-mini-Q4_K_M", "dsv2lite-mini-Q4_K_M", "youtu-mini-Q4_0", "youtu-mini-Q4_K_M"} {
		ref, err := reference.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		m, done, err := reference.Bind(name, generated.Bundles(), "f32")
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{1, 2, 3, 8, 16, 24} {
			if width > m.Bundle.Width() {
				continue // youtu-mini alone has as many
			}
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				worst, err := ref.Batches(cpu.New(), m, device.Config{KV: quant.F32, Threads: 2}, width)
				if err != nil || !(worst <= 1e-3) {
					t.Errorf("logits are off by %g, %v", worst, err)
				}
			})
		}
		if err := done(); err != nil {
			t.Error(err)
		}
	}
}
