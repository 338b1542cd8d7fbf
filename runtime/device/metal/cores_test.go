package metal

import (
	"encoding/binary"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestGrids checks that the attention of one row has a grid for the GPU's number of cores, within the size of
// the arena. All kernels that combine its splits read as many. The attention of several rows does not change.
func TestGrids(t *testing.T) {
	m := shaped(t, bundleNamed(t, "glm47flashapple"))
	for _, class := range []string{"", plan.ClassApple7} {
		for cores, want := range map[int]int{0: 160, 8: 24, 10: 30, 18: 54, 40: 120, 64: 128, 76: 152, 80: 160, 200: 160} {
			cfg := device.Config{Context: 4096, KV: quant.F16, Width: m.Bundle.Width()}
			l, err := newLayout(m, cfg, maxWindow)
			if err != nil {
				t.Fatal(err)
			}
			s, err := newSequence(m, cfg, l, class)
			if err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(s.commands)
			d := &Device{cores: func() int { return cores }}
			s.cut(d.splits(s, func(*command) int { return 0 }), l.constants)
			attending, combining := 0, 0
			for i := range s.commands {
				c, old := &s.commands[i], &before[i]
				of := c.Kernel.PerCore()
				switch {
				case of == nil || c.Kernel.Width > 1:
					if c.Groups != old.Groups || c.Kernel != old.Kernel {
						t.Fatalf("%d cores: command %d of %s has %d threadgroups, not %d", cores, i, c.Kernel.Name, c.Groups, old.Groups)
					}
					continue
				case c.Kernel.Attends():
					if attending++; c.Groups != want {
						t.Errorf("%d cores: %s has %d threadgroups; expected %d", cores, c.Kernel.Name, c.Groups, want)
					}
				default:
					if combining++; c.Groups != old.Groups {
						t.Errorf("%d cores: %s, which combines, has %d threadgroups, not %d", cores, c.Kernel.Name, c.Groups, old.Groups)
					}
				}
				if n := binary.LittleEndian.Uint64(l.constants[c.constants()+int64(8*len(c.Kernel.Args)):]); n != uint64(want) {
					t.Errorf("%d cores: %s reads %d splits; expected %d", cores, c.Kernel.Name, n, want)
				}
			}
			if layers := m.Bundle.Model.NumHiddenLayers; attending != layers || combining != layers {
				t.Errorf("%d kernels attend and %d combine in %d layers", attending, combining, layers)
			}
		}
	}
}
