package probe

import (
	"bytes"
	"mla/runtime/device/chips"
	"regexp"
	"slices"
	"testing"

	"mla/generated"
	"mla/runtime/device/cpu"
	"mla/runtime/doctor/checkup"
	"mla/runtime/plan"
)

// TestShapes checks that a model of a bundle's shapes runs without a file.
func TestShapes(t *testing.T) {
	all := generated.Bundles()
	b := all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == "youtumini" })]
	p := &b.Profiles[slices.IndexFunc(b.Profiles, func(p plan.Profile) bool { return p.Name == "q4_0" })]
	n, err := Bytes(b, p)
	if err != nil || n < 1<<20 || n > 4<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	var out bytes.Buffer
	w := checkup.NewWriter(&out)
	if err := Shapes(w, cpu.New(), b, p, "Apple M2 Ultra"); err != nil || w.Failed() > 0 {
		t.Fatal(err, out.String())
	}
	if want := regexp.MustCompile(`[1-9][0-9.]* tok/s at q4_0, f32 activations: [0-9]+ % of the 800 GB/s of M2 Ultra for 0.00 GB a token`); !want.Match(out.Bytes()) {
		t.Errorf("%s", out.String())
	}
}

// TestMachine reads what programs of macOS print; what they do not say is unknown.
func TestMachine(t *testing.T) {
	said := map[string]string{
		"ioreg":  "+-o AGXAcceleratorG14S  <class AGXAcceleratorG14S>\n    \"gpu-core-count\" = 18\n",
		"sysctl": "0\n",
		"pmset":  "System-wide power settings:\nCurrently in use:\n lowpowermode         1\n powermode            0\nNow drawing from 'AC Power'\n",
	}
	want := map[string]string{"GPU cores": "18", "iogpu.wired_limit_mb": "0", "low-power mode": "1", "power mode": "0", "power source": "AC Power", "thermal state": "unknown", "display": "unknown"}
	facts := Machine(func(program string, _ ...string) string { return said[program] })
	for _, f := range facts {
		if f.Kind != checkup.Fact || want[f.Name] != f.Text {
			t.Errorf("%+v; want %q", f, want[f.Name])
		}
	}
	if len(facts) != len(want) {
		t.Errorf("%d facts", len(facts))
	}
	for _, f := range Machine(chips.System) { // of this machine, which is none
		if f.Text == "" {
			t.Errorf("%+v", f)
		}
	}
}
