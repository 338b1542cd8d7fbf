package chips

import "testing"

// TestCores checks that the number of cores comes from the system, and from the GPU's name only if the system
// does not say it.
func TestCores(t *testing.T) {
	for _, tt := range []struct {
		gpu, says string
		want      int
	}{
		{"Apple M4 Max", `    "gpu-core-count" = 32`, 32},
		{"Apple M4 Max", "", 40},
		{"Apple M4 Max", `"gpu-core-count" = 0`, 40},
		{"Apple M4 Max", `"gpu-core-count" = 99999999999999999999`, 40},
		{"Apple M3 (simulated)", "no such class", 10},
		{"what nobody knows", "", 8},
	} {
		asked := ""
		n := Cores(tt.gpu, func(program string, _ ...string) string {
			asked = program
			return tt.says
		})
		if n != tt.want || asked != Counting[0] {
			t.Errorf("%s, where %s says %q: %d cores; expected %d", tt.gpu, asked, tt.says, n, tt.want)
		}
	}
	if out := System("no-such-program-anywhere"); out != "" {
		t.Errorf("%q", out)
	}
}
