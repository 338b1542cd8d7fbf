//go:build deep

package endtoend_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTooLong checks that a command buffer which the system ends for its duration is run again with the same
// tokens. If it is ended twice, or cannot be divided further, the program ends with a helpful message. The
// next run starts with the shorter duration, which was saved.
func TestTooLong(t *testing.T) {
	prompt := make([]string, 48) // two pieces of the widest sequence
	for i := range prompt {
		prompt[i] = "7"
	}
	args := []string{"greedy", "-model", root + "testdata/reference/youtu-mini-Q4_0.gguf", "-tokens", strings.Join(prompt, ","), "-n", "4"}
	want := host.metal(t, []string{"METALSIM_KERNELS=fast"}, args)
	if want.err != nil || want.out == "" {
		t.Fatalf("%v\n%s", want.err, want.stderr)
	}
	for fault, tt := range map[string]struct {
		says, keeps string
		fails       bool
	}{
		"replay:2": {"", "75", false},
		"lost:1":   {"(code 4): macOS ends what keeps the GPU busy for long, also after the GPU was opened anew", "37", true},
	} {
		t.Run(fault, func(t *testing.T) {
			cache := t.TempDir()
			o := host.metal(t, []string{"METALSIM_KERNELS=fast", "METALSIM_FAULT=" + fault, "XDG_CACHE_HOME=" + cache}, args)
			if (o.err != nil) != tt.fails || !tt.fails && o.out != want.out || !strings.Contains(o.stderr, tt.says) {
				t.Errorf("%v, %q; expected %q\n%s", o.err, o.out, want.out, o.stderr)
			}
			if err := o.left.clean(); err != nil {
				t.Error(err)
			}
			list, err := filepath.Glob(filepath.Join(cache, "mla", "budget-*"))
			if err != nil || len(list) != 1 {
				t.Fatalf("%v, %v", list, err)
			}
			if text, err := os.ReadFile(list[0]); err != nil || !strings.Contains(string(text), "\"milliseconds\": "+tt.keeps) {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}
