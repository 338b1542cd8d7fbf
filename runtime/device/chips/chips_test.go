package chips

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for gpu, want := range map[string]string{
		"Apple M3 Pro": "M3 Pro", "Apple M3": "M3", "Apple M1 (simulated)": "M1", "Apple M5 (simulated)": "M5",
		"Apple M2 Ultra": "M2 Ultra", "Apple M9 Giga": "M1", "Apple Paravirtual device": "M1", "": "M1", "M1 Pro": "M1 Pro",
	} {
		if got := Of(gpu); got.Name != want || got != Named(want) {
			t.Errorf("%q is %q; expected %q", gpu, got.Name, want)
		}
	}
}

// TestTable checks the table of chips: larger chips of a generation are faster, and 2·128 operations per core
// and cycle imply a plausible clock.
func TestTable(t *testing.T) {
	for i, c := range All {
		if ghz := c.TFlops * 1e3 / (256 * float64(c.Cores)); ghz < 1.2 || ghz > 1.8 {
			t.Errorf("%s would run at %.2f GHz", c.Name, ghz)
		}
		if i > 0 && strings.HasPrefix(c.Name, All[i-1].Name[:2]) && (c.TFlops <= All[i-1].TFlops || c.GBs <= All[i-1].GBs) {
			t.Errorf("%s is no faster than %s", c.Name, All[i-1].Name)
		}
		if Named(c.Name) != c {
			t.Errorf("%s is there twice", c.Name)
		}
	}
	if Named("M0") != (Chip{}) {
		t.Error("a chip that does not exist")
	}
}

func TestParseErrors(t *testing.T) {
	const head = "chip\tcores\ttflop_s\tgb_s\tlaunch_us\n"
	for _, bad := range []string{"", "# nothing\n", "chip\n", head, head + "M1\t8\t1\t1\n", head + "\t8\t1\t1\t1\n", head + "M1\t0\t1\t1\t1\n",
		head + "M1\tx\t1\t1\t1\n", head + "M1\t8\tNaN\t1\t1\n", head + "M1\t8\t-1\t1\t1\n", head + "M1\t8\t1\t1e9\t1\n"} {
		if list, err := parse(bad); err == nil {
			t.Errorf("%q: %v", bad, list)
		}
	}
}
