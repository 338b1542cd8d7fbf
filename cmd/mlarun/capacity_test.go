package main

import (
	"io"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine/opening"
)

// TestRoom: without -c the context follows the free memory, for as many requests as run; the line
// at the start says why, and an explicit -c is taken as it is.
func TestRoom(t *testing.T) {
	d := cpu.New()
	eng, err := opening.On(youtu, generated.Bundles(), "", d)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	f := newSettings(&env{in: strings.NewReader(""), out: io.Discard, err: io.Discard}).flags
	for _, tt := range []struct {
		context, sessions int
		free              int64
		want              int
		why               string
	}{
		{0, 1, 1 << 40, 131072, " (all that the model has)"},
		{0, 1, 200 << 20, 0, " (half of the memory"},
		{0, 4, 200 << 20, 0, " (half of the memory"},
		{0, 1, 1 << 20, 4096, " (as memory allows"},
		{300, 4, 1 << 20, 300, ""},
	} {
		r, err := f.capacityFor(eng, tt.context, tt.sessions, tt.free)
		if err != nil || tt.want > 0 && r.context != tt.want || !strings.HasPrefix(r.why, tt.why) || tt.why == "" && r.why != "" {
			t.Errorf("%+v: %+v, %v", tt, r, err)
		}
		cfg, err := f.configFor(eng, r)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := eng.Estimate(cfg); err != nil || tt.want == 0 && (m.Total() > tt.free || r.context <= 4096) {
			t.Errorf("%+v: a context of %d takes %s, %v", tt, r.context, m, err)
		}
		if fits := eng.Fitting(device.Config{KV: cfg.KV, Width: cfg.Width}, tt.sessions, 64<<20); fits == 0 || fits%64 != 0 {
			t.Errorf("%d sessions: %d tokens fit", tt.sessions, fits)
		}
	}
}
