//go:build deep

package replay_test

import (
	"bytes"
	"strings"
	"testing"

	"mla/gen/msl/execute"
	"mla/runtime/bind"
	"mla/runtime/device"
	"mla/runtime/quant"
)

// TestLastBlocks compares bundles with last-block parts with the reference, whole tokens with delayed
// stores: what a last-block part reads it has from its fences, and its counters are left at zero
// by every dispatch.
func TestLastBlocks(t *testing.T) {
	t.Parallel()
	d := newDevice(t, execute.Checked)
	for _, run := range []struct {
		bundle, file string
		dispatches   int // fewer than without
	}{{"yoututinylastblock", "youtu-tiny-F32", 3}, {"dsv2liteminilastblock", "dsv2lite-mini-Q4_K_M", 4}} {
		t.Run(run.bundle, func(t *testing.T) {
			stem := root + "testdata/reference/" + run.file
			ref := read(t, stem)
			m := bindWish(t, stem+".gguf", bind.Wish{Bundle: run.bundle})
			plain := bundle(t, strings.TrimSuffix(run.bundle, "lastblock"))
			if n := len(plain.Decode) - len(m.Bundle.Decode); n != run.dispatches {
				t.Errorf("%d dispatches fewer; want %d", n, run.dispatches)
			}
			const n = 6
			r := record(t, d, m, device.Config{Context: n, KV: quant.F32})
			r.StoreDelay = true
			r.Around = func(i int, run func() error) error {
				err := run()
				if !bytes.Equal(r.Counters(), make([]byte, m.Bundle.Counters)) {
					t.Errorf("dispatch %d (%s) leaves counters at %v", i, kernelName(m.Bundle, i), r.Counters())
				}
				return err
			}
			for pos, token := range ref.Prompt[:n] {
				got := step(t, r, pos, token)
				if worst := ref.Worst(got, pos); !(worst <= tolerance[quant.F32]) {
					t.Errorf("position %d: logits differ by %g; at most %g is allowed", pos, worst, tolerance[quant.F32])
				}
			}
		})
	}
}

// TestHalfLastBlocks compares every dispatch of a bundle with last-block parts and activations in half
// with its Go twin.
func TestHalfLastBlocks(t *testing.T) {
	t.Parallel()
	d := newDevice(t, execute.Fast) // the kernels run with all checks in gen/msl
	stem := root + "testdata/reference/dsv2lite-mini-Q4_K_M"
	m, tokens := bindWish(t, stem+".gguf", bind.Wish{Bundle: "dsv2liteminilastblockf16"}), read(t, stem).Prompt
	for kv, n := range halfTokens {
		l := lockstep{model: m, config: device.Config{Context: n, KV: kv}}
		l.replay(t, d, tokens[:n])
	}
}
