//go:build linux && deep

package endtoend_test

import (
	"strings"
	"testing"
)

// TestAhead generates with tokens that the GPU picks, one or several per command
// buffer, and wants the text of tokens that the CPU picks: greedy, sampled, ended
// by a stop string, by a full context, and by -n amid a unit, and of several sessions,
// of which it makes a step at a time. The CPU device gives
// the same text, but for a draw that falls between two tokens whose weights differ
// with the order of float32 sums, as "hot" has one.
func TestAhead(t *testing.T) {
	const tiny, shipped = root + "testdata/reference/youtu-tiny-F32.gguf", root + "testdata/tinyglm.gguf"
	for name, tt := range map[string]struct {
		args  string
		units []string
	}{
		"greedy":        {"greedy -tokens 3,40,200,7 -n 17 -kv f32 -model " + tiny, []string{"1", "2", "5"}},
		"several":       {"greedy -tokens 3,40,200,7 -tokens 9,8 -n 70 -kv f32 -model " + tiny, []string{"1"}}, // more than a page
		"text":          {"-p Once -temp 0 -n 20 -model " + shipped, []string{"1", "4"}},
		"sampled":       {"-p Once -seed 5 -n 25 -top-k 30 -top-p 0.9 -min-p 0.02 -repeat-penalty 1.3 -model " + shipped, []string{"1", "2", "5"}},
		"hot":           {"-p Once -seed 6 -temp 2 -n 15 -top-k 0 -top-p 0.99 -min-p 0 -model " + shipped, []string{"3"}},
		"stop string":   {"-p Once -temp 0 -n 40 -stop , -model " + shipped, []string{"5"}},
		"full context":  {"-p Once -seed 7 -n -1 -c 13 -model " + shipped, []string{"2", "5"}},
		"more than fit": {"greedy -tokens 3,40,200,7 -n 2 -kv f32 -model " + tiny, []string{"128"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(tt.args), "-quiet")
			var want outcome
			if name == "hot" {
				want = host.metal(t, []string{"METALSIM_KERNELS=fast"}, append(args, "-ahead", "0"))
			} else {
				want = host.command(nil, append(args, "-device", "cpu"))
			}
			if want.err != nil || want.out == "" {
				t.Fatalf("tokens of the CPU: %v\n%s", want.err, want.stderr)
			}
			for _, unit := range tt.units {
				got := host.metal(t, []string{"METALSIM_KERNELS=fast"}, append(args, "-ahead", unit))
				if got.err != nil || got.out != want.out {
					t.Errorf("-ahead %s: %v, %q; want %q\n%.2000s", unit, got.err, got.out, want.out, got.stderr)
				}
				if err := got.left.clean(); err != nil {
					t.Errorf("-ahead %s: %v", unit, err)
				}
			}
		})
	}
}

// TestAheadFails injects an error while several units are in flight. After one that timed out the GPU is opened anew.
func TestAheadFails(t *testing.T) {
	for fault, want := range map[string]string{"replay:9": "", "lost:7": "the device was lost"} {
		o := host.metal(t, []string{"METALSIM_KERNELS=fast", "METALSIM_FAULT=" + fault},
			strings.Fields("greedy -tokens 3,40,200,7 -n 40 -ahead 3 -model "+root+"testdata/reference/youtu-tiny-F32.gguf"))
		if (o.err == nil) != (want == "") || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: %v\n%s", fault, o.err, o.stderr)
		}
		if err := o.left.clean(); err != nil {
			t.Errorf("%s: %v", fault, err)
		}
	}
}
