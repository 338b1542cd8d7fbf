//go:build linux && amd64 && deep

package sim_test

import "testing"

// TestFiberArm64 is TestFiber for arm64, under an emulator.
func TestFiberArm64(t *testing.T) {
	switches(t, []string{"--target=aarch64-linux-gnu"}, []string{"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"})
}
